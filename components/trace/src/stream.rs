//! Writer for the stream of a wavefront, record by record.

use std::sync::LazyLock;

use crate::encoding::{
    ACCESS, BASES, FORM_LIST, FORM_NONE, FORM_ROWS, FORM_STRIDE, FORM_UNIFORM, FORMS_BY_STEP, JUMP,
    LEAST_STEP, LONG_RUN, SET_MASK, SHORT_RUN_MAX, SWAP_MASK, WIDTHS, width_code, zigzag,
};
use crate::list::{List, Places, write_list};
use crate::{Code, LANES, Shape, Space, WavefrontCounts, for_this_machine};

/// Minimum distance of a new region. A delta this large takes more than three bytes.
const FAR: u64 = 1 << 24;

/// Writes one wavefront's stream, record by record.
#[derive(Clone, Debug)]
pub struct StreamWriter {
    bytes: Vec<u8>,
    /// Number of bytes already taken from the writer.
    taken: u64,
    /// Index of the instruction after the last record's.
    pc: u32,
    /// Length of the current run, which is not written yet.
    run: u64,
    mask: u32,
    /// Number of active lanes in the current `mask`.
    lanes: u64,
    other: u32,
    /// Base registers with their contents, ordered from least to most recently used.
    recent: [u8; BASES],
    bases: [u64; BASES],
    /// Facts about the written records, so that the stream need not be read again for checking.
    written: Written,
}

/// Facts a writer gathers about the records it wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    counts: WavefrontCounts,
    /// Largest pc of any record, plus one.
    pc_end: u32,
    /// Mask of lanes that were active in any record.
    lanes: u32,
    /// Bit set of the instructions that have addresses.
    with_addresses: Vec<u64>,
    /// True if the last access is continued by the next record.
    open: bool,
    /// True if the records may be invalid, so that the stream must be read to check it.
    doubtful: bool,
}

impl Written {
    /// Returns the counts if all records are known to be valid for this code and these lanes.
    /// Returns `None` if that is unknown.
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

    /// Counts a run of `records` records with this number of lanes that ended before `pc`.
    #[inline]
    fn run(&mut self, records: u64, pc: u32, lanes: u64) {
        self.counts.instructions += records;
        self.counts.thread_instructions += records * lanes;
        // A run that starts before the first instruction, or ends after the last one that has a
        // number.
        self.doubtful |= u64::from(pc) < records;
    }

    #[inline]
    fn access(&mut self, pc: u32, lanes: u64, has_addresses: bool, continues: bool) {
        self.counts.instructions += u64::from(!continues);
        self.counts.thread_instructions += lanes;
        self.open = continues;
        if has_addresses {
            let word = pc as usize / 64;
            match self.with_addresses.get_mut(word) {
                Some(bits) => *bits |= 1 << (pc % 64),
                None => self.first_access(pc),
            }
        } else {
            // The record of no instruction that a kernel has, after which counting begins anew.
            self.doubtful |= pc == u32::MAX;
        }
    }

    /// Records a sequence of consecutive records with this mask that ended before `pc`.
    fn stretch(&mut self, pc: u32, mask: u32) {
        self.lanes |= mask;
        self.pc_end = self.pc_end.max(pc);
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

/// Record with addresses, without the addresses.
#[derive(Clone, Copy)]
struct AccessHead {
    pc: u32,
    mask: u32,
    space: Space,
    continues: bool,
}

impl AccessHead {
    /// Returns the head of a record of all lanes that is complete by itself.
    #[inline(always)]
    fn of_all_lanes(pc: u32, space: Space) -> Self {
        Self {
            pc,
            mask: u32::MAX,
            space,
            continues: false,
        }
    }
}

/// Bytes that a stream has room for from the start. Growing to it step by step costs as much as a
/// hundred records.
const BYTES_AT_FIRST: usize = 256;

impl Default for StreamWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl StreamWriter {
    /// Creates a stream without any records.
    pub fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(BYTES_AT_FIRST),
            taken: 0,
            pc: 0,
            run: 0,
            mask: u32::MAX,
            lanes: LANES as u64,
            other: 0,
            recent: [0, 1, 2, 3],
            bases: [0; BASES],
            written: Written::default(),
        }
    }

