//! Loads and stores of one word or double word per lane by a whole wavefront whose addresses are those of a grid (all
//! the same, in one stride, or in rows): what most of a regular kernel does.
//!
//! Anything else (a lane that is not active, another pattern, an end of an allocation in between, an
//! address that is not aligned) makes them give up without any effect; the general path in `access`
//! then does the work and finds the words for what is wrong.

use warpweave_trace::Shape;

use crate::exec::Machine;
use crate::exec::access::space;
use crate::exec::barrier::Shared;
use crate::exec::observe::Observer;
use crate::exec::registers::{Element, shape_of_words};
use crate::exec::wavefront::Wavefront;
use crate::memory::{DEVICE_BASE, SHARED_WINDOW};
use crate::ops::{Access, Address, NO_REGISTER, Region, Src};

/// Where all lanes of an access go in one memory.
#[derive(Clone, Copy)]
struct Reach {
    /// That memory: it is no generic one.
    region: Region,
    /// Where the lanes go from lane 0, whose address is apart.
    grid: Grid,
    /// Address of lane 0, and the lowest and the highest one of all.
    base: u64,
    low: u64,
    high: u64,
}

/// Addresses relative to lane 0: rows of `2^row_bits` lanes that are `step` apart, the rows `pitch`.
#[derive(Clone, Copy)]
struct Grid {
    step: i64,
    pitch: i64,
    row_bits: u8,
}

/// Binary logarithm of the lanes.
const ALL_BITS: u8 = 5;

/// Largest step in either direction: sums of them do not wrap around.
const MOST_STEP: u64 = 1 << 40;

impl Grid {
    /// The grid of a shape and the address of lane 0; none for a list.
    #[inline(always)]
    fn of(shape: Shape) -> Option<(Self, u64)> {
        let (base, step, pitch, row_bits) = match shape {
            Shape::Uniform(base) => (base, 0, 0, ALL_BITS),
            Shape::Stride { base, step } => (base, step, 0, ALL_BITS),
            Shape::Rows {
                base,
                step,
                pitch,
                row_bits,
            } => (base, step, pitch, row_bits),
            Shape::List | Shape::None => return None,
        };
        let is_short = |step: i64| (step as u64).wrapping_add(MOST_STEP) <= 2 * MOST_STEP;
        let grid = Self {
            step,
            pitch,
            row_bits,
        };
        (is_short(step) && is_short(pitch)).then_some((grid, base))
    }

    /// How far the other lanes lie below and above lane 0.
    #[inline(always)]
    fn spread(self) -> (i64, i64) {
        let across = self.step * ((1 << self.row_bits) - 1);
        let down = self.pitch * ((32 >> self.row_bits) - 1);
        (across.min(0) + down.min(0), across.max(0) + down.max(0))
    }

    /// The shape of addresses of which lane 0 has this one.
    #[inline(always)]
    fn shape(self, base: u64) -> Shape {
        let Self {
            step,
            pitch,
            row_bits,
        } = self;
        if row_bits != ALL_BITS {
            Shape::Rows {
                base,
                step,
                pitch,
                row_bits,
            }
        } else if step != 0 {
            Shape::Stride { base, step }
        } else {
            Shape::Uniform(base)
        }
    }

    /// Calls `at` with each row, given as the range of its lanes, and the place of its first lane, given that of lane 0.
    #[inline(always)]
    fn rows(self, first: usize, mut row: impl FnMut(std::ops::Range<usize>, usize)) {
        let length = 1_usize << self.row_bits;
        let mut place = first;
        let mut lane = 0;
        while lane < 32 {
            row(lane..lane + length, place);
            lane += length;
            place = place.wrapping_add_signed(self.pitch as isize);
        }
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Loads and records; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn load_regular(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        (pc, mask): (u32, u32),
        access: &Access,
    ) -> bool {
        let d = access.registers[0];
        let reach = self.regular(wavefront, mask, access);
        let Some(reach) = reach.filter(|_| d != NO_REGISTER) else {
            return false;
        };
        let Some((start, end)) = self.bounds(shared, reach, access.bytes) else {
            return false;
        };
        let memory = match reach.region {
            Region::Shared => &shared.bytes[..],
            Region::Param => &self.arguments[..],
            _ => &self.memory.data()[start as usize..end as usize],
        };
        let (grid, at) = (reach.grid, reach.place(start));
        if access.wide {
            load(grid, memory, at, wavefront.registers.word64(d));
        } else {
            load(grid, memory, at, wavefront.registers.word32(d));
        }
        record(wavefront, pc, access, reach);
        true
    }

    /// Stores and records; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn store_regular(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        (pc, mask): (u32, u32),
        access: &Access,
    ) -> bool {
        let Some(reach) = self.regular(wavefront, mask, access) else {
            return false;
        };
        let Some((start, end)) = self.bounds(shared, reach, access.bytes) else {
            return false;
        };
        let memory = match reach.region {
            Region::Param => return false,
            Region::Shared => &mut shared.bytes[..],
            _ => &mut self.memory.data_mut()[start as usize..end as usize],
        };
        let (grid, at) = (reach.grid, reach.place(start));
        let source = access.sources[0];
        if access.wide {
            let values = wavefront.registers.get64(&self.constants64, source);
            store(grid, memory, at, values);
        } else {
            let values = wavefront.registers.get32(&self.constants32, source);
            store(grid, memory, at, values);
        }
        self.last_progress = self.steps;
        record(wavefront, pc, access, reach);
        true
    }

