//! Trace files.
//!
//! ```text
//!   header    magic[8], format version[4], 0[4]
//!   chunks    zstd frames; each holds whole work-groups of one kernel, in order:
//!             a 4-byte length per wavefront, then the streams
//!   index     zstd frame of the program's head, instruction tables, kernels and chunk places
//!   trailer   index offset[8], index bytes[8], BLAKE3 of the index[32], magic[8]
//! ```
//!
//! The index comes last so that a file can be written while the program is still being emulated.
//! Chunks carry digests of their own, so that one work-group is read and checked without the rest.
//! Numbers are little-endian; the index is in postcard form.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_files::{Input, Ledger, Output, OutputError, Unpacked, unpacked_max};

use crate::encoding::PADDING;
use crate::hash::{self, KernelHasher};
use crate::kernel::Launch;
use crate::program::{ProgramHead, check_commands};
use crate::{
    Code, ContentHash, KernelTrace, Program, StreamWriter, TraceError, WavefrontCounts, check,
};

const MAGIC: [u8; 8] = *b"WWTRACE\n";
const FORMAT_VERSION: u32 = 1;
const HEADER_BYTES: u64 = 16;
const TRAILER_BYTES: u64 = 56;

/// How a trace file is laid out; neither setting changes its content hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// A chunk is closed when it holds this many bytes, before compression.
    pub chunk_bytes: usize,
    /// zstd level.
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
    /// Index into `Index::codes`.
    code: u32,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_local_bytes: u32,
    arguments: Vec<u8>,
    hash: ContentHash,
    counts: WavefrontCounts,
    chunks: Vec<ChunkEntry>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct ChunkEntry {
    first_work_group: u32,
    work_groups: u32,
    offset: u64,
    stored_bytes: u64,
    raw_bytes: u64,
    /// BLAKE3 of the stored bytes.
    digest: [u8; 32],
}

/// Writes a trace file kernel by kernel and wavefront by wavefront, holding only what cannot be
/// written yet.
pub struct TraceWriter {
    out: Output,
    storage: Storage,
    offset: u64,
    codes: Vec<Arc<Code>>,
    kernels: Vec<KernelEntry>,
}

impl TraceWriter {
    /// Starts a file. Until [`TraceWriter::finish`] its name keeps what it had.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn create(path: impl AsRef<Path>, storage: Storage) -> Result<Self, TraceError> {
        let mut writer = Self {
            out: Output::create(path.as_ref())?,
            storage,
            offset: 0,
            codes: Vec::new(),
            kernels: Vec::new(),
        };
        writer.put(&MAGIC)?;
        writer.put(&FORMAT_VERSION.to_le_bytes())?;
        writer.put(&[0; 4])?;
        Ok(writer)
    }

    /// Starts the next kernel launch.
    ///
    /// # Errors
    /// As [`KernelWriter::new`](crate::KernelWriter::new).
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

    /// Writes the index and gives the file its name.
    ///
    /// # Errors
    /// [`TraceError::Command`] when the commands do not fit the kernels, or [`TraceError::Io`].
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
        let raw = postcard::to_stdvec(&index).expect("plain values have a byte form");
        let stored = self.compress(&raw)?;
        let start = self.offset;
        self.put(&stored)?;
        self.put(&start.to_le_bytes())?;
        self.put(&(stored.len() as u64).to_le_bytes())?;
        self.put(blake3::hash(&stored).as_bytes())?;
        self.put(&MAGIC)?;
        self.out.finish()?;
        Ok(hash)
    }

    fn launch(&mut self, launch: Launch) -> KernelFileWriter<'_> {
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

    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.offset += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        written.map_err(|error| OutputError::of(self.out.path(), error).into())
    }

    fn compress(&self, raw: &[u8]) -> Result<Vec<u8>, TraceError> {
        zstd::bulk::compress(raw, self.storage.compression_level)
            .map_err(|error| OutputError::of(self.out.path(), error).into())
    }
}

/// Writes the streams of one launch into a file, in any order; those that come early wait in
/// memory for their turn.
pub struct KernelFileWriter<'a> {
    file: &'a mut TraceWriter,
    launch: Launch,
    hasher: KernelHasher,
    counts: WavefrontCounts,
    /// Streams whose turn has not come, by linear wavefront number.
    early: BTreeMap<u64, Vec<u8>>,
    next: u64,
    /// The open chunk.
    lengths: Vec<u8>,
    streams: Vec<u8>,
    chunks: Vec<ChunkEntry>,
}

