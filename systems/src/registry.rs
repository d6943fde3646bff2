//! Component kinds and policies that are included in Warpweave.

use warpweave_components::{
    cache::{self, Cache},
    ccws,
    clock_crossing::ClockCrossing,
    cluster_port::ClusterPort,
    compute_unit::{self, ComputeUnit},
    crossbar::{self, Crossbar},
    dram::{self, GddrController},
    gmu::{self, Gmu},
    host_driver::HostDriver,
    icc::IccUnit,
    icc::checker::CoalescingChecker,
    launch_unit::LaunchUnit,
    work_group_scheduler::{self, WorkGroupScheduler},
};
use warpweave_framework::Registry;

/// Returns a registry of every kind and policy in this repository. Programs that use Warpweave as a
/// library add their own.
pub fn standard_registry() -> Registry {
    let mut registry = Registry::new();
    registry.register::<Cache>();
    registry.register::<ClockCrossing>();
    registry.register::<ClusterPort>();
    registry.register::<CoalescingChecker>();
    registry.register::<ComputeUnit>();
    registry.register::<Crossbar>();
    registry.register::<GddrController>();
    registry.register::<Gmu>();
    registry.register::<HostDriver>();
    registry.register::<IccUnit>();
    registry.register::<LaunchUnit>();
    registry.register::<WorkGroupScheduler>();
    cache::register_policies(&mut registry);
    ccws::register_policies(&mut registry);
    compute_unit::register_policies(&mut registry);
    crossbar::register_policies(&mut registry);
    dram::register_policies(&mut registry);
    gmu::register_policies(&mut registry);
    work_group_scheduler::register_policies(&mut registry);
    registry
}
