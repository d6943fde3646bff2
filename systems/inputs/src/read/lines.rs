//! Lines and words of a text with their positions, used by the readers of graphs and matrices.

use std::io::{self, BufRead, ErrorKind, Read};
use std::ops::RangeInclusive;

use super::Reading;
use crate::error::{InputError, Place};

/// Maximum line length. Because of the limit, a file without line ends is an error instead of being
/// read into memory as a whole.
const MAX_LINE_BYTES: usize = 1 << 16;

/// Number of digits that always fit in 32 bits.
const SHORT_DIGITS: usize = 9;

/// Largest whole number up to which double precision holds every whole number.
const EXACT_MAX: u64 = 1 << 53;

/// Maximum length of text quoted in a message.
const MAX_QUOTE_BYTES: usize = 32;

/// A text read line by line, which tracks its position.
pub(super) struct Lines<R> {
    file: String,
    input: R,
    zipped: bool,
    number: u64,
    buffer: Vec<u8>,
    /// Bytes that messages may still quote. The limit is raised once the file is known to be of the
    /// expected format.
    quoted: u64,
}

/// Line of the text without its line end.
pub(super) struct Line<'a> {
    file: &'a str,
    number: u64,
    text: &'a [u8],
    /// Number of its bytes that messages may quote.
    quoted: usize,
}

/// Words of a line, consumed one after the other.
pub(super) struct Words<'a> {
    line: &'a Line<'a>,
    next: usize,
}

/// A word and its byte offset from the start of the line.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a [u8],
    at: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reading: &Reading<'_>, input: R, zipped: bool) -> Self {
        Lines {
            file: reading.name.to_string(),
            quoted: reading.quoted,
            input,
            zipped,
            number: 0,
            buffer: Vec::new(),
        }
    }

    /// Returns the name of the file for messages.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Marks the file as being of the expected format. Messages may quote it from now on.
    pub(super) fn is_known(&mut self) {
        self.quoted = u64::MAX;
    }

    /// Reads the next line, or returns `None` at the end of the text.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, InputError> {
        if self.quoted != u64::MAX && self.number > 0 {
            // The line break too.
            self.quoted = self.quoted.saturating_sub(self.buffer.len() as u64 + 1);
        }
        self.buffer.clear();
        self.number += 1;
        let whole = match self.input.fill_buf() {
            Ok(text) => take_line(text, &mut self.buffer),
            Err(reason) if reason.kind() == ErrorKind::Interrupted => None,
            Err(reason) => return Err(self.broken(reason)),
        };
        if let Some(taken) = whole {
            self.input.consume(taken);
        } else {
            let mut bounded = self.input.by_ref().take(MAX_LINE_BYTES as u64 + 1);
            if let Err(reason) = bounded.read_until(b'\n', &mut self.buffer) {
                return Err(self.broken(reason));
            }
            if self.buffer.is_empty() {
                return Ok(None);
            }
            if self.buffer.last() == Some(&b'\n') {
                self.buffer.pop();
            }
        }
        let line = Line {
            file: &self.file,
            number: self.number,
            text: &self.buffer,
            quoted: usize::try_from(self.quoted).unwrap_or(usize::MAX),
        };
        if line.text.len() > MAX_LINE_BYTES {
            let expected = format!("a line of at most {MAX_LINE_BYTES} bytes");
            return Err(line.error(MAX_LINE_BYTES, &expected, "more text".to_string()));
        }
        Ok(Some(line))
    }

    /// Reads the next line that is neither blank nor begins with one of the comment signs.
    pub(super) fn next_data(&mut self, comment: &[u8]) -> Result<Option<Line<'_>>, InputError> {
        loop {
            let Some(line) = self.next()? else {
                return Ok(None);
            };
            let first = line.text.iter().find(|byte| !is_blank(**byte));
            let is_data = first.is_some_and(|byte| !comment.contains(byte));
            if is_data {
                break;
            }
        }
        // Built again because the borrow checker does not let a loop return what it borrowed.
        Ok(Some(Line {
            file: &self.file,
            number: self.number,
            text: &self.buffer,
            quoted: usize::try_from(self.quoted).unwrap_or(usize::MAX),
        }))
    }

    /// Returns an error that the text ended where `expected` should be.
    pub(super) fn ended(&self, expected: &str) -> InputError {
        InputError::Text {
            place: Place {
                file: self.file.clone(),
                line: self.number,
                column: 1,
            },
            expected: expected.to_string(),
            found: "the end of the file".to_string(),
        }
    }

    fn broken(&self, reason: io::Error) -> InputError {
        let place = Place {
            file: self.file.clone(),
            line: self.number,
            column: self.buffer.len() as u64 + 1,
        };
        match reason.kind() {
            ErrorKind::UnexpectedEof if self.zipped => InputError::GzipTruncated { place },
            ErrorKind::InvalidInput | ErrorKind::InvalidData if self.zipped => {
                InputError::GzipDamaged { place, reason }
            }
            _ => InputError::Read { place, reason },
        }
    }
}

