//! Measures how evenly a partition spreads the work of a whole system, and the resulting speed-up.
//!
//! A run on one thread is divided into partitions. Every partition's part of every window is timed,
//! and so is the coordinator's part between windows. The windows are the same in every run, so the
//! minimum time of each part over several runs is free of interruptions. With `N` threads a window
//! would last as long as its busiest thread plus the coordinator. Threads take the parts in the
//! engine's order. The sum over all windows, compared with the undivided run, is the efficiency of
//! the partition. Synchronization costs of real threads show in the elapsed times, which are also
//! reported. On a busy machine times mean little: [`instructions`] counts instead, and
//! [`whole_runs`] takes medians of interleaved runs.

#![expect(
    clippy::disallowed_types,
    reason = "host time is what a benchmark measures; models never see it"
)]

mod instructions;
mod meetings;
mod whole_runs;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use parking_lot::Mutex;
use warpweave_framework::{RunStep, busiest_share};
use warpweave_systems::{Machine, Scenario, Threads, standard_registry};
use warpweave_trace::Program;

/// Default scenarios: arithmetic, and a memory-bound stream.
pub(crate) const DEFAULTS: [(&str, &[&str]); 2] = [
    ("scenarios/matrix_multiply_60.ron", &["workload.n=256"]),
    ("tools/bench/scenarios/stream_60.ron", &[]),
];

/// Thread counts that are compared with one thread.
const THREADS: [usize; 3] = [2, 4, 8];

/// Minimum time of each step over all runs, in nanoseconds. The first step of a run includes the
/// work before it: dividing the system.
#[derive(Default)]
struct Steps {
    least: Vec<(RunStep, u64)>,
    /// Number of steps recorded in the current run.
    at: usize,
    last: Option<Instant>,
}

impl Steps {
    fn step(&mut self, step: RunStep) {
        let now = Instant::now();
        let before = self.last.replace(now);
        let elapsed = before.map_or(0, |b| now.duration_since(b).as_nanos());
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        match self.least.get_mut(self.at) {
            Some((_, least)) => *least = (*least).min(elapsed),
            None => self.least.push((step, elapsed)),
        }
        self.at += 1;
    }
}

/// Returns the time of the busiest thread plus the coordinator, summed over all windows, and the
/// number of windows.
fn busiest_threads(steps: &[(RunStep, u64)], threads: usize) -> (u64, u64) {
    let (mut sum, mut meetings) = (0, 0);
    let mut parts = Vec::new();
    for (step, ns) in steps {
        if let RunStep::Partition(_) = step {
            parts.push(*ns);
        } else {
            sum += busiest_share(&parts, threads) + ns;
            meetings += u64::from(!parts.is_empty());
            parts.clear();
        }
    }
    (sum, meetings)
}

/// Scenario, emulated once, from which machines are built repeatedly.
struct Machines {
    scenario: Scenario,
    program: Arc<Program>,
}

impl Machines {
    fn load(path: &Path, sets: &[String]) -> Result<Self, String> {
        let scenario = Scenario::load(path, sets).map_err(|e| e.to_string())?;
        let program = scenario.emulate().map_err(|e| e.to_string())?.program;
        Ok(Self { scenario, program })
    }

    fn build(&self) -> Result<Machine, String> {
        Machine::of(&self.scenario, &standard_registry(), &self.program).map_err(|e| e.to_string())
    }

    /// Builds a machine on one thread, divided by measured work as for `threads`.
    fn divided(&self, threads: usize) -> Result<Machine, String> {
        let mut machine = self.build()?;
        machine.set_threads(Threads::OneFor(threads));
        Ok(machine)
    }
}

/// Runs to the end and returns the elapsed seconds.
fn run(machine: &mut Machine) -> f64 {
    let start = Instant::now();
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    start.elapsed().as_secs_f64()
}

