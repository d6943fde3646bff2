//! A producer and a consumer over a FIFO.
//!
//! ```text
//!   producer ──► fifo (4 places) ──► consumer
//!   in bursts                        one item per 30 ns
//! ```
//!
//! The producer makes bursts of items faster than the consumer takes them; the FIFO fills, and the
//! producer waits. `cargo run -p warpweave-framework --example producer_consumer`

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

use warpweave_framework::{Frequency, Outcome, RunLimits, SystemBuilder};

fn main() {
    print!("{}", run());
}

/// Runs the model and returns what happened, a line per event.
pub(crate) fn run() -> String {
    let mut builder = SystemBuilder::new();
    // One tick is a nanosecond: the common tick of all clocks.
    builder.clock(
        "nanosecond",
        Frequency::new(1_000_000_000, 1).expect("not zero"),
    );
    let world = builder.world();
    let fifo = world.fifo("fifo", 4);
    let log = Rc::new(RefCell::new(String::new()));

    let (w, out, lines) = (world.clone(), fifo.clone(), Rc::clone(&log));
    world.process("producer", async move {
        for burst in ["warp", "and weft"] {
            for item in burst.chars() {
                w.ticks(10).await;
                let asked = w.now().0;
                out.send(item).await;
                let waited = w.now().0 - asked;
                note(
                    &lines,
                    w.now().0,
                    &format!("{item:?} sent, waited {waited} ns"),
                );
            }
            w.ticks(200).await;
        }
    });

    let (w, lines) = (world.clone(), Rc::clone(&log));
    world.process("consumer", async move {
        // Waits for ever in the end; that keeps nothing alive.
        loop {
            let item = fifo.recv().await;
            let left = fifo.len();
            note(
                &lines,
                w.now().0,
                &format!("    {item:?} received, {left} left"),
            );
            w.ticks(30).await;
        }
    });

    let mut simulation = builder.elaborate().expect("the wiring is valid");
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    log.take()
}

fn note(log: &RefCell<String>, now: u64, what: &str) {
    writeln!(log.borrow_mut(), "{now:4} ns  {what}").expect("writing to a string succeeds");
}
