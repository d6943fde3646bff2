//! The wavefront scheduler as a trait: what a policy of any crate is told and asked.

use warpweave_framework::{Cycle, State, Statistics};
use warpweave_trace::Class;

use super::AgeMatrix;
use crate::compute_unit::accounting::IssueSlot;
use crate::memory::CacheEvent;

/// A wavefront scheduler: what a policy of any crate is told and asked.
///
/// # What happens in a cycle
///
/// ```text
///   responses arrive      response
///   cache events arrive   event
///   a dispatch is taken   arrive, once per wavefront
///   issue                 throttled ──► pick ──► issued      or      stalled
///                         (leave, when an instruction was the last of its wavefront)
///   the unit may sleep    throttled for the next cycle, throttle_changes
/// ```
///
/// Questions (`throttled`, `pick`, `throttle_changes`) change nothing and may be asked any number of times. What
/// is told changes the policy. `arrive`, `leave`, `response` and `event` are told to every scheduler
/// of the unit, whosever slot it is, so that each can know the whole unit; `pick`, `issued` and
/// `stalled` concern the scheduler's own slots.
///
/// # Time
///
/// A unit in which nothing can happen sleeps, and must behave as one that is kept awake. So a policy
/// changes only by what it is told, and what fades with time is kept in closed form: a value and the
/// cycle since which it fades. When its answer to `throttled` changes with time alone, `throttle_changes` says
/// in which cycle.
pub trait WavefrontScheduler: Send {
    /// Chooses who issues: one of `ready`, which is not empty and holds only slots of this scheduler
    /// that are not held back and whose instruction can issue now.
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize;

    /// Which wavefronts may not issue in cycle `view.now`, even though they could. Slots of other
    /// schedulers may be among them; they are not looked at.
    fn throttled(&self, _view: &SchedulerView<'_>) -> Throttled {
        Throttled::default()
    }

    /// The next cycle after `view.now` in which the answer of [`throttled`](Self::throttled) may be
    /// another for a wavefront that is open, without anything being told and with the same masks.
    /// Too early a cycle does no harm but takes host time; too late a one lets the unit sleep
    /// through its turn.
    fn throttle_changes(&self, _view: &SchedulerView<'_>) -> Option<Cycle> {
        None
    }

    /// A wavefront was placed on the unit, the wavefronts of a work-group in their order. It is
    /// younger than all others.
    fn arrive(&mut self, _arrival: &Arrival, _view: &SchedulerView<'_>) {}

    /// The wavefront in `slot` has ended and issues nothing more. Answers to its loads may still
    /// come; then, when its whole work-group has ended, the slot is given away.
    fn leave(&mut self, _slot: usize, _view: &SchedulerView<'_>) {}

    /// The last answer to a load or atomic of the wavefront in `slot` has come.
    fn response(&mut self, _slot: usize, _view: &SchedulerView<'_>) {}

    /// The first-level cache tells something, over the wire of the unit's port `locality`.
    fn event(&mut self, _event: &CacheEvent, _view: &SchedulerView<'_>) {}

    /// The scheduler issues an instruction of the wavefront picked. The view shows the unit just
    /// before.
    fn issued(&mut self, _issue: &Issue, _view: &SchedulerView<'_>) {}

    /// The scheduler issues nothing in this cycle, because of `why`, and in no cycle after until
    /// something else is told: a reason is told once for as long as it lasts.
    fn stalled(&mut self, _why: IssueSlot, _view: &SchedulerView<'_>) {}

    /// Whether the policy makes sense only where the first-level cache tells it [events]; then a unit
    /// without a wire at `locality` is refused.
    ///
    /// [events]: Self::event
    fn needs_cache_events(&self) -> bool {
        false
    }

    /// Names the state for checkpoints: all that it was told and remembers. A policy without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted. In a unit with several schedulers the names get the number of
    /// the scheduler in front.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// What a policy may know of the wavefronts of its unit; masks have a bit per wavefront slot.
pub struct SchedulerView<'a> {
    /// The cycle that is told or asked about.
    pub now: Cycle,
    /// Slots that hold a wavefront.
    pub present: u64,
    /// Of them: nothing of their own keeps them from issuing. A unit that is busy still may.
    pub open: u64,
    /// Of them: the next instruction needs load data, or is a fence that waits for stores.
    pub waits_for_memory: u64,
    /// Of them: the next instruction needs the result of an execution unit, or of local or constant
    /// memory, and no load data.
    pub waits_for_result: u64,
    /// Of them: a start, branch, exit, barrier release or fetch of the next instruction is under way.
    pub waits_for_control: u64,
    /// Of them: at a barrier.
    pub at_barrier: u64,
    /// Of them: has ended, and others of the work-group have not.
    pub ended: u64,
    /// Of them: the next instruction goes to the load/store queue: a load, store or atomic to global
    /// or private memory.
    pub next_is_access: u64,
    /// Whether the load/store queue takes nothing.
    pub load_store_is_full: bool,
    /// Wavefront instructions that the unit has issued.
    pub instructions: u64,
    /// Who has been resident for longer.
    pub ages: &'a AgeMatrix,
}

impl<'a> SchedulerView<'a> {
    /// A unit whose wavefronts can all issue, to try a policy on; what is different is changed in
    /// it.
    pub fn new(now: Cycle, present: u64, ages: &'a AgeMatrix) -> Self {
        Self {
            now,
            present,
            open: present,
            waits_for_memory: 0,
            waits_for_result: 0,
            waits_for_control: 0,
            at_barrier: 0,
            ended: 0,
            next_is_access: 0,
            load_store_is_full: false,
            instructions: 0,
            ages,
        }
    }
}

/// Wavefronts that a scheduler keeps from issuing; a bit per wavefront slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// May not issue at all.
    pub all: u64,
    /// May not issue loads from global or private memory.
    pub loads: u64,
}

impl Throttled {
    /// Wavefronts that may not issue at all.
    pub fn all(all: u64) -> Self {
        Self { all, loads: 0 }
    }

    /// Wavefronts that may issue anything but loads.
    pub fn loads(loads: u64) -> Self {
        Self { all: 0, loads }
    }
}

/// A wavefront that was placed on the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its wavefront slot.
    pub slot: usize,
    /// Work-group slot of its work-group.
    pub work_group_slot: usize,
    /// Number of the launch in the program, whose [`kernels`](warpweave_trace::Program::kernels) say
    /// what it is and how it relates to others.
    pub kernel: u32,
    /// As in the launch of the kernel: from the device a [`LaunchHint`](crate::launch::LaunchHint).
    pub hint: u32,
    /// Number of the work-group in the grid.
    pub work_group: u32,
    /// Number of the wavefront in the work-group.
    pub wavefront: u32,
}

/// An instruction that issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Wavefront slot.
    pub slot: usize,
    /// Class of the instruction.
    pub class: Class,
    /// Number of the instruction in the kernel's code.
    pub pc: u32,
    /// Whether it goes to the load/store queue.
    pub is_access: bool,
    /// Whether it is a part of an access to several spaces, and another part follows.
    pub continues: bool,
}
