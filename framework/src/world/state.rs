//! State of an event world: waits, runnable processes and events.

use std::rc::Rc;

use prefetch_index::prefetch_index;
use slotmap::Key;

use super::names::Names;
use super::process::{Body, Entry, Processes, Readiness};
use super::wait::{Awaited, Deadline, NEVER, Wait, WaitKey, WaitTarget, Waits};
use crate::time::{ClockId, TICK_MAX};
use crate::world::event::{EventState, Listeners, NONE, Subscriber};
use crate::world::event_queue::EventQueue;
use crate::world::report::Reports;
use crate::world::wave::Waves;

/// Delta cycles at one time after which processes are assumed to be in an endless loop.
const DELTA_LIMIT: u32 = 10_000;

/// Number of items below which prefetching is not worthwhile.
pub(super) const FEW: usize = 4;

/// A channel of the event world that adopts its new state in the update phase.
///
/// Writers change the next state and call [`crate::World::request_update`]; readers see it from the
/// next delta cycle on.
pub trait Update {
    /// Adopts the new state, and notifies the events that depend on it.
    fn update(&self);
}

/// Events with their listeners, and the queue of timed notifications.
pub(crate) struct Events {
    pub(crate) queue: EventQueue,
    pub(crate) list: Vec<EventState>,
    pub(crate) names: Names,
    /// Listener lists of events with more than one listener.
    pub(crate) listeners: Vec<Listeners>,
    /// Events notified for the next delta cycle.
    pub(crate) delta: Vec<u32>,
}

/// Ports of all processes, and those at which processes wait.
#[derive(Default)]
pub(crate) struct Ports {
    pub(crate) entries: Vec<PortEntry>,
    /// Instances of ports at which processes have just begun to wait.
    pub(crate) wakes: Vec<u32>,
}

/// Limits at which processes are assumed to be in an endless loop.
pub(super) struct LoopLimits {
    pub(super) deltas: u32,
    /// Maximum number of process runs in one evaluation phase.
    pub(super) runs: usize,
}

/// Empty lists that keep their memory for the next delta cycle.
#[derive(Default)]
pub(super) struct SpareLists {
    ids: Vec<u32>,
    delta_waits: Vec<WaitKey>,
    waits: Vec<(WaitKey, usize)>,
    pub(super) updates: Vec<Rc<dyn Update>>,
}

pub(crate) struct WorldState {
    pub(crate) now: u64,
    pub(crate) events: Events,
    pub(crate) processes: Processes,
    waits: Waits,
    pub(crate) ports: Ports,
    pub(crate) updates: Vec<Rc<dyn Update>>,
    pub(super) periods: Vec<u64>,
    pub(super) limits: LoopLimits,
    pub(super) taken: u64,
    pub(super) discharged: u64,
    pub(crate) failure: Option<String>,
    pub(crate) stopped: bool,
    pub(crate) waves: Waves,
    pub(crate) reports: Reports,
    pub(super) spare: SpareLists,
}

/// A port of a process: its instance, and the process's current wait at it.
pub(crate) struct PortEntry {
    pub(crate) name: String,
    pub(crate) instance: u32,
    pub(crate) waiting: Option<WaitKey>,
}

/// Value of [`Wait::which`] for a wait that ended by its deadline.
const DEADLINE: usize = usize::MAX;

