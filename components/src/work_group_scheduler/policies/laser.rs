//! LASER's placement: children go to the unit of the work-group that launched them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};
use warpweave_trace::Parent;

use super::from_queues::{FromQueues, QueuePolicy};
use super::queued::{Queued, QueuesSpec, Tie};
use super::status_table::StatusTable;
use crate::launch::LaunchHint;
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
    /// own reading, the paper does not say; children come long after most parents have ended.
    pub parent_gone: ParentGone,
}

/// Destination of work-groups whose parent no longer runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ParentGone {
    /// Unit that launched the kernel: its number travels with the launch.
    #[default]
    LaunchUnit,
    /// Unit on which the parent last ran, if the parent is among that unit's most recently ended
    /// work-groups. The unit remembers as many of them as the table has entries, in separate
    /// entries.
    LastUnit,
    /// Shortest queue at the time, for each work-group.
    ShortestQueue,
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
/// kernels each enter the shortest queue. Kernels launched while the reuse monitor is cold enter
/// the queue of the launching unit, and no other unit may take their work-groups. Units take from
/// the queues like [`ShortestQueue`](super::ShortestQueue).
///
/// Source: the LASER paper, section 6; that kernels predicted to share with siblings follow their
/// parent as well is our own choice.
#[derive(Default, State, Statistics)]
pub struct Laser {
    #[state(flatten)]
    table: StatusTable,
    #[state(skip)]
    units: u32,
    #[state(skip)]
    parent_gone: ParentGone,
    /// work-groups of kernels launched from the device
    #[statistic(name = "child_work_groups", unit = "work-groups")]
    children: u64,
    /// work-groups whose parent work-group was running when their kernel came
    #[statistic(name = "child_work_groups_with_running_parent", unit = "work-groups")]
    with_parent: u64,
    /// work-groups assigned to a unit for their reuse: that of their parent, or the launching one
    #[statistic(name = "work_groups_assigned", unit = "work-groups")]
    assigned: u64,
    /// work-groups of urgent kernels for which no unit was known
    #[statistic(name = "work_groups_unassigned", unit = "work-groups")]
    unassigned: u64,
}

impl PolicyKind for Laser {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Laser";
    const SUMMARY: &'static str =
        "Urgent children go to the queue of the unit that runs their parent or launched them";
    type Spec = LaserSpec;

    fn build(
        spec: LaserSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        let keeps_ended = spec.parent_gone == ParentGone::LastUnit;
        let units = context.site.units();
        let policy = Self {
            table: StatusTable::new(units, spec.table_entries, keeps_ended)?,
            units,
            parent_gone: spec.parent_gone,
            ..Self::default()
        };
        FromQueues::boxed(policy, spec.queues, *context.site)
            .map_err(|error| error.inside("queues"))
    }
}

impl Laser {
    /// Returns the unit to whose queue the work-groups of a child go, and how tightly.
    fn assign(&self, kernel: &Kernel<'_>, parent: Parent) -> Option<(u32, Tie)> {
        let hint = LaunchHint::from_word(kernel.hint());
        let launcher = hint.unit.map(u32::from).filter(|unit| *unit < self.units);
        if hint.is_bound {
            return launcher.map(|unit| (unit, Tie::Bound));
        }
        if kernel.priority() == 0 {
            return None;
        }
        let unit = self.table.runs_on(parent).or(match self.parent_gone {
            ParentGone::LaunchUnit => launcher,
            ParentGone::LastUnit => self.table.ended_on(parent),
            ParentGone::ShortestQueue => None,
        });
        unit.map(|unit| (unit, Tie::Preferred))
    }
}

impl QueuePolicy for Laser {
    fn enqueue(&mut self, kernel: Kernel<'_>, queues: &mut Queued) {
        let to = kernel.parent().and_then(|parent| {
            let work_groups = u64::from(kernel.work_groups());
            self.children += work_groups;
            if self.table.runs_on(parent).is_some() {
                self.with_parent += work_groups;
            }
            let to = self.assign(&kernel, parent);
            if to.is_some() {
                self.assigned += work_groups;
            } else if kernel.priority() > 0 {
                self.unassigned += work_groups;
            }
            to
        });
        queues.append(&kernel, to);
    }

    fn placed(&mut self, placed: Placement) {
        self.table.placed(placed);
    }

    fn finished(&mut self, finished: Placement) {
        self.table.finished(finished);
    }
}
