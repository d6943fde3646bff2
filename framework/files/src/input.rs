//! Reading of untrusted files. Only regular files are accepted, at most their stated size is read,
//! and decompression is bounded by a multiple of that size.

use std::fs::{File, FileType};
use std::io::{self, Read, Take};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{Ledger, OverBudget, size};

/// Maximum expansion factor of a compressed file, where that is more than [`UNPACKED_LEAST`].
pub const UNPACKED_TIMES_MAX: u64 = 1_000;

/// Mark at the start of some UTF-8 texts.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Unpacked size in bytes that is allowed for any compressed data, because repetitive data compress
/// to almost nothing.
pub const UNPACKED_LEAST: u64 = 1 << 20;

/// Maximum unpacked size of a compressed file, in bytes.
pub const UNPACKED_MAX: u64 = 4 << 30;

/// Error from reading a file.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The system reports an error, or the file is of the wrong type.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Reading the file would exceed the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// A regular file opened for reading.
#[derive(Debug)]
pub struct Input {
    file: Take<File>,
    path: PathBuf,
    bytes: u64,
}

impl Input {
    /// Opens a regular file. Other file types are rejected: opening a pipe would wait for a writer,
    /// and a device may never end.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or is a folder, a pipe, a socket or a device.
    pub fn open(path: &Path) -> io::Result<Self> {
        plain(path.metadata()?.file_type())?;
        let file = File::open(path)?;
        let there = file.metadata()?;
        plain(there.file_type())?;
        Ok(Self {
            file: file.take(there.len()),
            path: path.to_owned(),
            bytes: there.len(),
        })
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.bytes
    }

    /// Returns the underlying file, for random access.
    pub fn into_file(self) -> File {
        self.file.into_inner()
    }

    /// Reads the whole file, charging it to `ledger` beforehand.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or exceeds the memory budget.
    pub fn read(mut self, ledger: &Ledger) -> Result<Vec<u8>, ReadError> {
        ledger.charge(&self.path.display().to_string(), self.bytes)?;
        let mut bytes = Vec::with_capacity(self.bytes as usize);
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the whole file as text, charging it to `ledger` beforehand. A byte order mark at its
    /// start is skipped.
    ///
    /// # Errors
    /// Same as [`Input::read`], and an error if it is not UTF-8.
    pub fn read_text(self, ledger: &Ledger) -> Result<String, ReadError> {
        let text = String::from_utf8(self.read(ledger)?);
        let mut text = text.map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let problem = format!("it is not text: byte {at} is not UTF-8");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        if text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len_utf8());
        }
        Ok(text)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

/// Returns an error for anything but regular files.
fn plain(found: FileType) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let what = match found {
        _ if found.is_dir() => "a folder",
        _ => special(found),
    };
    Err(io::Error::other(format!(
        "it is {what}, not a regular file"
    )))
}

#[cfg(unix)]
fn special(found: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    match found {
        _ if found.is_fifo() => "a pipe",
        _ if found.is_socket() => "a socket",
        _ if found.is_char_device() || found.is_block_device() => "a device",
        _ => "something special",
    }
}

#[cfg(not(unix))]
fn special(_found: FileType) -> &'static str {
    "something special"
}

/// Returns the maximum size that compressed data of `stored` bytes may unpack to.
pub fn unpacked_max(stored: u64) -> u64 {
    let times = stored.saturating_mul(UNPACKED_TIMES_MAX);
    times.clamp(UNPACKED_LEAST, UNPACKED_MAX)
}

/// Reader over a decompressor's output with a size limit. Exceeding the limit is an error.
#[derive(Debug)]
pub struct Unpacked<R> {
    packed: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Unpacked<R> {
    /// Wraps the output of `decompressor` for compressed data of `stored` bytes.
    pub fn of(decompressor: R, stored: u64) -> Self {
        let limit = unpacked_max(stored);
        Self {
            packed: decompressor,
            left: limit,
            limit,
        }
    }

    /// Reads all output, charging it to `ledger` as it grows.
    ///
    /// # Errors
    /// Returns an error if it cannot be unpacked, exceeds the size limit, or exceeds the memory
    /// budget.
    pub fn read_charged(mut self, what: &str, ledger: &Ledger) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        loop {
            // Room for what follows, which a growing vector takes twice.
            let more = bytes.len().max(READ_AT_ONCE);
            ledger.charge(what, more as u64)?;
            bytes.reserve_exact(more);
            let before = bytes.len();
            self.by_ref().take(more as u64).read_to_end(&mut bytes)?;
            if bytes.len() - before < more {
                return Ok(bytes);
            }
        }
    }
}

