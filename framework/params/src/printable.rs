//! Text of inputs made fit for a terminal: nothing in it steers the terminal or hides what it says,
//! and it has an end.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with every character that would move the cursor, change colours, reverse the order of
/// writing or show nothing written as an escape: `\n`, `\u{1b}`.
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

/// Text of several lines with everything but its line breaks as [`printable`] has it.
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

/// JSON with the same meaning and the same line breaks, in which such characters are written as JSON's
/// own escapes: `\u009b`.
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

/// As [`printable`], and of a text longer than `most` characters only its beginning and its end.
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

/// Appends a character, escaped if a terminal would do something else than show it.
pub(crate) fn push_printable(text: &mut String, c: char) {
    if is_control(c) {
        text.extend(c.escape_default());
    } else {
        text.push(c);
    }
}

/// Whether the text is nothing but visible ASCII, and line breaks if they are let pass. Nearly every
/// long text is, and this is told many bytes at a time.
fn is_plain(text: &str, line_breaks: bool) -> bool {
    let visible = |byte: &u8| (b' '..0x7f).contains(byte) || (line_breaks && *byte == b'\n');
    let pieces = &mut text.as_bytes().chunks(64);
    pieces.all(|piece| piece.iter().fold(true, |all, byte| all & visible(byte)))
}

/// Whether a terminal takes the character as a command, or shows nothing for it (Unicode categories
/// Cc and, of Cf, what reorders, joins or hides).
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
