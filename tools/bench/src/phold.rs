//! PHOLD (Fujimoto 1990): random timed events in the event-driven model.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::components::{elaborate, one_clock, timed};
use crate::workload::{Sample, Tally};

/// PHOLD objects, which handle the events.
pub(crate) struct Objects {
    /// Number of events handled by each object.
    handled: Vec<Cell<u64>>,
    random: Cell<u64>,
    delay_max: u64,
    /// Number of events left to handle.
    left: Cell<u64>,
}

impl Objects {
    pub(crate) fn new(objects: u64, delay_max: u64, total: u64) -> Self {
        Self {
            handled: vec![Cell::new(0); objects as usize],
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
            delay_max,
            left: Cell::new(total),
        }
    }

    /// Handles an event at `object`. Returns the target and delay of the next one.
    #[inline]
    pub(crate) fn handle(&self, object: u64) -> Option<(u64, u64)> {
        if self.left.get() == 0 {
            return None;
        }
        self.left.set(self.left.get() - 1);
        let handled = &self.handled[object as usize];
        handled.set(handled.get() + 1);
        let draw = self.draw();
        // Scaled instead of divided: the workload is the kernel, not the random numbers.
        let object = ((draw >> 32) * self.handled.len() as u64) >> 32;
        Some((object, 1 + (((draw & 0xffff_ffff) * self.delay_max) >> 32)))
    }

    /// Draws a number by xorshift (Marsaglia 2003).
    #[inline]
    fn draw(&self) -> u64 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        random
    }

    /// Returns the result of the run. The sequence of draws makes the counts depend on the order of
    /// all events.
    pub(crate) fn sample(&self, elapsed: Duration) -> Sample {
        let tally = Tally::default();
        for (i, handled) in self.handled.iter().enumerate() {
            tally.add(i as u64, handled.get());
        }
        Sample {
            ns: elapsed.as_nanos() as u64,
            units: self.handled.iter().map(Cell::get).sum(),
            checksum: tally.sum(),
            bytes: 0,
        }
    }
}

/// Forwards every handled event to a random object after a random delay, `total` times in all.
pub(crate) fn phold(objects: u64, events: u64, delay_max: u64, total: u64) -> Sample {
    let (mut builder, _) = one_clock();
    let world = builder.world();
    let state = Rc::new(Objects::new(objects, delay_max, total));
    for i in 0..objects * events {
        let event = world.event(format!("event {i}"));
        let (state, again) = (Rc::clone(&state), event.clone());
        let mut object = i % objects;
        let next = move || {
            if let Some((to, delay)) = state.handle(object) {
                object = to;
                again.notify_after(delay);
            }
        };
        world.handler(format!("handler {i}"), &[&event], next);
        event.notify_after(1 + i % delay_max);
    }
    let mut simulation = elaborate(builder);
    let elapsed = timed(&mut simulation, None);
    state.sample(elapsed)
}
