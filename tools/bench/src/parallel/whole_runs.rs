//! Whole runs of the program from start to end: one on several threads, and several at once, each
//! compared with a single run.
//!
//! Every configuration runs once in each round, in rotating order, so that other load affects all
//! alike. A ratio compares two runs of the same round, and the median over rounds counts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use serde::Deserialize;

use super::{DEFAULTS, THREADS};
use crate::gate::Gate;
use crate::rounds::{Ratio, ratio};

/// Default number of rounds to run.
const ROUNDS: usize = 11;

/// Configuration that is run in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Single run on the given number of threads.
    Threads(usize),
    /// Given number of concurrent runs, each on one thread.
    Runs(usize),
}

/// Elapsed and CPU time of one configuration in a round.
#[derive(Clone, Copy, Debug)]
struct Took {
    elapsed_s: f64,
    /// CPU seconds, summed over all runs of the configuration.
    cpu_s: f64,
}

/// Measures the given scenario, or the default ones if none is given.
///
/// # Errors
/// Fails with a text if a program is missing or a run fails.
pub(super) fn all(named: Option<(usize, &str, &[String])>) -> Result<Vec<String>, String> {
    let program = Gate::program_beside()?;
    if let Some((rounds, path, sets)) = named {
        return Ok(vec![measure(&program, rounds.max(1), path, sets)?]);
    }
    let defaults = DEFAULTS.iter().map(|(path, sets)| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        measure(&program, ROUNDS, path, &sets)
    });
    defaults.collect()
}

fn measure(program: &Path, rounds: usize, path: &str, sets: &[String]) -> Result<String, String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let runs = THREADS.into_iter().filter(|runs| *runs <= cores);
    let threads = [1].into_iter().chain(THREADS).map(Sort::Threads);
    let sorts: Vec<Sort> = threads.chain(runs.map(Sort::Runs)).collect();
    let runner = Runner {
        program: program.to_owned(),
        path,
        sets,
    };
    let mut took = vec![Vec::new(); sorts.len()];
    for round in 0..rounds {
        for place in 0..sorts.len() {
            let at = (round + place) % sorts.len();
            took[at].push(runner.run(sorts[at])?);
        }
    }
    let mut text = format!(
        "{path} {}: {rounds} rounds on {cores} cores\n",
        sets.join(" ")
    );
    for (sort, took_by_it) in sorts.iter().zip(&took) {
        let _ = writeln!(text, "  {}", line(*sort, took_by_it, &took[0]));
    }
    Ok(text.trim_end().to_owned())
}

/// Formats the cost of one configuration relative to a single run on one thread.
fn line(sort: Sort, took: &[Took], alone: &[Took]) -> String {
    let [elapsed, alone_elapsed] = [took, alone].map(|took| column(took, |t| t.elapsed_s));
    let [cpu, alone_cpu] = [took, alone].map(|took| column(took, |t| t.cpu_s));
    let speed = ratio(&alone_elapsed, &elapsed);
    match sort {
        Sort::Threads(threads) => {
            let cpu = words(ratio(&cpu, &alone_cpu), 1.0);
            let speed = words(speed, 1.0);
            format!("{threads} threads: speed {speed}, CPU time {cpu}")
        }
        Sort::Runs(runs) => {
            let speed = words(speed, runs as f64);
            format!("{runs} runs at once: throughput {speed}")
        }
    }
}

fn column(took: &[Took], of: fn(&Took) -> f64) -> Vec<f64> {
    took.iter().map(of).collect()
}

/// Formats a ratio scaled by `times`, with its quartiles.
fn words(ratio: Ratio, times: f64) -> String {
    let [low, high] = ratio.quartiles.map(|quartile| quartile * times);
    format!("{:.2} ({low:.2} to {high:.2})", ratio.median * times)
}

/// Starts runs of a scenario in the program under test.
struct Runner<'a> {
    program: PathBuf,
    path: &'a str,
    sets: &'a [String],
}

impl Runner<'_> {
    fn run(&self, sort: Sort) -> Result<Took, String> {
        let (threads, runs) = match sort {
            Sort::Threads(threads) => (threads, 1),
            Sort::Runs(runs) => (1, runs),
        };
        let begun = Instant::now();
        let started: Result<Vec<Child>, String> = (0..runs).map(|_| self.start(threads)).collect();
        // Each is read to its end by a thread of its own: a full pipe would hold it up.
        let reading = started?
            .into_iter()
            .map(|child| thread::spawn(|| cpu_s(child)));
        let reading: Vec<_> = reading.collect();
        let mut cpu = 0.0;
        for reading in reading {
            cpu += reading.join().expect("reading a report does not panic")?;
        }
        Ok(Took {
            elapsed_s: begun.elapsed().as_secs_f64(),
            cpu_s: cpu,
        })
    }

    fn start(&self, threads: usize) -> Result<Child, String> {
        let mut command = Command::new(&self.program);
        command.args(["run", self.path, "--quiet", "--format", "json"]);
        command.args(["--threads", &threads.to_string()]);
        for set in self.sets {
            command.args(["--set", set]);
        }
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        child.map_err(|e| {
            let program = self.program.display();
            format!("{program}: {e}\nhint: cargo build --release")
        })
    }
}

/// Returns the CPU seconds of a run, from its report.
fn cpu_s(child: Child) -> Result<f64, String> {
    #[derive(Deserialize)]
    struct Report {
        host: Host,
    }
    #[derive(Deserialize)]
    struct Host {
        cpu_s: f64,
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let report: Report = serde_json::from_slice(&output.stdout).map_err(|e| {
        let log = String::from_utf8_lossy(&output.stderr);
        format!("the report of a run: {e}\n{log}")
    })?;
    Ok(report.host.cpu_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(elapsed_s: f64, cpu_s: f64) -> Took {
        Took { elapsed_s, cpu_s }
    }

    #[test]
    fn threads_are_told_by_what_they_gain_and_what_they_burn() {
        // The machine was ten times slower in the second round, for both.
        let alone = [took(2.0, 2.0), took(20.0, 2.0), took(2.0, 2.0)];
        let two = [took(1.0, 2.2), took(10.0, 2.4), took(2.0, 2.2)];
        let text = line(Sort::Threads(2), &two, &alone);
        assert_eq!(
            text,
            "2 threads: speed 2.00 (1.50 to 2.00), CPU time 1.10 (1.10 to 1.15)"
        );
    }

    #[test]
    fn runs_at_once_count_each() {
        let alone = [took(2.0, 2.0)];
        let text = line(Sort::Runs(4), &[took(2.5, 8.0)], &alone);
        assert_eq!(text, "4 runs at once: throughput 3.20 (3.20 to 3.20)");
    }
}
