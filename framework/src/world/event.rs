//! Events that processes notify and wait for.

use std::future::Future;
use std::rc::Rc;

use crate::time::Tick;
use crate::world::Core;
use crate::world::event_queue::Placed;
use crate::world::state::WorldState;
use crate::world::wait::{Awaited, WaitKey, Waiting};

/// An event without a value. Clones refer to the same event.
///
/// An event has at most one pending notification. An immediate notification takes effect now and
/// cancels a pending one; of the others the earlier is kept (IEEE 1666-2011, 5.10.8).
#[derive(Clone)]
pub struct Event {
    core: Rc<Core>,
    pub(crate) id: u32,
}

/// Value of [`EventState::pending`] without a notification: later than all others.
pub(crate) const NONE: u64 = u64::MAX;
/// Value of [`EventState::pending`] for the next delta cycle: earlier than all others.
const DELTA: u64 = 0;

/// State of an event. It is small and holds everything that a timed notification accesses, because
/// events are accessed in random order. The deadline of a wait has such an entry too.
pub(crate) struct EventState {
    /// Tick of the pending notification, [`DELTA`] or [`NONE`].
    pub(crate) pending: u64,
    pub(crate) listener: Listener,
    /// Position of the event in the queue.
    place: u32,
}

/// Listeners of an event in compact form. Most events have one listener, found without indirection.
#[derive(Clone, Copy)]
pub(crate) struct Listener(u32);

/// Listeners of an event, in decoded form.
pub(crate) enum Subscriber {
    Nobody,
    /// One method with this event in its sensitivity.
    Method(u32),
    /// The listeners at this index of [`WorldState::listeners`].
    Many(u32),
    /// The wait at this index, whose deadline this is.
    Wait(u32),
}

impl Listener {
    const NOBODY: Self = Self(u32::MAX);
    /// Bits that encode the kind of listener.
    const KIND: u32 = 0b11 << 30;
    const MANY: u32 = 0b01 << 30;
    const WAIT: u32 = 0b10 << 30;

    pub(crate) fn new(who: &Subscriber) -> Self {
        let (kind, at) = match *who {
            Subscriber::Nobody => return Self::NOBODY,
            Subscriber::Method(at) => (0, at),
            Subscriber::Many(at) => (Self::MANY, at),
            Subscriber::Wait(at) => (Self::WAIT, at),
        };
        assert!(
            at & Self::KIND == 0,
            "at most 2^30 processes, waits and events"
        );
        Self(kind | at)
    }

    /// Returns the method, if it is the only listener.
    #[inline(always)]
    pub(crate) fn method(self) -> Option<u32> {
        (self.0 & Self::KIND == 0).then_some(self.0)
    }

    pub(crate) fn who(self) -> Subscriber {
        let at = self.0 & !Self::KIND;
        match self.0 & Self::KIND {
            0 => Subscriber::Method(at),
            Self::MANY => Subscriber::Many(at),
            Self::WAIT => Subscriber::Wait(at),
            _ => Subscriber::Nobody,
        }
    }
}

impl Placed for EventState {
    #[inline(always)]
    fn place(&self) -> u32 {
        self.place
    }

    #[inline(always)]
    fn place_mut(&mut self) -> &mut u32 {
        &mut self.place
    }
}

/// Listeners of an event that has other listeners than a single method.
pub(crate) struct Listeners {
    pub(crate) methods: Vec<u32>,
    /// Armed waits, with the index of this event among the events of each.
    pub(crate) waits: Vec<(WaitKey, usize)>,
}

impl Event {
    pub(crate) fn new(core: &Rc<Core>, name: String) -> Self {
        let id = core
            .world
            .borrow_mut()
            .add_event(&name, &Subscriber::Nobody);
        Self::from_id(core, id)
    }

    pub(crate) fn from_id(core: &Rc<Core>, id: u32) -> Self {
        Self {
            core: Rc::clone(core),
            id,
        }
    }

    /// Notifies in the current evaluation phase: waiting processes become runnable at once.
    pub fn notify(&self) {
        let mut state = self.core.world.borrow_mut();
        state.cancel(self.id);
        state.notify_now(self.id);
    }

    /// Notifies in the next delta cycle, unless such a notification is already pending.
    pub fn notify_delta(&self) {
        self.core.world.borrow_mut().notify_delta(self.id);
    }

