//! `warpweave bench`: one component under a request trace.

mod cache;
mod dram;
mod noc;

use clap::Subcommand;

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

pub(crate) fn bench(command: &BenchCommand) -> CommandResult {
    match command {
        BenchCommand::Dram(arguments) => dram::run(arguments),
        BenchCommand::Noc(arguments) => noc::run(arguments),
        BenchCommand::Cache(arguments) => cache::run(arguments),
    }
}