impl KernelFileWriter<'_> {
    /// Adds the stream of one wavefront.
    ///
    /// # Errors
    /// As [`KernelWriter::finish_wavefront`](crate::KernelWriter::finish_wavefront), or
    /// [`TraceError::Io`].
    pub fn finish_wavefront(
        &mut self,
        work_group: u32,
        wavefront: u32,
        stream: StreamWriter,
    ) -> Result<(), TraceError> {
        let (counts, bytes) = self.launch.accept(work_group, wavefront, stream)?;
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
    /// [`TraceError::Stream`] naming the first wavefront without a stream, or [`TraceError::Io`].
    pub fn finish(mut self) -> Result<u32, TraceError> {
        if self.next != self.launch.wavefronts() {
            return Err(self.launch.never_written(self.next));
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
            hash: self.hasher.finish(),
            counts: self.counts,
            chunks: self.chunks,
        });
        Ok(number)
    }

    /// Adds the next stream in linear order.
    fn append(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
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
        let full = self.lengths.len() + self.streams.len() >= self.file.storage.chunk_bytes;
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
        let stored = self.file.compress(&raw)?;
        let first = self
            .chunks
            .last()
            .map_or(0, |chunk| chunk.first_work_group + chunk.work_groups);
        let end = (self.next / u64::from(self.launch.geometry.wavefronts)) as u32;
        self.chunks.push(ChunkEntry {
            first_work_group: first,
            work_groups: end - first,
            offset: self.file.offset,
            stored_bytes: stored.len() as u64,
            raw_bytes: raw.len() as u64,
            digest: *blake3::hash(&stored).as_bytes(),
        });
        self.file.put(&stored)
    }
}

/// What a file tells about a kernel without reading its streams.
#[derive(Clone, Copy, Debug)]
pub struct KernelHead<'a> {
    /// Instruction table.
    pub code: &'a Arc<Code>,
    /// Work-groups along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a work-group along x, y, z.
    pub block: [u32; 3],
    /// What the launch executed; verified when the kernel is read.
    pub counts: WavefrontCounts,
}

/// An open trace file: its index is in memory, streams are read on demand.
pub struct TraceFile {
    path: PathBuf,
    file: File,
    index: Index,
    launches: Vec<Launch>,
    ledger: Ledger,
}

