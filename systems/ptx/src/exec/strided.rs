//! Loads and stores of one word or double word per lane by a whole wavefront whose addresses grow by a
//! constant: what most of a regular kernel does.
//!
//! Anything else (a lane that is not active, another pattern, an end of an allocation in between, an
//! address that is not aligned) makes them give up without any effect; the general path in `access`
//! then does the work and finds the words for what is wrong.

use crate::exec::Machine;
use crate::exec::access::space;
use crate::exec::barrier::Shared;
use crate::exec::observe::Observer;
use crate::exec::wavefront::Wavefront;
use crate::memory::{DEVICE_BASE, SHARED_WINDOW};
use crate::ops::{Access, Address, NO_REGISTER, Region, for_this_machine};

/// Addresses that grow by a constant, in one memory.
#[derive(Clone, Copy)]
struct Stride {
    /// That it is: no generic one.
    region: Region,
    /// Address of lane 0 in that memory, and bytes from lane to lane.
    base: u64,
    step: u64,
}

impl Stride {
    /// Where the elements of all lanes lie in a memory of `size` bytes that starts at address `start`:
    /// index of lane 0, if all are inside and aligned.
    #[inline(always)]
    fn place(self, start: u64, size: usize, bytes: u64) -> Option<usize> {
        let first = self.base.wrapping_sub(start);
        let last = first.wrapping_add(self.step.wrapping_mul(31));
        // A sum that wraps around is a place beyond any memory or, of steps that shrink, below `first`.
        let size = size as u64;
        let inside = |at: u64| at < size && size - at >= bytes;
        let is_short = self.step.wrapping_add(MOST_STEP) <= 2 * MOST_STEP;
        let is_aligned = (first | self.step) & (bytes - 1) == 0;
        (is_short && is_aligned && inside(first) && inside(last)).then_some(first as usize)
    }
}

/// Largest step in either direction: 31 of them do not wrap around.
const MOST_STEP: u64 = 1 << 40;

/// Finds whether the difference between neighbours is the same for all: bits in which it is another one.
#[derive(Clone, Copy)]
pub(super) struct Odd {
    wide: fn(&[u64; 32], u64) -> u64,
    narrow: fn(&[u32; 32], u32) -> u32,
}

impl Odd {
    pub(super) fn new() -> Self {
        Self {
            wide: for_this_machine!(fn(lanes: &[u64; 32], step: u64) -> u64 {
                let pairs = lanes.iter().zip(&lanes[1..]);
                pairs.fold(0, |odd, (lane, next)| odd | (next.wrapping_sub(*lane) ^ step))
            }),
            narrow: for_this_machine!(fn(lanes: &[u32; 32], step: u32) -> u32 {
                let pairs = lanes.iter().zip(&lanes[1..]);
                pairs.fold(0, |odd, (lane, next)| odd | (next.wrapping_sub(*lane) ^ step))
            }),
        }
    }

    /// The difference between neighbours, if it is the same for all.
    #[inline(always)]
    fn step64(self, lanes: &[u64; 32]) -> Option<u64> {
        let step = lanes[1].wrapping_sub(lanes[0]);
        ((self.wide)(lanes, step) == 0).then_some(step)
    }

