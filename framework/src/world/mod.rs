//! The event world: events, signals and processes beside the clocked components.
//!
//! ```text
//!   at a tick:  clock edges ─► timed notifications ─► ┌► evaluate: processes run
//!               (components)                          │  update:   signals take their new values
//!                                                     └─ delta:    notified processes become runnable
//! ```
//!
//! The rules are those of SystemC (IEEE 1666-2011, 4.2 and 5.10). Components and processes touch
//! only through the ports of processes, which are clocked components of their own, so what a
//! process does at a tick reaches components at the next edge, and the order within a tick never
//! changes what components do.
//!
//! | file | holds |
//! |---|---|
//! | this one | the handle with which models make and wait for things |
//! | `event`, `notification_queue`, `event_queue` | events, and the queue of what happens at a time |
//! | `process`, `wait`, `process_port` | processes, what they wait for, their ports to components |
//! | `signal`, `fifo`, `semaphore`, `clocked`, `transport` | what SystemC users expect |
//! | `state`, `phases`, `names` | all that a world knows, and the phases of a tick |
//! | `wave`, `report` | waveforms of signals; what a model has to say |
//! | `driver` | the one way from the engine to a world |
//!
//! It uses [`crate::component`] and [`crate::channel`] for the ports of processes alone, and does not
//! know the engine that steps it.

mod clocked;
mod driver;
mod event;
mod event_queue;
mod fifo;
mod names;
mod notification_queue;
mod phases;
mod process;
mod process_port;
mod report;
mod semaphore;
mod signal;
mod state;
mod transport;
mod wait;
mod wave;

pub use clocked::{Clock, Reset};
pub use event::Event;
pub use event_queue::QueueKind;
pub use fifo::Fifo;
pub use notification_queue::NotificationQueue;
pub use process::Process;
pub use process_port::{ProcessInput, ProcessOutput, ProcessRequester};
pub use report::{Report, Severity};
pub use semaphore::{Mutex, MutexGuard, Semaphore};
pub use signal::{Signal, SignalValue};
pub use state::Update;
pub use transport::{Command, LocalTime, Payload, Response, Router, Transport, Transported};
pub use wait::Trigger;
pub use wave::{SignalLine, WaveSink};

pub(crate) use driver::{Upcoming, WorldDriver};

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use crate::time::{ClockId, Cycle, Tick};
use crate::world::process::{Body, Entry, Method};
use crate::world::state::WorldState;
use crate::world::wait::{Awaited, WaitTarget, Waiting};

/// Makes events, signals and processes, and is what processes wait with. Clones mean the same
/// world.
///
/// Waiting functions may be awaited only by processes of this world.
#[derive(Clone)]
pub struct World {
    pub(crate) core: Rc<Core>,
    /// What names made with this handle begin with.
    scope: Option<Rc<str>>,
    /// Processes made with this handle do not keep a run alive.
    background: bool,
}