impl TraceFile {
    /// Opens a file and checks its header, trailer and index.
    ///
    /// # Errors
    /// [`TraceError::File`] when it is no trace, of another version, cut short or damaged;
    /// [`TraceError::Io`] when it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        Self::open_within(path, &Ledger::default())
    }

    /// As [`TraceFile::open`], with what is read charged to `ledger`.
    ///
    /// # Errors
    /// As [`TraceFile::open`]; [`TraceError::OverBudget`].
    pub fn open_within(path: impl AsRef<Path>, ledger: &Ledger) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        let input = Input::open(&path).map_err(|source| io_error(&path, source))?;
        let mut file = input.into_file();
        let end = file
            .seek(SeekFrom::End(0))
            .map_err(|source| io_error(&path, source))?;
        let refuse = |offset, problem: &str| file_error(&path, offset, problem);
        if end < HEADER_BYTES + TRAILER_BYTES {
            return Err(refuse(
                end,
                "too short for a program trace; record it again",
            ));
        }
        let header = read_at(&path, &mut file, 0, HEADER_BYTES)?;
        if header[..8] != MAGIC {
            return Err(refuse(0, "not a program trace"));
        }
        let version = word(&header, 8) as u32;
        if version != FORMAT_VERSION || header[12..] != [0; 4] {
            let problem = format!(
                "format version {version}, but this program reads {FORMAT_VERSION}; record the \
                 trace again"
            );
            return Err(refuse(8, &problem));
        }
        let trailer_offset = end - TRAILER_BYTES;
        let trailer = read_at(&path, &mut file, trailer_offset, TRAILER_BYTES)?;
        if trailer[48..] != MAGIC {
            return Err(refuse(
                end - 8,
                "the file was cut short; record the trace again",
            ));
        }
        let (offset, stored) = (word(&trailer, 0), word(&trailer, 8));
        if offset < HEADER_BYTES || offset.checked_add(stored) != Some(trailer_offset) {
            return Err(refuse(
                trailer_offset,
                "the trailer is damaged; record the trace again",
            ));
        }
        let digest: [u8; 32] = trailer[16..48]
            .try_into()
            .expect("the range holds 32 bytes");
        // What it says is a table of numbers and names, a few times as large in memory.
        let expanded = unpacked_max(stored).min(stored.saturating_mul(INDEX_EXPANSION));
        ledger.charge(&path.display().to_string(), expanded)?;
        let bytes = read_at(&path, &mut file, offset, stored)?;
        let index = decode_index(&bytes, &digest).map_err(|problem| refuse(offset, &problem))?;
        let launches = check_index(&index, offset).map_err(|problem| refuse(offset, &problem))?;
        Ok(Self {
            path,
            file,
            index,
            launches,
            ledger: ledger.clone(),
        })
    }

    /// The program without its kernels.
    pub fn head(&self) -> &ProgramHead {
        &self.index.head
    }

    /// The content hash the file claims; [`TraceFile::program`] verifies it.
    pub fn hash(&self) -> ContentHash {
        self.index.hash
    }

    /// Number of kernel launches.
    pub fn kernels(&self) -> u32 {
        self.launches.len() as u32
    }

    /// Instruction table, launch and counts of a kernel, from the index alone.
    pub fn kernel_head(&self, kernel: u32) -> Option<KernelHead<'_>> {
        let launch = self.launches.get(kernel as usize)?;
        let counts = self.index.kernels[kernel as usize].counts;
        Some(KernelHead {
            code: &launch.code,
            grid: launch.grid,
            block: launch.block,
            counts,
        })
    }

    /// Reads one kernel and verifies its hash.
    ///
    /// # Errors
    /// [`TraceError::File`] when there is no such kernel or its bytes are damaged.
    pub fn kernel(&mut self, kernel: u32) -> Result<KernelTrace, TraceError> {
        let launch = self.launch(kernel)?;
        let entry = &self.index.kernels[kernel as usize];
        let (hash, counts) = (entry.hash, entry.counts);
        let mut streams = Vec::new();
        for chunk in entry.chunks.clone() {
            let raw = self.chunk(&chunk)?;
            streams.extend(self.split(&launch, &chunk, &raw)?);
        }
        let trace = launch.with_streams(streams.into_iter());
        if trace.hash() != hash || trace.counts() != counts {
            let problem = format!("kernel {kernel} is not what its hash says; record it again");
            return Err(file_error(&self.path, HEADER_BYTES, &problem));
        }
        Ok(trace)
    }

    /// Reads one work-group, as a launch of that work-group alone: its number is 0 in the trace
    /// returned.
    ///
    /// # Errors
    /// [`TraceError::File`] when there is no such work-group or its bytes are damaged.
    pub fn work_group(&mut self, kernel: u32, work_group: u32) -> Result<KernelTrace, TraceError> {
        let launch = self.launch(kernel)?;
        if work_group >= launch.geometry.work_groups {
            let problem = format!(
                "kernel {kernel} has work-groups 0 to {}, not {work_group}",
                launch.geometry.work_groups - 1
            );
            return Err(file_error(&self.path, HEADER_BYTES, &problem));
        }
        let chunks = &self.index.kernels[kernel as usize].chunks;
        let after = chunks.partition_point(|chunk| chunk.first_work_group <= work_group);
        let chunk = chunks[after.checked_sub(1).expect("chunks cover every work-group")];
        let raw = self.chunk(&chunk)?;
        let wavefronts = launch.geometry.wavefronts as usize;
        let skip = (work_group - chunk.first_work_group) as usize * wavefronts;
        let streams = self.split(&launch, &chunk, &raw)?;
        let alone = launch.alone();
        Ok(alone.with_streams(streams.into_iter().skip(skip).take(wavefronts)))
    }

    /// Reads everything and verifies the content hash.
    ///
    /// # Errors
    /// [`TraceError::File`] when the bytes are damaged.
    pub fn program(mut self) -> Result<Program, TraceError> {
        let mut kernels = Vec::new();
        for kernel in 0..self.kernels() {
            kernels.push(Arc::new(self.kernel(kernel)?));
        }
        // Each kernel was verified against the hashes that this one is made of.
        let hashes: Vec<_> = self
            .index
            .kernels
            .iter()
            .map(|kernel| kernel.hash)
            .collect();
        if hash::program(&self.index.head, &hashes) != self.index.hash {
            return Err(file_error(
                &self.path,
                HEADER_BYTES,
                "the content hash does not match",
            ));
        }
        let ProgramHead {
            name,
            allocations,
            commands,
            front_end,
        } = self.index.head;
        Ok(Program {
            name,
            allocations,
            commands,
            kernels,
            front_end,
        })
    }

    fn launch(&self, kernel: u32) -> Result<Launch, TraceError> {
        self.launches.get(kernel as usize).cloned().ok_or_else(|| {
            let problem = format!("no kernel {kernel}: the trace has {}", self.launches.len());
            file_error(&self.path, HEADER_BYTES, &problem)
        })
    }

    /// Reads, verifies and expands one chunk.
    fn chunk(&mut self, chunk: &ChunkEntry) -> Result<Vec<u8>, TraceError> {
        let expanded = chunk.raw_bytes.min(unpacked_max(chunk.stored_bytes));
        self.ledger
            .charge(&self.path.display().to_string(), expanded)?;
        let stored = read_at(&self.path, &mut self.file, chunk.offset, chunk.stored_bytes)?;
        let refuse = |problem: &str| file_error(&self.path, chunk.offset, problem);
        if *blake3::hash(&stored).as_bytes() != chunk.digest {
            return Err(refuse("the chunk is damaged; record the trace again"));
        }
        let raw = expand(&stored, chunk.raw_bytes).map_err(|problem| refuse(&problem))?;
        if raw.len() as u64 != chunk.raw_bytes {
            return Err(refuse("the chunk has another size than the index says"));
        }
        Ok(raw)
    }

    /// Cuts a chunk into streams and checks each.
    fn split(
        &self,
        launch: &Launch,
        chunk: &ChunkEntry,
        raw: &[u8],
    ) -> Result<Vec<(WavefrontCounts, Vec<u8>)>, TraceError> {
        let wavefronts = u64::from(launch.geometry.wavefronts);
        let refuse = |problem: &str| file_error(&self.path, chunk.offset, problem);
        let table = usize::try_from(u64::from(chunk.work_groups) * wavefronts)
            .ok()
            .and_then(|streams| streams.checked_mul(4))
            .and_then(|bytes| raw.split_at_checked(bytes));
        let (lengths, mut rest) = table.ok_or_else(|| refuse("the chunk is too short"))?;
        let mut streams = Vec::with_capacity(lengths.len() / 4);
        for (place, length) in lengths.as_chunks::<4>().0.iter().enumerate() {
            let length = u32::from_le_bytes(*length) as usize;
            let (bytes, left) = rest
                .split_at_checked(length)
                .ok_or_else(|| refuse("a stream is cut short"))?;
            rest = left;
            let wavefront = (place as u64 % wavefronts) as u32;
            let mut padded = Vec::with_capacity(length + PADDING);
            padded.extend_from_slice(bytes);
            padded.resize(length + PADDING, 0);
            let counts = check::stream(&launch.code, &padded, launch.geometry.lanes(wavefront))
                .map_err(|problem| refuse(&problem))?;
            padded.truncate(length);
            streams.push((counts, padded));
        }
        if !rest.is_empty() {
            return Err(refuse("the chunk has bytes that belong to no stream"));
        }
        Ok(streams)
    }
}

