//! Attribution of every issue slot to an instruction or a stall reason.

pub(crate) mod by_level;
pub(crate) mod issue_counts;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, Statistics};

use crate::compute_unit::accounting::by_level::ByLevel;
use crate::compute_unit::unit_kind::UnitKind;
use crate::memory::Level;
use crate::roles;

/// Outcome of one scheduler cycle: an issued instruction or a stall reason.
///
/// A slot in which nothing issued is charged to the first reason in this order that applies to any
/// wavefront of the scheduler. The order begins with the reasons closest to issuing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IssueSlot {
    /// The scheduler issued at least one instruction.
    Issued,
    /// A wavefront is ready except for the issue interval of its class or the register file.
    PipeBusy,
    /// A wavefront is ready, but the local memory is serving bank conflicts.
    LocalMemoryBusy,
    /// A wavefront is ready, but the load/store queue or the queue of constants or textures is
    /// full.
    LoadStoreFull,
    /// The scheduling policy holds back a wavefront that is ready, possibly except for a busy unit.
    Throttled,
    /// A wavefront waits only for its next instruction to be fetched.
    Fetch,
    /// Waits for a result of an execution unit, of local memory, or of constant memory with a fixed
    /// latency.
    Scoreboard,
    /// Waits for load data, including constant and texture reads that left the unit, or waits at a
    /// fence for stores.
    Memory,
    /// Waits for the latency of a start, branch, fence, exit or barrier release.
    Control,
    /// All remaining wavefronts wait at a barrier.
    Barrier,
    /// All remaining wavefronts have ended, but their work-groups have not.
    Ended,
    /// No wavefront is resident on the scheduler.
    NoWavefront,
}

/// Names, units and meanings of the sub-counts of some reasons; those of memory, by level, come
/// first.
const PARTS: [(&str, &str, &str); 6] = [
    ("memory_slots_L1", "slots", FROM_LEVEL),
    ("memory_slots_Coalesced", "slots", FROM_LEVEL),
    ("memory_slots_L2", "slots", FROM_LEVEL),
    ("memory_slots_Dram", "slots", FROM_LEVEL),
    (
        "no_wavefront_slots_launch",
        "slots",
        "slots without a wavefront before the first one arrived, while no kernel was finishing on other units: launch and dispatch",
    ),
    (
        "no_wavefront_slots_tail",
        "slots",
        "slots without a wavefront while a kernel was finishing on other units",
    ),
];
const FROM_LEVEL: &str =
    "memory-stall slots, by the level (in the name) whose response ended the wait";

/// Sub-counts of issued slots by kind of unit, in the order of [`UnitKind`].
const ISSUED: [(&str, &str, &str); UnitKind::COUNT] = [
    ("issued_slots_integer", "slots", ISSUED_FOR),
    ("issued_slots_single", "slots", ISSUED_FOR),
    ("issued_slots_double", "slots", ISSUED_FOR),
    ("issued_slots_special", "slots", ISSUED_FOR),
    ("issued_slots_memory", "slots", ISSUED_FOR),
    ("issued_slots_control", "slots", ISSUED_FOR),
];
const ISSUED_FOR: &str = "issuing slots, by the units (in the name) of their first instruction: integer, single precision with conversions, shuffles and votes, double precision, special functions, memory, or control";

/// Names, units and meanings of the reasons, in order of [`IssueSlot`].
const NAMES: [(&str, &str, &str); 12] = [
    (
        "slots_issued",
        "slots",
        "issue slots that issued an instruction",
    ),
    (
        "slots_pipe_busy",
        "slots",
        "issue slots lost because a ready wavefront was blocked by the issue interval of its class or by the register file",
    ),
    (
        "slots_local_memory_busy",
        "slots",
        "issue slots lost because a ready wavefront was blocked by bank conflicts in local memory",
    ),
    (
        "slots_load_store_full",
        "slots",
        "issue slots lost because a ready wavefront was blocked by a full load/store, constant or texture queue",
    ),
    (
        "slots_throttled",
        "slots",
        "issue slots lost because the scheduler throttled a wavefront that was otherwise ready",
    ),
    (
        "slots_fetch",
        "slots",
        "issue slots lost because a wavefront waited only for an instruction fetch",
    ),
    (
        "slots_scoreboard",
        "slots",
        "issue slots lost waiting for a result of an execution unit, of local memory, or of constant memory at a fixed latency",
    ),
    (
        "slots_memory",
        "slots",
        "issue slots lost waiting for load data, or for stores at a fence",
    ),
    (
        "slots_control",
        "slots",
        "issue slots lost to the latency of a wavefront start, branch, fence, exit or barrier release",
    ),
    (
        "slots_barrier",
        "slots",
        "issue slots lost because every remaining wavefront waited at a barrier",
    ),
    (
        "slots_ended",
        "slots",
        "issue slots lost because every remaining wavefront had ended, but not its work-group",
    ),
    (
        "slots_no_wavefront",
        "slots",
        "issue slots lost because the scheduler had no wavefront",
    ),
];

