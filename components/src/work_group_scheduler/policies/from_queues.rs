//! Policies that put the work-groups of an arriving kernel into queues of units.

use warpweave_framework::{Instrumented, SpecError, State, Stateful, Statistics};

use super::QueuesSpec;
use super::queued::Queued;
use crate::work_group_scheduler::{
    Kernel, Machine, Placement, PlacementChoice, PlacementPolicy, PlacementSite, QueueAccess,
};

/// Chooses the queue of each work-group; [`FromQueues`] makes it a [`PlacementPolicy`].
pub(super) trait QueuePolicy: Stateful + Instrumented + Send {
    /// Appends the work-groups of a kernel that has arrived.
    fn enqueue(&mut self, kernel: Kernel<'_>, queues: &mut Queued);

    /// Notifies that a work-group has been placed.
    fn placed(&mut self, _placed: Placement) {}

    /// Notifies that a work-group has ended and left its unit.
    fn finished(&mut self, _finished: Placement) {}
}

/// Serves the units from queues that a policy fills.
#[derive(State, Statistics)]
pub(super) struct FromQueues<P> {
    #[state(flatten)]
    #[statistic(flatten)]
    queues: Queued,
    #[state(flatten)]
    #[statistic(flatten)]
    policy: P,
}

impl<P: QueuePolicy + 'static> FromQueues<P> {
    /// Creates empty queues for a policy.
    ///
    /// # Errors
    /// Returns an error if a setting of the queues is out of range.
    pub(super) fn boxed(
        policy: P,
        queues: QueuesSpec,
        site: PlacementSite,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        let queues = Queued::new(queues, site)?;
        Ok(Box::new(Self { queues, policy }))
    }
}

impl<P: QueuePolicy + 'static> PlacementPolicy for FromQueues<P> {
    fn needs_memory(&self) -> bool {
        self.queues.needs_memory()
    }

    fn arrived(&mut self, kernel: Kernel<'_>, _machine: &Machine) {
        self.policy.enqueue(kernel, &mut self.queues);
    }

    fn entries(&mut self, writes: &mut Vec<QueueAccess>) {
        self.queues.entries(writes);
    }

    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        self.queues.choose(machine, sendable)
    }

    /// Removes the chosen work-group from its queue and lists the memory accesses needed.
    fn accesses(&mut self, chosen: Placement, _machine: &Machine, accesses: &mut Vec<QueueAccess>) {
        self.queues.take(chosen, accesses);
    }

    fn placed(&mut self, placed: Placement, _machine: &Machine) {
        self.policy.placed(placed);
    }

    fn finished(&mut self, finished: Placement, _machine: &Machine) {
        self.policy.finished(finished);
    }
}
