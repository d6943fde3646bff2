//! `warpweave check`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use warpweave_systems::{Scenario, standard_registry};

use crate::outcome::{CommandResult, shown, to_stderr, to_stdout};

pub(crate) fn check(path: &Path, sets: &[String], resolved: bool, quiet: bool) -> CommandResult {
    let scenario = Scenario::load(path, sets)?;
    let machine = scenario.check(&standard_registry())?;
    let system = machine.system();
    if !system.warnings.is_empty() && !quiet {
        to_stderr(&shown(&system.warnings));
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
    let mut text = format!("{}: {}\n", scenario.system_path.display(), system.summary);
    for (kind, count) in kinds {
        let _ = writeln!(text, "  {count:>6} {kind}");
    }
    let _ = writeln!(text, "  {:>6} channels", system.simulation.channel_count());
    let _ = writeln!(
        text,
        "{}: the program is readable",
        scenario.workload_path.display()
    );
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}
