//! Statistics reported by the work-group scheduler.

use warpweave_framework::{Histogram, Statistics};

use super::WorkGroupScheduler;
use super::activity::ACTIVITIES;
use crate::roles;

impl WorkGroupScheduler {
    pub(super) fn report(&self, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        let mut count = |name, unit, meaning, value| statistics.counter(name, unit, meaning, value);
        count(
            "kernels_done",
            "kernels",
            "kernels reported as done",
            self.kernels_done,
        );
        count(
            "work_groups_dispatched",
            "work-groups",
            "work-groups sent to compute units",
            self.dispatched,
        );
        statistics.role(roles::WORK_GROUPS).counter(
            "work_groups_completed",
            "work-groups",
            "work-groups that compute units reported as completed",
            self.completed,
        );
        let mut count = |name, unit, meaning, value| statistics.counter(name, unit, meaning, value);
        count(
            "invalidates_sent",
            "messages",
            "invalidation requests sent to compute units for their first-level caches",
            self.invalidates_sent,
        );
        count(
            "queue_accesses",
            "accesses",
            "memory accesses to work-group queues",
            self.queue_accesses,
        );
        for (&(name, meaning), level) in ACTIVITIES.iter().zip(&self.activities) {
            count(name, "cycles", meaning, level.integral(cycle));
        }
        statistics.maximum(
            "resident_work_groups_max",
            "work-groups",
            "maximum number of resident work-groups",
            self.resident.max(),
        );
        statistics.level(
            "resident_work_groups",
            "work-groups",
            "mean number of resident work-groups",
            &self.resident,
        );
        let mut by_unit = Histogram::default();
        for &work_groups in &self.dispatched_by_unit {
            by_unit.record(work_groups);
        }
        statistics.distribution(
            "work_groups_per_unit",
            "work-groups",
            "distribution over compute units of the number of work-groups dispatched to each",
            &by_unit,
        );
        self.policy.statistics(statistics);
    }
}
