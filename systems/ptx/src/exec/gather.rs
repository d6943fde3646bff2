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
        let mut low_bits = 0;
        if access.wide {
            let mut values = [0; 32];
            for lane in lanes(part.mask) {
                let at = addresses[lane].wrapping_sub(base) as usize;
                low_bits |= at & 7;
                match memory.get(at..).and_then(<[u8]>::first_chunk) {
                    Some(&bytes) => values[lane] = u64::from_le_bytes(bytes),
                    None => return Ok(false),
                }
            }
            if low_bits == 0 {
                wavefront.registers.put64(d, part.mask, &values);
            }
        } else {
            let mut values = [0; 32];
            for lane in lanes(part.mask) {
                let at = addresses[lane].wrapping_sub(base) as usize;
                low_bits |= at & 3;
                match memory.get(at..).and_then(<[u8]>::first_chunk) {
                    Some(&bytes) => values[lane] = u32::from_le_bytes(bytes),
                    None => return Ok(false),
                }
            }
            if low_bits == 0 {
                wavefront.registers.put32(d, part.mask, &values);
            }
        }
        Ok(low_bits == 0)
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
        if access.wide {
            let values = wavefront.registers.get64(&self.constants64, source);
            for lane in lanes(part.mask) {
                let at = addresses[lane].wrapping_sub(base) as usize;
                match memory.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                    Some(bytes) if at.is_multiple_of(8) => *bytes = values[lane].to_le_bytes(),
                    _ => return Ok(false),
                }
            }
        } else {
            let values = wavefront.registers.get32(&self.constants32, source);
            for lane in lanes(part.mask) {
                let at = addresses[lane].wrapping_sub(base) as usize;
                match memory.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                    Some(bytes) if at.is_multiple_of(4) => *bytes = values[lane].to_le_bytes(),
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
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
