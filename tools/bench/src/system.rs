//! Whole systems: a scenario emulated and simulated, in wavefront instructions per CPU second.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cpu_time::ProcessTime;
use warpweave_systems::{Scenario, standard_registry};

/// What `system` measures when no scenario is named.
pub(crate) const SCENARIOS: [&str; 2] =
    ["scenarios/matrix_multiply_60.ron", "scenarios/bfs_60.ron"];

/// Runs one scenario and returns a line of figures.
///
/// # Errors
/// What is wrong with the scenario, as text.
pub(crate) fn measure(path: &str, sets: &[String]) -> Result<String, String> {
    let scenario = Scenario::load(Path::new(path), sets).map_err(|e| e.to_string())?;
    let emulation = ProcessTime::now();
    let executed = scenario.emulate().map_err(|e| e.to_string())?;
    let emulation = emulation.elapsed().as_secs_f64();
    let mut machine = scenario
        .machine(&standard_registry(), &executed.program)
        .map_err(|e| e.to_string())?;
    let simulation = ProcessTime::now();
    let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    let simulation = simulation.elapsed().as_secs_f64();
    let instructions = simulated.wavefront_instructions as f64;
    Ok(format!(
        "{path}: {} wavefront instructions, {} cycles, {}; per CPU second: {:.0} emulated, {:.0} \
         simulated, {:.0} cycles; {:.2} evaluations and {:.2} messages per instruction",
        simulated.wavefront_instructions,
        simulated.cycles,
        simulated.status.name(),
        instructions / emulation,
        instructions / simulation,
        simulated.cycles as f64 / simulation,
        machine.system().simulation.evaluations() as f64 / instructions,
        simulated.messages as f64 / instructions,
    ))
}
