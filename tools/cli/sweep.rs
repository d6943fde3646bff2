//! `warpweave sweep`: runs a scenario at all levels of its axes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use warpweave_experiments::judge::{RequiredStatistics, check_patterns, metrics_of};
use warpweave_experiments::model::{Outcome, Runs};
use warpweave_experiments::report::bars_of;
use warpweave_experiments::{Experiment, Plan, SweepAxis};
use warpweave_files::{Budget, Output, Paths};
use warpweave_framework::Registry;
use warpweave_params::Diagnostics;
use warpweave_systems::report::CsvTable;

use crate::experiment::{claimed, failures};
use crate::outcome::{CommandResult, INTERRUPTED, ended, to_stderr, to_stdout};
use crate::session::{RunMode, Session, end_when_asked};

/// Maximum length of a bar, in characters.
const BAR: f64 = 30.0;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Scenario file to run at each combination of levels.
    scenario: PathBuf,
    /// Axis to vary, `path=value,value,...`; may be repeated: all combinations are run.
    #[arg(long = "axis", value_name = "PATH=V1,V2", required = true)]
    axes: Vec<String>,
    /// Combine the first values of all axes, then the second, and so on.
    #[arg(long)]
    zip: bool,
    /// Folder of the runs [default: the scenario's name with `.sweep`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    mode: RunMode,
    /// Metric to compare, an expression as in metrics of experiments; may be repeated.
    #[arg(long = "metric", value_name = "EXPR", default_values_t = ["cycles".to_owned(), "ipc".to_owned()])]
    metrics: Vec<String>,
    /// Write the table to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the last metric as bars into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
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
    let metrics = &arguments.metrics;
    let experiment = Experiment::sweep(&arguments.scenario, axes, arguments.zip, metrics)?;
    let needed = RequiredStatistics::of(&experiment.file)?;
    let session = Session {
        registry,
        threads: arguments.mode.threads(),
        interrupt: end_when_asked()?,
        quiet,
        budget,
    };
    let Some(plan) = session.plan(&experiment)? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    check_patterns(&experiment.file, &plan.statistics)?;
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{}.sweep", experiment.name())));
    let folder = claimed(&plan, &out)?;
    let mut paths = Paths::new();
    plan.files.iter().for_each(|file| paths.reads(file));
    if let Some(csv) = &arguments.csv {
        paths.writes("--csv", csv)?;
    }
    if let Some(svg) = &arguments.svg {
        paths.writes("--svg", svg)?;
    }
    let wanted = plan.fitting(None);
    let not_stored = session.run(
        &plan,
        &wanted,
        folder.reports(),
        &arguments.mode.traces(&out),
    )?;
    let trim = |record: &mut _| needed.trim(record);
    let runs = folder.reports().runs(&plan, &not_stored, &trim);
    let table = Table::of(&experiment, &plan, &runs)?;
    let told = to_stdout(&table.to_text());
    to_stderr(&failures(&runs));
    let csv = arguments.csv.as_ref();
    let csv = csv.map(|path| Ok(Output::write(path, table.to_csv().as_bytes())?));
    let svg = arguments.svg.as_ref();
    let svg = svg.map(|path| {
        let figure = table.to_svg(&experiment.name());
        Ok(Output::write(path, figure.as_bytes())?)
    });
    Ok(ended(
        session.code(&runs),
        [told].into_iter().chain(csv).chain(svg),
    ))
}

/// Results table with a row for each combination of levels.
struct Table {
    axes: Vec<String>,
    metrics: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    levels: Vec<String>,
    /// Value of each metric, `None` where it is undefined. The list is absent if the run failed.
    values: Option<Vec<Option<f64>>>,
}

impl Row {
    /// Returns the value of the last metric.
    fn last(&self) -> Option<f64> {
        self.values.as_ref().and_then(|values| *values.last()?)
    }
}

impl Table {
    fn of(experiment: &Experiment, plan: &Plan, runs: &Runs) -> Result<Self, Diagnostics> {
        let mut rows = Vec::new();
        for id in &plan.ids {
            let values = match runs.get(id) {
                Some(Outcome::Done(record)) => Some(metrics_of(&experiment.file, record)?),
                Some(Outcome::Failed(_)) => None,
                None => continue,
            };
            let levels = id.point.levels.iter().map(|(_, level)| level.clone());
            rows.push(Row {
                levels: levels.collect(),
                values: values.map(|all| all.into_iter().map(|metric| metric.value).collect()),
            });
        }
        let names = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect();
        Ok(Self {
            axes: names(&mut experiment.file.axes.names()),
            metrics: names(&mut experiment.file.metrics.names()),
            rows,
        })
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let head = self.axes.iter().chain(&self.metrics).cloned();
        let rows = self.rows.iter().map(|row| {
            let numbers: Vec<String> = match &row.values {
                Some(values) => values.iter().copied().map(shown).collect(),
                None => self.metrics.iter().map(|_| "failed".to_owned()).collect(),
            };
            row.levels.iter().cloned().chain(numbers).collect()
        });
        std::iter::once(head.collect()).chain(rows).collect()
    }

    /// Draws the last metric as SVG, with a bar for each combination.
    fn to_svg(&self, title: &str) -> String {
        let bars = self
            .rows
            .iter()
            .map(|row| (row.levels.join(", "), row.last()));
        let bars: Vec<_> = bars.collect();
        let axis = self.metrics.last().map_or("", String::as_str);
        bars_of(title, axis, &bars)
    }

    /// Formats the table as text, with a bar for the last metric.
    fn to_text(&self) -> String {
        let cells = self.cells();
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..cells[0].len())
            .map(|column| width(column).unwrap_or(0))
            .collect();
        let most = self.rows.iter().filter_map(Row::last).fold(0.0, f64::max);
        let mut text = String::new();
        for (at, row) in cells.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(text, "{cell:>width$}  ");
            }
            let value = at.checked_sub(1).and_then(|at| self.rows[at].last());
            if let Some(value) = value.filter(|_| most > 0.0) {
                text.push_str(&"█".repeat((value / most * BAR).round() as usize));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    fn to_csv(&self) -> String {
        let mut table = CsvTable::default();
        for row in self.cells() {
            table.row(row);
        }
        table.take()
    }
}

/// Formats an integer without decimals, and any other number with four.
fn shown(value: Option<f64>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.4}"),
    }
}