    /// Appends a record that has no addresses.
    #[inline]
    pub fn step(&mut self, pc: u32, mask: u32) {
        if pc != self.pc || mask != self.mask {
            self.end_run();
            self.redirect(pc, mask);
        }
        self.run += 1;
        self.pc = pc.wrapping_add(1);
    }

    /// Appends a record with addresses. Only those of active lanes are used. Set `continues` if the
    /// next record is the rest of the same instruction, in another space.
    #[inline]
    pub fn access(
        &mut self,
        pc: u32,
        mask: u32,
        space: Space,
        continues: bool,
        addresses: &[u64; LANES],
    ) {
        RECORD_SOME(self, pc, mask, space, continues, addresses);
    }

    /// Appends a record of all lanes whose addresses have this shape, as returned by [`Shape::of`].
    /// Gives the same bytes as [`StreamWriter::access`].
    ///
    /// # Panics
    /// Panics in debug builds if the addresses are a list or absent.
    pub fn access_regular(&mut self, pc: u32, space: Space, shape: Shape) {
        debug_assert!(!matches!(shape, Shape::List | Shape::None), "{shape:?}");
        RECORD_REGULAR(self, pc, space, shape);
    }

    /// Appends a record of all lanes whose addresses are a list according to [`Shape::of`].
    /// Addresses are given as multiples of `1 << unit_bits` bytes from `start`. Gives the same
    /// bytes as [`StreamWriter::access`].
    ///
    /// # Panics
    /// Panics in debug builds if the addresses are not a list, or the positions violate the
    /// conditions of [`Places`].
    pub fn access_listed(
        &mut self,
        pc: u32,
        space: Space,
        (start, unit_bits): (u64, u8),
        places: &Places,
    ) {
        let address = |place: u32| start.wrapping_add(u64::from(place) << unit_bits);
        debug_assert!(is_list(places, address), "{places:?}");
        RECORD_LISTED(self, pc, space, start, unit_bits, places);
    }

    /// Writes a record except for the list that may follow. The list begins at `first`; its head
    /// may be known already.
    #[inline(always)]
    fn begin_access(&mut self, record: AccessHead, shape: Shape, (first, list): (u64, Option<u8>)) {
        let AccessHead {
            pc,
            mask,
            space,
            continues,
        } = record;
        self.end_run();
        if pc != self.pc || mask != self.mask {
            self.redirect(pc, mask);
        }
        let (base, form) = match shape {
            // A record without active lanes leaves the base registers as they are.
            Shape::None => (self.bases[BASES - 1], FORM_NONE),
            Shape::Uniform(base) => (base, FORM_UNIFORM),
            Shape::Stride { base, step } => (base, form_of(step)),
            Shape::Rows { base, .. } => (base, FORM_ROWS),
            Shape::List => (first, FORM_LIST),
        };
        let (slot, delta, width, length) = self.slot(base);
        let head = ACCESS | slot << 4 | form;
        let how = u8::from(continues) << 6 | (space as u8) << 3 | width;
        let token = u128::from(delta) << 16 | u128::from(how) << 8 | u128::from(head);
        let mut end = self.bytes.len() + 2 + length;
        self.bytes.extend_from_slice(&token.to_le_bytes());
        if let Some(list) = list {
            self.bytes[end] = list;
            end += 1;
        }
        self.bytes.truncate(end);
        match shape {
            Shape::Stride { step, .. } if form == FORM_STRIDE => {
                let step = zigzag(step);
                let width = width_code(step);
                self.append(
                    u128::from(step) << 8 | u128::from(width),
                    1 + WIDTHS[usize::from(width)],
                );
            }
            Shape::Rows {
                step,
                pitch,
                row_bits,
                ..
            } => {
                let (step, pitch) = (zigzag(step), zigzag(pitch));
                let (of_step, of_pitch) = (width_code(step), width_code(pitch));
                let layout = (row_bits - 1) << 6 | of_step << 3 | of_pitch;
                self.append(
                    u128::from(step) << 8 | u128::from(layout),
                    1 + WIDTHS[usize::from(of_step)],
                );
                self.append(pitch.into(), WIDTHS[usize::from(of_pitch)]);
            }
            _ => {}
        }
        let has_addresses = space != Space::None;
        self.written
            .access(pc, self.lanes, has_addresses, continues);
        self.pc = if continues { pc } else { pc.wrapping_add(1) };
    }

