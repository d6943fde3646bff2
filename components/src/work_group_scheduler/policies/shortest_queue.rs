//! Work-group queue per unit, filled evenly when a kernel arrives.

use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::QueuesSpec;
use super::queued::Queued;
use crate::work_group_scheduler::{
    Kernel, Machine, Placement, PlacementChoice, PlacementPolicy, QueueAccess, WorkGroupPlacement,
};

/// Appends every work-group of an arriving kernel to the shortest queue of a unit. A unit with room
/// takes the head of its own queue, or steals. Units with the fewest residents go first, then those
/// with the lowest number. Kernels are served concurrently, in the order of their work-groups in
/// the queues. A unit waits while its next work-group does not fit.
///
/// Source: queues and stealing of the LASER paper, section 5, without its grouping by reuse.
pub struct ShortestQueue(Queued);

impl PolicyKind for ShortestQueue {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "ShortestQueue";
    const SUMMARY: &'static str =
        "One queue per unit shared by all kernels; a unit whose queue is empty steals";
    type Spec = QueuesSpec;

    fn build(
        spec: QueuesSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(Box::new(Self(Queued::new(spec, *context.site)?)))
    }
}

impl PlacementPolicy for ShortestQueue {
    fn needs_memory(&self) -> bool {
        self.0.needs_memory()
    }

    fn arrived(&mut self, kernel: Kernel<'_>, _machine: &Machine) {
        self.0.spread_kernel(kernel.number(), kernel.work_groups());
    }

    fn entries(&mut self, writes: &mut Vec<QueueAccess>) {
        self.0.entries(writes);
    }

    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        self.0.choose(machine, sendable)
    }

    /// Removes the chosen work-group from its queue and lists the memory accesses needed.
    fn accesses(&mut self, chosen: Placement, _machine: &Machine, accesses: &mut Vec<QueueAccess>) {
        self.0.take(chosen.unit, accesses);
    }

    fn placed(&mut self, _placed: Placement, _machine: &Machine) {}

    fn state(&mut self, state: &mut State<'_>) {
        self.0.state(state);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.0.statistics(statistics);
    }
}
