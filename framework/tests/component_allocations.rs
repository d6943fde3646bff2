//! Tests that a settled run of clocked components allocates nothing per event: its allocations do
//! not grow with its length.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod counting;

use warpweave_framework::{
    Bundle, Component, Context, EngineOptions, Frequency, InPort, Link, Next, OutPort, Outcome,
    Ports, RunLimits, Simulation, Stateful, Statistics, SystemBuilder, Tick,
};

/// Forwards a message when the next stage has room, `rest` cycles after the previous one.
#[derive(Statistics)]
struct Stage {
    input: InPort<u64>,
    output: OutPort<u64>,
    /// Number of messages to put into the ring.
    born: u64,
    rest: u64,
    next: u64,
}

impl Bundle for Stage {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Stage {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.born > 0 {
            if self.output.try_send(ctx, self.born).is_ok() {
                self.born -= 1;
            }
            return Next::Busy;
        }
        if ctx.cycle() < self.next {
            return Next::Until(self.next);
        }
        if self.input.peek(ctx).is_none() {
            return Next::Message;
        }
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(message) = self.input.pop(ctx) {
            self.output.send(ctx, message);
            self.next = ctx.cycle() + self.rest;
        }
        if self.rest > 1 {
            Next::Until(self.next)
        } else {
            Next::Busy
        }
    }
}

impl Stateful for Stage {}

/// Builds a ring in which one slow stage delays all others, with timers beyond the wheel.
fn system(partitions: usize) -> Simulation {
    let mut builder = SystemBuilder::new();
    let clock = builder.clock("clock", Frequency::new(1_000_000_000, 1).unwrap());
    for i in 0..64 {
        let stage = Stage {
            input: InPort::new(),
            output: OutPort::new(),
            born: i % 2,
            rest: match i {
                0 => 70,
                16 | 32 | 48 => 3,
                _ => 1,
            },
            next: 0,
        };
        builder.add(format!("stage[{i}]"), clock, stage);
    }
    for i in 0..64 {
        builder.connect(
            format!("stage[{i}].output"),
            format!("stage[{}].input", (i + 1) % 64),
            Link::latency(1).capacity(2),
        );
    }
    let mut simulation = builder.elaborate().unwrap();
    simulation.set_options(EngineOptions {
        partitions,
        ..EngineOptions::default()
    });
    simulation
}

/// Runs until `tick`; returns the numbers of allocations and messages.
fn run(simulation: &mut Simulation, tick: u64) -> (u64, u64) {
    let limits = RunLimits {
        until: Some(Tick(tick)),
        ..RunLimits::default()
    };
    let (before, messages) = (counting::allocations(), simulation.messages());
    assert_eq!(simulation.run(&limits), Outcome::Limit);
    let allocations = counting::allocations() - before;
    (allocations, simulation.messages() - messages)
}

#[test]
fn nothing_is_allocated_per_event_in_steady_state() {
    for partitions in [1, 3] {
        let mut simulation = system(partitions);
        run(&mut simulation, 20_000);
        let (short, few) = run(&mut simulation, 21_000);
        let (long, many) = run(&mut simulation, 61_000);
        assert!(many > 10 * few && few > 100, "{few} and {many} messages");
        assert_eq!(short, long, "{partitions} partitions");
        assert!(short < 8, "{short} allocations in a run");
    }
}
