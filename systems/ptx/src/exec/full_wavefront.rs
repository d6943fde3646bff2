//! Loads and stores of one word or double word per lane by a whole wavefront in one memory: what most of a kernel does.
//!
//! How the addresses lie is known from the base register. In a grid (all the same, in one stride, or in rows) they are gone
//! through row by row; without order, each lane has the number of its element.
//!
//! Anything else (a lane that is not active, an end of an allocation in between, an address that is not aligned) makes
//! them give up without any effect on registers; the general path in `access` then does the work and finds the words for
//! what is wrong.

use std::ops::Range;

use warpweave_trace::{Places, Space};

use crate::exec::Machine;
use crate::exec::access::look_up;
use crate::exec::barrier::Shared;
use crate::exec::observe::Observer;
use crate::exec::registers::{Element, Grid, LanePattern, Registers};
use crate::exec::wavefront::Wavefront;
use crate::memory::{DEVICE_BASE, SHARED_WINDOW};
use crate::ops::{Access, Address, Lanes32, Lanes64, Region, Src, for_this_machine};

/// A memory that an access reaches.
struct Place {
    memory: Memory,
    /// As the trace calls it.
    space: Space,
    /// Address at which it begins.
    start: u64,
}

/// Where its bytes are.
enum Memory {
    WorkGroup,
    Arguments,
    /// So many bytes of device memory, an allocation.
    Device(Range<usize>),
}

impl Place {
    /// All of what a work-group or a kernel has.
    #[inline(always)]
    fn all_of(space: Space) -> Self {
        let memory = match space {
            Space::Param => Memory::Arguments,
            _ => Memory::WorkGroup,
        };
        Self {
            memory,
            space,
            start: 0,
        }
    }

    /// An allocation, given the first and the last plus one of its addresses.
    #[inline(always)]
    fn allocation(space: Space, (start, end): (u64, u64)) -> Self {
        let range = (start - DEVICE_BASE) as usize..(end - DEVICE_BASE) as usize;
        Self {
            memory: Memory::Device(range),
            space,
            start,
        }
    }
}

/// Where the lanes of an access lie.
enum LaneAddresses {
    /// In a grid, of which lane 0 has this address.
    Grid(Grid, Place, u64),
    /// At the machine's `numbers`, which have no other bits than these.
    Scattered(Place, usize),
}

