//! Short loops for loads and stores of one word or double word per lane in one memory.
//!
//! They cover what compilers emit most. Anything unusual, such as a lane in another allocation or
//! outside all of them, makes them give up without effect on registers; the general path in
//! `access` then does the work and finds the words for what is wrong.

use crate::exec::Machine;
use crate::exec::access::{Part, lanes};
use crate::exec::barrier::Shared;
use crate::exec::error::Fault;
use crate::exec::observe::Observer;
use crate::exec::wavefront::Wavefront;
use crate::memory::DEVICE_BASE;
use crate::ops::{Access, NO_REGISTER, Region};

/// Whether something succeeds for each lane of a mask, in ascending order up to one for which it does not.
#[inline(always)]
fn all_lanes(mask: u32, of_lane: impl FnMut(usize) -> bool) -> bool {
    if mask == u32::MAX {
        (0..32).all(of_lane)
    } else {
        lanes(mask).all(of_lane)
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Loads into the register of a plain access; `false` if the general path must do it.
    pub(super) fn gather(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        part: &Part,
        access: &Access,
        addresses: &[u64; 32],
    ) -> Result<bool, Fault> {
        let d = access.registers[0];
        if d == NO_REGISTER || part.region == Region::Local {
            return Ok(false);
        }
        let (memory, base) = match part.region {
            Region::Shared => (&shared.bytes[..], 0),
            Region::Param => (&self.arguments[..], 0),
            _ => {
                let (start, end) = self.allocation_of_first(part, access, addresses)?;
                (&self.memory.data()[start..end], start as u64 + DEVICE_BASE)
            }
        };
        // An address that is not aligned is read at another place, and forgotten.
        let mut low_bits = 0;
        if access.wide {
            let (words, mut values) = (memory.as_chunks::<8>().0, [0; 32]);
            let inside = all_lanes(part.mask, |lane| {
                let at = addresses[lane].wrapping_sub(base);
                low_bits |= at;
                let word = words.get((at / 8) as usize);
                values[lane] = word.map_or(0, |word| u64::from_le_bytes(*word));
                word.is_some()
            });
            if !inside || low_bits & 7 != 0 {
                return Ok(false);
            }
            wavefront.registers.put64(d, part.mask, &values);
        } else {
            let (words, mut values) = (memory.as_chunks::<4>().0, [0; 32]);
            let inside = all_lanes(part.mask, |lane| {
                let at = addresses[lane].wrapping_sub(base);
                low_bits |= at;
                let word = words.get((at / 4) as usize);
                values[lane] = word.map_or(0, |word| u32::from_le_bytes(*word));
                word.is_some()
            });
            if !inside || low_bits & 3 != 0 {
                return Ok(false);
            }
            wavefront.registers.put32(d, part.mask, &values);
        }
        Ok(true)
    }

    /// Stores a plain access; `false` if the general path must do it. Lanes stored before giving
    /// up are stored again, with the same values.
    pub(super) fn scatter(
        &mut self,
        wavefront: &Wavefront,
        shared: &mut Shared,
        part: &Part,
        access: &Access,
        addresses: &[u64; 32],
    ) -> Result<bool, Fault> {
        let (memory, base) = match part.region {
            Region::Local | Region::Param => return Ok(false),
            Region::Shared => (&mut shared.bytes[..], 0),
            _ => {
                let (start, end) = self.allocation_of_first(part, access, addresses)?;
                (
                    &mut self.memory.data_mut()[start..end],
                    start as u64 + DEVICE_BASE,
                )
            }
        };
        let source = access.sources[0];
        Ok(if access.wide {
            let values = wavefront.registers.get64(&self.constants64, source);
            let words = memory.as_chunks_mut::<8>().0;
            all_lanes(part.mask, |lane| {
                let at = addresses[lane].wrapping_sub(base);
                let word = words.get_mut((at / 8) as usize);
                let word = word.filter(|_| at.is_multiple_of(8));
                word.map(|word| *word = values[lane].to_le_bytes())
                    .is_some()
            })
        } else {
            let values = wavefront.registers.get32(&self.constants32, source);
            let words = memory.as_chunks_mut::<4>().0;
            all_lanes(part.mask, |lane| {
                let at = addresses[lane].wrapping_sub(base);
                let word = words.get_mut((at / 4) as usize);
                let word = word.filter(|_| at.is_multiple_of(4));
                word.map(|word| *word = values[lane].to_le_bytes())
                    .is_some()
            })
        })
    }

    /// Range of device memory of the allocation the first active lane accesses.
    fn allocation_of_first(
        &mut self,
        part: &Part,
        access: &Access,
        addresses: &[u64; 32],
    ) -> Result<(usize, usize), Fault> {
        let lane = part.mask.trailing_zeros() as usize & 31;
        self.device_index(lane, addresses[lane], access.bytes)?;
        let (start, end) = self.cached;
        Ok(((start - DEVICE_BASE) as usize, (end - DEVICE_BASE) as usize))
    }
}
