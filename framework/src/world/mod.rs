//! Event world: events, signals and processes, in addition to the clocked components.
//!
//! ```text
//!   at a tick:  clock edges ─► timed notifications ─► ┌► evaluate: processes run
//!               (components)                          │  update:   signals take their new values
//!                                                     └─ delta:    notified processes become runnable
//! ```
//!
//! The rules are those of SystemC (IEEE 1666-2011, 4.2 and 5.10). Components and processes interact
//! only through the ports of processes, which are clocked components of their own. Actions of a
//! process at a tick therefore reach components at the next edge. The order within a tick never
//! affects components.
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
//! It uses [`crate::component`] and [`crate::channel`] only for the ports of processes, and does
//! not depend on the engine that steps it.

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

/// Creates events, signals and processes, and provides the waits of processes. Clones refer to the
/// same world.
///
/// Waiting functions may be awaited only by processes of this world.
#[derive(Clone)]
pub struct World {
    pub(crate) core: Rc<Core>,
    /// Prefix of the names of objects made with this handle.
    scope: Option<Rc<str>>,
    /// True if processes made with this handle do not keep a run alive.
    background: bool,
}

/// The world itself, shared by all handles.
pub(crate) struct Core {
    pub(crate) world: RefCell<WorldState>,
    /// Bodies of processes, by number. Separate from the rest, which processes access while they
    /// run. Those added while processes run wait in [`WorldState::added`].
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

    /// Returns a handle of this world that prefixes names with `name` and a dot: a level of
    /// hierarchy.
    pub fn scope(&self, name: impl AsRef<str>) -> World {
        let mut inner = self.clone();
        inner.scope = Some(self.path(name.as_ref()).into());
        inner
    }

    /// Returns a handle of this world whose processes do not keep a run alive. Their timed waits
    /// end only before other work, as with [`crate::Context::wake_in_background`]. For clocks,
    /// monitors and watchdogs.
    ///
    /// Timed notifications belong to the process that makes them.
    pub fn background(&self) -> World {
        let mut inner = self.clone();
        inner.background = true;
        inner
    }

    /// Returns the full name of `name` in the scope of this handle.
    pub(crate) fn path(&self, name: &str) -> String {
        match &self.scope {
            Some(scope) => format!("{scope}.{name}"),
            None => name.to_owned(),
        }
    }

    /// Creates an event; reports show its `name`.
    pub fn event(&self, name: impl AsRef<str>) -> Event {
        Event::new(&self.core, self.path(name.as_ref()))
    }

    /// Creates a signal with the initial value `value`.
    pub fn signal<T: SignalValue>(&self, name: impl AsRef<str>, value: T) -> Signal<T> {
        Signal::new(&self.core, self.path(name.as_ref()), value)
    }

    /// Creates a signal whose `changed` event is notified by every write, even of the current value
    /// (SystemC's `sc_buffer`).
    pub fn buffer<T: SignalValue>(&self, name: impl AsRef<str>, value: T) -> Signal<T> {
        Signal::buffer(&self.core, self.path(name.as_ref()), value)
    }

    /// Adds a process that runs all of `body` at the start and after every notification of one of
    /// `sensitivity`.
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

    /// Adds a process that runs all of `body` after every notification of one of `sensitivity`, but
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

    /// Adds a process that begins at the start (or in the current delta cycle) and suspends at each
    /// await. It may await only the waits that this world and its ports provide.
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

    /// Sets the trigger for the next run of the current method, in place of its sensitivity. The
    /// sensitivity applies again afterwards. The last call of a run takes effect.
    pub fn next_trigger(&self, trigger: Trigger) {
        let mut state = self.core.world.borrow_mut();
        let awaited = trigger.awaited(state.now);
        state.set_next_trigger(awaited);
    }

    /// Returns the current time of the world.
    pub fn now(&self) -> Tick {
        Tick(self.core.world.borrow().now)
    }

    /// Returns the cycle of `clock` whose edge is at or before the current time.
    pub fn cycle(&self, clock: ClockId) -> Cycle {
        let state = self.core.world.borrow();
        state.now / state.period(clock)
    }

