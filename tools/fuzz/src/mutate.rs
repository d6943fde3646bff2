//! Mutations of texts: tokens, lines, bytes, nesting, length.

use fastrand::Rng;

/// Source of replacement text: other texts of the same family.
pub(crate) struct Words<'a> {
    pub(crate) texts: Vec<&'a [u8]>,
}

/// Numbers that often cause trouble, such as limits of types.
const NUMBERS: [&str; 40] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "31",
    "32",
    "33",
    "63",
    "64",
    "65",
    "127",
    "128",
    "129",
    "255",
    "256",
    "1000",
    "1023",
    "1024",
    "4096",
    "65535",
    "65536",
    "65537",
    "1000000",
    "16777216",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-0.0",
    "1e-400",
    "0x7fffffff",
    "99999999999999999999999999",
    "0.1",
];

/// Words with a special meaning in some input format.
const HOSTILE: [&str; 64] = [
    "\"",
    "'",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "==",
    "#",
    "//",
    "/*",
    "*/",
    "\"\"",
    "()",
    "[]",
    "{}",
    "Some(",
    "None",
    "true",
    "inf",
    "NaN",
    "r#\"",
    "\"=",
    "\"=1/0\"",
    "\"=1 << 63\"",
    "\"=-9223372036854775807 - 2\"",
    "\"=units\"",
    "\"=if true then 1\"",
    "\"-5 KiB\"",
    "\"1e30 GiB\"",
    "\"0 Hz\"",
    "\"1 THz\"",
    "\"16777216 TiB\"",
    "\"*\"",
    "\"**\"",
    "\"unit[*]\"",
    "\"unit[4294967295]\"",
    "\"unit[-1]\"",
    "\"..\"",
    "\"/dev/zero\"",
    "\"/dev/null\"",
    "\"/proc/self/mem\"",
    "\"/etc/passwd\"",
    "\"test.ron\"",
    "\"../test.ron\"",
    "%p0",
    "%r999999999",
    ".b64",
    "bra",
    "@!%p1",
    ".reg .b32 %r<4294967295>;",
    ".shared .align 4 .b8 s[2147483647];",
    "bar.sync 0;",
    "atom.global.add.u32",
    "ld.param.u64",
    "div.s32 %r1, %r1, 0;",
    "\u{feff}",
    "\u{202e}",
    "Ω",
    ";",
];

const CONTROL: [&[u8]; 8] = [
    b"\x1b[31m",
    b"\x00",
    b"\r",
    b"\x07",
    b"\x1b]0;title\x07",
    b"\xff\xfe",
    b"\x7f",
    b"\xc2\x9b",
];

const OPENERS: [(&[u8], &[u8]); 10] = [
    (b"(", b")"),
    (b"[", b"]"),
    (b"{", b"}"),
    (b"-", b""),
    (b"!", b""),
    (b"max(1, ", b")"),
    (b"Some(", b")"),
    (b"Module(parts: {\"a\": ", b"})"),
    (b"if true then ", b" else 0"),
    (b"/*", b"*/"),
];

/// Maximum size of a mutated text, in bytes.
const LONGEST: usize = 4 << 20;

/// Returns the text with one or a few mutations.
pub(crate) fn mutated(text: &[u8], words: &Words<'_>, rng: &mut Rng) -> Vec<u8> {
    let mut text = text.to_vec();
    let mut changes = 1;
    while changes < 6 && rng.u8(..5) < 2 {
        changes += 1;
    }
    for _ in 0..changes {
        change(&mut text, words, rng);
        text.truncate(LONGEST);
    }
    text
}

fn change(text: &mut Vec<u8>, words: &Words<'_>, rng: &mut Rng) {
    match rng.u8(..100) {
        0..=44 => token(text, words, rng),
        45..=59 => number(text, rng),
        60..=69 => line(text, rng),
        70..=77 => splice(text, words, rng),
        78..=80 => nest(text, rng),
        81..=83 => lengthen(text, rng),
        84..=91 => flip(text, rng),
        92..=94 => text.truncate(place(text, rng)),
        95..=97 => {
            let what = pick(&CONTROL, rng);
            insert(text, rng, what);
        }
        98 => *text = pick(&words.texts, rng).to_vec(),
        _ => *text = (0..rng.usize(..200)).map(|_| rng.u8(..)).collect(),
    }
}

fn pick<T: Copy>(from: &[T], rng: &mut Rng) -> T {
    from[rng.usize(..from.len())]
}

fn place(text: &[u8], rng: &mut Rng) -> usize {
    rng.usize(..=text.len())
}

fn insert(text: &mut Vec<u8>, rng: &mut Rng, what: &[u8]) {
    let at = place(text, rng);
    text.splice(at..at, what.iter().copied());
}

/// Splits a text into tokens: words, quoted texts, blanks, and single marks. Returns their byte
/// ranges.
pub(crate) fn tokens(text: &[u8]) -> Vec<(usize, usize)> {
    let class = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'%' | b'$' | 0x80.. => 1,
        b' ' | b'\t' | b'\r' | b'\n' => 2,
        _ => 0,
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = match (rest[0], class(rest[0])) {
            (b'"', _) => {
                let end = rest[1..].iter().position(|b| matches!(b, b'"' | b'\n'));
                end.map_or(rest.len(), |end| end + 2)
            }
            (_, 0) => 1,
            (_, kind) => rest
                .iter()
                .position(|b| class(*b) != kind)
                .unwrap_or(rest.len()),
        };
        found.push((at, at + length));
        at += length;
    }
    found
}

