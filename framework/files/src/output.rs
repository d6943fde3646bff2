//! Files that get their final name only when they are complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use thiserror::Error;

use crate::full_disk;

/// Name prefix of files that are still being written.
pub(crate) const PARTIAL: &str = ".partial-";

/// Maximum number of chained symbolic links before they count as a cycle, as on Linux.
const LINKS_MAX: usize = 40;

/// Error from writing a file. Previous contents under its name are unchanged.
#[derive(Debug, Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct OutputError {
    pub path: PathBuf,
    /// Error that the operating system reported.
    pub error: io::Error,
}

impl OutputError {
    /// Wraps a system error that concerns `path`.
    pub fn of(path: &Path, error: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            error,
        }
    }
}

impl From<OutputError> for io::Error {
    fn from(error: OutputError) -> Self {
        Self::new(error.error.kind(), error)
    }
}

/// A file being written next to its final location, named `.partial-` and some letters.
/// [`Output::finish`] renames it, replacing any existing file. If it is dropped before, it is
/// removed. A killed process leaves at most the partial file.
///
/// If the name is a symbolic link, the link's target is replaced and the link stays.
#[derive(Debug)]
pub struct Output {
    file: BufWriter<OnDisk>,
    /// Name of the file as it was given.
    path: PathBuf,
    /// Path of the file after following links.
    place: PathBuf,
}

impl Output {
    /// Starts a file with the final name `path`.
    ///
    /// # Errors
    /// Returns an error if its folder cannot be written. Also fails if the name belongs to
    /// something that is not a regular file or is not writable.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let failed = |error| OutputError::of(path, error);
        let place = place_of(path).map_err(failed)?;
        let before = permitted(&place).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(PARTIAL);
        // Opened here, because the library's errors tell the name of the partial file.
        let open = |path: &Path| File::options().write(true).create_new(true).open(path);
        let file = builder.make_in(folder_of(&place), open).map_err(failed)?;
        if let Some(before) = before {
            let kept = file.as_file().set_permissions(before.permissions());
            kept.map_err(failed)?;
        }
        Ok(Self {
            file: BufWriter::new(OnDisk(file)),
            path: path.to_owned(),
            place,
        })
    }

    /// Checks that a file could be created as `path`, before any costly work is done. Leaves no
    /// files behind.
    ///
    /// # Errors
    /// Same as [`Output::create`].
    pub fn test(path: &Path) -> Result<(), OutputError> {
        Self::create(path).map(drop)
    }

    /// Writes a complete file with these contents.
    ///
    /// # Errors
    /// Same as [`Output::create`] and [`Output::finish`].
    pub fn write(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
        Self::filled(path, bytes)?.finish()
    }

    /// Writes a complete file, which must not exist yet.
    ///
    /// # Errors
    /// Same as [`Output::write`], and [`io::ErrorKind::AlreadyExists`] if it exists.
    pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
        if path.symlink_metadata().is_ok() {
            return Err(OutputError::of(path, io::ErrorKind::AlreadyExists.into()));
        }
        Self::filled(path, bytes)?.named(|file, place| {
            let named = file.persist_noclobber(place);
            named.map(drop).map_err(|error| error.error)
        })
    }

    /// Writes a complete file through a library that needs a file name. `write` receives the name
    /// of the partial file, which is empty.
    ///
    /// # Errors
    /// Same as [`Output::write`], and any error that `write` returns.
    pub fn write_by_name(
        path: &Path,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let output = Self::create(path)?;
        let partial = output.file.get_ref().0.path().to_owned();
        write(&partial).map_err(|error| OutputError::of(path, error))?;
        output.finish()
    }

    fn filled(path: &Path, bytes: &[u8]) -> Result<Self, OutputError> {
        let mut output = Self::create(path)?;
        match output.write_all(bytes) {
            Ok(()) => Ok(output),
            Err(error) => Err(OutputError::of(path, error)),
        }
    }

    /// Returns the final name of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final name once all its bytes are on disk.
    ///
    /// # Errors
    /// Returns an error if the disk operation fails. The previous contents remain in that case.
    pub fn finish(self) -> Result<(), OutputError> {
        self.named(|file, place| {
            let named = file.persist(place);
            named.map(drop).map_err(|error| error.error)
        })
    }

    fn named(
        self,
        name: impl FnOnce(NamedTempFile, &Path) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let Self { file, path, place } = self;
        let write = || {
            let OnDisk(file) = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            name(file, &place)
        };
        write().map_err(|error| OutputError::of(&path, error))?;
        keep_name(&place);
        Ok(())
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

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Partial file, through which all bytes are written.
#[derive(Debug)]
struct OnDisk(NamedTempFile);

impl Write for OnDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = full_disk::room_for(bytes)?;
        let written = self.0.as_file_mut().write(&bytes[..fits])?;
        full_disk::written(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

impl Seek for OnDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.as_file_mut().seek(to)
    }
}

