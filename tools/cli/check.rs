//! `warpweave check`: loads and builds a scenario without running it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use warpweave_files::Budget;
use warpweave_framework::{Registry, Simulation};
use warpweave_params::printable;
use warpweave_systems::{Machine, Scenario};

use crate::outcome::{CommandResult, diagnostics_to_stderr, to_stdout};

/// Maximum number of listed wires that limit the look-ahead.
const WIRES_SHOWN: usize = 4;

/// Output options of the `check` command.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    /// Prints the system as built instead of a summary.
    pub(crate) resolved: bool,
    /// Number of threads for which to show the partition of the system.
    pub(crate) threads: usize,
    /// Suppresses all warnings of the check.
    pub(crate) quiet: bool,
}

pub(crate) fn check(
    registry: &Registry,
    path: &Path,
    sets: &[String],
    options: Options,
    budget: &Budget,
) -> CommandResult {
    let Options {
        resolved,
        threads,
        quiet,
    } = options;
    let scenario = Scenario::load_within(path, sets, budget)?;
    let mut machine = Machine::without_program(&scenario, registry)?;
    let system = machine.system();
    for warnings in [scenario.warnings(), &system.warnings] {
        if !warnings.is_empty() && !quiet {
            diagnostics_to_stderr(warnings);
        }
    }
    if resolved {
        to_stdout(&warpweave_params::to_ron(&system.resolved.to_node()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for (_, kind) in system.simulation.instances() {
        match kinds.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let mut text = format!(
        "{}: {}\n",
        scenario.paths.system.display(),
        printable(&system.summary)
    );
    for (kind, count) in kinds {
        let _ = writeln!(text, "  {count:>6} {kind}");
    }
    let _ = writeln!(text, "  {:>6} channels", system.simulation.channel_count());
    let _ = writeln!(
        text,
        "{}: the program is readable",
        scenario.paths.work.display()
    );
    text.push_str(&division(machine.simulation_mut(), threads));
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Describes the partition of the system for `threads` threads, before any work is measured.
fn division(simulation: &mut Simulation, threads: usize) -> String {
    simulation.set_options(simulation.options().divided_for(threads));
    let division = simulation.division();
    let mut text = format!(
        "for {threads} threads: {} partitions, {} of {} channels cross partitions",
        division.share_percent.len(),
        division.cut,
        simulation.channel_count()
    );
    if let Some(ticks) = division.lookahead {
        let _ = write!(text, ", {ticks} ticks of look-ahead");
    }
    text.push('\n');
    for (partition, share) in division.share_percent.iter().enumerate() {
        let mine = division
            .partition_of
            .iter()
            .filter(|p| **p as usize == partition);
        let count = mine.count();
        let _ = writeln!(
            text,
            "  partition {partition}: {count} instances, {share:.0} % of the work"
        );
    }
    for channel in division.limited_by.iter().take(WIRES_SHOWN) {
        let name = simulation.channel_name(*channel);
        let _ = writeln!(text, "  look-ahead limited by {name}");
    }
    if division.limited_by.len() > WIRES_SHOWN {
        let more = division.limited_by.len() - WIRES_SHOWN;
        let _ = writeln!(text, "  and {more} more");
    }
    text
}