impl<O: Observer> Machine<'_, O> {
    /// Loads and records an access of all lanes for which this is made; `false` if the general path must do it.
    #[inline(never)]
    pub(super) fn load_full_wavefront(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        if O::WATCHES {
            return false;
        }
        let d = access.registers[0];
        let registers = &mut wavefront.registers;
        match self.reached(registers, shared, access) {
            None => false,
            Some(LaneAddresses::Grid(grid, place, base)) => {
                let memory = match place.memory {
                    Memory::WorkGroup => &shared.bytes[..],
                    Memory::Arguments => &self.arguments[..],
                    Memory::Device(range) => &self.memory.data()[range],
                };
                let at = (base - place.start) as usize;
                if access.wide {
                    load_grid(&grid, memory, at, registers.word64(d));
                } else {
                    load_grid(&grid, memory, at, registers.word32(d));
                }
                record_grid(wavefront, pc, (&grid, base), place.space);
                true
            }
            Some(LaneAddresses::Scattered(place, bits)) => {
                let memory = match place.memory {
                    Memory::WorkGroup => &shared.bytes[..],
                    Memory::Arguments => &self.arguments[..],
                    Memory::Device(range) => &self.memory.data()[range],
                };
                if access.wide {
                    if !load_all(memory, (&self.numbers, bits), &mut self.double) {
                        return false;
                    }
                    registers.swap64(d, u32::MAX, &mut self.double);
                } else {
                    if !load_all(memory, (&self.numbers, bits), &mut self.word) {
                        return false;
                    }
                    registers.swap32(d, u32::MAX, &mut self.word);
                }
                self.record_scattered(wavefront, pc, access, (place.start, place.space));
                true
            }
        }
    }

    /// Stores and records an access of all lanes for which this is made; `false` if the general path must do it. Lanes
    /// stored before giving up are stored again, with the same values.
    #[inline(never)]
    pub(super) fn store_full_wavefront(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        if O::WATCHES {
            return false;
        }
        let source = access.sources[0];
        let registers = &mut wavefront.registers;
        match self.reached(registers, shared, access) {
            None => false,
            Some(LaneAddresses::Grid(grid, place, base)) => {
                let memory = match place.memory {
                    Memory::Arguments => return false,
                    Memory::WorkGroup => &mut shared.bytes[..],
                    Memory::Device(range) => &mut self.memory.data_mut()[range],
                };
                let at = (base - place.start) as usize;
                if access.wide {
                    let values = registers.get64(&self.constants64, source);
                    store_grid(&grid, memory, at, values);
                } else {
                    let values = registers.get32(&self.constants32, source);
                    store_grid(&grid, memory, at, values);
                }
                record_grid(wavefront, pc, (&grid, base), place.space);
                true
            }
            Some(LaneAddresses::Scattered(place, bits)) => {
                let memory = match place.memory {
                    Memory::Arguments => return false,
                    Memory::WorkGroup => &mut shared.bytes[..],
                    Memory::Device(range) => &mut self.memory.data_mut()[range],
                };
                let numbers = (&*self.numbers, bits);
                let stored = if access.wide {
                    let values = registers.get64(&self.constants64, source);
                    store_all(memory, numbers, values)
                } else {
                    let values = registers.get32(&self.constants32, source);
                    store_all(memory, numbers, values)
                };
                if stored {
                    self.record_scattered(wavefront, pc, access, (place.start, place.space));
                }
                stored
            }
        }
    }

    /// Where all lanes lie.
    #[inline(always)]
    fn reached(
        &mut self,
        registers: &mut Registers,
        shared: &Shared,
        access: &Access,
    ) -> Option<LaneAddresses> {
        let Address { wide, base, .. } = access.address;
        let at = usize::from(base.0);
        // How the base lies is kept beside it if it is a register that kernels write.
        let pattern = match (wide, base.0 < Src::CONSTANT) {
            (true, true) => {
                let register = &mut registers.doubles[registers.double + at];
                match register.pattern() {
                    LanePattern::Scattered => return self.place_of_doubles(register, access),
                    pattern => *pattern,
                }
            }
            (false, true) => {
                let register = &mut registers.words[registers.word + at];
                match register.pattern() {
                    LanePattern::Scattered => return self.place_of_words(register, access),
                    pattern => *pattern,
                }
            }
            (true, false) => LanePattern::of(registers.get64(&self.constants64, base)),
            (false, false) => LanePattern::of_words(registers.get32(&self.constants32, base)),
        };
        let LanePattern::Grid(grid) = pattern else {
            return None;
        };
        let (place, base) = self.place_of_grid(shared, grid, access)?;
        Some(LaneAddresses::Grid(grid, place, base))
    }

    /// Where all lanes of a plain access lie whose base is a grid, and the address of lane 0 there; none unless all
    /// are inside and aligned.
    #[inline(always)]
    fn place_of_grid(
        &mut self,
        shared: &Shared,
        grid: Grid,
        access: &Access,
    ) -> Option<(Place, u64)> {
        let Address {
            region,
            wide,
            offset,
            ..
        } = access.address;
        let bytes = u64::from(access.bytes);
        let mut base = grid.base.wrapping_add(offset as u64);
        if !wide {
            base &= u64::from(u32::MAX);
        }
        let mut low = base.wrapping_add_signed(grid.below);
        let mut high = base.wrapping_add_signed(grid.above);
        // Addresses of 32 bits wrap around elsewhere.
        let is_whole = low <= high && (wide || u32::try_from(high).is_ok());
        let is_aligned = (base | grid.step as u64 | grid.pitch as u64) & (bytes - 1) == 0;
        if !is_whole || !is_aligned {
            return None;
        }
        let space = match region {
            Region::Generic if low >= DEVICE_BASE => access.space,
            Region::Generic if SHARED_WINDOW.contains(&low) && SHARED_WINDOW.contains(&high) => {
                base -= SHARED_WINDOW.start;
                low -= SHARED_WINDOW.start;
                high -= SHARED_WINDOW.start;
                Space::Shared
            }
            Region::Local | Region::Generic => return None,
            _ => access.space,
        };
        let (place, end) = match space {
            Space::Shared => (Place::all_of(space), shared.bytes.len() as u64),
            Space::Param => (Place::all_of(space), self.arguments.len() as u64),
            _ => {
                self.device_index(0, low, access.bytes).ok()?;
                (Place::allocation(space, self.cached), self.cached.1)
            }
        };
        (high < end && end - high >= bytes).then_some((place, base))
    }

    /// Where an access lies whose base, of 32 bits, lies in no order: the machine's `numbers` become those of elements.
    /// None unless all are aligned and have a number.
    #[inline(always)]
    fn place_of_words(&mut self, base: &Lanes32, access: &Access) -> Option<LaneAddresses> {
        let Address { region, offset, .. } = access.address;
        let is_offset = matches!(region, Region::Shared | Region::Param);
        let shift = element_bits(access);
        let all = (self.numbering.narrow)(base, offset as u32, shift, &mut self.numbers);
        // Where neither base nor sum is this large no sum has wrapped around, which would make another pattern.
        let beyond = 1 << 31 | (access.bytes - 1);
        let place = Place::all_of(access.space);
        (is_offset && all & beyond == 0)
            .then_some(LaneAddresses::Scattered(place, (all >> shift) as usize))
    }

    /// As [`Self::place_of_words`], for a base of 64 bits.
    #[inline(always)]
    fn place_of_doubles(&mut self, base: &Lanes64, access: &Access) -> Option<LaneAddresses> {
        let Address { region, offset, .. } = access.address;
        let first = base[0].wrapping_add(offset as u64);
        // The address at which the memory begins, as the instruction names it, is not always that in its space.
        let (place, named) = match region {
            Region::Local => return None,
            Region::Shared | Region::Param => (Place::all_of(access.space), 0),
            Region::Generic if SHARED_WINDOW.contains(&first) => {
                (Place::all_of(Space::Shared), SHARED_WINDOW.start)
            }
            _ => {
                if !self.is_cached(first, access.bytes) {
                    look_up(self.memory, &mut self.cached, first, access.bytes).ok()?;
                }
                let place = Place::allocation(access.space, self.cached);
                (place, self.cached.0)
            }
        };
        let shift = element_bits(access);
        let offset = (offset as u64).wrapping_sub(named);
        let all = (self.numbering.wide)(base, offset, shift, &mut self.numbers);
        let beyond = u64::MAX << 32 | u64::from(access.bytes - 1);
        (all & beyond == 0).then_some(LaneAddresses::Scattered(place, (all >> shift) as usize))
    }

    #[inline(always)]
    fn record_scattered(
        &self,
        wavefront: &mut Wavefront,
        pc: u32,
        access: &Access,
        (start, space): (u64, Space),
    ) {
        let units = (start, element_bits(access) as u8);
        let writer = &mut wavefront.writer;
        writer.access_listed(pc, space, units, &self.numbers);
    }
}

