//! Files of compressed chunks, indexed at the end and read chunk by chunk.
//!
//! ```text
//!   header    magic[8], format version[4], 0[4]
//!   chunks    zstd frames
//!   index     zstd frame: what the format keeps beside the chunks, and where they lie
//!   trailer   index offset[8], index bytes[8], BLAKE3 of the index[32], magic[8]
//! ```
//!
//! The index comes last so that a file can be written before its contents are known. Each chunk has
//! a digest, so it can be read and checked without the rest. Numbers are little-endian. The index
//! is encoded with postcard.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Input, Ledger, Output, OutputError, OverBudget, Unpacked, unpacked_max};

const HEADER_BYTES: u64 = 16;
const TRAILER_BYTES: u64 = 56;

/// Memory charged for an index, as a multiple of its stored size.
const INDEX_EXPANSION: u64 = 32;

/// Description of a file format made of chunks.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Magic bytes, which are both the first and the last bytes of a file.
    pub magic: [u8; 8],
    pub version: u32,
    /// Readable name of the file type, such as `a program trace`.
    pub what: &'static str,
    /// Advice for an unusable file, such as `record the trace again`.
    pub again: &'static str,
}

/// Position, size and digest of a chunk in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    offset: u64,
    stored_bytes: u64,
    raw_bytes: u64,
    /// BLAKE3 digest of the chunk's stored bytes.
    digest: [u8; 32],
}

impl Chunk {
    /// Returns the byte offset of the chunk in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the maximum memory the unpacked chunk takes, in bytes.
    pub fn unpacked_bytes(&self) -> u64 {
        self.raw_bytes.min(unpacked_max(self.stored_bytes))
    }
}

/// Error from reading a file of chunks.
#[derive(Debug, Error)]
pub enum ChunkedError {
    /// The contents of the file are invalid.
    #[error("{}: offset {offset}: {problem}", file.display())]
    File {
        file: PathBuf,
        /// Byte offset of the error in the file.
        offset: u64,
        /// Description of the error and what to do about it.
        problem: String,
    },
    /// Error of the operating system on reading.
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    /// Reading the file would exceed the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// Writes a file of chunks. An existing file of that name stays in place until
/// [`ChunkedOutput::finish`].
pub struct ChunkedOutput {
    out: Output,
    layout: &'static Layout,
    level: i32,
    offset: u64,
}

impl ChunkedOutput {
    /// Creates a file of this format with this zstd level.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn create(path: &Path, layout: &'static Layout, level: i32) -> Result<Self, OutputError> {
        let mut file = Self {
            out: Output::create(path)?,
            layout,
            level,
            offset: 0,
        };
        file.put(&layout.magic)?;
        file.put(&layout.version.to_le_bytes())?;
        file.put(&[0; 4])?;
        Ok(file)
    }

    /// Compresses and appends a chunk, and returns its position.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn chunk(&mut self, raw: &[u8]) -> Result<Chunk, OutputError> {
        let stored = self.compress(raw)?;
        let chunk = Chunk {
            offset: self.offset,
            stored_bytes: stored.len() as u64,
            raw_bytes: raw.len() as u64,
            digest: *blake3::hash(&stored).as_bytes(),
        };
        self.put(&stored)?;
        Ok(chunk)
    }

    /// Writes the index and renames the file to its final name.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    ///
    /// # Panics
    /// Panics if `index` cannot be serialized because it contains a map of unknown length.
    pub fn finish(mut self, index: &impl Serialize) -> Result<(), OutputError> {
        let raw = postcard::to_stdvec(index).expect("plain values can always be serialized");
        let stored = self.compress(&raw)?;
        let start = self.offset;
        self.put(&stored)?;
        self.put(&start.to_le_bytes())?;
        self.put(&(stored.len() as u64).to_le_bytes())?;
        self.put(blake3::hash(&stored).as_bytes())?;
        let magic = self.layout.magic;
        self.put(&magic)?;
        self.out.finish()
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        self.offset += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        written.map_err(|error| OutputError::of(self.out.path(), error))
    }

    fn compress(&self, raw: &[u8]) -> Result<Vec<u8>, OutputError> {
        zstd::bulk::compress(raw, self.level)
            .map_err(|error| OutputError::of(self.out.path(), error))
    }
}

/// An open file of chunks, whose index has been read.
#[derive(Debug)]
pub struct ChunkedInput {
    path: PathBuf,
    file: File,
    layout: &'static Layout,
    /// Byte offset of the index, directly after the last chunk.
    chunks_end: u64,
}

