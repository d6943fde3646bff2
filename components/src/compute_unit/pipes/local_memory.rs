//! The local memory: one access at a time, for as many cycles as its banks conflict.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, Statistics};
use warpweave_trace::Lanes;

use super::bank_conflicts::BankConflicts;
use crate::compute_unit::spec::LocalMemorySpec;
use crate::memory::RequestKind;

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
    pub(crate) fn new(spec: &LocalMemorySpec) -> Self {
        Self {
            conflicts: BankConflicts::new(spec.banks, spec.wide),
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
        kind: RequestKind,
    ) -> u32 {
        let cycles = self.conflicts.cycles(lanes, mask, bytes, kind);
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
    use crate::compute_unit::spec::WideAccesses;

    #[test]
    fn an_access_occupies_the_memory_for_its_conflict_cycles() {
        let mut memory = LocalMemory::new(&LocalMemorySpec {
            bytes: 4096,
            banks: 32,
            latency: 10,
            conflict_latency: 1,
            wide: WideAccesses::Words,
            shared_with_cache: None,
        });
        let lanes = Lanes {
            shape: Shape::Stride { base: 0, step: 8 },
            ..Lanes::default()
        };
        let cycles = memory.conflict_cycles(&lanes, u32::MAX, 4, RequestKind::Read);
        memory.occupy(10 + u64::from(cycles));
        assert_eq!([11, 12].map(|now| memory.is_busy(now)), [true, false]);
        let counts = LocalMemoryCounts {
            accesses: 1,
            conflict_cycles: 1,
        };
        assert_eq!(memory.counts, counts);
    }
}
