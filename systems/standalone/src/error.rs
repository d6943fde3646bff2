//! What can go wrong outside the component.

use std::path::{Path, PathBuf};

use thiserror::Error;
use warpweave_files::OverBudget;
use warpweave_framework::SpecError;

/// Why a stand-alone run or a comparison could not be made.
#[derive(Debug, Error)]
pub enum StandaloneError {
    /// A file could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A line of a table is not what it should be.
    #[error("{path}:{line}: {problem}{hint}", path = .path.display(), hint = hint_line(.hint))]
    Line {
        /// Which file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// What is wrong, with the column if it is one.
        problem: String,
        /// What to do about it; may be empty.
        hint: String,
    },
    /// The host has not the memory.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// Something the user asked for does not exist or makes no sense.
    #[error("{0}")]
    Request(String),
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() {
        String::new()
    } else {
        format!("\nhint: {hint}")
    }
}

impl StandaloneError {
    /// Something wrong with a line of a file.
    pub(crate) fn at(path: &Path, line: u64, problem: impl Into<String>, hint: &str) -> Self {
        Self::Line {
            path: path.to_owned(),
            line,
            problem: problem.into(),
            hint: hint.to_owned(),
        }
    }

    /// A specification that cannot be built.
    pub(crate) fn refused(error: &SpecError) -> Self {
        Self::Request(format!("{}: {}", error.field, error.message))
    }

    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
