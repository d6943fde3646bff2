//! Writer for trace files, which keeps little in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use warpweave_files::ChunkedOutput;

use super::{ChunkEntry, Index, KernelEntry, LAYOUT, Storage};
use crate::hash::{self, KernelHasher};
use crate::kernel::Launch;
use crate::launches::check_parent;
use crate::program::{ProgramHead, check_commands};
use crate::{Attribute, Code, ContentHash, Parent, StreamWriter, TraceError, WavefrontCounts};

/// Writes a trace file kernel by kernel and wavefront by wavefront, buffering only what cannot be
/// written yet.
pub struct TraceWriter {
    out: ChunkedOutput,
    /// Size in bytes at which a chunk is closed.
    chunk_bytes: usize,
    codes: Vec<Arc<Code>>,
    kernels: Vec<KernelEntry>,
}

impl TraceWriter {
    /// Creates a trace file. An existing file of that name stays in place until
    /// [`TraceWriter::finish`].
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if the file cannot be created.
    pub fn create(path: impl AsRef<Path>, storage: Storage) -> Result<Self, TraceError> {
        let level = storage.compression_level;
        Ok(Self {
            out: ChunkedOutput::create(path.as_ref(), &LAYOUT, level)?,
            chunk_bytes: storage.chunk_bytes,
            codes: Vec::new(),
            kernels: Vec::new(),
        })
    }

    /// Starts the next kernel launch.
    ///
    /// # Errors
    /// Same as [`KernelWriter::new`](crate::KernelWriter::new).
    pub fn kernel(
        &mut self,
        code: Arc<Code>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_local_bytes: u32,
        arguments: Vec<u8>,
    ) -> Result<KernelFileWriter<'_>, TraceError> {
        let launch = Launch::new(code, grid, block, dynamic_local_bytes, arguments)?;
        Ok(self.launch(launch))
    }

    /// Writes the index and renames the file to its final name.
    ///
    /// # Errors
    /// Returns [`TraceError::Command`] if the commands do not fit the kernels, or
    /// [`TraceError::Io`].
    pub fn finish(mut self, head: ProgramHead) -> Result<ContentHash, TraceError> {
        check_commands(&head, self.kernels.len())?;
        let hashes: Vec<_> = self.kernels.iter().map(|kernel| kernel.hash).collect();
        let hash = hash::program(&head, &hashes);
        let index = Index {
            head,
            codes: std::mem::take(&mut self.codes),
            kernels: std::mem::take(&mut self.kernels),
            hash,
        };
        self.out.finish(&index)?;
        Ok(hash)
    }

    pub(super) fn launch(&mut self, launch: Launch) -> KernelFileWriter<'_> {
        KernelFileWriter {
            hasher: KernelHasher::new(&launch),
            launch,
            counts: WavefrontCounts::default(),
            early: BTreeMap::new(),
            next: 0,
            lengths: Vec::new(),
            streams: Vec::new(),
            chunks: Vec::new(),
            file: self,
        }
    }
}

/// Writes the streams of one launch into a file. They may be added in any order, and streams that
/// are added early are buffered in memory.
pub struct KernelFileWriter<'a> {
    file: &'a mut TraceWriter,
    launch: Launch,
    hasher: KernelHasher,
    pub(super) counts: WavefrontCounts,
    /// Buffered streams that cannot be written yet, by linear wavefront number.
    early: BTreeMap<u64, Vec<u8>>,
    next: u64,
    /// Stream lengths of the chunk that is being filled.
    lengths: Vec<u8>,
    streams: Vec<u8>,
    chunks: Vec<ChunkEntry>,
}

