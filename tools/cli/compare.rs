//! `warpweave compare`: shows the reports of several runs side by side.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use warpweave_files::{Budget, Input, Ledger, ReadError};
use warpweave_params::Source;
use warpweave_systems::report::{Comparison, Record, Side};

use crate::outcome::{CommandResult, Failure, page_to_stdout, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A `report.json` or a results folder. Repetitions of one experiment are joined by commas.
    /// Everything is compared with the first argument.
    #[arg(value_name = "RUN[,RUN...]", required = true, num_args = 2..)]
    sides: Vec<String>,
    /// Output format of the comparison on standard output.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

/// Output format of a comparison of runs.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// Human-readable page of text tables.
    Text,
    /// Table with one row for each quantity and side.
    Csv,
    /// Self-contained page for a web browser.
    Html,
}

/// File name of the report in a results folder, followed by that of the system.
const REPORT: &str = "report.json";
const SYSTEM: &str = "system.ron";

pub(crate) fn compare(arguments: &Arguments, budget: &Budget) -> CommandResult {
    let sides = arguments.sides.iter().map(|name| side(name, budget));
    let sides = sides.collect::<Result<Vec<_>, _>>()?;
    let comparison = Comparison::of(&sides)?;
    match arguments.format {
        Form::Text => page_to_stdout(|colour| comparison.to_text(colour))?,
        Form::Csv => to_stdout(&comparison.to_csv())?,
        Form::Html => to_stdout(&comparison.to_html())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Loads the runs of one argument. A comma belongs to a name if a file of that name exists.
fn side(name: &str, budget: &Budget) -> Result<Side, Failure> {
    let paths: Vec<PathBuf> = if Path::new(name).exists() {
        vec![name.into()]
    } else {
        name.split(',').map(PathBuf::from).collect()
    };
    let mut runs = Vec::new();
    for path in &paths {
        let file = if path.is_dir() {
            path.join(REPORT)
        } else {
            path.clone()
        };
        let record = Record::from_json(&read(&file, budget)?);
        let record =
            record.map_err(|error| Failure::InputText(format!("{}: {error}", file.display())))?;
        runs.push(record);
    }
    let beside = |path: &PathBuf| {
        let folder = if path.is_dir() {
            path.clone()
        } else {
            path.parent()?.to_owned()
        };
        Some(folder.join(SYSTEM)).filter(|file| file.is_file())
    };
    let system = paths.first().and_then(beside);
    Ok(Side {
        name: name.to_owned(),
        runs,
        system: system
            .map(|file| {
                Ok::<_, Failure>(Source::new(
                    file.display().to_string(),
                    read(&file, budget)?,
                ))
            })
            .transpose()?,
    })
}

fn read(file: &Path, budget: &Budget) -> Result<String, Failure> {
    let text = Input::open(file).map_err(ReadError::from);
    let text = text.and_then(|input| input.read_text(&Ledger::new(budget)));
    text.map_err(|error| {
        Failure::InputText(format!(
            "cannot read {}: {error}\nhint: name a report.json, or a folder that `warpweave run \
             --out` wrote",
            file.display()
        ))
    })
}
