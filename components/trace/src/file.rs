//! Trace files.
//!
//! A file of chunks ([`ChunkedOutput`]) with the magic `WWTRACE\n`. Each chunk holds whole work-groups of
//! one kernel, in order: a 4-byte length per wavefront, then the streams. The index has the program's
//! head, instruction tables, kernels and chunk places.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_files::{Chunk, ChunkedInput, ChunkedOutput, Layout, Ledger};

use crate::encoding::PADDING;
use crate::hash::{self, KernelHasher};
use crate::kernel::{Data, Geometry, Launch, StreamEntry};
use crate::launches::check_parent;
use crate::program::{ProgramHead, check_commands};
use crate::recorded::{Recorded, RecordedFile};
use crate::window::Source;
use crate::{
    Attribute, Code, ContentHash, KernelTrace, Parent, Program, StreamWriter, TraceError,
    WavefrontCounts, check,
};

static LAYOUT: Layout = Layout {
    magic: *b"WWTRACE\n",
    version: 3,
    what: "a program trace",
    again: "record the trace again",
};

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

/// Bytes of streams up to which a file is held in memory.
const HELD_MAX: u64 = 32 << 20;

/// Bytes in memory of a stream that stays in the file.
const FILED_BYTES: u64 = 80;

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
    parent: Option<Parent>,
    attributes: Vec<Attribute>,
    hash: ContentHash,
    counts: WavefrontCounts,
    chunks: Vec<ChunkEntry>,
}

impl KernelEntry {
    /// Work-groups, and wavefronts of each.
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

/// Writes a trace file kernel by kernel and wavefront by wavefront, holding only what cannot be
/// written yet.
pub struct TraceWriter {
    out: ChunkedOutput,
    /// Bytes at which a chunk is closed.
    chunk_bytes: usize,
    codes: Vec<Arc<Code>>,
    kernels: Vec<KernelEntry>,
}

impl TraceWriter {
    /// Starts a file. Until [`TraceWriter::finish`] its name keeps what it had.
    ///
    /// # Errors
    /// [`TraceError::Io`].
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
        self.out.finish(&index)?;
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
    /// Says who launched the kernel from the device.
    ///
    /// # Panics
    /// If a stream was written.
    pub fn launched_by(mut self, parent: Parent) -> Self {
        self.launch.parent = Some(parent);
        self.said()
    }

    /// Says something of the kernel.
    ///
    /// # Panics
    /// If a stream was written.
    pub fn saying(mut self, attribute: Attribute) -> Self {
        self.launch.attributes.push(attribute);
        self.said()
    }

