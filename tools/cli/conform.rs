//! `warpweave conform`: checks a policy against the promises of all policies.

use std::path::PathBuf;

use warpweave_conform::{
    CallerPlace, ConformError, Conformance, ConformanceProperty, EarlierRuns, Finding,
};
use warpweave_files::OutputFolder;
use warpweave_framework::{PolicyEntry, Registry};

use crate::outcome::{CommandResult, Failure, ended, to_stdout};
use crate::policies;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Policy to check: `ROLE/NAME`, or `NAME` if only one role has it.
    policy: String,
    /// Fields of the policy, as between the parentheses of a description: `base_score: 80`.
    #[arg(long, value_name = "FIELDS", default_value = "")]
    fields: String,
    /// Number of machines and programs to generate.
    #[arg(long, value_name = "N", default_value = "24", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    cases: u32,
    /// Seed for generating machines and programs.
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Maximum number of simpler cases to try for each broken promise.
    #[arg(long, value_name = "N", default_value = "400", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    shrink: u32,
    /// Folder for the scenarios that show broken promises; it must not exist. `conform-NAME` if
    /// absent.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Test the policy in this scenario instead of generated ones; required for a role of your own.
    #[arg(long, value_name = "FILE", requires = "place")]
    scenario: Option<PathBuf>,
    /// Path of the override that selects the policy in the scenario, such as
    /// `unit[*].cu.scheduler`.
    #[arg(long, value_name = "PATH", requires = "scenario")]
    place: Option<String>,
}

pub(crate) fn conform(registry: &Registry, arguments: &Arguments) -> CommandResult {
    let policy = policies::find(registry, &arguments.policy)?;
    let PolicyEntry { role, name, .. } = policy;
    let description = if arguments.fields.trim().is_empty() {
        (*name).to_owned()
    } else {
        format!("{name}({})", arguments.fields)
    };
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("conform-{name}")));
    if out.exists() {
        return Err(Failure::InputText(format!(
            "{} already exists\nhint: name another folder with --out DIR",
            out.display()
        )));
    }
    OutputFolder::create(&out)?;
    let at = arguments.scenario.clone().zip(arguments.place.clone());
    let conformance = Conformance {
        registry,
        policy,
        description,
        at: at.map(|(scenario, path)| CallerPlace { scenario, path }),
        cases: arguments.cases,
        seed: arguments.seed,
        simpler: arguments.shrink,
        out,
        earlier: &EarlierRuns::default(),
    };
    let mut told = to_stdout(&format!("{role}/{name}\n"));
    // A policy that panics breaks a promise; the finding says with which words.
    std::panic::set_hook(Box::new(|_| {}));
    let mut broken = false;
    let mut written = Ok(());
    for promise in ConformanceProperty::ALL {
        let finding = conformance.check(promise).map_err(failure)?;
        let line = match finding {
            Finding::Kept { tried, refused: 0 } => format!("  kept    {promise} ({tried} cases)\n"),
            Finding::Kept { tried, refused } => {
                format!("  kept    {promise} ({tried} cases, {refused} of them rejected)\n")
            }
            Finding::NotAsked => format!("  -       {promise}: cannot be tested\n"),
            Finding::Broken { what, scenario } => {
                broken = true;
                let what = what.replace('\n', "\n          ");
                let see = match scenario {
                    Ok(scenario) => format!("          see {}\n", scenario.display()),
                    Err(error) => {
                        written = written.and(Err(error.into()));
                        String::new()
                    }
                };
                format!("  BROKEN  {promise}\n          {what}\n{see}")
            }
        };
        told = told.and_then(|()| to_stdout(&line));
        if told.is_err() {
            break;
        }
    }
    Ok(ended(u8::from(broken), [told, written]))
}

fn failure(error: ConformError) -> Failure {
    match error {
        ConformError::Refused(problems) => Failure::Input(problems),
        ConformError::File { .. } => Failure::Machine(error.to_string()),
        ConformError::NoPlace(_) => Failure::InputText(format!(
            "{error}\nhint: name a scenario with --scenario FILE and the place in it with --place PATH"
        )),
    }
}
