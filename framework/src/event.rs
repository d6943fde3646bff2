//! Events: what processes notify and wait for.

use crate::time::Tick;
use crate::world::{Timed, World};

/// Something that happens, without a value. Clones mean the same event.
///
/// An event has at most one pending notification: an immediate one happens now and cancels what
/// was pending; of the others the earlier stays (IEEE 1666-2011, 5.10.8).
#[derive(Clone)]
pub struct Event {
    pub(crate) world: World,
    pub(crate) id: u32,
}

#[derive(Default)]
pub(crate) struct EventState {
    pub(crate) pending: Pending,
    /// Methods with this event in their sensitivity.
    pub(crate) methods: Vec<u32>,
    /// Suspended waits, and which of its events this one is to each.
    pub(crate) waits: Vec<(u32, usize)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pending {
    #[default]
    None,
    Delta,
    At(u64),
}

impl Event {
    /// Notifies in the current evaluation: those who wait become runnable at once.
    pub fn notify(&self) {
        self.cancel();
        self.world.inner.borrow_mut().trigger(self.id);
    }

    /// Notifies in the next delta cycle, unless that is pending already.
    pub fn notify_delta(&self) {
        let mut inner = self.world.inner.borrow_mut();
        match inner.events[self.id as usize].pending {
            Pending::Delta => return,
            Pending::At(tick) => inner.queue.remove(tick, Timed::Event(self.id)),
            Pending::None => {}
        }
        inner.events[self.id as usize].pending = Pending::Delta;
        inner.delta_events.push(self.id);
    }

    /// Notifies `ticks` from now (0 means in the next delta cycle), unless an earlier notification
    /// is pending.
    #[inline]
    pub fn notify_after(&self, ticks: u64) {
        if ticks == 0 {
            return self.notify_delta();
        }
        let mut inner = self.world.inner.borrow_mut();
        let tick = inner.now.saturating_add(ticks);
        match inner.events[self.id as usize].pending {
            Pending::Delta => return,
            Pending::At(pending) if pending <= tick => return,
            Pending::At(pending) => inner.queue.remove(pending, Timed::Event(self.id)),
            Pending::None => {}
        }
        inner.events[self.id as usize].pending = Pending::At(tick);
        inner.queue.push(tick, Timed::Event(self.id));
    }

    /// Notifies at `tick`, as [`Event::notify_after`]; a time that has passed means the next delta
    /// cycle.
    pub fn notify_at(&self, tick: Tick) {
        let now = self.world.now();
        self.notify_after(tick.0.saturating_sub(now.0));
    }

    /// Cancels the pending notification, if there is one.
    pub fn cancel(&self) {
        let mut inner = self.world.inner.borrow_mut();
        match std::mem::take(&mut inner.events[self.id as usize].pending) {
            Pending::None => {}
            Pending::Delta => inner.delta_events.retain(|e| *e != self.id),
            Pending::At(tick) => inner.queue.remove(tick, Timed::Event(self.id)),
        }
    }

    /// Waits for the next notification.
    pub async fn wait(&self) {
        self.world.any(&[self]).await;
    }
}