impl WorldState {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            events: Events {
                queue: EventQueue::new(),
                list: Vec::new(),
                names: Names::default(),
                listeners: Vec::new(),
                delta: Vec::new(),
            },
            processes: Processes::default(),
            waits: Waits::default(),
            ports: Ports::default(),
            updates: Vec::new(),
            periods: Vec::new(),
            limits: LoopLimits {
                deltas: DELTA_LIMIT,
                runs: 0,
            },
            taken: 0,
            discharged: 0,
            failure: None,
            stopped: false,
            waves: Waves::default(),
            reports: Reports::default(),
            spare: SpareLists::default(),
        }
    }

    pub(super) fn set_run_limit(&mut self) {
        self.limits.runs = self.limits.deltas as usize * self.processes.entries.len();
    }

    pub(super) fn has_work(&self) -> bool {
        !(self.processes.runnable.is_empty()
            && self.updates.is_empty()
            && self.events.delta.is_empty()
            && self.waits.delta.is_empty()
            && self.processes.killed.is_empty())
    }

    pub(super) fn period(&self, clock: ClockId) -> u64 {
        *self
            .periods
            .get(clock.0 as usize)
            .expect("periods are known once the system is elaborated")
    }

    pub(super) fn add_process(&mut self, name: &str, entry: Entry, body: Body) -> u32 {
        if entry.background {
            self.events.queue.expect_background();
        }
        self.processes.entries.push(entry);
        self.processes.readiness.push(Readiness::Waiting);
        self.processes.names.push(name);
        self.processes.added.push(body);
        self.processes.chores = true;
        self.processes.entries.len() as u32 - 1
    }

    pub(crate) fn process_name(&self, process: u32) -> &str {
        self.processes.names.get(process)
    }

    #[inline]
    pub(super) fn make_runnable(&mut self, process: u32) {
        let readiness = &mut self.processes.readiness[process as usize];
        if matches!(readiness, Readiness::Waiting | Readiness::Triggered) {
            *readiness = Readiness::Queued;
            self.processes.runnable.push(process);
        }
    }

    /// Queues `item` for `tick`, in the background if the current process is.
    #[inline]
    pub(crate) fn schedule(&mut self, tick: u64, item: u32) {
        self.events.queue.push(&mut self.events.list, tick, item);
        if self.events.queue.expects_background() && self.is_in_background() && tick <= TICK_MAX {
            self.events.queue.put_in_background(item);
        }
    }

    /// True if the current process does not keep a run alive.
    #[inline]
    pub(crate) fn is_in_background(&self) -> bool {
        self.processes
            .current
            .is_some_and(|process| self.processes.entries[process as usize].background)
    }

    /// Performs timed notifications and ends the waits at ports.
    ///
    /// Events that are due are scattered in memory: if there are many, they are prefetched
    /// together.
    #[inline(never)]
    pub(super) fn start(&mut self, ports: &[u32]) {
        let mut due = self.events.queue.take_due(self.now);
        while self.events.queue.next_due(&mut due) {
            if due.count() > FEW {
                for event in due.items() {
                    prefetch_index(&self.events.list[..], event as usize);
                }
            }
            for event in due.items() {
                self.trigger(event);
            }
        }
        for port in ports {
            if let Some(wait) = self.ports.entries[*port as usize].waiting.take() {
                self.end_wait(wait, 0);
            }
        }
    }

    pub(super) fn notify_deltas(&mut self) {
        let mut due = std::mem::take(&mut self.spare.ids);
        std::mem::swap(&mut due, &mut self.events.delta);
        for event in due.drain(..) {
            self.trigger(event);
        }
        self.spare.ids = due;
        if !self.waits.delta.is_empty() {
            let mut due = std::mem::take(&mut self.spare.delta_waits);
            std::mem::swap(&mut due, &mut self.waits.delta);
            for wait in due.drain(..) {
                self.end_wait(wait, 0);
            }
            self.spare.delta_waits = due;
        }
    }

    /// Makes every process waiting for `event` runnable. The current process must not be among
    /// them.
    #[inline(always)]
    pub(super) fn trigger(&mut self, event: u32) {
        let state = &mut self.events.list[event as usize];
        state.pending = NONE;
        let listener = state.listener;
        match listener.method() {
            Some(method) => self.run_sensitive(method),
            None => self.trigger_all(&listener.who()),
        }
    }

    /// Triggers like [`WorldState::trigger`], on behalf of the current process, which does not
    /// notify itself.
    pub(crate) fn notify_now(&mut self, event: u32) {
        let current = self
            .processes
            .current
            .map(|p| (p, self.processes.readiness[p as usize]));
        if let Some((process, _)) = current {
            self.processes.readiness[process as usize] = Readiness::Running;
        }
        self.trigger(event);
        if let Some((process, readiness)) = current {
            self.processes.readiness[process as usize] = readiness;
            let waits_no_more = self.processes.entries[process as usize]
                .next_trigger
                .is_none();
            if readiness == Readiness::Triggered && waits_no_more {
                // It has set off its own next trigger.
                self.make_runnable(process);
            }
        }
    }

    #[inline(always)]
    fn run_sensitive(&mut self, method: u32) {
        let readiness = &mut self.processes.readiness[method as usize];
        if *readiness == Readiness::Waiting {
            *readiness = Readiness::Queued;
            self.processes.runnable.push(method);
        }
    }

    #[inline(never)]
    fn trigger_all(&mut self, who: &Subscriber) {
        let others = match *who {
            Subscriber::Nobody => return,
            Subscriber::Method(method) => return self.run_sensitive(method),
            Subscriber::Many(others) => others,
            Subscriber::Wait(slot) => {
                let wait = self.waits.deadlines[slot as usize].wait;
                return self.end_wait(wait, DEADLINE);
            }
        };
        for i in 0..self.events.listeners[others as usize].methods.len() {
            let method = self.events.listeners[others as usize].methods[i];
            self.run_sensitive(method);
        }
        // No wait is armed during the loop, but one that ends here may search for its other
        // entries.
        let mut due = std::mem::take(&mut self.spare.waits);
        std::mem::swap(&mut due, &mut self.events.listeners[others as usize].waits);
        for (wait, which) in due.drain(..) {
            self.end_wait(wait, which);
        }
        self.spare.waits = due;
    }

    #[inline(never)]
    fn end_wait(&mut self, wait: WaitKey, which: usize) {
        // Another of several events may have ended it already.
        let Some(entry) = self.waits.list.get_mut(wait).filter(|w| w.missing > 0) else {
            return;
        };
        let timed_out = which == DEADLINE;
        entry.missing = if timed_out { 0 } else { entry.missing - 1 };
        entry.which = which;
        if entry.missing > 0 {
            return;
        }
        let (process, of_method, slot) = (entry.process, entry.of_method, entry.slot);
        if entry.deadline != NEVER {
            let deadline = std::mem::replace(&mut entry.deadline, NEVER);
            // One that is due now has left the queue, and finds this wait over.
            if deadline > self.now {
                let event = self.waits.deadlines[slot as usize].event;
                self.events
                    .queue
                    .remove(&mut self.events.list, deadline, event);
            }
        }
        if of_method {
            self.processes.entries[process as usize].next_trigger = None;
            self.disarm(wait);
        }
        self.make_runnable(process);
    }

    /// Arms a wait of the current process.
    pub(super) fn arm_current(&mut self, awaited: Awaited) -> WaitKey {
        let process = self
            .processes
            .current
            .expect("only processes of the same world wait for kernel objects");
        self.arm(process, awaited, false)
    }

    fn arm(&mut self, process: u32, awaited: Awaited, of_method: bool) -> WaitKey {
        let Awaited { what, deadline } = awaited;
        let slot = self.take_deadline();
        let wait = self.waits.list.insert(Wait {
            process,
            missing: what.count(),
            which: 0,
            of_method,
            what: WaitTarget::Time,
            deadline,
            slot,
        });
        for (which, event) in what.events().iter().enumerate() {
            self.listeners(*event).waits.push((wait, which));
        }
        match what {
            WaitTarget::Delta => self.waits.delta.push(wait),
            WaitTarget::Port(port) => {
                let entry = &mut self.ports.entries[port as usize];
                entry.waiting = Some(wait);
                let instance = entry.instance;
                self.ports.wakes.push(instance);
            }
            _ => {}
        }
        self.waits.list[wait].what = what;
        let entry = &mut self.waits.deadlines[slot as usize];
        entry.wait = wait;
        if deadline != NEVER {
            let event = entry.event;
            self.schedule(deadline, event);
        }
        wait
    }

    /// Returns the index of a deadline without a wait.
    fn take_deadline(&mut self) -> u32 {
        self.waits.spare.pop().unwrap_or_else(|| {
            let slot = self.waits.deadlines.len() as u32;
            let event = self.add_event("", &Subscriber::Wait(slot));
            let wait = WaitKey::null();
            self.waits.deadlines.push(Deadline { event, wait });
            slot
        })
    }

    /// Returns the index of the event that ended `wait`, if it has ended.
    pub(super) fn ended_with(&self, wait: WaitKey) -> Option<usize> {
        let entry = &self.waits.list[wait];
        (entry.missing == 0).then_some(entry.which)
    }

    /// Removes a wait, ended or not.
    pub(super) fn disarm(&mut self, wait: WaitKey) {
        let entry = self.waits.list.remove(wait);
        let entry = entry.expect("a wait is removed only once");
        let ended = entry.missing == 0;
        self.waits.spare.push(entry.slot);
        if entry.deadline != NEVER {
            let event = self.waits.deadlines[entry.slot as usize].event;
            self.events
                .queue
                .remove(&mut self.events.list, entry.deadline, event);
        }
        match &entry.what {
            // What has come took itself off.
            WaitTarget::One(_) | WaitTarget::All(_) | WaitTarget::Port(_) | WaitTarget::Delta
                if ended => {}
            WaitTarget::One(_) | WaitTarget::Any(_) | WaitTarget::All(_) => {
                for event in entry.what.events() {
                    let waits = &mut self.listeners(*event).waits;
                    waits.retain(|(w, _)| *w != wait);
                }
            }
            WaitTarget::Delta => self.waits.delta.retain(|w| *w != wait),
            WaitTarget::Port(port) => self.ports.entries[*port as usize].waiting = None,
            WaitTarget::Time => {}
        }
    }

    pub(super) fn set_next_trigger(&mut self, awaited: Awaited) {
        let Some(process) = self
            .processes
            .current
            .filter(|p| self.processes.entries[*p as usize].is_method)
        else {
            let who = self
                .processes
                .current
                .map_or("code outside of processes", |p| self.processes.names.get(p));
            let message = format!("`{who}` sets a next trigger, but only methods have one");
            self.failure.get_or_insert(message);
            return;
        };
        if let Some(before) = self.processes.entries[process as usize].next_trigger.take() {
            self.disarm(before);
        }
        let wait = self.arm(process, awaited, true);
        self.processes.entries[process as usize].next_trigger = Some(wait);
        self.processes.readiness[process as usize] = Readiness::Triggered;
    }

    pub(super) fn kill(&mut self, process: u32) {
        if self.processes.readiness[process as usize] != Readiness::Ended {
            self.end_process(process);
            self.processes.killed.push(process);
            self.processes.chores = true;
        }
    }

    /// Marks `process` as ended, so that it never runs again.
    pub(super) fn end_process(&mut self, process: u32) {
        self.processes.readiness[process as usize] = Readiness::Ended;
        let entry = &mut self.processes.entries[process as usize];
        let (ended, trigger) = (entry.ended, entry.next_trigger.take());
        if let Some(wait) = trigger {
            self.disarm(wait);
        }
        if let Some(event) = ended {
            self.notify_delta(event);
        }
    }

    pub(super) fn fail_in_circles(&mut self, how: &str) {
        const SHOWN: usize = 8;
        let mut names: Vec<_> = self
            .processes
            .runnable
            .iter()
            .take(SHOWN)
            .map(|p| format!("`{}`", self.process_name(*p)))
            .collect();
        if self.processes.runnable.len() > SHOWN {
            names.push(format!("{} more", self.processes.runnable.len() - SHOWN));
        }
        let message = format!(
            "processes loop without advancing time at tick {}: more than {} {how}; still runnable: {}",
            self.now,
            self.limits.deltas,
            names.join(", ")
        );
        self.failure.get_or_insert(message);
    }

    /// Returns every suspended process with its wait condition.
    pub(super) fn waiting(&self) -> Vec<(String, String)> {
        let mut waits: Vec<_> = self.waits.list.values().filter(|w| w.missing > 0).collect();
        waits.sort_by_key(|w| w.process);
        waits
            .iter()
            .map(|w| {
                let name = self.process_name(w.process).to_owned();
                (name, format!("waits for {}", self.describe(w)))
            })
            .collect()
    }

    fn describe(&self, wait: &Wait) -> String {
        let events = |ids: &[u32], joint: &str| {
            let names: Vec<_> = ids
                .iter()
                .map(|id| format!("`{}`", self.events.names.get(*id)))
                .collect();
            names.join(joint)
        };
        let what = match &wait.what {
            WaitTarget::One(_) | WaitTarget::Any(_) => {
                format!("event {}", events(wait.what.events(), " or "))
            }
            WaitTarget::All(ids) => format!("event {}", events(ids, " and ")),
            WaitTarget::Time => return format!("tick {}", wait.deadline),
            WaitTarget::Delta => "the next delta cycle".to_owned(),
            WaitTarget::Port(port) => format!("port {}", self.ports.entries[*port as usize].name),
        };
        match wait.deadline {
            NEVER => what,
            tick => format!("{what}, or tick {tick}"),
        }
    }
}
