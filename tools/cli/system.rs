//! `warpweave system`: converts option files to system files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use warpweave_accel_sim::{UnknownOptions, system_of};

use crate::outcome::{CommandResult, to_stdout};

/// Convert option files to system files.
#[derive(Subcommand)]
pub(crate) enum SystemCommand {
    /// Convert option files of GPGPU-Sim and Accel-Sim to a system file.
    ///
    /// The system is written to standard output. Its first lines list the options that it does not
    /// model.
    Import {
        /// Option files: `gpgpusim.config`, then `trace.config`; if an option is given twice, the
        /// last value counts.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Leave out options that are unknown instead of ending with an error.
        ///
        /// The first lines of the system list them.
        #[arg(long)]
        leave_out_unknown: bool,
    },
}

pub(crate) fn system(command: &SystemCommand) -> CommandResult {
    let SystemCommand::Import {
        files,
        leave_out_unknown,
    } = command;
    let unknown = if *leave_out_unknown {
        UnknownOptions::LeaveOut
    } else {
        UnknownOptions::Refuse
    };
    to_stdout(&system_of(files, unknown)?)?;
    Ok(ExitCode::SUCCESS)
}
