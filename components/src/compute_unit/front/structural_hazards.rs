//! Units that take nothing in a cycle, and the wavefronts that wait for them.

use warpweave_framework::Cycle;

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::accounting::IssueSlot;
use crate::compute_unit::front::issue_variant::{LIMITED, is_plain};
use crate::compute_unit::limits::LATENCY_MAX;
use crate::compute_unit::spec::MemoryPipe;

/// Wavefronts that could issue but for a unit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Occupied {
    /// A pipe, or the register file.
    pub(crate) pipe: u64,
    pub(crate) local_memory: u64,
    pub(crate) load_store: u64,
}

impl Occupied {
    #[inline]
    pub(crate) fn all(self) -> u64 {
        self.pipe | self.local_memory | self.load_store
    }

    /// Those that more than one unit keeps back.
    #[inline]
    pub(crate) fn by_two(self) -> u64 {
        self.pipe & (self.local_memory | self.load_store) | self.local_memory & self.load_store
    }

    /// Why none of `candidates`, of which there are some, issues.
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
}

impl ComputeUnit {
    /// Wavefronts whose next instruction needs the local memory or a place in the load/store queue, as far as these take
    /// nothing in cycle `now`.
    #[inline(always)]
    pub(crate) fn behind_memories(&self, now: Cycle) -> u64 {
        let mut behind = 0;
        if self.local_memory_free_at > now {
            behind = self.masks.next_local;
        }
        if self.load_store.is_full() {
            behind |= self.next_queues();
        }
        behind
    }

    /// Wavefronts whose next instruction needs a unit that takes nothing in cycle `now`. Of those that the register
    /// file keeps back, `candidates` alone are known.
    #[inline(always)]
    pub(crate) fn occupied_units<const WAY: u8>(
        &self,
        scheduler: usize,
        candidates: u64,
        now: Cycle,
    ) -> Occupied {
        let mut occupied = Occupied {
            pipe: self.issuers[scheduler].behind_pipes(&self.next_of_pipe, now),
            ..Occupied::default()
        };
        if self.local_memory_free_at > now {
            occupied.local_memory = self.masks.next_local;
        }
        if self.load_store.is_full() {
            occupied.load_store = self.next_queues();
        }
        if is_plain(WAY) {
            return occupied;
        }
        occupied.load_store |= self.read_paths.behind_full();
        if let Some(file) = &self.register_file {
            occupied.pipe |= self.behind_register_file(file, scheduler, candidates, now);
        }
        if let Some(most) = self.spec.load_store.issues_per_cycle
            && self.accesses_issued.0 == now
            && self.accesses_issued.1 >= most
        {
            occupied.load_store |= self.masks.next_load_store | self.masks.next_local;
            occupied.load_store |= self.read_paths.next();
        }
        occupied
    }

    /// Wavefronts whose next instruction needs a place in the load/store queue.
    #[inline]
    pub(crate) fn next_queues(&self) -> u64 {
        match self.spec.load_store.pipe {
            MemoryPipe::Separate => self.masks.next_load_store,
            MemoryPipe::InOrder => self.masks.next_load_store | self.masks.next_local,
        }
    }

    /// The first cycle from `from` on in which one of `candidates` can issue, or all of them are kept back for another
    /// `reason`, as far as time alone decides.
    #[inline(never)]
    pub(crate) fn first_change(
        &self,
        scheduler: usize,
        candidates: u64,
        reason: IssueSlot,
        from: Cycle,
    ) -> Option<Cycle> {
        let pipes = self.issuers[scheduler].free_at.iter().max();
        let mut until = self.local_memory_free_at.max(*pipes.unwrap_or(&0));
        if let Some(file) = &self.register_file {
            until = until.max(file.settled_at(from, self.have_results(candidates)));
        }
        // A unit that was not read from a damaged file takes nothing for longer than an interval or a result.
        let longest = u64::from(LATENCY_MAX).max(self.wheel.horizon());
        (from..=until.min(from + longest)).find(|at| {
            let occupied = self.occupied_units::<LIMITED>(scheduler, candidates, *at);
            candidates & !occupied.all() != 0 || occupied.reason(candidates) != reason
        })
    }

    /// The first cycle after `now` in which a pipe of the scheduler that a candidate needs is free.
    pub(crate) fn next_free_pipe(&self, scheduler: usize, candidates: u64, now: Cycle) -> Cycle {
        let issuer = &self.issuers[scheduler];
        let mut first = Cycle::MAX;
        let mut busy = issuer.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let needed = self.next_of_pipe[pipe] & candidates != 0;
            if needed && issuer.free_at[pipe] > now {
                first = first.min(issuer.free_at[pipe]);
            }
        }
        first
    }
}
