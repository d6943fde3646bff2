//! Events: what processes notify and wait for.

use std::future::Future;
use std::rc::Rc;

use crate::event_queue::Timed;
use crate::time::Tick;
use crate::world::{Agenda, Core, Plan, Waiting};

/// Something that happens, without a value. Clones mean the same event.
///
/// An event has at most one pending notification: an immediate one happens now and cancels what
/// was pending; of the others the earlier stays (IEEE 1666-2011, 5.10.8).
#[derive(Clone)]
pub struct Event {
    core: Rc<Core>,
    pub(crate) id: u32,
}

/// [`EventState::pending`] without a notification: later than all others.
pub(crate) const NONE: u64 = u64::MAX;
/// [`EventState::pending`] with one for the next delta cycle: earlier than all others.
const DELTA: u64 = 0;

/// No process.
pub(crate) const NOBODY: u32 = u32::MAX;

/// What the agenda knows of an event. Most have one listener, found without a detour.
pub(crate) struct EventState {
    /// The tick of the pending notification, [`DELTA`] or [`NONE`].
    pub(crate) pending: u64,
    /// The first method with this event in its sensitivity, or [`NOBODY`].
    pub(crate) method: u32,
    /// All others who listen, once there are any.
    pub(crate) others: Option<Box<Listeners>>,
}

/// Who listens to an event besides its first method.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) methods: Vec<u32>,
    /// Armed waits, and which of its events this one is to each.
    pub(crate) waits: Vec<(u32, usize)>,
}

impl EventState {
    pub(crate) fn add_method(&mut self, process: u32) {
        if self.method == NOBODY {
            self.method = process;
        } else {
            self.listeners().methods.push(process);
        }
    }

    pub(crate) fn listeners(&mut self) -> &mut Listeners {
        self.others.get_or_insert_default()
    }
}

impl Event {
    pub(crate) fn new(core: &Rc<Core>, name: String) -> Self {
        let mut agenda = core.agenda.borrow_mut();
        agenda.events.push(EventState {
            pending: NONE,
            method: NOBODY,
            others: None,
        });
        agenda.event_names.push(name);
        Self::from_id(core, agenda.events.len() as u32 - 1)
    }

    pub(crate) fn from_id(core: &Rc<Core>, id: u32) -> Self {
        Self {
            core: Rc::clone(core),
            id,
        }
    }

    /// Notifies in the current evaluation: those who wait become runnable at once.
    pub fn notify(&self) {
        let mut agenda = self.core.agenda.borrow_mut();
        agenda.cancel(self.id);
        agenda.notify_now(self.id);
    }

    /// Notifies in the next delta cycle, unless that is pending already.
    pub fn notify_delta(&self) {
        self.core.agenda.borrow_mut().notify_delta(self.id);
    }

    /// Notifies `ticks` from now (0 means in the next delta cycle), unless an earlier notification
    /// is pending.
    #[inline]
    pub fn notify_after(&self, ticks: u64) {
        let mut agenda = self.core.agenda.borrow_mut();
        if !agenda.notify_soon(self.id, ticks) {
            agenda.notify_after(self.id, ticks);
        }
    }

    /// Notifies at `tick`, as [`Event::notify_after`]; a time that has passed means the next delta
    /// cycle.
    pub fn notify_at(&self, tick: Tick) {
        let now = self.core.agenda.borrow().now;
        self.notify_after(tick.0.saturating_sub(now));
    }

    /// Cancels the pending notification, if there is one.
    pub fn cancel(&self) {
        self.core.agenda.borrow_mut().cancel(self.id);
    }

    /// Waits for the next notification.
    pub fn wait(&self) -> impl Future<Output = ()> + use<> {
        let waiting = Waiting::new(&self.core, Plan::any(&[self]));
        async move {
            waiting.await;
        }
    }
}

impl Agenda {
    pub(crate) fn notify_delta(&mut self, event: u32) {
        if self.events[event as usize].pending != DELTA {
            self.cancel(event);
            self.events[event as usize].pending = DELTA;
            self.delta_events.push(event);
        }
    }

    /// Does what [`Agenda::notify_after`] does in the common case that takes but a few steps. Says
    /// whether it did.
    #[inline(always)]
    fn notify_soon(&mut self, event: u32, ticks: u64) -> bool {
        let pending = self.events[event as usize].pending;
        let simple = pending == NONE && ticks != 0 && !self.any_background;
        let done = simple && self.queue.push_soon(ticks, Timed::event(event));
        if done {
            self.events[event as usize].pending = self.now + ticks;
        }
        done
    }

    #[inline(never)]
    fn notify_after(&mut self, event: u32, ticks: u64) {
        if ticks == 0 {
            return self.notify_delta(event);
        }
        let tick = self.now.saturating_add(ticks);
        let pending = &mut self.events[event as usize].pending;
        if *pending <= tick {
            // The earlier one stays; it is now wanted by this process too.
            if *pending != DELTA && !self.is_in_background() {
                self.queue.bring_to_foreground(Timed::event(event));
            }
            return;
        }
        let superseded = std::mem::replace(pending, tick);
        if superseded != NONE {
            self.queue.remove(superseded, Timed::event(event));
        }
        self.schedule(tick, Timed::event(event));
    }

    fn cancel(&mut self, event: u32) {
        match std::mem::replace(&mut self.events[event as usize].pending, NONE) {
            NONE => {}
            DELTA => self.delta_events.retain(|e| *e != event),
            tick => self.queue.remove(tick, Timed::event(event)),
        }
    }
}
