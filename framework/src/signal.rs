//! Signals: values that change between delta cycles, never within one.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::event::Event;
use crate::world::World;

/// A value that readers see change only in the update phase, so that the order of processes does
/// not matter. Clones mean the same signal.
///
/// One process writes a signal; a second writer ends the run with an error. Code outside of
/// processes may write too.
pub struct Signal<T> {
    state: Rc<State<T>>,
}

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        Self {
            state: Rc::clone(&self.state),
        }
    }
}

struct State<T> {
    world: World,
    name: String,
    current: RefCell<T>,
    next: RefCell<Option<T>>,
    changed: Event,
    /// Rising and falling edge of a `bool`, once somebody asked for them.
    edges: RefCell<Option<[Event; 2]>>,
    writer: Cell<Option<u32>>,
}

/// A signal in the update phase, whatever its type.
pub(crate) trait Update {
    fn update(&self);
}

impl<T: Clone + PartialEq + 'static> Signal<T> {
    pub(crate) fn new(world: &World, name: String, value: T) -> Self {
        let changed = world.event(format!("{name} changed"));
        let state = State {
            world: world.clone(),
            name,
            current: RefCell::new(value),
            next: RefCell::new(None),
            changed,
            edges: RefCell::new(None),
            writer: Cell::new(None),
        };
        Self {
            state: Rc::new(state),
        }
    }

    /// The value of the current delta cycle.
    pub fn read(&self) -> T {
        self.state.current.borrow().clone()
    }

    /// Sets the value from the next delta cycle on; the last write of a delta cycle counts.
    pub fn write(&self, value: T) {
        self.check_writer();
        let first = self.state.next.replace(Some(value)).is_none();
        if first {
            let update: Rc<dyn Update> = Rc::<State<T>>::clone(&self.state);
            self.state.world.inner.borrow_mut().updates.push(update);
        }
    }

    /// Notified in the delta cycle after an update that changed the value.
    pub fn changed(&self) -> &Event {
        &self.state.changed
    }

    fn check_writer(&self) {
        let current = self.state.world.inner.borrow().current;
        match (self.state.writer.get(), current) {
            (None, Some(_)) => self.state.writer.set(current),
            (Some(one), Some(two)) if one != two => {
                let inner = self.state.world.inner.borrow();
                let message = format!(
                    "signal `{}` is written by `{}` and by `{}`",
                    self.state.name,
                    inner.process_name(one),
                    inner.process_name(two)
                );
                drop(inner);
                self.state.world.fail(message);
            }
            _ => {}
        }
    }
}

impl Signal<bool> {
    /// Notified when the value becomes true.
    pub fn posedge(&self) -> Event {
        self.edge(0)
    }

    /// Notified when the value becomes false.
    pub fn negedge(&self) -> Event {
        self.edge(1)
    }

    fn edge(&self, which: usize) -> Event {
        let State { world, name, .. } = &*self.state;
        let mut edges = self.state.edges.borrow_mut();
        let make = || ["rose", "fell"].map(|what| world.event(format!("{name} {what}")));
        edges.get_or_insert_with(make)[which].clone()
    }
}

impl<T: PartialEq + 'static> Update for State<T> {
    fn update(&self) {
        let Some(next) = self.next.take() else {
            return;
        };
        if *self.current.borrow() == next {
            return;
        }
        let edge = (&next as &dyn Any)
            .downcast_ref::<bool>()
            .map(|up| usize::from(!up));
        *self.current.borrow_mut() = next;
        self.changed.notify_delta();
        if let (Some(edge), Some(edges)) = (edge, &*self.edges.borrow()) {
            edges[edge].notify_delta();
        }
    }
}
