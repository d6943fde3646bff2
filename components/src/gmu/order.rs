//! Kernel order policy: selects which waiting kernel gets an empty hardware work queue.

use warpweave_framework::{Cycle, Instrumented, PolicyRole, Stateful};

use crate::launch::KernelLaunch;

/// Policy role of the kernel order in a grid management unit.
pub struct KernelOrder;

impl PolicyRole for KernelOrder {
    const NAME: &'static str = "kernel_order";
    const SUMMARY: &'static str =
        "Chooses the kernel that gets an empty hardware work queue of the grid management unit";
    type Policy = Box<dyn OrderPolicy>;
    type Site = OrderSite;
}

/// Parameters that a grid management unit gives to its policy. Kernel properties are found in the
/// program, the resource `Program` of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderSite {
    /// Number of hardware work queues of the unit.
    pub hardware_queues: u32,
    /// Capacity of the pending pool in kernels.
    pub pending_kernels: u32,
}

/// Kernel order policy: assigns empty hardware work queues to waiting kernels.
///
/// The unit keeps the order within a stream. A kernel whose stream has a queue waits for that
/// queue, and never overtakes an earlier one of its stream.
///
/// The policy is queried only when something has changed, so that a sleeping unit behaves like one
/// that is kept awake. It may leave a queue empty. It is then queried again when the next kernel
/// arrives or completes.
pub trait OrderPolicy: Stateful + Instrumented + Send {
    /// Notifies that a kernel was launched. It may get a queue, wait in the pool, or wait at the
    /// input port if the pool is full.
    fn arrived(&mut self, _kernel: KernelLaunch) {}

    /// Returns the number of the kernel that gets the empty queue, or `None` to leave it empty for
    /// now.
    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32>;

    /// Notifies that every work-group of a kernel has completed; its queue proceeds to the next
    /// kernel.
    fn own_groups_done(&mut self, _kernel: KernelLaunch) {}

    /// Notifies that a kernel and all its descendants have completed. For kernels without children
    /// this follows [`own_groups_done`](Self::own_groups_done) immediately.
    fn family_done(&mut self, _kernel: KernelLaunch) {}
}

/// An empty hardware work queue, with the kernels that may get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyQueue<'a> {
    /// Number of the empty queue, from 0.
    pub queue: u32,
    /// Cycle in which the queue is assigned.
    pub cycle: Cycle,
    /// Heads of the other queues, by queue number; they run or are about to.
    pub heads: &'a [KernelLaunch],
    /// Kernels that may be chosen, in order of arrival: the first waiting one of every stream
    /// without a queue. Never empty.
    pub pool: &'a [PendingKernel],
}

/// A kernel that waits for a hardware work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingKernel {
    /// Launch of the waiting kernel, with its stream and priority.
    pub launch: KernelLaunch,
    /// Cycle in which the unit accepted the launch; the current cycle if it still waits at the
    /// input port.
    pub arrived: Cycle,
}
