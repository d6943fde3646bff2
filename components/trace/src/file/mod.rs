//! Reading and writing of trace files.
//!
//! A trace is a file of chunks ([`ChunkedOutput`]) with the magic `WWTRACE\n`. Each chunk holds
//! whole work-groups of one kernel, in order: a 4-byte length per wavefront, then the streams. The
//! index holds the program's head, the instruction tables, the kernels and the chunk positions.

mod reading;
mod writing;

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
#[cfg(doc)]
use warpweave_files::ChunkedOutput;
use warpweave_files::{Chunk, Layout, Ledger};

pub use self::reading::{KernelHead, TraceFile};
pub use self::writing::{KernelFileWriter, TraceWriter};
use crate::kernel::Geometry;
use crate::program::ProgramHead;
use crate::{Attribute, Code, ContentHash, Parent, Program, TraceError, WavefrontCounts};

/// First bytes of every trace file.
pub const TRACE_MAGIC: [u8; 8] = *b"WWTRACE\n";

static LAYOUT: Layout = Layout {
    magic: TRACE_MAGIC,
    version: 4,
    what: "a program trace",
    again: "record the trace again",
};

/// Layout parameters of a trace file. Neither affects its content hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Chunk size in bytes, before compression, at which a chunk is closed.
    pub chunk_bytes: usize,
    /// zstd compression level of the trace file's chunks.
    pub compression_level: i32,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            chunk_bytes: 256 << 10,
            compression_level: 3,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Index {
    head: ProgramHead,
    codes: Vec<Arc<Code>>,
    kernels: Vec<KernelEntry>,
    hash: ContentHash,
}

#[derive(Serialize, Deserialize)]
struct KernelEntry {
    /// Index of the kernel's table in `Index::codes`.
    code: u32,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_local_bytes: u32,
    arguments: Vec<u8>,
    parent: Option<Parent>,
    attributes: Vec<Attribute>,
    hash: ContentHash,
    counts: WavefrontCounts,
    chunks: Vec<ChunkEntry>,
}

impl KernelEntry {
    /// Returns the number of work-groups and the wavefronts in each.
    fn shape(&self) -> (u32, u32) {
        let geometry = Geometry::new(self.grid, self.block).ok();
        geometry.map_or((0, 0), |geometry| {
            (geometry.work_groups, geometry.wavefronts)
        })
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct ChunkEntry {
    first_work_group: u32,
    work_groups: u32,
    place: Chunk,
}

impl Program {
    /// Writes the program to a file and returns its content hash.
    ///
    /// # Errors
    /// Returns [`TraceError::Command`] if the program is inconsistent, or [`TraceError::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<ContentHash, TraceError> {
        self.save_as(path, Storage::default())
    }

    /// Writes the program to a file with the given layout.
    ///
    /// # Errors
    /// Same as [`Program::save`].
    pub fn save_as(
        &self,
        path: impl AsRef<Path>,
        storage: Storage,
    ) -> Result<ContentHash, TraceError> {
        self.check()?;
        let mut file = TraceWriter::create(path, storage)?;
        for kernel in &self.kernels {
            let mut writer = file.launch(kernel.launch());
            writer.counts = kernel.counts();
            kernel
                .raw_streams()
                .try_for_each(|stream| writer.append(&stream))?;
            writer.finish()?;
        }
        file.finish(self.head())
    }

    /// Reads a whole program and verifies its content hash.
    ///
    /// # Errors
    /// Same as [`TraceFile::open`] and [`TraceFile::program`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        TraceFile::open(path)?.program()
    }

    /// Like [`Program::open`], with the memory charged to `ledger`.
    ///
    /// # Errors
    /// Same as [`Program::open`], and [`TraceError::OverBudget`].
    pub fn open_within(path: impl AsRef<Path>, ledger: &Ledger) -> Result<Self, TraceError> {
        TraceFile::open_within(path, ledger)?.program()
    }
}
