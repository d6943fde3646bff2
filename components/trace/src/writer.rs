//! Writer that collects the streams of a launch.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::sync::Arc;

use warpweave_files::{Charge, Ledger};

use crate::arrivals::{Arrivals, StreamStorage};
use crate::encoding::PADDING;
use crate::kernel::{Data, Launch, StreamEntry};
use crate::spill::{Part, SPILLS_FROM, SpillWriter};
use crate::stored_streams::Source;
use crate::window::Windows;
use crate::{Attribute, Code, KernelTrace, Parent, StreamWriter, TraceError, WavefrontCounts};

/// Memory overhead of a stream in addition to its records, in bytes.
const STREAM_BYTES: u64 = 96;

/// Collects the streams of one launch, in any order. From 256 MiB on they are spilled to an unnamed
/// file in the folder for temporary files, from which the finished trace reads them. Incomplete
/// streams are spilled with [`KernelWriter::spill_part`]. Streams of a launch that is simulated
/// while it is emulated are handed over as they are completed ([`KernelWriter::ahead_as`]).
#[derive(Debug)]
pub struct KernelWriter {
    launch: Launch,
    /// Streams by linear wavefront number, positioned in the file and, after that, in memory.
    streams: BTreeMap<u64, StreamEntry>,
    /// Streams in memory, in order of arrival.
    data: Vec<u8>,
    ledger: Ledger,
    /// Memory charge for the records, released when they are spilled.
    charge: Option<Charge>,
    spills_from: u64,
    spill: Option<SpillWriter>,
    /// Parts of streams in the file, by linear wavefront number.
    parts: BTreeMap<u64, Vec<Part>>,
    /// Total size of the complete streams in bytes.
    bytes: u64,
    /// Destination of streams that are simulated while others are written.
    arrivals: Option<Arc<Arrivals>>,
}

