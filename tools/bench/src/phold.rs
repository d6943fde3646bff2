//! PHOLD (Fujimoto 1990): random timed events in the event world.

use std::cell::Cell;
use std::rc::Rc;

use crate::kernel::{elaborate, measure, one_clock};

struct Objects {
    /// Events handled by each object.
    handled: Vec<Cell<u64>>,
    random: Cell<u64>,
    /// Events still to be handled.
    left: Cell<u64>,
}

impl Objects {
    /// Xorshift (Marsaglia 2003).
    fn draw(&self) -> u64 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        random
    }
}

/// Every event handled is sent to a random object at a random later time, `total` times in all.
pub(crate) fn phold(objects: u64, events: u64, delay_max: u64, total: u64) -> String {
    let (objects, delay_max) = (objects.max(1), delay_max.max(1));
    let (mut builder, _) = one_clock();
    let world = builder.world();
    let state = Rc::new(Objects {
        handled: vec![Cell::new(0); objects as usize],
        random: Cell::new(0x9e37_79b9_7f4a_7c15),
        left: Cell::new(total),
    });
    for i in 0..objects * events {
        let event = world.event(format!("event {i}"));
        let (state, again) = (Rc::clone(&state), event.clone());
        let mut object = i % objects;
        let next = move || {
            if state.left.get() == 0 {
                return;
            }
            state.left.set(state.left.get() - 1);
            let handled = &state.handled[object as usize];
            handled.set(handled.get() + 1);
            let draw = state.draw();
            // Scaled instead of divided: the workload is the kernel, not the random numbers.
            object = ((draw >> 32) * objects) >> 32;
            again.notify_after(1 + (((draw & 0xffff_ffff) * delay_max) >> 32));
        };
        world.handler(format!("handler {i}"), &[&event], next);
        event.notify_after(1 + i % delay_max);
    }
    measure("phold", "event", elaborate(builder), None, |_| {
        state.handled.iter().map(Cell::get).sum()
    })
}
