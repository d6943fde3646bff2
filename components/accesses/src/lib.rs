//! Access logs: every request that passed chosen ports of a machine, with its time.
//!
//! ```text
//!   head      names of taps, ports and kernels; the clock
//!   chunks    up to 65,536 records each, by column, ordered by time, port and order at the port
//! ```
//!
//! A log is written record by record ([`AccessLogWriter`]) and read chunk by chunk ([`AccessLog`]): neither
//! holds more than one chunk. It is a [file of chunks](warpweave_files::ChunkedOutput); `docs/access-log.md`
//! describes every byte.

mod columns;
mod reader;
mod record;
mod writer;

pub use self::reader::{AccessLog, AccessLogError, Records};
pub use self::record::{Head, Kind, Port, Record};
pub use self::writer::AccessLogWriter;

use serde::{Deserialize, Serialize};
use warpweave_files::{Chunk, Layout};

static LAYOUT: Layout = Layout {
    magic: AccessLog::MAGIC,
    version: 2,
    what: "an access log",
    again: "record the accesses again",
};

/// Most records of a chunk.
const CHUNK_RECORDS: usize = 1 << 16;

#[derive(Debug, Serialize, Deserialize)]
struct Index {
    head: Head,
    records: u64,
    chunks: Vec<ChunkEntry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ChunkEntry {
    /// Of the first record.
    tick: u64,
    records: u32,
    place: Chunk,
}
