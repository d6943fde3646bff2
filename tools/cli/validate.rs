//! `warpweave validate`: a component beside the reference data of trusted simulators.

use std::path::PathBuf;

use clap::ValueEnum;
use warpweave_framework::{Environment, Registry};
use warpweave_params::Diagnostic;
use warpweave_standalone::{Own, StandaloneError, cache, dram, noc};

use crate::cli::Format;
use crate::outcome::{CommandResult, Failure, ended, to_stdout};

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
    /// Folder of the reference data: its tables and traces, as docs/reference-data.md describes them.
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// Holds this preset or description against reference data of your own, instead of the presets of
    /// this repository against the published set.
    #[arg(long, value_name = "NAME|FILE.ron")]
    preset: Option<String>,
    /// With a preset of your own: percent by which times and counts may differ; without it they are to
    /// be equal.
    #[arg(long, value_name = "PERCENT", requires = "preset", value_parser = percent)]
    within: Option<f64>,
    /// Form of the table on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|p| (0.0..=100.0).contains(p));
    percent.ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

/// Prints the whole table; exit code 1 if anything misses.
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

/// A stand-alone run that could not be made.
pub(crate) fn failed(error: StandaloneError) -> Failure {
    match error {
        StandaloneError::OverBudget(error) => Diagnostic::from(error).into(),
        error => Failure::InputText(error.to_string()),
    }
}
