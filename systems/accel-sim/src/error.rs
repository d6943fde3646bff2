//! Why a trace or an option file could not be read or written.

use std::path::Path;

use warpweave_files::OutputError;
use warpweave_params::Diagnostic;
use warpweave_trace::TraceError;

/// Why a foreign file could not be read, or ours not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccelSimError {
    /// The foreign file is not what it should be.
    #[error("{0}")]
    Input(Box<Diagnostic>),
    /// What is exported cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Our own trace cannot be made of it, or not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl From<Diagnostic> for AccelSimError {
    fn from(problem: Diagnostic) -> Self {
        Self::Input(Box::new(problem))
    }
}

/// The file at `path` cannot be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(format!("{}: {error}", path.display()))
}
