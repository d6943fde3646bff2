//! Origin of a host program: the files and the text it was made from.

use std::path::PathBuf;

/// Files and text that a host program was made from.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramOrigin {
    /// Paths of all files that were read.
    pub(super) files_read: Vec<PathBuf>,
    /// Text of the program's file with the values of its parameters; empty for a program built in
    /// Rust.
    pub(super) resolved: String,
    /// Names of the parameters in the program's file.
    pub(super) parameters: Vec<String>,
}
