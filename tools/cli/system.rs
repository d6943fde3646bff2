//! `warpweave system`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use warpweave_accel_sim::system_of;

use crate::outcome::{CommandResult, to_stdout};

/// What to do with systems.
#[derive(Subcommand)]
pub(crate) enum SystemCommand {
    /// Make a system file of option files of GPGPU-Sim and Accel-Sim.
    ///
    /// The system goes to standard output. Its first lines list what of the options it does not have.
    Import {
        /// `gpgpusim.config`, then `trace.config`; of an option given twice the last value counts.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

pub(crate) fn system(command: &SystemCommand) -> CommandResult {
    let SystemCommand::Import { files } = command;
    to_stdout(&system_of(files)?)?;
    Ok(ExitCode::SUCCESS)
}
