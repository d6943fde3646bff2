//! Executes the runs of a plan with one worker per core. Each run uses one thread, and each result
//! is stored at once.
//!
//! `queue.rs` hands out the runs, `traces.rs` keeps what was emulated, `single_run.rs` makes a run.

mod queue;
mod single_run;
#[cfg(test)]
mod tests;
mod traces;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam::channel::{Sender, unbounded};
use thiserror::Error;
use tracing::info_span;
use warpweave_files::{Budget, OutputError};
use warpweave_framework::Registry;

use self::queue::{Job, Queue};
pub(crate) use self::single_run::line_of;
use self::single_run::{FinishedRun, RunFailure};
use self::traces::Traces;
pub use self::traces::keeps_trace;
use crate::model::FailureCounts;
use crate::plan::{Plan, PlannedRun, each};
use crate::store::Reports;

/// Failure of the host machine, in most cases of a disk. Results stored before remain.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct MachineError(pub String);

impl From<OutputError> for MachineError {
    fn from(error: OutputError) -> Self {
        Self(error.to_string())
    }
}

/// Settings for executing the runs of a plan.
pub struct Runner<'a> {
    /// Registry of the available component kinds.
    pub registry: &'a Registry,
    /// Number of worker threads, at least one.
    pub threads: usize,
    /// Set to true to stop. No more runs are started then, and those in progress are
    /// saved.
    pub interrupt: &'a Arc<AtomicBool>,
    /// Memory budget that all workers share.
    pub budget: &'a Budget,
}

/// Progress event of a runner.
#[derive(Debug)]
pub enum RunEvent {
    /// A run has started; holds its index in the plan.
    Begun(usize),
    /// A run has ended and is stored; false if it failed.
    Ended(usize, bool),
    /// A run failed without a result to store; holds the reason.
    Failed(usize, String),
}

impl Runner<'_> {
    /// Executes the runs in `wanted` whose reports are not stored yet. Their traces are kept in the
    /// folder `traces`.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails. Results stored before remain.
    pub fn run(
        &self,
        plan: &Plan,
        wanted: &[usize],
        reports: &Reports,
        traces: &Path,
        news: &mut dyn FnMut(RunEvent),
    ) -> Result<FailureCounts, MachineError> {
        let missing = wanted.iter().map(|&at| (at, &plan.runs[at]));
        let missing = missing.filter(|(_, run)| !reports.holds(&run.identity.run));
        let missing = missing.map(|(at, run)| (at, run.identity.trace.as_str()));
        let missing: Vec<_> = missing.collect();
        let mut failed = FailureCounts::new();
        if missing.is_empty() {
            return Ok(failed);
        }
        let workers = self.threads.clamp(1, missing.len());
        let work = WorkerContext {
            runner: self,
            runs: &plan.runs,
            queue: Queue::of(&missing),
            traces: Traces::in_folder(traces)?,
            reports,
        };
        let (sender, receiver) = unbounded();
        let mut refused = None;
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (work, sender) = (&work, sender.clone());
                scope.spawn(move || work.go_on(&sender));
            }
            drop(sender);
            for told in receiver {
                match told {
                    Ok(told) => {
                        if let RunEvent::Failed(at, why) = &told {
                            failed.insert(*at, why.clone());
                        }
                        news(told);
                    }
                    Err(error) => {
                        work.queue.close();
                        refused.get_or_insert(error);
                    }
                }
            }
        });
        refused.map_or(Ok(failed), Err)
    }

    /// Emulates the programs of the runs in `wanted` whose traces are not in the folder `traces`
    /// yet. Returns the programs that could not be emulated, by their runs.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails. Traces kept before remain.
    pub fn emulate(
        &self,
        plan: &Plan,
        wanted: &[usize],
        traces: &Path,
    ) -> Result<FailureCounts, MachineError> {
        let traces = Traces::in_folder(traces)?;
        let emulated = each(wanted, self.threads, self.interrupt, |&at| {
            let run = &plan.runs[at];
            guarded(|| {
                let scenario = single_run::load(run, self)?;
                single_run::emulated(&scenario, &run.identity.trace, &traces, self).map(drop)
            })
        });
        let mut failed = FailureCounts::new();
        for (&at, emulated) in wanted.iter().zip(emulated) {
            match emulated {
                Some(Err(RunFailure::Machine(error))) => return Err(error),
                Some(Err(RunFailure::Failed(why))) => drop(failed.insert(at, why)),
                Some(Ok(())) | None => {}
            }
        }
        Ok(failed)
    }
}

