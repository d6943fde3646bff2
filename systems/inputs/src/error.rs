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
    /// The file of words cannot be read.
    #[error("{file}: cannot be read: {reason}")]
    Words {
        /// The file as the user named it.
        file: String,
        /// What the operating system said.
        reason: io::Error,
    },
    /// The file holds more words than an array may have.
    #[error("{file}: has {bytes} bytes, at most {most} are possible")]
    TooManyWords {
        /// The file as the user named it.
        file: String,
        /// Its size.
        bytes: u64,
        /// The largest size.
        most: u64,
    },
    /// A text stands where words are expected.
    #[error(
        "{file}: is a text, expected little-endian words of 4 bytes\n\
         hint: write numbers of a text as `Values(element: …, values: […])`, or convert the file to binary words"
    )]
    TextForWords {
        /// The file as the user named it.
        file: String,
    },
    /// The file ends in the middle of a word.
    #[error(
        "{file}: has {bytes} bytes, which is no multiple of 4\n\
         hint: the file holds little-endian words of 4 bytes"
    )]
    PartOfAWord {
        /// The file as the user named it.
        file: String,
        /// Its size.
        bytes: u64,
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
