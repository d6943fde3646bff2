//! `warpweave sweep`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use warpweave_experiments::model::{Outcome, Runs};
use warpweave_experiments::{Experiment, Plan, SweepAxis};
use warpweave_files::{Budget, Output, Paths};
use warpweave_framework::Registry;
use warpweave_params::Diagnostics;
use warpweave_systems::report::Record;

use crate::experiment::{Making, Session, claimed, end_when_asked, failures};
use crate::outcome::{CommandResult, INTERRUPTED, ended, to_stderr, to_stdout};

/// Characters of the longest bar.
const BAR: f64 = 30.0;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Scenario file.
    scenario: PathBuf,
    /// What is varied, `path=value,value,...`; may be repeated: all combinations are run.
    #[arg(long = "axis", value_name = "PATH=V1,V2", required = true)]
    axes: Vec<String>,
    /// Take the first values of all axes together, then the second, and so on.
    #[arg(long)]
    zip: bool,
    /// Folder of the runs [default: the scenario's name with `.sweep`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    making: Making,
    /// Write the table to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub(crate) fn sweep(
    registry: &Registry,
    arguments: &Arguments,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    let mut problems = Diagnostics::new();
    let axes = arguments.axes.iter();
    let axes: Vec<_> = axes
        .filter_map(|text| problems.take(SweepAxis::read(text)))
        .collect();
    problems.into_result(())?;
    let experiment = Experiment::sweep(&arguments.scenario, axes, arguments.zip)?;
    let session = Session {
        registry,
        threads: arguments.making.threads(),
        interrupt: end_when_asked()?,
        quiet,
        budget,
    };
    let Some(plan) = session.plan(&experiment)? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{}.sweep", experiment.name())));
    let folder = claimed(&plan, &out)?;
    if let Some(csv) = &arguments.csv {
        let mut paths = Paths::new();
        plan.files.iter().for_each(|file| paths.reads(file));
        paths.writes("--csv", csv)?;
    }
    let wanted = plan.fitting(None);
    let not_stored = session.run(&plan, &wanted, &folder, &arguments.making.traces(&out))?;
    let runs = folder.runs(&plan, &not_stored, &|record| {
        record.stats.clear();
        record.kernels.clear();
    });
    let table = Table::of(&plan, &runs);
    let told = to_stdout(&table.to_text());
    to_stderr(&failures(&runs));
    let csv = arguments.csv.as_ref();
    let written = csv.map(|path| Ok(Output::write(path, table.to_csv().as_bytes())?));
    Ok(ended(
        session.code(&runs),
        [told].into_iter().chain(written),
    ))
}

/// A row for each combination of levels.
struct Table {
    axes: Vec<String>,
    rows: Vec<(Vec<String>, Option<[f64; 2]>)>,
}

/// The columns after the axes.
const COLUMNS: [&str; 2] = ["cycles", "ipc"];

fn values(record: &Record) -> [f64; 2] {
    [record.cycles as f64, record.ipc]
}

impl Table {
    fn of(plan: &Plan, runs: &Runs) -> Self {
        let first = plan.ids.first();
        let axes = first.map_or_else(Vec::new, |id| {
            id.point
                .levels
                .iter()
                .map(|(axis, _)| axis.clone())
                .collect()
        });
        let ended = plan.ids.iter().filter_map(|id| Some((id, runs.get(id)?)));
        let rows = ended.map(|(id, outcome)| {
            let levels = id.point.levels.iter().map(|(_, level)| level.clone());
            let values = match outcome {
                Outcome::Done(record) => Some(values(record)),
                Outcome::Failed(_) => None,
            };
            (levels.collect(), values)
        });
        Self {
            axes,
            rows: rows.collect(),
        }
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let head = self.axes.iter().cloned().chain(COLUMNS.map(str::to_owned));
        let rows = self.rows.iter().map(|(levels, values)| {
            let numbers = match values {
                Some([cycles, ipc]) => [format!("{cycles:.0}"), format!("{ipc:.4}")],
                None => ["failed".to_owned(), String::new()],
            };
            levels.iter().cloned().chain(numbers).collect()
        });
        std::iter::once(head.collect()).chain(rows).collect()
    }

    /// The table, with a bar for the instructions per cycle.
    fn to_text(&self) -> String {
        let cells = self.cells();
        let columns = cells[0].len();
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..columns)
            .map(|column| width(column).unwrap_or(0))
            .collect();
        let most = self
            .rows
            .iter()
            .filter_map(|(_, values)| values.map(|[_, ipc]| ipc));
        let most = most.fold(0.0, f64::max);
        let mut text = String::new();
        for (at, row) in cells.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(text, "{cell:>width$}  ");
            }
            let values = at.checked_sub(1).and_then(|at| self.rows[at].1);
            if let Some([_, ipc]) = values.filter(|_| most > 0.0) {
                text.push_str(&"█".repeat((ipc / most * BAR).round() as usize));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    fn to_csv(&self) -> String {
        let mut text = String::new();
        for row in self.cells() {
            warpweave_experiments::csv_line(&mut text, &row);
        }
        text
    }
}
