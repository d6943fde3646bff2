//! Reader for portable grey and colour maps (Netpbm): P2 and P3 as decimal text, P5 and P6 as
//! bytes.

use super::text::Text;
use super::{FileArray, FileInfo};
use crate::error::InputError;

/// Upper limit for the maximum sample value in a header.
const LARGEST_MAX: u64 = 65535;

pub(super) fn read(asked: &FileInfo<'_>, data: &[u8]) -> Result<FileArray, InputError> {
    let text = Text::new(asked, data);
    let (samples_of_a_pixel, in_digits) = match data.get(..2) {
        Some(b"P2") => (1, true),
        Some(b"P3") => (3, true),
        Some(b"P5") => (1, false),
        Some(b"P6") => (3, false),
        found => return Err(text.error(0, "`P2`, `P3`, `P5` or `P6`", found.unwrap_or_default())),
    };
    let mut words = Words { text: &text, at: 2 };
    let width = words.number("the width", u64::from(u32::MAX))?;
    let height = words.number("the height", u64::from(u32::MAX))?;
    let largest = words.number("the largest value", LARGEST_MAX)?;
    let bytes = if in_digits {
        2
    } else {
        1 + u64::from(largest > 255)
    };
    let samples = width
        .checked_mul(height)
        .and_then(|n| n.checked_mul(samples_of_a_pixel));
    // The last sample in digits may be the end of the file.
    let there = (data.len() - words.at) as u64 + u64::from(in_digits);
    let samples = samples
        .filter(|samples| {
            samples
                .checked_mul(bytes)
                .is_some_and(|bytes| bytes <= there)
        })
        .ok_or_else(|| {
            let expected = format!("{width} times {height} pixels");
            text.error(data.len(), expected, b"")
        })?;
    let element = asked.element;
    let mut patterns = Vec::with_capacity(samples as usize);
    // One white space ends the header of bytes.
    let mut at = words.at + 1;
    for _ in 0..samples {
        let (value, place) = if in_digits {
            let value = words.number("a sample", largest)?;
            (value, words.at)
        } else {
            let sample = data.get(at..at + bytes as usize);
            let sample = sample.ok_or_else(|| text.error(data.len(), "a sample", b""))?;
            at += bytes as usize;
            (
                sample
                    .iter()
                    .fold(0, |value, byte| value << 8 | u64::from(*byte)),
                at - 1,
            )
        };
        if value > largest {
            return Err(text.error(
                place,
                format!("a sample up to {largest}"),
                value.to_string().as_bytes(),
            ));
        }
        let pattern = element.of_whole(value.into());
        patterns.push(
            pattern.ok_or_else(|| {
                text.error(place, element.expected(), value.to_string().as_bytes())
            })?,
        );
    }
    Ok(FileArray::of(element, patterns))
}

/// Iterator over decimal numbers between white space and comments.
struct Words<'t> {
    text: &'t Text<'t>,
    at: usize,
}

impl Words<'_> {
    fn number(&mut self, what: &str, most: u64) -> Result<u64, InputError> {
        let data = self.text.data;
        let mut comment = false;
        while let Some(byte) = data.get(self.at) {
            comment = (comment || *byte == b'#') && *byte != b'\n';
            if !comment && !byte.is_ascii_whitespace() {
                break;
            }
            self.at += 1;
        }
        let start = self.at;
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'#';
        let rest = &data[start.min(data.len())..];
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at = start + length;
        let number = std::str::from_utf8(word)
            .ok()
            .and_then(|word| word.parse().ok());
        number.filter(|number| *number <= most).ok_or_else(|| {
            let expected = format!("{what}, a whole number up to {most}");
            self.text.error(start, expected, word)
        })
    }
}
