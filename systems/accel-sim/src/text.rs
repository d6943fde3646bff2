//! Line reader for streamed text, with fields and their positions.

use std::fmt::Display;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use warpweave_params::{Diagnostic, Source};

use crate::error::unreadable;

/// Maximum line length in bytes. Instructions have at most 32 addresses and 16 registers with a
/// value for each lane, bulk copies a few thousand addresses.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Marks a text as UTF-8; skipped at its start.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads a text line by line, with line numbers.
pub(crate) struct Lines<R> {
    input: R,
    /// Name of the text in error messages.
    name: PathBuf,
    bytes: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn of(input: R, name: &Path) -> Self {
        Self {
            input,
            name: name.to_owned(),
            bytes: Vec::new(),
            number: 0,
        }
    }

    /// Returns the next line that is not blank, or `None` at the end.
    pub(crate) fn next_filled(&mut self) -> Result<Option<Line<'_>>, Diagnostic> {
        while self.fill()? {
            if !self.bytes.trim_ascii().is_empty() {
                return self.line().map(Some);
            }
        }
        Ok(None)
    }

    /// Reads the next line; returns false at the end.
    fn fill(&mut self) -> Result<bool, Diagnostic> {
        self.bytes.clear();
        let mut input = self.input.by_ref().take(LINE_BYTES_MAX + 1);
        let read = input.read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|error| {
            let problem = unreadable(&self.name, &error);
            let message = format!("{} (after line {})", problem.message, self.number);
            Diagnostic { message, ..problem }
        })?;
        if self.number == 0 && self.bytes.starts_with(BYTE_ORDER_MARK) {
            self.bytes.drain(..BYTE_ORDER_MARK.len());
        }
        self.number += usize::from(read > 0);
        Ok(read > 0)
    }

    /// Returns the current line; fails if it is too long or malformed.
    fn line(&self) -> Result<Line<'_>, Diagnostic> {
        let refuse = |start: &str, rest: &[u8], message: &str| {
            let text = format!("{start}{}", String::from_utf8_lossy(rest));
            let line = Line {
                name: &self.name,
                number: self.number,
                text: text.trim_end(),
            };
            line.refuse(start.len(), text.len(), message)
        };
        if self.bytes.len() as u64 > LINE_BYTES_MAX {
            return Err(refuse("", &self.bytes[..80], "a line of more than 64 KiB"));
        }
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Ok(Line {
                name: &self.name,
                number: self.number,
                text: text.trim_end(),
            }),
            Err(error) => {
                let (start, rest) = self.bytes.split_at(error.valid_up_to());
                let start = String::from_utf8_lossy(start);
                let message = "expected text, found bytes that are not UTF-8";
                Err(refuse(&start, rest, message))
            }
        }
    }

    /// Returns the error for a text that ends too early.
    pub(crate) fn ended(&self, expected: impl Display) -> Diagnostic {
        let line = Line {
            name: &self.name,
            number: self.number,
            text: "",
        };
        line.refuse(
            0,
            0,
            format!("expected {expected}, found the end of the text"),
        )
    }
}

/// A line of text with its position.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) name: &'a Path,
    /// Line number, counted from one.
    pub(crate) number: usize,
    /// Text of the line without its line ending.
    pub(crate) text: &'a str,
}

impl<'a> Line<'a> {
    /// Returns an error for bytes `start` to `end` of the line.
    pub(crate) fn refuse(
        &self,
        start: usize,
        end: usize,
        message: impl Into<String>,
    ) -> Diagnostic {
        let name = self.name.display().to_string();
        let source = Source::of_line(name, self.number, self.text);
        Diagnostic::error(message).at(&source.span(start, end))
    }

    /// Returns an error for the whole line.
    pub(crate) fn refuse_whole(&self, message: impl Into<String>) -> Diagnostic {
        self.refuse(0, self.text.len(), message)
    }

    /// Returns the text after `key` and an equals sign if the line starts with them.
    pub(crate) fn value_of(&self, key: &str) -> Option<Field<'a>> {
        let rest = self.text.strip_prefix(key)?.trim_start();
        let value = rest.strip_prefix('=')?.trim_start();
        Some(Field {
            text: value,
            start: self.text.len() - value.len(),
        })
    }

    pub(crate) fn fields(&self) -> Fields<'a> {
        Fields { line: *self, at: 0 }
    }

    /// Returns an error for a field: expected one thing, found another.
    pub(crate) fn blame(&self, field: Field<'_>, expected: impl Display) -> Diagnostic {
        let (start, end) = (field.start, field.start + field.text.len());
        self.refuse(
            start,
            end,
            format!("expected {expected}, found `{}`", field.text),
        )
    }

    /// Parses a field as a decimal number.
    pub(crate) fn number<T: std::str::FromStr>(
        &self,
        field: Field<'_>,
        expected: impl Display,
    ) -> Result<T, Diagnostic> {
        field.text.parse().map_err(|_| self.blame(field, expected))
    }

    /// Parses a field as a hexadecimal number, with or without prefix.
    pub(crate) fn hexadecimal(
        &self,
        field: Field<'_>,
        expected: impl Display,
    ) -> Result<u64, Diagnostic> {
        let digits = field.text.strip_prefix("0x").unwrap_or(field.text);
        match u64::from_str_radix(digits, 16) {
            Ok(value) if !digits.starts_with('+') => Ok(value),
            _ => Err(self.blame(field, expected)),
        }
    }
}

/// A part of a line, with its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) text: &'a str,
    /// Offset of its first byte in the line.
    pub(crate) start: usize,
}

/// Iterates over the fields of a line, separated by blanks.
pub(crate) struct Fields<'a> {
    pub(crate) line: Line<'a>,
    at: usize,
}

impl<'a> Fields<'a> {
    /// Returns the next field, if there is one.
    pub(crate) fn take(&mut self) -> Option<Field<'a>> {
        let text = self.line.text;
        let bytes = text.as_bytes();
        let mut start = self.at;
        while bytes.get(start).is_some_and(u8::is_ascii_whitespace) {
            start += 1;
        }
        let mut end = start;
        while bytes
            .get(end)
            .is_some_and(|byte| !byte.is_ascii_whitespace())
        {
            end += 1;
        }
        self.at = end;
        (end > start).then(|| Field {
            text: &text[start..end],
            start,
        })
    }

    /// Returns the next field; fails if there is none.
    pub(crate) fn next(&mut self, expected: impl Display) -> Result<Field<'a>, Diagnostic> {
        self.take().ok_or_else(|| {
            let end = self.line.text.len();
            let message = format!("expected {expected}, found the end of the line");
            self.line.refuse(end, end, message)
        })
    }

    /// Parses the next field as a decimal number.
    pub(crate) fn number<T: std::str::FromStr>(
        &mut self,
        expected: impl Display,
    ) -> Result<T, Diagnostic> {
        let field = self.next(&expected)?;
        self.line.number(field, expected)
    }

    /// Parses the next field as a hexadecimal number.
    pub(crate) fn hexadecimal(&mut self, expected: impl Display) -> Result<u64, Diagnostic> {
        let field = self.next(&expected)?;
        self.line.hexadecimal(field, expected)
    }

    /// Checks that the line has no more fields.
    pub(crate) fn end(&mut self) -> Result<(), Diagnostic> {
        match self.take() {
            Some(field) => Err(self.line.blame(field, "the end of the line")),
            None => Ok(()),
        }
    }
}
