//! Where every issue slot went.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, Statistics};

use crate::roles;

/// What became of one cycle of one scheduler.
///
/// A slot in which nothing issued is charged to the first reason in this order that any of the
/// scheduler's wavefronts has: the reason nearest to issuing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IssueSlot {
    /// An instruction issued.
    Issued,
    /// A wavefront could issue but for the initiation interval of its class.
    PipeBusy,
    /// A wavefront could issue, but the local memory serves bank conflicts.
    LocalMemoryBusy,
    /// A wavefront could issue, but the load/store queue is full.
    LoadStoreFull,
    /// A wavefront is held back by the policy of the scheduler alone, or by that and a busy unit.
    HeldBack,
    /// A wait for a result of an execution unit, local or constant memory.
    Scoreboard,
    /// A wait for load data, or of a fence for stores.
    Memory,
    /// The latency of a start, branch, fence, exit or barrier release.
    Control,
    /// Every wavefront left waits at a barrier.
    Barrier,
    /// Every wavefront left has ended and its work-group has not.
    Ended,
    /// The scheduler has no wavefront.
    NoWavefront,
}

/// Name and meaning of each, in order.
const NAMES: [(&str, &str, &str); 11] = [
    (
        "slots_issued",
        "slots",
        "issue slots that issued an instruction",
    ),
    (
        "slots_pipe_busy",
        "slots",
        "issue slots lost because a wavefront could issue but for the initiation interval of its class",
    ),
    (
        "slots_local_memory_busy",
        "slots",
        "issue slots lost because a wavefront could issue but the local memory serves bank conflicts",
    ),
    (
        "slots_load_store_full",
        "slots",
        "issue slots lost because a wavefront could issue but the load/store queue is full",
    ),
    (
        "slots_held_back",
        "slots",
        "issue slots lost because the scheduler held back a wavefront that waited for nothing of its own",
    ),
    (
        "slots_scoreboard",
        "slots",
        "issue slots lost to a wait for a result of an execution unit, local or constant memory",
    ),
    (
        "slots_memory",
        "slots",
        "issue slots lost to a wait for load data, or of a fence for stores",
    ),
    (
        "slots_control",
        "slots",
        "issue slots lost to the latency of a start, branch, fence, exit or barrier release",
    ),
    (
        "slots_barrier",
        "slots",
        "issue slots lost because every wavefront left waits at a barrier",
    ),
    (
        "slots_ended",
        "slots",
        "issue slots lost because every wavefront left has ended and its work-group has not",
    ),
    (
        "slots_no_wavefront",
        "slots",
        "issue slots lost because the scheduler had no wavefront",
    ),
];

/// Charges every cycle of every scheduler once, slept cycles included.
pub(super) struct Accounting {
    counts: [u64; NAMES.len()],
    /// Cycles below this one are charged.
    charged_to: Cycle,
    /// Per scheduler what the cycles of a sleep are charged to.
    asleep: ArrayVec<IssueSlot, 8>,
}

impl Accounting {
    pub(super) fn new(schedulers: usize) -> Self {
        Self {
            counts: [0; NAMES.len()],
            charged_to: 0,
            asleep: (0..schedulers).map(|_| IssueSlot::NoWavefront).collect(),
        }
    }

    /// Charges the cycles slept before `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Cycle) {
        let slept = now - self.charged_to;
        if slept > 0 {
            for slot in &self.asleep {
                self.counts[*slot as usize] += slept;
            }
        }
        // The caller charges `now` itself.
        self.charged_to = now + 1;
    }

    /// Charges one slot of the cycle under way.
    #[inline]
    pub(super) fn charge(&mut self, slot: IssueSlot) {
        self.counts[slot as usize] += 1;
    }

    /// What the cycles after this one are charged to until the next evaluation.
    #[inline]
    pub(super) fn sleep(&mut self, scheduler: usize, slot: IssueSlot) {
        self.asleep[scheduler] = slot;
    }

    /// Names the counts, which are those of the last evaluation until the next one catches up.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.tally("counts", &mut self.counts);
        state.tally("charged_to", &mut self.charged_to);
        state.tally("asleep", &mut self.asleep);
    }

    /// The first cycle that is not charged.
    pub(super) fn charged_to(&self) -> Cycle {
        self.charged_to
    }

    /// Reports the counts; those of wavefronts held back only where a policy may do so.
    pub(super) fn report(&self, is_open: bool, statistics: &mut Statistics<'_>) {
        let mut counts = self.counts;
        let slept = statistics.cycle().saturating_sub(self.charged_to);
        for slot in &self.asleep {
            counts[*slot as usize] += slept;
        }
        let held_back = IssueSlot::HeldBack as usize;
        let parts = if is_open {
            [0..NAMES.len(), 0..0]
        } else {
            [0..held_back, held_back + 1..NAMES.len()]
        };
        for part in parts {
            let statistics = statistics.role(roles::ISSUE_SLOTS);
            statistics.counters(&NAMES[part.clone()], &counts[part]);
        }
    }
}