impl KernelWriter {
    /// Creates a writer for a launch without streams.
    ///
    /// # Errors
    /// Returns [`TraceError::Launch`] if grid or block has a zero or overflows 32 bits. Returns
    /// [`TraceError::Code`] if the instruction table has an index out of range.
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
            parts: BTreeMap::new(),
            bytes: 0,
            arrivals: None,
        })
    }

    /// Sets the parent of a kernel launched from the device.
    pub fn launched_by(mut self, parent: Parent) -> Self {
        self.launch.parent = Some(parent);
        self
    }

    /// Adds an attribute to the kernel launch.
    pub fn saying(mut self, attribute: Attribute) -> Self {
        self.launch.attributes.push(attribute);
        self
    }

    /// Charges the memory of the records to `ledger`.
    pub fn charged_to(mut self, ledger: &Ledger) -> Self {
        self.ledger = ledger.clone();
        self
    }

    /// Spills the records to a temporary file when they reach this many bytes, instead of 256 MiB.
    pub fn spilling_from(mut self, bytes: u64) -> Self {
        self.spills_from = bytes;
        self
    }

    /// Connects this launch to one created by [`Ahead::launch`](crate::Ahead::launch), which
    /// receives its streams. This happens only if the program has so many streams that its
    /// simulation begins before its emulation ends.
    pub fn ahead_as(mut self, foreseen: &KernelTrace) -> Self {
        if let Data::Arriving(arrivals) = foreseen.data() {
            self.arrivals = Some(Arc::clone(arrivals));
        }
        self
    }

    /// True if incomplete streams of this many bytes should be spilled to the temporary file.
    #[inline]
    pub fn is_to_spill(&self, bytes: u64) -> bool {
        bytes >= self.spills_from
    }

    /// Writes the existing bytes of an incomplete stream to the temporary file. Later bytes follow
    /// them.
    ///
    /// # Errors
    /// Returns [`TraceError::Write`] if the file cannot be written.
    pub fn spill_part(
        &mut self,
        work_group: u32,
        wavefront: u32,
        stream: &mut StreamWriter,
    ) -> Result<(), TraceError> {
        let position = stream.taken();
        let bytes = stream.take_bytes();
        self.write_part(self.launch.place(work_group, wavefront), position, &bytes)
    }

    fn write_part(&mut self, place: u64, position: u64, bytes: &[u8]) -> Result<(), TraceError> {
        if bytes.is_empty() {
            return Ok(());
        }
        // The bytes in memory precede it in the file.
        self.spill()?;
        let folder = env::temp_dir();
        let file = self.spill_file(&folder)?;
        let offset = file.length();
        file.append(&folder, bytes)?;
        let parts = self.parts.entry(place).or_default();
        parts.push(Part { position, offset });
        Ok(())
    }

    /// Adds the stream of one wavefront.
    ///
    /// # Errors
    /// Returns [`TraceError::Stream`] if there is no such wavefront, it was added before, or a
    /// record has an invalid instruction or lane. Returns [`TraceError::OverBudget`], or
    /// [`TraceError::Write`] if the temporary file cannot be written.
    pub fn finish_wavefront(
        &mut self,
        work_group: u32,
        wavefront: u32,
        stream: StreamWriter,
    ) -> Result<(), TraceError> {
        let place = self.launch.place(work_group, wavefront);
        let taken = stream.taken();
        let read = || {
            let parts = self.parts.get(&place).map(|parts| parts[..].into());
            let file = self.spill.as_ref().zip(parts);
            let stream = file.map(|(file, parts)| file.stream(taken, parts).read());
            let bytes = stream.transpose().unwrap_or_default();
            bytes.unwrap_or_default()
        };
        let accepted = self.launch.accept(work_group, wavefront, stream, read);
        let (counts, bytes) = accepted?;
        let what = format!("the trace of `{}`", self.launch.code.name);
        self.ledger.charge(&what, STREAM_BYTES)?;
        self.bytes += taken + bytes.len() as u64;
        if self.has_begun()? {
            return self.arrive(place, counts, (taken, bytes));
        }
        if taken > 0 {
            self.write_part(place, taken, &bytes)?;
            let entry = StreamEntry::new(0, taken + bytes.len() as u64, counts);
            return self.add(place, entry);
        }
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
        self.add(place, StreamEntry::new(start, start + length, counts))?;
        if self.data.len() as u64 >= self.spills_from {
            self.spill()?;
        }
        Ok(())
    }

    fn add(&mut self, place: u64, entry: StreamEntry) -> Result<(), TraceError> {
        match self.streams.insert(place, entry) {
            None => Ok(()),
            Some(_) => Err(self.written_twice(place)),
        }
    }

    fn written_twice(&self, place: u64) -> TraceError {
        let (work_group, wavefront) = self.launch.wavefront_at(place);
        self.launch.written_twice(work_group, wavefront)
    }

    /// Writes the streams in memory to the file.
    fn spill(&mut self) -> Result<(), TraceError> {
        if self.data.is_empty() {
            return Ok(());
        }
        let folder = env::temp_dir();
        let data = std::mem::take(&mut self.data);
        self.spill_file(&folder)?.append(&folder, &data)?;
        self.charge = None;
        Ok(())
    }

    fn spill_file(&mut self, folder: &Path) -> Result<&mut SpillWriter, TraceError> {
        Ok(match &mut self.spill {
            Some(file) => file,
            none => none.insert(SpillWriter::create(folder)?),
        })
    }

    /// Returns true if streams are handed over. Also hands over those that were completed before.
    fn has_begun(&mut self) -> Result<bool, TraceError> {
        let Some(arrivals) = &self.arrivals else {
            return Ok(false);
        };
        if !arrivals.flow().has_begun(self.bytes) {
            return Ok(false);
        }
        let data = std::mem::take(&mut self.data);
        let before = self.spill.as_ref().map_or(0, SpillWriter::length);
        for (place, entry) in std::mem::take(&mut self.streams) {
            let (start, length) = entry.extent();
            let parts = self.parts.remove(&place);
            let came = match (parts, start.checked_sub(before), &self.spill) {
                (None, Some(start), _) => {
                    let start = start as usize;
                    StreamStorage::padded(data[start..start + length as usize].to_vec())
                }
                (parts, _, Some(file)) => {
                    let one = || {
                        vec![Part {
                            position: 0,
                            offset: start,
                        }]
                    };
                    let parts = parts.unwrap_or_else(one);
                    StreamStorage::Spilled(file.stream(length, parts.into()), Windows::default())
                }
                (_, None, None) | (Some(_), _, None) => continue,
            };
            self.hand_over(place, entry.counts(), (came, length))?;
        }
        self.charge = None;
        Ok(true)
    }

    /// Hands over a stream, of which some bytes may have been taken before.
    fn arrive(
        &mut self,
        place: u64,
        counts: WavefrontCounts,
        (taken, bytes): (u64, Vec<u8>),
    ) -> Result<(), TraceError> {
        let length = taken + bytes.len() as u64;
        let has_room = self.arrivals.as_ref().is_none_or(|it| it.has_room(length));
        if taken > 0 || !has_room {
            self.write_part(place, taken, &bytes)?;
        }
        let came = match (self.parts.remove(&place), &self.spill) {
            (Some(parts), Some(file)) => {
                StreamStorage::Spilled(file.stream(length, parts.into()), Windows::default())
            }
            _ => StreamStorage::padded(bytes),
        };
        self.hand_over(place, counts, (came, length))
    }

    fn hand_over(
        &self,
        place: u64,
        counts: WavefrontCounts,
        came: (StreamStorage, u64),
    ) -> Result<(), TraceError> {
        let arrivals = self.arrivals.as_ref();
        if arrivals.is_some_and(|arrivals| arrivals.arrive(place as u32, counts, came)) {
            Ok(())
        } else {
            Err(self.written_twice(place))
        }
    }

    /// Returns the finished trace of the launch.
    ///
    /// # Errors
    /// Returns [`TraceError::Stream`] naming the first wavefront without a stream,
    /// [`TraceError::Write`], or [`TraceError::OverBudget`].
    pub fn finish(mut self) -> Result<KernelTrace, TraceError> {
        if let Some(arrivals) = &self.arrivals
            && self.streams.is_empty()
            && arrivals.totals().streams as u64 == self.launch.wavefronts()
        {
            let data = Data::Arriving(Arc::clone(arrivals));
            return Ok(self.launch.with_data(Vec::new(), data));
        }
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
        let streams: Vec<_> = self.streams.values().copied().collect();
        if self.spill.is_some() {
            self.spill()?;
        }
        if let Some(file) = self.spill {
            let parts = self.parts.into_iter();
            let parts = parts.map(|(place, parts)| (place, parts.into()));
            let source = Source::Spilled(file.finish(parts.collect()));
            return Ok(self.launch.with_filed(streams, source));
        }
        // From here on, the owner of the ledger accounts for the records.
        self.charge = None;
        let what = format!("the trace of `{}`", self.launch.code.name);
        self.ledger.charge(&what, self.data.len() as u64)?;
        self.data.extend_from_slice(&[0; PADDING]);
        self.data.shrink_to_fit();
        Ok(self.launch.with_data(streams, Data::Memory(self.data)))
    }
}
