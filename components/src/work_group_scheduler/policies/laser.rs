//! LASER's placement: children go to the unit of the work-group that launched them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::from_queues::{FromQueues, QueuePolicy};
use super::queued::{Queued, QueuesSpec};
use super::status_table::StatusTable;
use crate::work_group_scheduler::{Kernel, Placement, PlacementPolicy, WorkGroupPlacement};

/// Queues and schedule status table of [`Laser`] placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LaserSpec {
    /// Queues of the units. Source: LASER paper, section 6; that they are in memory costs nothing
    /// unless said, own choice.
    pub queues: QueuesSpec,
    /// Entries of the schedule status table per unit, 1 to 64, one per running work-group. Source:
    /// LASER paper, section 6, 16 of 8 bytes (1664 bytes for 13 units).
    pub table_entries: u32,
    /// Destination of a high-priority kernel's work-groups when its parent no longer runs. Source:
    /// own reading, the paper does not say.
    pub parent_gone: ParentGone,
}

/// Destination of work-groups whose parent no longer runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ParentGone {
    /// Shortest queue at the time, for each work-group.
    #[default]
    ShortestQueue,
    /// Unit on which the parent last ran, if the parent is among that unit's most recently ended
    /// work-groups. The unit remembers as many of them as the table has entries, in separate
    /// entries.
    LastUnit,
}

impl Default for LaserSpec {
    fn default() -> Self {
        Self {
            queues: QueuesSpec::default(),
            table_entries: 16,
            parent_gone: ParentGone::default(),
        }
    }
}

/// All work-groups of a high-priority kernel (priority 1 and more) enter the queue of the unit that
/// runs the parent work-group. A table of running work-groups gives that unit. Work-groups of other
/// kernels, and of kernels whose parent is not in the table, each enter the shortest queue. Units
/// take from the queues like [`ShortestQueue`](super::ShortestQueue).
///
/// Source: the LASER paper, section 6; that kernels predicted to share with siblings follow their
/// parent as well is our own choice.
#[derive(Default, State, Statistics)]
pub struct Laser {
    #[state(flatten)]
    table: StatusTable,
    /// work-groups bound to the unit of a running parent
    #[statistic(name = "work_groups_bound", unit = "work-groups")]
    bound: u64,
    /// work-groups bound to the unit of a parent that had ended
    #[statistic(name = "work_groups_bound_to_last", unit = "work-groups")]
    bound_to_last: u64,
    /// work-groups of urgent kernels whose parent was not in any table
    #[statistic(name = "work_groups_unbound", unit = "work-groups")]
    unbound: u64,
}

impl PolicyKind for Laser {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Laser";
    const SUMMARY: &'static str = "Urgent children go to the queue of the unit that runs their parent; a unit without work steals";
    type Spec = LaserSpec;

    fn build(
        spec: LaserSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        let keeps_ended = spec.parent_gone == ParentGone::LastUnit;
        let policy = Self {
            table: StatusTable::new(context.site.units(), spec.table_entries, keeps_ended)?,
            ..Self::default()
        };
        FromQueues::boxed(policy, spec.queues, *context.site)
            .map_err(|error| error.inside("queues"))
    }
}

impl QueuePolicy for Laser {
    fn enqueue(&mut self, kernel: Kernel<'_>, queues: &mut Queued) {
        let Some(parent) = kernel.parent().filter(|_| kernel.priority() > 0) else {
            return queues.append(&kernel, None);
        };
        let (unit, counter) = if let Some(unit) = self.table.runs_on(parent) {
            (Some(unit), &mut self.bound)
        } else if let Some(unit) = self.table.ended_on(parent) {
            (Some(unit), &mut self.bound_to_last)
        } else {
            (None, &mut self.unbound)
        };
        *counter += u64::from(kernel.work_groups());
        queues.append(&kernel, unit);
    }

    fn placed(&mut self, placed: Placement) {
        self.table.placed(placed);
    }

    fn finished(&mut self, finished: Placement) {
        self.table.finished(finished);
    }
}
