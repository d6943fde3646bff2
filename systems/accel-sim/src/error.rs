//! Errors from reading or writing traces and option files.

use std::path::Path;

use warpweave_files::OutputError;
use warpweave_params::Diagnostic;
use warpweave_trace::TraceError;

/// Error from reading a foreign file or from writing one of our own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccelSimError {
    /// The foreign file is malformed or not supported.
    #[error("{0}")]
    Input(Box<Diagnostic>),
    /// The exported files cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Our own trace cannot be built from the input, or cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl From<Diagnostic> for AccelSimError {
    fn from(problem: Diagnostic) -> Self {
        Self::Input(Box::new(problem))
    }
}

/// Returns the diagnostic for a file at `path` that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(format!("{}: {error}", path.display()))
}
