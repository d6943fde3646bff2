//! `warpweave validate`: compares a component with the reference data of trusted simulators.

use std::path::PathBuf;

use clap::ValueEnum;
use warpweave_framework::{Environment, Registry};
use warpweave_params::Diagnostic;
use warpweave_standalone::{Own, StandaloneError, cache, dram, noc};

use crate::arguments::Format;
use crate::outcome::{CommandResult, Failure, ended, to_stdout};

/// Component to compare with reference data.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Subject {
    /// GDDR5 controller, compared with DRAMsim3 and Ramulator.
    Dram,
    /// Network, compared with BookSim 2 and queueing theory.
    Noc,
    /// Cache, compared with reference hit and miss results.
    Cache,
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Component to compare with its reference data.
    subject: Subject,
    /// Folder of the reference data: its tables and traces, as docs/reference-data.md describes
    /// them.
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// Compare this preset or description with reference data of your own. By default, the presets
    /// of this repository are compared with the published set.
    #[arg(long, value_name = "NAME|FILE.ron")]
    preset: Option<String>,
    /// With --preset: tolerance for times and counts in percent; without it they must be equal.
    #[arg(long, value_name = "PERCENT", requires = "preset", value_parser = percent)]
    within: Option<f64>,
    /// Output format of the table on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|p| (0.0..=100.0).contains(p));
    percent.ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

/// Prints the whole table. The exit code is 1 if anything misses.
pub(crate) fn validate(registry: &Registry, arguments: &Arguments) -> CommandResult {
    let folder = &arguments.reference;
    let comparison = match &arguments.preset {
        None => match arguments.subject {
            Subject::Dram => dram::validate(folder),
            Subject::Noc => noc::validate(folder),
            Subject::Cache => cache::validate(folder),
        },
        Some(preset) => {
            let own = Own {
                preset,
                within: arguments.within.map(|percent| percent / 100.0),
                environment: &Environment::default().with_registry(registry),
            };
            match arguments.subject {
                Subject::Dram => dram::validate_own(folder, &own),
                Subject::Noc => noc::validate_own(folder, &own),
                Subject::Cache => cache::validate_own(folder, &own),
            }
        }
    };
    let comparison = comparison.map_err(failed)?;
    let text = match arguments.format {
        Format::Text => comparison.text(),
        Format::Json => serde_json::to_string_pretty(&comparison).expect("plain data") + "\n",
    };
    let told = to_stdout(&text);
    Ok(ended(u8::from(!comparison.holds()), [told]))
}

/// Converts a stand-alone error into a command failure.
pub(crate) fn failed(error: StandaloneError) -> Failure {
    match error {
        StandaloneError::OverBudget(error) => Diagnostic::from(error).into(),
        StandaloneError::Description(problems) => Failure::Input(problems),
        error => Failure::InputText(error.to_string()),
    }
}
