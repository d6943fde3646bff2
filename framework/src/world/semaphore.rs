//! Semaphores and mutexes of processes, granted in order of request.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::world::event::Event;

/// A number of permits, granted strictly in order of request, without overtaking. Clones refer to
/// the same semaphore.
#[derive(Clone)]
pub struct Semaphore {
    state: Rc<State>,
}

struct State {
    permits: Cell<usize>,
    /// Tickets of the waiting processes, in order.
    queue: RefCell<VecDeque<u64>>,
    next_ticket: Cell<u64>,
    freed: Event,
}

/// A place in the queue, released when dropped.
struct Place<'a> {
    state: &'a State,
    ticket: u64,
}

impl Semaphore {
    /// Creates a semaphore with `permits` permits, which notifies `freed` at each release.
    pub(super) fn new(freed: Event, permits: usize) -> Self {
        Self {
            state: Rc::new(State {
                permits: Cell::new(permits),
                queue: RefCell::default(),
                next_ticket: Cell::new(0),
                freed,
            }),
        }
    }

    /// Waits for a permit and takes it (SystemC's `wait`).
    pub async fn acquire(&self) {
        if self.try_acquire() {
            return;
        }
        let state = &*self.state;
        let ticket = state.next_ticket.replace(state.next_ticket.get() + 1);
        state.queue.borrow_mut().push_back(ticket);
        let _place = Place { state, ticket };
        loop {
            state.freed.wait().await;
            let first = state.queue.borrow().front() == Some(&ticket);
            if first && state.permits.get() > 0 {
                state.permits.set(state.permits.get() - 1);
                return;
            }
        }
    }

    /// Takes a permit if one is available and no process is waiting for it.
    pub fn try_acquire(&self) -> bool {
        let (permits, queue) = (&self.state.permits, self.state.queue.borrow());
        let free = queue.is_empty() && permits.get() > 0;
        if free {
            permits.set(permits.get() - 1);
        }
        free
    }

    /// Releases a permit, even if none was taken (SystemC's `post`).
    pub fn release(&self) {
        self.state.permits.set(self.state.permits.get() + 1);
        self.state.freed.notify_delta();
    }

    /// Returns the number of available permits.
    pub fn permits(&self) -> usize {
        self.state.permits.get()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.state.queue.borrow_mut().retain(|t| *t != self.ticket);
        // The next one in the queue may be able to continue.
        if self.state.permits.get() > 0 && !self.state.queue.borrow().is_empty() {
            self.state.freed.notify_delta();
        }
    }
}

/// Mutual exclusion for processes, granted in order of request. Clones refer to the same mutex.
#[derive(Clone)]
pub struct Mutex {
    semaphore: Semaphore,
}

/// Guard of a held mutex, which is released when the guard is dropped.
#[must_use = "the mutex is released immediately if the guard is not kept"]
pub struct MutexGuard {
    semaphore: Semaphore,
}

impl Mutex {
    /// Creates a mutex on a semaphore of one permit.
    pub(super) fn new(semaphore: Semaphore) -> Self {
        Self { semaphore }
    }

    /// Waits for the mutex and locks it.
    pub async fn lock(&self) -> MutexGuard {
        self.semaphore.acquire().await;
        self.guard()
    }

    /// Locks the mutex if it is free and no process waits for it.
    pub fn try_lock(&self) -> Option<MutexGuard> {
        self.semaphore.try_acquire().then(|| self.guard())
    }

    fn guard(&self) -> MutexGuard {
        MutexGuard {
            semaphore: self.semaphore.clone(),
        }
    }
}

impl Drop for MutexGuard {
    fn drop(&mut self) {
        self.semaphore.release();
    }
}