impl ChunkedInput {
    /// Opens a file, checks its header and trailer, and reads the index. The index is charged to
    /// `ledger`.
    ///
    /// # Errors
    /// Returns [`ChunkedError::File`] if it has another format or version, or is truncated or
    /// damaged.
    pub fn open<I: DeserializeOwned>(
        path: &Path,
        layout: &'static Layout,
        ledger: &Ledger,
    ) -> Result<(Self, I), ChunkedError> {
        let io_error = |source| ChunkedError::Io {
            file: path.to_owned(),
            source,
        };
        let mut file = Input::open(path).map_err(io_error)?.into_file();
        let end = file.seek(SeekFrom::End(0)).map_err(io_error)?;
        let mut input = Self {
            path: path.to_owned(),
            file,
            layout,
            chunks_end: HEADER_BYTES,
        };
        let Layout { what, again, .. } = layout;
        if end < HEADER_BYTES + TRAILER_BYTES {
            return Err(input.refuse(end, format!("too short for {what}; {again}")));
        }
        let header = input.read(0, HEADER_BYTES)?;
        if header[..8] != layout.magic {
            return Err(input.refuse(0, format!("not {what}")));
        }
        let version = word(&header, 8) as u32;
        if version != layout.version || header[12..] != [0; 4] {
            let problem = format!(
                "format version {version}, but this program reads {}; {again}",
                layout.version
            );
            return Err(input.refuse(8, problem));
        }
        let trailer_offset = end - TRAILER_BYTES;
        let trailer = input.read(trailer_offset, TRAILER_BYTES)?;
        if trailer[48..] != layout.magic {
            return Err(input.refuse(end - 8, format!("the file is truncated; {again}")));
        }
        let (offset, stored) = (word(&trailer, 0), word(&trailer, 8));
        if offset < HEADER_BYTES || offset.checked_add(stored) != Some(trailer_offset) {
            return Err(input.refuse(trailer_offset, format!("the trailer is damaged; {again}")));
        }
        // What it says is a table of numbers and names, a few times as large in memory.
        let expanded = unpacked_max(stored).min(stored.saturating_mul(INDEX_EXPANSION));
        ledger.charge(&path.display().to_string(), expanded)?;
        let bytes = input.read(offset, stored)?;
        if blake3::hash(&bytes).as_bytes() != &trailer[16..48] {
            return Err(input.refuse(offset, format!("the index is damaged; {again}")));
        }
        let raw = expand(&bytes, unpacked_max(stored));
        let index = raw.and_then(|raw| {
            let index = postcard::from_bytes(&raw);
            index.map_err(|error| format!("the index cannot be read: {error}"))
        });
        let index = index.map_err(|problem| input.refuse(offset, problem))?;
        input.chunks_end = offset;
        Ok((input, index))
    }

    /// Checks that chunks are contiguous and fill the file.
    ///
    /// # Errors
    /// Returns a description of the first inconsistency.
    pub fn check<'c>(&self, chunks: impl IntoIterator<Item = &'c Chunk>) -> Result<(), String> {
        let mut offset = HEADER_BYTES;
        for chunk in chunks {
            let after = offset.checked_add(chunk.stored_bytes);
            let after = after.filter(|after| *after <= self.chunks_end);
            offset = after
                .filter(|_| chunk.offset == offset)
                .ok_or("the chunks are not contiguous")?;
        }
        if offset != self.chunks_end {
            return Err("there are bytes that belong to no chunk".to_owned());
        }
        Ok(())
    }

    /// Reads, verifies and expands a chunk.
    ///
    /// # Errors
    /// Returns [`ChunkedError::File`] if the chunk is damaged.
    pub fn chunk(&mut self, chunk: &Chunk) -> Result<Vec<u8>, ChunkedError> {
        let stored = self.read(chunk.offset, chunk.stored_bytes)?;
        let refuse = |problem| self.refuse(chunk.offset, problem);
        if *blake3::hash(&stored).as_bytes() != chunk.digest {
            return Err(refuse(format!(
                "the chunk is damaged; {}",
                self.layout.again
            )));
        }
        let raw = expand(&stored, chunk.raw_bytes).map_err(refuse)?;
        if raw.len() as u64 != chunk.raw_bytes {
            return Err(refuse(
                "the chunk's size does not match the index".to_owned(),
            ));
        }
        Ok(raw)
    }

    /// Returns the byte offset of the index in the file.
    pub fn index_offset(&self) -> u64 {
        self.chunks_end
    }

    /// Returns the path the file was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates an error that refers to this offset in the file.
    pub fn refuse(&self, offset: u64, problem: String) -> ChunkedError {
        ChunkedError::File {
            file: self.path.clone(),
            offset,
            problem,
        }
    }

    /// Reads `bytes` bytes, which must exist in the file.
    fn read(&mut self, offset: u64, bytes: u64) -> Result<Vec<u8>, ChunkedError> {
        let mut buffer = Vec::new();
        self.file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| (&mut self.file).take(bytes).read_to_end(&mut buffer))
            .map_err(|source| ChunkedError::Io {
                file: self.path.clone(),
                source,
            })?;
        if buffer.len() as u64 == bytes {
            Ok(buffer)
        } else {
            Err(self.refuse(offset, "the file is truncated".to_owned()))
        }
    }
}

/// Decompresses a zstd frame, reading at most one byte more than `limit`.
fn expand(stored: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let mut raw = Vec::new();
    zstd::stream::read::Decoder::with_buffer(stored)
        .map(|decoder| Unpacked::of(decoder, stored.len() as u64))
        .and_then(|unpacked| unpacked.take(limit.saturating_add(1)).read_to_end(&mut raw))
        .map_err(|error| format!("cannot be decompressed: {error}"))?;
    Ok(raw)
}

fn word(bytes: &[u8], offset: usize) -> u64 {
    let bytes = bytes[offset..]
        .first_chunk::<8>()
        .expect("the caller read enough");
    u64::from_le_bytes(*bytes)
}
