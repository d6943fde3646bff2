//! Collects the streams of a launch.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use warpweave_files::{Charge, Ledger};

use crate::encoding::PADDING;
use crate::kernel::{Data, Launch, StreamEntry};
use crate::spill::{SPILLS_FROM, SpillWriter};
use crate::{Attribute, Code, KernelTrace, Parent, StreamWriter, TraceError};

/// Bytes that a stream takes beside its records.
const STREAM_BYTES: u64 = 96;

/// Collects the streams of one launch, in any order. From 256 MiB on they go to a temporary file without a name
/// in the folder for such files, and the finished trace reads them from there.
#[derive(Debug)]
pub struct KernelWriter {
    launch: Launch,
    /// By linear wavefront number, as they lie in the file and, after that, in memory.
    streams: BTreeMap<u64, StreamEntry>,
    /// Streams in memory, in the order in which they came.
    data: Vec<u8>,
    ledger: Ledger,
    /// For the records in memory; given back when they leave it.
    charge: Option<Charge>,
    spills_from: u64,
    spill: Option<SpillWriter>,
}

impl KernelWriter {
    /// A launch without streams.
    ///
    /// # Errors
    /// [`TraceError::Launch`] when grid or block has a zero or overflows 32 bits,
    /// [`TraceError::Code`] when the instruction table points outside itself.
    pub fn new(
        code: Arc<Code>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_local_bytes: u32,
        arguments: Vec<u8>,
    ) -> Result<Self, TraceError> {
        let launch = Launch::new(code, grid, block, dynamic_local_bytes, arguments)?;
        Ok(Self {
            launch,
            streams: BTreeMap::new(),
            ledger: Ledger::default(),
            data: Vec::new(),
            charge: None,
            spills_from: SPILLS_FROM,
            spill: None,
        })
    }

    /// Says who launched the kernel from the device.
    pub fn launched_by(mut self, parent: Parent) -> Self {
        self.launch.parent = Some(parent);
        self
    }

    /// Says something of the kernel.
    pub fn saying(mut self, attribute: Attribute) -> Self {
        self.launch.attributes.push(attribute);
        self
    }

    /// Charges the records to `ledger`.
    pub fn charged_to(mut self, ledger: &Ledger) -> Self {
        self.ledger = ledger.clone();
        self
    }

    /// Lets the records go to a temporary file when they take this many bytes, instead of 256 MiB.
    pub fn spilling_from(mut self, bytes: u64) -> Self {
        self.spills_from = bytes;
        self
    }

    /// Adds the stream of one wavefront.
    ///
    /// # Errors
    /// [`TraceError::Stream`] when the launch has no such wavefront, it was added before, or a
    /// record names an instruction or a lane that does not exist; [`TraceError::OverBudget`];
    /// [`TraceError::Write`] when the temporary file cannot be written.
    pub fn finish_wavefront(
        &mut self,
        work_group: u32,
        wavefront: u32,
        stream: StreamWriter,
    ) -> Result<(), TraceError> {
        let (counts, bytes) = self.launch.accept(work_group, wavefront, stream)?;
        let what = format!("the trace of `{}`", self.launch.code.name);
        self.ledger.charge(&what, STREAM_BYTES)?;
        let length = bytes.len() as u64;
        match &mut self.charge {
            Some(charge) => charge.grow(&what, length)?,
            None => self.charge = Some(self.ledger.budget().charge(&what, length)?),
        }
        let spilled = self.spill.as_ref().map_or(0, SpillWriter::length);
        let start = spilled + self.data.len() as u64;
        if self.data.is_empty() {
            self.data = bytes;
        } else {
            self.data.extend_from_slice(&bytes);
        }
        let place = self.launch.place(work_group, wavefront);
        let entry = StreamEntry::new(start, start + length, counts);
        if self.streams.insert(place, entry).is_some() {
            return Err(self.launch.written_twice(work_group, wavefront));
        }
        if self.data.len() as u64 >= self.spills_from {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what is in memory to the file.
    fn spill(&mut self) -> Result<(), TraceError> {
        let folder = env::temp_dir();
        let file = match &mut self.spill {
            Some(file) => file,
            none => none.insert(SpillWriter::create(&folder)?),
        };
        file.append(&folder, &self.data)?;
        self.data.clear();
        self.charge = None;
        Ok(())
    }

    /// The finished trace.
    ///
    /// # Errors
    /// [`TraceError::Stream`] naming the first wavefront without a stream; [`TraceError::Write`];
    /// [`TraceError::OverBudget`].
    pub fn finish(mut self) -> Result<KernelTrace, TraceError> {
        // Keys are sorted and within the launch, so the first gap is the first key out of step.
        let written = self
            .streams
            .keys()
            .zip(0..)
            .take_while(|&(&place, turn)| place == turn);
        let written = written.count() as u64;
        if written != self.launch.wavefronts() {
            return Err(self.launch.never_written(written));
        }
        let streams = self.streams.values().copied().collect();
        if self.spill.is_some() {
            self.spill()?;
        }
        if let Some(file) = self.spill {
            return Ok(self
                .launch
                .with_data(streams, Data::Spilled(Arc::new(file.finish()))));
        }
        // From here on the records belong to whoever keeps the ledger.
        self.charge = None;
        let what = format!("the trace of `{}`", self.launch.code.name);
        self.ledger.charge(&what, self.data.len() as u64)?;
        self.data.extend_from_slice(&[0; PADDING]);
        self.data.shrink_to_fit();
        Ok(self.launch.with_data(streams, Data::Memory(self.data)))
    }
}
