//! Reader for sequences in FASTA format: a line that begins with `>` names each.

use super::text::Text;
use super::{FileArray, FileInfo};
use crate::error::InputError;

pub(super) fn read(asked: &FileInfo<'_>, data: &[u8]) -> Result<FileArray, InputError> {
    let text = Text::new(asked, data);
    let mut patterns = Vec::new();
    let (mut named, mut start) = (false, 0);
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        match line.first() {
            Some(b'>') => named = true,
            // What old files call comments.
            Some(b';') => {}
            _ => {
                for (at, byte) in line.iter().enumerate() {
                    if byte.is_ascii_whitespace() {
                        continue;
                    }
                    if !named {
                        let expected = "a line that begins with `>` and names a sequence";
                        return Err(text.error(start + at, expected, line.trim_ascii()));
                    }
                    let is_letter = byte.is_ascii_alphabetic() || matches!(byte, b'*' | b'-');
                    let pattern = asked.element.of_whole((*byte).into());
                    patterns.push(
                        pattern.filter(|_| is_letter).ok_or_else(|| {
                            text.error(start + at, "a letter, `*` or `-`", &[*byte])
                        })?,
                    );
                }
            }
        }
        start += line.len();
    }
    Ok(FileArray::of(asked.element, patterns))
}
