//! `warpweave correlate`: compares runs with a profile of a real GPU.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use warpweave_correlate::{
    Correlation, CyclesFrom, MatchBy, OwnRun, PlaceNames, Profile, ProfileFilter, Rules,
    run_of_program, run_of_report,
};
use warpweave_files::{Budget, Input, Ledger, ReadError};
use warpweave_params::Diagnostic;

use crate::affine::recorded;
use crate::outcome::{CommandResult, Failure, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Profile as `ncu --csv` prints it, with a row for each launch or for each metric.
    profile: PathBuf,
    /// Results folder, `report.json`, scenario or trace. Scenarios and traces are not timed.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Take only rows of the profile with this value in this column; may be repeated.
    #[arg(long, value_name = "COLUMN=VALUE", value_parser = filter)]
    only: Vec<ProfileFilter>,
    /// Rule by which launches of the profile and of the runs form pairs.
    #[arg(long = "match", value_enum, default_value_t = Matching::Name)]
    matching: Matching,
    /// Begin of the cycles of our launches.
    #[arg(long, value_enum, default_value_t = Begin::Launch)]
    cycles: Begin,
    /// Cycles of an empty launch; errors of cycles are also shown without them.
    #[arg(long, value_name = "CYCLES", value_parser = floor)]
    floor: Option<f64>,
    /// Pattern of our compute units, such as `cluster[*].cu[*]`.
    #[arg(long, value_name = "PATTERN")]
    units: Option<String>,
    /// Pattern of our first-level caches, such as `unit[*].l1`.
    #[arg(long, value_name = "PATTERN")]
    l1: Option<String>,
    /// Pattern of our second-level caches, such as `l2[*]`.
    #[arg(long, value_name = "PATTERN")]
    l2: Option<String>,
    /// Pattern of our memory controllers, such as `dram[*]`.
    #[arg(long, value_name = "PATTERN")]
    dram: Option<String>,
    /// Override a value of the scenarios, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Output format: text page, table, JSON, or page for a browser.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

/// Output format of a comparison with a profile.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Human-readable page with tables of figures and kernels.
    Text,
    /// Table with a row for each value of a launch, kernel or figure.
    Csv,
    /// JSON object with all values and figures.
    Json,
    /// Self-contained page for a web browser.
    Html,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Matching {
    /// Kernels with equal names, their launches in order.
    Name,
    /// Number of our launch and `ID` of the profile.
    Id,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Begin {
    /// The launch, or the completion before it where that is later.
    Launch,
    /// The first work-group that was sent to a compute unit.
    Run,
}

fn filter(text: &str) -> Result<ProfileFilter, String> {
    let (column, value) = text
        .split_once('=')
        .ok_or("a column and its value, such as `size=S`")?;
    Ok(ProfileFilter {
        column: column.to_owned(),
        value: value.to_owned(),
    })
}

fn floor(text: &str) -> Result<f64, String> {
    let cycles: f64 = text.parse().map_err(|_| "a number of cycles".to_owned())?;
    if cycles.is_finite() && cycles >= 0.0 {
        return Ok(cycles);
    }
    Err("a number of cycles that is not negative".to_owned())
}

pub(crate) fn correlate(arguments: &Arguments, budget: &Budget) -> CommandResult {
    let ledger = Ledger::new(budget);
    let file = arguments.profile.display().to_string();
    let text = read(&arguments.profile, &ledger)?;
    let profile = Profile::read(&file, &text, &arguments.only, &ledger)?;
    drop(text);
    let names = PlaceNames {
        units: arguments.units.clone(),
        l1: arguments.l1.clone(),
        l2: arguments.l2.clone(),
        dram: arguments.dram.clone(),
    };
    let own = |path: &PathBuf| own(path, arguments, &names, budget, &ledger);
    let runs = arguments.runs.iter().map(own);
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let rules = Rules {
        match_by: match arguments.matching {
            Matching::Name => MatchBy::Name,
            Matching::Id => MatchBy::Id,
        },
        floor: arguments.floor,
    };
    let correlation = Correlation::of(&profile, &runs, rules, &ledger);
    let correlation = correlation.map_err(Diagnostic::from)?;
    match arguments.format {
        Form::Text => to_stdout(&correlation.to_text())?,
        Form::Csv => to_stdout(&correlation.to_csv())?,
        Form::Json => to_stdout(&correlation.to_json())?,
        Form::Html => to_stdout(&correlation.to_html())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// File name of the report in a results folder.
const REPORT: &str = "report.json";

/// Reads a report, or records the program of a scenario or trace.
fn own(
    path: &Path,
    arguments: &Arguments,
    names: &PlaceNames,
    budget: &Budget,
    ledger: &Ledger,
) -> Result<OwnRun, Failure> {
    let name = path.display().to_string();
    let file = if path.is_dir() {
        path.join(REPORT)
    } else {
        path.to_owned()
    };
    let is_report = file.extension().is_some_and(|ending| ending == "json");
    if !is_report {
        let program = recorded(&file, &arguments.sets, budget)?;
        return Ok(run_of_program(&name, &program));
    }
    let text = read(&file, &Ledger::new(budget))?;
    // Sums are kept by pattern, so they take less memory than the text.
    let charged = ledger.charge(&name, text.len() as u64);
    charged.map_err(Diagnostic::from)?;
    let from = match arguments.cycles {
        Begin::Launch => CyclesFrom::Launch,
        Begin::Run => CyclesFrom::FirstWorkGroup,
    };
    run_of_report(&name, &text, from, names)
        .map_err(|error| Failure::InputText(format!("{}: {error}", file.display())))
}

fn read(file: &Path, ledger: &Ledger) -> Result<String, Failure> {
    let text = Input::open(file).map_err(ReadError::from);
    let text = text.and_then(|input| input.read_text(ledger));
    text.map_err(|error| match error {
        ReadError::OverBudget(error) => Diagnostic::from(error).into(),
        error @ ReadError::Io(_) => Failure::InputText(format!(
            "cannot read {}: {error}\nhint: name the output of `ncu --csv`, then a results folder, \
             a report.json, a scenario or a trace",
            file.display()
        )),
    })
}
