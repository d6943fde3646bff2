//! Job queue of the workers. Runs are started in order, and each trace is made by one worker and
//! shared by all.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::traces::Emulated;

/// Job for a worker thread.
pub(super) enum Job {
    /// Emulate the trace of a run, publish it, and simulate the run.
    Emulate(usize),
    /// Simulate a run with an existing trace.
    Simulate(usize, Emulated),
    /// Abandon a run because its trace could not be made.
    GiveUp(usize, String),
}

/// Runs not yet assigned, and traces in use.
pub(super) struct Queue<'p> {
    state: Mutex<State<'p>>,
    changed: Condvar,
}

struct State<'p> {
    /// Waiting runs: index and name of the trace.
    waiting: VecDeque<(usize, &'p str)>,
    traces: BTreeMap<&'p str, Trace>,
}

enum Trace {
    BeingMade,
    FinishedRun(Emulated),
    Failed(String),
}

impl<'p> Queue<'p> {
    /// Creates a queue from runs with the names of their traces. Runs of one trace must be
    /// consecutive.
    pub(super) fn of(runs: impl IntoIterator<Item = (usize, &'p str)>) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: runs.into_iter().collect(),
                traces: BTreeMap::new(),
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'p>> {
        // What a worker holds while it may panic is no lock of these.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next job, or `None` if nothing is left. If the next run waits for a trace that
    /// another worker makes, the worker proceeds to the following trace.
    pub(super) fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            let traces = &state.traces;
            let ready = |trace: &str| !matches!(traces.get(trace), Some(Trace::BeingMade));
            let at = state.waiting.iter().position(|(_, trace)| ready(trace));
            if let Some((run, trace)) = at.and_then(|at| state.waiting.remove(at)) {
                return Some(state.begin(run, trace));
            }
            if state.waiting.is_empty() {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reports the result of a job to make a trace.
    pub(super) fn made(&self, trace: &str, emulated: Result<Emulated, String>) {
        let mut state = self.state();
        let wanted = state.waiting.iter().find(|(_, wanted)| *wanted == trace);
        match (wanted.map(|(_, trace)| *trace), emulated) {
            (None, _) => {
                state.traces.remove(trace);
            }
            (Some(trace), Ok(emulated)) => {
                state.traces.insert(trace, Trace::FinishedRun(emulated));
            }
            (Some(trace), Err(why)) => {
                state.traces.insert(trace, Trace::Failed(why));
            }
        }
        self.changed.notify_all();
    }

    /// Stops handing out jobs.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.waiting.clear();
        state.traces.clear();
        self.changed.notify_all();
    }
}

impl<'p> State<'p> {
    fn begin(&mut self, run: usize, trace: &'p str) -> Job {
        let job = match self.traces.get(trace) {
            Some(Trace::FinishedRun(emulated)) => Job::Simulate(run, emulated.clone()),
            Some(Trace::Failed(why)) => Job::GiveUp(run, why.clone()),
            Some(Trace::BeingMade) | None => {
                self.traces.insert(trace, Trace::BeingMade);
                return Job::Emulate(run);
            }
        };
        // The last one to use a trace takes it along.
        if !self.waiting.iter().any(|(_, other)| *other == trace) {
            self.traces.remove(trace);
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpweave_trace::{FrontEnd, Program};

    use super::*;

    fn emulated() -> Emulated {
        let program = Program {
            name: String::new(),
            allocations: Vec::new(),
            commands: Vec::new(),
            kernels: Vec::new(),
            front_end: FrontEnd::default(),
        };
        Emulated {
            program: Arc::new(program),
            verified: None,
            checks: Vec::new(),
            profile: Arc::default(),
        }
    }

    #[test]
    fn a_trace_is_made_once_and_kept_while_a_run_wants_it() {
        let queue = Queue::of([(0, "a"), (1, "a"), (2, "b")]);
        assert!(matches!(queue.next(), Some(Job::Emulate(0))));
        assert!(
            matches!(queue.next(), Some(Job::Emulate(2))),
            "a is being made"
        );
        queue.made("a", Ok(emulated()));
        queue.made("b", Ok(emulated()));
        assert!(matches!(queue.next(), Some(Job::Simulate(1, _))));
        assert!(queue.state().traces.is_empty());
        assert!(queue.next().is_none());
    }

    #[test]
    fn without_a_trace_none_of_its_runs_is_made() {
        let queue = Queue::of([(0, "a"), (1, "a")]);
        assert!(queue.next().is_some());
        queue.made("a", Err("endless".to_owned()));
        assert!(matches!(queue.next(), Some(Job::GiveUp(1, why)) if why == "endless"));
        assert!(queue.next().is_none());
    }

    #[test]
    fn a_worker_waits_for_the_trace_that_another_makes() {
        let queue = Queue::of([(0, "a"), (1, "a")]);
        assert!(queue.next().is_some());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| matches!(queue.next(), Some(Job::Simulate(1, _))));
            queue.made("a", Ok(emulated()));
            assert!(waiting.join().unwrap());
        });
    }
}
