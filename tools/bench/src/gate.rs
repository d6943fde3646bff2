//! Compares instructions per unit of kernel workloads and whole systems with a stored table.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use serde::{Deserialize, Serialize};

use warpweave_bench::{Implementation, Workload};

use crate::callgrind;
use crate::rounds::one_run;
use crate::system::{self, COUNTED, MEASURED, SCENARIOS, TRACED};

/// Tolerance of a kernel workload's count over the table, in percent. A compiler or library change
/// within it is no regression.
const KERNEL_TOLERANCE: f64 = 3.0;
/// Tolerance for whole systems, in percent. Their many parts average out compiler and library
/// changes.
const SYSTEM_TOLERANCE: f64 = 1.0;

/// Maximum overhead of statistics by kernel and by interval over the same scenario without them, in
/// percent.
const MEASURING: f64 = 3.0;

/// Row of the stored instruction table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Name of a kernel or emulation workload, or a scenario file followed by overrides.
    workload: String,
    /// Instructions per unit of the workload; for a scenario, per wavefront instruction.
    instructions: f64,
    /// Tolerance by which a count may exceed `instructions`, in percent.
    tolerance_percent: f64,
}

/// Subject whose instructions a row counts.
#[derive(Clone, Debug)]
enum Subject {
    Kernel(Workload),
    /// Run of this scenario with its overrides, from start to end.
    System(String),
}

/// Settings for counting the instructions of the table.
pub(crate) struct Gate {
    /// Path of the `warpweave` program that runs scenarios.
    pub(crate) program: PathBuf,
    /// Factor by which runs of kernel workloads are shortened.
    pub(crate) shorter: u64,
}

impl Gate {
    /// Path of the program next to this one.
    ///
    /// # Errors
    /// Fails with a text if the path of this program is unknown.
    pub(crate) fn program_beside() -> Result<PathBuf, String> {
        let name = format!("warpweave{}", env::consts::EXE_SUFFIX);
        Ok(own_path()?.with_file_name(name))
    }

    /// Counts the subjects of the table and compares. Returns the comparison and true if every row
    /// is within tolerance.
    ///
    /// # Errors
    /// Fails with a text if the table cannot be read or a count fails.
    pub(crate) fn check(&self, table: &Path) -> Result<(String, bool), String> {
        let rows = read(table)?;
        let subjects: Result<Vec<_>, String> = rows
            .iter()
            .map(|row| subject(&row.workload, table))
            .collect();
        Ok(judge(&rows, &self.count_all(&subjects?)?))
    }

    /// Counts everything and writes the table.
    ///
    /// # Errors
    /// Fails with a text if a count fails or the table cannot be written.
    pub(crate) fn write(&self, table: &Path) -> Result<String, String> {
        let kernel = Workload::ALL.into_iter().map(Subject::Kernel);
        let systems = SCENARIOS.into_iter().chain(COUNTED).chain(MEASURED);
        let systems = systems.chain(TRACED);
        let systems = systems.map(|scenario| Subject::System(scenario.to_owned()));
        let subjects: Vec<_> = kernel.chain(systems).collect();
        let counts = self.count_all(&subjects)?;
        let mut writer = csv::Writer::from_writer(Vec::new());
        for (subject, count) in subjects.into_iter().zip(counts) {
            let (workload, tolerance_percent) = match subject {
                Subject::Kernel(workload) => (workload.name().to_owned(), KERNEL_TOLERANCE),
                Subject::System(scenario) => (scenario, SYSTEM_TOLERANCE),
            };
            let row = Row {
                workload,
                instructions: (count * 10.0).round() / 10.0,
                tolerance_percent,
            };
            writer.serialize(row).map_err(|e| e.to_string())?;
        }
        let bytes = writer.into_inner().map_err(|e| e.to_string())?;
        fs::write(table, &bytes).map_err(|e| format!("{}: {e}", table.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Counts every subject, with one count per core in parallel. A count does not depend on other
    /// load.
    fn count_all(&self, subjects: &[Subject]) -> Result<Vec<f64>, String> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut counts = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(subject) = subjects.get(place) else {
                    return counts;
                };
                counts.push((place, self.count(subject)));
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let mut counts: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            let counts = workers.into_iter().map(thread::ScopedJoinHandle::join);
            counts
                .flat_map(|counts| counts.expect("counting does not panic"))
                .collect()
        });
        counts.sort_by_key(|(place, _)| *place);
        counts.into_iter().map(|(_, count)| count).collect()
    }