    /// Appends the lowest `bytes` bytes of a number.
    #[inline(always)]
    fn append(&mut self, value: u128, bytes: u8) {
        // A copy of fixed length is cheaper than one of the length that stays.
        let end = self.bytes.len() + usize::from(bytes);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self.bytes.truncate(end);
    }

    /// Returns the bytes of all records, including those already taken. The current run is counted
    /// only when it ends.
    #[inline]
    pub fn stream_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// True if the stream has no records.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.taken == 0 && self.run == 0
    }

    /// Takes the bytes of the records so far, except those of the current run. Later records
    /// continue the stream after them.
    pub(crate) fn take_bytes(&mut self) -> Vec<u8> {
        self.taken += self.bytes.len() as u64;
        std::mem::take(&mut self.bytes)
    }

    /// Returns the number of bytes already taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Sets mask and pc to those of the next record. The run before it has ended.
    fn redirect(&mut self, pc: u32, mask: u32) {
        self.end_stretch();
        self.written.doubtful |= self.written.open && pc != self.pc;
        if mask != self.mask {
            if mask == self.other {
                self.bytes.push(SWAP_MASK);
            } else {
                self.append(u128::from(mask) << 8 | u128::from(SET_MASK), 5);
            }
            self.other = std::mem::replace(&mut self.mask, mask);
            self.lanes = mask.count_ones().into();
        }
        if pc != self.pc {
            let distance = zigzag(i64::from(pc.wrapping_sub(self.pc) as i32));
            let width = width_code(distance);
            self.append(
                u128::from(distance) << 8 | u128::from(JUMP | width),
                1 + WIDTHS[usize::from(width)],
            );
            self.pc = pc;
        }
    }

    /// Records the end of a sequence of consecutive records.
    fn end_stretch(&mut self) {
        // The first mask is that of no record if another one comes first.
        if !self.bytes.is_empty() || self.taken > 0 {
            self.written.stretch(self.pc, self.mask);
        }
    }

    #[inline]
    fn end_run(&mut self) {
        if self.run == 0 {
            return;
        }
        self.written.run(self.run, self.pc, self.lanes);
        if self.run <= u64::from(SHORT_RUN_MAX) + 1 {
            self.bytes.push((self.run - 1) as u8);
            self.run = 0;
        } else {
            self.end_long_run();
        }
    }

    #[cold]
    fn end_long_run(&mut self) {
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

    /// Selects the base register nearest to `address`, or the least recently used one if none is
    /// near. Returns it with the zigzag-coded distance and that distance's width code and length in
    /// bytes. Afterwards the register holds the address.
    #[inline(always)]
    fn slot(&mut self, address: u64) -> (u8, u64, u8, usize) {
        let distance = |base: u64| zigzag(address.wrapping_sub(base) as i64);
        // The nearest, and of those as far away the first one: place and distance in one number.
        let mut nearest = u32::MAX;
        for (place, base) in (0..).zip(self.bases) {
            nearest = nearest.min((distance(base).min(FAR) as u32) << 2 | place);
        }
        let place = (nearest & 3) as usize;
        let (least, width, length) = match u64::from(nearest >> 2) {
            FAR.. => {
                let far = distance(self.bases[place]);
                let width = width_code(far);
                (far, width, WIDTHS[usize::from(width)].into())
            }
            // What takes no more than three bytes has their number for a code.
            near => {
                let bytes = (u64::BITS - near.leading_zeros()).div_ceil(8);
                (near, bytes as u8, bytes as usize)
            }
        };
        let slot = self.recent[place];
        for place in place..BASES - 1 {
            self.recent[place] = self.recent[place + 1];
            self.bases[place] = self.bases[place + 1];
        }
        self.recent[BASES - 1] = slot;
        self.bases[BASES - 1] = address;
        (slot, least, width, length)
    }

    /// Returns the stream's bytes and the facts gathered about them.
    pub(crate) fn into_bytes(mut self) -> (Vec<u8>, Written) {
        self.end_run();
        self.end_stretch();
        (self.bytes, self.written)
    }
}

