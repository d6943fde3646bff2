//! Processes: what runs when events are notified.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Waker};

use prefetch_index::prefetch_index;

use super::Core;
use crate::state::Id;
use crate::world::event::Event;

/// A process of a world. Clones mean the same process; dropping the handle changes nothing.
#[derive(Clone)]
pub struct Process {
    pub(super) core: Rc<Core>,
    pub(super) id: u32,
}

/// What a process does.
pub(super) type Body = Pin<Box<dyn Run>>;

/// Has the cache fetch what `process` does.
#[inline(always)]
pub(super) fn fetch(bodies: &[Body], process: u32) {
    bodies[process as usize].fetch();
}

/// What a process does in one turn.
pub(super) trait Run {
    /// Runs to the end of a method or to the next wait of a sequence; whether that was all.
    fn run(self: Pin<&mut Self>) -> bool;

    /// Has the cache fetch it; touches nothing.
    fn fetch(&self);
}

#[inline(always)]
fn fetch_one<T>(body: &T) {
    prefetch_index(std::slice::from_ref(body), 0);
}

/// A process that runs as a whole each time.
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

/// In place of a process that has ended; never runnable.
pub(super) struct Finished;

impl Run for Finished {
    fn run(self: Pin<&mut Self>) -> bool {
        false
    }

    fn fetch(&self) {}
}

/// A process that suspends where it awaits.
impl<F: Future<Output = ()>> Run for F {
    fn run(self: Pin<&mut Self>) -> bool {
        let mut context = TaskContext::from_waker(Waker::noop());
        self.poll(&mut context).is_ready()
    }

    fn fetch(&self) {
        fetch_one(self);
    }
}

/// What the world knows of a process.
pub(super) struct Entry {
    /// Its timed waits and notifications do not keep a run alive.
    pub(super) background: bool,
    pub(super) is_method: bool,
    /// The wait that stands for its sensitivity in its next trigger.
    pub(super) next_trigger: Option<Id>,
    /// Notified at its end, once somebody asked for it.
    pub(super) ended: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    /// Runs when its sensitivity or its wait says so.
    Waiting,
    /// Will run in this evaluation phase.
    Queued,
    /// Runs now and notifies: it does not notify itself.
    Running,
    /// A method with a next trigger: its sensitivity does not count.
    Triggered,
    /// Never runs again.
    Ended,
}

impl Process {
    /// Its name, with scopes.
    pub fn name(&self) -> String {
        let state = self.core.world.borrow();
        state.process_name(self.id).to_owned()
    }

    /// Whether it has returned or was killed.
    pub fn has_ended(&self) -> bool {
        self.core.world.borrow().readiness[self.id as usize] == Readiness::Ended
    }

    /// Notified one delta cycle after the process has returned or was killed.
    pub fn ended(&self) -> Event {
        let known = self.core.world.borrow().processes[self.id as usize].ended;
        if let Some(id) = known {
            return Event::from_id(&self.core, id);
        }
        let event = Event::new(&self.core, format!("{} ended", self.name()));
        self.core.world.borrow_mut().processes[self.id as usize].ended = Some(event.id);
        event
    }

    /// Waits until it has ended.
    pub async fn join(&self) {
        if !self.has_ended() {
            self.ended().wait().await;
        }
    }

    /// Ends it where it stands, and cancels what it waits for. A process that kills itself runs on
    /// to its next wait.
    pub fn kill(&self) {
        self.core.world.borrow_mut().kill(self.id);
    }
}
