//! The local memory: one access at a time, for as many cycles as its banks conflict.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, Statistics};
use warpweave_trace::Lanes;

use super::bank_conflicts::BankConflicts;

/// The local memory of a unit.
#[derive(State, Statistics)]
pub(crate) struct LocalMemory {
    #[state(skip)]
    conflicts: BankConflicts,
    /// Takes the next access in this cycle.
    free_at: Cycle,
    #[statistic(flatten)]
    counts: LocalMemoryCounts,
}

/// Counters of the local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Statistics)]
struct LocalMemoryCounts {
    /// accesses of wavefronts to local memory
    #[statistic(name = "local_accesses", unit = "accesses")]
    accesses: u64,
    /// cycles of local memory lost to bank conflicts
    #[statistic(name = "local_conflict_cycles", unit = "cycles")]
    conflict_cycles: u64,
}

impl LocalMemory {
    pub(crate) fn new(banks: u32) -> Self {
        Self {
            conflicts: BankConflicts::new(banks),
            free_at: 0,
            counts: LocalMemoryCounts::default(),
        }
    }

    /// Counts an access; the cycles for which it occupies the memory.
    #[inline(always)]
    pub(crate) fn conflict_cycles(
        &mut self,
        lanes: &Lanes,
        mask: u32,
        bytes: u32,
        is_atomic: bool,
    ) -> u32 {
        let cycles = self.conflicts.cycles(lanes, mask, bytes, is_atomic);
        self.counts.accesses += 1;
        self.counts.conflict_cycles += u64::from(cycles - 1);
        cycles
    }

    /// Takes nothing before cycle `until`.
    #[inline]
    pub(crate) fn occupy(&mut self, until: Cycle) {
        self.free_at = until;
    }

    /// Returns true if no access can begin in cycle `now`.
    #[inline]
    pub(crate) fn is_busy(&self, now: Cycle) -> bool {
        self.free_at > now
    }

    #[inline]
    pub(crate) fn free_at(&self) -> Cycle {
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use warpweave_trace::Shape;

    use super::*;

    #[test]
    fn an_access_occupies_the_memory_for_its_conflict_cycles() {
        let mut memory = LocalMemory::new(32);
        let lanes = Lanes {
            shape: Shape::Stride { base: 0, step: 8 },
            ..Lanes::default()
        };
        let cycles = memory.conflict_cycles(&lanes, u32::MAX, 4, false);
        memory.occupy(10 + u64::from(cycles));
        assert_eq!([11, 12].map(|now| memory.is_busy(now)), [true, false]);
        let counts = LocalMemoryCounts {
            accesses: 1,
            conflict_cycles: 1,
        };
        assert_eq!(memory.counts, counts);
    }
}