/// Deletes, duplicates, or replaces one token.
fn token(text: &mut Vec<u8>, words: &Words<'_>, rng: &mut Rng) {
    let found = tokens(text);
    if found.is_empty() {
        return;
    }
    let (from, until) = pick(&found, rng);
    let other = {
        let (from, until) = pick(&found, rng);
        text[from..until].to_vec()
    };
    let by = match rng.u8(..10) {
        0 | 1 => Vec::new(),
        2 | 3 => text[from..until].repeat(2),
        4 | 5 => other,
        6 => {
            let text = pick(&words.texts, rng);
            let found = tokens(text);
            if found.is_empty() {
                return;
            }
            let (from, until) = pick(&found, rng);
            text[from..until].to_vec()
        }
        7 => pick(&NUMBERS, rng).as_bytes().to_vec(),
        _ => pick(&HOSTILE, rng).as_bytes().to_vec(),
    };
    text.splice(from..until, by);
}

/// Replaces one number of the text by another.
fn number(text: &mut Vec<u8>, rng: &mut Rng) {
    let is_number = |(from, _): &(usize, usize)| text[*from].is_ascii_digit();
    let found: Vec<_> = tokens(text).into_iter().filter(is_number).collect();
    if found.is_empty() {
        return;
    }
    let (from, until) = pick(&found, rng);
    let by = match rng.u8(..4) {
        0 => [&text[from..until], b"0"].concat(),
        1 => [b"-", &text[from..until]].concat(),
        _ => pick(&NUMBERS, rng).as_bytes().to_vec(),
    };
    text.splice(from..until, by);
}

/// Deletes, duplicates, repeats, or swaps lines.
fn line(text: &mut Vec<u8>, rng: &mut Rng) {
    let mut lines: Vec<Vec<u8>> = text
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    if lines.is_empty() {
        return;
    }
    let at = rng.usize(..lines.len());
    match rng.u8(..8) {
        0 | 1 => drop(lines.remove(at)),
        2 | 3 => lines.insert(at, lines[at].clone()),
        4 | 5 => {
            let other = rng.usize(..lines.len());
            lines.swap(at, other);
        }
        6 => lines.truncate(at),
        _ => {
            // No more than is kept of the text.
            let most = LONGEST / lines[at].len().max(1) + 1;
            lines[at] = lines[at].repeat(rng.usize(2..2000).min(most));
        }
    }
    *text = lines.concat();
}

/// Inserts a piece of another text.
fn splice(text: &mut Vec<u8>, words: &Words<'_>, rng: &mut Rng) {
    let from = pick(&words.texts, rng);
    let (a, b) = (place(from, rng), place(from, rng));
    let (at, until) = (place(text, rng), place(text, rng));
    let until = if rng.bool() { at } else { until };
    text.splice(
        at.min(until)..at.max(until),
        from[a.min(b)..a.max(b)].iter().copied(),
    );
}

/// Opens a bracket many times, with or without closing it.
fn nest(text: &mut Vec<u8>, rng: &mut Rng) {
    let (open, close) = pick(&OPENERS, rng);
    let depth = pick(&[10, 100, 127, 128, 129, 1000, 20_000, 100_000], rng);
    let found = tokens(text);
    let (from, until) = if found.is_empty() {
        (0, 0)
    } else {
        pick(&found, rng)
    };
    let inner = text[from..until].to_vec();
    let closing = if rng.u8(..4) == 0 {
        Vec::new()
    } else {
        close.repeat(depth)
    };
    text.splice(from..until, [open.repeat(depth), inner, closing].concat());
}

/// Makes one line of the text very long.
fn lengthen(text: &mut Vec<u8>, rng: &mut Rng) {
    let what = pick(
        &[
            &b" "[..],
            b"a",
            b"9",
            b"/",
            b"\xce\xa9",
            b"\"x\", ",
            b"1 + ",
        ],
        rng,
    );
    let times = pick(&[300, 65_530, 65_536, 300_000], rng);
    insert(text, rng, &what.repeat(times));
}

/// Changes, inserts, or deletes bytes at random positions.
pub(crate) fn flip(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.usize(1..8) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..6) {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, rng.u8(..)),
            2 => {
                let until = rng.usize(at..=bytes.len());
                bytes.drain(at..until.min(at + 100));
            }
            3 => bytes[at] = rng.u8(..),
            _ => bytes[at] ^= 1 << rng.u8(..8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cover_the_text() {
        let text = b"Cache(size: \"48 KiB\", ways: 4)\n\"open";
        let joined: Vec<u8> = tokens(text)
            .into_iter()
            .flat_map(|(from, until)| text[from..until].to_vec())
            .collect();
        assert_eq!(joined, text);
        assert!(tokens(text).contains(&(12, 20)));
    }
}