    /// Notifies `ticks` from now (0 means in the next delta cycle), unless an earlier notification
    /// is pending.
    #[inline(always)]
    pub fn notify_after(&self, ticks: u64) {
        let done = (self.core.world.borrow_mut()).notify_soon(self.id, ticks);
        if !done {
            self.notify_in_any_case(ticks);
        }
    }

    #[inline(never)]
    fn notify_in_any_case(&self, ticks: u64) {
        (self.core.world.borrow_mut()).notify_after(self.id, ticks);
    }

    /// Notifies at `tick` in the same way as [`Event::notify_after`]; a time in the past means the
    /// next delta cycle.
    pub fn notify_at(&self, tick: Tick) {
        let now = self.core.world.borrow().now;
        self.notify_after(tick.0.saturating_sub(now));
    }

    /// Cancels the pending notification, if there is one.
    pub fn cancel(&self) {
        self.core.world.borrow_mut().cancel(self.id);
    }

    /// Waits for the next notification of the event.
    pub fn wait(&self) -> impl Future<Output = ()> + use<> {
        let waiting = Waiting::new(&self.core, Awaited::any(&[self]));
        async move {
            waiting.await;
        }
    }
}

impl WorldState {
    /// Adds an event, or the deadline of a wait.
    pub(crate) fn add_event(&mut self, name: &str, who: &Subscriber) -> u32 {
        self.events.list.push(EventState {
            pending: NONE,
            listener: Listener::new(who),
            place: 0,
        });
        self.events.names.push(name);
        self.events.list.len() as u32 - 1
    }

    /// Adds `process` to the methods with `event` in their sensitivity.
    pub(crate) fn add_method(&mut self, event: u32, process: u32) {
        let listener = &mut self.events.list[event as usize].listener;
        if let Subscriber::Nobody = listener.who() {
            *listener = Listener::new(&Subscriber::Method(process));
        } else {
            self.listeners(event).methods.push(process);
        }
    }

    /// Returns the listeners of `event` as a list.
    pub(crate) fn listeners(&mut self, event: u32) -> &mut Listeners {
        let listener = &mut self.events.list[event as usize].listener;
        let methods = match listener.who() {
            Subscriber::Nobody => Vec::new(),
            Subscriber::Method(method) => vec![method],
            Subscriber::Many(at) => return &mut self.events.listeners[at as usize],
            Subscriber::Wait(_) => unreachable!("a deadline does not subscribe to an event"),
        };
        *listener = Listener::new(&Subscriber::Many(self.events.listeners.len() as u32));
        self.events.listeners.push(Listeners {
            methods,
            waits: Vec::new(),
        });
        self.events.listeners.last_mut().expect("it was just added")
    }

    pub(crate) fn notify_delta(&mut self, event: u32) {
        if self.events.list[event as usize].pending != DELTA {
            self.cancel(event);
            self.events.list[event as usize].pending = DELTA;
            self.events.delta.push(event);
        }
    }

    /// Fast path of [`WorldState::notify_after`] for the common case. Returns true if it applied.
    #[inline(always)]
    fn notify_soon(&mut self, event: u32, ticks: u64) -> bool {
        let state = &mut self.events.list[event as usize];
        let done = state.pending == NONE && self.events.queue.push_soon(state, ticks, event);
        if done {
            state.pending = self.now + ticks;
        }
        done
    }

    fn notify_after(&mut self, event: u32, ticks: u64) {
        if ticks == 0 {
            return self.notify_delta(event);
        }
        let tick = self.now.saturating_add(ticks);
        let pending = &mut self.events.list[event as usize].pending;
        if *pending <= tick {
            // The earlier one stays; it is now wanted by this process too.
            if *pending != DELTA && !self.is_in_background() {
                self.events.queue.bring_to_foreground(event);
            }
            return;
        }
        let superseded = std::mem::replace(pending, tick);
        if superseded != NONE {
            self.events
                .queue
                .remove(&mut self.events.list, superseded, event);
        }
        self.schedule(tick, event);
    }

    fn cancel(&mut self, event: u32) {
        match std::mem::replace(&mut self.events.list[event as usize].pending, NONE) {
            NONE => {}
            DELTA => self.events.delta.retain(|e| *e != event),
            tick => self.events.queue.remove(&mut self.events.list, tick, event),
        }
    }
}
