//! A finite impulse response filter at register-transfer level, with its waveform.
//!
//! ```text
//!   x ─►[x0]─►[x1]─►[x2]─►[x3]     registers, clocked, with reset
//!        │1    │3    │3    │1
//!        └─────┴──+──┴─────┘ sum   combinational
//!                 └──────────►[y]  register
//! ```
//!
//! `cargo run -p warpweave-framework --example fir > fir.vcd`, then look at it with any waveform
//! viewer.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use vcd::{IdCode, TimescaleUnit, Value, VarType, Writer};
use warpweave_framework::{
    Clock, Event, Frequency, Outcome, Reset, RunLimits, Sample, Shape, Signal, SystemBuilder, Tick,
    WaveSink, World,
};

/// The coefficients.
pub(crate) const TAPS: [i16; 4] = [1, 3, 3, 1];

/// What goes in: an impulse, a pause, a step.
pub(crate) const STIMULUS: [i16; 14] = [8, 0, 0, 0, 0, 0, 5, 5, 5, 5, 5, -5, 0, 0];

fn main() {
    let (_, waveform) = run();
    print!("{waveform}");
}

/// Runs the filter and returns its output in each cycle after the reset, and the waveform.
pub(crate) fn run() -> (Vec<i16>, String) {
    let mut builder = SystemBuilder::new();
    let megahertz = |n: u64| Frequency::new(n * 1_000_000, 1).expect("not zero");
    let core = builder.clock("core", megahertz(100));
    builder.clock("nanosecond", megahertz(1000)); // One tick is a nanosecond.
    let world = builder.world().scope("top");
    let clock = world.clock("clock", core);
    let reset = world.signal("reset", true);
    let x = world.signal("x", 0i16);
    let y = fir(&world.scope("fir"), &clock, &reset, &x);

    let waveform = Rc::new(RefCell::new(Waveform::new()));
    world.set_wave_sink(Some(Box::new(Shared(Rc::clone(&waveform)))));

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

    let mut simulation = builder.elaborate().expect("nothing is wired wrongly");
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    drop(simulation);
    let text = waveform.borrow_mut().text();
    (outputs.take(), text)
}

/// The filter; returns its output.
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

/// A value change dump (IEEE 1364-2005, 18).
struct Waveform {
    writer: Writer<Vec<u8>>,
    ids: BTreeMap<u32, IdCode>,
    /// Values at the start, to be written once all signals are declared.
    first: Vec<(u32, Sample)>,
    scope: Vec<String>,
    written: Option<u64>,
}

/// The waveform as the world holds it.
struct Shared(Rc<RefCell<Waveform>>);

impl WaveSink for Shared {
    fn declare(&mut self, id: u32, name: &str, shape: Shape, value: Sample) {
        let mut waveform = self.0.borrow_mut();
        waveform.declare(id, name, shape, value).expect(IN_MEMORY);
    }

    fn change(&mut self, tick: Tick, id: u32, value: Sample) {
        let mut waveform = self.0.borrow_mut();
        waveform.change(tick.0, id, &value).expect(IN_MEMORY);
    }
}

const IN_MEMORY: &str = "memory takes everything";

impl Waveform {
    fn new() -> Self {
        let mut writer = Writer::new(Vec::new());
        writer.timescale(1, TimescaleUnit::NS).expect(IN_MEMORY);
        Self {
            writer,
            ids: BTreeMap::new(),
            first: Vec::new(),
            scope: Vec::new(),
            written: None,
        }
    }

    fn declare(&mut self, id: u32, name: &str, shape: Shape, value: Sample) -> std::io::Result<()> {
        let mut path: Vec<String> = name.split('.').map(str::to_owned).collect();
        let name = path.pop().expect("a split has a last part");
        let common = path.iter().zip(&self.scope).take_while(|(a, b)| a == b);
        let common = common.count();
        for _ in common..self.scope.len() {
            self.writer.upscope()?;
        }
        for level in &path[common..] {
            self.writer.add_module(level)?;
        }
        self.scope = path;
        let (kind, width) = match shape {
            Shape::Bits(width) => (VarType::Wire, width),
            Shape::Real => (VarType::Real, 64),
            Shape::Text | Shape::Hidden => (VarType::String, 1),
        };
        let code = self.writer.add_var(kind, width, &name, None)?;
        self.ids.insert(id, code);
        self.first.push((id, value));
        Ok(())
    }

    fn change(&mut self, tick: u64, id: u32, value: &Sample) -> std::io::Result<()> {
        if self.written.is_none() {
            for _ in self.scope.drain(..) {
                self.writer.upscope()?;
            }
            self.writer.enddefinitions()?;
            self.writer.timestamp(0)?;
            self.written = Some(0);
            for (id, value) in std::mem::take(&mut self.first) {
                self.value(id, &value)?;
            }
        }
        if self.written != Some(tick) {
            self.writer.timestamp(tick)?;
            self.written = Some(tick);
        }
        self.value(id, value)
    }

    fn value(&mut self, id: u32, value: &Sample) -> std::io::Result<()> {
        let id = self.ids[&id];
        match value {
            Sample::Bits(bits) => {
                let used = 128 - bits.leading_zeros().min(127);
                let digits = (0..used).rev().map(|i| Value::from(bits >> i & 1 == 1));
                self.writer.change_vector(id, digits)
            }
            Sample::Real(real) => self.writer.change_real(id, *real),
            Sample::Text(text) => self.writer.change_string(id, text),
        }
    }

    fn text(&mut self) -> String {
        let bytes = std::mem::take(self.writer.writer());
        String::from_utf8(bytes).expect("names are text")
    }
}
