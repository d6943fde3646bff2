//! Workloads of components and channels: hops, back-pressure, sleepers, two clocks.

use std::time::Duration;

use cpu_time::ProcessTime;

use warpweave_framework::{
    Bundle, ClockId, Component, Context, Frequency, InPort, Link, Next, OutPort, Outcome, Ports,
    RunLimits, Simulation, Stateful, Statistics, SystemBuilder, Tick,
};

use crate::workload::{Sample, Tally, starts_with_token};

/// Component that passes tokens on in the cycle in which they arrive.
#[derive(Statistics)]
struct Hop {
    input: InPort<u64>,
    output: OutPort<u64>,
    /// Number of tokens to put into the ring at the start.
    tokens: u64,
    place: u64,
    sum: u64,
    tally: Tally,
}

impl Hop {
    fn new(place: u64, has_token: bool, tally: &Tally) -> Self {
        Self {
            input: InPort::new(),
            output: OutPort::new(),
            tokens: u64::from(has_token),
            place,
            sum: 0,
            tally: tally.clone(),
        }
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.tally.add(self.place, self.sum);
    }
}

impl Bundle for Hop {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Hop {
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
            self.sum = self.sum.wrapping_add(token);
            self.output.send(ctx, token + 1);
        }
        Next::Message
    }
}

impl Stateful for Hop {}

/// Circulates `tokens` tokens in a ring of `modules` modules until `hops` hops are done.
pub(crate) fn ring(modules: u64, tokens: u64, hops: u64) -> Sample {
    let (mut builder, clock) = one_clock();
    let tally = Tally::default();
    add_ring(&mut builder, modules, tokens, &tally, |_| clock);
    measure(builder, Some(Tick(hops / tokens)), &tally)
}

/// Runs the ring among `idle` modules in a chain that never carries a message. It starts after a
/// first cycle in which all are awake.
pub(crate) fn sleepers(idle: u64, busy: u64, hops: u64) -> Sample {
    let (mut builder, clock) = one_clock();
    let tally = Tally::default();
    let per_busy = (idle / busy).max(1);
    for i in 0..idle {
        // The busy ones are spread among them.
        if i % per_busy == 0 && i / per_busy < busy {
            let hop = Hop::new(i / per_busy, true, &tally);
            builder.add(format!("hop[{}]", i / per_busy), clock, hop);
        }
        builder.add(
            format!("idle[{i}]"),
            clock,
            Hop::new(busy + i, false, &tally),
        );
    }
    for i in 0..busy {
        connect(&mut builder, "hop", i, (i + 1) % busy);
    }
    for i in 0..idle {
        connect(&mut builder, "idle", i, (i + 1) % idle);
    }
    let mut simulation = elaborate(builder);
    timed(&mut simulation, Some(Tick(0)));
    let before = simulation.messages();
    let elapsed = timed(&mut simulation, Some(Tick(hops / busy)));
    let units = simulation.messages() - before;
    drop(simulation);
    sample(elapsed, units, &tally)
}

/// Runs a ring whose modules alternate between a 1 GHz clock and a 700 MHz clock.
pub(crate) fn crossing(modules: u64, tokens: u64, hops: u64) -> Sample {
    let mut builder = SystemBuilder::new();
    let megahertz = |n: u64| Frequency::new(n * 1_000_000, 1).expect("not zero");
    let clocks = [
        builder.clock("fast", megahertz(1000)),
        builder.clock("slow", megahertz(700)),
    ];
    let tally = Tally::default();
    add_ring(&mut builder, modules, tokens, &tally, |i| {
        clocks[(i % 2) as usize]
    });
    let simulation = elaborate(builder);
    // Two hops take a cycle of each clock, and on average half a cycle of waiting at each edge. The
    // exact number of hops is counted.
    let slow = simulation.clock("slow").expect("added above");
    let period = simulation.time().period(slow);
    let until = Tick(hops / tokens * period);
    measured(simulation, Some(until), &tally)
}

fn add_ring(
    builder: &mut SystemBuilder,
    modules: u64,
    tokens: u64,
    tally: &Tally,
    clock: impl Fn(u64) -> ClockId,
) {
    for i in 0..modules {
        let hop = Hop::new(i, starts_with_token(i, modules, tokens), tally);
        builder.add(format!("hop[{i}]"), clock(i), hop);
    }
    for i in 0..modules {
        connect(builder, "hop", i, (i + 1) % modules);
    }
}

fn connect(builder: &mut SystemBuilder, name: &str, from: u64, to: u64) {
    builder.connect(
        format!("{name}[{from}].output"),
        format!("{name}[{to}].input"),
        Link::latency(1),
    );
}

/// Sends `left` items as fast as they are accepted.
#[derive(Statistics)]
struct Feed {
    output: OutPort<u64>,
    left: u64,
}

impl Bundle for Feed {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl Component for Feed {
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

impl Stateful for Feed {}

/// Accepts an item every `every` cycles.
#[derive(Statistics)]
struct Drip {
    input: InPort<u64>,
    every: u64,
    next: u64,
    sum: u64,
    tally: Tally,
}

impl Drop for Drip {
    fn drop(&mut self) {
        self.tally.add(0, self.sum);
    }
}

impl Bundle for Drip {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for Drip {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() < self.next {
            return Next::Until(self.next);
        }
        let Some(item) = self.input.pop(ctx) else {
            return Next::Message;
        };
        // Depends on the order of the items and on the cycle of each.
        self.sum = self.sum.rotate_left(5) ^ (item + ctx.cycle());
        self.next = ctx.cycle() + self.every;
        Next::Until(self.next)
    }
}

impl Stateful for Drip {}

/// Pipeline stage that passes an item on when the next stage has room.
#[derive(Statistics)]
struct Stage {
    input: InPort<u64>,
    output: OutPort<u64>,
}

impl Bundle for Stage {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Stage {
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

impl Stateful for Stage {}

/// Sends `items` items through `stages` stages of `depth` slots. The consumer accepts one every
/// `every` cycles.
pub(crate) fn pipe(stages: u64, depth: u64, every: u64, items: u64) -> Sample {
    let tally = Tally::default();
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
        sum: 0,
        tally: tally.clone(),
    };
    builder.add("drip", clock, drip);
    builder.connect(format!("{before}.output"), "drip.input", link);
    // A message is an item passing one of stages + 1 wires.
    measure(builder, None, &tally)
}

pub(crate) fn one_clock() -> (SystemBuilder, ClockId) {
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

/// Runs a simulation and returns its CPU time.
pub(crate) fn timed(simulation: &mut Simulation, until: Option<Tick>) -> Duration {
    let limits = RunLimits {
        until,
        ..RunLimits::default()
    };
    let start = ProcessTime::now();
    let outcome = simulation.run(&limits);
    let elapsed = start.elapsed();
    assert!(
        matches!(outcome, Outcome::Done | Outcome::Limit),
        "a workload ended with {outcome:?}"
    );
    elapsed
}

fn measure(builder: SystemBuilder, until: Option<Tick>, tally: &Tally) -> Sample {
    measured(elaborate(builder), until, tally)
}

fn measured(mut simulation: Simulation, until: Option<Tick>, tally: &Tally) -> Sample {
    let elapsed = timed(&mut simulation, until);
    let units = simulation.messages();
    drop(simulation);
    sample(elapsed, units, tally)
}

fn sample(elapsed: Duration, units: u64, tally: &Tally) -> Sample {
    Sample {
        ns: elapsed.as_nanos() as u64,
        units,
        checksum: tally.sum(),
        bytes: 0,
    }
}
