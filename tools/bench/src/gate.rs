//! Instructions per unit of the framework against a stored table.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde::{Deserialize, Serialize};

use crate::callgrind;
use crate::rounds::one_run;
use crate::workload::{Implementation, Workload};

/// By how much a count may exceed the table: a change of compiler or library within it is no
/// regression.
pub(crate) const TOLERANCE: f64 = 0.03;

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    workload: String,
    /// Per unit of the workload.
    instructions: f64,
}

/// Counts the workloads of the table, in runs that are `shorter` times shorter, and compares. Returns the comparison and whether all of it
/// holds.
///
/// # Errors
/// A table that cannot be read, or a count that failed, as text.
pub(crate) fn check(table: &Path, shorter: u64) -> Result<(String, bool), String> {
    let rows = read(table)?;
    let mut counts = Vec::new();
    for row in &rows {
        counts.push(count(workload(&row.workload, table)?, shorter)?);
    }
    Ok(judge(&rows, &counts))
}

/// Counts all workloads and writes the table.
///
/// # Errors
/// What could not be counted or written, as text.
pub(crate) fn write(table: &Path) -> Result<String, String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for workload in Workload::ALL {
        let row = Row {
            workload: workload.name().to_owned(),
            instructions: (count(workload, 1)? * 10.0).round() / 10.0,
        };
        writer.serialize(row).map_err(|e| e.to_string())?;
    }
    let bytes = writer.into_inner().map_err(|e| e.to_string())?;
    fs::write(table, &bytes).map_err(|e| format!("{}: {e}", table.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read(table: &Path) -> Result<Vec<Row>, String> {
    let failed = |e: &dyn std::fmt::Display| {
        let table = table.display();
        format!("{table}: {e}\nhint: warpweave-bench gate --write makes the table")
    };
    let mut reader = csv::Reader::from_path(table).map_err(|e| failed(&e))?;
    let rows: Result<Vec<Row>, _> = reader.deserialize().collect();
    let rows = rows.map_err(|e| failed(&e))?;
    if rows.is_empty() {
        return Err(failed(&"the table has no rows"));
    }
    Ok(rows)
}

fn workload(name: &str, table: &Path) -> Result<Workload, String> {
    let mut all = Workload::ALL.into_iter();
    all.find(|w| w.name() == name).ok_or_else(|| {
        let known: Vec<&str> = Workload::ALL.into_iter().map(Workload::name).collect();
        format!(
            "{}: no workload is called {name}\nhint: {}",
            table.display(),
            known.join(", ")
        )
    })
}

fn count(workload: Workload, shorter: u64) -> Result<f64, String> {
    let program = env::current_exe().map_err(|e| format!("this program's path: {e}"))?;
    let (by, sizes) = (Implementation::Warpweave, workload.counting_sizes());
    let command = |length| one_run(&program, workload, by, sizes, length);
    callgrind::per_unit(command, workload.counting_lengths(shorter))
        .map_err(|e| format!("{}: {e}", workload.name()))
}

fn judge(rows: &[Row], counts: &[f64]) -> (String, bool) {
    let mut text = String::new();
    let mut holds = true;
    for (row, count) in rows.iter().zip(counts) {
        let change = count / row.instructions - 1.0;
        let verdict = if change > TOLERANCE {
            holds = false;
            "MORE THAN ALLOWED"
        } else if change < -TOLERANCE {
            "fewer: write the table anew to keep it"
        } else {
            "as before"
        };
        let _ = writeln!(
            text,
            "{:12} {count:>8.1} instructions, table {:>8.1}, {:>+6.1} %  {verdict}",
            row.workload,
            row.instructions,
            change * 100.0
        );
    }
    (text, holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(instructions: f64) -> [Row; 1] {
        [Row {
            workload: "ring".to_owned(),
            instructions,
        }]
    }

    #[test]
    fn a_count_over_the_tolerance_fails_and_is_told() {
        let (text, holds) = judge(&row(100.0), &[103.5]);
        assert!(!holds);
        assert!(text.contains("103.5"), "{text}");
        assert!(text.contains("+3.5 %"), "{text}");
    }

    #[test]
    fn a_count_within_the_tolerance_or_below_passes() {
        assert!(judge(&row(100.0), &[102.9]).1);
        let (text, holds) = judge(&row(100.0), &[50.0]);
        assert!(holds);
        assert!(text.contains("write the table anew"), "{text}");
    }
}
