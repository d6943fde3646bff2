//! Loads and stores of one word or double word per lane by a whole wavefront in one memory: what most of a kernel does.
//!
//! How the addresses lie is known from the base register. In a grid (all the same, in one stride, or in rows) they are gone
//! through row by row; without order, each lane has the number of its element.
//!
//! Anything else (a lane that is not active, an end of an allocation in between, an address that is not aligned) makes
//! them give up without any effect on registers; the general path in `access` then does the work and finds the words for
//! what is wrong.

use std::ops::Range;

use crate::exec::Machine;
use crate::exec::access::space;
use crate::exec::barrier::Shared;
use crate::exec::observe::Observer;
use crate::exec::registers::{Element, Grid, Lie, Registers};
use crate::exec::wavefront::Wavefront;
use crate::memory::{DEVICE_BASE, SHARED_WINDOW};
use crate::ops::{Access, Address, Lanes32, Lanes64, NO_REGISTER, Region, Src, for_this_machine};

/// A memory that an access reaches.
struct Place {
    /// That memory: it is no generic one.
    region: Region,
    /// Its bytes: those of device memory, or all of what a work-group or a kernel has.
    range: Range<usize>,
    /// Address at which it begins.
    start: u64,
}

impl<O: Observer> Machine<'_, O> {
    /// Loads and records a plain access of all lanes; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn load_whole(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        let d = access.registers[0];
        if O::WATCHES || d == NO_REGISTER || access.address.in_frame {
            return false;
        }
        let registers = &mut wavefront.registers;
        let grid = match self.lie(registers, &access.address) {
            Lie::Grid(grid) => grid,
            Lie::Scattered => return self.load_scattered(wavefront, shared, pc, access),
            Lie::Wild | Lie::Unknown => return false,
        };
        let Some((place, base)) = self.place_of_grid(shared, grid, access) else {
            return false;
        };
        let memory = match place.region {
            Region::Shared => &shared.bytes[..],
            Region::Param => &self.arguments[..],
            _ => &self.memory.data()[place.range.clone()],
        };
        let at = (base - place.start) as usize;
        if access.wide {
            load_grid(&grid, memory, at, registers.word64(d));
        } else {
            load_grid(&grid, memory, at, registers.word32(d));
        }
        record_grid(wavefront, pc, access, (&grid, base), place.region);
        true
    }

    /// Stores and records a plain access of all lanes; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn store_whole(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        if O::WATCHES || access.address.in_frame {
            return false;
        }
        let registers = &mut wavefront.registers;
        let grid = match self.lie(registers, &access.address) {
            Lie::Grid(grid) => grid,
            Lie::Scattered => return self.store_scattered(wavefront, shared, pc, access),
            Lie::Wild | Lie::Unknown => return false,
        };
        let Some((place, base)) = self.place_of_grid(shared, grid, access) else {
            return false;
        };
        let memory = match place.region {
            Region::Param => return false,
            Region::Shared => &mut shared.bytes[..],
            _ => &mut self.memory.data_mut()[place.range.clone()],
        };
        let at = (base - place.start) as usize;
        let source = access.sources[0];
        if access.wide {
            let values = registers.get64(&self.constants64, source);
            store_grid(&grid, memory, at, values);
        } else {
            let values = registers.get32(&self.constants32, source);
            store_grid(&grid, memory, at, values);
        }
        self.last_progress = self.steps;
        record_grid(wavefront, pc, access, (&grid, base), place.region);
        true
    }

    /// How the base of an address lies.
    #[inline(always)]
    fn lie(&self, registers: &mut Registers, address: &Address) -> Lie {
        let base = address.base;
        let at = usize::from(base.0);
        match (address.wide, base.0 < Src::CONSTANT) {
            (true, true) => *registers.doubles[registers.double + at].lie(),
            (true, false) => Lie::of(registers.get64(&self.constants64, base)),
            (false, true) => *registers.words[registers.word + at].lie(),
            (false, false) => Lie::of_words(registers.get32(&self.constants32, base)),
        }
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
        let region = match region {
            Region::Generic if low >= DEVICE_BASE => Region::Global,
            Region::Generic if SHARED_WINDOW.contains(&low) && SHARED_WINDOW.contains(&high) => {
                base -= SHARED_WINDOW.start;
                low -= SHARED_WINDOW.start;
                high -= SHARED_WINDOW.start;
                Region::Shared
            }
            Region::Local | Region::Generic => return None,
            region => region,
        };
        let (range, start, end) = match region {
            Region::Shared => (0..0, 0, shared.bytes.len() as u64),
            Region::Param => (0..0, 0, self.arguments.len() as u64),
            _ => {
                self.device_index(0, low, access.bytes).ok()?;
                let (start, end) = self.cached;
                let range = (start - DEVICE_BASE) as usize..(end - DEVICE_BASE) as usize;
                (range, start, end)
            }
        };
        let place = Place {
            region,
            range,
            start,
        };
        (high < end && end - high >= bytes).then_some((place, base))
    }

    #[inline(always)]
    fn load_scattered(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        let Some(place) = self.place_of_scattered(wavefront, access) else {
            return false;
        };
        let memory = match place.region {
            Region::Shared => &shared.bytes[..],
            Region::Param => &self.arguments[..],
            _ => &self.memory.data()[place.range.clone()],
        };
        let d = access.registers[0];
        if access.wide {
            if !load_all(memory, &self.numbers, &mut self.double) {
                return false;
            }
            wavefront.registers.swap64(d, u32::MAX, &mut self.double);
        } else {
            if !load_all(memory, &self.numbers, &mut self.word) {
                return false;
            }
            wavefront.registers.swap32(d, u32::MAX, &mut self.word);
        }
        self.record_scattered(wavefront, pc, access, &place);
        true
    }

    /// Lanes stored before giving up are stored again, with the same values.
    #[inline(always)]
    fn store_scattered(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        let Some(place) = self.place_of_scattered(wavefront, access) else {
            return false;
        };
        let memory = match place.region {
            Region::Param => return false,
            Region::Shared => &mut shared.bytes[..],
            _ => &mut self.memory.data_mut()[place.range.clone()],
        };
        let source = access.sources[0];
        let stored = if access.wide {
            let values = wavefront.registers.get64(&self.constants64, source);
            store_all(memory, &self.numbers, values)
        } else {
            let values = wavefront.registers.get32(&self.constants32, source);
            store_all(memory, &self.numbers, values)
        };
        if stored {
            self.last_progress = self.steps;
            self.record_scattered(wavefront, pc, access, &place);
        }
        stored
    }

    /// The memory of a plain access whose base lies in no order. The machine's `numbers` are those of the elements from
    /// its start; none unless all are aligned and have a number.
    #[inline(always)]
    fn place_of_scattered(&mut self, wavefront: &Wavefront, access: &Access) -> Option<Place> {
        let Address {
            region,
            wide,
            base,
            offset,
            ..
        } = access.address;
        let bits = access.bytes.trailing_zeros();
        let is_offset = matches!(region, Region::Shared | Region::Param);
        if access.silent {
            return None;
        }
        if !wide {
            let lanes = wavefront.registers.get32(&self.constants32, base);
            let all = (self.numbering.narrow)(lanes, offset as u32, bits, &mut self.numbers);
            // Where neither base nor sum is this large no sum has wrapped around, which would make another pattern.
            let beyond = 1 << 31 | ((1 << bits) - 1);
            return (is_offset && all & beyond == 0).then_some(Place {
                region,
                range: 0..0,
                start: 0,
            });
        }
        let registers = &wavefront.registers;
        let first = registers.get64(&self.constants64, base)[0].wrapping_add(offset as u64);
        // The address at which the memory begins, as the instruction names it, is not always that in its region.
        let (place, named) = if is_offset || SHARED_WINDOW.contains(&first) {
            let (region, named) = match region {
                Region::Shared | Region::Param => (region, 0),
                Region::Generic => (Region::Shared, SHARED_WINDOW.start),
                _ => return None,
            };
            let place = Place {
                region,
                range: 0..0,
                start: 0,
            };
            (place, named)
        } else {
            let region = match region {
                Region::Const => Region::Const,
                Region::Local => return None,
                _ => Region::Global,
            };
            self.device_index(0, first, access.bytes).ok()?;
            let (start, end) = self.cached;
            let range = (start - DEVICE_BASE) as usize..(end - DEVICE_BASE) as usize;
            let place = Place {
                region,
                range,
                start,
            };
            (place, start)
        };
        let offset = (offset as u64).wrapping_sub(named);
        let lanes = registers.get64(&self.constants64, base);
        let all = (self.numbering.wide)(lanes, offset, bits, &mut self.numbers);
        let beyond = u64::MAX << (32 + bits) | ((1 << bits) - 1);
        (all & beyond == 0).then_some(place)
    }

    #[inline(always)]
    fn record_scattered(&self, wavefront: &mut Wavefront, pc: u32, access: &Access, place: &Place) {
        let units = (place.start, access.bytes.trailing_zeros() as u8);
        let space = space(place.region);
        let writer = &mut wavefront.writer;
        writer.access_listed(pc, space, units, &self.numbers);
    }
}