    /// As [`Self::step64`].
    #[inline(always)]
    fn step32(self, lanes: &[u32; 32]) -> Option<u32> {
        let step = lanes[1].wrapping_sub(lanes[0]);
        ((self.narrow)(lanes, step) == 0).then_some(step)
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Loads and records; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn load_strided(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        (pc, mask): (u32, u32),
        access: &Access,
    ) -> bool {
        let Some(stride) = self.stride(wavefront, mask, access) else {
            return false;
        };
        let d = access.registers[0];
        if d == NO_REGISTER {
            return false;
        }
        let (memory, start) = match stride.region {
            Region::Shared => (&shared.bytes[..], 0),
            Region::Param => (&self.arguments[..], 0),
            _ => {
                if self.device_index(0, stride.base, access.bytes).is_err() {
                    return false;
                }
                let (start, end) = self.cached;
                let range = (start - DEVICE_BASE) as usize..(end - DEVICE_BASE) as usize;
                (&self.memory.data()[range], start)
            }
        };
        let Some(at) = stride.place(start, memory.len(), u64::from(access.bytes)) else {
            return false;
        };
        if access.wide {
            let register = wavefront.registers.word64(d);
            match stride.step {
                8 => {
                    for (to, from) in register.iter_mut().zip(memory[at..].as_chunks().0) {
                        *to = u64::from_le_bytes(*from);
                    }
                }
                0 => *register = [read(memory, at).map_or(0, u64::from_le_bytes); 32],
                step => {
                    for (lane, to) in register.iter_mut().enumerate() {
                        let at = at.wrapping_add((step as usize).wrapping_mul(lane));
                        *to = read(memory, at).map_or(0, u64::from_le_bytes);
                    }
                }
            }
        } else {
            let register = wavefront.registers.word32(d);
            match stride.step {
                4 => {
                    for (to, from) in register.iter_mut().zip(memory[at..].as_chunks().0) {
                        *to = u32::from_le_bytes(*from);
                    }
                }
                0 => *register = [read(memory, at).map_or(0, u32::from_le_bytes); 32],
                step => {
                    for (lane, to) in register.iter_mut().enumerate() {
                        let at = at.wrapping_add((step as usize).wrapping_mul(lane));
                        *to = read(memory, at).map_or(0, u32::from_le_bytes);
                    }
                }
            }
        }
        record(wavefront, pc, access, stride);
        true
    }

    /// Stores and records; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn store_strided(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        (pc, mask): (u32, u32),
        access: &Access,
    ) -> bool {
        // Of lanes that write one address the highest wins: for the general path.
        let stride = self.stride(wavefront, mask, access);
        let Some(stride) = stride.filter(|stride| stride.step == u64::from(access.bytes)) else {
            return false;
        };
        let (memory, start) = match stride.region {
            Region::Param => return false,
            Region::Shared => (&mut shared.bytes[..], 0),
            _ => {
                if self.device_index(0, stride.base, access.bytes).is_err() {
                    return false;
                }
                let (start, end) = self.cached;
                let range = (start - DEVICE_BASE) as usize..(end - DEVICE_BASE) as usize;
                (&mut self.memory.data_mut()[range], start)
            }
        };
        let Some(at) = stride.place(start, memory.len(), u64::from(access.bytes)) else {
            return false;
        };
        let source = access.sources[0];
        if access.wide {
            let values = wavefront.registers.get64(&self.constants64, source);
            for (to, from) in memory[at..].as_chunks_mut().0.iter_mut().zip(values) {
                *to = from.to_le_bytes();
            }
        } else {
            let values = wavefront.registers.get32(&self.constants32, source);
            for (to, from) in memory[at..].as_chunks_mut().0.iter_mut().zip(values) {
                *to = from.to_le_bytes();
            }
        }
        self.last_progress = self.steps;
        record(wavefront, pc, access, stride);
        true
    }

    /// The stride of a plain access by all lanes; none as well when somebody watches, who is told by the
    /// general path.
    #[inline(always)]
    fn stride(&self, wavefront: &Wavefront, mask: u32, access: &Access) -> Option<Stride> {
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
        let stride = if wide {
            let lanes = wavefront.registers.get64(&self.constants64, base);
            Stride {
                region,
                base: lanes[0].wrapping_add(offset as u64),
                step: self.odd.step64(lanes)?,
            }
        } else {
            let lanes = wavefront.registers.get32(&self.constants32, base);
            let step = self.odd.step32(lanes)? as i32;
            let base = u64::from(lanes[0].wrapping_add(offset as u32));
            // Addresses of 32 bits wrap around.
            let last = base.wrapping_add_signed(31 * i64::from(step));
            if last > u64::from(u32::MAX) {
                return None;
            }
            Stride {
                region,
                base,
                step: i64::from(step) as u64,
            }
        };
        match region {
            Region::Local => None,
            Region::Generic => {
                let last = stride.base.wrapping_add(stride.step.wrapping_mul(31));
                let within = |window: &std::ops::Range<u64>| {
                    window.contains(&stride.base) && window.contains(&last)
                };
                if stride.base >= DEVICE_BASE {
                    Some(Stride {
                        region: Region::Global,
                        ..stride
                    })
                } else if within(&SHARED_WINDOW) {
                    Some(Stride {
                        region: Region::Shared,
                        base: stride.base - SHARED_WINDOW.start,
                        ..stride
                    })
                } else {
                    None
                }
            }
            _ => Some(stride),
        }
    }
}

#[inline(always)]
fn read<const BYTES: usize>(memory: &[u8], at: usize) -> Option<[u8; BYTES]> {
    memory.get(at..).and_then(<[u8]>::first_chunk).copied()
}

#[inline(always)]
fn record(wavefront: &mut Wavefront, pc: u32, access: &Access, stride: Stride) {
    if access.silent {
        wavefront.writer.step(pc, u32::MAX);
    } else {
        let (base, step) = (stride.base, stride.step as i64);
        let space = space(stride.region);
        wavefront.writer.access_strided(pc, space, base, step);
    }
}