    /// Returns the period of `clock` in ticks, once the system is elaborated.
    pub fn period(&self, clock: ClockId) -> u64 {
        self.core.world.borrow().period(clock)
    }

    /// Waits for `ticks` ticks; for 0 it waits for the next delta cycle.
    pub async fn ticks(&self, ticks: u64) {
        let awaited = Trigger::after(ticks).awaited(self.now().0);
        self.wait_for(awaited).await;
    }

    /// Waits until `tick`; if that is in the past, for the next delta cycle.
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

    /// Waits for the next delta cycle to begin.
    pub async fn delta(&self) {
        self.wait_for(Awaited::of(WaitTarget::Delta)).await;
    }

    /// Waits for the first of `events`; returns its index.
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

    /// Waits for `awaited`, but at most `ticks`. A result at the last tick is in time.
    pub async fn within<T>(&self, ticks: u64, awaited: impl Future<Output = T>) -> Option<T> {
        let limit = Trigger::after(ticks).awaited(self.now().0);
        wait::first(awaited, self.wait_for(limit)).await
    }

    /// Takes an obligation: the run is not complete before it is discharged. Silence with an open
    /// obligation is a deadlock.
    pub fn take_obligation(&self) {
        self.core.world.borrow_mut().taken += 1;
    }

    /// Discharges an obligation. If none is left, the run ends after the current tick.
    pub fn discharge_obligation(&self) {
        self.core.world.borrow_mut().discharged += 1;
    }

    /// Ends the run after the current tick because the model detected an error.
    pub fn fail(&self, message: impl Into<String>) {
        let mut state = self.core.world.borrow_mut();
        state.failure.get_or_insert(message.into());
    }

    /// Ends the run as done after the current tick, even with pending work. A later run continues
    /// from there.
    pub fn stop(&self) {
        self.core.world.borrow_mut().stopped = true;
    }

    /// Sets the maximum number of delta cycles at one time before the run fails (default 10 000).
    pub fn set_delta_limit(&self, limit: u32) {
        let mut state = self.core.world.borrow_mut();
        state.limits.deltas = limit;
        state.set_run_limit();
    }

    /// Selects the queue of timed notifications; no result depends on it.
    pub fn set_queue(&self, kind: QueueKind) {
        let state = &mut *self.core.world.borrow_mut();
        (state.events.queue).change_kind(&mut state.events.list, kind, state.now);
    }

    /// Creates a FIFO of `capacity` places, at least one.
    pub fn fifo<T: 'static>(&self, name: impl AsRef<str>, capacity: usize) -> Fifo<T> {
        Fifo::new(&self.core, self.path(name.as_ref()), capacity)
    }

    /// Creates a semaphore with `permits` permits.
    pub fn semaphore(&self, name: impl AsRef<str>, permits: usize) -> Semaphore {
        Semaphore::new(self.event(format!("{} freed", name.as_ref())), permits)
    }

    /// Creates a mutex, which is initially free.
    pub fn mutex(&self, name: impl AsRef<str>) -> Mutex {
        Mutex::new(self.semaphore(name, 1))
    }

    /// Creates a queue of notifications. Notifications of one tick occur in separate delta cycles.
    pub fn notification_queue(&self, name: impl AsRef<str>) -> NotificationQueue {
        NotificationQueue::new(self, name.as_ref())
    }

    /// Sends all further signal changes to `sink`; `None` ends that. Signals that no longer exist
    /// are left out.
    pub fn set_wave_sink(&self, sink: Option<Box<dyn WaveSink>>) {
        self.core.world.borrow_mut().waves.set_sink(sink);
    }

    /// Requests an update of `channel` after the current evaluation (SystemC's `request_update`).
    pub fn request_update(&self, channel: Rc<dyn Update>) {
        self.core.world.borrow_mut().updates.push(channel);
    }

    pub(crate) fn wait_for(&self, awaited: Awaited) -> Waiting {
        Waiting::new(&self.core, awaited)
    }
}
