//! The kernel order: which of the kernels that wait gets a hardware work queue that is empty.

use warpweave_framework::{Cycle, PolicyRole, State, Statistics};

use crate::launch::KernelLaunch;

/// The kernel order of a grid management unit.
pub struct KernelOrder;

impl PolicyRole for KernelOrder {
    const NAME: &'static str = "kernel_order";
    const SUMMARY: &'static str =
        "Chooses the kernel that gets an empty hardware work queue of the grid management unit";
    type Policy = Box<dyn OrderPolicy>;
    type Site = OrderSite;
}

/// What a grid management unit tells its policy. What the kernels are is the program's: the resource
/// `Program` of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderSite {
    /// Hardware work queues.
    pub hardware_queues: u32,
    /// Kernels that the pool holds.
    pub pending_kernels: u32,
}

/// A kernel order.
///
/// The order within a stream is the unit's: a kernel whose stream has a queue waits for that one, and
/// never overtakes an earlier one of its stream.
///
/// The policy is asked when something has changed, not in every cycle, so that a unit that sleeps
/// behaves as one that is kept awake. It may leave a queue empty; it is asked again when the next kernel
/// arrives or completes.
pub trait OrderPolicy: Send {
    /// A kernel was launched. It may get a queue, or wait in the pool, or, if that is full, at the door.
    fn arrived(&mut self, _kernel: KernelLaunch) {}

    /// A queue is empty, and kernels wait that could have it: the number of the one that gets it, or
    /// none for the time being.
    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32>;

    /// Every work-group of a kernel has completed; its queue goes on.
    fn own_groups_done(&mut self, _kernel: KernelLaunch) {}

    /// A kernel and all that it launched have completed. Kernels of the host launch none, so that this
    /// follows [`own_groups_done`](Self::own_groups_done) at once.
    fn family_done(&mut self, _kernel: KernelLaunch) {}

    /// Names the state for checkpoints: all that it was told and remembers. A policy without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// A hardware work queue that is empty, and who could have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyQueue<'a> {
    /// Its number.
    pub queue: u32,
    /// The cycle.
    pub cycle: Cycle,
    /// Heads of the other queues, by number of the queue: they run, or are about to.
    pub heads: &'a [KernelLaunch],
    /// Kernels that may be chosen: the first that waits of every stream without a queue, in the order
    /// of their arrival; never empty.
    pub pool: &'a [PendingKernel],
}

/// A kernel that waits for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingKernel {
    /// The kernel.
    pub launch: KernelLaunch,
    /// Cycle in which it was taken from the host; of one that still is at the door, this cycle.
    pub arrived: Cycle,
}
