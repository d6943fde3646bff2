//! LASER's placement: children go to the unit of the work-group that launched them.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::QueuesSpec;
use super::queued::Queued;
use crate::work_group_scheduler::{
    Kernel, Machine, Placement, PlacementChoice, PlacementPolicy, QueueAccess, WorkGroupPlacement,
};

/// Queues and schedule status table of [`Laser`] placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaserSpec {
    /// Queues of the units. Source: LASER paper, section 6; that they are in memory costs nothing
    /// unless said, own choice.
    #[serde(default)]
    pub queues: QueuesSpec,
    /// Entries of the schedule status table per unit, 1 to 64, one per running work-group. Source:
    /// LASER paper, section 6, 16 of 8 bytes (1664 bytes for 13 units).
    #[serde(default = "sixteen")]
    pub table_entries: u32,
    /// Destination of a high-priority kernel's work-groups when its parent no longer runs. Source:
    /// own reading, the paper does not say.
    #[serde(default)]
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

fn sixteen() -> u32 {
    16
}

impl Default for LaserSpec {
    fn default() -> Self {
        Self {
            queues: QueuesSpec::default(),
            table_entries: sixteen(),
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
pub struct Laser {
    queued: Queued,
    parent_gone: ParentGone,
    table_entries: usize,
    /// Running work-groups of each unit, with their kernels.
    running: Vec<VecDeque<(u32, u32)>>,
    /// Most recently ended work-groups of each unit.
    gone: Vec<VecDeque<(u32, u32)>>,
    /// Number of work-groups that followed a running parent; `bound_to_last` and `unbound` count
    /// those with an ended parent and an unknown one.
    bound: u64,
    bound_to_last: u64,
    unbound: u64,
}

impl Laser {
    fn new(
        spec: LaserSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Self, SpecError> {
        SpecError::in_range("table_entries", spec.table_entries, 1..=64)?;
        let queued = Queued::new(spec.queues, *context.site);
        let tables = vec![VecDeque::new(); context.site.units() as usize];
        Ok(Self {
            queued: queued
                .map_err(|error| SpecError::at(format!("queues.{}", error.field), error.message))?,
            parent_gone: spec.parent_gone,
            table_entries: spec.table_entries as usize,
            running: tables.clone(),
            gone: tables,
            bound: 0,
            bound_to_last: 0,
            unbound: 0,
        })
    }
}

/// Returns the unit whose table contains a work-group.
fn unit_of(tables: &[VecDeque<(u32, u32)>], work_group: (u32, u32)) -> Option<u32> {
    let unit = tables.iter().position(|table| table.contains(&work_group));
    unit.map(|unit| unit as u32)
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
        Ok(Box::new(Self::new(spec, context)?))
    }
}

impl PlacementPolicy for Laser {
    fn needs_memory(&self) -> bool {
        self.queued.needs_memory()
    }

    fn arrived(&mut self, kernel: Kernel<'_>, _machine: &Machine) {
        let (number, work_groups) = (kernel.number(), kernel.work_groups());
        let parent = kernel.parent().filter(|_| kernel.priority() > 0);
        let Some(parent) = parent else {
            self.queued.spread_kernel(number, work_groups);
            return;
        };
        let parent = (parent.kernel, parent.work_group);
        let last = || match self.parent_gone {
            ParentGone::ShortestQueue => None,
            ParentGone::LastUnit => unit_of(&self.gone, parent),
        };
        let (unit, counter) = if let Some(unit) = unit_of(&self.running, parent) {
            (unit, &mut self.bound)
        } else if let Some(unit) = last() {
            (unit, &mut self.bound_to_last)
        } else {
            self.unbound += u64::from(work_groups);
            self.queued.spread_kernel(number, work_groups);
            return;
        };
        *counter += u64::from(work_groups);
        self.queued.push_kernel(unit, number, work_groups);
    }

    fn entries(&mut self, writes: &mut Vec<QueueAccess>) {
        self.queued.entries(writes);
    }

    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        self.queued.choose(machine, sendable)
    }

    /// Removes the chosen work-group from its queue and lists the memory accesses needed.
    fn accesses(&mut self, chosen: Placement, _machine: &Machine, accesses: &mut Vec<QueueAccess>) {
        self.queued.take(chosen.unit, accesses);
    }

    fn placed(&mut self, placed: Placement, _machine: &Machine) {
        let table = &mut self.running[placed.unit as usize];
        if table.len() < self.table_entries {
            table.push_back((placed.kernel, placed.work_group));
        }
    }

    fn finished(&mut self, finished: Placement, _machine: &Machine) {
        let ended = (finished.kernel, finished.work_group);
        let unit = finished.unit as usize;
        self.running[unit].retain(|&entry| entry != ended);
        if self.parent_gone == ParentGone::LastUnit {
            let gone = &mut self.gone[unit];
            gone.push_back(ended);
            if gone.len() > self.table_entries {
                gone.pop_front();
            }
        }
    }

    fn state(&mut self, state: &mut State<'_>) {
        self.queued.state(state);
        state.array("running", &mut self.running);
        state.array("gone", &mut self.gone);
        state.field("bound", &mut self.bound);
        state.field("bound_to_last", &mut self.bound_to_last);
        state.field("unbound", &mut self.unbound);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.queued.statistics(statistics);
        let rows = [
            (
                "work_groups_bound",
                "work-groups bound to the unit of a running parent",
                self.bound,
            ),
            (
                "work_groups_bound_to_last",
                "work-groups bound to the unit of a parent that had ended",
                self.bound_to_last,
            ),
            (
                "work_groups_unbound",
                "work-groups of urgent kernels whose parent was not in any table",
                self.unbound,
            ),
        ];
        for (name, meaning, value) in rows {
            statistics.counter(name, "work-groups", meaning, value);
        }
    }
}
