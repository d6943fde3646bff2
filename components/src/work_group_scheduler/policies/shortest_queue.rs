//! Work-group queue per unit, filled evenly when a kernel arrives.

use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::QueuesSpec;
use super::from_queues::{FromQueues, QueuePolicy};
use super::queued::Queued;
use crate::work_group_scheduler::{Kernel, PlacementPolicy, WorkGroupPlacement};

/// Appends every work-group of an arriving kernel to the shortest queue of a unit. A unit with room
/// takes the head of its own queue, or steals. Units with the fewest residents go first, then those
/// with the lowest number. Kernels are served concurrently, in the order of their work-groups in
/// the queues. A unit waits while its next work-group does not fit.
///
/// Source: queues and stealing of the LASER paper, section 5, without its grouping by reuse.
#[derive(State, Statistics)]
pub struct ShortestQueue;

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
        FromQueues::boxed(Self, spec, *context.site)
    }
}

impl QueuePolicy for ShortestQueue {
    fn enqueue(&mut self, kernel: Kernel<'_>, queues: &mut Queued) {
        queues.append(&kernel, None);
    }
}
