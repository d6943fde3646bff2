//! Loads, stores and atomics as instructions: choice of the path, observation and trace records.

use warpweave_trace::Space;

use crate::address_space::DEVICE_BASE;
use crate::exec::Machine;
use crate::exec::atomic::{apply, execute, operands};
use crate::exec::barrier::Shared;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::memory_path::{Part, Parts, offset_in, parts, read_bytes, write_bytes};
use crate::exec::observe::{AccessKind, Observer, PendingAccess};
use crate::exec::registers::lanes;
use crate::exec::wavefront::Wavefront;
use crate::ops::{Access, Address, NO_REGISTER, Region};

/// Access that an observer hears of: its place in the code, and the number of its operands.
#[derive(Clone, Copy)]
struct Touch {
    pc: u32,
    kind: AccessKind,
    number: u32,
}

impl<O: Observer> Machine<'_, O> {
    /// Returns the lane addresses as the instruction computes them.
    pub(super) fn addresses(&self, wavefront: &Wavefront, address: &Address) -> [u64; 32] {
        self.memory
            .addresses(&self.data.constants, wavefront, address)
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

    /// Notifies the observer of an access that is about to execute.
    #[inline(always)]
    fn reach(
        &mut self,
        wavefront: &Wavefront,
        shared: &Shared,
        touch: Touch,
        parts: &Parts,
        addresses: &[u64; 32],
    ) {
        if O::WATCHES {
            self.observer.reach(&PendingAccess {
                kernel: self.kernel,
                wavefront,
                constants: &self.data.constants,
                memory: self.memory.device,
                shared,
                pc: touch.pc,
                touch: touch.kind,
                number: touch.number,
                parts,
                addresses,
            });
        }
    }

    /// Executes and records a load by the fast path for full wavefronts; `false` if it does not
    /// apply or must be observed.
    #[inline(always)]
    pub(super) fn load_full_wavefront(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        let (memory, data) = (&mut self.memory, &mut self.data);
        !O::WATCHES && memory.load_full_wavefront(data, wavefront, shared, pc, access)
    }

    /// Executes and records a store, like [`Self::load_full_wavefront`].
    #[inline(always)]
    pub(super) fn store_full_wavefront(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        access: &Access,
    ) -> bool {
        let (memory, constants) = (&mut self.memory, &self.data.constants);
        !O::WATCHES && memory.store_full_wavefront(constants, wavefront, shared, pc, access)
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
            let effect = self.progress.last_effect;
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
            && let part = (Part { region, mask })
            && self
                .memory
                .gather(&mut self.data, wavefront, shared, &part, access, &addresses)
        {
            let space = region.space();
            wavefront.writer.access(pc, mask, space, false, &addresses);
            return Ok(());
        }
        let parts = parts(access.address.region, mask, &mut addresses)?;
        let touch = Touch {
            pc,
            kind: AccessKind::Load,
            number,
        };
        self.reach(wavefront, shared, touch, &parts, &addresses);
        for part in &parts {
            if part.mask != 0 {
                self.memory.load_part(
                    &mut self.data,
                    wavefront,
                    shared,
                    part,
                    access,
                    &addresses,
                )?;
            }
        }
        if access.silent {
            wavefront.writer.step(pc, mask);
        } else {
            record(wavefront, pc, &parts, &addresses);
        }
        Ok(())
    }

    /// Executes and records a load of matrices: each lane receives two numbers of every one.
    #[inline(never)]
    pub(super) fn load_matrix(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        (pc, mask): (u32, u32),
        number: u32,
    ) -> Result<(), Fault> {
        let matrices = &self.kernel.tables.matrices[number as usize];
        let access = &self.kernel.tables.accesses[matrices.row as usize];
        let rows = 8 * matrices.count;
        let with_rows = (u64::from(u32::MAX) >> (32 - rows)) as u32;
        let mut addresses = self.addresses(wavefront, &access.address);
        let parts = parts(access.address.region, with_rows, &mut addresses)?;
        let mut places = [0; 32];
        for part in &parts {
            for lane in lanes(part.mask) {
                let address = addresses[lane];
                if part.region != Region::Shared {
                    return Err(Fault::at(lane, FaultKind::NoSuchSpace { address }));
                }
                let size = shared.bytes.len() as u32;
                places[lane] = offset_in(part.region, lane, address, 16, size)?;
            }
        }
        let touch = Touch {
            pc,
            kind: AccessKind::Load,
            number: matrices.row,
        };
        self.reach(wavefront, shared, touch, &parts, &addresses);
        let half = |row: usize, column: usize| {
            let at = places[row] + 2 * column;
            u32::from(u16::from_le_bytes([shared.bytes[at], shared.bytes[at + 1]]))
        };
        for (matrix, &d) in matrices.registers[..matrices.count].iter().enumerate() {
            let value = |lane: usize| {
                let (across, along) = (lane / 4, 2 * (lane % 4));
                let first = 8 * matrix;
                if matrices.transposed {
                    half(first + along + 1, across) << 16 | half(first + along, across)
                } else {
                    half(first + across, along + 1) << 16 | half(first + across, along)
                }
            };
            let values = std::array::from_fn(value);
            wavefront.registers.put32_unless_discarded(d, mask, &values);
        }
        record(wavefront, pc, &parts, &addresses);
        Ok(())
    }

    /// Records the lanes that point into an allocation; a prefetch of any other address has no
    /// effect.
    pub(super) fn prefetch(&mut self, wavefront: &mut Wavefront, pc: u32, mask: u32, number: u32) {
        let access = &self.kernel.tables.accesses[number as usize];
        let addresses = self.addresses(wavefront, &access.address);
        let there = |lane: &usize| self.memory.device.window(addresses[*lane], 1).is_some();
        let there = lanes(mask).filter(there);
        match there.fold(0, |mask, lane| mask | 1 << lane) {
            0 => wavefront.writer.step(pc, mask),
            there => wavefront
                .writer
                .access(pc, there, Space::Global, false, &addresses),
        }
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
            && let part = (Part { region, mask })
            && self.memory.scatter(
                &self.data.constants,
                wavefront,
                shared,
                &part,
                access,
                &addresses,
            )
        {
            self.progress.take_effect();
            let space = region.space();
            wavefront.writer.access(pc, mask, space, false, &addresses);
            return Ok(());
        }
        let parts = parts(access.address.region, mask, &mut addresses)?;
        let touch = Touch {
            pc,
            kind: AccessKind::Store,
            number,
        };
        self.reach(wavefront, shared, touch, &parts, &addresses);
        for part in &parts {
            if part.mask != 0 {
                self.memory.store_part(
                    &self.data.constants,
                    wavefront,
                    shared,
                    part,
                    access,
                    &addresses,
                )?;
            }
        }
        self.progress.take_effect();
        if access.silent {
            wavefront.writer.step(pc, mask);
        } else {
            record(wavefront, pc, &parts, &addresses);
        }
        Ok(())
    }

    /// Executes and records an atomic. Kept out of line, which compiles to better code.
    #[inline(never)]
    pub(super) fn atomic(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        mask: u32,
        number: u32,
    ) -> Result<(), Fault> {
        let atomic = &self.kernel.tables.atomics[number as usize];
        let mut addresses = self.addresses(wavefront, &atomic.address);
        let parts = parts(atomic.address.region, mask, &mut addresses)?;
        let touch = Touch {
            pc,
            kind: AccessKind::Atomic,
            number,
        };
        self.reach(wavefront, shared, touch, &parts, &addresses);
        let constants = &self.data.constants;
        for part in &parts {
            let kind = atomic.kind.in_region(part.region);
            for lane in lanes(part.mask) {
                let address = addresses[lane];
                let bytes =
                    self.memory
                        .atomic_bytes(shared, part.region, lane, address, atomic.bytes)?;
                if execute(
                    atomic,
                    kind,
                    &mut wavefront.registers,
                    constants,
                    lane,
                    bytes,
                ) {
                    self.progress.take_effect();
                }
            }
        }
        let effect = self.progress.last_effect;
        wavefront.spin.touch((pc, mask), &addresses, effect);
        record(wavefront, pc, &parts, &addresses);
        Ok(())
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Executes and records an atomic on a vector, element after element.
    #[inline(never)]
    pub(super) fn atomic_vector(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        (pc, mask): (u32, u32),
        (first, count): (u32, u32),
    ) -> Result<(), Fault> {
        let atomics = &self.kernel.tables.atomics[first as usize..(first + count) as usize];
        let mut addresses = self.addresses(wavefront, &atomics[0].address);
        let parts = parts(atomics[0].address.region, mask, &mut addresses)?;
        let bytes = atomics[0].bytes;
        for part in &parts {
            for lane in lanes(part.mask) {
                let address = addresses[lane];
                if !matches!(part.region, Region::Global | Region::Generic) {
                    return Err(Fault::at(lane, FaultKind::NoSuchSpace { address }));
                }
                self.memory.device_index(lane, address, bytes * count)?;
            }
        }
        let mut old = [[0; 32]; 8];
        for ((at, atomic), old) in (0..).zip(atomics).zip(&mut old) {
            let addresses = addresses.map(|address| address.wrapping_add(u64::from(bytes) * at));
            let touch = Touch {
                pc,
                kind: AccessKind::Atomic,
                number: first + at as u32,
            };
            self.reach(wavefront, shared, touch, &parts, &addresses);
            for lane in lanes(mask) {
                let kind = atomic.kind.in_region(Region::Global);
                let place = self.memory.device_index(lane, addresses[lane], bytes)?;
                let place = &mut self.memory.device.data_mut()[place..place + bytes as usize];
                let given = operands(&wavefront.registers, &self.data.constants, atomic, lane);
                let before = read_bytes(place);
                let after = apply(kind, false, before, given.0, given.1);
                old[lane] = before as u32;
                if before != after {
                    write_bytes(place, after);
                    self.progress.take_effect();
                }
            }
        }
        // A destination may be the source of another element.
        for (atomic, old) in atomics.iter().zip(&old) {
            wavefront
                .registers
                .put32_unless_discarded(atomic.d, mask, old);
        }
        let effect = self.progress.last_effect;
        wavefront.spin.touch((pc, mask), &addresses, effect);
        record(wavefront, pc, &parts, &addresses);
        Ok(())
    }
}

/// Writes one trace record for each part that has lanes.
fn record(wavefront: &mut Wavefront, pc: u32, parts: &Parts, addresses: &[u64; 32]) {
    let mut left = parts.iter().filter(|part| part.mask != 0).count();
    for part in parts.iter().filter(|part| part.mask != 0) {
        left -= 1;
        wavefront
            .writer
            .access(pc, part.mask, part.region.space(), left > 0, addresses);
    }
}
