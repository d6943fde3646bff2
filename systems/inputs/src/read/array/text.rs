//! Bytes of a text file, and error messages that refer to positions in it.

use warpweave_params::{printable, shortened};

use super::FileInfo;
use crate::error::{InputError, Place};

/// Maximum length of text quoted in a message.
const QUOTED_MAX: usize = 32;

/// Complete text of a file, held in memory.
pub(super) struct Text<'f> {
    file: &'f str,
    pub(super) data: &'f [u8],
    may_quote: bool,
}

impl<'f> Text<'f> {
    pub(super) fn new(asked: &FileInfo<'f>, data: &'f [u8]) -> Self {
        Self {
            file: asked.file,
            data,
            may_quote: asked.may_quote,
        }
    }

    /// True if messages may quote its contents.
    pub(super) fn may_quote(&self) -> bool {
        self.may_quote
    }

    /// Returns the line and column of a byte.
    pub(super) fn place(&self, at: usize) -> Place {
        let before = &self.data[..at.min(self.data.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n');
        Place {
            file: self.file.to_owned(),
            line: before.split(|byte| *byte == b'\n').count() as u64,
            column: (before.len() - line_start.map_or(0, |at| at + 1)) as u64 + 1,
        }
    }

    /// Returns an error that something else was found at a position.
    pub(super) fn error(&self, at: usize, expected: impl Into<String>, found: &[u8]) -> InputError {
        let found = if at >= self.data.len() {
            "the end of the file".to_owned()
        } else if !self.may_quote {
            "something else".to_owned()
        } else if found.is_empty() {
            "nothing".to_owned()
        } else {
            let text = String::from_utf8_lossy(found);
            format!("\"{}\"", shortened(&printable(&text), QUOTED_MAX))
        };
        InputError::Text {
            place: self.place(at),
            expected: expected.into(),
            found,
        }
    }
}