impl<'a> Line<'a> {
    pub(super) fn words(&'a self) -> Words<'a> {
        Words {
            line: self,
            next: 0,
        }
    }

    /// Returns an error at the start of the line that quotes the whole line.
    pub(super) fn unexpected(&self, expected: &str) -> InputError {
        self.error(0, expected, self.quote(0, self.text))
    }

    /// Returns the quotation of a piece that begins at a byte of the line.
    fn quote(&self, at: usize, piece: &[u8]) -> String {
        match self.quoted.saturating_sub(at).min(piece.len()) {
            0 if !piece.is_empty() => "something else".to_string(),
            quoted => quote(&piece[..quoted]),
        }
    }

    fn error(&self, at: usize, expected: &str, found: String) -> InputError {
        let place = Place {
            file: self.file.to_string(),
            line: self.number,
            column: at as u64 + 1,
        };
        InputError::Text {
            place,
            expected: expected.to_string(),
            found,
        }
    }
}

impl<'a> Words<'a> {
    /// Takes the next word, if there is one.
    pub(super) fn take(&mut self) -> Option<Word<'a>> {
        let rest = &self.line.text[self.next..];
        let blank = rest.iter().take_while(|byte| is_blank(**byte)).count();
        let word = &rest[blank..];
        let length = word.iter().take_while(|byte| !is_blank(**byte)).count();
        if length == 0 {
            return None;
        }
        let at = self.next + blank;
        self.next = at + length;
        Some(Word {
            text: &self.line.text[at..self.next],
            at,
        })
    }

    /// Returns the number of words left on the line.
    pub(super) fn count(mut self) -> usize {
        std::iter::from_fn(|| self.take()).count()
    }

    /// Parses a whole number within a range. `what` is the beginning of the error message.
    pub(super) fn whole(
        &mut self,
        what: &str,
        range: RangeInclusive<u32>,
    ) -> Result<u32, InputError> {
        match self.short_number() {
            Some((value, end)) if range.contains(&value) => {
                self.next = end;
                Ok(value)
            }
            _ => self.number(what, &range, Word::whole),
        }
    }

    /// Returns the value of the next word and its end, if it has at most [`SHORT_DIGITS`] digits.
    /// This is the common case.
    fn short_number(&self) -> Option<(u32, usize)> {
        let text = self.line.text;
        let rest = &text[self.next..];
        let begin = self.next + rest.iter().position(|byte| !is_blank(*byte))?;
        let word = &text[begin..];
        let (mut value, mut length) = (0, 0);
        for byte in &word[..word.len().min(SHORT_DIGITS)] {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = 10 * value + u32::from(digit);
            length += 1;
        }
        let ends = word.get(length).is_none_or(|byte| is_blank(*byte));
        ends.then_some((value, begin + length))
    }

    /// Parses a weight: a whole number, possibly written as a decimal fraction. Another number is
    /// the inner error.
    pub(super) fn weight(&mut self) -> Result<Result<u32, InputError>, InputError> {
        let word = self.take();
        if let Some(whole) = word.and_then(Word::whole) {
            return Ok(Ok(whole));
        }
        let value = self.finite(word)?;
        let is_whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        if is_whole {
            return Ok(Ok(value as u32));
        }
        let expected = format!("a whole weight from 0 to {}", u32::MAX);
        Ok(Err(self.unexpected(word, &expected)))
    }

