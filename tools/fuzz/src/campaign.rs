//! Runs many inputs of one kind and seed and collects the outcomes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use crossbeam::channel::{Receiver, RecvTimeoutError, unbounded};

use crate::case::Case;
use crate::folder::Folder;
use crate::kind::Kind;
use crate::limits::Limits;
use crate::shrink::shrunk;
use crate::through::{Program, limited};
use crate::verdict::{Fault, FaultKind, InputOutcome, Verdict};

/// Target on which the inputs are tried.
#[derive(Clone, Debug)]
pub enum Mode {
    /// The libraries, in worker processes: this program with the argument `worker`.
    LibraryTargets(PathBuf),
    /// The program at this path, one child process per input.
    Through(PathBuf),
}

/// Range of inputs of one kind and seed, starting at `from`.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Kind of the inputs to be mutated.
    pub kind: Kind,
    /// Seed from which all mutations are derived.
    pub seed: u64,
    /// Number of the first input to try.
    pub from: u64,
    /// Number of inputs to try in total.
    pub count: u64,
    /// Target on which the inputs are tried.
    pub mode: Mode,
    /// Time and memory limits for each input.
    pub limits: Limits,
    /// Number of inputs tried concurrently.
    pub jobs: usize,
}

/// Input that broke a promise, with its fault.
#[derive(Clone, Debug)]
pub struct BrokenPromise {
    /// Number of the input within its seed.
    pub number: u64,
    /// Fault caused by the input, with its evidence.
    pub fault: Fault,
}

/// Outcomes of a campaign's inputs by category.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of inputs that were accepted.
    pub accepted: u64,
    /// Number of inputs that were rejected with a reason and a position.
    pub refused: u64,
    /// Inputs that broke a promise, sorted by number.
    pub found: Vec<BrokenPromise>,
}

impl Tally {
    /// Returns the total number of inputs tried.
    pub fn inputs(&self) -> u64 {
        self.accepted + self.refused + self.found.len() as u64
    }

    fn count(&mut self, number: u64, verdict: Verdict) {
        match verdict {
            Ok(InputOutcome::Accepted) => self.accepted += 1,
            Ok(InputOutcome::Refused) => self.refused += 1,
            Err(fault) => self.found.push(BrokenPromise { number, fault }),
        }
    }

    fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.found.extend(other.found);
        self.found.sort_by_key(|found| found.number);
    }

    /// Returns the first input of every cause, with the number of inputs that share it.
    pub fn causes(&self) -> Vec<(&BrokenPromise, usize)> {
        let mut causes: BTreeMap<String, (&BrokenPromise, usize)> = BTreeMap::new();
        for found in &self.found {
            causes.entry(found.fault.cause()).or_insert((found, 0)).1 += 1;
        }
        causes.into_values().collect()
    }

    /// Formats a line for each cause. The text is empty if no input broke a promise.
    pub fn told(&self) -> String {
        let causes = self.causes().into_iter();
        let line = |(found, count): (&BrokenPromise, usize)| {
            format!(
                "{count} x, first number {}: {}\n",
                found.number, found.fault
            )
        };
        causes.map(line).collect()
    }
}

