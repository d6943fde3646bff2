//! Events: what processes notify and wait for.

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

pub(crate) struct EventState {
    /// The tick of the pending notification, [`DELTA`] or [`NONE`].
    pub(crate) pending: u64,
    /// Methods with this event in their sensitivity.
    pub(crate) methods: Vec<u32>,
    /// Armed waits, and which of its events this one is to each.
    pub(crate) waits: Vec<(u32, usize)>,
}

impl Event {
    pub(crate) fn new(core: &Rc<Core>, name: String) -> Self {
        let mut agenda = core.agenda.borrow_mut();
        agenda.events.push(EventState {
            pending: NONE,
            methods: Vec::new(),
            waits: Vec::new(),
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
        agenda.trigger(self.id);
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
        if ticks == 0 {
            return agenda.notify_delta(self.id);
        }
        let tick = agenda.now.saturating_add(ticks);
        agenda.notify_at(self.id, tick);
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
    pub async fn wait(&self) {
        Waiting::new(&self.core, Plan::any(&[self])).await;
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

    /// Notifies `event` at `tick`, which is to come.
    #[inline]
    fn notify_at(&mut self, event: u32, tick: u64) {
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
