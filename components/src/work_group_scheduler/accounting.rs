//! Accounting of a work-group scheduler: counters, residency, and the activity of each cycle.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, State, Statistics, TimeWeighted};

use crate::occupancy::Limiter;
use crate::roles;

/// Dispatch activity in a cycle; every cycle is charged to one activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Activity {
    NoWork,
    Dispatching,
    UnitBusy,
    HeldBack,
    QueueMemory,
    WorkGroupSlots,
    WavefrontSlots,
    Registers,
    LocalMemory,
}

/// Name and meaning of the cycle counter of each activity.
pub(super) const ACTIVITIES: [(&str, &str); 9] = [
    ("cycles_no_work", "cycles without undispatched work-groups"),
    (
        "cycles_dispatching",
        "cycles in which a work-group was dispatched",
    ),
    (
        "stalled_on_unit",
        "cycles in which the next unit in turn could not accept a work-group",
    ),
    (
        "stalled_on_policy",
        "cycles in which units had room, but the policy reserved the work-groups for other units",
    ),
    (
        "stalled_on_queue_memory",
        "cycles in which a work-group was being fetched from a queue in memory",
    ),
    (
        "stalled_on_work_group_slots",
        "cycles in which no unit had room for a kernel limited by work-group slots",
    ),
    (
        "stalled_on_wavefront_slots",
        "cycles in which no unit had room for a kernel limited by wavefront slots",
    ),
    (
        "stalled_on_registers",
        "cycles in which no unit had room for a kernel limited by registers",
    ),
    (
        "stalled_on_local_memory",
        "cycles in which no unit had room for a kernel limited by local memory",
    ),
];

impl Activity {
    /// Returns the stall activity for a full device, by limiting resource.
    pub(super) fn full(limiter: Limiter) -> Self {
        match limiter {
            Limiter::WorkGroupSlots => Self::WorkGroupSlots,
            Limiter::WavefrontSlots => Self::WavefrontSlots,
            Limiter::Registers => Self::Registers,
            Limiter::LocalMemory => Self::LocalMemory,
        }
    }
}

/// Counters, residency and activity of a work-group scheduler.
#[derive(State, Statistics)]
pub(super) struct Accounting {
    /// kernels reported as done
    #[statistic(unit = "kernels")]
    pub(super) kernels_done: u64,
    /// work-groups sent to compute units
    #[statistic(name = "work_groups_dispatched", unit = "work-groups")]
    dispatched: u64,
    /// work-groups that compute units reported as completed
    #[statistic(
        name = "work_groups_completed",
        unit = "work-groups",
        role = roles::WORK_GROUPS
    )]
    completed: u64,
    /// invalidation requests sent to compute units for their first-level caches
    #[statistic(unit = "messages")]
    pub(super) invalidates_sent: u64,
    /// memory accesses to work-group queues
    #[statistic(unit = "accesses")]
    pub(super) queue_accesses: u64,
    activity: Activity,
    #[state(array)]
    #[statistic(with = report_activities)]
    activities: [TimeWeighted; 9],
    /// mean number of resident work-groups
    #[statistic(
        name = "resident_work_groups_max",
        unit = "work-groups",
        meaning = "maximum number of resident work-groups",
        maximum,
        value = self.resident.max()
    )]
    #[statistic(name = "resident_work_groups", unit = "work-groups")]
    resident: TimeWeighted,
    /// distribution over compute units of the number of work-groups dispatched to each
    #[state(array)]
    #[statistic(
        name = "work_groups_per_unit",
        unit = "work-groups",
        distribution,
        value = distribution(&self.dispatched_by_unit)
    )]
    dispatched_by_unit: Vec<u64>,
}

fn report_activities(activities: &[TimeWeighted; 9], statistics: &mut Statistics<'_>) {
    let cycle = statistics.cycle();
    for ((name, meaning), level) in ACTIVITIES.into_iter().zip(activities) {
        statistics.counter(name, "cycles", meaning, level.integral(cycle));
    }
}

fn distribution(values: &[u64]) -> Histogram {
    let mut distribution = Histogram::default();
    for &value in values {
        distribution.record(value);
    }
    distribution
}

impl Accounting {
    pub(super) fn new(units: usize) -> Self {
        let mut activities: [TimeWeighted; 9] = Default::default();
        activities[Activity::NoWork as usize].set(0, 1);
        Self {
            kernels_done: 0,
            dispatched: 0,
            completed: 0,
            invalidates_sent: 0,
            queue_accesses: 0,
            activity: Activity::NoWork,
            activities,
            resident: TimeWeighted::default(),
            dispatched_by_unit: vec![0; units],
        }
    }

    /// Returns the activity of the last evaluated cycle.
    pub(super) fn activity(&self) -> Activity {
        self.activity
    }

    /// Returns the number of work-groups on all units.
    pub(super) fn resident(&self) -> u64 {
        self.resident.value()
    }

    /// Counts a work-group sent to a unit.
    #[inline]
    pub(super) fn dispatched(&mut self, cycle: Cycle, unit: usize) {
        self.dispatched += 1;
        self.dispatched_by_unit[unit] += 1;
        self.resident.add(cycle, 1);
    }

    /// Counts the end of a work-group.
    #[inline]
    pub(super) fn completed(&mut self, cycle: Cycle) {
        self.completed += 1;
        self.resident.sub(cycle, 1);
    }

    /// Charges cycles to `activity`, starting with this one.
    #[inline]
    pub(super) fn enter(&mut self, cycle: Cycle, activity: Activity) {
        if self.activity != activity {
            self.activities[self.activity as usize].set(cycle, 0);
            self.activities[activity as usize].set(cycle, 1);
            self.activity = activity;
        }
    }
}
