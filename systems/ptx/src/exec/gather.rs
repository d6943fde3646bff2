//! Short loops for loads and stores of one word or double word per lane that lie in no order in one memory.
//!
//! They cover what compilers emit most. Anything unusual, such as a lane in another allocation or
//! outside all of them, makes them give up without effect on registers; the general path in
//! `access` then does the work and finds the words for what is wrong.

use std::ops::Range;

use warpweave_trace::Shape;

use crate::exec::Machine;
use crate::exec::access::{lanes, space};
use crate::exec::barrier::Shared;
use crate::exec::observe::Observer;
use crate::exec::registers::Element;
use crate::exec::wavefront::Wavefront;
use crate::memory::{DEVICE_BASE, SHARED_WINDOW};
use crate::ops::{Access, Address, Lanes32, Lanes64, NO_REGISTER, Region, Src, for_this_machine};

/// Functions over the lanes of a base register.
#[derive(Clone, Copy)]
pub(super) struct Addressing {
    /// Base and offset to addresses.
    pub(super) wide: fn(&Lanes64, u64, &mut Lanes64),
    pub(super) narrow: fn(&Lanes32, u32, &mut Lanes64),
    /// Base and offset to numbers of elements of `1 << bits` bytes; gives bits that the sums have.
    wide_places: fn(&Lanes64, u64, u32, &mut Lanes32) -> u64,
    /// As `wide_places`, but gives the bits of the base too.
    narrow_places: fn(&Lanes32, u32, u32, &mut Lanes32) -> u32,
}

impl Addressing {
    pub(super) fn new() -> Self {
        Self {
            wide: for_this_machine!(
                fn(base: &[u64; 32], offset: u64, addresses: &mut [u64; 32]) -> () {
                    for lane in 0..32 {
                        addresses[lane] = base[lane].wrapping_add(offset);
                    }
                }
            ),
            narrow: for_this_machine!(
                fn(base: &[u32; 32], offset: u32, addresses: &mut [u64; 32]) -> () {
                    for lane in 0..32 {
                        addresses[lane] = u64::from(base[lane].wrapping_add(offset));
                    }
                }
            ),
            wide_places: for_this_machine!(
                fn(base: &[u64; 32], offset: u64, bits: u32, places: &mut [u32; 32]) -> u64 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= sum;
                        places[lane] = (sum >> (bits & 3)) as u32;
                    }
                    all
                }
            ),
            narrow_places: for_this_machine!(
                fn(base: &[u32; 32], offset: u32, bits: u32, places: &mut [u32; 32]) -> u32 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= base[lane] | sum;
                        places[lane] = sum >> (bits & 3);
                    }
                    all
                }
            ),
        }
    }
}

/// Where the lanes of an access go that lie in no order.
#[derive(Clone)]
struct Scattered {
    /// The memory: it is no generic one.
    region: Region,
    /// Bounds of device memory, of that.
    range: Range<usize>,
    /// What is recorded as the address of the first element; the machine's `places` count from there.
    start: u64,
}

