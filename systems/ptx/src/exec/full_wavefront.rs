//! Fast path for loads and stores of one word or double word per lane by a whole wavefront in one
//! memory, the most common accesses.
//!
//! The base register determines the address pattern. In a grid (uniform, strided, or in rows) lanes
//! are processed row by row. For scattered addresses, each lane has an element index.
//!
//! Anything else makes them fail without effect on registers: inactive lanes, an allocation
//! boundary, or misaligned addresses. The general path in `access` then executes the access and
//! reports any error.

use std::ops::Range;

use warpweave_trace::{Places, Space};

use crate::address_space::{DEVICE_BASE, SHARED_WINDOW};
use crate::exec::barrier::Shared;
use crate::exec::constants::Constants;
use crate::exec::datapath::Datapath;
use crate::exec::memory_path::{MemoryPath, look_up};
use crate::exec::registers::{Element, Grid, LanePattern, Registers};
use crate::exec::wavefront::Wavefront;
use crate::ops::{Access, Address, Lanes32, Lanes64, Region, Src};

/// A memory region that an access reaches.
struct Place {
    memory: Memory,
    /// Address space recorded in the trace for the access.
    space: Space,
    /// First address of the memory region in its space.
    start: u64,
}

/// Backing storage of the memory region.
enum Memory {
    WorkGroup,
    Arguments,
    /// Range of bytes of device memory that holds one allocation.
    Device(Range<usize>),
}

impl Place {
    /// Returns the whole local memory of the work-group, or the whole argument block.
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

    /// Returns the region of an allocation, given its first address and one past its last.
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

/// Address pattern of the lanes of an access.
enum LaneAddresses {
    /// A grid pattern; the last value is the address of lane 0.
    Grid(Grid, Place, u64),
    /// Scattered elements at the path's `numbers`; the last value is the bitwise OR of those
    /// numbers.
    Scattered(Place, usize),
}

impl MemoryPath<'_> {
    /// Executes and records a load of all lanes; returns `false` if the general path is needed.
    /// Notifies no observer.
    #[inline(never)]
    pub(super) fn load_full_wavefront(
        &mut self,
        data: &mut Datapath,
        wavefront: &mut Wavefront,
        shared: &Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        let d = access.registers[0];
        let registers = &mut wavefront.registers;
        match self.reached(&data.constants, registers, shared, access) {
            None => false,
            Some(LaneAddresses::Grid(grid, place, base)) => {
                let memory = match place.memory {
                    Memory::WorkGroup => &shared.bytes[..],
                    Memory::Arguments => &self.arguments[..],
                    Memory::Device(range) => &self.device.data()[range],
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
                    Memory::Device(range) => &self.device.data()[range],
                };
                if access.wide {
                    if !load_all(memory, (&self.numbers, bits), &mut data.double) {
                        return false;
                    }
                    registers.swap64(d, u32::MAX, &mut data.double);
                } else {
                    if !load_all(memory, (&self.numbers, bits), &mut data.word) {
                        return false;
                    }
                    registers.swap32(d, u32::MAX, &mut data.word);
                }
                self.record_scattered(wavefront, pc, access, (place.start, place.space));
                true
            }
        }
    }

    /// Executes and records a store of all lanes; returns `false` if the general path is needed.
    /// Lanes already stored are then stored again with the same values. Notifies no observer.
    #[inline(never)]
    pub(super) fn store_full_wavefront(
        &mut self,
        constants: &Constants,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        let source = access.sources[0];
        let registers = &mut wavefront.registers;
        match self.reached(constants, registers, shared, access) {
            None => false,
            Some(LaneAddresses::Grid(grid, place, base)) => {
                let memory = match place.memory {
                    Memory::Arguments => return false,
                    Memory::WorkGroup => &mut shared.bytes[..],
                    Memory::Device(range) => &mut self.device.data_mut()[range],
                };
                let at = (base - place.start) as usize;
                if access.wide {
                    let values = registers.get64(constants, source);
                    store_grid(&grid, memory, at, values);
                } else {
                    let values = registers.get32(constants, source);
                    store_grid(&grid, memory, at, values);
                }
                record_grid(wavefront, pc, (&grid, base), place.space);
                true
            }
            Some(LaneAddresses::Scattered(place, bits)) => {
                let memory = match place.memory {
                    Memory::Arguments => return false,
                    Memory::WorkGroup => &mut shared.bytes[..],
                    Memory::Device(range) => &mut self.device.data_mut()[range],
                };
                let numbers = (&*self.numbers, bits);
                let stored = if access.wide {
                    let values = registers.get64(constants, source);
                    store_all(memory, numbers, values)
                } else {
                    let values = registers.get32(constants, source);
                    store_all(memory, numbers, values)
                };
                if stored {
                    self.record_scattered(wavefront, pc, access, (place.start, place.space));
                }
                stored
            }
        }
    }

