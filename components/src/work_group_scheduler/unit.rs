//! Resource account of one compute unit, kept by the scheduler exactly.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use warpweave_framework::Id;

use crate::occupancy::{PARTITIONS_MAX, UnitLimits, WorkGroupNeeds};

/// Free resources and residents of one compute unit.
///
/// Each wavefront takes its registers from the partition with the most free ones (ties: the first).
/// Work-groups of a single kernel then fill a unit exactly to its occupancy.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Unit {
    /// Bit mask of the free work-group slots.
    free_slots: u64,
    free_wavefronts: u32,
    free_local_bytes: u64,
    /// Number of free registers in each partition.
    free_registers: ArrayVec<u64, PARTITIONS_MAX>,
    /// Resident work-group in each slot, if any.
    residents: Vec<Option<Resident>>,
}

/// A work-group on a unit and the resources it holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Resident {
    pub(super) kernel: Id,
    /// Number of the work-group in the trace.
    pub(super) body: u32,
    wavefronts: u32,
    local_bytes: u64,
    /// Number of registers taken from each partition.
    registers: ArrayVec<u64, PARTITIONS_MAX>,
}

impl Unit {
    pub(super) fn new(limits: &UnitLimits) -> Self {
        let partition = u64::from(limits.registers_per_partition());
        Self {
            free_slots: u64::MAX >> (64 - limits.work_group_slots),
            free_wavefronts: limits.wavefront_slots,
            free_local_bytes: u64::from(limits.local_memory_bytes),
            free_registers: (0..limits.register_partitions).map(|_| partition).collect(),
            residents: vec![None; limits.work_group_slots as usize],
        }
    }

    /// Returns the number of work-groups on the unit.
    pub(super) fn resident(&self) -> u32 {
        self.residents.len() as u32 - self.free_slots.count_ones()
    }

    /// Returns how many more work-groups with these needs fit now.
    pub(super) fn room(&self, limits: &UnitLimits, needs: &WorkGroupNeeds) -> u32 {
        let wavefronts = u64::from(needs.wavefronts);
        let slots = u64::from(self.free_slots.count_ones());
        let by_wavefronts = u64::from(self.free_wavefronts) / wavefronts;
        let by_local = self
            .free_local_bytes
            .checked_div(needs.local_bytes)
            .unwrap_or(slots);
        let per_wavefront = limits.registers_per_wavefront(needs.registers_per_thread);
        let by_registers = if per_wavefront == 0 {
            slots
        } else {
            let fit: u64 = self.free_registers.iter().map(|f| f / per_wavefront).sum();
            fit / wavefronts
        };
        slots.min(by_wavefronts).min(by_local).min(by_registers) as u32
    }

    /// Returns the slot that the next work-group takes, the lowest free one.
    pub(super) fn next_slot(&self) -> u16 {
        self.free_slots.trailing_zeros() as u16
    }

    /// Allocates the resources of a work-group and returns its slot ([`Unit::next_slot`]).
    ///
    /// # Panics
    /// Panics if there is no [`Unit::room`].
    pub(super) fn start(
        &mut self,
        limits: &UnitLimits,
        needs: &WorkGroupNeeds,
        kernel: Id,
        body: u32,
    ) -> u16 {
        assert!(
            self.room(limits, needs) > 0,
            "work-groups are started only where they fit"
        );
        let slot = usize::from(self.next_slot());
        self.free_slots &= self.free_slots - 1;
        self.free_wavefronts -= needs.wavefronts;
        self.free_local_bytes -= needs.local_bytes;
        let per_wavefront = limits.registers_per_wavefront(needs.registers_per_thread);
        let mut registers: ArrayVec<u64, PARTITIONS_MAX> =
            self.free_registers.iter().map(|_| 0).collect();
        for _ in 0..needs.wavefronts {
            let partition = self.emptiest_partition();
            self.free_registers[partition] -= per_wavefront;
            registers[partition] += per_wavefront;
        }
        self.residents[slot] = Some(Resident {
            kernel,
            body,
            wavefronts: needs.wavefronts,
            local_bytes: needs.local_bytes,
            registers,
        });
        slot as u16
    }

    fn emptiest_partition(&self) -> usize {
        let mut best = 0;
        for (partition, &free) in self.free_registers.iter().enumerate() {
            if free > self.free_registers[best] {
                best = partition;
            }
        }
        best
    }

    /// Returns the work-group resident in a slot, if any.
    pub(super) fn resident_in(&self, slot: u16) -> Option<&Resident> {
        self.residents.get(usize::from(slot))?.as_ref()
    }

    /// Returns the work-groups on the unit, by slot.
    pub(super) fn residents(&self) -> impl Iterator<Item = &Resident> {
        self.residents.iter().flatten()
    }

    /// Frees the resources of the work-group in a slot.
    pub(super) fn end(&mut self, slot: u16) {
        let Some(resident) = self.residents[usize::from(slot)].take() else {
            return;
        };
        self.free_slots |= 1 << slot;
        self.free_wavefronts += resident.wavefronts;
        self.free_local_bytes += resident.local_bytes;
        for (free, taken) in self.free_registers.iter_mut().zip(resident.registers) {
            *free += taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(register_partitions: u32) -> UnitLimits {
        UnitLimits {
            wavefront_slots: 48,
            work_group_slots: 8,
            registers: 32768,
            register_partitions,
            register_granularity: 64,
            local_memory_bytes: 16384,
        }
    }

    #[test]
    fn slots_are_handed_out_lowest_first() {
        let limits = limits(1);
        let needs = WorkGroupNeeds {
            wavefronts: 2,
            registers_per_thread: 16,
            local_bytes: 0,
        };
        let mut unit = Unit::new(&limits);
        let start = |unit: &mut Unit| unit.start(&limits, &needs, Id::default(), 0);
        let first: Vec<_> = (0..4).map(|_| start(&mut unit)).collect();
        assert_eq!(first, [0, 1, 2, 3]);
        unit.end(2);
        unit.end(1);
        assert_eq!(
            [start(&mut unit), start(&mut unit), start(&mut unit)],
            [1, 2, 4]
        );
    }

    proptest! {
        #[test]
        fn one_kernel_alone_fills_a_unit_to_its_occupancy_and_leaves_it_empty(
            wavefronts in 1_u32..20,
            registers_per_thread in 0_u32..120,
            local_bytes in 0_u64..16_000,
            partitions in prop::sample::select(vec![1_u32, 2, 4, 8]),
        ) {
            let limits = limits(partitions);
            let needs = WorkGroupNeeds { wavefronts, registers_per_thread, local_bytes };
            let expected = limits.occupancy(&needs).work_groups;
            let mut unit = Unit::new(&limits);
            for left in (0..expected).rev() {
                unit.start(&limits, &needs, Id::default(), 0);
                prop_assert_eq!(unit.room(&limits, &needs), left);
            }
            prop_assert_eq!(unit.resident(), expected);
            for slot in 0..expected {
                unit.end(slot as u16);
            }
            prop_assert_eq!(unit.room(&limits, &needs), expected);
            prop_assert_eq!(unit.resident(), 0);
        }
    }
}
