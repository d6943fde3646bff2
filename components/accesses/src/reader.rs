//! Reader for access logs, one chunk at a time.

use std::path::Path;

use thiserror::Error;
use warpweave_files::{Charge, ChunkedError, ChunkedInput, Ledger, OverBudget};

use crate::columns::Columns;
use crate::{CHUNK_RECORDS, Head, Index, LAYOUT, Record};

/// Error from opening or reading an access log.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct AccessLogError(#[from] ChunkedError);

impl From<OverBudget> for AccessLogError {
    fn from(error: OverBudget) -> Self {
        Self(error.into())
    }
}

impl AccessLogError {
    /// True if the file is intact but reading it would exceed the memory budget.
    pub fn is_over_budget(&self) -> bool {
        matches!(self.0, ChunkedError::OverBudget(_))
    }
}

/// An open log. Its header is in memory, and records are read chunk by chunk.
#[derive(Debug)]
pub struct AccessLog {
    file: ChunkedInput,
    index: Index,
    ledger: Ledger,
}

impl AccessLog {
    /// Magic bytes at the start of every access log.
    pub const MAGIC: [u8; 8] = *b"WWACCLOG";

    /// Opens a log. The retained data, plus one chunk while it is read, is charged to `ledger`.
    ///
    /// # Errors
    /// Returns an error if the file is not a log, has another version, or is truncated or damaged.
    pub fn open(path: &Path, ledger: &Ledger) -> Result<Self, AccessLogError> {
        let (file, index) = ChunkedInput::open::<Index>(path, &LAYOUT, ledger)?;
        let refuse = |problem: &str| file.refuse(file.index_offset(), problem.to_owned());
        file.check(index.chunks.iter().map(|chunk| &chunk.place))
            .map_err(|problem| refuse(&problem))?;
        let records = index.chunks.iter().map(|chunk| u64::from(chunk.records));
        if records.sum::<u64>() != index.records {
            return Err(
                refuse("the chunks do not hold the number of records given in the index").into(),
            );
        }
        if index.head.core_period == 0 {
            return Err(refuse("a cycle of the core clock has no ticks").into());
        }
        if !index.chunks.is_sorted_by_key(|chunk| chunk.tick) {
            return Err(refuse("the chunks are not in chronological order").into());
        }
        Ok(Self {
            file,
            index,
            ledger: ledger.clone(),
        })
    }

    /// Returns the header, which describes the run.
    pub fn head(&self) -> &Head {
        &self.index.head
    }

    pub fn len(&self) -> u64 {
        self.index.records
    }

    pub fn is_empty(&self) -> bool {
        self.index.records == 0
    }

    /// Iterates over the records from `tick` onwards, ordered by time, then port, then arrival
    /// order at the port.
    pub fn records_from(&mut self, tick: u64) -> Records<'_> {
        // The chunk before the first one that begins later may end later.
        let later = self.index.chunks.partition_point(|chunk| chunk.tick < tick);
        Records {
            next_chunk: later.saturating_sub(1),
            log: self,
            from: tick,
            newest: 0,
            open: Vec::new().into_iter(),
            charge: None,
            failed: false,
        }
    }

    /// Iterates over all records from the start of the log.
    pub fn records(&mut self) -> Records<'_> {
        self.records_from(0)
    }
}

/// Iterator over the records of a log. Ends after the first error.
pub struct Records<'l> {
    log: &'l mut AccessLog,
    next_chunk: usize,
    from: u64,
    /// Tick of the latest record read so far.
    newest: u64,
    open: std::vec::IntoIter<Record>,
    /// Memory charge for the chunk that is currently decoded.
    charge: Option<Charge>,
    failed: bool,
}

impl Records<'_> {
    fn read(&mut self) -> Result<(), AccessLogError> {
        let AccessLog {
            file,
            index,
            ledger,
        } = &mut *self.log;
        let entry = &index.chunks[self.next_chunk];
        let refuse = |file: &ChunkedInput, problem| file.refuse(entry.place.offset(), problem);
        if entry.records as usize > CHUNK_RECORDS {
            let problem = format!("a chunk may have at most {CHUNK_RECORDS} records");
            return Err(refuse(file, problem).into());
        }
        // The bytes, the columns, and the records made of them.
        let bytes = entry.place.unpacked_bytes().saturating_mul(8)
            + u64::from(entry.records) * size_of::<Record>() as u64;
        self.charge = None;
        let name = file.path().display().to_string();
        self.charge = Some(ledger.budget().charge(&name, bytes)?);
        let raw = file.chunk(&entry.place)?;
        let columns: Columns = postcard::from_bytes(&raw)
            .map_err(|error| refuse(file, format!("the chunk cannot be read: {error}")))?;
        let records = columns.records(index.head.ports.len());
        let records = records.map_err(|problem| refuse(file, problem))?;
        let first = records.first().map(|record| record.tick);
        if records.len() != entry.records as usize || first != Some(entry.tick) {
            let problem =
                "the chunk does not hold the number of records given in the index".to_owned();
            return Err(refuse(file, problem).into());
        }
        if entry.tick < self.newest {
            return Err(refuse(
                file,
                "the records are not in chronological order".to_owned(),
            )
            .into());
        }
        self.newest = records.last().map_or(self.newest, |record| record.tick);
        self.open = records.into_iter();
        Ok(())
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, AccessLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let from = self.from;
            if let Some(record) = self.open.find(|record| record.tick >= from) {
                return Some(Ok(record));
            }
            if self.failed || self.next_chunk == self.log.index.chunks.len() {
                return None;
            }
            if let Err(error) = self.read() {
                self.failed = true;
                return Some(Err(error));
            }
            self.next_chunk += 1;
        }
    }
}
