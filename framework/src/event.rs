//! Events: what processes notify and wait for.

use std::future::Future;
use std::rc::Rc;

use crate::event_queue::{Link, Linked};
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

/// [`EventState::others`] of the deadline of a wait.
pub(crate) const OF_WAIT: u32 = u32::MAX - 1;

/// What the agenda knows of an event: all that a timed notification touches, side by side. Most
/// events have one listener, found without a detour. The deadline of a wait has such an entry too.
pub(crate) struct EventState {
    /// The neighbours in the list of its tick.
    link: Link,
    /// The tick of the pending notification, [`DELTA`] or [`NONE`].
    pub(crate) pending: u64,
    /// The first method with this event in its sensitivity, or [`NOBODY`]; of a deadline its wait.
    pub(crate) method: u32,
    /// Which of [`Agenda::listeners`] are all others who listen, [`NOBODY`], or [`OF_WAIT`].
    pub(crate) others: u32,
}

impl Linked for EventState {
    #[inline(always)]
    fn link(&self) -> &Link {
        &self.link
    }

    #[inline(always)]
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Who listens to an event besides its first method.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) methods: Vec<u32>,
    /// Armed waits, and which of its events this one is to each.
    pub(crate) waits: Vec<(u32, usize)>,
}

impl Event {
    pub(crate) fn new(core: &Rc<Core>, name: String) -> Self {
        let id = core.agenda.borrow_mut().add_event(&name, NOBODY, NOBODY);
        Self::from_id(core, id)
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
    #[inline(always)]
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
    /// Adds an event, or the deadline of a wait.
    pub(crate) fn add_event(&mut self, name: &str, method: u32, others: u32) -> u32 {
        self.events.push(EventState {
            link: Link::LOOSE,
            pending: NONE,
            method,
            others,
        });
        self.event_names.push(name);
        self.events.len() as u32 - 1
    }

    /// Adds `process` to the methods with `event` in their sensitivity.
    pub(crate) fn add_method(&mut self, event: u32, process: u32) {
        let state = &mut self.events[event as usize];
        if state.method == NOBODY {
            state.method = process;
        } else {
            self.listeners(event).methods.push(process);
        }
    }

    /// Who listens to `event` besides its first method.
    pub(crate) fn listeners(&mut self, event: u32) -> &mut Listeners {
        let others = &mut self.events[event as usize].others;
        if *others == NOBODY {
            *others = self.listeners.len() as u32;
            self.listeners.push(Listeners::default());
        }
        &mut self.listeners[*others as usize]
    }

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
        let done = simple && self.queue.push_soon(&mut self.events, ticks, event);
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
                self.queue.bring_to_foreground(event);
            }
            return;
        }
        let superseded = std::mem::replace(pending, tick);
        if superseded != NONE {
            self.queue.remove(&mut self.events, superseded, event);
        }
        self.schedule(tick, event);
    }

    fn cancel(&mut self, event: u32) {
        match std::mem::replace(&mut self.events[event as usize].pending, NONE) {
            NONE => {}
            DELTA => self.delta_events.retain(|e| *e != event),
            tick => self.queue.remove(&mut self.events, tick, event),
        }
    }
}
