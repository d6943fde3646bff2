//! Loads and stores: address computation, bounds checks, address spaces and trace records.

use warpweave_trace::Space;

use crate::address_space::{DEVICE_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::exec::Machine;
use crate::exec::barrier::Shared;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::observe::{AccessKind, Observer, PendingAccess};
use crate::exec::wavefront::Wavefront;
use crate::memory::DeviceMemory;
use crate::ops::{Access, Address, NO_REGISTER, Region};

/// Lanes of an access that target one space, with addresses in that space.
pub(super) struct Part {
    pub(super) region: Region,
    pub(super) mask: u32,
}

/// One part for each space that an access can reach.
pub(super) type Parts = [Part; 4];

/// Iterates over the lanes in `mask` in ascending order.
#[inline(always)]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

impl<O: Observer> Machine<'_, O> {
    /// Returns the lane addresses as the instruction computes them.
    pub(super) fn addresses(&self, wavefront: &Wavefront, address: &Address) -> [u64; 32] {
        let frame = if address.in_frame {
            u64::from(wavefront.frame_base())
        } else {
            0
        };
        let offset = (address.offset as u64).wrapping_add(frame);
        let mut lanes = [0; 32];
        if address.wide {
            let base = wavefront.registers.get64(&self.constants64, address.base);
            (self.addressing.wide)(base, offset, &mut lanes);
        } else {
            let base = wavefront.registers.get32(&self.constants32, address.base);
            (self.addressing.narrow)(base, offset as u32, &mut lanes);
        }
        lanes
    }

    /// Returns the only space that an access reaches, if a quick check can tell. Returns `None` if
    /// an observer is active, since the general path notifies it, and for accesses recorded without
    /// addresses.
    #[inline(always)]
    fn one_region(access: &Access, addresses: &[u64; 32]) -> Option<Region> {
        let is_global = |address: &u64| *address >= DEVICE_BASE;
        match access.address.region {
            _ if O::WATCHES || access.silent => None,
            Region::Generic if addresses.iter().all(is_global) => Some(Region::Global),
            Region::Generic => None,
            region => Some(region),
        }
    }

    /// Splits a generic access by space and converts its addresses to those spaces.
    pub(super) fn parts(
        region: Region,
        mask: u32,
        addresses: &mut [u64; 32],
    ) -> Result<Parts, Fault> {
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
        Ok(Self::one_part(region, mask))
    }

    fn one_part(region: Region, mask: u32) -> Parts {
        let part = |at: usize| Part {
            region,
            mask: if at == 0 { mask } else { 0 },
        };
        std::array::from_fn(part)
    }

    /// Notifies the observer of an access that is about to execute.
    #[inline(always)]
    pub(super) fn reach(
        &mut self,
        wavefront: &Wavefront,
        shared: &Shared,
        (pc, touch, number): (u32, AccessKind, u32),
        (parts, addresses): (&Parts, &[u64; 32]),
    ) {
        if O::WATCHES {
            self.observer.reach(&PendingAccess {
                kernel: self.kernel,
                wavefront,
                constants32: &self.constants32,
                constants64: &self.constants64,
                memory: self.memory,
                shared,
                pc,
                touch,
                number,
                parts,
                addresses,
            });
        }
    }

    /// Writes one trace record for each part that has lanes.
    pub(super) fn record(wavefront: &mut Wavefront, pc: u32, parts: &Parts, addresses: &[u64; 32]) {
        let mut left = parts.iter().filter(|part| part.mask != 0).count();
        for part in parts.iter().filter(|part| part.mask != 0) {
            left -= 1;
            wavefront
                .writer
                .access(pc, part.mask, part.region.space(), left > 0, addresses);
        }
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
            let found = look_up(self.memory, &mut self.cached, address, bytes);
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

    pub(super) fn load(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        pc: u32,
        mask: u32,
        number: u32,
    ) -> Result<(), Fault> {
        let access = &self.kernel.tables.accesses[number as usize];
        if access.strong {
            let addresses = self.addresses(wavefront, &access.address);
            let effect = self.last_progress;
            wavefront.spin.touch((pc, mask), &addresses, effect);
            // Others have been tried whole already.
            let is_usual = mask == u32::MAX && access.suits_full_wavefront();
            if is_usual
                && access.registers[0] != NO_REGISTER
                && self.load_full_wavefront(wavefront, shared, pc, access)
            {
                return Ok(());
            }
        }
        let mut addresses = self.addresses(wavefront, &access.address);
        if let Some(region) = Self::one_region(access, &addresses)
            && self.gather(wavefront, shared, (region, mask), access, &addresses)
        {
            let space = region.space();
            wavefront.writer.access(pc, mask, space, false, &addresses);
            return Ok(());
        }
        let parts = Self::parts(access.address.region, mask, &mut addresses)?;
        self.reach(
            wavefront,
            shared,
            (pc, AccessKind::Load, number),
            (&parts, &addresses),
        );
        for part in &parts {
            if part.mask != 0 {
                self.load_part(wavefront, shared, part, access, &addresses)?;
            }
        }
        if access.silent {
            wavefront.writer.step(pc, mask);
        } else {
            Self::record(wavefront, pc, &parts, &addresses);
        }
        Ok(())
    }

    /// Records the lanes that point into an allocation; a prefetch of any other address has no
    /// effect.
    pub(super) fn prefetch(&mut self, wavefront: &mut Wavefront, pc: u32, mask: u32, number: u32) {
        let access = &self.kernel.tables.accesses[number as usize];
        let addresses = self.addresses(wavefront, &access.address);
        let there = |lane: &usize| self.memory.window(addresses[*lane], 1).is_some();
        let there = lanes(mask).filter(there);
        match there.fold(0, |mask, lane| mask | 1 << lane) {
            0 => wavefront.writer.step(pc, mask),
            there => wavefront
                .writer
                .access(pc, there, Space::Global, false, &addresses),
        }
    }

    fn load_part(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        part: &Part,
        access: &Access,
        addresses: &[u64; 32],
    ) -> Result<(), Fault> {
        let (region, mask) = (part.region, part.mask);
        if self.gather(wavefront, shared, (region, mask), access, addresses) {
            return Ok(());
        }
        let total = access.bytes * access.count as u32;
        match part.region {
            Region::Global | Region::Const | Region::Generic => {
                for lane in lanes(part.mask) {
                    let at = self.device_index(lane, addresses[lane], total)?;
                    let bytes = &self.memory.data()[at..at + total as usize];
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
                    let at = Self::offset_in(part.region, lane, addresses[lane], total, size)?;
                    wavefront.deliver(access, lane, &memory[at..at + total as usize]);
                }
            }
            Region::Local => {
                let size = wavefront.private.bytes;
                for lane in lanes(part.mask) {
                    let at = Self::offset_in(part.region, lane, addresses[lane], total, size)?;
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

    pub(super) fn store(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        mask: u32,
        number: u32,
    ) -> Result<(), Fault> {
        let access = &self.kernel.tables.accesses[number as usize];
        let mut addresses = self.addresses(wavefront, &access.address);
        if let Some(region) = Self::one_region(access, &addresses)
            && self.scatter(wavefront, shared, (region, mask), access, &addresses)
        {
            self.last_progress = self.steps;
            let space = region.space();
            wavefront.writer.access(pc, mask, space, false, &addresses);
            return Ok(());
        }
        let parts = Self::parts(access.address.region, mask, &mut addresses)?;
        self.reach(
            wavefront,
            shared,
            (pc, AccessKind::Store, number),
            (&parts, &addresses),
        );
        for part in &parts {
            if part.mask != 0 {
                self.store_part(wavefront, shared, part, access, &addresses)?;
            }
        }
        self.last_progress = self.steps;
        if access.silent {
            wavefront.writer.step(pc, mask);
        } else {
            Self::record(wavefront, pc, &parts, &addresses);
        }
        Ok(())
    }

    fn store_part(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        part: &Part,
        access: &Access,
        addresses: &[u64; 32],
    ) -> Result<(), Fault> {
        let (region, mask) = (part.region, part.mask);
        if self.scatter(wavefront, shared, (region, mask), access, addresses) {
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
                    (
                        Self::offset_in(part.region, lane, address, total, size)?,
                        false,
                    )
                }
                Region::Local => {
                    let size = wavefront.private.bytes;
                    (
                        Self::offset_in(part.region, lane, address, total, size)?,
                        true,
                    )
                }
                Region::Param => return Err(Fault::at(lane, FaultKind::ReadOnly { address })),
            };
            for element in 0..access.count {
                let source = access.sources[element];
                let value = if access.wide {
                    wavefront.registers.get64(&self.constants64, source)[lane]
                } else {
                    u64::from(wavefront.registers.get32(&self.constants32, source)[lane])
                };
                let at = start + element * width;
                if is_private {
                    wavefront.private.write(lane, at, access.bytes, value);
                    continue;
                }
                let memory = if part.region == Region::Shared {
                    &mut shared.bytes[..]
                } else {
                    self.memory.data_mut()
                };
                write_bytes(&mut memory[at..at + width], value);
            }
        }
        Ok(())
    }
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

#[inline(always)]
pub(super) fn write_bytes(bytes: &mut [u8], value: u64) {
    let width = bytes.len();
    bytes.copy_from_slice(&value.to_le_bytes()[..width]);
}