    /// The hash covers what is said of the launch, before its streams.
    fn said(mut self) -> Self {
        assert!(
            self.next == 0 && self.early.is_empty(),
            "said after the first stream"
        );
        self.hasher = KernelHasher::new(&self.launch);
        self
    }

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
    /// [`TraceError::Stream`] naming the first wavefront without a stream, [`TraceError::Parent`], or
    /// [`TraceError::Io`].
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
    file: ChunkedInput,
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
        let (file, index) = ChunkedInput::open::<Index>(path.as_ref(), &LAYOUT, ledger)?;
        let launches = check_index(&index, &file);
        let launches = launches.map_err(|problem| file.refuse(file.index_offset(), problem))?;
        Ok(Self {
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

    /// Who launched each kernel, in order of their numbers.
    pub fn parents(&self) -> impl Iterator<Item = Option<Parent>> {
        self.index.kernels.iter().map(|kernel| kernel.parent)
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
        let chunks = self.index.kernels.get(kernel as usize);
        let chunks = chunks.map_or(&[][..], |entry| &entry.chunks);
        let name = self.file.path().display().to_string();
        self.ledger.charge(&name, unpacked(chunks))?;
        let (mut data, mut entries) = (Vec::new(), Vec::new());
        self.verify(kernel, &launch, |_, bytes, counts| {
            let start = data.len() as u64;
            data.extend_from_slice(bytes);
            entries.push(StreamEntry::new(start, data.len() as u64, counts));
        })?;
        data.extend_from_slice(&[0; PADDING]);
        data.shrink_to_fit();
        Ok(launch.with_data(entries, Data::Memory(data)))
    }

    /// Goes through the streams of a kernel: where each begins in its chunk, its bytes and counts.
    fn verify(
        &mut self,
        kernel: u32,
        launch: &Launch,
        mut each: impl FnMut(u64, &[u8], WavefrontCounts),
    ) -> Result<(), TraceError> {
        let entry = &self.index.kernels[kernel as usize];
        let (hash, expected) = (entry.hash, entry.counts);
        let mut hasher = KernelHasher::new(launch);
        let mut counts = WavefrontCounts::default();
        for chunk in entry.chunks.clone() {
            let raw = self.file.chunk(&chunk.place)?;
            self.split(launch, &chunk, &raw, |start, bytes, of_stream| {
                hasher.stream(bytes);
                counts += of_stream;
                each(start, bytes, of_stream);
            })?;
        }
        if hasher.finish() != hash || counts != expected {
            let problem = format!("kernel {kernel} is not what its hash says; record it again");
            return Err(self.refuse(problem));
        }
        Ok(())
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
            return Err(self.refuse(problem));
        }
        let chunks = &self.index.kernels[kernel as usize].chunks;
        let after = chunks.partition_point(|chunk| chunk.first_work_group <= work_group);
        let chunk = chunks[after.checked_sub(1).expect("chunks cover every work-group")];
        let name = self.file.path().display().to_string();
        self.ledger.charge(&name, chunk.place.unpacked_bytes())?;
        let raw = self.file.chunk(&chunk.place)?;
        let wavefronts = launch.geometry.wavefronts as usize;
        let skip = (work_group - chunk.first_work_group) as usize * wavefronts;
        let (mut data, mut entries, mut turn) = (Vec::new(), Vec::new(), 0..);
        self.split(&launch, &chunk, &raw, |_, bytes, counts| {
            if (skip..skip + wavefronts).contains(&turn.next().unwrap_or(usize::MAX)) {
                let start = data.len() as u64;
                data.extend_from_slice(bytes);
                entries.push(StreamEntry::new(start, data.len() as u64, counts));
            }
        })?;
        data.extend_from_slice(&[0; PADDING]);
        Ok(launch.alone().with_data(entries, Data::Memory(data)))
    }

    /// Reads everything and verifies the content hash. Streams of more than 32 MiB in all stay in the file, which is
    /// read again where they are needed.
    ///
    /// # Errors
    /// [`TraceError::File`] when the bytes are damaged.
    pub fn program(self) -> Result<Program, TraceError> {
        self.program_holding(HELD_MAX)
    }

    /// As [`TraceFile::program`], with streams of more than so many bytes in the file.
    ///
    /// # Errors
    /// As [`TraceFile::program`].
    pub fn program_holding(mut self, bytes: u64) -> Result<Program, TraceError> {
        let kernels = self.index.kernels.iter();
        let all: u64 = kernels.map(|kernel| unpacked(&kernel.chunks)).sum();
        let mut kernels = Vec::new();
        let mut filed = Vec::new();
        for kernel in 0..self.kernels() {
            if all <= bytes {
                kernels.push(Arc::new(self.kernel(kernel)?));
            } else {
                filed.push(self.places(kernel)?);
            }
        }
        // Each kernel was verified against the hashes that this one is made of.
        let hashes: Vec<_> = self
            .index
            .kernels
            .iter()
            .map(|kernel| kernel.hash)
            .collect();
        if hash::program(&self.index.head, &hashes) != self.index.hash {
            let refused = self.refuse("the content hash does not match".to_owned());
            return Err(refused);
        }
        let file = Arc::new(RecordedFile::new(self.file));
        let launches = self.launches.into_iter().zip(self.index.kernels);
        kernels.extend(
            filed
                .into_iter()
                .zip(launches)
                .map(|(streams, (launch, entry))| {
                    let wavefronts = u64::from(launch.geometry.wavefronts);
                    let chunks = entry.chunks.iter();
                    let chunks = chunks.map(|chunk| {
                        let first = u64::from(chunk.first_work_group) * wavefronts;
                        (first, chunk.place)
                    });
                    let recorded = Recorded::new(Arc::clone(&file), chunks.collect());
                    Arc::new(launch.with_filed(streams, Source::Recorded(recorded)))
                }),
        );
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

    /// Verifies a kernel, and where each of its streams lies in its chunk.
    fn places(&mut self, kernel: u32) -> Result<Vec<StreamEntry>, TraceError> {
        let launch = self.launch(kernel)?;
        let name = self.file.path().display().to_string();
        let index = launch.wavefronts().saturating_mul(FILED_BYTES);
        self.ledger.charge(&name, index)?;
        let chunks = &self.index.kernels[kernel as usize].chunks;
        let largest = chunks
            .iter()
            .map(|chunk| chunk.place.unpacked_bytes())
            .max();
        let budget = self.ledger.budget();
        let _while_it_is_read = budget.charge(&name, largest.unwrap_or(0))?;
        let mut entries = Vec::new();
        self.verify(kernel, &launch, |start, bytes, counts| {
            let end = start + bytes.len() as u64;
            entries.push(StreamEntry::new(start, end, counts));
        })?;
        Ok(entries)
    }

    fn launch(&self, kernel: u32) -> Result<Launch, TraceError> {
        self.launches.get(kernel as usize).cloned().ok_or_else(|| {
            let problem = format!("no kernel {kernel}: the trace has {}", self.launches.len());
            self.refuse(problem)
        })
    }

    fn refuse(&self, problem: String) -> TraceError {
        self.file.refuse(self.file.index_offset(), problem).into()
    }

    /// Cuts a chunk into streams and checks each; tells where it begins in the chunk, its bytes and counts.
    fn split(
        &self,
        launch: &Launch,
        chunk: &ChunkEntry,
        raw: &[u8],
        mut each: impl FnMut(u64, &[u8], WavefrontCounts),
    ) -> Result<(), TraceError> {
        let wavefronts = u64::from(launch.geometry.wavefronts);
        let refuse = |problem: &str| -> TraceError {
            let place = chunk.place.offset();
            self.file.refuse(place, problem.to_owned()).into()
        };
        let table = usize::try_from(u64::from(chunk.work_groups) * wavefronts)
            .ok()
            .and_then(|streams| streams.checked_mul(4))
            .and_then(|bytes| raw.split_at_checked(bytes));
        let (lengths, mut rest) = table.ok_or_else(|| refuse("the chunk is too short"))?;
        let mut padded = Vec::new();
        for (place, length) in lengths.as_chunks::<4>().0.iter().enumerate() {
            let length = u32::from_le_bytes(*length) as usize;
            let (bytes, left) = rest
                .split_at_checked(length)
                .ok_or_else(|| refuse("a stream is cut short"))?;
            rest = left;
            let wavefront = (place as u64 % wavefronts) as u32;
            let start = (raw.len() - rest.len() - length) as u64;
            padded.clear();
            padded.extend_from_slice(bytes);
            padded.resize(length + PADDING, 0);
            let counts = check::stream(&launch.code, &padded, launch.geometry.lanes(wavefront))
                .map_err(|problem| refuse(&problem))?;
            each(start, bytes, counts);
        }
        if !rest.is_empty() {
            return Err(refuse("the chunk has bytes that belong to no stream"));
        }
        Ok(())
    }
}

/// Bytes that chunks take in memory, at most.
fn unpacked(chunks: &[ChunkEntry]) -> u64 {
    let bytes = chunks.iter().map(|chunk| chunk.place.unpacked_bytes());
    bytes.fold(0, u64::saturating_add)
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
                .try_for_each(|stream| writer.append(&stream))?;
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

/// Checks that kernels have code and legal launches and that chunks lie end to end.
fn check_index(index: &Index, file: &ChunkedInput) -> Result<Vec<Launch>, String> {
    let mut launches = Vec::new();
    for (number, entry) in index.kernels.iter().enumerate() {
        let code = index.codes.get(entry.code as usize);
        let code = code.ok_or_else(|| format!("kernel {number} has no instruction table"))?;
        let mut launch = Launch::new(
            Arc::clone(code),
            entry.grid,
            entry.block,
            entry.dynamic_local_bytes,
            entry.arguments.clone(),
        )
        .map_err(|error| error.to_string())?;
        launch.parent = entry.parent;
        launch.attributes.clone_from(&entry.attributes);
        if let Some(parent) = entry.parent {
            let shape = |kernel: u32| index.kernels.get(kernel as usize).map(KernelEntry::shape);
            check_parent(number as u32, parent, shape)?;
        }
        let mut work_group = 0_u32;
        for chunk in &entry.chunks {
            let follows = chunk.first_work_group == work_group;
            let next = work_group
                .checked_add(chunk.work_groups)
                .filter(|&next| follows && next > work_group);
            work_group = next.ok_or_else(|| {
                format!("the chunks of kernel {number} do not follow one another")
            })?;
        }
        if work_group != launch.geometry.work_groups {
            return Err(format!(
                "kernel {number} has chunks for {work_group} work-groups"
            ));
        }
        launches.push(launch);
    }
    let chunks = index.kernels.iter().flat_map(|kernel| &kernel.chunks);
    file.check(chunks.map(|chunk| &chunk.place))?;
    check_commands(&index.head, launches.len()).map_err(|error| error.to_string())?;
    Ok(launches)
}
