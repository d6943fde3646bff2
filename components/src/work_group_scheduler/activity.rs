//! Dispatch activity of each cycle, for the cycle statistics.

use serde::{Deserialize, Serialize};

use crate::occupancy::Limiter;

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
