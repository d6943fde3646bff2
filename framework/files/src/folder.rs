//! Folders that get their final name only when complete, and folders claimed by one writer.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use thiserror::Error;

use crate::output::{PARTIAL, folder_of, keep_name};
use crate::paths::Identity;
use crate::{Output, OutputError};

/// A folder being written next to its final location. [`OutputFolder::finish`] renames it. If it is
/// dropped before, it is removed.
#[derive(Debug)]
pub struct OutputFolder {
    partial: TempDir,
    path: PathBuf,
}

impl OutputFolder {
    /// Starts a folder with the final name `path`, which must not exist yet.
    ///
    /// # Errors
    /// Returns an error if the path exists, with [`io::ErrorKind::AlreadyExists`], or if the parent
    /// folder cannot be written.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let failed = |error| OutputError::of(path, error);
        if path.symlink_metadata().is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        folder_of(path).metadata().map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(PARTIAL);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let partial = builder.tempdir_in(folder_of(path)).map_err(failed)?;
        Ok(Self {
            partial,
            path: path.to_owned(),
        })
    }

    /// Adds a file, which may be in a subfolder.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let place = self.partial.path().join(name);
        let write = || {
            fs::create_dir_all(folder_of(&place))?;
            Output::write(&place, bytes).map_err(|failed| failed.error)
        };
        write().map_err(|error| OutputError::of(&self.path.join(name), error))
    }

    /// Renames the folder to its final name.
    ///
    /// # Errors
    /// Returns an error if the name exists by now, or the disk operation fails.
    pub fn finish(self) -> Result<(), OutputError> {
        let named = fs::rename(self.partial.path(), &self.path);
        named.map_err(|error| OutputError::of(&self.path, error))?;
        let _ = self.partial.keep();
        keep_name(&self.path);
        Ok(())
    }
}

/// Name of the lock file in a claimed folder, locked for the duration of the claim.
const CLAIM: &str = ".claim";

/// Error from claiming a folder.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// The folder is claimed by another process.
    #[error("another run is writing into {}", .0.display())]
    Taken(PathBuf),
    /// The folder cannot be created or written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Exclusive write access to a folder for the lifetime of this value.
///
/// The claim is a lock on the file `.claim` in the folder. The system releases it when the process
/// ends, even if it is killed. A later process then finds the file unlocked and takes over the
/// folder.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    /// True if the folder did not exist before.
    made: bool,
    lock: File,
}

impl Claim {
    /// Creates the folder if it does not exist, and claims it.
    ///
    /// # Errors
    /// Returns an error if another process holds the folder, or it cannot be created or written.
    pub fn of(folder: &Path) -> Result<Self, ClaimError> {
        let made = !folder.exists();
        let failed = |error| OutputError::of(folder, error);
        let path = folder.join(CLAIM);
        loop {
            fs::create_dir_all(folder).map_err(failed)?;
            let mut options = File::options();
            let opened = options.create(true).truncate(false).write(true).open(&path);
            let lock = match opened {
                // The previous holder has just removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(failed)?,
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(ClaimError::Taken(folder.to_owned()));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error).into()),
            }
            // The previous holder may have removed the file after it was opened and before it was
            // locked. Another process may then have locked a new one.
            let locked = Identity::of_open(&lock);
            if !cfg!(unix) || locked.is_same(&Identity::of(&path)) {
                return Ok(Self {
                    folder: folder.to_owned(),
                    made,
                    lock,
                });
            }
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(CLAIM));
        let _ = self.lock.unlock();
        if self.made {
            // Only a folder in which nothing is can be removed.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a full disk is what is tested")]

    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::with_room;

    #[test]
    fn a_folder_appears_with_all_its_files_or_not_at_all() {
        let above = tempfile::tempdir().expect("a temporary folder");
        let path = above.path().join("crate");
        let write = || {
            let folder = OutputFolder::create(&path)?;
            folder.file("src/main.rs", b"fn main() {}")?;
            folder.file("Cargo.toml", b"[package]")?;
            folder.finish()
        };
        for room in 0..21 {
            let error = with_room(room, write).expect_err("full");
            assert!(error.path.starts_with(&path), "{error}");
            assert_eq!(fs::read_dir(above.path()).expect("listed").count(), 0);
        }
        with_room(21, write).expect("written");
        let main = fs::read_to_string(path.join("src/main.rs")).expect("read");
        assert_eq!(main, "fn main() {}");
        let refused = write().expect_err("it is there");
        assert_eq!(refused.error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(above.path()).expect("listed").count(), 1);
    }

    #[test]
    fn one_at_a_time_has_a_folder() {
        let above = tempfile::tempdir().expect("a temporary folder");
        let path = above.path().join("r");
        let first = Claim::of(&path).expect("free");
        assert!(matches!(Claim::of(&path), Err(ClaimError::Taken(_))));
        drop(first);
        assert!(!path.exists(), "nothing was written");
        let again = Claim::of(&path).expect("free again");
        fs::write(path.join("report.txt"), "").expect("written");
        drop(again);
        let left = fs::read_dir(&path).expect("listed").count();
        assert_eq!(left, 1, "the report stays, the claim does not");
    }

    #[test]
    fn what_a_killed_process_left_does_not_keep_its_successor_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(CLAIM), "").expect("written");
        Claim::of(folder.path()).expect("the file is there, the lock is not");
    }

    #[test]
    fn of_many_that_come_at_once_one_has_the_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("r");
        let inside = AtomicU32::new(0);
        let held = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(_claim) = Claim::of(&path) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            held.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(held.into_inner() > 0);
    }
}
