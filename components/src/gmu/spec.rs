//! Description of a grid management unit and checks of its parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Id, Policy, SpecError};

use super::{Fcfs, KernelOrder};

/// Maximum number of kernels in queues and pool together.
const KERNELS_MAX: u64 = Id::PLACES_MAX as u64;

/// Description of a grid management unit: queues, pool, latencies and kernel order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GmuSpec {
    /// Number of hardware work queues, at least 1: streams that can run concurrently.
    pub hardware_queues: u32,
    /// Capacity of a hardware work queue in kernels, including the running one, at least 1.
    pub queue_depth: u32,
    /// Capacity of the pending pool in kernels.
    pub pending_kernels: u32,
    /// Cycles from becoming the head of a queue to transmission to the work-group scheduler.
    pub dispatch_latency_cycles: u32,
    /// Additional cycles for each work-group of the kernel. Source: 0; GPGPU-Sim adds the latency
    /// of a work-group's launch to that of the kernel's so.
    #[serde(default)]
    pub work_group_latency_cycles: u32,
    /// Policy that chooses the kernel for an empty hardware work queue. Source: `Fcfs` is the LASER
    /// paper's baseline, section 3.2.
    #[serde(default = "Policy::plain::<Fcfs>")]
    pub order: Policy<KernelOrder>,
}

impl GmuSpec {
    /// Checks that every parameter is in its range.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        SpecError::in_range("hardware_queues", self.hardware_queues, 1..)?;
        SpecError::in_range("queue_depth", self.queue_depth, 1..)?;
        let queued = u64::from(self.hardware_queues).saturating_mul(u64::from(self.queue_depth));
        let total = queued.saturating_add(u64::from(self.pending_kernels));
        SpecError::require(total <= KERNELS_MAX, "", || {
            format!(
                "{} queues of {} kernels and a pool of {} hold {total} kernels; at most \
                 {KERNELS_MAX} are supported",
                self.hardware_queues, self.queue_depth, self.pending_kernels
            )
        })
    }
}
