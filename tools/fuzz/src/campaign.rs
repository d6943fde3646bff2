//! Many inputs of one kind and seed, and what became of them.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, unbounded};

use crate::case::Case;
use crate::folder::Folder;
use crate::kind::Kind;
use crate::shrink::shrunk;
use crate::through::{Program, limited};
use crate::verdict::{Fault, FaultKind, InputOutcome, Verdict};

/// What one input may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time.
    pub time: Duration,
    /// Address space.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// Twenty seconds and four gibibytes: far more than the inputs of the folder need.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            memory_bytes: 4 << 30,
        }
    }
}

/// Against what the inputs are tried.
#[derive(Clone, Debug)]
pub enum Mode {
    /// The libraries, in worker processes: this program with the argument `worker`.
    LibraryTargets(PathBuf),
    /// The program at a path.
    Through(PathBuf),
}

/// Inputs of a kind and a seed, `from` the first on.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Their kind.
    pub kind: Kind,
    /// Their seed.
    pub seed: u64,
    /// Number of the first.
    pub from: u64,
    /// How many.
    pub count: u64,
    /// Against what.
    pub mode: Mode,
    /// What each may take.
    pub limits: Limits,
    /// How many are tried at a time.
    pub jobs: usize,
}

/// An input that broke a promise.
#[derive(Clone, Debug)]
pub struct BrokenPromise {
    /// Its number.
    pub number: u64,
    /// What happened.
    pub fault: Fault,
}

/// What became of the inputs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Inputs that were taken.
    pub accepted: u64,
    /// Inputs that were refused with a reason and a place.
    pub refused: u64,
    /// Those that broke a promise, by number.
    pub found: Vec<BrokenPromise>,
}

impl Tally {
    /// Inputs tried.
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

    /// The first input of every cause, with how many share it.
    pub fn causes(&self) -> Vec<(&BrokenPromise, usize)> {
        let mut causes: BTreeMap<String, (&BrokenPromise, usize)> = BTreeMap::new();
        for found in &self.found {
            causes.entry(found.fault.cause()).or_insert((found, 0)).1 += 1;
        }
        causes.into_values().collect()
    }

    /// A line for each cause; nothing when no input broke a promise.
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
    /// Tries all inputs.
    ///
    /// # Errors
    /// When the host refuses folders or processes.
    ///
    /// # Panics
    /// When a thread of its own panicked.
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

    /// Every `jobs`th input, from that of this job on.
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

    /// Has a worker try the inputs from `next` on, until it is through or one ends it. Returns the
    /// number with which to go on.
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

    /// Notes what ended a worker, and the number with which another goes on.
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

    /// A small input that fails as `found` does, with the command that reads it. Aborts and hangs are
    /// tried one process each.
    ///
    /// # Errors
    /// When the host refuses folders or processes.
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

/// What a worker said of an input.
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

/// Lines that a child prints, as they come.
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
