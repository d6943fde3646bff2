//! `warpweave bench cache` and `warpweave validate cache`.

use std::path::Path;

use crate::{Comparison, StandaloneError};

/// Compares with the reference data in `folder`.
///
/// # Errors
/// When the folder does not hold the tables of the reference.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    Err(StandaloneError::Request(format!(
        "{}: not compared yet",
        folder.display()
    )))
}
