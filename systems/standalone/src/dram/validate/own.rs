//! Compares a controller with a user's own data.

use std::path::Path;

use serde::Deserialize;

use super::{alike, row_hit_rate, run, trace_of};
use crate::dram::presets::{Setup, load};
use crate::dram::traces::ServedRow;
use crate::folder::{name_of, stem, table_named, tables_of};
use crate::written::{Written, as_written};
use crate::{Comparison, Own, RowProblem, StandaloneError, Table, Tolerance};

/// Summary of a trace as reported by another simulator.
#[derive(Deserialize)]
struct SummaryRow {
    trace: String,
    end_cycle: Option<u64>,
    lat_mean: Option<Written>,
    row_hit_rate: Option<Written>,
}

/// Compares a controller with a user's own data in `folder`. `summary.csv` has the column `trace`
/// and any of `end_cycle, lat_mean, row_hit_rate`. `per_request/TRACE.csv` has the columns
/// `idx, accept, done`. Both refer to the traces in `traces/TRACE.csv`.
///
/// # Errors
/// Returns an error if the folder holds neither table, or if a row, a trace or the preset is
/// invalid.
pub fn validate_own(folder: &Path, own: &Own<'_>) -> Result<Comparison, StandaloneError> {
    let setup = load(own.preset)?;
    let mut comparison = Comparison::new();
    let summary = table_named(folder, "summary");
    let requests = folder.join("per_request");
    if summary.is_err() && !requests.is_dir() {
        return Err(StandaloneError::Request(format!(
            "neither summary.csv nor a folder per_request exists in {}\nhint: see docs/reference-data.md",
            folder.display()
        )));
    }
    if requests.is_dir() {
        for path in tables_of(&requests)? {
            single_requests(folder, &path, &setup, own, &mut comparison)?;
        }
    }
    if let Ok(path) = summary {
        totals(folder, &path, &setup, own, &mut comparison)?;
    }
    Ok(comparison)
}

fn single_requests(
    folder: &Path,
    path: &Path,
    setup: &Setup,
    own: &Own<'_>,
    comparison: &mut Comparison,
) -> Result<(), StandaloneError> {
    let name = name_of(path);
    let trace = stem(&name);
    let theirs = Table::<ServedRow>::read(path)?.not_empty()?;
    let requests = trace_of(folder, trace)?;
    let ours = run(setup, &requests, trace, own.environment)?.served;
    let case = format!("{} {trace}", own.preset);
    alike(case, &ours, &theirs.rows, own.one_by_one(), comparison);
    Ok(())
}

fn totals(
    folder: &Path,
    path: &Path,
    setup: &Setup,
    own: &Own<'_>,
    comparison: &mut Comparison,
) -> Result<(), StandaloneError> {
    let table = Table::<SummaryRow>::read(path)?.not_empty()?;
    let latencies = as_written(table.rows.iter().filter_map(|row| row.lat_mean));
    let hit_rates = as_written(table.rows.iter().filter_map(|row| row.row_hit_rate));
    for (number, row) in table.rows.iter().enumerate() {
        let wrong = |problem: &str| {
            table.wrong(&RowProblem {
                row: number,
                column: "trace",
                problem: problem.to_owned(),
                hint: "fill `end_cycle`, `lat_mean` or `row_hit_rate`".to_owned(),
            })
        };
        if row.end_cycle.is_none() && row.lat_mean.is_none() && row.row_hit_rate.is_none() {
            return Err(wrong("the row has no number to compare"));
        }
        let requests = trace_of(folder, &row.trace)?;
        let ours = run(setup, &requests, &row.trace, own.environment)?;
        let case = format!("{} {}", own.preset, row.trace);
        if let Some(theirs) = row.end_cycle {
            let gate = own.tolerance(Tolerance::Exact);
            let ours = ours.summary.end_cycle as f64;
            comparison.add(&case, "end cycle", ours, theirs as f64, gate);
        }
        if let Some(theirs) = row.lat_mean {
            let gate = own.tolerance(latencies.clone());
            match &ours.summary.read_latency {
                Some(ours) => {
                    comparison.add(&case, "mean read latency", ours.mean, theirs.value, gate);
                }
                None => comparison.leave_out(&case, "mean read latency", super::NO_READ),
            }
        }
        if let Some(theirs) = row.row_hit_rate {
            let gate = own.tolerance(hit_rates.clone());
            let ours = row_hit_rate(&ours.commands);
            comparison.add(&case, "row hit rate", ours, theirs.value, gate);
        }
    }
    Ok(())
}
