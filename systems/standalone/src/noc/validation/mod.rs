//! Validates the router against BookSim 2 and the switch against queueing theory.

mod anchors;
mod curves;
mod own;
mod replay;
mod theory;

use std::path::Path;

use warpweave_components::crossbar::{NetworkSpec, PORTS_MAX};

use self::anchors::Anchor;
use self::curves::{coverage, curves};
use self::replay::replay;
use self::theory::{TheoryRow, large_switch};
use crate::folder::{name_of, tables_of};
use crate::{Comparison, RowProblem, StandaloneError, Table};

pub use own::validate_own;

/// Column at fault and description of the problem.
type Problem = (&'static str, String);

/// Compares with the reference data in `folder`: `anchors.csv`, `curves.csv`, `theory.csv` and the
/// packet lists `replay_*.csv.gz`.
///
/// # Errors
/// Returns an error if the folder does not hold the reference tables.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    let mut comparison = tables(folder, 4)?;
    coverage(
        &Table::read(&folder.join("curves.csv"))?.rows,
        &mut comparison,
    );
    for ports in [(64, 64), (64, 48)] {
        large_switch(ports, &mut comparison)?;
    }
    Ok(comparison)
}

/// Compares with the tables of the folder. Judged latencies are measured over `windows` windows.
fn tables(folder: &Path, windows: u64) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    let anchors = Table::<Anchor>::read(&folder.join("anchors.csv"))?.not_empty()?;
    for (number, anchor) in anchors.rows.iter().enumerate() {
        anchor
            .check()
            .map_err(|(column, problem)| wrong(&anchors, number, column, problem))?;
        anchor.compare(&mut comparison)?;
    }
    for path in tables_of(folder)? {
        if name_of(&path).starts_with("replay_") {
            replay(&path, &mut comparison)?;
        }
    }
    let rows = Table::read(&folder.join("curves.csv"))?.not_empty()?;
    curves(&rows, windows, &mut comparison)?;
    let rows = Table::<TheoryRow>::read(&folder.join("theory.csv"))?.not_empty()?;
    for (number, row) in rows.rows.iter().enumerate() {
        row.check()
            .map_err(|(column, problem)| wrong(&rows, number, column, problem))?;
        row.compare(windows, &mut comparison)?;
    }
    Ok(comparison)
}

/// Adds the position in the reference to the error for a row that cannot be compared.
fn wrong<T>(
    table: &Table<T>,
    row: usize,
    column: &'static str,
    problem: String,
) -> StandaloneError {
    table.wrong(&RowProblem {
        row,
        column,
        problem,
        hint: "see docs/reference-data.md".to_owned(),
    })
}

/// Checks that a network can have these ports. On error, returns the column and the problem.
fn check_shape(inputs: usize, outputs: usize) -> Result<(), Problem> {
    let most = PORTS_MAX as usize;
    for (column, ports) in [("src_ports", inputs), ("dst_ports", outputs)] {
        if !(1..=most).contains(&ports) {
            return Err((column, format!("{ports} is outside 1 to {most}")));
        }
    }
    Ok(())
}

/// Checks that the network can be built with ports that were already checked.
fn fits(
    spec: &NetworkSpec,
    column: &'static str,
    (inputs, outputs): (usize, usize),
) -> Result<(), Problem> {
    let checked = spec.check("network", inputs as u32, outputs as u32);
    checked.map_err(|e| (column, format!("{}: {}", e.field, e.message)))
}

#[cfg(test)]
mod tests;
