//! Whole runs of small systems on two and three threads under random schedules. The framework's
//! sources are compiled with shuttle's primitives. Every schedule must give the result of one
//! thread.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    missing_docs,
    reason = "models use a part of the sources"
)]
#![allow(
    rustdoc::all,
    clippy::all,
    clippy::pedantic,
    reason = "looked at where the sources live"
)]

mod sync;

#[path = "../../src"]
mod sources {
    pub(crate) mod channel;
    pub(crate) mod checkpoint;
    pub(crate) mod component;
    pub(crate) mod engine;
    pub(crate) mod evaluation;
    pub(crate) mod observe;
    pub(crate) mod registry;
    pub(crate) mod state;
    pub(crate) mod test_bench;
    pub(crate) mod time;
    pub(crate) mod verify;
    pub(crate) mod world;
}

// The sources name each other from the root of their crate.
pub(crate) use sources::channel::{
    Bundle, Credit, Direction, InPort, Link, Observed, OutPort, Port, Ports, Published, Tap,
    Transit, Width,
};
pub(crate) use sources::component::Component;
pub(crate) use sources::engine::{EngineOptions, Outcome, RunLimits, Simulation};
pub(crate) use sources::evaluation::{Context, Next};
pub(crate) use sources::observe::{Instrumented, Probe};
pub(crate) use sources::state::Stateful;
pub(crate) use sources::test_bench::Sink;
pub(crate) use sources::time::{Cycle, Frequency, Tick};
pub(crate) use sources::world::World;
use sources::*;

use sources::engine::SystemBuilder;

/// Takes, counts and sums messages, and forwards each with hops left after a delay. Publishes to
/// all others when it has seen many.
struct Node {
    input: InPort<u64>,
    output: OutPort<u64>,
    loud: Published<u64>,
    heard: Observed<u64>,
    /// Number of messages to put into the ring.
    born: u64,
    rest: u64,
    next: u64,
    taken: u64,
    sum: u64,
    /// Message with which it discharges its obligation or fails.
    enough: u64,
    fails: bool,
}

impl Node {
    fn note(&mut self, seen: u64) {
        self.sum = self.sum.wrapping_mul(31).wrapping_add(seen);
    }
}

impl Bundle for Node {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
        ports.published("loud", &mut self.loud);
        ports.observed("heard", &mut self.heard);
    }
}

impl Component for Node {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() == 0 && self.enough > 0 {
            ctx.take_obligation();
        }
        self.note(ctx.cycle() + self.heard.get(ctx));
        if self.born > 0 {
            if self.output.try_send(ctx, 3 + self.born).is_ok() {
                self.born -= 1;
            }
            return if self.born > 0 {
                Next::Credit
            } else {
                Next::Busy
            };
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
        let message = self.input.pop(ctx).expect("peeked");
        self.taken += 1;
        self.note(message);
        if self.taken == self.enough {
            if self.fails {
                ctx.fail("enough".to_owned());
            } else {
                ctx.discharge_obligation();
            }
        }
        if message > 0 {
            self.output.send(ctx, message - 1);
        }
        if self.taken % 2 == 0 {
            self.loud.publish(ctx, self.taken);
        }
        self.next = ctx.cycle() + self.rest;
        Next::Until(self.next)
    }
}

impl Stateful for Node {}

impl Instrumented for Node {
    fn statistics(&self, s: &mut sources::observe::Statistics<'_>) {
        s.counter("sum", "1", "What it saw and when.", self.sum);
        s.counter("taken", "messages", "Messages taken.", self.taken);
    }
}

/// Condition that ends the run of a system.
#[derive(Clone, Copy)]
enum Ends {
    Silent,
    Done,
    Failed,
}

/// Builds a ring of four nodes whose wires have latency and credit latency `latency`.
fn system(latency: u32, ends: Ends) -> Simulation {
    let mut builder = SystemBuilder::new();
    let fast = builder.clock("fast", Frequency::new(3_000_000_000, 1).expect("not zero"));
    let slow = builder.clock("slow", Frequency::new(2_000_000_000, 1).expect("not zero"));
    for i in 0..4u64 {
        let node = Node {
            input: InPort::new(),
            output: OutPort::new(),
            loud: Published::new(0),
            heard: Observed::new(),
            born: if i == 0 { 3 } else { 0 },
            rest: 1 + i,
            next: 0,
            taken: 0,
            sum: 0,
            enough: if i == 2 && !matches!(ends, Ends::Silent) {
                4
            } else {
                0
            },
            fails: matches!(ends, Ends::Failed),
        };
        builder.add(format!("node[{i}]"), if i == 3 { slow } else { fast }, node);
        let link = Link::latency(latency).capacity(1);
        let next = (i + 1) % 4;
        builder.connect(
            format!("node[{i}].output"),
            format!("node[{next}].input"),
            link,
        );
        builder.connect(
            format!("node[{i}].loud"),
            format!("node[{next}].heard"),
            link,
        );
    }
    builder.elaborate().expect("the system is well formed")
}

/// Runs the system and returns all observable results.
fn run(latency: u32, ends: Ends, threads: usize) -> String {
    let mut simulation = system(latency, ends);
    let options = EngineOptions {
        partitions: threads,
        threads,
        ..EngineOptions::default()
    };
    simulation.set_options(options);
    let outcome = simulation.run(&RunLimits::default());
    let activity: Vec<_> = (0..4).map(|i| simulation.activity(i)).collect();
    let statistics = simulation.statistics();
    let (now, messages) = (simulation.now(), simulation.messages());
    assert!(messages > 3, "{messages} messages");
    format!("{outcome:?} {now:?} {messages} {activity:?} {statistics:?}")
}

/// Compares `schedules` random runs on `threads` threads with one on a single thread.
fn explore(latency: u32, ends: Ends, threads: usize, schedules: usize) {
    let body = move || {
        let serial = run(latency, ends, 1);
        assert_eq!(run(latency, ends, threads), serial);
    };
    shuttle::check_random(body, schedules);
    // Few preemptions at bad moments (Burckhardt et al. 2010).
    shuttle::check_pct(body, schedules, 3);
}

/// Explores runs that end in silence, with the last obligation, and with a failure.
fn main() {
    explore(1, Ends::Silent, 2, 20);
    explore(2, Ends::Silent, 3, 20);
    explore(1, Ends::Done, 3, 20);
    explore(3, Ends::Done, 2, 20);
    explore(2, Ends::Failed, 3, 20);
}
