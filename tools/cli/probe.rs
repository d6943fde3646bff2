//! `warpweave probe`: latencies, bandwidths and rates of a machine.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use serde_json::json;
use warpweave_files::Budget;
use warpweave_framework::Registry;
use warpweave_params::Diagnostic;
use warpweave_probe::{Bench, Figure, ProbeError, QUANTITIES, Selection, probe as measure};
use warpweave_systems::report::CsvTable;
use warpweave_trace::TraceError;

use crate::arguments::ReportFormat;
use crate::memory;
use crate::outcome::{CommandResult, Failure, diagnostics_to_stderr, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// System file of the machine.
    system: PathBuf,
    /// Override a value, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Largest footprint of loads, at most 1 GiB. The figures end earlier once main memory supplies
    /// all data.
    #[arg(long, value_name = "SIZE", default_value = "64 MiB", value_parser = memory::size())]
    largest: u64,
    /// Quantity to measure, such as `load latency`; may be repeated. All if absent.
    #[arg(long, value_name = "QUANTITY", value_parser = PossibleValuesParser::new(QUANTITIES))]
    only: Vec<String>,
    /// Output format of the figures on standard output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// Maximum footprint, which already takes a simulation of minutes.
const LARGEST: u64 = 1 << 30;

/// Measures the machine and prints each figure; text as soon as the figure is known.
pub(crate) fn probe(
    registry: &Registry,
    arguments: &Arguments,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    if arguments.largest > LARGEST {
        return Err(Failure::InputText(
            "--largest: a footprint has 1 GiB at most".to_owned(),
        ));
    }
    let bench = Bench::new(&arguments.system, &arguments.sets, registry, budget)?;
    if !bench.warnings().is_empty() && !quiet {
        diagnostics_to_stderr(bench.warnings());
    }
    let mut figures = Vec::new();
    let mut printed = Ok(());
    let selection = Selection {
        largest_bytes: arguments.largest,
        only: &arguments.only,
    };
    measure(&bench, selection, &mut |figure| {
        if arguments.format == ReportFormat::Text && printed.is_ok() {
            printed = to_stdout(&line(&figure));
        }
        figures.push(figure);
    })?;
    printed?;
    match arguments.format {
        ReportFormat::Text => {}
        ReportFormat::Csv => to_stdout(&table(&figures))?,
        ReportFormat::Json => {
            let figures: Vec<_> = figures.iter().map(object).collect();
            let text = serde_json::to_string_pretty(&json!({
                "units": bench.units(),
                "figures": figures,
            }));
            to_stdout(&(text.expect("numbers and text are JSON") + "\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats a figure as a line of the text page.
fn line(figure: &Figure) -> String {
    let value = figure.value.map_or("-".to_owned(), |value| match value {
        100.0.. => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    });
    let Figure {
        quantity,
        at,
        unit,
        note,
        ..
    } = figure;
    let line = format!("{quantity:<36} {at:<28} {value:>8} {unit:<22} {note}");
    line.trim_end().to_owned() + "\n"
}

fn table(figures: &[Figure]) -> String {
    let mut table = CsvTable::new(&["quantity", "at", "value", "unit", "note"]);
    for figure in figures {
        let value = figure
            .value
            .map_or(String::new(), |value| value.to_string());
        table.row([
            figure.quantity,
            &figure.at,
            &value,
            figure.unit,
            &figure.note,
        ]);
    }
    table.take()
}

fn object(figure: &Figure) -> serde_json::Value {
    json!({
        "quantity": figure.quantity,
        "at": figure.at,
        "value": figure.value,
        "unit": figure.unit,
        "note": figure.note,
    })
}

impl From<ProbeError> for Failure {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::Machine(problems) => problems.into(),
            ProbeError::Trace(TraceError::OverBudget(error)) => Diagnostic::from(error).into(),
            ProbeError::Run(reason) => Self::InputText(reason),
            error => Self::Machine(error.to_string()),
        }
    }
}
