//! Tests that a settled event world allocates nothing.

mod counting;

use std::cell::Cell;
use std::rc::Rc;

use warpweave_framework::{Frequency, Outcome, RunLimits, SystemBuilder, Tick, World};

/// Adds timed events, near and far, that notify themselves again and are sometimes cancelled.
fn add_events(world: &World, handled: &Rc<Cell<u64>>) {
    for i in 0..64u64 {
        let event = world.event("event");
        let other = world.event("other");
        let (again, count) = (event.clone(), Rc::clone(handled));
        world.handler("handler", &[&event], move || {
            count.set(count.get() + 1);
            let draw = (count.get() * 7919 + i) % 1009;
            other.cancel();
            other.notify_after(1 + draw * 11 % 9000);
            again.notify_after(1 + draw * if i % 8 == 0 { 9 } else { 1 });
        });
        event.notify_after(1 + i);
    }
}

/// Adds processes that use signals, FIFOs, mutexes and bounded waits.
fn add_processes(world: &World) {
    let (fifo, mutex) = (world.fifo::<u64>("fifo", 4), world.mutex("mutex"));
    let signal = world.signal("signal", 0u64);
    let (w, out, held, line) = (world.clone(), fifo.clone(), mutex.clone(), signal.clone());
    world.process("writer", async move {
        for n in 0.. {
            w.ticks(n % 5).await;
            let guard = held.lock().await;
            line.write(n);
            out.send(n).await;
            drop(guard);
        }
    });
    let w = world.clone();
    world.process("reader", async move {
        loop {
            fifo.recv().await;
            w.within(3, signal.changed().wait()).await;
            let guard = mutex.lock().await;
            w.delta().await;
            drop(guard);
        }
    });
}

#[test]
fn nothing_is_allocated_per_event_in_steady_state() {
    let mut builder = SystemBuilder::new();
    builder.clock("clock", Frequency::new(1_000_000_000, 1).unwrap());
    let world = builder.world();
    let handled = Rc::new(Cell::new(0));
    add_events(&world, &handled);
    add_processes(&world);
    let mut simulation = builder.elaborate().unwrap();
    let mut run_until = |tick| {
        let limits = RunLimits {
            until: Some(Tick(tick)),
            ..RunLimits::default()
        };
        assert_eq!(simulation.run(&limits), Outcome::Limit);
    };
    run_until(50_000);
    // Starting a run allocates; what happens in it does not, so a long one allocates no more.
    let started = counting::allocations();
    run_until(51_000);
    let (events, short) = (handled.get(), counting::allocations() - started);
    run_until(151_000);
    assert!(
        handled.get() > events + 5000,
        "{} events",
        handled.get() - events
    );
    let long = counting::allocations() - started - short;
    assert_eq!(long, short);
}
