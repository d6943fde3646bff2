//! Reader for trace files, which loads streams on demand.

use std::path::Path;
use std::sync::Arc;

use warpweave_files::{ChunkedInput, Ledger};

use super::{ChunkEntry, Index, KernelEntry, LAYOUT};
use crate::encoding::PADDING;
use crate::hash::{self, KernelHasher};
use crate::kernel::{Data, Launch, StreamEntry};
use crate::launches::check_parent;
use crate::program::{ProgramHead, check_commands};
use crate::recorded::{Recorded, RecordedFile};
use crate::stored_streams::Source;
use crate::{
    Attribute, Code, ContentHash, KernelTrace, Parent, Program, TraceError, WavefrontCounts, check,
};

/// Maximum total size of streams, in bytes, for a file to be held in memory.
const HELD_MAX: u64 = 32 << 20;

/// Memory used by a stream that stays in the file, in bytes.
const FILED_BYTES: u64 = 80;

/// Facts about a kernel from the index, available without reading its streams.
#[derive(Clone, Copy, Debug)]
pub struct KernelHead<'a> {
    /// Instruction table shared by launches of the kernel.
    pub code: &'a Arc<Code>,
    /// Number of work-groups along x, y, z.
    pub grid: [u32; 3],
    /// Number of threads per work-group along x, y, z.
    pub block: [u32; 3],
    /// Dynamic local memory of the launch in addition to the static amount, in bytes.
    pub dynamic_local_bytes: u32,
    /// Attributes given to the launch.
    pub attributes: &'a [Attribute],
    /// Counts of executed instructions, verified when the kernel is read.
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
    /// Returns [`TraceError::File`] if it is not a trace, has another version, or is truncated or
    /// damaged. Returns [`TraceError::Io`] if it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        Self::open_within(path, &Ledger::default())
    }

    /// Like [`TraceFile::open`], with the memory charged to `ledger`.
    ///
    /// # Errors
    /// Same as [`TraceFile::open`], and [`TraceError::OverBudget`].
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

    /// Returns the program's head, without its kernels.
    pub fn head(&self) -> &ProgramHead {
        &self.index.head
    }

    /// Returns the content hash stated in the file. [`TraceFile::program`] verifies it.
    pub fn hash(&self) -> ContentHash {
        self.index.hash
    }

    /// Returns the number of kernel launches.
    pub fn kernels(&self) -> u32 {
        self.launches.len() as u32
    }

    /// Iterates over the parent of each kernel, in order of launch number.
    pub fn parents(&self) -> impl Iterator<Item = Option<Parent>> {
        self.index.kernels.iter().map(|kernel| kernel.parent)
    }

    /// Returns the instruction table, launch geometry and counts of a kernel, using only the index.
    pub fn kernel_head(&self, kernel: u32) -> Option<KernelHead<'_>> {
        let launch = self.launches.get(kernel as usize)?;
        let counts = self.index.kernels[kernel as usize].counts;
        Some(KernelHead {
            code: &launch.code,
            grid: launch.grid,
            block: launch.block,
            dynamic_local_bytes: launch.dynamic_local_bytes,
            attributes: &launch.attributes,
            counts,
        })
    }

    /// Reads one kernel and verifies its hash.
    ///
    /// # Errors
    /// Returns [`TraceError::File`] if there is no such kernel or its bytes are damaged.
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

    /// Verifies the streams of a kernel, and passes on each stream's start in its chunk, its bytes
    /// and counts.
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
            let problem = format!("kernel {kernel} does not match its hash; record it again");
            return Err(self.refuse(problem));
        }
        Ok(())
    }

    /// Reads one work-group as a launch of its own, in which its number is 0.
    ///
    /// # Errors
    /// Returns [`TraceError::File`] if there is no such work-group or its bytes are damaged.
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

    /// Reads everything and verifies the content hash. If the streams total more than 32 MiB they
    /// stay in the file and are read again when needed.
    ///
    /// # Errors
    /// Returns [`TraceError::File`] if the bytes are damaged.
    pub fn program(self) -> Result<Program, TraceError> {
        self.program_holding(HELD_MAX)
    }

    /// Like [`TraceFile::program`], but leaves the streams in the file if they total more than
    /// `bytes`.
    ///
    /// # Errors
    /// Same as [`TraceFile::program`].
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

    /// Verifies a kernel and returns the position of each stream in its chunk.
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

    /// Splits a chunk into streams and checks each. Passes on its start in the chunk, its bytes and
    /// counts.
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

/// Returns the maximum memory the unpacked chunks take, in bytes.
fn unpacked(chunks: &[ChunkEntry]) -> u64 {
    let bytes = chunks.iter().map(|chunk| chunk.place.unpacked_bytes());
    bytes.fold(0, u64::saturating_add)
}

/// Checks that kernels have code and valid launches and that chunks are contiguous.
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
            work_group =
                next.ok_or_else(|| format!("the chunks of kernel {number} are not contiguous"))?;
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