impl Program {
    /// Writes the program to a file.
    ///
    /// # Errors
    /// [`TraceError::Command`] when the program contradicts itself, or [`TraceError::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<ContentHash, TraceError> {
        self.save_as(path, Storage::default())
    }

    /// Writes the program to a file laid out as told.
    ///
    /// # Errors
    /// As [`Program::save`].
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
                .try_for_each(|stream| writer.append(stream))?;
            writer.finish()?;
        }
        file.finish(self.head())
    }

    /// Reads a whole program and verifies its content hash.
    ///
    /// # Errors
    /// As [`TraceFile::open`] and [`TraceFile::program`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        TraceFile::open(path)?.program()
    }

    /// As [`Program::open`], with what is read charged to `ledger`.
    ///
    /// # Errors
    /// As [`Program::open`]; [`TraceError::OverBudget`].
    pub fn open_within(path: impl AsRef<Path>, ledger: &Ledger) -> Result<Self, TraceError> {
        TraceFile::open_within(path, ledger)?.program()
    }
}

fn decode_index(stored: &[u8], digest: &[u8; 32]) -> Result<Index, String> {
    if blake3::hash(stored).as_bytes() != digest {
        return Err("the index is damaged; record the trace again".to_owned());
    }
    let raw = expand(stored, unpacked_max(stored.len() as u64))?;
    postcard::from_bytes(&raw).map_err(|error| format!("the index cannot be read: {error}"))
}

