//! Errors in inputs, with their positions.

use std::fmt;
use std::io;
use std::ops::RangeBounds;

use thiserror::Error;
use warpweave_files::OverBudget;
use warpweave_params::{Diagnostic, out_of_range};

use crate::csr::CsrError;

/// Position in a text file, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the file as the user gave it.
    pub file: String,
    /// Line number, from 1. In a compressed file it refers to the decompressed text.
    pub line: u64,
    /// Column number in bytes, starting from 1.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Error from reading or generating an input.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file could not be opened for reading.
    #[error("{file}: cannot open: {reason}")]
    Open {
        /// Name of the file as the user gave it.
        file: String,
        reason: io::Error,
    },
    /// Reading failed in the middle of the file.
    #[error("{place}: cannot read further: {reason}")]
    Read {
        /// Position up to which the file was read.
        place: Place,
        reason: io::Error,
    },
    /// The compressed data are truncated.
    #[error(
        "{place}: the gzip data ends after this position of the uncompressed text\nhint: the file is truncated; fetch it again"
    )]
    GzipTruncated {
        /// Position up to which the text was decompressed.
        place: Place,
    },
    /// The compressed data are not valid gzip.
    #[error(
        "{place}: the gzip data is damaged after this position of the uncompressed text: {reason}"
    )]
    GzipDamaged {
        /// Position up to which the text was decompressed.
        place: Place,
        reason: io::Error,
    },
    /// The text at this position does not match the format.
    #[error("{place}: expected {expected}, found {found}")]
    Text {
        place: Place,
        /// Description of the expected text, with a hint if it may surprise.
        expected: String,
        /// Text found instead, shortened for display.
        found: String,
    },
    /// The file of an array cannot be read.
    #[error("{file}: cannot read: {reason}")]
    Unreadable {
        /// Name of the file as the user gave it.
        file: String,
        reason: io::Error,
    },
    /// The file of an array exceeds the maximum size of an array.
    #[error("{file}: has {bytes} bytes, at most {most} are allowed")]
    TooLarge {
        /// Name of the file as the user gave it.
        file: String,
        /// Size of the file in bytes.
        bytes: u64,
        /// Maximum size of an array in bytes.
        most: u64,
    },
    /// The file is a text, but binary elements are expected.
    #[error(
        "{file}: is a text file, expected little-endian words of {bytes} bytes\nhint: a table is read with `format: Csv`, or if its file name ends in `.csv`"
    )]
    TextForElements {
        /// Name of the file as the user gave it.
        file: String,
        /// Number of bytes in an element.
        bytes: usize,
    },
    /// The file ends in the middle of an element.
    #[error(
        "{file}: has {found} bytes, which is not a multiple of {bytes}\nhint: the file must hold little-endian words of {bytes} bytes"
    )]
    PartOfAnElement {
        /// Name of the file as the user gave it.
        file: String,
        /// Size of the file in bytes.
        found: u64,
        /// Number of bytes in an element.
        bytes: usize,
    },
    /// The table has no such column.
    #[error("{place}: no column `{column}`\nhint: {hint}")]
    NoColumn {
        /// Position of the line with the column names.
        place: Place,
        /// Name or number of the requested column.
        column: String,
        /// Nearest column name, or all of them.
        hint: String,
    },
    /// The file of an array does not match its format.
    #[error("{file}: {problem}\nhint: {hint}")]
    Array {
        /// Name of the file as the user gave it.
        file: String,
        /// Description of what is wrong in the file.
        problem: String,
        /// Hint on how to resolve the problem.
        hint: String,
    },
    /// The description of a generator is invalid.
    #[error("{generator} generator: `{field}` is {problem}")]
    Description {
        /// Name of the generator in workload files.
        generator: &'static str,
        /// Name of the field that is invalid.
        field: &'static str,
        /// Value of the field and its permitted range.
        problem: String,
    },
    /// The input would exceed the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The arrays do not form a graph.
    #[error(transparent)]
    Graph(#[from] CsrError),
}

impl InputError {
    pub(crate) fn of_array(file: &str, problem: impl Into<String>, hint: &str) -> Self {
        Self::Array {
            file: file.to_owned(),
            problem: problem.into(),
            hint: hint.to_owned(),
        }
    }

    /// Returns an error unless a field of a generator's description is in `range`.
    pub(crate) fn in_range<T: PartialOrd + fmt::Display>(
        generator: &'static str,
        field: &'static str,
        value: T,
        range: impl RangeBounds<T>,
    ) -> Result<(), Self> {
        match out_of_range(&value, &range) {
            Some(problem) => Err(Self::Description {
                generator,
                field,
                problem,
            }),
            None => Ok(()),
        }
    }
}

/// Splits the message from its hint, to be placed where the input was requested.
impl From<InputError> for Diagnostic {
    fn from(error: InputError) -> Self {
        if let InputError::OverBudget(error) = error {
            return error.into();
        }
        let message = error.to_string();
        match message.split_once("\nhint: ") {
            Some((sentence, hint)) => Diagnostic::error(sentence).hint(hint),
            None => Diagnostic::error(message),
        }
    }
}
