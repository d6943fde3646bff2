//! Reading and writing checkpoints as files.
//!
//! ```text
//!   magic (8) │ format (4) │ length of the rest (8) │ BLAKE3 of the rest (32) │ rest
//!   rest = zstd( postcard( version of this crate, checkpoint ) )
//! ```
//!
//! Numbers are little-endian. The layout after the magic and the format number may change with the
//! format. A file of another version of Warpweave is rejected, because the fields of components may
//! have changed.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use warpweave_files::{Input, Ledger, Output, OutputError, OverBudget, ReadError, Unpacked};

use crate::checkpoint::saving::Checkpoint;

const MAGIC: [u8; 8] = *b"WARPCHKP";
/// Version of the layout, including the state that the components of this repository save.
const FORMAT: u32 = 5;
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Fastest zstd level, because the run waits while a checkpoint is written.
const LEVEL: i32 = 1;

/// Reason for which a file is not a usable checkpoint.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file could not be read from disk.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Path of the file that was to be read.
        path: PathBuf,
        /// Error reported by the operating system.
        error: io::Error,
    },
    /// The file could not be written; an existing file is unchanged.
    #[error(transparent)]
    Write(#[from] OutputError),
    /// The file is not a Warpweave checkpoint.
    #[error("not a checkpoint: wrong file header")]
    NoCheckpoint,
    /// The file has a different format version.
    #[error(
        "the checkpoint has format {0}, but this program reads format {FORMAT}\nhint: resume it with the version of warpweave that wrote it"
    )]
    Format(u32),
    /// A different version of Warpweave wrote the file.
    #[error(
        "the checkpoint was written by warpweave {0}, but this is {VERSION}; the state of components may have changed between the two\nhint: resume it with the version that wrote it"
    )]
    Version(String),
    /// The file is truncated, as after a crash of the host.
    #[error("the checkpoint is truncated: {found} of {expected} bytes")]
    CutOff {
        /// Number of bytes found in the file.
        found: u64,
        /// Number of bytes that the file should have.
        expected: u64,
    },
    /// The checksum does not match: the bytes differ from those written.
    #[error("the checkpoint is damaged: checksum mismatch")]
    Damaged,
    /// Reading the file would exceed the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The checksum is correct, but the contents cannot be decoded.
    #[error("the checkpoint cannot be decoded: {0}")]
    Undecodable(String),
}

impl Checkpoint {
    /// Returns the bytes of a file with the checkpoint and the caller's own data.
    pub fn to_bytes_with(&self, beside: &impl Serialize) -> Vec<u8> {
        let plain = postcard::to_stdvec(&(VERSION, self, beside));
        let plain = plain.expect("a checkpoint holds only numbers, text and bytes");
        let rest = zstd::encode_all(&plain[..], LEVEL).expect("reading from memory cannot fail");
        let mut bytes = Vec::with_capacity(rest.len() + HEAD);
        bytes.extend(MAGIC);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend((rest.len() as u64).to_le_bytes());
        bytes.extend(blake3::hash(&rest).as_bytes());
        bytes.extend(rest);
        bytes
    }

    /// Decodes the bytes that [`Checkpoint::to_bytes_with`] returned.
    ///
    /// # Errors
    /// Returns an error for any defect of the bytes; see [`FileError`].
    pub fn from_bytes_with<T: DeserializeOwned>(bytes: &[u8]) -> Result<(Self, T), FileError> {
        Self::from_bytes_within(bytes, &Ledger::default())
    }

    fn from_bytes_within<T: DeserializeOwned>(
        bytes: &[u8],
        ledger: &Ledger,
    ) -> Result<(Self, T), FileError> {
        let rest = checked(bytes)?;
        let undecodable = |error: &dyn std::fmt::Display| FileError::Undecodable(error.to_string());
        let plain = unpacked(rest, ledger).map_err(|error| match error {
            ReadError::OverBudget(error) => error.into(),
            ReadError::Io(error) => undecodable(&error),
        })?;
        let (version, plain): (String, _) =
            postcard::take_from_bytes(&plain).map_err(|error| undecodable(&error))?;
        if version != VERSION {
            return Err(FileError::Version(version));
        }
        postcard::from_bytes(plain).map_err(|error| undecodable(&error))
    }

    /// Returns the checkpoint as the bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_with(&())
    }

    /// Decodes the bytes that [`Checkpoint::to_bytes`] returned.
    ///
    /// # Errors
    /// Returns an error for any defect of the bytes; see [`FileError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::from_bytes_with::<()>(bytes).map(|(checkpoint, ())| checkpoint)
    }

    /// Writes the checkpoint and the caller's own data to a file, atomically. Returns the size of
    /// the file.
    ///
    /// # Errors
    /// Returns [`FileError::Write`] if the file cannot be written.
    pub fn write(&self, path: &Path, beside: &impl Serialize) -> Result<u64, FileError> {
        let bytes = self.to_bytes_with(beside);
        Output::write(path, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// Reads a file written by [`Checkpoint::write`]. The file and its unpacked contents are
    /// charged to `ledger`.
    ///
    /// # Errors
    /// Returns an error for any defect of the file; see [`FileError`].
    pub fn read<T: DeserializeOwned>(path: &Path, ledger: &Ledger) -> Result<(Self, T), FileError> {
        let read = || Input::open(path)?.read(ledger);
        let bytes = read().map_err(|error| match error {
            ReadError::OverBudget(error) => error.into(),
            ReadError::Io(error) => FileError::Read {
                path: path.to_owned(),
                error,
            },
        })?;
        Self::from_bytes_within(&bytes, ledger)
    }
}

/// Decompresses the bytes with `zstd`, within the limits for unpacked data.
fn unpacked(packed: &[u8], ledger: &Ledger) -> Result<Vec<u8>, ReadError> {
    let decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    Unpacked::of(decoder, packed.len() as u64).read_charged("the checkpoint", ledger)
}

/// Bytes of the header in front of the compressed data.
const HEAD: usize = 52;

/// Checks the header and returns the compressed part of a file.
fn checked(bytes: &[u8]) -> Result<&[u8], FileError> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] || bytes.is_empty() {
        return Err(FileError::NoCheckpoint);
    }
    let cut_off = |expected: usize| FileError::CutOff {
        found: bytes.len() as u64,
        expected: expected as u64,
    };
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
        return Err(cut_off(HEAD));
    };
    let number = |at: usize| {
        let (word, _) = head[at..].split_first_chunk().expect("inside the head");
        u32::from_le_bytes(*word)
    };
    if number(8) != FORMAT {
        return Err(FileError::Format(number(8)));
    }
    let length = u64::from(number(12)) | u64::from(number(16)) << 32;
    if (rest.len() as u64) < length {
        return Err(FileError::CutOff {
            found: bytes.len() as u64,
            expected: length.saturating_add(HEAD as u64),
        });
    }
    if rest.len() as u64 != length || blake3::hash(rest).as_bytes() != &head[20..] {
        return Err(FileError::Damaged);
    }
    Ok(rest)
}