/// Returns the real path of a file called `path`. Links are followed, even to a file that does not
/// exist yet.
pub(crate) fn place_of(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        match place.read_link() {
            Ok(target) => place = folder_of(&place).join(target),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other("its symbolic links form a loop"))
}

/// Returns the folder that contains a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the metadata of an existing file at `place`, if any. Returns an error if it may not be
/// replaced.
fn permitted(place: &Path) -> io::Result<Option<fs::Metadata>> {
    if place.file_name().is_none() {
        return Err(io::Error::other("it is not a regular file"));
    }
    match place.metadata() {
        Ok(there) if !there.is_file() => Err(io::Error::other("it is not a regular file")),
        // A file that is protected from writing is not to be replaced either.
        Ok(there) => File::options()
            .append(true)
            .open(place)
            .map(|_| Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a rename survive a power failure, if the folder can be opened. The file is complete under
/// its name in any case.
pub(crate) fn keep_name(place: &Path) {
    if cfg!(unix)
        && let Ok(folder) = File::open(folder_of(place))
    {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a full disk is what is tested")]

    use super::*;
    use crate::with_room;

    /// Returns the names of all entries in a folder.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("listed");
        let mut names: Vec<_> = entries
            .map(|entry| {
                entry
                    .expect("listed")
                    .file_name()
                    .into_string()
                    .expect("text")
            })
            .collect();
        names.sort();
        names
    }

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
        assert_eq!(names(folder.path()), ["report.txt"]);
    }

    #[test]
    fn a_file_that_is_given_up_or_only_tested_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("report.txt");
        let mut output = Output::create(&path).expect("created");
        output.write_all(b"half").expect("written");
        drop(output);
        Output::test(&path).expect("it could be written");
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_full_disk_after_any_byte_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("report.txt");
        let text = vec![b'x'; 20_000];
        for room in [0, 1, 4_095, 8_192, 19_999] {
            fs::write(&path, "old").expect("written");
            let error = with_room(room, || Output::write(&path, &text)).expect_err("full");
            assert_eq!(error.error.kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::read_to_string(&path).expect("read"), "old");
            assert_eq!(names(folder.path()), ["report.txt"]);
        }
        with_room(20_000, || Output::write(&path, &text)).expect("it fits");
        assert_eq!(fs::read(&path).expect("read"), text);
        Output::write(&path, b"again").expect("the disk has room again");
    }

    #[test]
    fn a_new_file_replaces_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("component.rs");
        Output::write_new(&path, b"mine").expect("written");
        let refused = Output::write_new(&path, b"other").expect_err("it is there");
        assert_eq!(refused.error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).expect("read"), "mine");
        assert_eq!(names(folder.path()), ["component.rs"]);
    }

    #[test]
    fn a_name_that_cannot_be_written_is_refused_at_the_start() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("file"), "").expect("written");
        for name in ["missing/report.txt", ".", "..", "file/report.txt"] {
            let refused = Output::create(&folder.path().join(name)).expect_err(name);
            assert!(!refused.to_string().contains(PARTIAL), "{refused}");
        }
        assert!(Output::create(Path::new("/")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_refused() {
        let refused = Output::test(Path::new("/dev/null")).expect_err("no plain file");
        assert_eq!(
            refused.to_string(),
            "cannot write /dev/null: it is not a regular file"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_the_file_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("far")).expect("made");
        fs::write(at("far/there"), "old").expect("written");
        for (link, target) in [
            ("a", "far/there"),
            ("b", "a"),
            ("c", "far/not-yet"),
            ("d", "d"),
        ] {
            std::os::unix::fs::symlink(target, at(link)).expect("linked");
        }
        Output::write(&at("b"), b"new").expect("written");
        Output::write(&at("c"), b"first").expect("written");
        assert!(Output::test(&at("d")).is_err(), "a circle");
        assert_eq!(fs::read_to_string(at("far/there")).expect("read"), "new");
        assert_eq!(
            fs::read_to_string(at("far/not-yet")).expect("read"),
            "first"
        );
        assert!(at("b").is_symlink() && at("a").is_symlink() && at("c").is_symlink());
        assert_eq!(names(&at("far")), ["not-yet", "there"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_who_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("secret");
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        Output::write(&path, b"new").expect("written");
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
