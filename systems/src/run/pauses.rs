//! Work of the runner while the host pauses: no cycle passes for the machine.

use std::sync::Arc;

use warpweave_components::launch_plan::LaunchPlan;
use warpweave_components::memory::MemRequest;
use warpweave_framework::{Direction, FunctionalWires, Simulation, Tick};
use warpweave_params::Diagnostic;

use super::region::RegionRun;

/// Pauses that the host requests through its launch plan.
pub(super) struct HostPauses {
    plan: Arc<LaunchPlan>,
    /// Wires of the machine; `None` before the first pause.
    wires: Option<FunctionalWires>,
}

impl HostPauses {
    pub(super) fn new(plan: Arc<LaunchPlan>) -> Self {
        Self { plan, wires: None }
    }

    /// Tells the host how long a pause lasts on this machine.
    ///
    /// # Errors
    /// Fails if the host empties all caches, but a part may keep lines that cannot be dropped.
    pub(super) fn prepare(&self, simulation: &mut Simulation) -> Result<(), Diagnostic> {
        self.plan.set_stop_delay(simulation.stop_delay());
        if !self.plan.flushes() {
            return Ok(());
        }
        let request = std::any::type_name::<MemRequest>();
        let receivers = simulation
            .port_addresses()
            .into_iter()
            .filter(|port| port.message == request && port.direction == Direction::Input);
        let kept = receivers
            .into_iter()
            .find(|port| !simulation.supports_functional(&port.address));
        kept.map_or(Ok(()), |port| {
            Err(Diagnostic::error(format!(
                "the host empties all caches before each launch, but a {} (port `{}`) does not \
                 support functional accesses and cannot be emptied",
                port.kind, port.address
            ))
            .hint("implement `Functional` for it, or set `flush_caches: false`"))
        })
    }

    /// True if the host empties all caches before each launch.
    pub(super) fn flush_caches(&self) -> bool {
        self.plan.flushes()
    }

    /// Returns the tick at whose end the host expects its work to be done, if it waits for any.
    pub(super) fn due(&self) -> Option<Tick> {
        self.plan.due()
    }

    /// Replays launches of the region through the caches and empties these, if it is time.
    ///
    /// # Errors
    /// Fails if a component does not support functional accesses.
    pub(super) fn serve(
        &mut self,
        simulation: &mut Simulation,
        region: Option<&RegionRun>,
    ) -> Result<(), String> {
        if self.plan.due() != Some(simulation.now()) {
            return Ok(());
        }
        let wires = self
            .wires
            .get_or_insert_with(|| FunctionalWires::of(simulation));
        if let Some(region) = region {
            region.replay(simulation, wires).map_err(|error| {
                format!(
                    "launches outside the region cannot be replayed: {error}; use `outside: Skip` to omit them"
                )
            })?;
        }
        if self.plan.wants_flush() {
            wires
                .flush(simulation)
                .map_err(|error| format!("the caches cannot be emptied: {error}"))?;
        }
        self.plan.fulfilled();
        Ok(())
    }
}
