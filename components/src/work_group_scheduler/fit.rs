//! Checks at elaboration that the machine can hold the launches of a program.

use warpweave_framework::Unfit;

use super::WorkGroupScheduler;
use super::machine::{Kernel, Misfit};
use crate::demands::{Demands, LaunchDemand};
use crate::launch::KernelReady;
use crate::occupancy::{Limiter, WorkGroupNeeds};

/// Returns the field of the unit's limits that sizes a resource.
fn field_of(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::WorkGroupSlots => "work_group_slots",
        Limiter::WavefrontSlots => "wavefront_slots",
        Limiter::Registers => "registers",
        Limiter::LocalMemory => "local_memory_bytes",
    }
}

impl WorkGroupScheduler {
    /// Fails if the units or the placement policy can never run one of the launches.
    pub(super) fn fit(&self, demands: &Demands) -> Result<(), Unfit> {
        (demands.launches.iter()).try_for_each(|demand| self.fit_launch(demand))
    }

    fn fit_launch(&self, demand: &LaunchDemand) -> Result<(), Unfit> {
        let LaunchDemand { launch, origin } = demand;
        let name = &launch.code.name;
        let here = || format!("`{name}` is launched here");
        let needs = WorkGroupNeeds::of(launch);
        let held = (self.machine).holds(launch, &needs, || format!("kernel `{name}`"));
        held.map_err(|Misfit { limiter, message }| {
            let unfit = match limiter.map(field_of) {
                None => Unfit::at("units_per_cluster", message),
                Some(field) => Unfit::at(format!("unit.{field}"), message).beside(
                    "each unit has what is stated here",
                    self.said.place_of(field),
                ),
            };
            unfit.beside_origin(here(), *origin)
        })?;
        let ready = KernelReady {
            kernel: 0,
            priority: 0,
            hint: 0,
        };
        let per_unit = self.machine.limits().occupancy(&needs);
        let kernel = Kernel::new(launch, ready, per_unit);
        (self.dispatcher.accepts(&kernel))
            .map_err(|problem| Unfit::at("policy", problem).beside_origin(here(), *origin))
    }
}
