//! Building traces: a stream writer per wavefront, a kernel writer per launch.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use warpweave_files::{Charge, Ledger};

use crate::encoding::{
    ACCESS, BASES, FORM_LIST, FORM_NONE, FORM_ROWS, FORM_STRIDE, FORM_UNIFORM, FORMS_BY_STEP, JUMP,
    LEAST_STEP, LONG_RUN, PADDING, SET_MASK, SHORT_RUN_MAX, SWAP_MASK, WIDTHS, width_code,
    write_value, zigzag,
};
use crate::kernel::{Data, Launch, StreamEntry};
use crate::record::strided;
use crate::spill::{SPILLS_FROM, SpillWriter};
use crate::{Attribute, Code, KernelTrace, LANES, Parent, Space, TraceError, WavefrontCounts};

/// A delta that takes more than three bytes starts a new region rather than following one.
const FAR: u64 = 1 << 24;

/// Writes one wavefront's stream, record by record.
#[derive(Clone, Debug)]
pub struct StreamWriter {
    bytes: Vec<u8>,
    /// Instruction after the last record's.
    pc: u32,
    /// Records of the run that is not written yet.
    run: u64,
    mask: u32,
    other: u32,
    /// Base registers with what is in them, the one used last at the back.
    recent: [u8; BASES],
    bases: [u64; BASES],
    /// What was written, so that it need not be read again.
    written: Written,
}

/// What a writer knows of the records it wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    counts: WavefrontCounts,
    /// One more than the largest pc.
    pc_end: u32,
    /// Lanes active in any record.
    lanes: u32,
    /// Instructions that have addresses, by bits.
    with_addresses: Vec<u64>,
    /// The last access continues, as far as is known.
    open: bool,
    /// Something may be wrong: reading the stream says what.
    doubtful: bool,
}

impl Written {
    /// What the records count, if they are known to be those of a wavefront with these lanes of this
    /// code; none: whether they are is not known.
    pub(crate) fn counts_within(&self, code: &Code, lanes: u32) -> Option<WavefrontCounts> {
        let is_memory = |pc: usize| {
            let instruction = code.instructions.get(pc);
            instruction.is_some_and(|instruction| instruction.class.is_memory())
        };
        let mut bits = self.with_addresses.iter().enumerate();
        let known = !self.doubtful
            && !self.open
            && self.pc_end as usize <= code.instructions.len()
            && self.lanes & !lanes == 0
            && bits.all(|(word, &bits)| {
                let mut set = (0..64).filter(|bit| bits >> bit & 1 != 0);
                bits == 0 || set.all(|bit| is_memory(word * 64 + bit))
            });
        known.then_some(self.counts)
    }

    /// A run of records that ended before `pc`.
    fn run(&mut self, records: u64, pc: u32, mask: u32) {
        self.counts.instructions += records;
        self.counts.thread_instructions += records * lanes_of(mask);
        self.lanes |= mask;
        // A run that starts below the first instruction, or ends beyond the last one that has a number.
        self.doubtful |= u64::from(pc) < records;
        self.pc_end = self.pc_end.max(pc);
    }

    fn access(&mut self, pc: u32, mask: u32, has_addresses: bool, continues: bool) {
        self.counts.instructions += u64::from(!continues);
        self.counts.thread_instructions += lanes_of(mask);
        self.lanes |= mask;
        self.pc_end = self.pc_end.max(pc.saturating_add(1));
        self.open = continues;
        if has_addresses {
            let word = pc as usize / 64;
            match self.with_addresses.get_mut(word) {
                Some(bits) => *bits |= 1 << (pc % 64),
                None => self.first_access(pc),
            }
        }
    }

    #[cold]
    fn first_access(&mut self, pc: u32) {
        // A kernel has fewer instructions than this, or its stream is refused.
        if pc >= 1 << 24 {
            self.doubtful = true;
            return;
        }
        self.with_addresses.resize(pc as usize / 64 + 1, 0);
        self.with_addresses[pc as usize / 64] |= 1 << (pc % 64);
    }
}

impl Default for StreamWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl StreamWriter {
    /// A stream without records.
    pub fn new() -> Self {
        Self {
            bytes: Vec::new(),
            pc: 0,
            run: 0,
            mask: u32::MAX,
            other: 0,
            recent: [0, 1, 2, 3],
            bases: [0; BASES],
            written: Written::default(),
        }
    }