    fn count(&self, subject: &Subject) -> Result<f64, String> {
        match subject {
            Subject::Kernel(workload) => {
                let program = own_path()?;
                let (by, sizes) = (Implementation::Warpweave, workload.counting_sizes());
                let command = |length| one_run(&program, *workload, by, sizes, length);
                callgrind::per_unit(command, workload.counting_lengths(self.shorter))
                    .map_err(|e| format!("{}: {e}", workload.name()))
            }
            Subject::System(scenario) => {
                system::instructions_per_wavefront_instruction(&self.program, scenario)
                    .map_err(|e| format!("{scenario}: {e}"))
            }
        }
    }
}

pub(crate) fn own_path() -> Result<PathBuf, String> {
    env::current_exe().map_err(|e| format!("this program's path: {e}"))
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

fn subject(name: &str, table: &Path) -> Result<Subject, String> {
    let file = name.split_whitespace().next().unwrap_or_default();
    if Path::new(file)
        .extension()
        .is_some_and(|ending| ending == "ron")
    {
        return Ok(Subject::System(name.to_owned()));
    }
    let workload = Workload::ALL.into_iter().find(|w| w.name() == name);
    workload.map(Subject::Kernel).ok_or_else(|| {
        let known: Vec<&str> = Workload::ALL.into_iter().map(Workload::name).collect();
        format!(
            "{}: no workload is called {name}\nhint: {}, or a scenario's file",
            table.display(),
            known.join(", ")
        )
    })
}

fn judge(rows: &[Row], counts: &[f64]) -> (String, bool) {
    let mut text = String::new();
    let mut holds = true;
    for (row, count) in rows.iter().zip(counts) {
        let change = (count / row.instructions - 1.0) * 100.0;
        let verdict = if change > row.tolerance_percent {
            holds = false;
            "MORE THAN ALLOWED"
        } else if change < -row.tolerance_percent {
            "fewer: write the table anew to keep it"
        } else {
            "as before"
        };
        let _ = writeln!(
            text,
            "{:33} {count:>8.1} instructions, table {:>8.1}, {change:>+6.1} % of {:+} %  {verdict}",
            row.workload, row.instructions, row.tolerance_percent
        );
    }
    for (scenario, percent) in measuring(rows, counts) {
        let verdict = if percent > MEASURING {
            holds = false;
            "MORE THAN ALLOWED"
        } else {
            "as it should be"
        };
        let _ = writeln!(
            text,
            "{scenario:33} by kernel and by interval {percent:>+6.1} % of {MEASURING:+} %  {verdict}"
        );
    }
    (text, holds)
}

/// Overhead of measurement for each scenario counted with and without it, in percent.
fn measuring<'r>(rows: &'r [Row], counts: &[f64]) -> Vec<(&'r str, f64)> {
    let counted = || rows.iter().map(|row| &row.workload[..]).zip(counts);
    let pairs = counted().filter_map(|(workload, with)| {
        let scenario = workload.split_once(" measure.")?.0;
        let (_, without) = counted().find(|(workload, _)| *workload == scenario)?;
        Some((scenario, (with / without - 1.0) * 100.0))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(instructions: f64) -> [Row; 1] {
        [Row {
            workload: "ring".to_owned(),
            instructions,
            tolerance_percent: 3.0,
        }]
    }

    #[test]
    fn a_count_over_the_tolerance_fails_and_is_told() {
        let (text, holds) = judge(&row(100.0), &[103.5]);
        assert!(!holds);
        assert!(text.contains("103.5"), "{text}");
        assert!(text.contains("+3.5 % of +3 %"), "{text}");
    }

    #[test]
    fn measuring_is_held_against_the_same_run_without() {
        let rows = ["a.ron", "a.ron measure.kernels=true"].map(|workload| Row {
            workload: workload.to_owned(),
            instructions: 1000.0,
            tolerance_percent: 100.0,
        });
        assert!(judge(&rows, &[100.0, 102.9]).1);
        let (text, holds) = judge(&rows, &[100.0, 103.5]);
        assert!(!holds);
        assert!(text.contains("+3.5 % of +3 %"), "{text}");
    }

    #[test]
    fn a_count_within_the_tolerance_or_below_passes() {
        assert!(judge(&row(100.0), &[102.9]).1);
        let (text, holds) = judge(&row(100.0), &[50.0]);
        assert!(holds);
        assert!(text.contains("write the table anew"), "{text}");
    }
}