/// Charges every cycle of every scheduler exactly once, including cycles in which the unit sleeps.
///
/// The level that ends a memory wait, and the cause of a time without wavefronts, are known only at
/// its end. Slots of these two reasons are charged when lost and *settled* later. The end of the
/// wait attributes all unsettled slots of the scheduler to one sub-count. Both counts therefore
/// only grow, and do not depend on how long the unit slept.
///
/// Cycles are charged in runs: consecutive cycles with one reason are added when the reason
/// changes.
#[derive(State)]
pub(crate) struct Accounting {
    /// Charges by scheduler; entries beyond `schedulers` are unused.
    #[state(tally)]
    charges: [Charges; SCHEDULERS_MAX],
    #[state(skip)]
    schedulers: usize,
    /// Cycle after the last evaluation of the unit.
    #[state(tally)]
    evaluated_to: Cycle,
    #[state(tally)]
    settled: Settled,
}

const SCHEDULERS_MAX: usize = 8;

/// Slot counts of one scheduler by reason.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Charges {
    /// Counts by reason, without the current run.
    counts: Counts,
    /// Reason of the current run; `since` is its first cycle.
    reason: IssueSlot,
    since: Cycle,
}

impl Charges {
    /// Returns the number of cycles before `now` charged to a reason.
    fn of(&self, reason: IssueSlot, now: Cycle) -> u64 {
        let counted = self.counts[reason as usize];
        if reason == self.reason {
            counted + now.saturating_sub(self.since)
        } else {
            counted
        }
    }
}

type Counts = [u64; NAMES.len()];

/// Attribution that becomes known only after slots were charged.
#[derive(Default, Serialize, Deserialize)]
struct Settled {
    /// Settled slots by scheduler: those lost to memory here, those without a wavefront in
    /// `no_wavefront`.
    memory: [u64; SCHEDULERS_MAX],
    no_wavefront: [u64; SCHEDULERS_MAX],
    /// Slots lost to memory, by the level whose response ended the wait.
    by_level: ByLevel<u64>,
    /// Slots without a wavefront that ended with the arrival of one.
    launch: u64,
    /// Slots without a wavefront while a kernel was still running elsewhere.
    tail: u64,
}

impl Accounting {
    pub(crate) fn new(schedulers: usize) -> Self {
        Self {
            charges: [Charges {
                counts: [0; NAMES.len()],
                reason: IssueSlot::NoWavefront,
                since: 0,
            }; SCHEDULERS_MAX],
            schedulers,
            evaluated_to: 0,
            settled: Settled::default(),
        }
    }

    /// Notes that the unit is evaluated in cycle `now`.
    #[inline]
    pub(crate) fn begin(&mut self, now: Cycle) {
        self.evaluated_to = now + 1;
    }

    /// Charges slots of the scheduler to `reason` from cycle `from` until the next call.
    #[inline(always)]
    pub(crate) fn charge(&mut self, scheduler: usize, reason: IssueSlot, from: Cycle) {
        if self.charges[scheduler % SCHEDULERS_MAX].reason as u8 != reason as u8 {
            self.begin_stretch(scheduler, reason, from);
        }
    }

    fn begin_stretch(&mut self, scheduler: usize, reason: IssueSlot, from: Cycle) {
        let charges = &mut self.charges[scheduler % SCHEDULERS_MAX];
        charges.counts[charges.reason as usize] += from - charges.since;
        charges.reason = reason;
        charges.since = from;
    }