/// A world itself; all handles share it.
pub(crate) struct Core {
    pub(crate) world: RefCell<WorldState>,
    /// What processes do, by number; apart, because processes run with the rest at hand. Those
    /// added while processes run wait in [`WorldState::added`].
    bodies: RefCell<Vec<Body>>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            core: Rc::new(Core {
                world: RefCell::new(WorldState::new()),
                bodies: RefCell::default(),
            }),
            scope: None,
            background: false,
        }
    }

    /// A handle of this world whose names begin with `name` and a dot: a level of hierarchy.
    pub fn scope(&self, name: impl AsRef<str>) -> World {
        let mut inner = self.clone();
        inner.scope = Some(self.path(name.as_ref()).into());
        inner
    }

    /// A handle of this world whose processes do not keep a run alive: what they wait for in time
    /// comes only on the way to other work, as with [`crate::Context::wake_in_background`]. For
    /// clocks, monitors and watchdogs.
    ///
    /// Timed notifications belong to the process that makes them.
    pub fn background(&self) -> World {
        let mut inner = self.clone();
        inner.background = true;
        inner
    }

    /// The full name of `name` in the scope of this handle.
    pub(crate) fn path(&self, name: &str) -> String {
        match &self.scope {
            Some(scope) => format!("{scope}.{name}"),
            None => name.to_owned(),
        }
    }

    /// Makes an event; `name` is for reports.
    pub fn event(&self, name: impl AsRef<str>) -> Event {
        Event::new(&self.core, self.path(name.as_ref()))
    }

    /// Makes a signal that shows `value` from the start.
    pub fn signal<T: SignalValue>(&self, name: impl AsRef<str>, value: T) -> Signal<T> {
        Signal::new(&self.core, self.path(name.as_ref()), value)
    }

    /// Makes a signal whose `changed` is notified by every write, even of the value it has
    /// (SystemC's `sc_buffer`).
    pub fn buffer<T: SignalValue>(&self, name: impl AsRef<str>, value: T) -> Signal<T> {
        Signal::buffer(&self.core, self.path(name.as_ref()), value)
    }

    /// Adds a process that runs `body` as a whole at the start and whenever one of `sensitivity`
    /// is notified.
    pub fn method(
        &self,
        name: impl AsRef<str>,
        sensitivity: &[&Event],
        body: impl FnMut() + 'static,
    ) -> Process {
        let process = self.handler(name, sensitivity, body);
        self.core.world.borrow_mut().make_runnable(process.id);
        process
    }

    /// Adds a process that runs `body` as a whole whenever one of `sensitivity` is notified, but
    /// not at the start.
    pub fn handler(
        &self,
        name: impl AsRef<str>,
        sensitivity: &[&Event],
        body: impl FnMut() + 'static,
    ) -> Process {
        let process = self.add(name.as_ref(), Box::pin(Method(body)), true);
        let mut state = self.core.world.borrow_mut();
        for event in sensitivity {
            state.add_method(event.id, process.id);
        }
        process
    }

    /// Adds a process that starts at the start (or in the current delta cycle) and suspends where
    /// it awaits. It may await only what this world and its ports offer.
    pub fn process(
        &self,
        name: impl AsRef<str>,
        body: impl Future<Output = ()> + 'static,
    ) -> Process {
        let process = self.add(name.as_ref(), Box::pin(body), false);
        self.core.world.borrow_mut().make_runnable(process.id);
        process
    }

    fn add(&self, name: &str, body: Body, is_method: bool) -> Process {
        let mut state = self.core.world.borrow_mut();
        let entry = Entry {
            background: self.background,
            is_method,
            next_trigger: None,
            ended: None,
        };
        let id = state.add_process(&self.path(name), entry, body);
        Process {
            core: Rc::clone(&self.core),
            id,
        }
    }

    /// The method that runs now runs next when `trigger` says so; its sensitivity counts again
    /// after that. The last call of a run counts.
    pub fn next_trigger(&self, trigger: Trigger) {
        let mut state = self.core.world.borrow_mut();
        let awaited = trigger.awaited(state.now);
        state.set_next_trigger(awaited);
    }

    /// The current time.
    pub fn now(&self) -> Tick {
        Tick(self.core.world.borrow().now)
    }

    /// The cycle of `clock` whose edge is at or before the current time.
    pub fn cycle(&self, clock: ClockId) -> Cycle {
        let state = self.core.world.borrow();
        state.now / state.period(clock)
    }

    /// The period of `clock` in ticks, once the system is elaborated.
    pub fn period(&self, clock: ClockId) -> u64 {
        self.core.world.borrow().period(clock)
    }

    /// Waits for `ticks` ticks; for 0 it waits for the next delta cycle.
    pub async fn ticks(&self, ticks: u64) {
        let awaited = Trigger::after(ticks).awaited(self.now().0);
        self.wait_for(awaited).await;
    }

    /// Waits until `tick`; if that has passed, for the next delta cycle.
    pub async fn until(&self, tick: Tick) {
        self.ticks(tick.0.saturating_sub(self.now().0)).await;
    }

    /// Waits for the `cycles`-th edge of `clock` after the current time (at least the first).
    pub async fn cycles(&self, clock: ClockId, cycles: u64) {
        let tick = (self.cycle(clock))
            .saturating_add(cycles.max(1))
            .saturating_mul(self.period(clock));
        self.wait_for(Awaited::until(tick)).await;
    }

    /// Waits for the next delta cycle.
    pub async fn delta(&self) {
        self.wait_for(Awaited::of(WaitTarget::Delta)).await;
    }

    /// Waits for the first of `events`; returns which it was.
    pub fn any(&self, events: &[&Event]) -> impl Future<Output = usize> + use<> {
        self.wait_for(Awaited::any(events))
    }

    /// Waits until every one of `events` has been notified.
    pub fn all(&self, events: &[&Event]) -> impl Future<Output = ()> + use<> {
        let waiting = self.wait_for(Awaited::all(events));
        async move {
            waiting.await;
        }
    }

    /// Waits for whatever `awaited` waits for, but no longer than `ticks`. What comes at the last
    /// moment came in time.
    pub async fn within<T>(&self, ticks: u64, awaited: impl Future<Output = T>) -> Option<T> {
        let limit = Trigger::after(ticks).awaited(self.now().0);
        wait::first(awaited, self.wait_for(limit)).await
    }

    /// Takes an obligation: the run is not complete before it is discharged. Silence with an open
    /// obligation is a deadlock.
    pub fn take_obligation(&self) {
        self.core.world.borrow_mut().taken += 1;
    }

    /// Discharges an obligation. When none is left the run ends after the current tick.
    pub fn discharge_obligation(&self) {
        self.core.world.borrow_mut().discharged += 1;
    }

    /// Ends the run after the current tick because the model found something wrong.
    pub fn fail(&self, message: impl Into<String>) {
        let mut state = self.core.world.borrow_mut();
        state.failure.get_or_insert(message.into());
    }

    /// Ends the run after the current tick as done, whatever is still pending. A later run goes on
    /// from there.
    pub fn stop(&self) {
        self.core.world.borrow_mut().stopped = true;
    }

    /// Sets how many delta cycles one time may take before the run fails (10 000 unless set).
    pub fn set_delta_limit(&self, limit: u32) {
        let mut state = self.core.world.borrow_mut();
        state.delta_limit = limit;
        state.set_run_limit();
    }

    /// Chooses the queue of timed notifications; no result depends on it.
    pub fn set_queue(&self, kind: QueueKind) {
        let state = &mut *self.core.world.borrow_mut();
        (state.queue).change_kind(&mut state.events, kind, state.now);
    }

    /// Has `channel` updated after the current evaluation (SystemC's `request_update`).
    pub fn request_update(&self, channel: Rc<dyn Update>) {
        self.core.world.borrow_mut().updates.push(channel);
    }

    pub(crate) fn wait_for(&self, awaited: Awaited) -> Waiting {
        Waiting::new(&self.core, awaited)
    }
}