    /// Appends a record without addresses.
    #[inline]
    pub fn step(&mut self, pc: u32, mask: u32) {
        if pc != self.pc || mask != self.mask {
            self.redirect(pc, mask);
        }
        self.run += 1;
        self.pc = pc.wrapping_add(1);
    }

    /// Appends a record with addresses; only those of active lanes are looked at. Say `continues`
    /// when the next record is the rest of the same instruction, in another space.
    pub fn access(
        &mut self,
        pc: u32,
        mask: u32,
        space: Space,
        continues: bool,
        addresses: &[u64; LANES],
    ) {
        let layout = Layout::of(mask, addresses);
        self.access_in(layout, (pc, mask), space, continues, addresses);
    }

    /// Appends a record of all lanes, whose addresses grow by `step` from `base`, that of lane 0: the
    /// record that [`StreamWriter::access`] makes of these addresses.
    #[inline]
    pub fn access_strided(&mut self, pc: u32, space: Space, base: u64, step: i64) {
        let layout = if step == 0 {
            Layout::Uniform(base)
        } else {
            Layout::Stride { base, step }
        };
        self.access_in(layout, (pc, u32::MAX), space, false, &[0; LANES]);
    }

    #[inline(always)]
    fn access_in(
        &mut self,
        layout: Layout,
        (pc, mask): (u32, u32),
        space: Space,
        continues: bool,
        addresses: &[u64; LANES],
    ) {
        self.redirect(pc, mask);
        // A record without active lanes leaves the base registers as they are.
        let base = layout.base().unwrap_or(self.bases[BASES - 1]);
        let (slot, delta) = self.slot(base);
        let width = width_code(delta);
        let form = layout.form();
        let head = ACCESS | slot << 4 | form;
        let how = u8::from(continues) << 6 | (space as u8) << 3 | width;
        // Of the delta all bytes at once, of which those stay that its width needs.
        let mut token = [head, how, 0, 0, 0, 0, 0, 0, 0, 0];
        token[2..].copy_from_slice(&delta.to_le_bytes());
        let end = self.bytes.len() + 2 + usize::from(WIDTHS[usize::from(width)]);
        self.bytes.extend_from_slice(&token);
        self.bytes.truncate(end);
        layout.write(form, &mut self.bytes, mask, addresses);
        self.written
            .access(pc, mask, space != Space::None, continues);
        self.pc = if continues { pc } else { pc.wrapping_add(1) };
    }

    /// Bytes of all records but those of the last run, which is counted when it ends.
    #[inline]
    pub fn stream_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.run == 0
    }

    /// Ends the current run and brings mask and pc to the next record's.
    fn redirect(&mut self, pc: u32, mask: u32) {
        self.flush();
        self.written.doubtful |= self.written.open && pc != self.pc;
        if mask != self.mask {
            if mask == self.other {
                self.bytes.push(SWAP_MASK);
            } else {
                self.bytes.push(SET_MASK);
                self.bytes.extend_from_slice(&mask.to_le_bytes());
            }
            self.other = std::mem::replace(&mut self.mask, mask);
        }
        if pc != self.pc {
            let distance = zigzag(i64::from(pc.wrapping_sub(self.pc) as i32));
            let width = width_code(distance);
            self.bytes.push(JUMP | width);
            write_value(&mut self.bytes, distance, width);
            self.pc = pc;
        }
    }

    #[inline]
    fn flush(&mut self) {
        if self.run == 0 {
            return;
        }
        self.written.run(self.run, self.pc, self.mask);
        if self.run <= u64::from(SHORT_RUN_MAX) + 1 {
            self.bytes.push((self.run - 1) as u8);
            self.run = 0;
            return;
        }
        while self.run > 0 {
            let records = self.run.min(1 << 32);
            let more = (records - 1) as u32;
            if more <= SHORT_RUN_MAX {
                self.bytes.push(more as u8);
            } else {
                self.bytes.push(LONG_RUN);
                self.bytes.extend_from_slice(&more.to_le_bytes());
            }
            self.run -= records;
        }
    }

    /// The base register nearest to `address`, the one unused for longest when none is near, and the distance,
    /// zigzag coded. The address is in it from then on.
    #[inline]
    fn slot(&mut self, address: u64) -> (u8, u64) {
        let distances = self
            .bases
            .map(|base| zigzag(address.wrapping_sub(base) as i64));
        let mut place = 0;
        for other in 1..BASES {
            if distances[other] < distances[place] {
                place = other;
            }
        }
        if distances[place] >= FAR {
            place = 0;
        }
        let slot = self.recent[place];
        for place in place..BASES - 1 {
            self.recent[place] = self.recent[place + 1];
            self.bases[place] = self.bases[place + 1];
        }
        self.recent[BASES - 1] = slot;
        self.bases[BASES - 1] = address;
        (slot, distances[place])
    }

    /// The stream's bytes, with padding, how many of them are the stream, and what is known of them.
    pub(crate) fn into_padded_bytes(mut self) -> (Vec<u8>, usize, Written) {
        self.flush();
        let length = self.bytes.len();
        self.bytes.extend_from_slice(&[0; PADDING]);
        (self.bytes, length, self.written)
    }
}

