//! Part of an option file, with its position.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Span, printable};

/// A text with its position, or the reason for a default value.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    text: String,
    place: Result<Span, Arc<str>>,
}

impl Fragment {
    pub(super) fn placed(place: Span) -> Self {
        Self {
            text: place.text().to_owned(),
            place: Ok(place),
        }
    }

    /// Creates a value that has no position; `reason` explains it.
    pub(super) fn assumed(text: &str, reason: &str) -> Self {
        Self {
            text: text.to_owned(),
            place: Err(Arc::from(reason)),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn place(&self) -> Option<&Span> {
        self.place.as_ref().ok()
    }

    /// Returns the text on one line, for use in a comment.
    pub(super) fn in_a_line(&self) -> String {
        let words: Vec<&str> = self.text.split_whitespace().collect();
        printable(&words.join(" ")).into_owned()
    }

    /// Splits the text at a separator and trims blanks.
    pub(super) fn split(&self, separator: char) -> Vec<Self> {
        let mut start = 0;
        let parts = self.text.split(separator).map(|part| {
            let first = start + part.len() - part.trim_start().len();
            start += part.len() + separator.len_utf8();
            let text = part.trim();
            Self {
                text: text.to_owned(),
                place: self
                    .place
                    .as_ref()
                    .map(|place| place.slice(first, first + text.len()))
                    .map_err(Arc::clone),
            }
        });
        parts.collect()
    }

    /// Returns an error: expected one thing, found this text.
    pub(super) fn refuse(&self, expected: &str) -> Diagnostic {
        self.blame(&format!("expected {expected}, found `{}`", self.text))
    }

    /// Returns an error at the position of this piece.
    pub(super) fn blame(&self, message: &str) -> Diagnostic {
        let problem = Diagnostic::error(message);
        match &self.place {
            Ok(place) => problem.at(place),
            Err(reason) => problem.hint(reason.to_string()),
        }
    }

    pub(super) fn number<T: FromStr>(&self, expected: &str) -> Result<T, Diagnostic> {
        match self.text.parse() {
            Ok(number) if !self.text.starts_with('+') => Ok(number),
            _ => Err(self.refuse(expected)),
        }
    }

    /// Parses a number and checks that it is within a range.
    pub(super) fn within(&self, range: RangeInclusive<u32>, what: &str) -> Result<u32, Diagnostic> {
        let expected = format!("{} to {} {what}", range.start(), range.end());
        let number = self.number(&expected)?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(self.refuse(&expected))
        }
    }
}
