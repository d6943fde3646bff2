//! One kernel launch: static code, launch geometry and one stream per wavefront.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrival, Arrivals};
use crate::stored_streams::{Source, StoredStreams};
use crate::{Code, Cursor, LANES, StreamWriter, TraceError, WavefrontCounts, check, encoding};

/// Everything one launch of a kernel executed, independent of timing. Immutable and shared by
/// [`Arc`].
#[derive(Clone, Debug)]
pub struct KernelTrace {
    /// Static instruction table, shared by launches of the same kernel.
    pub code: Arc<Code>,
    /// Number of work-groups along x, y, z.
    pub grid: [u32; 3],
    /// Number of threads per work-group along x, y, z.
    pub block: [u32; 3],
    /// Dynamic local memory of the launch in addition to the static amount, in bytes.
    pub dynamic_local_bytes: u32,
    /// Argument block passed at the launch.
    pub arguments: Vec<u8>,
    /// Parent of a device-side launch; `None` for launches from the host.
    pub parent: Option<Parent>,
    /// Attributes given to the launch, for policies.
    pub attributes: Vec<Attribute>,
    geometry: Geometry,
    /// Streams in linear order; empty for a launch that is simulated while it is emulated.
    streams: Vec<StreamEntry>,
    stream_bytes: u64,
    data: Data,
}

/// Storage of the stream bytes of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// In memory, including the padding after the end.
    Memory(Vec<u8>),
    /// In a file, read when needed.
    StoredStreams(Arc<StoredStreams>),
    /// The streams arrive while others are being simulated.
    Arriving(Arc<Arrivals>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamEntry {
    start: u64,
    end: u64,
    counts: WavefrontCounts,
}

impl StreamEntry {
    pub(crate) fn new(start: u64, end: u64, counts: WavefrontCounts) -> Self {
        Self { start, end, counts }
    }

    /// Returns the offset of the stream and its length in bytes.
    pub(crate) fn extent(&self) -> (u64, u64) {
        (self.start, self.end - self.start)
    }

    pub(crate) fn counts(&self) -> WavefrontCounts {
        self.counts
    }
}

/// Origin of a device-side launch: the launching lane and record, and the stream launched into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Parent {
    /// Number of the parent kernel in the program; always lower than that of the child.
    pub kernel: u32,
    /// Linear number of the parent work-group in its grid.
    pub work_group: u32,
    /// Number of the parent wavefront in its work-group.
    pub wavefront: u32,
    /// Index of the launch among the wavefront's records of
    /// [`Class::Launch`](crate::Class::Launch), counted from 0. Records in which no lane launched
    /// count too.
    pub record: u32,
    /// Lane that launched the kernel, 0 to 31.
    pub lane: u8,
    /// Stream the kernel was launched into. Device streams and host streams have different numbers.
    /// From [`TAIL_STREAMS`] on it is the tail-launch stream of the parent kernel.
    pub stream: u32,
}

/// Number of the first tail-launch stream. Each kernel has one: this number plus its own.
pub const TAIL_STREAMS: u32 = 3 << 30;

impl Parent {
    /// Returns the number of a kernel's tail-launch stream. Kernels launched into it run one after
    /// the other once the kernel and all else that it launched are complete.
    pub fn tail_stream(kernel: u32) -> u32 {
        TAIL_STREAMS.saturating_add(kernel)
    }

    /// True if the kernel was launched into the tail-launch stream of its parent.
    pub fn is_tail(&self) -> bool {
        self.stream >= TAIL_STREAMS
    }
}

/// Named value attached to a kernel launch, for policies that know the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Name by which policies find the attribute.
    pub name: String,
    /// Value of the attribute; its meaning depends on the name.
    pub value: u64,
}

impl Attribute {
    /// Name of the attribute of a cooperative launch: all its work-groups are resident at once.
    pub const COOPERATIVE: &'static str = "cooperative";
    /// Name of the attribute that states the registers per thread, instead of those of the code.
    pub const REGISTERS: &'static str = "registers_per_thread";
    /// Name of the attribute that states the units of a placed launch ([`Place`](crate::Place)).
    pub const PLACE_UNITS: &'static str = "place_units";
    /// Name of the attribute that states how many of its work-groups each unit receives.
    pub const PLACE_CONTEXTS: &'static str = "place_contexts";
    /// Name of the attribute that is 1 if contexts are counted by arrival, and 0 if by slot.
    pub const PLACE_BY_ARRIVAL: &'static str = "place_by_arrival";

