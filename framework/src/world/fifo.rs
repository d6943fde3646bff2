//! Bounded FIFO queues between two processes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::observe::{Sample, Shape};
use crate::world::Core;
use crate::world::event::Event;
use crate::world::state::Update;
use crate::world::wave::TracedSignal;

/// A bounded queue from one process to another. A written item can be read, and a freed place can
/// be written, from the next delta cycle on. The order of processes therefore does not matter.
/// Clones refer to the same FIFO; waveforms show its occupancy.
///
/// One process writes and one reads; a second reader or writer ends the run with an error. Code
/// outside of processes may do both.
pub struct Fifo<T> {
    state: Rc<State<T>>,
}

impl<T> Clone for Fifo<T> {
    fn clone(&self) -> Self {
        Self {
            state: Rc::clone(&self.state),
        }
    }
}

struct State<T> {
    core: Rc<Core>,
    line: Cell<u32>,
    capacity: usize,
    items: RefCell<VecDeque<T>>,
    /// Number of items that can be read in this delta cycle.
    readable: Cell<usize>,
    /// Number of items that occupy a place in this delta cycle.
    taken: Cell<usize>,
    /// True if an update is pending.
    asked: Cell<bool>,
    written: Event,
    read: Event,
    writer: Cell<Option<u32>>,
    reader: Cell<Option<u32>>,
}

impl<T: 'static> Fifo<T> {
    /// Creates a FIFO of `capacity` places, at least one.
    pub(super) fn new(core: &Rc<Core>, name: String, capacity: usize) -> Self {
        let state = Rc::new(State {
            core: Rc::clone(core),
            line: Cell::new(0),
            capacity: capacity.max(1),
            items: RefCell::default(),
            readable: Cell::new(0),
            taken: Cell::new(0),
            asked: Cell::new(false),
            written: Event::new(core, format!("{name} written")),
            read: Event::new(core, format!("{name} read")),
            writer: Cell::new(None),
            reader: Cell::new(None),
        });
        let waved: Rc<dyn TracedSignal> = Rc::<State<T>>::clone(&state);
        let waves = &mut core.world.borrow_mut().waves;
        state.line.set(waves.add(name, Shape::Bits(32), &waved));
        Self { state }
    }

    /// Writes `item` once there is a free place.
    pub async fn send(&self, item: T) {
        let mut item = item;
        while let Err(back) = self.try_send(item) {
            item = back;
            self.state.read.wait().await;
        }
    }

    /// Reads the next item once there is one.
    pub async fn recv(&self) -> T {
        loop {
            if let Some(item) = self.try_recv() {
                return item;
            }
            self.state.written.wait().await;
        }
    }

    /// Writes `item` if there is a free place.
    ///
    /// # Errors
    /// Returns `item` if there is no free place.
    pub fn try_send(&self, item: T) -> Result<(), T> {
        let state = &self.state;
        state.check_only("written", &state.writer);
        if state.taken.get() == state.capacity {
            return Err(item);
        }
        state.taken.set(state.taken.get() + 1);
        state.items.borrow_mut().push_back(item);
        self.ask();
        Ok(())
    }

    /// Reads the next item, if there is one.
    pub fn try_recv(&self) -> Option<T> {
        let state = &self.state;
        state.check_only("read", &state.reader);
        if state.readable.get() == 0 {
            return None;
        }
        state.readable.set(state.readable.get() - 1);
        self.ask();
        state.items.borrow_mut().pop_front()
    }

    /// Returns the number of items that can be read now.
    pub fn len(&self) -> usize {
        self.state.readable.get()
    }

    /// True if no item can be read now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of items that can be written now.
    pub fn free(&self) -> usize {
        self.state.capacity - self.state.taken.get()
    }

    /// Returns the event notified in the delta cycle in which a written item can be read.
    pub fn written(&self) -> &Event {
        &self.state.written
    }

    /// Returns the event notified in the delta cycle in which a freed place can be written.
    pub fn read(&self) -> &Event {
        &self.state.read
    }

    fn ask(&self) {
        if !self.state.asked.replace(true) {
            let update: Rc<dyn Update> = Rc::<State<T>>::clone(&self.state);
            let mut world = self.state.core.world.borrow_mut();
            world.updates.push(update);
        }
    }
}

impl<T> State<T> {
    fn check_only(&self, what: &str, before: &Cell<Option<u32>>) {
        let mut world = self.core.world.borrow_mut();
        match (before.get(), world.processes.current) {
            (None, current) => before.set(current),
            (Some(one), Some(two)) if one != two => {
                let message = format!(
                    "FIFO `{}` is {what} by both `{}` and `{}`",
                    world.waves.name(self.line.get()),
                    world.process_name(one),
                    world.process_name(two)
                );
                world.failure.get_or_insert(message);
            }
            _ => {}
        }
    }
}

impl<T> Update for State<T> {
    fn update(&self) {
        self.asked.set(false);
        let held = self.items.borrow().len();
        let world = &mut *self.core.world.borrow_mut();
        if held > self.readable.replace(held) {
            world.notify_delta(self.written.id);
        }
        if held < self.taken.replace(held) {
            world.notify_delta(self.read.id);
        }
        let now = world.now;
        world.waves.change(now, self.line.get(), || self.sample());
    }
}

impl<T> TracedSignal for State<T> {
    fn sample(&self) -> Option<Sample> {
        Some(Sample::Bits(self.items.borrow().len() as u128))
    }
}