    /// True if slots of the scheduler are charged to an occupied unit under a reason other than
    /// this one.
    #[inline]
    pub(crate) fn is_otherwise_occupied(&self, scheduler: usize, reason: IssueSlot) -> bool {
        let charged = self.charges[scheduler % SCHEDULERS_MAX].reason;
        let occupied = matches!(
            charged,
            IssueSlot::PipeBusy | IssueSlot::LocalMemoryBusy | IssueSlot::LoadStoreFull
        );
        occupied && charged != reason
    }

    /// Settles memory slots when a wavefront of the scheduler resumes in cycle `now`; `level`
    /// supplied the response.
    pub(crate) fn memory_answered(&mut self, scheduler: usize, level: Level, now: Cycle) {
        let lost = self.charges[scheduler].of(IssueSlot::Memory, now);
        let settled = std::mem::replace(&mut self.settled.memory[scheduler], lost);
        *self.settled.by_level.of(level) += lost - settled;
    }

    /// Settles empty slots when the scheduler receives a wavefront in cycle `now`.
    pub(crate) fn wavefront_came(&mut self, scheduler: usize, now: Cycle) {
        self.settled.launch += self.unsettled_without_wavefront(scheduler, now);
    }

    /// Settles empty slots when a kernel has ended on the whole device after `ran` cycles; the unit
    /// is notified in cycle `now`.
    pub(crate) fn kernel_ended(&mut self, ran: u64, now: Cycle) {
        for scheduler in 0..self.schedulers {
            // One run of cycles up to now, which began when the last wavefront left or at the last
            // settlement.
            let lost = self.unsettled_without_wavefront(scheduler, now);
            let tail = lost.min(ran);
            self.settled.tail += tail;
            self.settled.launch += lost - tail;
        }
    }

    /// Settles the scheduler's slots without a wavefront and returns their number.
    fn unsettled_without_wavefront(&mut self, scheduler: usize, now: Cycle) -> u64 {
        let lost = self.charges[scheduler].of(IssueSlot::NoWavefront, now);
        lost - std::mem::replace(&mut self.settled.no_wavefront[scheduler], lost)
    }

    /// Returns the cycle after the last evaluation.
    pub(crate) fn evaluated_to(&self) -> Cycle {
        self.evaluated_to
    }

    /// Reports the counts, without those of `absent` features. `issued` has the issued slots by
    /// kind of unit.
    pub(crate) fn report(
        &self,
        absent: &[IssueSlot],
        issued: &[u64; UnitKind::COUNT],
        statistics: &mut Statistics<'_>,
    ) {
        let cycle = statistics.cycle();
        let mut sums = Counts::default();
        for charges in &self.charges[..self.schedulers] {
            for (sum, count) in sums.iter_mut().zip(&charges.counts) {
                *sum += count;
            }
            sums[charges.reason as usize] += cycle.saturating_sub(charges.since);
        }
        let is_absent = |slot: usize| absent.iter().any(|absent| *absent as usize == slot);
        let mut first = 0;
        for slot in 0..=NAMES.len() {
            if slot == NAMES.len() || is_absent(slot) {
                let statistics = statistics.role(roles::ISSUE_SLOTS);
                statistics.counters(&NAMES[first..slot], &sums[first..slot]);
                first = slot + 1;
            }
        }
        statistics
            .role(roles::ISSUE_SLOT_PARTS)
            .counters(&ISSUED, issued);
        let mut parts = [0; PARTS.len()];
        let [by_level @ .., launch, tail] = &mut parts;
        for ((part, (level, slots)), (name, ..)) in by_level
            .iter_mut()
            .zip(self.settled.by_level.iter())
            .zip(PARTS)
        {
            debug_assert!(name.ends_with(level.name()), "{name} belongs to {level:?}");
            *part = *slots;
        }
        (*launch, *tail) = (self.settled.launch, self.settled.tail);
        statistics
            .role(roles::ISSUE_SLOT_PARTS)
            .counters(&PARTS, &parts);
        // Levels that not every system has.
        for (level, slots) in self.settled.by_level.iter().skip(PARTS.len() - 2) {
            statistics.under("memory_slots", |s| {
                s.role(roles::ISSUE_SLOT_PARTS)
                    .counter(level.name(), "slots", FROM_LEVEL, *slots);
            });
        }
    }
}