/// Executes a part of a run. A panic becomes a failure.
fn guarded<T>(work: impl FnOnce() -> Result<T, RunFailure>) -> Result<T, RunFailure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let why = format!("the model panicked: {}", words(panic.as_ref()));
        Err(RunFailure::Failed(why))
    })
}

/// State that all workers share.
struct WorkerContext<'a> {
    runner: &'a Runner<'a>,
    runs: &'a [PlannedRun],
    queue: Queue,
    traces: Traces,
    reports: &'a Reports,
}

type Told = Result<RunEvent, MachineError>;

impl WorkerContext<'_> {
    /// Executes runs until none are left.
    fn go_on(&self, tell: &Sender<Told>) {
        while !self.runner.interrupt.load(Ordering::Relaxed) {
            let Some(job) = self.queue.next() else {
                return;
            };
            let at = job.run();
            // The receiver is gone only if the main thread panics, which ends everything.
            let _ = tell.send(Ok(RunEvent::Begun(at)));
            let told = match self.make(job) {
                Ok(Some(passed)) => Ok(RunEvent::Ended(at, passed)),
                Ok(None) => continue,
                Err(RunFailure::Failed(why)) => Ok(RunEvent::Failed(at, why)),
                Err(RunFailure::Machine(error)) => Err(error),
            };
            let _ = tell.send(told);
        }
        self.queue.close();
    }

    /// Executes a run and stores it. Returns true if it passed, or `None` after an interrupt.
    fn make(&self, mut job: Job) -> Result<Option<bool>, RunFailure> {
        let run = &self.runs[job.run()];
        let made = guarded(|| self.simulate(&mut job, run));
        // After a panic the other runs of the trace still wait.
        if let (Err(RunFailure::Failed(why)), Job::Emulate(_, followers)) = (&made, &mut job) {
            followers.release(&Err(why.clone()));
        }
        let Some(FinishedRun { json, passed }) = made? else {
            return Ok(None);
        };
        let stored = self.reports.store(&run.identity.run, &json);
        stored.map_err(|error| RunFailure::Machine(error.into()))?;
        Ok(Some(passed))
    }

    fn simulate(&self, job: &mut Job, run: &PlannedRun) -> Result<Option<FinishedRun>, RunFailure> {
        let _span = info_span!("run", id = ?run.ids[0].to_string()).entered();
        let scenario = single_run::load(run, self.runner);
        let emulated = match job {
            Job::Simulate(_, emulated) => emulated.clone(),
            Job::GiveUp(_, why) => return Err(RunFailure::Failed(why.clone())),
            Job::Emulate(_, followers) => {
                let trace = &run.identity.trace;
                let emulated = match &scenario {
                    Ok(scenario) => {
                        single_run::emulated(scenario, trace, &self.traces, self.runner)
                    }
                    Err(why) => Err(RunFailure::Failed(why.to_string())),
                };
                let told = emulated
                    .as_ref()
                    .map(Clone::clone)
                    .map_err(ToString::to_string);
                followers.release(&told);
                emulated?
            }
        };
        single_run::simulated(
            &scenario?,
            &emulated,
            &run.identity,
            &self.traces,
            self.reports,
            self.runner,
        )
    }
}

impl Job {
    /// Returns the index of the job's run.
    fn run(&self) -> usize {
        match self {
            Self::Emulate(run, _) | Self::Simulate(run, _) | Self::GiveUp(run, _) => *run,
        }
    }
}

/// Returns the message of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}
