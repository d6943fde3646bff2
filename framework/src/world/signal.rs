//! Signals, whose values change between delta cycles, never within one.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::observe::{Sample, Shape};
use crate::world::Core;
use crate::world::event::Event;
use crate::world::state::Update;
use crate::world::wave::TracedSignal;

/// Type of value that a signal may carry. User-defined types are hidden in waveforms unless they
/// define their format:
///
/// ```
/// # use warpweave_framework::{Sample, Shape, SignalValue};
/// #[derive(Clone, Copy, PartialEq)]
/// enum Phase { Fetch, Execute }
///
/// impl SignalValue for Phase {
///     fn shape() -> Shape { Shape::Bits(1) }
///     fn sample(&self) -> Option<Sample> { Some(Sample::Bits(*self as u128)) }
/// }
/// ```
pub trait SignalValue: Clone + PartialEq + 'static {
    /// Returns the format of the signal's waveform.
    fn shape() -> Shape {
        Shape::Hidden
    }

    /// Returns the current waveform value; `None` if the shape is hidden.
    fn sample(&self) -> Option<Sample> {
        None
    }
}

impl SignalValue for bool {
    fn shape() -> Shape {
        Shape::Bits(1)
    }

    fn sample(&self) -> Option<Sample> {
        Some(Sample::Bits(u128::from(*self)))
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl SignalValue for $integer {
            fn shape() -> Shape {
                Shape::Bits(<$integer>::BITS)
            }

            fn sample(&self) -> Option<Sample> {
                // Sign extension is cut off again by the width.
                Some(Sample::Bits(*self as u128 & u128::MAX >> (128 - <$integer>::BITS)))
            }
        }
    )*};
}

integers!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

impl SignalValue for f64 {
    fn shape() -> Shape {
        Shape::Real
    }

    fn sample(&self) -> Option<Sample> {
        Some(Sample::Real(*self))
    }
}

impl SignalValue for String {
    fn shape() -> Shape {
        Shape::Text
    }

    fn sample(&self) -> Option<Sample> {
        Some(Sample::Text(self.clone()))
    }
}

impl SignalValue for () {}
impl<T: SignalValue> SignalValue for Option<T> {}
impl<T: SignalValue> SignalValue for Vec<T> {}
impl<T: SignalValue, const N: usize> SignalValue for [T; N] {}
impl<T: SignalValue, U: SignalValue> SignalValue for (T, U) {}

/// A value that changes for readers only in the update phase, so that the order of processes does
/// not matter. Clones refer to the same signal.
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
    core: Rc<Core>,
    /// Number among all lines of waveforms.
    line: Cell<u32>,
    current: RefCell<T>,
    next: RefCell<Option<T>>,
    changed: Event,
    /// True if every write counts as a change.
    every_write: bool,
    /// Rising- and falling-edge events of a `bool`, created on first use.
    edges: RefCell<Option<[Event; 2]>>,
    writer: Cell<Option<u32>>,
}

impl<T: SignalValue> Signal<T> {
    pub(crate) fn new(core: &Rc<Core>, name: String, value: T) -> Self {
        Self::with(core, name, value, false)
    }

    pub(crate) fn buffer(core: &Rc<Core>, name: String, value: T) -> Self {
        Self::with(core, name, value, true)
    }

    fn with(core: &Rc<Core>, name: String, value: T, every_write: bool) -> Self {
        let changed = Event::new(core, format!("{name} changed"));
        let state = Rc::new(State {
            core: Rc::clone(core),
            line: Cell::new(0),
            current: RefCell::new(value),
            next: RefCell::new(None),
            changed,
            every_write,
            edges: RefCell::new(None),
            writer: Cell::new(None),
        });
        let waved: Rc<dyn TracedSignal> = Rc::<State<T>>::clone(&state);
        let waves = &mut core.world.borrow_mut().waves;
        state.line.set(waves.add(name, T::shape(), &waved));
        Self { state }
    }

    /// Returns the value of the current delta cycle.
    pub fn read(&self) -> T {
        self.state.current.borrow().clone()
    }

    /// Sets the value from the next delta cycle on; the last write in a delta cycle takes effect.
    pub fn write(&self, value: T) {
        let state = &self.state;
        let first = state.next.replace(Some(value)).is_none();
        let mut world = state.core.world.borrow_mut();
        if first {
            let update: Rc<dyn Update> = Rc::<State<T>>::clone(state);
            world.updates.push(update);
        }
        match (state.writer.get(), world.processes.current) {
            (None, Some(_)) => state.writer.set(world.processes.current),
            (Some(one), Some(two)) if one != two => {
                let message = format!(
                    "signal `{}` is written by both `{}` and `{}`",
                    world.waves.name(state.line.get()),
                    world.process_name(one),
                    world.process_name(two)
                );
                world.failure.get_or_insert(message);
            }
            _ => {}
        }
    }

    /// Returns the name of the signal, with scopes.
    pub fn name(&self) -> String {
        let world = self.state.core.world.borrow();
        world.waves.name(self.state.line.get()).to_owned()
    }

    /// Returns the event notified in the delta cycle after an update that changed the value.
    pub fn changed(&self) -> &Event {
        &self.state.changed
    }
}

impl Signal<bool> {
    /// Returns the event notified when the value becomes true.
    pub fn posedge(&self) -> Event {
        self.edge(0)
    }

    /// Returns the event notified when the value becomes false.
    pub fn negedge(&self) -> Event {
        self.edge(1)
    }

    fn edge(&self, which: usize) -> Event {
        let name = self.name();
        let mut edges = self.state.edges.borrow_mut();
        let make =
            || ["rose", "fell"].map(|what| Event::new(&self.state.core, format!("{name} {what}")));
        edges.get_or_insert_with(make)[which].clone()
    }
}

impl<T: SignalValue> Update for State<T> {
    fn update(&self) {
        let Some(next) = self.next.take() else {
            return;
        };
        let changed = *self.current.borrow() != next;
        if !changed && !self.every_write {
            return;
        }
        let edge = (&next as &dyn Any)
            .downcast_ref::<bool>()
            .filter(|_| changed)
            .map(|up| usize::from(!up));
        self.current.replace(next);
        let world = &mut *self.core.world.borrow_mut();
        world.notify_delta(self.changed.id);
        if let (Some(edge), Some(edges)) = (edge, &*self.edges.borrow()) {
            world.notify_delta(edges[edge].id);
        }
        let now = world.now;
        world.waves.change(now, self.line.get(), || self.sample());
    }
}

impl<T: SignalValue> TracedSignal for State<T> {
    fn sample(&self) -> Option<Sample> {
        self.current.borrow().sample()
    }
}