    /// Returns the address pattern of all lanes, if the fast path applies.
    #[inline(always)]
    fn reached(
        &mut self,
        constants: &Constants,
        registers: &mut Registers,
        shared: &Shared,
        access: &Access,
    ) -> Option<LaneAddresses> {
        let Address { wide, base, .. } = access.address;
        let at = usize::from(base.0);
        // Registers that kernels write cache the pattern of their values.
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
            (true, false) => LanePattern::of(registers.get64(constants, base)),
            (false, false) => LanePattern::of_words(registers.get32(constants, base)),
        };
        let LanePattern::Grid(grid) = pattern else {
            return None;
        };
        let (place, base) = self.place_of_grid(shared, grid, access)?;
        Some(LaneAddresses::Grid(grid, place, base))
    }

    /// Returns the memory region and the address of lane 0 for an access with a grid base. Returns
    /// `None` unless all lanes are in range and aligned.
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

    /// Resolves an access with a scattered 32-bit base and writes element indices to the path's
    /// `numbers`. Returns `None` unless all lanes are aligned and have an index.
    #[inline(always)]
    fn place_of_words(&mut self, base: &Lanes32, access: &Access) -> Option<LaneAddresses> {
        let Address { region, offset, .. } = access.address;
        let is_offset = matches!(region, Region::Shared | Region::Param);
        let shift = element_bits(access);
        let all = (self.numbering.narrow)(base, offset as u32, shift, &mut self.numbers);
        // If neither the bases nor the sums reach this value, no sum has wrapped around, which
        // would change the pattern.
        let beyond = 1 << 31 | (access.bytes - 1);
        let place = Place::all_of(access.space);
        (is_offset && all & beyond == 0)
            .then_some(LaneAddresses::Scattered(place, (all >> shift) as usize))
    }

    /// Same as [`Self::place_of_words`], for a 64-bit base.
    #[inline(always)]
    fn place_of_doubles(&mut self, base: &Lanes64, access: &Access) -> Option<LaneAddresses> {
        let Address { region, offset, .. } = access.address;
        let first = base[0].wrapping_add(offset as u64);
        // The start address of the memory in the instruction's terms can differ from the one in its
        // space.
        let (place, named) = match region {
            Region::Local => return None,
            Region::Shared | Region::Param => (Place::all_of(access.space), 0),
            Region::Generic if SHARED_WINDOW.contains(&first) => {
                (Place::all_of(Space::Shared), SHARED_WINDOW.start)
            }
            _ => {
                if !self.is_cached(first, access.bytes) {
                    look_up(self.device, &mut self.cached, first, access.bytes).ok()?;
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

/// Binary logarithm of the element size in bytes; the element fills its register.
#[inline(always)]
fn element_bits(access: &Access) -> u32 {
    2 + u32::from(access.wide)
}

/// Loads the element of each lane, given the OR of the indices; `false` if any is out of bounds.
/// Kept out of line, which compiles to better code.
#[inline(never)]
fn load_all<T: Element<BYTES>, const BYTES: usize>(
    memory: &[u8],
    (numbers, bits): (&Places, usize),
    values: &mut [T; 32],
) -> bool {
    let elements = memory.as_chunks::<BYTES>().0;
    if bits < elements.len() {
        // These masks change no value; they let the compiler remove the bounds check of each
        // element.
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

/// Stores the element of each lane, like [`load_all`]. Lanes before the first out-of-bounds element
/// have been stored.
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

/// Returns the offset of each row's first lane, given that of lane 0, and the lanes of the row.
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

/// Loads all lanes of a grid with lane 0 at `at`; the caller has checked the bounds.
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

/// Loads the lanes of one row; the caller has checked the bounds.
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

/// Stores all lanes of a grid with lane 0 at `at`; the caller has checked the bounds. If several
/// lanes write one address, the highest lane wins.
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

/// Stores the lanes of one row; the caller has checked the bounds.
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
