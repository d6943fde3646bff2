//! Files that appear under their names when they are complete.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use thiserror::Error;

/// A file could not be written. What was there under its name before is as it was.
#[derive(Debug, Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct OutputError {
    /// Its final name.
    pub path: PathBuf,
    /// What the system says.
    pub error: io::Error,
}

/// A file being written beside its final name. It takes that name, and the place of what was there,
/// in [`Output::finish`]; dropped before, it leaves nothing behind.
#[derive(Debug)]
pub struct Output {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl Output {
    /// Begins a file that is to be called `path`. Made early, it shows that the path can be written
    /// before anything costly is done.
    ///
    /// # Errors
    /// When its folder cannot be written, or the name belongs to something that is no plain file.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let failed = |error| OutputError {
            path: path.to_owned(),
            error,
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if path.metadata().is_ok_and(|there| !there.is_file()) || path.file_name().is_none() {
            return Err(failed(io::Error::other("it is no plain file")));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".partial-");
        #[cfg(unix)]
        builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(failed)?;
        Ok(Self {
            file: BufWriter::new(file),
            path: path.to_owned(),
        })
    }

    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name once all its bytes are on the disk.
    ///
    /// # Errors
    /// When the disk refuses; then the name keeps what it had.
    pub fn finish(self) -> Result<(), OutputError> {
        let Self { file, path } = self;
        let write = || {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            sync_folder(&path)
        };
        let written: io::Result<()> = write();
        written.map_err(|error| OutputError { path, error })
    }
}

/// Makes a new name outlast a power failure, where folders can be opened.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) && !folder.as_os_str().is_empty() => {
            File::open(folder)?.sync_all()
        }
        _ => Ok(()),
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_appears_when_it_is_complete_and_takes_the_place_of_the_old_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("report.txt");
        fs::write(&path, "old").expect("written");
        let mut output = Output::create(&path).expect("created");
        output.write_all(b"new").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), "old");
        output.finish().expect("finished");
        assert_eq!(fs::read_to_string(&path).expect("read"), "new");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut output = Output::create(&folder.path().join("report.txt")).expect("created");
        output.write_all(b"half").expect("written");
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 0);
    }

    #[test]
    fn a_name_that_cannot_be_written_is_refused_at_the_start() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["missing/report.txt", "."] {
            let refused = Output::create(&folder.path().join(name));
            assert!(refused.is_err(), "{name}");
        }
    }
}
