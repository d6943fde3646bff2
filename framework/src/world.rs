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

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use crate::builder::ClockId;
use crate::event::{Event, EventState, Pending};
use crate::event_queue::EventQueue;
use crate::signal::{Signal, Update};
use crate::time::{Cycle, Tick};

/// Delta cycles at one time after which processes are taken to run in circles.
const DELTA_LIMIT: u32 = 10_000;

/// Makes events, signals and processes, and is what processes wait with. Clones mean the same
/// world.
///
/// Waiting functions may be awaited only by processes of this world.
#[derive(Clone)]
pub struct World {
    pub(crate) inner: Rc<RefCell<Inner>>,
    /// What processes do, by number; apart, because processes run with the rest at hand. Those
    /// added while processes run wait in `Inner::added`.
    bodies: Rc<RefCell<Vec<Body>>>,
}

pub(crate) struct Inner {
    pub(crate) now: u64,
    pub(crate) queue: EventQueue<Timed>,
    pub(crate) events: Vec<EventState>,
    pub(crate) event_names: Vec<String>,
    /// Events notified for the next delta cycle.
    pub(crate) delta_events: Vec<u32>,
    delta_waits: Vec<u32>,
    runnable: Vec<u32>,
    pub(crate) updates: Vec<Rc<dyn Update>>,
    processes: Vec<Process>,
    /// Bodies of the last of `processes`, not yet in their place.
    added: Vec<Body>,
    /// The process that runs now.
    pub(crate) current: Option<u32>,
    waits: Vec<Wait>,
    free_waits: Vec<u32>,
    pub(crate) ports: Vec<PortEntry>,
    /// Instances whose ports processes have just turned to.
    pub(crate) port_wakes: Vec<u32>,
    periods: Vec<u64>,
    delta_limit: u32,
    taken: u64,
    discharged: u64,
    pub(crate) failure: Option<String>,
    due: Vec<Timed>,
}

/// What a tick in the queue is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timed {
    Event(u32),
    Wait(u32),
}

/// A port of a process: its instance, and the wait of the process that stands at it.
pub(crate) struct PortEntry {
    pub(crate) name: String,
    pub(crate) instance: u32,
    pub(crate) waiting: Option<u32>,
}

struct Process {
    name: String,
    queued: bool,
}

enum Body {
    Method(Box<dyn FnMut()>),
    Sequence(Pin<Box<dyn Future<Output = ()>>>),
    /// Nothing any more.
    Ended,
}

/// One suspended `await`.
struct Wait {
    process: u32,
    /// Notifications still missing.
    missing: u32,
    /// Which of several events came last.
    which: usize,
    what: What,
}

/// What a wait is for, for arming and for reports.
#[derive(Clone)]
pub(crate) enum What {
    /// The first of these events.
    Any(Vec<u32>),
    /// Every one of these events.
    All(Vec<u32>),
    /// This tick.
    Until(u64),
    /// The next delta cycle.
    Delta,
    /// A message or a credit at this port.
    Port(u32),
    /// Nothing: a free entry.
    Nothing,
}