#[inline(always)]
fn record_grid(wavefront: &mut Wavefront, pc: u32, (grid, base): (&Grid, u64), space: Space) {
    let shape = grid.shape(base);
    wavefront.writer.access_regular(pc, space, shape);
}

/// Binary logarithm of the bytes of an element, which fills its register.
#[inline(always)]
fn element_bits(access: &Access) -> u32 {
    2 + u32::from(access.wide)
}

/// Functions from base and offset to numbers of elements of `1 << bits` bytes.
#[derive(Clone, Copy)]
pub(super) struct Numbering {
    /// Gives bits that the sums have; the numbers are right if these are no more than 32.
    wide: fn(&Lanes64, u64, u32, &mut Places) -> u64,
    /// Gives bits that bases and sums have.
    narrow: fn(&Lanes32, u32, u32, &mut Places) -> u32,
}

impl Numbering {
    pub(super) fn new() -> Self {
        Self {
            wide: for_this_machine!(
                fn(base: &[u64; 32], offset: u64, bits: u32, numbers: &mut Places) -> u64 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= sum;
                        numbers[lane] = sum as u32 >> (bits & 3);
                    }
                    numbers[32] = numbers[31];
                    all
                }
            ),
            narrow: for_this_machine!(
                fn(base: &[u32; 32], offset: u32, bits: u32, numbers: &mut Places) -> u32 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= base[lane] | sum;
                        numbers[lane] = sum >> (bits & 3);
                    }
                    numbers[32] = numbers[31];
                    all
                }
            ),
        }
    }
}

/// Loads the element of each lane, given the bits that the numbers have; `false` if one lies outside. Out of line, where
/// compilers see more of it.
#[inline(never)]
fn load_all<T: Element<BYTES>, const BYTES: usize>(
    memory: &[u8],
    (numbers, bits): (&Places, usize),
    values: &mut [T; 32],
) -> bool {
    let elements = memory.as_chunks::<BYTES>().0;
    if bits < elements.len() {
        // Masks that change nothing: what they give is seen to lie inside without looking at each.
        for (value, number) in values.iter_mut().zip(numbers) {
            *value = T::from_bytes(elements[*number as usize & bits]);
        }
        return true;
    }
    for (value, number) in values.iter_mut().zip(numbers) {
        let Some(element) = elements.get(*number as usize) else {
            return false;
        };
        *value = T::from_bytes(*element);
    }
    true
}