impl KernelFileWriter<'_> {
    /// Sets the parent of a kernel launched from the device.
    ///
    /// # Panics
    /// Panics if a stream was already written.
    pub fn launched_by(mut self, parent: Parent) -> Self {
        self.launch.parent = Some(parent);
        self.said()
    }

    /// Adds an attribute to the kernel launch.
    ///
    /// # Panics
    /// Panics if a stream was already written.
    pub fn saying(mut self, attribute: Attribute) -> Self {
        self.launch.attributes.push(attribute);
        self.said()
    }

    /// Restarts the hash, which covers the parent and attributes before the streams.
    fn said(mut self) -> Self {
        assert!(
            self.next == 0 && self.early.is_empty(),
            "must be set before the first stream"
        );
        self.hasher = KernelHasher::new(&self.launch);
        self
    }

    /// Adds the stream of one wavefront.
    ///
    /// # Errors
    /// Same as [`KernelWriter::finish_wavefront`](crate::KernelWriter::finish_wavefront), or
    /// [`TraceError::Io`].
    pub fn finish_wavefront(
        &mut self,
        work_group: u32,
        wavefront: u32,
        stream: StreamWriter,
    ) -> Result<(), TraceError> {
        let accepted = self.launch.accept(work_group, wavefront, stream, Vec::new);
        let (counts, mut bytes) = accepted?;
        // It may wait for its turn.
        bytes.shrink_to_fit();
        let place = self.launch.place(work_group, wavefront);
        if place < self.next || self.early.insert(place, bytes).is_some() {
            return Err(self.launch.written_twice(work_group, wavefront));
        }
        self.counts += counts;
        while let Some(bytes) = self.early.remove(&self.next) {
            self.append(&bytes)?;
        }
        Ok(())
    }

    /// Ends the launch and returns its number for [`HostCommand::Launch`](crate::HostCommand).
    ///
    /// # Errors
    /// Returns [`TraceError::Stream`] naming the first wavefront without a stream,
    /// [`TraceError::Parent`], or [`TraceError::Io`].
    pub fn finish(mut self) -> Result<u32, TraceError> {
        if self.next != self.launch.wavefronts() {
            return Err(self.launch.never_written(self.next));
        }
        if let Some(parent) = self.launch.parent {
            let number = self.file.kernels.len() as u32;
            let shape = |kernel: u32| {
                self.file
                    .kernels
                    .get(kernel as usize)
                    .map(KernelEntry::shape)
            };
            check_parent(number, parent, shape).map_err(TraceError::Parent)?;
        }
        self.close_chunk()?;
        let codes = &mut self.file.codes;
        let known = codes.iter().position(|code| *code == self.launch.code);
        let code = known.unwrap_or_else(|| {
            codes.push(Arc::clone(&self.launch.code));
            codes.len() - 1
        });
        let number = self.file.kernels.len() as u32;
        self.file.kernels.push(KernelEntry {
            code: code as u32,
            grid: self.launch.grid,
            block: self.launch.block,
            dynamic_local_bytes: self.launch.dynamic_local_bytes,
            arguments: self.launch.arguments,
            parent: self.launch.parent,
            attributes: self.launch.attributes,
            hash: self.hasher.finish(),
            counts: self.counts,
            chunks: self.chunks,
        });
        Ok(number)
    }

    /// Appends the next stream in linear order.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        let wavefronts = u64::from(self.launch.geometry.wavefronts);
        let Ok(length) = u32::try_from(bytes.len()) else {
            let (work_group, wavefront) = self.launch.wavefront_at(self.next);
            let problem = "its stream exceeds 4 GiB; split the kernel";
            return Err(self.launch.stream_error(work_group, wavefront, problem));
        };
        self.hasher.stream(bytes);
        self.lengths.extend_from_slice(&length.to_le_bytes());
        self.streams.extend_from_slice(bytes);
        self.next += 1;
        let full = self.lengths.len() + self.streams.len() >= self.file.chunk_bytes;
        if full && self.next.is_multiple_of(wavefronts) {
            self.close_chunk()
        } else {
            Ok(())
        }
    }

    fn close_chunk(&mut self) -> Result<(), TraceError> {
        let mut raw = std::mem::take(&mut self.lengths);
        if raw.is_empty() {
            return Ok(());
        }
        raw.append(&mut self.streams);
        let first = self
            .chunks
            .last()
            .map_or(0, |chunk| chunk.first_work_group + chunk.work_groups);
        let end = (self.next / u64::from(self.launch.geometry.wavefronts)) as u32;
        self.chunks.push(ChunkEntry {
            first_work_group: first,
            work_groups: end - first,
            place: self.file.out.chunk(&raw)?,
        });
        Ok(())
    }
}
