//! `warpweave bench`: one component under a request trace.

mod cache;
mod dram;
mod noc;

use clap::Subcommand;
use warpweave_files::{Budget, Ledger};
use warpweave_framework::{Environment, Registry};

use crate::outcome::CommandResult;

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