/// Loads the element of each lane; `false` if one lies outside.
#[inline(always)]
fn load_all<T: Element<BYTES>, const BYTES: usize>(
    memory: &[u8],
    places: &Lanes32,
    values: &mut [T; 32],
) -> bool {
    let elements = memory.as_chunks::<BYTES>().0;
    for (value, place) in values.iter_mut().zip(places) {
        let Some(element) = elements.get(*place as usize) else {
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
    places: &Lanes32,
    values: &[T; 32],
) -> bool {
    let elements = memory.as_chunks_mut::<BYTES>().0;
    for (value, place) in values.iter().zip(places) {
        let Some(element) = elements.get_mut(*place as usize) else {
            return false;
        };
        *element = value.to_bytes();
    }
    true
}

/// As [`load_all`] for some lanes, of which addresses are known in a memory that starts at `start`.
#[inline(always)]
fn load_some<T: Element<BYTES>, const BYTES: usize>(
    memory: &[u8],
    start: u64,
    (mask, addresses): (u32, &Lanes64),
    values: &mut [T; 32],
) -> bool {
    let elements = memory.as_chunks::<BYTES>().0;
    lanes(mask).all(|lane| {
        let at = addresses[lane].wrapping_sub(start);
        let element = elements.get((at / BYTES as u64) as usize);
        let element = element.filter(|_| at.is_multiple_of(BYTES as u64));
        element
            .map(|element| values[lane] = T::from_bytes(*element))
            .is_some()
    })
}

/// As [`store_all`] for some lanes, of which addresses are known in a memory that starts at `start`.
#[inline(always)]
fn store_some<T: Element<BYTES>, const BYTES: usize>(
    memory: &mut [u8],
    start: u64,
    (mask, addresses): (u32, &Lanes64),
    values: &[T; 32],
) -> bool {
    let elements = memory.as_chunks_mut::<BYTES>().0;
    lanes(mask).all(|lane| {
        let at = addresses[lane].wrapping_sub(start);
        let element = elements.get_mut((at / BYTES as u64) as usize);
        let element = element.filter(|_| at.is_multiple_of(BYTES as u64));
        element
            .map(|element| *element = values[lane].to_bytes())
            .is_some()
    })
}

impl<O: Observer> Machine<'_, O> {
    /// Loads and records an access of all lanes; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn load_scattered(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        (pc, mask): (u32, u32),
        access: &Access,
    ) -> bool {
        let d = access.registers[0];
        let scattered = self.scattered(wavefront, mask, access);
        let Some(scattered) = scattered.filter(|_| d != NO_REGISTER) else {
            return false;
        };
        let memory = match scattered.region {
            Region::Shared => &shared.bytes[..],
            Region::Param => &self.arguments[..],
            _ => &self.memory.data()[scattered.range.clone()],
        };
        if access.wide {
            if !load_all(memory, &self.places, &mut self.double) {
                return false;
            }
            wavefront.registers.swap64(d, mask, &mut self.double);
        } else {
            if !load_all(memory, &self.places, &mut self.word) {
                return false;
            }
            wavefront.registers.swap32(d, mask, &mut self.word);
        }
        self.record_scattered(wavefront, pc, access, &scattered);
        true
    }

    /// Stores and records an access of all lanes; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn store_scattered(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        (pc, mask): (u32, u32),
        access: &Access,
    ) -> bool {
        let Some(scattered) = self.scattered(wavefront, mask, access) else {
            return false;
        };
        let memory = match scattered.region {
            Region::Param => return false,
            Region::Shared => &mut shared.bytes[..],
            _ => &mut self.memory.data_mut()[scattered.range.clone()],
        };
        let source = access.sources[0];
        let stored = if access.wide {
            let values = wavefront.registers.get64(&self.constants64, source);
            store_all(memory, &self.places, values)
        } else {
            let values = wavefront.registers.get32(&self.constants32, source);
            store_all(memory, &self.places, values)
        };
        if stored {
            self.last_progress = self.steps;
            self.record_scattered(wavefront, pc, access, &scattered);
        }
        stored
    }

    /// Where a plain access of all lanes goes whose base lies in no order, if all are aligned; none as well when
    /// somebody watches, who is told by the general path.
    #[inline(always)]
    fn scattered(
        &mut self,
        wavefront: &mut Wavefront,
        mask: u32,
        access: &Access,
    ) -> Option<Scattered> {
        let Address {
            region,
            wide,
            base,
            offset,
            in_frame,
        } = access.address;
        let is_usual = mask == u32::MAX && !in_frame && access.is_plain() && !access.silent;
        if O::WATCHES || !is_usual || base.0 >= Src::CONSTANT {
            return None;
        }
        let bits = access.bytes.trailing_zeros();
        let registers = &mut wavefront.registers;
        let at = usize::from(base.0);
        if !wide {
            let base = &mut registers.words[registers.word + at];
            let is_offset = matches!(region, Region::Shared | Region::Param);
            if !is_offset || base.shape() != Shape::List {
                return None;
            }
            let all = (self.addressing.narrow_places)(base, offset as u32, bits, &mut self.places);
            // Where neither base nor sum is this large no sum has wrapped around, which would make another pattern.
            let beyond = 1 << 31 | ((1 << bits) - 1);
            return (all & beyond == 0).then_some(Scattered {
                region,
                range: 0..0,
                start: 0,
            });
        }
        let base = &mut registers.doubles[registers.double + at];
        if base.shape() != Shape::List {
            return None;
        }
        let first = base[0].wrapping_add(offset as u64);
        // The address at which the memory begins, as the instruction names it, and in its region.
        let (region, named, start) = match region {
            Region::Local => return None,
            Region::Shared | Region::Param => (region, 0, 0),
            Region::Generic if SHARED_WINDOW.contains(&first) => {
                (Region::Shared, SHARED_WINDOW.start, 0)
            }
            Region::Generic | Region::Global | Region::Const => {
                self.device_index(0, first, access.bytes).ok()?;
                let start = self.cached.0;
                (global(region), start, start)
            }
        };
        let offset = (offset as u64).wrapping_sub(named);
        let all = (self.addressing.wide_places)(base, offset, bits, &mut self.places);
        let beyond = u64::MAX << (32 + bits) | ((1 << bits) - 1);
        let range = match region {
            Region::Shared | Region::Param => 0..0,
            _ => {
                let (start, end) = self.cached;
                (start - DEVICE_BASE) as usize..(end - DEVICE_BASE) as usize
            }
        };
        (all & beyond == 0).then_some(Scattered {
            region,
            range,
            start,
        })
    }

    #[inline(always)]
    fn record_scattered(
        &self,
        wavefront: &mut Wavefront,
        pc: u32,
        access: &Access,
        scattered: &Scattered,
    ) {
        let units = (scattered.start, access.bytes.trailing_zeros() as u8);
        let space = space(scattered.region);
        wavefront
            .writer
            .access_listed(pc, space, units, &self.places);
    }

    /// Loads into the register of a plain access; `false` if the general path must do it.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        (region, mask): (Region, u32),
        access: &Access,
        addresses: &Lanes64,
    ) -> bool {
        let d = access.registers[0];
        if !access.is_plain() || d == NO_REGISTER {
            return false;
        }
        let (memory, start) = match region {
            Region::Local => return false,
            Region::Shared => (&shared.bytes[..], 0),
            Region::Param => (&self.arguments[..], 0),
            _ => {
                let Some((start, end)) = self.allocation_of_first(mask, access, addresses) else {
                    return false;
                };
                (&self.memory.data()[start..end], start as u64 + DEVICE_BASE)
            }
        };
        if access.wide {
            if !load_some(memory, start, (mask, addresses), &mut self.double) {
                return false;
            }
            wavefront.registers.swap64(d, mask, &mut self.double);
        } else {
            if !load_some(memory, start, (mask, addresses), &mut self.word) {
                return false;
            }
            wavefront.registers.swap32(d, mask, &mut self.word);
        }
        true
    }

    /// Stores a plain access; `false` if the general path must do it. Lanes stored before giving
    /// up are stored again, with the same values.
    #[inline(always)]
    pub(super) fn scatter(
        &mut self,
        wavefront: &Wavefront,
        shared: &mut Shared,
        (region, mask): (Region, u32),
        access: &Access,
        addresses: &Lanes64,
    ) -> bool {
        if !access.is_plain() {
            return false;
        }
        let (memory, start) = match region {
            Region::Local | Region::Param => return false,
            Region::Shared => (&mut shared.bytes[..], 0),
            _ => {
                let Some((start, end)) = self.allocation_of_first(mask, access, addresses) else {
                    return false;
                };
                (
                    &mut self.memory.data_mut()[start..end],
                    start as u64 + DEVICE_BASE,
                )
            }
        };
        let source = access.sources[0];
        if access.wide {
            let values = wavefront.registers.get64(&self.constants64, source);
            store_some(memory, start, (mask, addresses), values)
        } else {
            let values = wavefront.registers.get32(&self.constants32, source);
            store_some(memory, start, (mask, addresses), values)
        }
    }

    /// Range of device memory of the allocation the first active lane accesses.
    #[inline(always)]
    fn allocation_of_first(
        &mut self,
        mask: u32,
        access: &Access,
        addresses: &Lanes64,
    ) -> Option<(usize, usize)> {
        let lane = mask.trailing_zeros() as usize & 31;
        self.device_index(lane, addresses[lane], access.bytes)
            .ok()?;
        let (start, end) = self.cached;
        Some(((start - DEVICE_BASE) as usize, (end - DEVICE_BASE) as usize))
    }
}

/// Device memory, of a generic access too.
fn global(region: Region) -> Region {
    match region {
        Region::Const => Region::Const,
        _ => Region::Global,
    }
}
