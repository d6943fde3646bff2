//! Path of accesses to the memories of a launch: addresses, bounds checks and transfers.

use warpweave_trace::Places;

use crate::address_space::{DEVICE_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::exec::addressing::{Addressing, Numbering};
use crate::exec::barrier::Shared;
use crate::exec::constants::Constants;
use crate::exec::datapath::Datapath;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::registers::lanes;
use crate::exec::wavefront::Wavefront;
use crate::memory::DeviceMemory;
use crate::ops::{Access, Address, NO_REGISTER, Region};

/// Maximum length in bytes of a text that is read for output.
const TEXT_MAX: usize = 4096;

/// Lanes of an access that target one space, with addresses in that space.
pub(super) struct Part {
    pub(super) region: Region,
    pub(super) mask: u32,
}

/// One part for each space that an access can reach.
pub(super) type Parts = [Part; 4];

/// Memories that all work-groups of a launch reach, and what accesses to any memory need.
pub(super) struct MemoryPath<'l> {
    pub(super) device: &'l mut DeviceMemory,
    /// Argument block of the kernel.
    pub(super) arguments: Vec<u8>,
    /// Bounds of the most recently accessed allocation: first address, and one past the last.
    pub(super) cached: (u64, u64),
    addressing: Addressing,
    pub(super) numbering: Numbering,
    /// Element indices that the lanes of an access reach.
    pub(super) numbers: Box<Places>,
}

impl<'l> MemoryPath<'l> {
    pub(super) fn new(device: &'l mut DeviceMemory, arguments: Vec<u8>) -> Self {
        Self {
            device,
            arguments,
            cached: (0, 0),
            addressing: Addressing::new(),
            numbering: Numbering::new(),
            numbers: Box::new([0; 33]),
        }
    }

    /// Returns the lane addresses as the instruction computes them.
    pub(super) fn addresses(
        &self,
        constants: &Constants,
        wavefront: &Wavefront,
        address: &Address,
    ) -> [u64; 32] {
        let frame = if address.in_frame {
            u64::from(wavefront.frame_base())
        } else {
            0
        };
        let offset = (address.offset as u64).wrapping_add(frame);
        let mut lanes = [0; 32];
        if address.wide {
            let base = wavefront.registers.get64(constants, address.base);
            (self.addressing.wide)(base, offset, &mut lanes);
        } else {
            let base = wavefront.registers.get32(constants, address.base);
            (self.addressing.narrow)(base, offset as u32, &mut lanes);
        }
        lanes
    }

