//! Fast paths for loads and stores of one word or double word per lane in a single memory.
//!
//! They cover the forms that compilers emit most. Anything unusual, such as a lane in another
//! allocation or outside all of them, makes them fail without effect on registers. The general path
//! in `access` then executes the access and reports any error.

use crate::address_space::DEVICE_BASE;
use crate::exec::barrier::Shared;
use crate::exec::constants::Constants;
use crate::exec::datapath::Datapath;
use crate::exec::memory_path::{MemoryPath, Part};
use crate::exec::registers::{Element, lanes};
use crate::exec::wavefront::Wavefront;
use crate::ops::{Access, Lanes64, NO_REGISTER, Region};

/// Loads the elements of some lanes from a memory that starts at an address; `false` if any is out
/// of bounds.
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

/// Stores the elements of some lanes to a memory that starts at an address; `false` if any is out
/// of bounds.
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

impl MemoryPath<'_> {
    /// Executes a plain load; returns `false` if the general path is needed.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        data: &mut Datapath,
        wavefront: &mut Wavefront,
        shared: &Shared,
        &Part { region, mask }: &Part,
        access: &Access,
        addresses: &Lanes64,
    ) -> bool {
        let d = access.registers[0];
        if !access.plain || d == NO_REGISTER {
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
                (&self.device.data()[start..end], start as u64 + DEVICE_BASE)
            }
        };
        if access.wide {
            if !load_some(memory, start, (mask, addresses), &mut data.double) {
                return false;
            }
            wavefront.registers.swap64(d, mask, &mut data.double);
        } else {
            if !load_some(memory, start, (mask, addresses), &mut data.word) {
                return false;
            }
            wavefront.registers.swap32(d, mask, &mut data.word);
        }
        true
    }

    /// Executes a plain store; returns `false` if the general path is needed. Lanes already stored
    /// are then stored again with the same values.
    #[inline(always)]
    pub(super) fn scatter(
        &mut self,
        constants: &Constants,
        wavefront: &Wavefront,
        shared: &mut Shared,
        &Part { region, mask }: &Part,
        access: &Access,
        addresses: &Lanes64,
    ) -> bool {
        if !access.plain {
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
                    &mut self.device.data_mut()[start..end],
                    start as u64 + DEVICE_BASE,
                )
            }
        };
        let source = access.sources[0];
        if access.wide {
            let values = wavefront.registers.get64(constants, source);
            store_some(memory, start, (mask, addresses), values)
        } else {
            let values = wavefront.registers.get32(constants, source);
            store_some(memory, start, (mask, addresses), values)
        }
    }

    /// Returns the device memory range of the allocation that the first active lane accesses.
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
