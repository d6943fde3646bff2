//! Partition balance measured in instructions, which other load cannot disturb. Callgrind watches
//! the partitioned run and records the instructions of each part of a window and of the
//! coordinator.
//!
//! The program starts itself under `valgrind` several times: once undivided, for the instructions
//! of the serial run, and once for each number of threads. In the divided run an observer enters
//! [`end_of_step`] after each step, which makes callgrind write the instructions since the last
//! time. Only one of every `every` windows is watched. The rest are counted with the same ratio of
//! busiest threads to all parts. Between runs one thread divides the system while the others wait,
//! so this counts in full.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_framework::{RunStep, busiest_share};

use super::{Machines, THREADS};

/// Default interval between watched windows, in windows.
const EVERY: u64 = 31;

/// Step to which the instructions up to a mark are attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Everything before the first run.
    Before,
    /// Windows that are not watched individually.
    Gap,
    /// Work between two runs, such as dividing the system.
    Between,
    /// Part of a window run by one partition.
    Part,
    Coordinator,
}

/// Makes callgrind write the instructions executed since the last call.
#[inline(never)]
fn end_of_step(step: Step) {
    std::hint::black_box(step);
}

/// Runs divided as for `threads` and marks the steps of every `every`-th window. Returns the marks,
/// one letter each. It is meant to run under callgrind.
fn marked(machines: &Machines, threads: usize, every: u64) -> Result<String, String> {
    let letters = Arc::new(Mutex::new(String::new()));
    let marks = |all: &Arc<Mutex<String>>| Marks {
        letters: String::new(),
        all: Arc::clone(all),
    };
    let mut machine = machines.divided(threads)?;
    // What came before the run.
    marks(&letters).mark(Step::Before);
    if threads > 1 {
        let mut watch = Watch::default();
        let mut marks = marks(&letters);
        let observer = move |step: RunStep| {
            if let Some(step) = watch.step(step, every) {
                marks.mark(step);
            }
        };
        let simulation = machine.simulation_mut();
        simulation.set_window_observer(Some(Box::new(observer)));
    }
    super::run(&mut machine);
    // With the observer its marks go to the others.
    machine.simulation_mut().set_window_observer(None);
    marks(&letters).mark(Step::Gap);
    let letters = letters.lock();
    Ok(letters.clone())
}

/// Buffer of marks that are made without a lock, since a lock's instructions would count. On drop
/// it is appended to the shared marks.
struct Marks {
    letters: String,
    all: Arc<Mutex<String>>,
}

impl Marks {
    #[inline]
    fn mark(&mut self, step: Step) {
        self.letters.push(step.letter());
        end_of_step(step);
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        all.push_str(&self.letters);
    }
}

impl Step {
    fn letter(self) -> char {
        match self {
            Self::Before => 'b',
            Self::Gap => 'g',
            Self::Between => 'd',
            Self::Part => 'p',
            Self::Coordinator => 'c',
        }
    }
}

/// Selects the windows to be watched.
#[derive(Default)]
struct Watch {
    windows: u64,
    /// True if the current window is watched.
    on: bool,
}

impl Watch {
    /// Returns the mark to be made after a step of the run.
    fn step(&mut self, step: RunStep, every: u64) -> Option<Step> {
        match step {
            RunStep::Begun => Some(Step::Between),
            RunStep::Partition(_) => self.on.then_some(Step::Part),
            RunStep::Decided | RunStep::Ended => {
                // One window has ended and the next, of this run or another, opens.
                let was_on = self.on;
                self.windows += 1;
                self.on = self.windows.is_multiple_of(every);
                let unwatched = (self.on || step == RunStep::Ended).then_some(Step::Gap);
                if was_on {
                    Some(Step::Coordinator)
                } else {
                    unwatched
                }
            }
        }
    }
}

/// Instruction counts of a divided run.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    /// Total number of instructions in the run.
    all: u64,
    /// Instructions executed between runs by one thread.
    between: u64,
    /// Instructions in watched windows. The three counts are: parts plus coordinator, busiest
    /// threads plus coordinator, and coordinator alone.
    watched: u64,
    longest: u64,
    coordinator: u64,
    windows: u64,
}

impl Counted {
    /// Adds up the instructions of the steps.
    fn new(steps: &[(Step, u64)], threads: usize) -> Self {
        let mut counted = Self::default();
        let mut parts = Vec::new();
        for (step, instructions) in steps {
            counted.all += instructions;
            match step {
                Step::Before => counted.all -= instructions,
                Step::Gap => {}
                Step::Between => counted.between += instructions,
                Step::Part => {
                    counted.watched += instructions;
                    parts.push(*instructions);
                }
                Step::Coordinator => {
                    counted.watched += instructions;
                    counted.longest += busiest_share(&parts, threads) + instructions;
                    counted.coordinator += instructions;
                    counted.windows += 1;
                    parts.clear();
                }
            }
        }
        counted
    }

