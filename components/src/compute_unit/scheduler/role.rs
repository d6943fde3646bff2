//! Policy role of wavefront schedulers in a compute unit.

use warpweave_framework::PolicyRole;

use super::{BuiltIn, WavefrontScheduler};

/// Wavefront schedulers of a compute unit; each has its own policy instance, built from the same
/// specification.
pub struct WavefrontScheduling;

impl PolicyRole for WavefrontScheduling {
    const NAME: &'static str = "wavefront_scheduler";
    const SUMMARY: &'static str =
        "Chooses the wavefront to issue in each cycle of a compute unit, and throttles others";
    type Policy = WavefrontPolicy;
    type Site = SchedulerSite;
}

/// Parameters that a compute unit gives to the policy of one scheduler. Instructions and kernel
/// relations are found in the program, the resource `Program` of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerSite {
    /// Index of the compute unit in the device.
    pub unit: u16,
    /// Index of this scheduler in the unit.
    pub scheduler: u32,
    /// Number of schedulers in the unit, 1 to 8.
    pub schedulers: u32,
    /// Wavefront slots of this scheduler, one bit each. Schedulers share no slots.
    pub slots: u64,
    /// Number of wavefront slots of the unit, 1 to 64.
    pub wavefront_slots: u32,
    /// Number of work-group slots of the unit, 1 to 64.
    pub work_group_slots: u32,
}

/// A constructed wavefront scheduler. The schedulers of a unit are either all built in or all open.
pub enum WavefrontPolicy {
    /// Policy implemented in the compute unit, without a dynamic call per cycle.
    BuiltIn(BuiltIn),
    /// Policy behind the `WavefrontScheduler` trait, called dynamically.
    Open(Box<dyn WavefrontScheduler>),
}

impl WavefrontPolicy {
    /// Wraps a policy that is called through the `WavefrontScheduler` trait.
    pub fn open(policy: impl WavefrontScheduler + 'static) -> Self {
        Self::Open(Box::new(policy))
    }
}