    /// Creates an attribute with a name and a value.
    pub fn new(name: &str, value: u64) -> Self {
        Self {
            name: name.to_owned(),
            value,
        }
    }
}

impl KernelTrace {
    /// Returns the value of the launch's attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<u64> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|attribute| attribute.name == name)?;
        Some(found.value)
    }

    /// True if all work-groups must be resident at once, because they wait for each other.
    pub fn is_cooperative(&self) -> bool {
        self.attribute(Attribute::COOPERATIVE).is_some()
    }

    /// Creates a launch that states its shape and resources only. It has no streams to read.
    ///
    /// # Errors
    /// Same as [`KernelWriter::new`](crate::KernelWriter::new).
    pub fn without_streams(
        code: Arc<Code>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_local_bytes: u32,
        attributes: Vec<Attribute>,
    ) -> Result<Self, TraceError> {
        let launch = Launch::new(code, grid, block, dynamic_local_bytes, Vec::new())?;
        let launch = Launch {
            attributes,
            ..launch
        };
        Ok(launch.with_data(Vec::new(), Data::Memory(Vec::new())))
    }

    /// Returns the number of work-groups. They are numbered linearly, with x varying fastest.
    #[inline]
    pub fn work_groups(&self) -> u32 {
        self.geometry.work_groups
    }

    /// Returns the number of wavefronts in each work-group.
    #[inline]
    pub fn wavefronts_per_work_group(&self) -> u32 {
        self.geometry.wavefronts
    }

    /// Returns the number of threads in each work-group.
    #[inline]
    pub fn threads_per_work_group(&self) -> u32 {
        self.geometry.threads
    }

    /// Returns the number of lanes in a wavefront, which is less than 32 only in the last one of a
    /// work-group.
    pub fn lanes(&self, wavefront: u32) -> u32 {
        self.geometry.lanes(wavefront)
    }

    /// Returns the local memory of a work-group: static and dynamic bytes.
    pub fn local_bytes(&self) -> u64 {
        u64::from(self.code.static_local_bytes) + u64::from(self.dynamic_local_bytes)
    }

    /// Returns the number of 32-bit registers per thread that the machine allocates: as stated for
    /// the launch, or else those of the code.
    pub fn registers_per_thread(&self) -> u32 {
        let stated = self.attribute(Attribute::REGISTERS);
        let stated = stated.map(|registers| u32::try_from(registers).unwrap_or(u32::MAX));
        stated.unwrap_or(self.code.registers_per_thread)
    }

    /// Returns a cursor positioned before the first record of a wavefront.
    ///
    /// # Panics
    /// Panics if the launch has no such work-group or wavefront.
    pub fn cursor(&self, work_group: u32, wavefront: u32) -> Cursor {
        let stream = self.stream_index(work_group, wavefront);
        if let Data::Arriving(arrivals) = &self.data {
            arrivals.begin(stream);
        }
        Cursor::over(stream)
    }

    /// Returns the counts of one wavefront, or zero for a stream that has not arrived yet
    /// ([`Ahead`](crate::Ahead)).
    ///
    /// # Panics
    /// Panics if the launch has no such work-group or wavefront.
    pub fn wavefront_counts(&self, work_group: u32, wavefront: u32) -> WavefrontCounts {
        let stream = self.stream_index(work_group, wavefront);
        let Data::Arriving(arrivals) = &self.data else {
            return self.streams[stream as usize].counts;
        };
        match &*arrivals.slot(stream) {
            Arrival::Expected | Arrival::Wanted => WavefrontCounts::default(),
            Arrival::Here { counts, .. } | Arrival::Gone { counts, .. } => *counts,
        }
    }

    /// Returns the counts of the launch, over the streams known so far.
    pub fn counts(&self) -> WavefrontCounts {
        if let Data::Arriving(arrivals) = &self.data {
            return arrivals.totals().counts;
        }
        let mut total = WavefrontCounts::default();
        for stream in &self.streams {
            total += stream.counts;
        }
        total
    }

    /// Returns the number of wavefront instructions in the launch.
    pub fn wavefront_instructions(&self) -> u64 {
        self.counts().instructions
    }

    /// Returns the number of thread instructions of the launch: the sum of active lanes over all
    /// instructions.
    pub fn thread_instructions(&self) -> u64 {
        self.counts().thread_instructions
    }

    /// Returns the memory occupied by the dynamic part (streams and index), in bytes.
    pub fn bytes(&self) -> usize {
        let data = match &self.data {
            Data::Memory(data) => data.len(),
            Data::StoredStreams(_) | Data::Arriving(_) => 0,
        };
        data + size_of_val(self.streams.as_slice())
    }

    /// Returns the bytes of the streams alone, over the streams known so far.
    pub fn stream_bytes(&self) -> u64 {
        match &self.data {
            Data::Arriving(arrivals) => arrivals.totals().bytes,
            _ => self.stream_bytes,
        }
    }

    /// True if the streams are stored in a temporary file.
    pub fn is_spilled(&self) -> bool {
        matches!(&self.data, Data::StoredStreams(filed) if filed.is_spilled())
    }

    /// Returns the reason why a stream was cut short: its file could not be read.
    pub fn failure(&self) -> Option<&str> {
        match &self.data {
            Data::StoredStreams(filed) => filed.failure(),
            Data::Arriving(arrivals) => arrivals.failure(),
            Data::Memory(_) => None,
        }
    }

    /// Returns the offset of a stream in its storage and its length in bytes.
    #[inline]
    pub(crate) fn extent(&self, stream: u32) -> Option<(u64, u64)> {
        let entry = self.streams.get(stream as usize)?;
        Some(entry.extent())
    }

    #[inline]
    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    /// Returns the trace's launch head, without its streams.
    pub(crate) fn launch(&self) -> Launch {
        Launch {
            code: Arc::clone(&self.code),
            grid: self.grid,
            block: self.block,
            dynamic_local_bytes: self.dynamic_local_bytes,
            arguments: self.arguments.clone(),
            parent: self.parent,
            attributes: self.attributes.clone(),
            geometry: self.geometry,
        }
    }

    /// Iterates over the bytes of every stream, in linear order.
    ///
    /// # Panics
    /// Panics if their file cannot be read, or if they were dropped after they were read.
    pub(crate) fn raw_streams(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let kept = !matches!(self.data, Data::Arriving(_));
        assert!(kept, "the streams were dropped after they were read");
        let mut numbers = 0_u32..;
        self.streams
            .iter()
            .map(move |&StreamEntry { start, end, .. }| {
                let stream = numbers.next().unwrap_or_default();
                match &self.data {
                    Data::Memory(data) => Cow::Borrowed(&data[start as usize..end as usize]),
                    Data::StoredStreams(filed) => {
                        let read = filed.read(stream, (start, end - start));
                        Cow::Owned(read.expect("the temporary file of streams must be readable"))
                    }
                    Data::Arriving(_) => Cow::default(),
                }
            })
    }

    fn stream_index(&self, work_group: u32, wavefront: u32) -> u32 {
        let Geometry {
            work_groups,
            wavefronts,
            ..
        } = self.geometry;
        assert!(
            work_group < work_groups && wavefront < wavefronts,
            "work-group {work_group}, wavefront {wavefront} of kernel {}, which has {work_groups} \
             work-groups of {wavefronts} wavefronts",
            self.code.name
        );
        work_group * wavefronts + wavefront
    }
}

