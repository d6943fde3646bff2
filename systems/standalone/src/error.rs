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
    #[error("{path}:{line}: {problem}", path = .path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// The host has not the memory.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// Something the user asked for does not exist or makes no sense.
    #[error("{0}")]
    Request(String),
}

impl StandaloneError {
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