/// Size of the first buffer for unpacking, in bytes.
const READ_AT_ONCE: usize = 1 << 16;

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !buffer.is_empty() {
            let mut beyond = [0];
            return match self.packed.read(&mut beyond)? {
                0 => Ok(0),
                _ => Err(io::Error::other(format!(
                    "it unpacks to more than {}: the limit is {UNPACKED_TIMES_MAX} times the size of the file, and at most {}",
                    size(self.limit),
                    size(UNPACKED_MAX)
                ))),
            };
        }
        let most = buffer
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.packed.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Budget;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary folder")
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_text() {
        let folder = folder();
        let path = folder.path().join("a.ron");
        fs::write(&path, "\u{feff}text").expect("written");
        let input = Input::open(&path).expect("opened");
        assert_eq!(input.read_text(&Ledger::default()).expect("read"), "text");
    }

    #[test]
    fn a_plain_file_is_charged_and_read() {
        let folder = folder();
        let path = folder.path().join("a.ron");
        fs::write(&path, "text").expect("written");
        let budget = Budget::of(4);
        let ledger = Ledger::new(&budget);
        let input = Input::open(&path).expect("opened");
        assert_eq!(
            (input.size(), input.read_text(&ledger).expect("read")),
            (4, "text".into())
        );
        assert_eq!(budget.charged(), 4);
        let refused = Input::open(&path).expect("opened").read(&ledger);
        assert!(matches!(refused, Err(ReadError::OverBudget(_))));
        fs::write(&path, [b'a', 0xff]).expect("written");
        let refused = Input::open(&path)
            .expect("opened")
            .read_text(&Ledger::default());
        let message = refused.expect_err("no text").to_string();
        assert_eq!(message, "it is not text: byte 1 is not UTF-8");
    }

    #[cfg(unix)]
    #[test]
    fn folders_pipes_sockets_and_devices_are_refused_without_being_opened() {
        let folder = folder();
        let refusal = |path: &Path| Input::open(path).expect_err("no plain file").to_string();
        assert_eq!(refusal(folder.path()), "it is a folder, not a regular file");
        assert_eq!(
            refusal(Path::new("/dev/zero")),
            "it is a device, not a regular file"
        );
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
        assert_eq!(refusal(&socket), "it is a socket, not a regular file");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo is there").success());
        // Opened, it would wait for a writer for ever.
        assert_eq!(refusal(&pipe), "it is a pipe, not a regular file");
        assert!(Input::open(&folder.path().join("absent")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_does_not_say_how_long_it_is_counts_as_empty() {
        let endless = Input::open(Path::new("/proc/self/status")).expect("opened");
        assert_eq!(endless.read(&Ledger::default()).expect("read"), b"");
    }

    #[test]
    fn data_unpacks_to_a_bounded_multiple_of_its_size() {
        let unpack = |bytes: u64, stored: u64| {
            let mut unpacked = Vec::new();
            let mut reader = Unpacked::of(io::repeat(7).take(bytes), stored);
            reader.read_to_end(&mut unpacked).map(|_| unpacked.len())
        };
        assert_eq!(unpack(3_000_000, 3_000).expect("within"), 3_000_000);
        let least = UNPACKED_LEAST;
        assert_eq!(unpack(least, 3).expect("within"), least as usize);
        assert!(unpack(least + 1, 3).is_err());
        let charged = |limit| {
            let ledger = Ledger::new(&Budget::of(limit));
            let reader = Unpacked::of(io::repeat(7).take(300_000), 300);
            reader.read_charged("it", &ledger).map(|bytes| bytes.len())
        };
        assert!(matches!(charged(300_000), Err(ReadError::OverBudget(_))));
        assert_eq!(charged(600_000).expect("within"), 300_000);
        let message = unpack(3_000_001, 3_000).expect_err("beyond").to_string();
        assert!(
            message.starts_with("it unpacks to more than 2.9 MiB: "),
            "{message}"
        );
        assert_eq!(unpacked_max(u64::MAX), UNPACKED_MAX);
    }
}