/// Head of a kernel trace: everything known before any stream is written.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) code: Arc<Code>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_local_bytes: u32,
    pub(crate) arguments: Vec<u8>,
    pub(crate) parent: Option<Parent>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) geometry: Geometry,
}

impl Launch {
    /// Checks the launch configuration and the instruction table.
    pub(crate) fn new(
        code: Arc<Code>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_local_bytes: u32,
        arguments: Vec<u8>,
    ) -> Result<Self, TraceError> {
        check::code(&code).map_err(|(instruction, problem)| TraceError::Code {
            kernel: code.name.clone(),
            instruction,
            opcode: code.instructions[instruction as usize].opcode.clone(),
            problem,
        })?;
        let geometry = Geometry::new(grid, block).map_err(|problem| TraceError::Launch {
            kernel: code.name.clone(),
            grid,
            block,
            problem,
        })?;
        Ok(Self {
            code,
            grid,
            block,
            dynamic_local_bytes,
            arguments,
            parent: None,
            attributes: Vec::new(),
            geometry,
        })
    }

    /// Builds the complete trace. `streams` gives the position of each stream in the data, in
    /// linear order.
    pub(crate) fn with_data(self, streams: Vec<StreamEntry>, data: Data) -> KernelTrace {
        let stream_bytes = streams.iter().map(|entry| entry.end - entry.start).sum();
        KernelTrace {
            code: self.code,
            grid: self.grid,
            block: self.block,
            dynamic_local_bytes: self.dynamic_local_bytes,
            arguments: self.arguments,
            parent: self.parent,
            attributes: self.attributes,
            geometry: self.geometry,
            streams,
            stream_bytes,
            data,
        }
    }

