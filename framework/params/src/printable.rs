//! Makes input text safe for a terminal: no control sequences, nothing hidden, and bounded length.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces every character that would control the terminal by an escape such as `\n` or `\u{1b}`.
/// This includes cursor movement, colours, reversed writing order and invisible characters.
///
/// ```
/// use warpweave_params::printable;
///
/// assert_eq!(printable("l1\u{1b}[2J"), r"l1\u{1b}[2J");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if is_plain(text, false) || !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        push_printable(&mut safe, c);
    }
    Cow::Owned(safe)
}

/// Applies [`printable`] to a text of several lines, keeping its line breaks.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    if is_plain(text, true) || !text.chars().any(|c| c != '\n' && is_control(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push(c),
            _ => push_printable(&mut safe, c),
        }
    }
    Cow::Owned(safe)
}

/// Returns JSON with the same meaning and line breaks, with such characters written as JSON
/// escapes: `\u009b`.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if is_plain(json, true) || !json.chars().any(|c| c != '\n' && is_control(c)) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if c == '\n' || !is_control(c) {
            safe.push(c);
            continue;
        }
        // Outside of its strings JSON has none but line breaks.
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    Cow::Owned(safe)
}

/// Applies [`printable`]; shortens a text longer than `most` characters to its beginning and its
/// end.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // A character has four bytes at most: a long text is not counted through.
    let fits = text.len() <= most || (text.len() <= 4 * most && text.chars().count() <= most);
    if fits {
        return printable(text);
    }
    let tail = most / 4;
    let head_end = text
        .char_indices()
        .nth(most - tail)
        .map_or(text.len(), |(at, _)| at);
    let tail_start = text
        .char_indices()
        .rev()
        .nth(tail.saturating_sub(1))
        .map_or(0, |(at, _)| at);
    let (head, tail) = (&text[..head_end], &text[tail_start..]);
    Cow::Owned(format!("{} … {}", printable(head), printable(tail)))
}

/// Appends a character, escaped if a terminal would not simply display it.
pub(crate) fn push_printable(text: &mut String, c: char) {
    if is_control(c) {
        text.extend(c.escape_default());
    } else {
        text.push(c);
    }
}

/// True if the text consists of visible ASCII, and line breaks if `line_breaks` allows them. Fast
/// path for long texts, checked many bytes at a time.
fn is_plain(text: &str, line_breaks: bool) -> bool {
    let visible = |byte: &u8| (b' '..0x7f).contains(byte) || (line_breaks && *byte == b'\n');
    let pieces = &mut text.as_bytes().chunks(64);
    pieces.all(|piece| piece.iter().fold(true, |all, byte| all & visible(byte)))
}

/// True if a terminal interprets the character as a command or displays nothing for it. These are
/// Unicode category Cc and the characters of Cf that reorder, join or hide.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_the_rest_is_borrowed() {
        assert!(matches!(printable("ü → 漢"), Cow::Borrowed("ü → 漢")));
        assert_eq!(
            printable("a\u{7}\u{1b}]0;x\u{9b}b\u{202e}c\r\n"),
            r"a\u{7}\u{1b}]0;x\u{9b}b\u{202e}c\r\n"
        );
        assert_eq!(printable_lines("a\nb\u{8}"), "a\nb\\u{8}");
        assert_eq!(
            printable_json("[\n\"ü\u{9b}\u{e0001}\"]"),
            "[\n\"ü\\u009b\\udb40\\udc01\"]"
        );
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("äbcdefghijkl", 8), "äbcdef … kl");
        assert_eq!(shortened("ääääääää", 8), "ääääääää");
        let long = format!("{}\u{1b}", "x".repeat(1 << 20));
        assert_eq!(shortened(&long, 8), r"xxxxxx … x\u{1b}");
    }
}
