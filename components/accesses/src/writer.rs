//! Writer for access logs, which compresses one chunk at a time.

use std::path::Path;

use warpweave_files::{ChunkedOutput, OutputError};

use crate::columns::Columns;
use crate::{CHUNK_RECORDS, ChunkEntry, Head, Index, LAYOUT, Record};

const LEVEL: i32 = 3;

/// Writes an access log. An existing file of that name stays in place until
/// [`AccessLogWriter::finish`].
pub struct AccessLogWriter {
    out: ChunkedOutput,
    head: Head,
    /// Records of the chunk that is being filled.
    open: Vec<Record>,
    records: u64,
    chunks: Vec<ChunkEntry>,
}

impl AccessLogWriter {
    /// Creates a log with this header.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn create(path: &Path, head: Head) -> Result<Self, OutputError> {
        Ok(Self {
            out: ChunkedOutput::create(path, &LAYOUT, LEVEL)?,
            head,
            open: Vec::new(),
            records: 0,
            chunks: Vec::new(),
        })
    }

    /// Appends a record. Ticks must not decrease from one record to the next.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn push(&mut self, record: Record) -> Result<(), OutputError> {
        self.open.push(record);
        if self.open.len() == CHUNK_RECORDS {
            self.close_chunk()?;
        }
        Ok(())
    }

    /// Writes the remaining records, completes the log and renames it to its final name. Returns
    /// the number of records.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
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
            place: self
                .out
                .chunk(&raw.expect("numbers can always be serialized"))?,
        });
        self.records += self.open.len() as u64;
        self.open.clear();
        Ok(())
    }
}
