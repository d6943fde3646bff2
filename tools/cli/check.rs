//! `warpweave check`: loads and builds a scenario without running it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use warpweave_files::Budget;
use warpweave_framework::{Division, Registry, Simulation};
use warpweave_params::printable;
use warpweave_systems::{Machine, Scenario};

use crate::outcome::{CommandResult, diagnostics_to_stderr, to_stdout};

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
    let core = system.core_clock.clone();
    text.push_str(&division(machine.simulation_mut(), &core, threads));
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Describes the partition of the system for `threads` threads, before any work is measured.
fn division(simulation: &mut Simulation, core: &str, threads: usize) -> String {
    simulation.set_options(simulation.options().divided_for(threads));
    let division = simulation.division();
    let mut text = format!(
        "for {threads} threads: {} partitions, {} of {} channels cross partitions",
        division.share_percent.len(),
        division.cut,
        simulation.channel_count()
    );
    if let Some(ticks) = division.lookahead {
        let clock = simulation.clock(core);
        let period = clock.map_or(1, |clock| simulation.time().period(clock));
        let cycles = ticks as f64 / period as f64;
        let cycles = (cycles * 100.0).round() / 100.0;
        let _ = write!(
            text,
            ", {ticks} ticks of look-ahead, {cycles} of clock {core}"
        );
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
    for (wires, count) in limits(simulation, &division) {
        let Wires { ends, latency } = wires;
        let _ = writeln!(
            text,
            "  look-ahead limited by {} <-> {}: {count} channels of latency {latency}",
            ends[0], ends[1]
        );
    }
    text
}

/// Wires between instances of the same name but for their indices, in either direction.
#[derive(PartialEq)]
struct Wires {
    ends: [String; 2],
    /// Cycles of the sender, or of the receiver for the credit if it is back earlier.
    latency: u32,
}

/// Counts the channels that limit the look-ahead, in the order in which their kinds first occur.
fn limits(simulation: &Simulation, division: &Division) -> Vec<(Wires, usize)> {
    let paths: Vec<&str> = simulation.instances().map(|(path, _)| path).collect();
    let mut limits: Vec<(Wires, usize)> = Vec::new();
    for channel in &division.limited_by {
        let ends = simulation.channel_ends(*channel);
        let mut ends = ends.map(|(instance, _)| any_index(paths[instance as usize]));
        ends.sort_unstable();
        let [latency, credit] = simulation.channel_latencies(*channel);
        let latency = latency.min(credit);
        let wires = Wires { ends, latency };
        match limits.iter_mut().find(|(known, _)| *known == wires) {
            Some((_, count)) => *count += 1,
            None => limits.push((wires, 1)),
        }
    }
    limits
}

/// Replaces every index of a path by `*`.
fn any_index(path: &str) -> String {
    let mut parts = path.split('[');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.split_once(']').map_or("", |(_, after)| after);
        text += "[*]";
        text += after;
    }
    text
}
