//! Processes, which run when events are notified.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Waker};

use prefetch_index::prefetch_index;

use super::Core;
use super::names::Names;
use crate::world::event::Event;
use crate::world::wait::WaitKey;

/// A process of a world. Clones refer to the same process; dropping the handle has no effect.
#[derive(Clone)]
pub struct Process {
    pub(super) core: Rc<Core>,
    pub(super) id: u32,
}

/// All processes of a world, and those that are to run.
#[derive(Default)]
pub(crate) struct Processes {
    pub(super) entries: Vec<Entry>,
    /// State of each process, stored separately because every event accesses it.
    pub(super) readiness: Vec<Readiness>,
    pub(super) names: Names,
    pub(super) runnable: Vec<u32>,
    /// True if bodies must be installed or removed before the next process runs.
    pub(super) chores: bool,
    /// Bodies of the most recent `entries`, not installed yet.
    pub(super) added: Vec<Body>,
    /// Processes to be ended before the next one runs.
    pub(super) killed: Vec<u32>,
    /// Number of the process that runs now.
    pub(crate) current: Option<u32>,
}

/// Code and state of a process, as a pinned trait object.
pub(super) type Body = Pin<Box<dyn Run>>;

/// Prefetches the body of `process` into the cache.
#[inline(always)]
pub(super) fn fetch(bodies: &[Body], process: u32) {
    bodies[process as usize].fetch();
}

/// Execution of one run of a process.
pub(super) trait Run {
    /// Runs to the end of a method or to the next wait of a sequence; returns true if the process
    /// has ended.
    fn run(self: Pin<&mut Self>) -> bool;

    /// Prefetches the body into the cache without accessing it.
    fn fetch(&self);
}

#[inline(always)]
fn fetch_one<T>(body: &T) {
    prefetch_index(std::slice::from_ref(body), 0);
}

/// A process that runs from start to end each time.
pub(super) struct Method<F>(pub(super) F);

impl<F> Unpin for Method<F> {}

impl<F: FnMut()> Run for Method<F> {
    fn run(self: Pin<&mut Self>) -> bool {
        (self.get_mut().0)();
        false
    }

    fn fetch(&self) {
        fetch_one(self);
    }
}

/// Replaces a process that has ended; never runnable.
pub(super) struct Finished;

impl Run for Finished {
    fn run(self: Pin<&mut Self>) -> bool {
        false
    }

    fn fetch(&self) {}
}

/// A process that suspends at each await.
impl<F: Future<Output = ()>> Run for F {
    fn run(self: Pin<&mut Self>) -> bool {
        let mut context = TaskContext::from_waker(Waker::noop());
        self.poll(&mut context).is_ready()
    }

    fn fetch(&self) {
        fetch_one(self);
    }
}

/// Data of the world about a process.
pub(super) struct Entry {
    /// True if its timed waits and notifications do not keep a run alive.
    pub(super) background: bool,
    pub(super) is_method: bool,
    /// Wait of its next trigger, which replaces its sensitivity.
    pub(super) next_trigger: Option<WaitKey>,
    /// Event notified at its end, created on first use.
    pub(super) ended: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    /// Waits for a notification of its sensitivity or its wait.
    Waiting,
    /// Runs later in this evaluation phase.
    Queued,
    /// Runs now; its own notifications do not trigger it.
    Running,
    /// A method with a next trigger: its sensitivity is ignored.
    Triggered,
    /// Has ended and never runs again.
    Ended,
}

impl Process {
    /// Returns the name of the process, with scopes.
    pub fn name(&self) -> String {
        let state = self.core.world.borrow();
        state.process_name(self.id).to_owned()
    }

    /// True if the process has returned or was killed.
    pub fn has_ended(&self) -> bool {
        self.core.world.borrow().processes.readiness[self.id as usize] == Readiness::Ended
    }

    /// Returns the event notified one delta cycle after the process has returned or was killed.
    pub fn ended(&self) -> Event {
        let known = self.core.world.borrow().processes.entries[self.id as usize].ended;
        if let Some(id) = known {
            return Event::from_id(&self.core, id);
        }
        let event = Event::new(&self.core, format!("{} ended", self.name()));
        self.core.world.borrow_mut().processes.entries[self.id as usize].ended = Some(event.id);
        event
    }

    /// Waits until the process has ended.
    pub async fn join(&self) {
        if !self.has_ended() {
            self.ended().wait().await;
        }
    }

    /// Ends the process at its current wait, and cancels the wait. A process that kills itself runs
    /// until its next wait.
    pub fn kill(&self) {
        self.core.world.borrow_mut().kill(self.id);
    }
}