impl Campaign {
    /// Tries all inputs of the campaign.
    ///
    /// # Errors
    /// Returns an error if the host cannot create folders or processes.
    ///
    /// # Panics
    /// Panics if one of its own threads panicked.
    pub fn run(&self) -> io::Result<Tally> {
        let folder = self.folder()?;
        let mut tally = Tally::default();
        thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs)
                .map(|job| {
                    let folder = &folder;
                    scope.spawn(move || self.job(job, folder))
                })
                .collect();
            for job in jobs {
                tally.add(job.join().expect("a job does not panic")?);
            }
            Ok(tally)
        })
    }

    fn folder(&self) -> io::Result<Folder> {
        match &self.mode {
            Mode::LibraryTargets(_) => Folder::new(),
            Mode::Through(program) => Folder::of_program(program),
        }
    }

    /// Tries every `jobs`th input, starting with the first of this job.
    fn job(&self, job: usize, folder: &Folder) -> io::Result<Tally> {
        let mut tally = Tally::default();
        let until = self.from + self.count;
        let mut next = self.from + job as u64;
        match &self.mode {
            Mode::Through(path) => {
                let program = Program::new(path, folder.copy()?, self.limits);
                for number in (next..until).step_by(self.jobs) {
                    let case = Case::new(self.kind, self.seed, number, folder)?;
                    tally.count(number, program.verdict(&case));
                }
            }
            Mode::LibraryTargets(path) => {
                while next < until {
                    next = self.worker(path, next, until, &mut tally)?;
                }
            }
        }
        Ok(tally)
    }

    /// Runs a worker on the inputs from `next` on, until it finishes or an input ends it. Returns
    /// the number of the next input to try.
    fn worker(&self, path: &Path, next: u64, until: u64, tally: &mut Tally) -> io::Result<u64> {
        let mut command = limited(path, self.limits);
        let numbers = [self.seed, next, until, self.jobs as u64].map(|n| n.to_string());
        command
            .args(["worker", &self.kind.name()])
            .args(&numbers)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let lines = lines_of(&mut child);
        let mut begun = None;
        loop {
            match lines.recv_timeout(self.limits.time) {
                Ok(line) => match line.parse::<u64>() {
                    Ok(number) => begun = Some(number),
                    Err(_) => {
                        if let Some(number) = begun.take() {
                            tally.count(number, told(&line));
                        }
                    }
                },
                Err(RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    child.wait()?;
                    let fault = Fault::new(FaultKind::Hang, "");
                    return self.past(begun, fault, next, tally);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let mut said = String::new();
                    if let Some(mut err) = child.stderr.take() {
                        err.read_to_string(&mut said)?;
                    }
                    let status = child.wait()?;
                    if status.success() {
                        return Ok(until);
                    }
                    let memory = said.contains("memory allocation of");
                    let kind = if memory {
                        FaultKind::Memory
                    } else {
                        FaultKind::Abort
                    };
                    let fault = Fault::new(kind, &format!("{status}: {said}"));
                    return self.past(begun, fault, next, tally);
                }
            }
        }
    }

    /// Records the fault that ended a worker. Returns the number with which the next worker starts.
    fn past(
        &self,
        begun: Option<u64>,
        fault: Fault,
        next: u64,
        tally: &mut Tally,
    ) -> io::Result<u64> {
        let Some(number) = begun else {
            let what = format!("a worker that was to begin with {next} ended: {fault}");
            return Err(io::Error::other(what));
        };
        tally.count(number, Err(fault));
        Ok(number + self.jobs as u64)
    }

    /// Finds a small input that fails like `found`. Returns it with the command that reads it.
    /// Aborts and hangs are tried in one process each.
    ///
    /// # Errors
    /// Returns an error if the host cannot create folders or processes.
    pub fn shrink(&self, found: &BrokenPromise, tries: usize) -> io::Result<(Case, String)> {
        let folder = self.folder()?;
        let case = Case::new(self.kind, self.seed, found.number, &folder)?;
        let Mode::Through(path) = &self.mode else {
            // A worker makes its inputs itself: the whole input is kept.
            return Ok((case, String::new()));
        };
        let program = Program::new(path, folder, self.limits);
        let small = shrunk(&case, &found.fault, tries, |case| program.verdict(case));
        let line = program.shown(&small);
        Ok((small, line))
    }
}

/// Parses a worker's verdict on an input.
fn told(line: &str) -> Verdict {
    let fault = |kind, seen: &str| Err(Fault::new(kind, &seen.replace("\\n", "\n")));
    let (word, seen) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "accepted" => Ok(InputOutcome::Accepted),
        "refused" => Ok(InputOutcome::Refused),
        "Panic" => fault(FaultKind::Panic, seen),
        "NoPlace" => fault(FaultKind::NoPlace, seen),
        "LongMessage" => fault(FaultKind::LongMessage, seen),
        "ControlCharacters" => fault(FaultKind::ControlCharacters, seen),
        _ => fault(FaultKind::Driver, line),
    }
}

/// Receives the lines printed by a child as they arrive.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = unbounded();
    let out = child.stdout.take().expect("it was piped");
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
