//! The kernel's workloads of components: cheap hops, and back-pressure.

#![expect(
    clippy::disallowed_types,
    reason = "host time is what a benchmark measures; models never see it"
)]

use std::time::Instant;

use warpweave_framework::{
    Component, Context, Frequency, InPort, Link, Next, OutPort, Outcome, Ports, RunLimits,
    Simulation, SystemBuilder, Tick,
};

/// Passes tokens on in the cycle in which they arrive.
struct Hop {
    input: InPort<u64>,
    output: OutPort<u64>,
    /// Tokens to put into the ring at the start.
    tokens: u64,
}

impl Component for Hop {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.tokens > 0 {
            self.tokens -= 1;
            self.output.send(ctx, 0);
        }
        if self.input.peek(ctx).is_none() {
            return Next::Message;
        }
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(token) = self.input.pop(ctx) {
            self.output.send(ctx, token + 1);
        }
        Next::Message
    }
}

/// `tokens` tokens run around a ring of `modules` modules until `hops` hops were made.
pub(crate) fn ring(modules: u64, tokens: u64, hops: u64) -> String {
    let (modules, tokens) = (modules.max(1), tokens.max(1));
    let (mut builder, clock) = one_clock();
    for i in 0..modules {
        let hop = Hop {
            input: InPort::new(),
            output: OutPort::new(),
            // Evenly spread.
            tokens: u64::from(i * tokens / modules != (i + 1) * tokens / modules),
        };
        builder.add(format!("hop[{i}]"), clock, hop);
    }
    for i in 0..modules {
        let next = (i + 1) % modules;
        builder.connect(
            format!("hop[{i}].output"),
            format!("hop[{next}].input"),
            Link::latency(1),
        );
    }
    let until = Tick(hops / tokens);
    measure(
        "ring",
        "hop",
        elaborate(builder),
        Some(until),
        Simulation::messages,
    )
}

/// Sends `left` items as fast as they are taken.
struct Feed {
    output: OutPort<u64>,
    left: u64,
}

impl Component for Feed {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.left == 0 {
            return Next::Idle;
        }
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        self.output.send(ctx, self.left);
        self.left -= 1;
        self.output.can_send(ctx);
        Next::Credit
    }
}

/// Takes an item every `every` cycles.
struct Drip {
    input: InPort<u64>,
    every: u64,
    next: u64,
}

impl Component for Drip {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() < self.next {
            return Next::Until(self.next);
        }
        if self.input.pop(ctx).is_none() {
            return Next::Message;
        }
        self.next = ctx.cycle() + self.every;
        Next::Until(self.next)
    }
}

/// A stage: passes an item on when the next stage has room.
struct Stage {
    input: InPort<u64>,
    output: OutPort<u64>,
}

impl Component for Stage {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.input.peek(ctx).is_none() {
            return Next::Message;
        }
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(item) = self.input.pop(ctx) {
            self.output.send(ctx, item);
        }
        // Asking for the next one's room arms the wake-up that brings it on its way.
        if self.input.peek(ctx).is_some() && !self.output.can_send(ctx) {
            Next::Credit
        } else {
            Next::Message
        }
    }
}

/// `items` items through `stages` stages of `depth` slots, the consumer taking one every `every`
/// cycles.
pub(crate) fn pipe(stages: u64, depth: u64, every: u64, items: u64) -> String {
    let (mut builder, clock) = one_clock();
    let feed = Feed {
        output: OutPort::new(),
        left: items,
    };
    builder.add("feed", clock, feed);
    let mut before = "feed".to_owned();
    let link = Link::latency(1).capacity(depth.max(1) as u32);
    for i in 0..stages {
        let stage = Stage {
            input: InPort::new(),
            output: OutPort::new(),
        };
        let path = format!("stage[{i}]");
        builder.add(path.as_str(), clock, stage);
        builder.connect(format!("{before}.output"), format!("{path}.input"), link);
        before = path;
    }
    let drip = Drip {
        input: InPort::new(),
        every,
        next: 0,
    };
    builder.add("drip", clock, drip);
    builder.connect(format!("{before}.output"), "drip.input", link);
    // A message is an item passing one of stages + 1 wires.
    measure(
        "pipe",
        "item and stage",
        elaborate(builder),
        None,
        Simulation::messages,
    )
}

pub(crate) fn one_clock() -> (SystemBuilder, warpweave_framework::ClockId) {
    let mut builder = SystemBuilder::new();
    let gigahertz = Frequency::new(1_000_000_000, 1).expect("not zero");
    let clock = builder.clock("clock", gigahertz);
    (builder, clock)
}

pub(crate) fn elaborate(builder: SystemBuilder) -> Simulation {
    match builder.elaborate() {
        Ok(simulation) => simulation,
        Err(errors) => unreachable!("the workloads are well formed: {errors}"),
    }
}

pub(crate) fn measure(
    name: &str,
    unit: &str,
    mut simulation: Simulation,
    until: Option<Tick>,
    units: impl Fn(&Simulation) -> u64,
) -> String {
    let limits = RunLimits {
        until,
        ..RunLimits::default()
    };
    let start = Instant::now();
    let outcome = simulation.run(&limits);
    let seconds = start.elapsed().as_secs_f64();
    assert!(
        matches!(outcome, Outcome::Done | Outcome::Limit),
        "{name} ended with {outcome:?}"
    );
    let count = units(&simulation);
    format!(
        "{name:8} {count:>12} x {unit:16} {:>8.1} ns each, {} evaluations",
        seconds * 1e9 / count.max(1) as f64,
        simulation.evaluations()
    )
}