impl World {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            now: 0,
            queue: EventQueue::new(),
            events: Vec::new(),
            event_names: Vec::new(),
            delta_events: Vec::new(),
            delta_waits: Vec::new(),
            runnable: Vec::new(),
            added: Vec::new(),
            updates: Vec::new(),
            processes: Vec::new(),
            current: None,
            waits: Vec::new(),
            free_waits: Vec::new(),
            ports: Vec::new(),
            port_wakes: Vec::new(),
            periods: Vec::new(),
            delta_limit: DELTA_LIMIT,
            taken: 0,
            discharged: 0,
            failure: None,
            due: Vec::new(),
        };
        Self {
            inner: Rc::new(RefCell::new(inner)),
            bodies: Rc::default(),
        }
    }

    /// Makes an event; `name` is for reports.
    pub fn event(&self, name: impl Into<String>) -> Event {
        let mut inner = self.inner.borrow_mut();
        inner.events.push(EventState::default());
        inner.event_names.push(name.into());
        Event {
            world: self.clone(),
            id: inner.events.len() as u32 - 1,
        }
    }

    /// Makes a signal that shows `value` from the start.
    pub fn signal<T: Clone + PartialEq + 'static>(
        &self,
        name: impl Into<String>,
        value: T,
    ) -> Signal<T> {
        Signal::new(self, name.into(), value)
    }

    /// Adds a process that runs `body` as a whole at the start and whenever one of `sensitivity`
    /// is notified.
    pub fn method(
        &self,
        name: impl Into<String>,
        sensitivity: &[&Event],
        body: impl FnMut() + 'static,
    ) {
        let process = self.add(name.into(), Body::Method(Box::new(body)), sensitivity);
        self.inner.borrow_mut().make_runnable(process);
    }

    /// Adds a process that runs `body` as a whole whenever one of `sensitivity` is notified, but
    /// not at the start.
    pub fn handler(
        &self,
        name: impl Into<String>,
        sensitivity: &[&Event],
        body: impl FnMut() + 'static,
    ) {
        self.add(name.into(), Body::Method(Box::new(body)), sensitivity);
    }

    /// Adds a process that starts at the start (or in the current delta cycle) and suspends where
    /// it awaits. It may await only what this world and its ports offer.
    pub fn process(&self, name: impl Into<String>, body: impl Future<Output = ()> + 'static) {
        let process = self.add(name.into(), Body::Sequence(Box::pin(body)), &[]);
        self.inner.borrow_mut().make_runnable(process);
    }

    fn add(&self, name: String, body: Body, sensitivity: &[&Event]) -> u32 {
        let mut inner = self.inner.borrow_mut();
        let process = inner.processes.len() as u32;
        inner.processes.push(Process {
            name,
            queued: false,
        });
        inner.added.push(body);
        for event in sensitivity {
            inner.events[event.id as usize].methods.push(process);
        }
        process
    }

    /// The current time.
    pub fn now(&self) -> Tick {
        Tick(self.inner.borrow().now)
    }

    /// The cycle of `clock` whose edge is at or before the current time.
    pub fn cycle(&self, clock: ClockId) -> Cycle {
        let inner = self.inner.borrow();
        inner.now / inner.period(clock)
    }

    /// Waits for `ticks` ticks; for 0 it waits for the next delta cycle.
    pub async fn ticks(&self, ticks: u64) {
        let tick = self.inner.borrow().now.saturating_add(ticks);
        let what = if ticks == 0 {
            What::Delta
        } else {
            What::Until(tick)
        };
        self.wait_for(what).await;
    }

    /// Waits for the `cycles`-th edge of `clock` after the current time (at least the first).
    pub async fn cycles(&self, clock: ClockId, cycles: u64) {
        let tick = {
            let inner = self.inner.borrow();
            let period = inner.period(clock);
            (inner.now / period)
                .saturating_add(cycles.max(1))
                .saturating_mul(period)
        };
        self.wait_for(What::Until(tick)).await;
    }

    /// Waits for the next delta cycle.
    pub async fn delta(&self) {
        self.wait_for(What::Delta).await;
    }

    /// Waits for the first of `events`; returns which it was.
    pub async fn any(&self, events: &[&Event]) -> usize {
        let ids = events.iter().map(|e| e.id).collect();
        self.wait_for(What::Any(ids)).await
    }

    /// Waits until every one of `events` has been notified.
    pub async fn all(&self, events: &[&Event]) {
        let ids = events.iter().map(|e| e.id).collect();
        self.wait_for(What::All(ids)).await;
    }

    /// Takes an obligation: the run is not complete before it is discharged. Silence with an open
    /// obligation is a deadlock.
    pub fn take_obligation(&self) {
        self.inner.borrow_mut().taken += 1;
    }

    /// Discharges an obligation. When none is left the run ends after the current tick.
    pub fn discharge_obligation(&self) {
        self.inner.borrow_mut().discharged += 1;
    }

    /// Ends the run after the current tick because the model found something wrong.
    pub fn fail(&self, message: impl Into<String>) {
        let mut inner = self.inner.borrow_mut();
        inner.failure.get_or_insert(message.into());
    }

    /// Sets how many delta cycles one time may take before the run fails (10 000 unless set).
    pub fn set_delta_limit(&self, limit: u32) {
        self.inner.borrow_mut().delta_limit = limit;
    }

    pub(crate) fn wait_for(&self, what: What) -> Waiting {
        Waiting {
            world: self.clone(),
            what,
            armed: None,
        }
    }

    /// Tells the world the clock periods; at elaboration.
    pub(crate) fn set_periods(&self, periods: Vec<u64>) {
        self.inner.borrow_mut().periods = periods;
    }

    /// Name of the first process, if there is any.
    pub(crate) fn first_process(&self) -> Option<String> {
        self.inner
            .borrow()
            .processes
            .first()
            .map(|p| p.name.clone())
    }

    /// The next time at which the world has something to do.
    pub(crate) fn next_tick(&self) -> Option<Tick> {
        let inner = self.inner.borrow();
        if inner.has_work() {
            return Some(Tick(inner.now));
        }
        inner.queue.next_tick().map(Tick)
    }

    /// Lets time pass to `tick`, not after [`World::next_tick`].
    pub(crate) fn pass_time(&self, tick: Tick) {
        let mut inner = self.inner.borrow_mut();
        if tick.0 > inner.now {
            inner.now = tick.0;
            inner.queue.advance(tick.0);
        }
    }

    /// Does everything at `tick`; `ports` are those whose wait components have ended.
    pub(crate) fn run_at(&self, tick: Tick, ports: &[u32]) {
        self.pass_time(tick);
        self.inner.borrow_mut().start(ports);
        let mut deltas = 0;
        loop {
            self.evaluate();
            self.update();
            let mut inner = self.inner.borrow_mut();
            inner.notify_deltas();
            if inner.runnable.is_empty() || inner.failure.is_some() {
                return;
            }
            deltas += 1;
            if deltas > inner.delta_limit {
                inner.fail_in_circles("delta cycles");
                return;
            }
        }
    }

    /// Runs every runnable process, and those they notify immediately.
    fn evaluate(&self) {
        let mut bodies = self.bodies.borrow_mut();
        let mut runs = 0;
        loop {
            let mut inner = self.inner.borrow_mut();
            let Some(&process) = inner.runnable.get(runs) else {
                inner.runnable.clear();
                inner.current = None;
                return;
            };
            if runs as u64 >= u64::from(inner.delta_limit) * inner.processes.len() as u64 {
                inner.runnable.drain(..runs);
                inner.current = None;
                inner.fail_in_circles("immediate notifications");
                return;
            }
            runs += 1;
            inner.current = Some(process);
            inner.processes[process as usize].queued = false;
            if !inner.added.is_empty() {
                bodies.append(&mut inner.added);
            }
            drop(inner);
            let body = &mut bodies[process as usize];
            match body {
                Body::Method(method) => method(),
                Body::Sequence(sequence) => {
                    let mut context = TaskContext::from_waker(Waker::noop());
                    if sequence.as_mut().poll(&mut context).is_ready() {
                        *body = Body::Ended;
                    }
                }
                Body::Ended => {}
            }
        }
    }

    fn update(&self) {
        let updates = std::mem::take(&mut self.inner.borrow_mut().updates);
        for signal in &updates {
            signal.update();
        }
    }

    /// Obligations taken and discharged since the last call.
    pub(crate) fn obligations(&self) -> (u64, u64) {
        let mut inner = self.inner.borrow_mut();
        (
            std::mem::take(&mut inner.taken),
            std::mem::take(&mut inner.discharged),
        )
    }

    /// Every suspended process with what it waits for.
    pub(crate) fn waiting(&self) -> Vec<(String, String)> {
        let inner = self.inner.borrow();
        let mut waits: Vec<_> = inner.waits.iter().filter(|w| w.missing > 0).collect();
        waits.sort_by_key(|w| w.process);
        let name = |w: &Wait| inner.processes[w.process as usize].name.clone();
        waits
            .iter()
            .map(|w| (name(w), format!("waits for {}", inner.describe(&w.what))))
            .collect()
    }
}

