//! Wavefront scheduler trait: notifications and queries for policies from any crate.

use warpweave_framework::{Cycle, Instrumented, Stateful};
use warpweave_trace::Class;

use super::AgeMatrix;
use crate::compute_unit::accounting::IssueSlot;
use crate::memory::CacheEvent;

/// Wavefront scheduling policy: notifications and queries from the compute unit.
///
/// # What happens in a cycle
///
/// ```text
///   responses arrive      response
///   cache events arrive   event
///   a dispatch is taken   arrive, once per wavefront
///   issue                 throttled ──► pick ──► issued, passes      or      stalled
///                         (leave, when an instruction was the last of its wavefront)
///   the unit may sleep    throttled for the next cycle, throttle_changes
/// ```
///
/// Queries (`throttled`, `pick`, `throttle_changes`) change nothing and may be repeated any number
/// of times. Notifications change the policy. `arrive`, `leave`, `response` and `event` are sent to
/// every scheduler of the unit, regardless of the slot. So is `passes`, where a policy needs it.
/// Each policy can thus track the whole unit. `pick`, `issued` and `stalled` concern the
/// scheduler's own slots.
///
/// # Time
///
/// A unit in which nothing can happen sleeps, and must behave as if it were kept awake. A policy
/// therefore changes only through notifications. Values that decay with time are kept in closed
/// form: a value and the cycle since which it decays. If its answer to `throttled` changes with
/// time alone, `throttle_changes` returns the cycle.
///
/// # Statistics
///
/// In a unit with several schedulers the names are prefixed with the scheduler number.
pub trait WavefrontScheduler: Stateful + Instrumented + Send {
    /// Picks the wavefront to issue from `ready`. `ready` is not empty and contains only slots of
    /// this scheduler that can issue now and are not held back.
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize;

    /// Returns the wavefronts that may not issue in cycle `view.now`, although they could. Slots of
    /// other schedulers may be included and are ignored.
    fn throttled(&self, _view: &SchedulerView<'_>) -> Throttled {
        Throttled::default()
    }

    /// Returns the next cycle after `view.now` in which [`throttled`](Self::throttled) may change
    /// for an open wavefront. The answer assumes no notification and unchanged masks. Too early a
    /// cycle is harmless but costs host time. With too late a cycle the unit sleeps past the
    /// change.
    fn throttle_changes(&self, _view: &SchedulerView<'_>) -> Option<Cycle> {
        None
    }

    /// Notifies that a wavefront was placed on the unit. Wavefronts of a work-group arrive in
    /// order. The new one is younger than all others.
    fn arrive(&mut self, _arrival: &Arrival, _view: &SchedulerView<'_>) {}

    /// Notifies that the wavefront in `slot` has ended and issues no more. Responses to its loads
    /// may still arrive. The slot is reassigned only after its whole work-group has ended.
    fn leave(&mut self, _slot: usize, _view: &SchedulerView<'_>) {}

    /// Notifies that the last response to a load or atomic of the wavefront in `slot` has arrived.
    fn response(&mut self, _slot: usize, _view: &SchedulerView<'_>) {}

    /// Passes an event of the first-level cache, received at the unit's `locality` port.
    fn event(&mut self, _event: &CacheEvent, _view: &SchedulerView<'_>) {}

    /// Notifies that the scheduler issues an instruction of the picked wavefront. The view shows
    /// the unit just before the issue.
    fn issued(&mut self, _issue: &Issue, _view: &SchedulerView<'_>) {}

    /// Notifies that the wavefront in `slot`, of any scheduler of the unit, issues the instruction
    /// at index `pc` of its kernel's code. Told only if [`needs_passes`](Self::needs_passes); the
    /// view is that of `issued`, which comes before.
    fn passes(&mut self, _slot: usize, _pc: u32, _view: &SchedulerView<'_>) {}

    /// Notifies that the scheduler issues nothing from this cycle until the next notification,
    /// because of `why`. A reason is reported once for as long as it lasts.
    fn stalled(&mut self, _why: IssueSlot, _view: &SchedulerView<'_>) {}

    /// True if the policy requires [events] of the first-level cache. A unit without a connection
    /// at `locality` is then rejected.
    ///
    /// [events]: Self::event
    fn needs_cache_events(&self) -> bool {
        false
    }

    /// True if the policy requires [`passes`](Self::passes); asked once.
    fn needs_passes(&self) -> bool {
        false
    }
}

/// State of the unit's wavefronts that is visible to a policy; masks have one bit per wavefront
/// slot.
pub struct SchedulerView<'a> {
    /// Cycle to which the notification or query refers.
    pub now: Cycle,
    /// Mask of the slots that hold a wavefront.
    pub present: u64,
    /// Present wavefronts that do not wait for anything of their own. A busy unit may still keep
    /// them from issuing.
    pub open: u64,
    /// Present wavefronts whose next instruction needs load data, or is a fence waiting for stores.
    pub waits_for_memory: u64,
    /// Present wavefronts whose next instruction waits for a result of an execution unit or of
    /// local or constant memory, but for no load data.
    pub waits_for_result: u64,
    /// Present wavefronts that wait for a start, branch, exit, barrier release or fetch of the next
    /// instruction.
    pub waits_for_control: u64,
    /// Present wavefronts that wait at a barrier.
    pub at_barrier: u64,
    /// Wavefronts that have ended while others of their work-group have not.
    pub ended: u64,
    /// Present wavefronts whose next instruction enters the load/store queue: a load, store or
    /// atomic to global or private memory.
    pub next_is_access: u64,
    /// True if the load/store queue is full.
    pub load_store_is_full: bool,
    /// Number of wavefront instructions that the unit has issued.
    pub instructions: u64,
    /// Age order of the unit's wavefronts.
    pub ages: &'a AgeMatrix,
}

impl<'a> SchedulerView<'a> {
    /// Creates the view of a unit whose wavefronts can all issue, for policy tests. Tests modify
    /// its fields as needed.
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

/// Wavefronts that a scheduler keeps from issuing; masks have one bit per wavefront slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Mask of wavefronts that may not issue at all.
    pub all: u64,
    /// Mask of wavefronts that may not issue loads from global or private memory.
    pub loads: u64,
}

impl Throttled {
    /// Holds back these wavefronts from issuing anything.
    pub fn all(all: u64) -> Self {
        Self { all, loads: 0 }
    }

    /// Holds back these wavefronts from issuing loads.
    pub fn loads(loads: u64) -> Self {
        Self { all: 0, loads }
    }
}

/// Describes a wavefront that was placed on the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Wavefront slot of the new wavefront, from 0.
    pub slot: usize,
    /// Work-group slot of the work-group it belongs to.
    pub work_group_slot: usize,
    /// Number of the launch in the program. See [`kernels`](warpweave_trace::Program::kernels) for
    /// its properties and relations.
    pub kernel: u32,
    /// Hint from the launch of the kernel; for device-side launches a
    /// [`LaunchHint`](crate::launch::LaunchHint).
    pub hint: u32,
    /// Index of the work-group in the grid.
    pub work_group: u32,
    /// Index of the wavefront in the work-group.
    pub wavefront: u32,
}

/// Describes an instruction that a scheduler issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Slot of the wavefront that issues.
    pub slot: usize,
    /// Class of the issued instruction, such as load or branch.
    pub class: Class,
    /// Index of the instruction in the kernel's code.
    pub pc: u32,
    /// True if it enters the load/store queue.
    pub is_access: bool,
    /// True if it is one part of an access to several spaces and another part follows.
    pub continues: bool,
}