    /// Returns the checked index of an access into device memory.
    #[inline(always)]
    pub(super) fn device_index(
        &mut self,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Result<usize, Fault> {
        if address & u64::from(bytes - 1) != 0 {
            return Err(Fault::at(lane, FaultKind::Misaligned { address, bytes }));
        }
        if !self.is_cached(address, bytes) {
            let found = look_up(self.device, &mut self.cached, address, bytes);
            found.map_err(|kind| Fault::at(lane, kind))?;
        }
        Ok((address - DEVICE_BASE) as usize)
    }

    /// True if an access is inside the most recently used allocation.
    #[inline(always)]
    pub(super) fn is_cached(&self, address: u64, bytes: u32) -> bool {
        let (start, end) = self.cached;
        // Allocations are smaller than the gap to the top of the address space.
        address >= start && address.wrapping_add(u64::from(bytes)) <= end
    }

    #[inline(always)]
    pub(super) fn load_part(
        &mut self,
        data: &mut Datapath,
        wavefront: &mut Wavefront,
        shared: &Shared,
        part: &Part,
        access: &Access,
        addresses: &[u64; 32],
    ) -> Result<(), Fault> {
        if self.gather(data, wavefront, shared, part, access, addresses) {
            return Ok(());
        }
        let total = access.bytes * access.count as u32;
        match part.region {
            Region::Global | Region::Const | Region::Generic => {
                for lane in lanes(part.mask) {
                    let at = self.device_index(lane, addresses[lane], total)?;
                    let bytes = &self.device.data()[at..at + total as usize];
                    wavefront.deliver(access, lane, bytes);
                }
            }
            Region::Shared | Region::Param => {
                let memory = if part.region == Region::Shared {
                    &shared.bytes
                } else {
                    &self.arguments
                };
                let size = memory.len() as u32;
                for lane in lanes(part.mask) {
                    let at = offset_in(part.region, lane, addresses[lane], total, size)?;
                    wavefront.deliver(access, lane, &memory[at..at + total as usize]);
                }
            }
            Region::Local => {
                let size = wavefront.private.bytes;
                for lane in lanes(part.mask) {
                    let at = offset_in(part.region, lane, addresses[lane], total, size)?;
                    for element in 0..access.count {
                        let place = at + element * access.bytes as usize;
                        let value = wavefront.private.read(lane, place, access.bytes);
                        wavefront.deliver_one(access, element, lane, value);
                    }
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn store_part(
        &mut self,
        constants: &Constants,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        part: &Part,
        access: &Access,
        addresses: &[u64; 32],
    ) -> Result<(), Fault> {
        if self.scatter(constants, wavefront, shared, part, access, addresses) {
            return Ok(());
        }
        let width = access.bytes as usize;
        let total = access.bytes * access.count as u32;
        // Lanes outermost: of lanes that write one address, the highest wins in all elements.
        for lane in lanes(part.mask) {
            let address = addresses[lane];
            let (start, is_private) = match part.region {
                Region::Global | Region::Const | Region::Generic => {
                    (self.device_index(lane, address, total)?, false)
                }
                Region::Shared => {
                    let size = shared.bytes.len() as u32;
                    (offset_in(part.region, lane, address, total, size)?, false)
                }
                Region::Local => {
                    let size = wavefront.private.bytes;
                    (offset_in(part.region, lane, address, total, size)?, true)
                }
                Region::Param => return Err(Fault::at(lane, FaultKind::ReadOnly { address })),
            };
            for element in 0..access.count {
                let source = access.sources[element];
                let registers = &wavefront.registers;
                let value = registers.get(constants, source, access.wide, lane);
                let at = start + element * width;
                if is_private {
                    wavefront.private.write(lane, at, access.bytes, value);
                    continue;
                }
                let memory = if part.region == Region::Shared {
                    &mut shared.bytes[..]
                } else {
                    self.device.data_mut()
                };
                write_bytes(&mut memory[at..at + width], value);
            }
        }
        Ok(())
    }

    /// Returns the checked memory that an atomic changes in one lane.
    #[inline(always)]
    pub(super) fn atomic_bytes<'m>(
        &'m mut self,
        shared: &'m mut Shared,
        region: Region,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Result<&'m mut [u8], Fault> {
        let (memory, at) = match region {
            Region::Shared => {
                let size = shared.bytes.len() as u32;
                let at = offset_in(region, lane, address, bytes, size)?;
                (&mut shared.bytes[..], at)
            }
            Region::Global | Region::Generic => {
                let at = self.device_index(lane, address, bytes)?;
                (self.device.data_mut(), at)
            }
            _ => return Err(Fault::at(lane, FaultKind::NoSuchSpace { address })),
        };
        Ok(&mut memory[at..at + bytes as usize])
    }

    /// Reads up to eight bytes at a generic address.
    pub(super) fn read_generic(
        &mut self,
        wavefront: &Wavefront,
        shared: &Shared,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Result<u64, Fault> {
        if SHARED_WINDOW.contains(&address) {
            let (at, size) = (address - SHARED_WINDOW.start, shared.bytes.len() as u32);
            let at = offset_in(Region::Shared, lane, at, bytes, size)?;
            return Ok(number(&shared.bytes[at..at + bytes as usize]));
        }
        if LOCAL_WINDOW.contains(&address) {
            let (at, size) = (address - LOCAL_WINDOW.start, wavefront.private.bytes);
            let at = offset_in(Region::Local, lane, at, bytes, size)?;
            return Ok(wavefront.private.read(lane, at, bytes));
        }
        if address < DEVICE_BASE {
            return Err(Fault::at(lane, FaultKind::NoSuchSpace { address }));
        }
        let at = self.device_index(lane, address, bytes)?;
        Ok(number(&self.device.data()[at..at + bytes as usize]))
    }

    /// Reads the zero-terminated text at a generic address.
    pub(super) fn text(
        &mut self,
        wavefront: &Wavefront,
        shared: &Shared,
        lane: usize,
        address: u64,
    ) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        while text.len() < TEXT_MAX {
            let at = address.wrapping_add(text.len() as u64);
            match self.read_generic(wavefront, shared, lane, at, 1)? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}

/// Splits a generic access by space and converts its addresses to those spaces.
pub(super) fn parts(region: Region, mask: u32, addresses: &mut [u64; 32]) -> Result<Parts, Fault> {
    let mut masks = [0u32; 4];
    if region == Region::Generic {
        for lane in lanes(mask) {
            let address = addresses[lane];
            let part = if address >= DEVICE_BASE {
                0
            } else if SHARED_WINDOW.contains(&address) {
                addresses[lane] -= SHARED_WINDOW.start;
                1
            } else if LOCAL_WINDOW.contains(&address) {
                addresses[lane] -= LOCAL_WINDOW.start;
                2
            } else if PARAM_WINDOW.contains(&address) {
                addresses[lane] -= PARAM_WINDOW.start;
                3
            } else {
                return Err(Fault::at(lane, FaultKind::NoSuchSpace { address }));
            };
            masks[part] |= 1 << lane;
        }
        let regions = [Region::Global, Region::Shared, Region::Local, Region::Param];
        let part = |at: usize| Part {
            region: regions[at],
            mask: masks[at],
        };
        return Ok(std::array::from_fn(part));
    }
    Ok(one_part(region, mask))
}

fn one_part(region: Region, mask: u32) -> Parts {
    let part = |at: usize| Part {
        region,
        mask: if at == 0 { mask } else { 0 },
    };
    std::array::from_fn(part)
}

/// Checks an access to a space of `size` bytes that starts at zero.
#[inline(always)]
pub(super) fn offset_in(
    region: Region,
    lane: usize,
    address: u64,
    bytes: u32,
    size: u32,
) -> Result<usize, Fault> {
    if address & u64::from(bytes - 1) != 0 {
        return Err(Fault::at(lane, FaultKind::Misaligned { address, bytes }));
    }
    if address > u64::from(size) || u64::from(size) - address < u64::from(bytes) {
        let kind = FaultKind::Outside {
            region,
            address,
            bytes,
            size,
        };
        return Err(Fault::at(lane, kind));
    }
    Ok(address as usize)
}

impl Wavefront {
    #[inline(always)]
    fn deliver(&mut self, access: &Access, lane: usize, bytes: &[u8]) {
        let width = access.bytes as usize;
        for element in 0..access.count {
            let value = read_bytes(&bytes[element * width..(element + 1) * width]);
            self.deliver_one(access, element, lane, value);
        }
    }

    #[inline(always)]
    fn deliver_one(&mut self, access: &Access, element: usize, lane: usize, value: u64) {
        let register = usize::from(access.registers[element]);
        if register == usize::from(NO_REGISTER) {
            return;
        }
        let value = if access.signed {
            extend(value, access.bytes)
        } else {
            value
        };
        if access.wide {
            self.registers.doubles[self.registers.double + register][lane] = value;
        } else if access.short {
            self.registers.words[self.registers.word + register][lane] = value as u32 & 0xffff;
        } else {
            self.registers.words[self.registers.word + register][lane] = value as u32;
        }
    }
}

/// Finds the allocation that contains an access and stores it in `cached`.
#[cold]
pub(super) fn look_up(
    memory: &DeviceMemory,
    cached: &mut (u64, u64),
    address: u64,
    bytes: u32,
) -> Result<(), FaultKind> {
    let window = memory.window(address, u64::from(bytes));
    let (first, last) = window.ok_or(FaultKind::OutsideDevice { address, bytes })?;
    *cached = (first, last + u64::from(bytes));
    Ok(())
}

#[inline(always)]
fn extend(value: u64, bytes: u32) -> u64 {
    let unused = 64 - 8 * bytes;
    ((value << unused) as i64 >> unused) as u64
}

/// Reads one, two, four or eight bytes as a little-endian number.
#[inline(always)]
pub(super) fn read_bytes(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

#[inline(always)]
pub(super) fn write_bytes(bytes: &mut [u8], value: u64) {
    let width = bytes.len();
    bytes.copy_from_slice(&value.to_le_bytes()[..width]);
}