    /// Where a plain access of all lanes goes, if regularly and in one memory; none as well when somebody watches,
    /// who is told by the general path.
    #[inline(always)]
    fn regular(&self, wavefront: &mut Wavefront, mask: u32, access: &Access) -> Option<Reach> {
        let Address {
            region,
            wide,
            base,
            offset,
            in_frame,
        } = access.address;
        if O::WATCHES || mask != u32::MAX || in_frame || !access.is_plain() {
            return None;
        }
        let registers = &mut wavefront.registers;
        let at = usize::from(base.0);
        let is_register = base.0 < Src::CONSTANT;
        let shape = if wide {
            if is_register {
                registers.doubles[registers.double + at].shape()
            } else {
                Shape::Uniform(registers.get64(&self.constants64, base)[0])
            }
        } else if is_register {
            registers.words[registers.word + at].shape()
        } else {
            shape_of_words(registers.get32(&self.constants32, base))
        };
        let (grid, base) = Grid::of(shape)?;
        let (below, above) = grid.spread();
        let mut base = base.wrapping_add(offset as u64);
        if !wide {
            base &= u64::from(u32::MAX);
        }
        let mut low = base.wrapping_add_signed(below);
        let mut high = base.wrapping_add_signed(above);
        // Addresses of 32 bits wrap around elsewhere.
        if low > high || !wide && high > u64::from(u32::MAX) {
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
        Some(Reach {
            region,
            grid,
            base,
            low,
            high,
        })
    }

    /// The range of the memory of an access, in bytes from its start, in which all lanes have their element.
    #[inline(always)]
    fn bounds(&mut self, shared: &Shared, reach: Reach, bytes: u32) -> Option<(u64, u64)> {
        let Reach {
            region,
            grid,
            base,
            low,
            high,
        } = reach;
        if (base | grid.step as u64 | grid.pitch as u64) & u64::from(bytes - 1) != 0 {
            return None;
        }
        let size = match region {
            Region::Shared => shared.bytes.len(),
            Region::Param => self.arguments.len(),
            _ => {
                self.device_index(0, low, bytes).ok()?;
                let (start, end) = self.cached;
                let inside = high < end && end - high >= u64::from(bytes);
                return inside.then_some((start - DEVICE_BASE, end - DEVICE_BASE));
            }
        } as u64;
        (high < size && size - high >= u64::from(bytes)).then_some((0, size))
    }
}

impl Reach {
    /// Place of lane 0 in a memory that begins `start` bytes from the start of what its region is.
    #[inline(always)]
    fn place(self, start: u64) -> usize {
        let base = match self.region {
            Region::Shared | Region::Param => self.base,
            _ => self.base - DEVICE_BASE,
        };
        (base - start) as usize
    }
}

/// Loads all lanes, of which lane 0 lies at `at`. All lie inside.
#[inline(always)]
fn load<T: Element<BYTES>, const BYTES: usize>(
    grid: Grid,
    memory: &[u8],
    at: usize,
    register: &mut [T; 32],
) {
    match grid.row_bits {
        ALL_BITS => load_row(grid, memory, at, register),
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
        _ => grid.rows(at, |lanes, at| {
            load_row(grid, memory, at, &mut register[lanes]);
        }),
    }
}

/// Loads the lanes of one row, which lie inside.
#[inline(always)]
fn load_row<T: Element<BYTES>, const BYTES: usize>(
    grid: Grid,
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
fn store<T: Element<BYTES>, const BYTES: usize>(
    grid: Grid,
    memory: &mut [u8],
    at: usize,
    values: &[T; 32],
) {
    match grid.row_bits {
        ALL_BITS => store_row(grid, memory, at, values),
        _ => grid.rows(at, |lanes, at| store_row(grid, memory, at, &values[lanes])),
    }
}

/// Stores the lanes of one row, which lie inside.
#[inline(always)]
fn store_row<T: Element<BYTES>, const BYTES: usize>(
    grid: Grid,
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

#[inline(always)]
fn record(wavefront: &mut Wavefront, pc: u32, access: &Access, reach: Reach) {
    if access.silent {
        wavefront.writer.step(pc, u32::MAX);
    } else {
        let shape = reach.grid.shape(reach.base);
        let space = space(reach.region);
        wavefront.writer.access_regular(pc, space, shape);
    }
}
