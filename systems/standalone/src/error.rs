//! Errors that occur outside the component under test.

use std::path::{Path, PathBuf};

use thiserror::Error;
use warpweave_files::OverBudget;
use warpweave_framework::SpecError;
use warpweave_params::Diagnostics;

/// Reasons that a stand-alone run or a comparison cannot be made.
#[derive(Debug, Error)]
pub enum StandaloneError {
    /// A file could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    File {
        path: PathBuf,
        /// Error reported by the operating system.
        source: std::io::Error,
    },
    /// A line of a table is invalid.
    #[error("{path}:{line}: {problem}{hint}", path = .path.display(), hint = hint_line(.hint))]
    Line {
        path: PathBuf,
        /// Line number in the file, counted from 1.
        line: u64,
        /// Description of the problem, with the column if one is at fault.
        problem: String,
        /// Hint on how to fix it; may be empty.
        hint: String,
    },
    /// The host does not have enough memory.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// A description file contains one or more mistakes.
    #[error("{0}")]
    Description(Diagnostics),
    /// A component cannot be built from its specification.
    #[error("{}: {}", .0.field, .0.message)]
    Specification(SpecError),
    /// The user's request names something that does not exist or is invalid.
    #[error("{0}")]
    Request(String),
}

impl From<SpecError> for StandaloneError {
    fn from(error: SpecError) -> Self {
        Self::Specification(error)
    }
}

impl From<Diagnostics> for StandaloneError {
    fn from(problems: Diagnostics) -> Self {
        Self::Description(problems)
    }
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() {
        String::new()
    } else {
        format!("\nhint: {hint}")
    }
}

impl StandaloneError {
    /// Creates an error for a line of a file.
    pub(crate) fn at(path: &Path, line: u64, problem: impl Into<String>, hint: &str) -> Self {
        Self::Line {
            path: path.to_owned(),
            line,
            problem: problem.into(),
            hint: hint.to_owned(),
        }
    }

    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