impl Inner {
    fn has_work(&self) -> bool {
        !(self.runnable.is_empty()
            && self.updates.is_empty()
            && self.delta_events.is_empty()
            && self.delta_waits.is_empty())
    }

    fn period(&self, clock: ClockId) -> u64 {
        *self
            .periods
            .get(clock.0 as usize)
            .expect("cycles are known once the system is elaborated")
    }

    pub(crate) fn process_name(&self, process: u32) -> &str {
        &self.processes[process as usize].name
    }

    #[inline]
    pub(crate) fn make_runnable(&mut self, process: u32) {
        let entry = &mut self.processes[process as usize];
        if !entry.queued {
            entry.queued = true;
            self.runnable.push(process);
        }
    }

    /// Timed notifications and ended waits at ports.
    fn start(&mut self, ports: &[u32]) {
        let mut due = std::mem::take(&mut self.due);
        self.queue.take(&mut due);
        for timed in due.drain(..) {
            match timed {
                Timed::Event(event) => self.trigger(event),
                Timed::Wait(wait) => self.end_wait(wait, 0),
            }
        }
        self.due = due;
        for port in ports {
            if let Some(wait) = self.ports[*port as usize].waiting.take() {
                self.end_wait(wait, 0);
            }
        }
    }

    fn notify_deltas(&mut self) {
        for event in std::mem::take(&mut self.delta_events) {
            self.trigger(event);
        }
        for wait in std::mem::take(&mut self.delta_waits) {
            self.end_wait(wait, 0);
        }
    }

    /// Makes everybody runnable who waits for `event`.
    #[inline]
    pub(crate) fn trigger(&mut self, event: u32) {
        let state = &mut self.events[event as usize];
        state.pending = Pending::None;
        for process in &state.methods {
            let entry = &mut self.processes[*process as usize];
            // A process does not notify itself immediately.
            if !entry.queued && self.current != Some(*process) {
                entry.queued = true;
                self.runnable.push(*process);
            }
        }
        if !state.waits.is_empty() {
            for (wait, which) in std::mem::take(&mut state.waits) {
                self.end_wait(wait, which);
            }
        }
    }

