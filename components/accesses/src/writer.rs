//! Writing a log.

use std::path::Path;

use warpweave_files::{ChunkedOutput, OutputError};

use crate::columns::Columns;
use crate::{CHUNK_RECORDS, ChunkEntry, Head, Index, LAYOUT, Record};

/// zstd level.
const LEVEL: i32 = 3;

/// Writes a log. Until [`AccessLogWriter::finish`] its name keeps what it had.
pub struct AccessLogWriter {
    out: ChunkedOutput,
    head: Head,
    /// Those of the open chunk.
    open: Vec<Record>,
    records: u64,
    chunks: Vec<ChunkEntry>,
}

impl AccessLogWriter {
    /// Starts a log.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path, head: Head) -> Result<Self, OutputError> {
        Ok(Self {
            out: ChunkedOutput::create(path, &LAYOUT, LEVEL)?,
            head,
            open: Vec::new(),
            records: 0,
            chunks: Vec::new(),
        })
    }

    /// Appends a record. Times do not fall.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, record: Record) -> Result<(), OutputError> {
        self.open.push(record);
        if self.open.len() == CHUNK_RECORDS {
            self.close_chunk()?;
        }
        Ok(())
    }

    /// Completes the log and gives it its name. Returns how many records it has.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<u64, OutputError> {
        self.close_chunk()?;
        self.out.finish(&Index {
            head: self.head,
            records: self.records,
            chunks: self.chunks,
        })?;
        Ok(self.records)
    }

    fn close_chunk(&mut self) -> Result<(), OutputError> {
        let Some(first) = self.open.first() else {
            return Ok(());
        };
        let raw = postcard::to_stdvec(&Columns::of(&self.open));
        self.chunks.push(ChunkEntry {
            tick: first.tick,
            records: self.open.len() as u32,
            place: self.out.chunk(&raw.expect("numbers have a byte form"))?,
        });
        self.records += self.open.len() as u64;
        self.open.clear();
        Ok(())
    }
}