/// The smallest way to say where the active lanes' addresses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    None,
    Uniform(u64),
    Stride {
        base: u64,
        step: i64,
    },
    Rows {
        base: u64,
        step: i64,
        pitch: i64,
        row_bits: u8,
    },
    List {
        first: u64,
    },
}

impl Layout {
    fn of(mask: u32, addresses: &[u64; LANES]) -> Self {
        if mask == 0 {
            return Self::None;
        }
        let first = mask.trailing_zeros();
        let rest = mask & (mask - 1);
        let start = addresses[first as usize];
        if rest == 0 {
            return Self::Uniform(start);
        }
        let fits = |address: &dyn Fn(u32) -> u64| {
            active(mask).all(|lane| addresses[lane as usize] == address(lane))
        };
        let between = |from: u32, to: u32| {
            addresses[to as usize].wrapping_sub(addresses[from as usize]) as i64
        };
        if let Some(step) = quotient(
            between(first, rest.trailing_zeros()),
            rest.trailing_zeros() - first,
        ) {
            let base = strided(start, step.wrapping_neg(), first);
            if off_stride(mask, addresses, base, step) == 0 {
                return if step == 0 {
                    Self::Uniform(start)
                } else {
                    Self::Stride { base, step }
                };
            }
        }
        // In rows of any length the third and the fourth lane are as far apart as the first two.
        if mask == u32::MAX && between(0, 1) != between(2, 3) {
            return Self::List { first: start };
        }
        for row_bits in (1..=4_u8).rev() {
            let column = |lane: u32| lane & ((1 << row_bits) - 1);
            let row = |lane: u32| lane >> row_bits;
            // The first two lanes that are neighbours in a row, and the first lane below the first row.
            let pairs = mask & mask >> 1 & !last_columns(row_bits);
            let step = match pairs.trailing_zeros() {
                LANES_U32 => 0,
                lane => between(lane, lane + 1),
            };
            let rows_below = u64::from(u32::MAX) << ((row(first) + 1) << row_bits);
            let below = (mask & rows_below as u32).trailing_zeros();
            if below == LANES_U32 {
                continue;
            }
            let across = i64::from(column(below)) - i64::from(column(first));
            let down = between(first, below).wrapping_sub(step.wrapping_mul(across));
            let Some(pitch) = quotient(down, row(below) - row(first)) else {
                continue;
            };
            let base = strided(start, step.wrapping_neg(), column(first));
            let base = strided(base, pitch.wrapping_neg(), row(first));
            if fits(&|lane| strided(strided(base, pitch, row(lane)), step, column(lane))) {
                return Self::Rows {
                    base,
                    step,
                    pitch,
                    row_bits,
                };
            }
        }
        Self::List { first: start }
    }

    fn base(&self) -> Option<u64> {
        match *self {
            Self::None => None,
            Self::Uniform(base) | Self::Stride { base, .. } | Self::Rows { base, .. } => Some(base),
            Self::List { first } => Some(first),
        }
    }

    #[inline]
    fn form(&self) -> u8 {
        match *self {
            Self::None => FORM_NONE,
            Self::Uniform(_) => FORM_UNIFORM,
            Self::Stride { step, .. } => match usize::try_from(step.wrapping_sub(LEAST_STEP)) {
                Ok(at) if at < FORMS_BY_STEP.len() => FORMS_BY_STEP[at],
                _ => FORM_STRIDE,
            },
            Self::Rows { .. } => FORM_ROWS,
            Self::List { .. } => FORM_LIST,
        }
    }

