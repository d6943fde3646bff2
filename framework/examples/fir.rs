//! A finite impulse response filter at register-transfer level, with its waveform.
//!
//! ```text
//!   x ─►[x0]─►[x1]─►[x2]─►[x3]     registers, clocked, with reset
//!        │1    │3    │3    │1
//!        └─────┴──+──┴─────┘ sum   combinational
//!                 └──────────►[y]  register
//! ```
//!
//! Run `cargo run -p warpweave-framework --example fir fir.vcd` (or `fir.fst`), then open the file
//! in any waveform viewer.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;

use warpweave_framework::{
    Clock, Event, Frequency, Outcome, Reset, RunLimits, Signal, SystemBuilder, World,
};
use warpweave_waves::{Format, Names, Selection, record_to};

/// Filter coefficients, one for each tap of the delay line.
pub(crate) const TAPS: [i16; 4] = [1, 3, 3, 1];

/// Input samples, one per cycle: an impulse, a pause and a step.
pub(crate) const STIMULUS: [i16; 14] = [8, 0, 0, 0, 0, 0, 5, 5, 5, 5, 5, -5, 0, 0];

fn main() -> io::Result<()> {
    let file = std::env::args().nth(1).unwrap_or("fir.vcd".to_owned());
    let outputs = run(Path::new(&file))?;
    println!("{outputs:?}; see {file} for the waveforms");
    Ok(())
}

/// Runs the filter, with its waveform in `file`, and returns its output in each cycle after the
/// reset.
pub(crate) fn run(file: &Path) -> io::Result<Vec<i16>> {
    let mut builder = SystemBuilder::new();
    let megahertz = |n: u64| Frequency::new(n * 1_000_000, 1).expect("not zero");
    let core = builder.clock("core", megahertz(100));
    builder.clock("nanosecond", megahertz(1000)); // One tick is a nanosecond.
    let world = builder.world().scope("top");
    let clock = world.clock("clock", core);
    let reset = world.signal("reset", true);
    let x = world.signal("x", 0i16);
    let y = fir(&world.scope("fir"), &clock, &reset, &x);

    let outputs = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&outputs);
    let w = world.clone();
    world.process("bench", async move {
        clock.edges(2).await;
        reset.write(false);
        for value in STIMULUS {
            x.write(value);
            clock.edges(1).await;
            seen.borrow_mut().push(y.read());
        }
        w.stop();
    });

    let mut simulation = builder.elaborate().expect("the wiring is valid");
    let format = Format::of(file).unwrap_or(Format::Vcd);
    let recording = record_to(
        file,
        format,
        &mut simulation,
        &Selection::default(),
        &Names::default(),
    )?;
    simulation.set_probe_sink(Some(recording));
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    simulation.finish_probes()?;
    drop(simulation);
    Ok(outputs.take())
}

/// Builds the filter and returns its output signal.
fn fir(world: &World, clock: &Clock, reset: &Signal<bool>, x: &Signal<i16>) -> Signal<i16> {
    let delayed: Vec<_> = (0..TAPS.len())
        .map(|i| world.signal(format!("x{i}"), 0i16))
        .collect();
    let (sum, y) = (world.signal("sum", 0i16), world.signal("y", 0i16));

    // Combinational: runs when one of its inputs has changed.
    let changes: Vec<&Event> = delayed.iter().map(Signal::changed).collect();
    let (inputs, output) = (delayed.clone(), sum.clone());
    world.method("multiply and add", &changes, move || {
        let products = TAPS.iter().zip(&inputs).map(|(tap, x)| tap * x.read());
        output.write(products.sum());
    });

    // Registers: all read the values of before the edge, whatever the order.
    let (edge, x, result, edges) = (clock.posedge(), x.clone(), y.clone(), clock.clone());
    let on_reset = Reset::synchronous(reset, true);
    world.clocked("registers", edge, Some(on_reset), move || {
        let (x, delayed, sum, y) = (x.clone(), delayed.clone(), sum.clone(), result.clone());
        let clock = edges.clone();
        async move {
            for register in delayed.iter().chain([&y]) {
                register.write(0);
            }
            loop {
                clock.edges(1).await;
                delayed[0].write(x.read());
                for i in 1..delayed.len() {
                    delayed[i].write(delayed[i - 1].read());
                }
                y.write(sum.read());
            }
        }
    });
    y
}