#[inline(always)]
fn record_grid(
    wavefront: &mut Wavefront,
    pc: u32,
    access: &Access,
    (grid, base): (&Grid, u64),
    region: Region,
) {
    if access.silent {
        wavefront.writer.step(pc, u32::MAX);
    } else {
        let shape = grid.shape(base);
        wavefront.writer.access_regular(pc, space(region), shape);
    }
}

/// Functions from base and offset to numbers of elements of `1 << bits` bytes.
#[derive(Clone, Copy)]
pub(super) struct Numbering {
    /// Gives bits that the sums have.
    wide: fn(&Lanes64, u64, u32, &mut Lanes32) -> u64,
    /// Gives bits that bases and sums have.
    narrow: fn(&Lanes32, u32, u32, &mut Lanes32) -> u32,
}

impl Numbering {
    pub(super) fn new() -> Self {
        Self {
            wide: for_this_machine!(
                fn(base: &[u64; 32], offset: u64, bits: u32, numbers: &mut [u32; 32]) -> u64 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= sum;
                        numbers[lane] = (sum >> (bits & 3)) as u32;
                    }
                    all
                }
            ),
            narrow: for_this_machine!(
                fn(base: &[u32; 32], offset: u32, bits: u32, numbers: &mut [u32; 32]) -> u32 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= base[lane] | sum;
                        numbers[lane] = sum >> (bits & 3);
                    }
                    all
                }
            ),
        }
    }
}

/// Loads the element of each lane; `false` if one lies outside.
#[inline(always)]
fn load_all<T: Element<BYTES>, const BYTES: usize>(
    memory: &[u8],
    numbers: &Lanes32,
    values: &mut [T; 32],
) -> bool {
    let elements = memory.as_chunks::<BYTES>().0;
    for (value, number) in values.iter_mut().zip(numbers) {
        let Some(element) = elements.get(*number as usize) else {
            return false;
        };
        *value = T::from_bytes(*element);
    }
    true
}

/// Stores the element of each lane; `false` if one lies outside, when those of lanes before it are stored.
#[inline(always)]
fn store_all<T: Element<BYTES>, const BYTES: usize>(
    memory: &mut [u8],
    numbers: &Lanes32,
    values: &[T; 32],
) -> bool {
    let elements = memory.as_chunks_mut::<BYTES>().0;
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
