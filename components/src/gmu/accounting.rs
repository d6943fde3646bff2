//! Accounting of a grid management unit: counters, occupancies and waiting times.

use warpweave_framework::{Cycle, Histogram, State, Statistics, TimeWeighted};

/// Launches that the unit has taken, and those that it could not take.
#[derive(Default, State, Statistics)]
pub(super) struct LaunchCounts {
    /// launches accepted from the host
    #[statistic(name = "kernels_accepted", unit = "kernels")]
    pub(super) accepted: u64,
    /// completions passed to the host
    #[statistic(name = "kernels_completed", unit = "kernels")]
    pub(super) completed: u64,
    /// launches that had to wait in the pending pool
    #[statistic(name = "kernels_through_pool", unit = "kernels")]
    pub(super) through_pool: u64,
    /// launches that arrived when their queue and the pool were full
    #[statistic(unit = "launches")]
    launch_stalls: u64,
    /// cycles in which a host launch waited because its queue and the pool were full
    #[state(array)]
    #[statistic(
        name = "launch_stall_cycles",
        unit = "cycles",
        value = self.stall_cycles(LaunchSource::Host, statistics.cycle())
    )]
    stalled: [TimeWeighted; 2],
}

/// Source port of a launch: host or device.
#[derive(Clone, Copy)]
pub(super) enum LaunchSource {
    Host,
    Device,
}

impl LaunchCounts {
    /// True if the oldest launch of a source waits for room.
    #[inline]
    pub(super) fn is_stalled(&self, source: LaunchSource) -> bool {
        self.stalled[source as usize].value() > 0
    }

    /// True if a launch of any source waits for room.
    pub(super) fn any_stalled(&self) -> bool {
        self.stalled.iter().any(|stalled| stalled.value() > 0)
    }

    /// Notes that a launch waits for room from this cycle on.
    pub(super) fn stall(&mut self, cycle: Cycle, source: LaunchSource) {
        self.launch_stalls += 1;
        self.stalled[source as usize].set(cycle, 1);
    }

    /// Counts a launch that was accepted in this cycle.
    #[inline]
    pub(super) fn accept(&mut self, cycle: Cycle, source: LaunchSource) {
        self.stalled[source as usize].set(cycle, 0);
        self.accepted += 1;
    }

    /// Returns the cycles in which a launch of a source waited for room.
    pub(super) fn stall_cycles(&self, source: LaunchSource, now: Cycle) -> u64 {
        self.stalled[source as usize].integral(now)
    }
}

/// Numbers of kernels by their place in the unit, over time.
#[derive(Default, State, Statistics)]
pub(super) struct Occupancy {
    /// mean number of work queues that hold a kernel
    #[statistic(unit = "queues")]
    pub(super) queues_occupied: TimeWeighted,
    /// mean number of kernels in work queues, including running ones
    #[statistic(name = "queued_kernels", unit = "kernels")]
    pub(super) queued: TimeWeighted,
    /// mean number of kernels in the pending pool
    #[statistic(name = "pooled_kernels", unit = "kernels")]
    pub(super) pooled: TimeWeighted,
    /// mean number of kernels sent to the work-group scheduler and not yet completed
    #[statistic(name = "running_kernels", unit = "kernels")]
    #[statistic(
        name = "queues_occupied_max",
        unit = "queues",
        meaning = "maximum number of work queues that held a kernel",
        maximum,
        value = self.queues_occupied.max()
    )]
    #[statistic(
        name = "pooled_kernels_max",
        unit = "kernels",
        meaning = "maximum number of kernels in the pending pool",
        maximum,
        value = self.pooled.max()
    )]
    #[statistic(
        name = "running_kernels_max",
        unit = "kernels",
        meaning = "maximum number of kernels in the work-group scheduler",
        maximum,
        value = self.running.max()
    )]
    pub(super) running: TimeWeighted,
    /// cycles from the arrival of a launch until it was sent to the work-group scheduler
    #[statistic(name = "waiting_time", unit = "cycles")]
    pub(super) waited: Histogram,
}