    /// Parses any finite number in double precision.
    pub(super) fn real(&mut self) -> Result<f64, InputError> {
        let word = self.take();
        self.finite(word)
    }

    /// Parses a whole number that double precision holds exactly.
    pub(super) fn exact_whole(&mut self) -> Result<f64, InputError> {
        let word = self.take();
        let value = word.and_then(|word| word.as_text()?.parse::<i64>().ok());
        let exact = value.filter(|value| value.unsigned_abs() <= EXACT_MAX);
        exact.map(|value| value as f64).ok_or_else(|| {
            let expected = format!("a whole number from -{EXACT_MAX} to {EXACT_MAX}");
            self.unexpected(word, &expected)
        })
    }

    fn finite(&self, word: Option<Word<'_>>) -> Result<f64, InputError> {
        let value = word.and_then(|word| word.as_text()?.parse::<f64>().ok());
        let finite = value.filter(|value| value.is_finite());
        finite.ok_or_else(|| self.unexpected(word, "a number"))
    }

    /// Checks that only blanks are left on the line.
    pub(super) fn end(&mut self) -> Result<(), InputError> {
        if self.next == self.line.text.len() {
            return Ok(());
        }
        match self.take() {
            None => Ok(()),
            word => Err(self.unexpected(word, "the end of the line")),
        }
    }

    /// Returns an error at a word, or at the end of the line if there is none.
    pub(super) fn unexpected(&self, word: Option<Word<'_>>, expected: &str) -> InputError {
        match word {
            Some(word) => {
                let found = self.line.quote(word.at, word.text);
                self.line.error(word.at, expected, found)
            }
            None => self.line.error(
                self.line.text.len(),
                expected,
                "the end of the line".to_string(),
            ),
        }
    }

    fn number(
        &mut self,
        what: &str,
        range: &RangeInclusive<u32>,
        parse: impl Fn(Word<'a>) -> Option<u32>,
    ) -> Result<u32, InputError> {
        let word = self.take();
        let value = word.and_then(parse);
        value.filter(|value| range.contains(value)).ok_or_else(|| {
            let expected = match (range.start(), range.end()) {
                (low, high) if low < high => format!("{what} from {low} to {high}"),
                (low, high) if low == high => format!("{what}: {low}"),
                _ => "no entry, because the matrix has no place for one".to_string(),
            };
            self.unexpected(word, &expected)
        })
    }
}

impl<'a> Word<'a> {
    pub(super) fn is(self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text.as_bytes())
    }

    /// Parses the word as a whole number of 32 bits.
    fn whole(self) -> Option<u32> {
        self.as_text()?.parse().ok()
    }

    fn as_text(self) -> Option<&'a str> {
        std::str::from_utf8(self.text).ok()
    }
}

/// Moves the first line of `text` into `line` if it is complete, which is the common case. Returns
/// the bytes taken.
fn take_line(text: &[u8], line: &mut Vec<u8>) -> Option<usize> {
    let text = &text[..text.len().min(MAX_LINE_BYTES)];
    let length = text.iter().position(|byte| *byte == b'\n')?;
    line.extend_from_slice(&text[..length]);
    Some(length + 1)
}

/// True if a byte separates words.
#[inline]
fn is_blank(byte: u8) -> bool {
    // Most bytes are above all that do.
    byte <= b' ' && byte.is_ascii_whitespace()
}

/// Returns a piece of the file, escaped and shortened for a message.
fn quote(text: &[u8]) -> String {
    let shown = &text[..text.len().min(MAX_QUOTE_BYTES)];
    let dots = if text.len() > MAX_QUOTE_BYTES {
        "..."
    } else {
        ""
    };
    format!(
        "\"{}{dots}\"",
        String::from_utf8_lossy(shown).escape_debug()
    )
}
