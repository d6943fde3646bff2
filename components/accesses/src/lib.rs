//! Access logs: timestamped records of every request that passed selected ports of a machine.
//!
//! ```text
//!   head      names of taps, ports and kernels; the clock
//!   chunks    up to 65,536 records each, by column, ordered by time, port and order at the port
//! ```
//!
//! A log is written record by record ([`AccessLogWriter`]) and read chunk by chunk ([`AccessLog`]),
//! so neither side holds more than one chunk. It is a [file of
//! chunks](warpweave_files::ChunkedOutput). `docs/access-log.md` specifies the byte layout.

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

/// Maximum number of records in one chunk.
const CHUNK_RECORDS: usize = 1 << 16;

#[derive(Debug, Serialize, Deserialize)]
struct Index {
    head: Head,
    records: u64,
    chunks: Vec<ChunkEntry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ChunkEntry {
    /// Tick of the first record in the chunk.
    tick: u64,
    records: u32,
    place: Chunk,
}
