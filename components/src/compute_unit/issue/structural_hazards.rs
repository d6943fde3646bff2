//! Structural hazards: units that take nothing in a cycle, and the wavefronts that wait for them.

use warpweave_framework::Cycle;

use crate::compute_unit::accounting::IssueSlot;
use crate::compute_unit::datapath::Datapath;
use crate::compute_unit::issue_variant::{Limited, Variant};
use crate::compute_unit::limits::LATENCY_MAX;

/// Wavefronts that are ready except for an occupied unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StructuralHazards {
    /// Wavefronts blocked by a pipe or the register file.
    pub(crate) pipe: u64,
    pub(crate) local_memory: u64,
    pub(crate) load_store: u64,
}

impl StructuralHazards {
    /// Returns the hazards of a scheduler's wavefronts in cycle `now`. Register-file hazards are
    /// determined for `candidates` only.
    #[inline(always)]
    pub(crate) fn of<V: Variant>(
        scheduler: usize,
        candidates: u64,
        datapath: &Datapath,
        now: Cycle,
    ) -> Self {
        let wavefronts = &datapath.wavefronts;
        let mut hazards = Self {
            pipe: datapath.pipes.classes[scheduler].blocked(&wavefronts.masks().next_of_pipe, now),
            ..Self::default()
        };
        if datapath.pipes.local_memory.is_busy(now) {
            hazards.local_memory = wavefronts.masks().next_local;
        }
        if datapath.memory.is_full() {
            hazards.load_store = datapath.next_queues();
        }
        if !V::LIMITED {
            return hazards;
        }
        hazards.load_store |= datapath.memory.readonly.blocked_by_full_queue();
        if datapath.pipes.register_file.is_some() {
            hazards.pipe |= datapath.blocked_by_register_file(scheduler, candidates, now);
        }
        if datapath.memory.is_at_issue_limit(now) {
            hazards.load_store |= datapath.next_accesses();
        }
        hazards
    }

    /// Finds the hazards of `candidates` like [`StructuralHazards::of`]; there may be none of them.
    #[inline(always)]
    pub(crate) fn of_any<V: Variant>(
        scheduler: usize,
        candidates: u64,
        datapath: &Datapath,
        now: Cycle,
    ) -> Self {
        if candidates == 0 {
            return Self::default();
        }
        Self::of::<V>(scheduler, candidates, datapath, now)
    }

    /// Wavefronts that a unit keeps back.
    #[inline]
    pub(crate) fn all(self) -> u64 {
        self.pipe | self.local_memory | self.load_store
    }

    /// Returns the wavefronts blocked by more than one unit.
    #[inline]
    pub(crate) fn by_several(self) -> u64 {
        self.pipe & (self.local_memory | self.load_store) | self.local_memory & self.load_store
    }

    /// Returns the reason why none of `candidates` issues; there must be at least one.
    #[inline]
    pub(crate) fn reason(self, candidates: u64) -> IssueSlot {
        if candidates & self.pipe != 0 {
            IssueSlot::PipeBusy
        } else if candidates & self.local_memory != 0 {
            IssueSlot::LocalMemoryBusy
        } else {
            IssueSlot::LoadStoreFull
        }
    }

    /// Returns the first cycle at or after `from` in which a candidate can issue or the stall
    /// `reason` changes. Considers only changes due to time.
    #[inline(never)]
    pub(crate) fn first_change(
        scheduler: usize,
        candidates: u64,
        reason: IssueSlot,
        datapath: &Datapath,
        from: Cycle,
    ) -> Option<Cycle> {
        let pipes = &datapath.pipes;
        let classes = &pipes.classes[scheduler];
        let mut until = pipes.local_memory.free_at().max(classes.all_free_at());
        if let Some(file) = &pipes.register_file {
            until = until.max(file.settled_at(from, datapath.have_results(candidates)));
        }
        // In a valid state no unit is occupied for longer than an interval or a result latency.
        let longest = u64::from(LATENCY_MAX).max(pipes.wheel.horizon());
        (from..=until.min(from + longest)).find(|at| {
            let hazards = Self::of::<Limited>(scheduler, candidates, datapath, *at);
            candidates & !hazards.all() != 0 || hazards.reason(candidates) != reason
        })
    }
}