    /// Writes what follows the delta, in the layout's form.
    #[inline]
    fn write(&self, form: u8, bytes: &mut Vec<u8>, mask: u32, addresses: &[u64; LANES]) {
        match *self {
            Self::Stride { step, .. } if form == FORM_STRIDE => {
                let step = zigzag(step);
                let width = width_code(step);
                bytes.push(width);
                write_value(bytes, step, width);
            }
            Self::Rows {
                step,
                pitch,
                row_bits,
                ..
            } => {
                let (step, pitch) = (zigzag(step), zigzag(pitch));
                let widths = (width_code(step), width_code(pitch));
                bytes.push((row_bits - 1) << 6 | widths.0 << 3 | widths.1);
                write_value(bytes, step, widths.0);
                write_value(bytes, pitch, widths.1);
            }
            Self::List { first } => write_list(bytes, mask, addresses, first),
            Self::None | Self::Uniform(_) | Self::Stride { .. } => {}
        }
    }
}

/// Bits in which the active lanes' addresses differ from those that grow from `base`, that of lane 0, by
/// `step`. Out of line, so that compilers make vector instructions of it and no branch for each lane.
#[inline(never)]
fn off_stride(mask: u32, addresses: &[u64; LANES], base: u64, step: i64) -> u64 {
    let mut odd = addresses[0] ^ base;
    if mask == u32::MAX {
        for (address, next) in addresses.iter().zip(&addresses[1..]) {
            odd |= next.wrapping_sub(*address) ^ step as u64;
        }
    } else {
        let mut expected = base;
        odd = 0;
        for (lane, address) in addresses.iter().enumerate() {
            let is_active = 0_u64.wrapping_sub(u64::from(mask >> lane & 1));
            odd |= (address ^ expected) & is_active;
            expected = expected.wrapping_add_signed(step);
        }
    }
    odd
}

/// Number of lanes, as lanes are numbered.
const LANES_U32: u32 = LANES as u32;

/// Lanes that are the last of their row, in rows of `2^row_bits`.
fn last_columns(row_bits: u8) -> u32 {
    // A one at the end of each row: 1 / (2^(2^row_bits) - 1) in binary.
    (u32::MAX / ((1 << (1 << row_bits)) - 1)) << ((1 << row_bits) - 1)
}

/// Writes the active lanes after the first as differences of one width and common alignment.
fn write_list(bytes: &mut Vec<u8>, mask: u32, addresses: &[u64; LANES], first: u64) {
    // Those of the active lanes, one after the other; the last one over and over behind them.
    let mut dense = *addresses;
    let mut count = LANES;
    if mask != u32::MAX {
        count = 0;
        for lane in active(mask) {
            dense[count] = addresses[lane as usize];
            count += 1;
        }
        let last = dense[count.saturating_sub(1)];
        dense[count..].fill(last);
    }
    let mut deltas = [0_i64; LANES];
    deltas[0] = dense[0].wrapping_sub(first) as i64;
    for (delta, pair) in deltas[1..].iter_mut().zip(dense.windows(2)) {
        *delta = pair[1].wrapping_sub(pair[0]) as i64;
    }
    let bits = deltas.iter().fold(0, |bits, delta| bits | delta);
    let shift = bits.trailing_zeros().min(7) as u8;
    let coded = deltas.map(|delta| zigzag(delta >> shift));
    let width = width_code(coded.iter().fold(0, |bits, value| bits | value));
    bytes.push(shift << 3 | width);
    let step = usize::from(WIDTHS[usize::from(width)]);
    let mut values = [0; 8 * LANES];
    match step {
        0 => {}
        1 => {
            for (byte, value) in values.iter_mut().zip(coded) {
                *byte = value as u8;
            }
        }
        2 => {
            for (bytes, value) in values.as_chunks_mut().0.iter_mut().zip(coded) {
                *bytes = (value as u16).to_le_bytes();
            }
        }
        4 => {
            for (bytes, value) in values.as_chunks_mut().0.iter_mut().zip(coded) {
                *bytes = (value as u32).to_le_bytes();
            }
        }
        _ => {
            for (bytes, value) in values.chunks_exact_mut(step).zip(coded) {
                bytes.copy_from_slice(&value.to_le_bytes()[..step]);
            }
        }
    }
    // The first is where the list begins.
    bytes.extend_from_slice(&values[step..step * count.max(1)]);
}

/// Number of lanes in `mask`; mostly all of them.
#[inline]
fn lanes_of(mask: u32) -> u64 {
    if mask == u32::MAX {
        LANES as u64
    } else {
        mask.count_ones().into()
    }
}

/// Lanes in `mask`, ascending.
fn active(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < LANES_U32).then_some(lane)
    })
}

/// `total / parts` when it leaves no remainder.
fn quotient(total: i64, parts: u32) -> Option<i64> {
    let parts = i64::from(parts);
    (total % parts == 0).then(|| total / parts)
}

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
        self.data.extend_from_slice(&bytes);
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