/// Checks that kernels have code and legal launches and that chunks lie end to end.
fn check_index(index: &Index, chunks_end: u64) -> Result<Vec<Launch>, String> {
    let mut offset = HEADER_BYTES;
    let mut launches = Vec::new();
    for (number, entry) in index.kernels.iter().enumerate() {
        let code = index.codes.get(entry.code as usize);
        let code = code.ok_or_else(|| format!("kernel {number} has no instruction table"))?;
        let launch = Launch::new(
            Arc::clone(code),
            entry.grid,
            entry.block,
            entry.dynamic_local_bytes,
            entry.arguments.clone(),
        )
        .map_err(|error| error.to_string())?;
        let mut work_group = 0_u32;
        for chunk in &entry.chunks {
            let follows = chunk.offset == offset && chunk.first_work_group == work_group;
            let next = work_group
                .checked_add(chunk.work_groups)
                .filter(|&next| next > work_group);
            let after = offset
                .checked_add(chunk.stored_bytes)
                .filter(|&end| end <= chunks_end);
            let (true, Some(next), Some(after)) = (follows, next, after) else {
                return Err(format!(
                    "the chunks of kernel {number} do not follow one another"
                ));
            };
            (work_group, offset) = (next, after);
        }
        if work_group != launch.geometry.work_groups {
            return Err(format!(
                "kernel {number} has chunks for {work_group} work-groups"
            ));
        }
        launches.push(launch);
    }
    if offset != chunks_end {
        return Err("there are bytes that belong to no chunk".to_owned());
    }
    check_commands(&index.head, launches.len()).map_err(|error| error.to_string())?;
    Ok(launches)
}

/// Times its stored size that an index is charged for.
const INDEX_EXPANSION: u64 = 32;

/// Expands a zstd frame, reading at most one byte more than `limit`.
fn expand(stored: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let mut raw = Vec::new();
    zstd::stream::read::Decoder::with_buffer(stored)
        .map(|decoder| Unpacked::of(decoder, stored.len() as u64))
        .and_then(|unpacked| unpacked.take(limit + 1).read_to_end(&mut raw))
        .map_err(|error| format!("cannot be decompressed: {error}"))?;
    Ok(raw)
}

/// Reads `bytes` bytes that the file is known to have.
fn read_at(path: &Path, file: &mut File, offset: u64, bytes: u64) -> Result<Vec<u8>, TraceError> {
    let mut buffer = Vec::new();
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.take(bytes).read_to_end(&mut buffer))
        .map_err(|source| io_error(path, source))?;
    if buffer.len() as u64 == bytes {
        Ok(buffer)
    } else {
        Err(file_error(
            path,
            offset,
            "the file ends before its contents do",
        ))
    }
}

fn word(bytes: &[u8], offset: usize) -> u64 {
    let bytes = bytes[offset..]
        .first_chunk::<8>()
        .expect("the caller read enough");
    u64::from_le_bytes(*bytes)
}

fn io_error(path: &Path, source: std::io::Error) -> TraceError {
    TraceError::Io {
        file: path.to_owned(),
        source,
    }
}

fn file_error(path: &Path, offset: u64, problem: &str) -> TraceError {
    TraceError::File {
        file: path.to_owned(),
        offset,
        problem: problem.to_owned(),
    }
}