    /// Estimates the critical-path instructions of the whole run.
    fn path(&self) -> f64 {
        let windows = self.all - self.between;
        self.between as f64 + windows as f64 * self.longest as f64 / self.watched.max(1) as f64
    }
}

/// Parses the instructions that callgrind wrote for each mark.
fn totals(text: &str) -> Vec<u64> {
    let totals = text.lines().filter_map(|l| l.strip_prefix("totals:"));
    totals.filter_map(|n| n.trim().parse().ok()).collect()
}

/// Runs this program under callgrind. Returns the steps and their instructions.
fn watched(words: &[String]) -> Result<Vec<(Step, u64)>, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let name = format!("warpweave-steps-{}.callgrind", std::process::id());
    let file: PathBuf = std::env::temp_dir().join(name);
    let ended = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--combine-dumps=yes"])
        .args(["--dump-line=no", "--dump-before=*end_of_step*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(words)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("valgrind cannot be started ({e}); install it or use `parallel`"))?;
    let text = std::fs::read_to_string(&file).map_err(|e| e.to_string());
    // Only this run needs it; a file left in the temporary folder does no harm.
    let _ = std::fs::remove_file(&file);
    if !ended.status.success() {
        return Err(format!(
            "the run under valgrind ended with {}",
            ended.status
        ));
    }
    let letters = String::from_utf8_lossy(&ended.stdout);
    let steps = letters.trim().chars().map(|letter| match letter {
        'p' => Step::Part,
        'c' => Step::Coordinator,
        'd' => Step::Between,
        'b' => Step::Before,
        _ => Step::Gap,
    });
    Ok(steps.zip(totals(&text?)).collect())
}

/// Counts the instructions of a scenario for all thread counts and returns a table.
pub(super) fn count(path: &str, sets: &[String], every: Option<u64>) -> Result<String, String> {
    let every = every.unwrap_or(EVERY).max(1);
    let words = |threads: usize| {
        let mut words: Vec<String> = ["parallel", "steps"].map(str::to_owned).to_vec();
        words.extend([threads.to_string(), every.to_string(), path.to_owned()]);
        words.extend(sets.iter().cloned());
        words
    };
    let serial = Counted::new(&watched(&words(1))?, 1).all;
    let mut text = format!("{path} {}\n", sets.join(" "));
    let _ = writeln!(
        text,
        "  1 thread: {:.1} M instructions",
        serial as f64 / 1e6
    );
    for threads in THREADS {
        let counted = Counted::new(&watched(&words(threads))?, threads);
        let _ = writeln!(
            text,
            "  {threads} threads: serial / busiest threads = {:.2}; {} windows watched, in them {:.0} \
             instructions each, {:.0} of the busiest thread and the coordinator, {:.0} of the \
             coordinator; divided run {:.1} M, of which {:.1} M between windows",
            serial as f64 / counted.path(),
            counted.windows,
            counted.watched as f64 / counted.windows.max(1) as f64,
            counted.longest as f64 / counted.windows.max(1) as f64,
            counted.coordinator as f64 / counted.windows.max(1) as f64,
            counted.all as f64 / 1e6,
            counted.between as f64 / 1e6,
        );
    }
    Ok(text.trim_end().to_owned())
}

/// Runs the part of the measurement that is under callgrind.
pub(super) fn steps(
    threads: usize,
    every: u64,
    path: &str,
    sets: &[String],
) -> Result<String, String> {
    let machines = Machines::load(Path::new(path), sets)?;
    marked(&machines, threads, every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_part_and_the_coordinator_make_a_window() {
        let steps = [
            (Step::Before, 1000),
            (Step::Between, 7),
            (Step::Part, 10),
            (Step::Part, 30),
            (Step::Coordinator, 5),
            (Step::Gap, 45),
        ];
        let counted = Counted::new(&steps, 2);
        let expected = Counted {
            all: 97,
            between: 7,
            watched: 45,
            longest: 35,
            coordinator: 5,
            windows: 1,
        };
        assert_eq!(counted, expected);
        assert!((counted.path() - 77.0).abs() < 1e-9);
    }

    #[test]
    fn every_third_window_is_watched_with_the_gap_before_it() {
        let mut watch = Watch::default();
        let turn = [
            RunStep::Partition(0),
            RunStep::Partition(1),
            RunStep::Decided,
        ];
        let steps = [RunStep::Begun]
            .into_iter()
            .chain((0..7).flat_map(|_| turn));
        let seen: Vec<_> = steps.filter_map(|step| watch.step(step, 3)).collect();
        let window = [Step::Gap, Step::Part, Step::Part, Step::Coordinator];
        assert_eq!(seen, [&[Step::Between], &window[..], &window].concat());
    }

    #[test]
    fn totals_of_combined_dumps_come_in_order() {
        let text = "part: 1\nsummary: 5\n\nfn=(1) f\n0 5\n\ntotals: 5\npart: 2\n\ntotals: 17\n";
        assert_eq!(totals(text), [5, 17]);
    }
}
