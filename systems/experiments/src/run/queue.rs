//! Job queue of the workers. Runs are started in order, and each trace is made by one worker and
//! shared by all.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam::channel::{Receiver, Sender, select_biased, unbounded};

use super::traces::Emulated;

/// Job for a worker thread.
pub(super) enum Job {
    /// Emulate the trace of a run, release the other runs of the trace, and simulate the run.
    Emulate(usize, Followers),
    /// Simulate a run with an existing trace.
    Simulate(usize, Emulated),
    /// Abandon a run because its trace could not be made.
    GiveUp(usize, String),
}

/// Runs that wait for a trace in the making.
pub(super) struct Followers {
    runs: Vec<usize>,
    ready: Sender<Job>,
}

impl Followers {
    /// Hands the runs out with their trace, or gives them up. A second call does nothing.
    pub(super) fn release(&mut self, made: &Result<Emulated, String>) {
        for run in self.runs.drain(..) {
            let job = match made {
                Ok(emulated) => Job::Simulate(run, emulated.clone()),
                Err(why) => Job::GiveUp(run, why.clone()),
            };
            // The queue outlives its workers.
            let _ = self.ready.send(job);
        }
    }
}

/// Runs not yet assigned to a worker.
pub(super) struct Queue {
    /// One job for each trace to make.
    traces: Receiver<Job>,
    /// Runs whose traces are known. The channel ends with the last job that makes a trace.
    ready: Receiver<Job>,
    closed: AtomicBool,
}

impl Queue {
    /// Creates a queue from runs with the names of their traces. Runs of one trace must be
    /// consecutive.
    pub(super) fn of(runs: &[(usize, &str)]) -> Self {
        let (make, traces) = unbounded();
        let (release, ready) = unbounded();
        for runs in runs.chunk_by(|(_, trace), (_, next)| trace == next) {
            let followers = Followers {
                runs: runs[1..].iter().map(|(run, _)| *run).collect(),
                ready: release.clone(),
            };
            // Both ends are here.
            let _ = make.send(Job::Emulate(runs[0].0, followers));
        }
        Self {
            traces,
            ready,
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the next job, or `None` if nothing is left. Runs whose trace is known come before
    /// those that make another trace. Waits if the remaining runs need traces in the making.
    pub(super) fn next(&self) -> Option<Job> {
        let job = select_biased! {
            recv(self.ready) -> job => job,
            recv(self.traces) -> job => job.or_else(|_| self.ready.recv()),
        };
        job.ok().filter(|_| !self.closed.load(Ordering::Relaxed))
    }

    /// Stops handing out jobs.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
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
            locality: Arc::default(),
        }
    }

    /// Takes the job that makes the trace of a run.
    fn making(queue: &Queue, run: usize) -> Followers {
        match queue.next() {
            Some(Job::Emulate(at, followers)) if at == run => followers,
            _ => panic!("run {run} makes a trace next"),
        }
    }

    #[test]
    fn a_trace_is_made_once_and_kept_while_a_run_wants_it() {
        let queue = Queue::of(&[(0, "a"), (1, "a"), (2, "b"), (3, "c")]);
        let mut a = making(&queue, 0);
        let mut b = making(&queue, 2);
        let made = emulated();
        let weak = Arc::downgrade(&made.program);
        a.release(&Ok(made));
        b.release(&Ok(emulated()));
        let next = queue.next();
        assert!(
            matches!(next, Some(Job::Simulate(1, _))),
            "a known trace first"
        );
        drop(next);
        assert!(weak.upgrade().is_none());
        drop((a, b, making(&queue, 3)));
        assert!(queue.next().is_none());
    }

    #[test]
    fn without_a_trace_none_of_its_runs_is_made() {
        let queue = Queue::of(&[(0, "a"), (1, "a")]);
        let mut followers = making(&queue, 0);
        followers.release(&Err("endless".to_owned()));
        followers.release(&Ok(emulated()));
        drop(followers);
        assert!(matches!(queue.next(), Some(Job::GiveUp(1, why)) if why == "endless"));
        assert!(queue.next().is_none());
    }

    #[test]
    fn a_worker_waits_for_the_trace_that_another_makes() {
        let queue = Queue::of(&[(0, "a"), (1, "a")]);
        let mut followers = making(&queue, 0);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| matches!(queue.next(), Some(Job::Simulate(1, _))));
            followers.release(&Ok(emulated()));
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn a_closed_queue_hands_out_nothing_and_ends_who_waits() {
        let queue = Queue::of(&[(0, "a"), (1, "a"), (2, "b")]);
        let mut a = making(&queue, 0);
        let b = making(&queue, 2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.next().is_none());
            queue.close();
            a.release(&Ok(emulated()));
            drop((a, b));
            assert!(waiting.join().unwrap());
        });
        assert!(queue.next().is_none());
    }
}
