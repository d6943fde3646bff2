//! `warpweave validate`: a component beside the reference data of trusted simulators.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use warpweave_params::Diagnostic;
use warpweave_standalone::{StandaloneError, cache, dram, noc};

use crate::cli::Format;
use crate::outcome::{CommandResult, Failure, to_stdout};

/// Which component to compare.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Subject {
    /// The GDDR5 controller.
    Dram,
    /// The crossbar.
    Noc,
    /// The cache.
    Cache,
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What to compare.
    subject: Subject,
    /// Folder of the reference data: its tables and traces.
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// Form of the table on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Prints the whole table; exit code 1 if anything misses.
pub(crate) fn validate(arguments: &Arguments) -> CommandResult {
    let compare: fn(&Path) -> Result<_, StandaloneError> = match arguments.subject {
        Subject::Dram => dram::validate,
        Subject::Noc => noc::validate,
        Subject::Cache => cache::validate,
    };
    let comparison = compare(&arguments.reference).map_err(failed)?;
    let text = match arguments.format {
        Format::Text => comparison.text(),
        Format::Json => serde_json::to_string_pretty(&comparison).expect("plain data") + "\n",
    };
    to_stdout(&text)?;
    Ok(ExitCode::from(u8::from(!comparison.holds())))
}

/// A stand-alone run that could not be made.
pub(crate) fn failed(error: StandaloneError) -> Failure {
    match error {
        StandaloneError::OverBudget(error) => Diagnostic::from(error).into(),
        error => Failure::InputText(error.to_string()),
    }
}
