//! Streams that are read from a trace file on demand.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use warpweave_files::{Chunk, ChunkedError, ChunkedInput};

use crate::encoding::PADDING;
use crate::window::Window;

/// Maximum size of recently read chunks kept without a reader, in bytes. Later readers are usually
/// close.
const KEPT_BYTES: usize = 4 << 20;

/// A trace file whose chunks are read on demand.
pub(crate) struct RecordedFile {
    chunks: Mutex<Chunks>,
}

struct Chunks {
    file: ChunkedInput,
    /// Chunks with a reader, by file offset.
    known: BTreeMap<u64, Weak<[u8]>>,
    /// Most recently read chunks, oldest first.
    kept: VecDeque<Arc<[u8]>>,
    kept_bytes: usize,
}

impl RecordedFile {
    pub(crate) fn new(file: ChunkedInput) -> Self {
        Self {
            chunks: Mutex::new(Chunks {
                file,
                known: BTreeMap::new(),
                kept: VecDeque::new(),
                kept_bytes: 0,
            }),
        }
    }

    /// Returns the bytes of a chunk, including the padding.
    pub(crate) fn chunk(&self, chunk: &Chunk) -> Result<Arc<[u8]>, ChunkedError> {
        let mut chunks = self.locked();
        let known = chunks.known.get(&chunk.offset());
        if let Some(bytes) = known.and_then(Weak::upgrade) {
            return Ok(bytes);
        }
        let mut bytes = chunks.file.chunk(chunk)?;
        bytes.resize(bytes.len() + PADDING, 0);
        let bytes: Arc<[u8]> = bytes.into();
        chunks.kept_bytes += bytes.len();
        chunks.kept.push_back(Arc::clone(&bytes));
        while chunks.kept_bytes > KEPT_BYTES
            && let Some(oldest) = chunks.kept.pop_front()
        {
            chunks.kept_bytes -= oldest.len();
        }
        chunks.known.retain(|_, bytes| bytes.strong_count() > 0);
        chunks.known.insert(chunk.offset(), Arc::downgrade(&bytes));
        Ok(bytes)
    }

    fn locked(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock()
    }
}

impl fmt::Debug for RecordedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedFile({:?})", self.locked().file.path())
    }
}

/// Streams of a launch that are stored in a trace file.
#[derive(Debug)]
pub(crate) struct Recorded {
    file: Arc<RecordedFile>,
    /// Chunks in order, each with the number of its first stream.
    chunks: Vec<(u64, Chunk)>,
}

impl Recorded {
    pub(crate) fn new(file: Arc<RecordedFile>, chunks: Vec<(u64, Chunk)>) -> Self {
        Self { file, chunks }
    }

    /// Returns a window over the whole stream that begins at `start` of its chunk.
    pub(crate) fn window(
        &self,
        stream: u32,
        (start, length): (u64, u64),
    ) -> Result<Window, ChunkedError> {
        let after = self
            .chunks
            .partition_point(|(first, _)| *first <= stream.into());
        let (_, chunk) = &self.chunks[after - 1];
        Ok(Window {
            first: 0,
            end: length,
            bytes: self.file.chunk(chunk)?,
            from: start as usize,
        })
    }
}
