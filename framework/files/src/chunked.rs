//! Files of compressed chunks with an index at their end, read chunk by chunk.
//!
//! ```text
//!   header    magic[8], format version[4], 0[4]
//!   chunks    zstd frames
//!   index     zstd frame: what the format keeps beside the chunks, and where they lie
//!   trailer   index offset[8], index bytes[8], BLAKE3 of the index[32], magic[8]
//! ```
//!
//! The index comes last so that a file can be written while it is not known yet what will be in it.
//! Chunks carry digests, so that one is read and checked without the rest. Numbers are little-endian;
//! the index is in postcard form.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Input, Ledger, Output, OutputError, OverBudget, Unpacked, unpacked_max};

const HEADER_BYTES: u64 = 16;
const TRAILER_BYTES: u64 = 56;

/// Times its stored size that an index is charged for.
const INDEX_EXPANSION: u64 = 32;

/// A format made of chunks.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// First and last bytes of a file.
    pub magic: [u8; 8],
    /// Version of the format.
    pub version: u32,
    /// What a file is, such as `a program trace`.
    pub what: &'static str,
    /// What to do about a file that is of no use, such as `record the trace again`.
    pub again: &'static str,
}

/// Where a chunk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    offset: u64,
    stored_bytes: u64,
    raw_bytes: u64,
    /// BLAKE3 of the stored bytes.
    digest: [u8; 32],
}

impl Chunk {
    /// Where it begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes that it takes in memory, at most.
    pub fn unpacked_bytes(&self) -> u64 {
        self.raw_bytes.min(unpacked_max(self.stored_bytes))
    }
}

/// Why a file of chunks could not be read.
#[derive(Debug, Error)]
pub enum ChunkedError {
    /// Its bytes are wrong.
    #[error("{}: offset {offset}: {problem}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What is wrong there and what to do.
        problem: String,
    },
    /// The operating system refused to read.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// It takes more memory than there may be.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// Writes a file of chunks. Until [`ChunkedOutput::finish`] its name keeps what it had.
pub struct ChunkedOutput {
    out: Output,
    layout: &'static Layout,
    /// zstd level.
    level: i32,
    offset: u64,
}

impl ChunkedOutput {
    /// Starts a file.
    ///
    /// # Errors
    /// When it cannot be written.
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

    /// Appends a chunk.
    ///
    /// # Errors
    /// When it cannot be written.
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

    /// Writes the index and gives the file its name.
    ///
    /// # Errors
    /// When it cannot be written.
    ///
    /// # Panics
    /// When `index` has no byte form: a map of unknown length.
    pub fn finish(mut self, index: &impl Serialize) -> Result<(), OutputError> {
        let raw = postcard::to_stdvec(index).expect("plain values have a byte form");
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

/// An open file of chunks.
#[derive(Debug)]
pub struct ChunkedInput {
    path: PathBuf,
    file: File,
    layout: &'static Layout,
    /// Where the index begins.
    chunks_end: u64,
}

impl ChunkedInput {
    /// Opens a file, checks its header, trailer and index, and reads the index, which is charged to
    /// `ledger`.
    ///
    /// # Errors
    /// [`ChunkedError::File`] when it is of another format or version, cut short or damaged.
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
            return Err(input.refuse(end - 8, format!("the file was cut short; {again}")));
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

    /// Checks that chunks lie end to end and fill the file.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check<'c>(&self, chunks: impl IntoIterator<Item = &'c Chunk>) -> Result<(), String> {
        let mut offset = HEADER_BYTES;
        for chunk in chunks {
            let after = offset.checked_add(chunk.stored_bytes);
            let after = after.filter(|after| *after <= self.chunks_end);
            offset = after
                .filter(|_| chunk.offset == offset)
                .ok_or("the chunks do not follow one another")?;
        }
        if offset != self.chunks_end {
            return Err("there are bytes that belong to no chunk".to_owned());
        }
        Ok(())
    }

    /// Reads, verifies and expands a chunk.
    ///
    /// # Errors
    /// [`ChunkedError::File`] when it is damaged.
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
                "the chunk has another size than the index says".to_owned(),
            ));
        }
        Ok(raw)
    }

    /// Where the index begins.
    pub fn index_offset(&self) -> u64 {
        self.chunks_end
    }

    /// The file as named when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error at a place in the file.
    pub fn refuse(&self, offset: u64, problem: String) -> ChunkedError {
        ChunkedError::File {
            file: self.path.clone(),
            offset,
            problem,
        }
    }

    /// Reads `bytes` bytes that the file is known to have.
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
            Err(self.refuse(offset, "the file ends before its contents do".to_owned()))
        }
    }
}

/// Expands a zstd frame, reading at most one byte more than `limit`.
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
