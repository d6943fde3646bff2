//! `warpweave run --check-program`: checks the emulated program for errors.

use std::process::ExitCode;
use std::sync::Arc;

use warpweave_files::Budget;
use warpweave_systems::host_program::EmulationProgress;

use crate::arguments::{ReportFormat, RunArguments};
use crate::outcome::{CommandResult, Failure, diagnostics_to_stderr, to_stdout};
use crate::progress::Bar;

/// Emulates the program of a scenario and reports its errors. Nothing is timed.
pub(crate) fn check_program(
    arguments: &RunArguments,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    if arguments.format == ReportFormat::Csv {
        return Err(Failure::InputText(
            "--check-program supports text and JSON, not CSV".to_owned(),
        ));
    }
    let scenario = arguments.load(budget)?;
    let bar = Bar::new(quiet);
    let progress = Arc::new(EmulationProgress::default());
    bar.emulating(&progress);
    let examined = scenario.examine(&progress)?;
    bar.finish();
    for warnings in [scenario.warnings(), &examined.unneeded] {
        if !warnings.is_empty() && !quiet {
            diagnostics_to_stderr(warnings);
        }
    }
    let path = scenario.paths.scenario.display().to_string();
    match arguments.format {
        ReportFormat::Text | ReportFormat::Csv => to_stdout(&examined.to_text(&path))?,
        ReportFormat::Json => to_stdout(&(examined.to_json(&path) + "\n"))?,
    }
    Ok(ExitCode::from(u8::from(!examined.is_clean())))
}
