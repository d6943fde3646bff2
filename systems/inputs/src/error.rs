//! What can be wrong with an input, and where.

use std::fmt;
use std::io;
use std::ops::RangeBounds;

use thiserror::Error;
use warpweave_files::OverBudget;
use warpweave_params::{Diagnostic, out_of_range};

use crate::csr::CsrError;

/// A place in a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1; in a compressed file, of the text inside.
    pub line: u64,
    /// Column in bytes, from 1.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An input that cannot be read or made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened.
    #[error("{file}: cannot be opened: {reason}")]
    Open {
        /// The file as the user named it.
        file: String,
        /// What the operating system said.
        reason: io::Error,
    },
    /// The file cannot be read on.
    #[error("{place}: cannot be read further: {reason}")]
    Read {
        /// How far reading came.
        place: Place,
        /// What the operating system said.
        reason: io::Error,
    },
    /// The compressed data ends in the middle.
    #[error(
        "{place}: the gzip data ends early, after this place of the text inside\n\
         hint: the file is cut off; fetch it again"
    )]
    GzipTruncated {
        /// How far decompression came.
        place: Place,
    },
    /// The compressed data is damaged.
    #[error("{place}: the gzip data is damaged after this place of the text inside: {reason}")]
    GzipDamaged {
        /// How far decompression came.
        place: Place,
        /// What the decompressor found.
        reason: io::Error,
    },
    /// The text is not what the format asks for at this place.
    #[error("{place}: expected {expected}, found {found}")]
    Text {
        /// Where.
        place: Place,
        /// What the format asks for, and what to do if that may surprise.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The file of an array cannot be read.
    #[error("{file}: cannot be read: {reason}")]
    Unreadable {
        /// The file as the user named it.
        file: String,
        /// What the operating system said.
        reason: io::Error,
    },
    /// The file of an array is larger than an array may be.
    #[error("{file}: has {bytes} bytes, at most {most} are possible")]
    TooLarge {
        /// The file as the user named it.
        file: String,
        /// Its size.
        bytes: u64,
        /// The largest size.
        most: u64,
    },
    /// A text stands where elements are expected.
    #[error(
        "{file}: is a text, expected little-endian words of {bytes} bytes\n\
         hint: a table is read with `format: Csv`, or if the name of its file ends in `.csv`"
    )]
    TextForElements {
        /// The file as the user named it.
        file: String,
        /// Bytes of an element.
        bytes: usize,
    },
    /// The file ends in the middle of an element.
    #[error(
        "{file}: has {found} bytes, which is no multiple of {bytes}\n\
         hint: the file holds little-endian words of {bytes} bytes"
    )]
    PartOfAnElement {
        /// The file as the user named it.
        file: String,
        /// Its size.
        found: u64,
        /// Bytes of an element.
        bytes: usize,
    },
    /// A table has no such column.
    #[error("{place}: there is no column `{column}`\nhint: {hint}")]
    NoColumn {
        /// Where the columns are named.
        place: Place,
        /// The column asked for.
        column: String,
        /// The nearest, or all.
        hint: String,
    },
    /// The file of an array is not what its format asks for.
    #[error("{file}: {problem}\nhint: {hint}")]
    Array {
        /// The file as the user named it.
        file: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A description of a generator makes no sense.
    #[error("{generator} generator: `{field}` is {problem}")]
    Description {
        /// The generator, by its name in workload files.
        generator: &'static str,
        /// The field at fault.
        field: &'static str,
        /// Its value and what it may be.
        problem: String,
    },
    /// It takes more memory than there may be.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// Arrays do not form a graph.
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

    /// Fails unless a field of a generator's description lies in `range`.
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

/// The message, with its hint apart, to be put where the input was asked for.
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
