//! Tests of user-written files: errors name their position, and unusual input is counted.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod mutations;
mod own_reference;
mod traces;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Temporary folder with the files of a test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Formats a message without the folder's own path.
    fn plain(&self, message: &impl ToString) -> String {
        let place = format!("{}/", self.0.path().display());
        message.to_string().replace(&place, "")
    }

    fn root(&self) -> &Path {
        self.0.path()
    }
}
