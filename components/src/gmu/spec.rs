//! What a description may set of a grid management unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Id, Policy, SpecError};

use super::{Fcfs, KernelOrder};

/// Kernels that queues and pool may hold in all.
const KERNELS_MAX: u64 = Id::PLACES_MAX as u64;

/// A grid management unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GmuSpec {
    /// Hardware work queues, at least 1: streams that can run concurrently.
    pub hardware_queues: u32,
    /// Kernels one hardware work queue holds, the running one included, at least 1.
    pub queue_depth: u32,
    /// Kernels the pending pool holds.
    pub pending_kernels: u32,
    /// Cycles from becoming the head of a queue to being sent to the work-group scheduler.
    pub dispatch_latency_cycles: u32,
    /// Cycles more for each work-group of the kernel. Source: 0; GPGPU-Sim adds the latency of a work-group's launch to that
    /// of the kernel's so.
    #[serde(default)]
    pub work_group_latency_cycles: u32,
    /// Which kernel gets a hardware work queue that is empty. Source: `Fcfs` is the LASER paper's
    /// baseline, section 3.2.
    #[serde(default = "Policy::plain::<Fcfs>")]
    pub order: Policy<KernelOrder>,
}

impl GmuSpec {
    /// Checks every number.
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
