//! Speed of whole systems, emulated and simulated: wavefront instructions per CPU second, and host
//! instructions per wavefront instruction.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cpu_time::ProcessTime;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use warpweave_systems::{Machine, Scenario, standard_registry};

use crate::callgrind;

/// Default scenarios of `system`, also counted in the instruction table.
pub(crate) const SCENARIOS: [&str; 2] =
    ["scenarios/matrix_multiply_60.ron", "scenarios/bfs_60.ron"];

/// Further scenarios of the instruction table. One is an Accel-Sim-like machine. The others run a
/// kernel of one work-group on 60 units and on one, whose difference is the cost of idle units.
pub(crate) const COUNTED: [&str; 3] = [
    "scenarios/vector_add_gtx480.ron",
    "scenarios/matrix_multiply_60.ron workload.n=16",
    "scenarios/matrix_multiply_60.ron workload.n=16 params.clusters=1 params.units_per_cluster=1",
];

/// Programs on the machines in the manner of Accel-Sim that stand for recorded traces of the same
/// kind: a vector addition and a breadth-first search.
pub(crate) const TRACED: [&str; 8] = [
    "tools/bench/scenarios/addition_gtx480.ron",
    "tools/bench/scenarios/addition_titanx.ron",
    "tools/bench/scenarios/addition_titanv.ron",
    "tools/bench/scenarios/addition_qv100.ron",
    "tools/bench/scenarios/search_gtx480.ron",
    "tools/bench/scenarios/search_titanx.ron",
    "tools/bench/scenarios/search_titanv.ron",
    "tools/bench/scenarios/search_qv100.ron",
];

/// Last scenarios of the table: the same with statistics by kernel, by interval or both. They show
/// the overhead of statistics.
pub(crate) const MEASURED: [&str; 2] = [
    "scenarios/matrix_multiply_60.ron measure.kernels=true measure.every_cycles=10000",
    "scenarios/bfs_60.ron measure.kernels=true",
];

/// Runs one scenario and returns a line of figures.
///
/// # Errors
/// Fails with a text if the scenario is invalid.
pub(crate) fn measure(path: &str, sets: &[String]) -> Result<String, String> {
    let scenario = Scenario::load(Path::new(path), sets).map_err(|e| e.to_string())?;
    let emulation = ProcessTime::now();
    let executed = scenario.emulate().map_err(|e| e.to_string())?;
    let emulation = emulation.elapsed().as_secs_f64();
    let mut machine = Machine::of(&scenario, &standard_registry(), &executed.program)
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
        simulated.activity.messages as f64 / instructions,
    ))
}

/// Counts the host instructions of `warpweave run` on a scenario file with overrides. Divides those
/// of the whole process by the wavefront instructions in its report.
///
/// # Errors
/// Fails with a text if the program is missing or a run fails.
pub(crate) fn instructions_per_wavefront_instruction(
    program: &Path,
    scenario: &str,
) -> Result<f64, String> {
    let units = wavefront_instructions(program, scenario)?;
    let (instructions, _) = callgrind::count(&run_of(program, scenario))?;
    Ok(instructions as f64 / units as f64)
}

/// Returns the command `warpweave run` for a scenario: its file, followed by overrides.
pub(crate) fn run_of(program: &Path, scenario: &str) -> Command {
    let mut words = scenario.split_whitespace();
    let mut command = Command::new(program);
    command.args(["run", words.next().unwrap_or_default(), "--quiet"]);
    words.for_each(|set| {
        command.args(["--set", set]);
    });
    command
}

/// Returns the wavefront instructions in the report of a run.
///
/// # Errors
/// Fails like [`instructions_per_wavefront_instruction`].
pub(crate) fn wavefront_instructions(program: &Path, scenario: &str) -> Result<u64, String> {
    #[derive(Deserialize)]
    struct Report {
        wavefront_instructions: u64,
    }
    let report: Report = report(program, scenario)?;
    Ok(report.wavefront_instructions)
}

/// Runs a scenario and reads its report.
///
/// # Errors
/// Fails with a text if the program is missing or the run fails.
pub(crate) fn report<T: DeserializeOwned>(program: &Path, scenario: &str) -> Result<T, String> {
    let mut run = run_of(program, scenario);
    let output = run.args(["--format", "json"]).output().map_err(|e| {
        let program = program.display();
        format!("{program}: {e}\nhint: cargo build --release, or name the program with --program")
    })?;
    serde_json::from_slice(&output.stdout).map_err(|e| {
        let log = String::from_utf8_lossy(&output.stderr);
        format!("the report of {}: {e}\n{log}", program.display())
    })
}