    /// Builds the complete trace. `streams` gives the position of each stream in a file, in linear
    /// order.
    pub(crate) fn with_filed(self, streams: Vec<StreamEntry>, source: Source) -> KernelTrace {
        let filed = StoredStreams::new(source, streams.len());
        self.with_data(streams, Data::StoredStreams(Arc::new(filed)))
    }

    /// Checks one wavefront's stream and returns its counts and bytes. `taken` returns the bytes
    /// that were taken from the writer earlier.
    pub(crate) fn accept(
        &self,
        work_group: u32,
        wavefront: u32,
        stream: StreamWriter,
        taken: impl Fn() -> Vec<u8>,
    ) -> Result<(WavefrontCounts, Vec<u8>), TraceError> {
        let geometry = self.geometry;
        let refuse = |problem: String| self.stream_error(work_group, wavefront, problem);
        if work_group >= geometry.work_groups || wavefront >= geometry.wavefronts {
            return Err(refuse(format!(
                "the launch has {} work-groups of {} wavefronts",
                geometry.work_groups, geometry.wavefronts
            )));
        }
        let (bytes, written) = stream.into_bytes();
        let lanes = geometry.lanes(wavefront);
        let read = || {
            let padded = [&taken()[..], &bytes, &[0; encoding::PADDING]].concat();
            check::stream(&self.code, &padded, lanes)
        };
        let counts = match written.counts_within(&self.code, lanes) {
            Some(counts) => {
                debug_assert_eq!(Ok(counts), read(), "the stream must read back as written");
                counts
            }
            None => read().map_err(refuse)?,
        };
        Ok((counts, bytes))
    }

    /// Reduces the launch to a single work-group.
    pub(crate) fn alone(mut self) -> Self {
        self.grid = [1; 3];
        self.geometry.work_groups = 1;
        self
    }

    /// Returns the number of wavefronts in the launch.
    pub(crate) fn wavefronts(&self) -> u64 {
        u64::from(self.geometry.work_groups) * u64::from(self.geometry.wavefronts)
    }

    /// Returns the linear number of a wavefront in the launch.
    pub(crate) fn place(&self, work_group: u32, wavefront: u32) -> u64 {
        u64::from(work_group) * u64::from(self.geometry.wavefronts) + u64::from(wavefront)
    }

    /// Returns the work-group and wavefront with this linear number.
    pub(crate) fn wavefront_at(&self, place: u64) -> (u32, u32) {
        let wavefronts = u64::from(self.geometry.wavefronts);
        ((place / wavefronts) as u32, (place % wavefronts) as u32)
    }

    pub(crate) fn written_twice(&self, work_group: u32, wavefront: u32) -> TraceError {
        self.stream_error(work_group, wavefront, "its stream was written twice")
    }

    pub(crate) fn never_written(&self, place: u64) -> TraceError {
        let (work_group, wavefront) = self.wavefront_at(place);
        let problem = "it has no stream; write one for every wavefront, empty or not";
        self.stream_error(work_group, wavefront, problem)
    }

    pub(crate) fn stream_error(
        &self,
        work_group: u32,
        wavefront: u32,
        problem: impl Into<String>,
    ) -> TraceError {
        TraceError::Stream {
            kernel: self.code.name.clone(),
            work_group,
            wavefront,
            problem: problem.into(),
        }
    }
}

/// Sizes derived from grid and block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) work_groups: u32,
    pub(crate) threads: u32,
    pub(crate) wavefronts: u32,
}

impl Geometry {
    pub(crate) fn new(grid: [u32; 3], block: [u32; 3]) -> Result<Self, &'static str> {
        let work_groups = product(grid).ok_or("more work-groups than a 32-bit number can count")?;
        let threads =
            product(block).ok_or("more threads in a work-group than a 32-bit number can count")?;
        if work_groups == 0 || threads == 0 {
            return Err("no threads");
        }
        Ok(Self {
            work_groups,
            threads,
            wavefronts: threads.div_ceil(LANES as u32),
        })
    }

    pub(crate) fn lanes(&self, wavefront: u32) -> u32 {
        let threads = u64::from(self.threads).saturating_sub(u64::from(wavefront) * LANES as u64);
        if threads >= LANES as u64 {
            u32::MAX
        } else {
            (1 << threads) - 1
        }
    }
}

fn product(extent: [u32; 3]) -> Option<u32> {
    extent.into_iter().try_fold(1_u32, u32::checked_mul)
}