// The functions of the writer, for the vectors of this machine.

/// [`StreamWriter::access`], compiled for this machine's vectors.
static RECORD_SOME: LazyLock<fn(&mut StreamWriter, u32, u32, Space, bool, &[u64; LANES])> =
    LazyLock::new(|| {
        for_this_machine!(
            fn(
                writer: &mut StreamWriter,
                pc: u32,
                mask: u32,
                space: Space,
                continues: bool,
                addresses: &[u64; LANES]
            ) -> () {
                let shape = Shape::of(mask, addresses);
                let first = addresses[mask.trailing_zeros() as usize % LANES];
                let record = AccessHead {
                    pc,
                    mask,
                    space,
                    continues,
                };
                writer.begin_access(record, shape, (first, None));
                if shape == Shape::List {
                    write_list(&mut writer.bytes, mask, addresses);
                }
            }
        )
    });

/// [`StreamWriter::access_regular`], compiled for this machine's vectors.
static RECORD_REGULAR: LazyLock<fn(&mut StreamWriter, u32, Space, Shape)> = LazyLock::new(|| {
    for_this_machine!(
        fn(writer: &mut StreamWriter, pc: u32, space: Space, shape: Shape) -> () {
            writer.begin_access(AccessHead::of_all_lanes(pc, space), shape, (0, None));
        }
    )
});

/// [`StreamWriter::access_listed`], compiled for this machine's vectors.
static RECORD_LISTED: LazyLock<fn(&mut StreamWriter, u32, Space, u64, u8, &Places)> =
    LazyLock::new(|| {
        for_this_machine!(
            fn(
                writer: &mut StreamWriter,
                pc: u32,
                space: Space,
                start: u64,
                unit_bits: u8,
                places: &Places
            ) -> () {
                let first = start.wrapping_add(u64::from(places[0]) << (unit_bits & 7));
                let list = List::of(places, unit_bits);
                let record = AccessHead::of_all_lanes(pc, space);
                writer.begin_access(record, Shape::List, (first, Some(list.head())));
                list.push_values(&mut writer.bytes, LANES - 1);
            }
        )
    });

/// True if the positions are valid and their addresses are a list.
fn is_list(places: &Places, address: impl Fn(u32) -> u64) -> bool {
    let addresses = std::array::from_fn(|lane| address(places[lane]));
    let near = places.iter().all(|place| i32::try_from(*place).is_ok());
    near && places[LANES] == places[LANES - 1] && Shape::of(u32::MAX, &addresses) == Shape::List
}

/// Returns the encoding form for a stride of `step`.
#[inline]
fn form_of(step: i64) -> u8 {
    match usize::try_from(step.wrapping_sub(LEAST_STEP)) {
        Ok(at) if at < FORMS_BY_STEP.len() => FORMS_BY_STEP[at],
        _ => FORM_STRIDE,
    }
}
