//! The place in a compute unit that a wavefront scheduler fills.

use warpweave_framework::PolicyRole;

use super::{BuiltIn, WavefrontScheduler};

/// The wavefront schedulers of a compute unit; each has a policy of its own, built from the same
/// specification.
pub struct WavefrontScheduling;

impl PolicyRole for WavefrontScheduling {
    const NAME: &'static str = "wavefront_scheduler";
    const SUMMARY: &'static str =
        "Chooses the wavefront that issues, and holds others back, in each cycle of a compute unit";
    type Policy = WavefrontPolicy;
    type Site = SchedulerSite;
}

/// What a compute unit tells the policy of one of its schedulers. What its wavefronts execute, and
/// how kernels relate, is the program's: the resource `Program` of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerSite {
    /// Number of the compute unit in the machine.
    pub unit: u16,
    /// Number of this scheduler in the unit.
    pub scheduler: u32,
    /// Schedulers of the unit, 1 to 8.
    pub schedulers: u32,
    /// Wavefront slots that this scheduler serves, one bit each. No slot is served by two.
    pub slots: u64,
    /// Wavefront slots of the unit, 1 to 64.
    pub wavefront_slots: u32,
    /// Work-group slots of the unit, 1 to 64.
    pub work_group_slots: u32,
}

/// A wavefront scheduler once it is built. Either all schedulers of a unit are built in, or none.
pub enum WavefrontPolicy {
    /// One that the compute unit knows, without a dynamic call in each cycle.
    BuiltIn(BuiltIn),
    /// Any other.
    Open(Box<dyn WavefrontScheduler>),
}

impl WavefrontPolicy {
    /// A policy of the open kind.
    pub fn open(policy: impl WavefrontScheduler + 'static) -> Self {
        Self::Open(Box::new(policy))
    }
}