    fn end_wait(&mut self, wait: u32, which: usize) {
        let entry = &mut self.waits[wait as usize];
        // Another of several events may have ended it already.
        if entry.missing > 0 {
            entry.missing -= 1;
            entry.which = which;
            if entry.missing == 0 {
                let process = entry.process;
                self.make_runnable(process);
            }
        }
    }

    fn arm(&mut self, what: &What) -> u32 {
        let process = self
            .current
            .expect("kernel objects are awaited by processes of their world only");
        let wait = self.free_waits.pop().unwrap_or_else(|| {
            self.waits.push(Wait {
                process,
                missing: 0,
                which: 0,
                what: What::Nothing,
            });
            self.waits.len() as u32 - 1
        });
        let missing = match what {
            What::All(events) => events.len() as u32,
            _ => 1,
        };
        match what {
            What::Any(events) | What::All(events) => {
                for (which, event) in events.iter().enumerate() {
                    self.events[*event as usize].waits.push((wait, which));
                }
            }
            What::Until(tick) => self.queue.push(*tick, Timed::Wait(wait)),
            What::Delta => self.delta_waits.push(wait),
            What::Port(port) => {
                let entry = &mut self.ports[*port as usize];
                entry.waiting = Some(wait);
                let instance = entry.instance;
                self.port_wakes.push(instance);
            }
            What::Nothing => {}
        }
        self.waits[wait as usize] = Wait {
            process,
            missing,
            which: 0,
            what: what.clone(),
        };
        wait
    }

    /// Forgets a wait, ended or not.
    fn disarm(&mut self, wait: u32) {
        let entry = &mut self.waits[wait as usize];
        let what = std::mem::replace(&mut entry.what, What::Nothing);
        let ended = std::mem::take(&mut entry.missing) == 0;
        match what {
            What::Any(events) | What::All(events) => {
                for event in events {
                    self.events[event as usize]
                        .waits
                        .retain(|(w, _)| *w != wait);
                }
            }
            What::Until(tick) if !ended => self.queue.remove(tick, Timed::Wait(wait)),
            What::Delta => self.delta_waits.retain(|w| *w != wait),
            What::Port(port) if !ended => self.ports[port as usize].waiting = None,
            _ => {}
        }
        self.free_waits.push(wait);
    }

    fn fail_in_circles(&mut self, how: &str) {
        const SHOWN: usize = 8;
        let mut names: Vec<_> = self
            .runnable
            .iter()
            .take(SHOWN)
            .map(|p| format!("`{}`", self.processes[*p as usize].name))
            .collect();
        if self.runnable.len() > SHOWN {
            names.push(format!("{} more", self.runnable.len() - SHOWN));
        }
        let message = format!(
            "processes run in circles at tick {}: more than {} {how} without time passing; \
             still runnable: {}",
            self.now,
            self.delta_limit,
            names.join(", ")
        );
        self.failure.get_or_insert(message);
    }

    fn describe(&self, what: &What) -> String {
        let events = |ids: &[u32], joint: &str| {
            let names: Vec<_> = ids
                .iter()
                .map(|id| format!("`{}`", self.event_names[*id as usize]))
                .collect();
            names.join(joint)
        };
        match what {
            What::Any(ids) => format!("event {}", events(ids, " or ")),
            What::All(ids) => format!("event {}", events(ids, " and ")),
            What::Until(tick) => format!("tick {tick}"),
            What::Delta | What::Nothing => "the next delta cycle".to_owned(),
            What::Port(port) => format!("port {}", self.ports[*port as usize].name),
        }
    }
}

/// A wait of the process that polls it first.
pub(crate) struct Waiting {
    world: World,
    what: What,
    armed: Option<u32>,
}

impl Future for Waiting {
    /// Which of several events it was.
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<usize> {
        let world = self.world.clone();
        let mut inner = world.inner.borrow_mut();
        let wait = if let Some(wait) = self.armed {
            wait
        } else {
            let wait = inner.arm(&self.what);
            self.armed = Some(wait);
            wait
        };
        if inner.waits[wait as usize].missing > 0 {
            return Poll::Pending;
        }
        let which = inner.waits[wait as usize].which;
        inner.disarm(wait);
        self.armed = None;
        Poll::Ready(which)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(wait) = self.armed {
            self.world.inner.borrow_mut().disarm(wait);
        }
    }
}

/// The world as its system holds it. Processes hold handles of the world that holds them; the end
/// of the system unties that knot.
pub(crate) struct OwnedWorld(pub(crate) World);

impl Drop for OwnedWorld {
    fn drop(&mut self) {
        let mut inner = self.0.inner.borrow_mut();
        let added = std::mem::take(&mut inner.added);
        let bodies = self.0.bodies.take();
        let updates = std::mem::take(&mut inner.updates);
        // What they give back when they go must find the world free.
        drop(inner);
        drop((added, bodies, updates));
    }
}
