//! `warpweave bench`: drives one component with a request trace.

mod cache;
mod dram;
mod noc;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use warpweave_files::{Budget, Ledger, PathError, Paths};
use warpweave_framework::{Environment, Registry};

use crate::outcome::CommandResult;

/// Maximum number of repetitions of a trace.
const REPEAT_MAX: i64 = 10_000;

/// Drive one component with a request trace and report its performance.
#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Drive the GDDR5 controller with a request trace.
    Dram(dram::Arguments),
    /// Drive a network, crossbar or router, with a packet trace.
    Noc(noc::Arguments),
    /// Drive the cache with an access trace.
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

/// Checks that the output files are writable. They must differ from the trace and from the
/// component's description file, if it has one.
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
