//! Launches of a program that the machine must be able to hold.

use std::sync::Arc;

use warpweave_components::demands::{DistinctLaunches, LaunchDemand};
use warpweave_components::launch_plan::{LaunchMode, LaunchPlan};
use warpweave_components::occupancy::WorkGroupNeeds;
use warpweave_trace::Program;

use crate::scenario::Region;

/// Returns the distinct launches that a run is certain to place on the machine. They are those of
/// the emulated `program`, or the `described` ones before the emulation. Launches outside the
/// region are left out if they are skipped, or if that is not known yet.
pub(super) fn held_launches(
    mut described: Vec<LaunchDemand>,
    program: &Program,
    plan: Option<&LaunchPlan>,
    region: Option<&Region>,
) -> Vec<LaunchDemand> {
    if program.kernels.is_empty() {
        if let Some(region) = region {
            described.retain(|demand| region.holds_all_of(&demand.launch.code.name));
        }
        return described;
    }
    let mut distinct = DistinctLaunches::default();
    let runs = |number: u32| plan.is_none_or(|plan| plan.fate(number) != LaunchMode::Skipped);
    let launches = (0_u32..).zip(&program.kernels);
    launches
        .filter(|(number, launch)| runs(*number) && distinct.is_new(launch))
        .map(|(_, launch)| {
            let name = &launch.code.name;
            let of_kernel = || (described.iter()).filter(|known| known.launch.code.name == *name);
            let needs = WorkGroupNeeds::of(launch);
            let same = of_kernel()
                .find(|known| WorkGroupNeeds::of(&known.launch) == needs)
                .or_else(|| of_kernel().next());
            LaunchDemand {
                launch: Arc::clone(launch),
                origin: same.and_then(|known| known.origin),
            }
        })
        .collect()
}
