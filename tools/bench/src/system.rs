//! Whole systems: a scenario emulated and simulated, in wavefront instructions per CPU second and in
//! instructions of the host per wavefront instruction.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cpu_time::ProcessTime;
use serde::Deserialize;
use warpweave_systems::{Scenario, standard_registry};

use crate::callgrind;

/// What `system` measures when no scenario is named, and the table of instructions counts.
pub(crate) const SCENARIOS: [&str; 2] =
    ["scenarios/matrix_multiply_60.ron", "scenarios/bfs_60.ron"];

/// What the table of instructions counts besides: a machine in the manner of Accel-Sim, and a kernel of one work-group on 60
/// units and on one, whose difference is what units cost that have nothing to do.
pub(crate) const COUNTED: [&str; 3] = [
    "scenarios/vector_add_gtx480.ron",
    "scenarios/matrix_multiply_60.ron workload.n=16",
    "scenarios/matrix_multiply_60.ron workload.n=16 params.clusters=1 params.units_per_cluster=1",
];

/// The last of the table: the same with statistics by kernel, by interval or both. They show what these cost.
pub(crate) const MEASURED: [&str; 2] = [
    "scenarios/matrix_multiply_60.ron measure.kernels=true measure.every_cycles=10000",
    "scenarios/bfs_60.ron measure.kernels=true",
];

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

/// Instructions that `warpweave run` needs for a scenario, its file and overrides after it, from the start of `program` to its end,
/// divided by the wavefront instructions that its report tells.
///
/// # Errors
/// A program that is not there, a run that failed; as text.
pub(crate) fn instructions_per_wavefront_instruction(
    program: &Path,
    scenario: &str,
) -> Result<f64, String> {
    let units = wavefront_instructions(program, scenario)?;
    let (instructions, _) = callgrind::count(&run_of(program, scenario))?;
    Ok(instructions as f64 / units as f64)
}

/// `warpweave run` of a scenario, its file and overrides after it.
pub(crate) fn run_of(program: &Path, scenario: &str) -> Command {
    let mut words = scenario.split_whitespace();
    let mut command = Command::new(program);
    command.args(["run", words.next().unwrap_or_default(), "--quiet"]);
    words.for_each(|set| {
        command.args(["--set", set]);
    });
    command
}

/// The wavefront instructions that the report of a run tells.
///
/// # Errors
/// As [`instructions_per_wavefront_instruction`].
pub(crate) fn wavefront_instructions(program: &Path, scenario: &str) -> Result<u64, String> {
    #[derive(Deserialize)]
    struct Report {
        wavefront_instructions: u64,
    }
    let mut run = run_of(program, scenario);
    let output = run.args(["--format", "json"]).output().map_err(|e| {
        let program = program.display();
        format!("{program}: {e}\nhint: cargo build --release, or name the program with --program")
    })?;
    let report: Report = serde_json::from_slice(&output.stdout).map_err(|e| {
        let log = String::from_utf8_lossy(&output.stderr);
        format!("the report of {}: {e}\n{log}", program.display())
    })?;
    Ok(report.wavefront_instructions)
}
