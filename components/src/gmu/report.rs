//! Statistics of the grid management unit.

use warpweave_framework::Statistics;

use super::Gmu;

impl Gmu {
    pub(super) fn report(&self, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        let mut count = |name, unit, meaning, value| statistics.counter(name, unit, meaning, value);
        count(
            "kernels_accepted",
            "kernels",
            "launches accepted from the host",
            self.accepted,
        );
        count(
            "kernels_completed",
            "kernels",
            "completions passed to the host",
            self.completed,
        );
        count(
            "kernels_through_pool",
            "kernels",
            "launches that had to wait in the pending pool",
            self.through_pool,
        );
        count(
            "launch_stalls",
            "launches",
            "launches that arrived when their queue and the pool were full",
            self.launch_stalls,
        );
        count(
            "launch_stall_cycles",
            "cycles",
            "cycles in which a host launch waited because its queue and the pool were full",
            self.stalled[0].integral(cycle),
        );
        if self.device.is_connected() {
            count(
                "device_launch_stall_cycles",
                "cycles",
                "cycles in which a device launch waited because its queue and the pool were full",
                self.stalled[1].integral(cycle),
            );
        }
        let levels = [
            (
                "queues_occupied",
                "queues",
                "mean number of work queues that hold a kernel",
                &self.queues_occupied,
            ),
            (
                "queued_kernels",
                "kernels",
                "mean number of kernels in work queues, including running ones",
                &self.queued,
            ),
            (
                "pooled_kernels",
                "kernels",
                "mean number of kernels in the pending pool",
                &self.pooled,
            ),
            (
                "running_kernels",
                "kernels",
                "mean number of kernels sent to the work-group scheduler and not yet completed",
                &self.running,
            ),
        ];
        for (name, unit, meaning, level) in levels {
            statistics.level(name, unit, meaning, level);
        }
        let peaks = [
            (
                "queues_occupied_max",
                "queues",
                "maximum number of work queues that held a kernel",
                &self.queues_occupied,
            ),
            (
                "pooled_kernels_max",
                "kernels",
                "maximum number of kernels in the pending pool",
                &self.pooled,
            ),
            (
                "running_kernels_max",
                "kernels",
                "maximum number of kernels in the work-group scheduler",
                &self.running,
            ),
        ];
        for (name, unit, meaning, level) in peaks {
            statistics.maximum(name, unit, meaning, level.max());
        }
        statistics.histogram(
            "waiting_time",
            "cycles",
            "cycles from the arrival of a launch until it was sent to the work-group scheduler",
            &self.waited,
        );
        self.order.statistics(statistics);
    }
}