/// As [`load_all`], to store. Elements of lanes before one that lies outside are stored.
#[inline(never)]
fn store_all<T: Element<BYTES>, const BYTES: usize>(
    memory: &mut [u8],
    (numbers, bits): (&Places, usize),
    values: &[T; 32],
) -> bool {
    let elements = memory.as_chunks_mut::<BYTES>().0;
    if bits < elements.len() {
        for (value, number) in values.iter().zip(numbers) {
            elements[*number as usize & bits] = value.to_bytes();
        }
        return true;
    }
    for (value, number) in values.iter().zip(numbers) {
        let Some(element) = elements.get_mut(*number as usize) else {
            return false;
        };
        *element = value.to_bytes();
    }
    true
}

/// The place of the first lane of each row, given that of lane 0, and the row's lanes.
#[inline(always)]
fn rows(grid: &Grid, first: usize) -> impl Iterator<Item = (Range<usize>, usize)> {
    let (length, pitch) = (1_usize << grid.row_bits, grid.pitch as isize);
    let mut at = first;
    (0..32).step_by(length).map(move |lane| {
        let row = (lane..lane + length, at);
        at = at.wrapping_add_signed(pitch);
        row
    })
}

/// Loads all lanes, of which lane 0 lies at `at`. All lie inside.
#[inline(always)]
fn load_grid<T: Element<BYTES>, const BYTES: usize>(
    grid: &Grid,
    memory: &[u8],
    at: usize,
    register: &mut [T; 32],
) {
    match grid.row_bits {
        Grid::ALL_BITS => load_row(grid, memory, at, register),
        // Of known length, as most rows are.
        4 => {
            let [first, second] = register.as_chunks_mut::<16>().0 else {
                return;
            };
            load_row(grid, memory, at, first);
            load_row(
                grid,
                memory,
                at.wrapping_add_signed(grid.pitch as isize),
                second,
            );
        }
        _ => {
            for (lanes, at) in rows(grid, at) {
                load_row(grid, memory, at, &mut register[lanes]);
            }
        }
    }
}

/// Loads the lanes of one row, which lie inside.
#[inline(always)]
fn load_row<T: Element<BYTES>, const BYTES: usize>(
    grid: &Grid,
    memory: &[u8],
    at: usize,
    row: &mut [T],
) {
    let element = |at: usize| {
        let bytes = memory.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| T::from_bytes(*bytes))
    };
    if grid.step == BYTES as i64 {
        let from = &memory[at..][..row.len() * BYTES];
        for (to, from) in row.iter_mut().zip(from.as_chunks().0) {
            *to = T::from_bytes(*from);
        }
    } else if grid.step == 0 {
        if let Some(element) = element(at) {
            row.fill(element);
        }
    } else {
        let mut at = at;
        for to in row {
            if let Some(element) = element(at) {
                *to = element;
            }
            at = at.wrapping_add_signed(grid.step as isize);
        }
    }
}

/// Stores all lanes, of which lane 0 lies at `at`. All lie inside. Of lanes that write one address the highest wins.
#[inline(always)]
fn store_grid<T: Element<BYTES>, const BYTES: usize>(
    grid: &Grid,
    memory: &mut [u8],
    at: usize,
    values: &[T; 32],
) {
    match grid.row_bits {
        Grid::ALL_BITS => store_row(grid, memory, at, values),
        _ => {
            for (lanes, at) in rows(grid, at) {
                store_row(grid, memory, at, &values[lanes]);
            }
        }
    }
}

/// Stores the lanes of one row, which lie inside.
#[inline(always)]
fn store_row<T: Element<BYTES>, const BYTES: usize>(
    grid: &Grid,
    memory: &mut [u8],
    at: usize,
    row: &[T],
) {
    if grid.step == BYTES as i64 {
        let to = &mut memory[at..][..row.len() * BYTES];
        for (to, from) in to.as_chunks_mut().0.iter_mut().zip(row) {
            *to = from.to_bytes();
        }
    } else {
        let mut at = at;
        for from in row {
            if let Some(to) = memory.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *to = from.to_bytes();
            }
            at = at.wrapping_add_signed(grid.step as isize);
        }
    }
}
