//! Notification queues, whose notifications do not supersede one another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::time::Tick;
use crate::world::World;
use crate::world::event::Event;

/// Keeps all notifications, whereas an [`Event`] keeps only the earliest (SystemC's
/// `sc_event_queue`). Clones refer to the same queue.
#[derive(Clone)]
pub struct NotificationQueue {
    state: Rc<Pending>,
}

struct Pending {
    world: World,
    event: Event,
    timer: Event,
    /// Number of notifications at each tick.
    times: RefCell<BTreeMap<u64, u64>>,
}

impl NotificationQueue {
    /// Creates a queue of notifications in `world`.
    pub(super) fn new(world: &World, name: &str) -> Self {
        let state = Rc::new(Pending {
            world: world.clone(),
            event: world.event(name),
            timer: world.event(format!("{name} timer")),
            times: RefCell::default(),
        });
        let (inner, timer) = (Rc::clone(&state), state.timer.clone());
        world.handler(format!("{name} queue"), &[&timer], move || inner.fire());
        Self { state }
    }

    /// Returns the event that the queue notifies.
    pub fn event(&self) -> &Event {
        &self.state.event
    }

    /// Adds a notification `ticks` from now.
    pub fn notify_after(&self, ticks: u64) {
        let tick = self.state.world.now().0.saturating_add(ticks);
        *self.state.times.borrow_mut().entry(tick).or_insert(0) += 1;
        self.state.timer.notify_after(ticks);
    }

    /// Cancels all pending notifications of the queue.
    pub fn cancel_all(&self) {
        self.state.times.borrow_mut().clear();
        self.state.timer.cancel();
    }
}

impl Pending {
    fn fire(&self) {
        let mut times = self.times.borrow_mut();
        if let Some(mut first) = times.first_entry() {
            *first.get_mut() -= 1;
            if *first.get() == 0 {
                first.remove();
            }
            self.event.notify();
        }
        if let Some((tick, _)) = times.first_key_value() {
            self.timer.notify_at(Tick(*tick));
        }
    }
}