/// Executes the words after `parallel` and returns tables.
///
/// # Errors
/// Fails with a text if the words or the scenario are invalid.
pub(crate) fn command(words: &[&str]) -> Result<Vec<String>, String> {
    let owned = |sets: &[&str]| sets.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let number = |word: &str| {
        let number = word.parse();
        number.map_err(|_| format!("`{word}` is no number; {USAGE}"))
    };
    match words {
        [] => DEFAULTS
            .iter()
            .map(|(path, sets)| measure(path, &owned(sets), 5))
            .collect(),
        ["instructions"] => DEFAULTS
            .iter()
            .map(|(path, sets)| instructions::count(path, &owned(sets), None))
            .collect(),
        ["instructions", every, path, sets @ ..] => {
            let every = u64::from(number(every)?);
            instructions::count(path, &owned(sets), Some(every)).map(|table| vec![table])
        }
        ["steps", threads, every, path, sets @ ..] => {
            let (threads, every) = (number(threads)? as usize, u64::from(number(every)?));
            instructions::steps(threads, every, path, &owned(sets)).map(|steps| vec![steps])
        }
        ["meetings"] => meetings::table().map(|table| vec![table]),
        ["pairs"] => whole_runs::all(None),
        ["pairs", rounds, path, sets @ ..] => {
            whole_runs::all(Some((number(rounds)? as usize, path, &owned(sets))))
        }
        [repeats, path, sets @ ..] => {
            measure(path, &owned(sets), number(repeats)?).map(|table| vec![table])
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Usage text of the words accepted by [`command`].
pub(crate) const USAGE: &str = "usage: warpweave-bench parallel [REPEATS SCENARIO [PATH=VALUE ...]]
       warpweave-bench parallel instructions [EVERY SCENARIO [PATH=VALUE ...]]
       warpweave-bench parallel meetings
       warpweave-bench parallel pairs [ROUNDS SCENARIO [PATH=VALUE ...]]";

/// Measures a scenario for all thread counts and returns a table.
fn measure(path: &str, sets: &[String], repeats: u32) -> Result<String, String> {
    let machines = Machines::load(Path::new(path), sets)?;
    let mut text = format!("{path} {}\n", sets.join(" "));
    let serial = steps_of(&machines, 1, repeats)?;
    let serial_ns: u64 = serial.iter().map(|(_, ns)| ns).sum();
    let mut alone = f64::MAX;
    for _ in 0..repeats {
        alone = alone.min(run(&mut machines.build()?));
    }
    let _ = writeln!(
        text,
        "  1 thread: {:.1} ms in evaluations, {:.1} ms elapsed",
        serial_ns as f64 / 1e6,
        alone * 1e3
    );
    for threads in THREADS {
        let steps = steps_of(&machines, threads, repeats)?;
        let (longest, meetings) = busiest_threads(&steps, threads);
        let mut elapsed = f64::MAX;
        for _ in 0..repeats {
            let mut machine = machines.build()?;
            machine.set_threads(Threads::Exactly(threads));
            elapsed = elapsed.min(run(&mut machine));
        }
        let _ = writeln!(
            text,
            "  {threads} threads: serial / busiest threads = {:.2}; {meetings} windows; {:.1} ms \
             elapsed, {:.2} of one thread's speed",
            serial_ns as f64 / longest as f64,
            elapsed * 1e3,
            alone / elapsed
        );
    }
    Ok(text.trim_end().to_owned())
}

/// Runs `repeats` times on one thread, divided as for `threads`. Returns the minimum time of every
/// step.
fn steps_of(
    machines: &Machines,
    threads: usize,
    repeats: u32,
) -> Result<Vec<(RunStep, u64)>, String> {
    let steps = Arc::new(Mutex::new(Steps::default()));
    for _ in 0..repeats.max(1) {
        let mut machine = machines.divided(threads)?;
        let seen = Arc::clone(&steps);
        let observer = move |step| {
            let mut steps = seen.lock();
            steps.step(step);
        };
        machine
            .simulation_mut()
            .set_window_observer(Some(Box::new(observer)));
        run(&mut machine);
        let mut steps = steps.lock();
        (steps.at, steps.last) = (0, None);
    }
    let steps = steps.lock();
    Ok(steps.least.clone())
}
