//! `warpweave bench`: one component under a request trace.

mod cache;
mod dram;
mod noc;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use warpweave_files::{Budget, Ledger, PathError, Paths};
use warpweave_framework::{Environment, Registry};

use crate::outcome::CommandResult;

/// How often a trace may be run for the speed.
const REPEAT_MAX: i64 = 10_000;

/// Which component to drive.
#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// The GDDR5 controller.
    Dram(dram::Arguments),
    /// The crossbar.
    Noc(noc::Arguments),
    /// The cache.
    Cache(cache::Arguments),
}

pub(crate) fn bench(registry: &Registry, command: &BenchCommand, budget: &Budget) -> CommandResult {
    let environment = Environment::default()
        .with_registry(registry)
        .charged_to(&Ledger::new(budget));
    match command {
        BenchCommand::Dram(arguments) => dram::run(arguments, &environment),
        BenchCommand::Noc(arguments) => noc::run(arguments, &environment),
        BenchCommand::Cache(arguments) => cache::run(arguments, &environment),
    }
}

/// Tests whether the files that options name can be written and are others than the trace and the
/// description of the component, if that is a file.
fn name_outputs(
    trace: &Path,
    preset: &str,
    outputs: &[(&'static str, &Option<PathBuf>)],
) -> Result<(), PathError> {
    let mut paths = Paths::new();
    paths.reads(trace);
    let preset = Path::new(preset);
    if preset.is_file() {
        paths.reads(preset);
    }
    for (option, path) in outputs {
        if let Some(path) = path {
            paths.writes(option, path)?;
        }
    }
    Ok(())
}
