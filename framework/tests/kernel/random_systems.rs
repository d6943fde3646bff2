//! Random systems of nodes that forward messages until their hops are used up, for properties of
//! any system.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{
    Bundle, Component, Context, Cycle, EngineOptions, Frequency, Histogram, InPort,
    InstanceStatistics, Instrumented, Link, Next, Observed, Order, OutPort, Outcome, Ports, Probe,
    Published, RunLimits, Simulation, State, Stateful, Statistics, SystemBuilder, Tick,
    TimeWeighted, Width,
};
use warpweave_random::mix;

use crate::parts::Log;

/// A random system of nodes and wires.
#[derive(Clone, Debug)]
pub(crate) struct System {
    clocks: Vec<(u64, u64)>,
    pub(crate) nodes: Vec<Spec>,
    wires: Vec<(usize, usize, Link)>,
    /// Published wires as (writer, reader, latency).
    broadcasts: Vec<(usize, usize, u32)>,
}

/// Parameters of the behavior of a node.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) clock: usize,
    /// Maximum number of messages held at once.
    room: usize,
    /// Cycles from taking a message to forwarding it.
    service: Cycle,
    /// Takes nothing in cycles whose bit is set.
    stall: u64,
    /// Cycles in which a message is created.
    births: Vec<Cycle>,
    /// Cycles between background wake-ups; 0 for none.
    background: Cycle,
    /// Background wake-ups that create a message.
    background_births: u64,
    /// Takes an obligation at the start and discharges it when it takes this message.
    obligation: Option<u64>,
    /// Fails when it takes this message.
    failure: Option<u64>,
}

/// Log entry of a node's action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) node: u64,
    pub(crate) cycle: Cycle,
    pub(crate) did: Did,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Did {
    /// Took this message from this port.
    Take(usize, u64),
    /// Saw this sum of published values in a background wake-up.
    See(u64),
}

struct Node {
    spec: Spec,
    number: u64,
    inputs: Vec<InPort<u64>>,
    outputs: Vec<OutPort<u64>>,
    mode: Published<u64>,
    modes: Vec<Observed<u64>>,
    births: VecDeque<Cycle>,
    next_background: Cycle,
    background_births: u64,
    born: u64,
    taken: u64,
    consumed: u64,
    /// Messages held, as ready cycle, cycle of creation or arrival, and message.
    held: VecDeque<(Cycle, Cycle, u64)>,
    level: TimeWeighted,
    residence: u64,
    residences: Histogram,
    started: bool,
    log: Log<Entry>,
}

impl Node {
    fn note(&self, ctx: &Context<'_>, did: Did) {
        self.log.push(Entry {
            node: self.number,
            cycle: ctx.cycle(),
            did,
        });
    }

    fn in_background(&mut self, ctx: &mut Context<'_>) {
        let cycle = ctx.cycle();
        if self.spec.background == 0 || cycle < self.next_background {
            return;
        }
        if cycle > 0 {
            let seen = self.modes.iter().map(|m| m.get(ctx)).sum();
            self.note(ctx, Did::See(seen));
            if self.background_births > 0 && !self.outputs.is_empty() {
                self.background_births -= 1;
                self.bear(cycle);
            }
        }
        self.next_background = cycle + self.spec.background;
        ctx.wake_in_background(self.next_background);
    }

    fn deliver(&mut self, ctx: &mut Context<'_>) {
        while let Some(&(ready, since, message)) = self.held.front() {
            // A message is `identity << 8 | hops left`.
            let port = (mix(message) % self.outputs.len().max(1) as u64) as usize;
            if ready > ctx.cycle() || self.outputs[port].try_send(ctx, message).is_err() {
                return;
            }
            self.held.pop_front();
            self.level.sub(ctx.cycle(), 1);
            self.residence += ctx.cycle() - since;
            self.residences.record(ctx.cycle() - since);
        }
    }

    fn stalls(&self, cycle: Cycle) -> bool {
        self.spec.stall >> (cycle % 64) & 1 == 1
    }

    /// Takes as many messages as fit; returns the cycle in which a stall ends.
    fn accept(&mut self, ctx: &mut Context<'_>) -> Option<Cycle> {
        let cycle = ctx.cycle();
        let waiting = self.inputs.iter().any(|i| i.peek(ctx).is_some());
        if waiting && self.held.len() < self.spec.room && self.stalls(cycle) {
            return (cycle + 1..cycle + 65).find(|c| !self.stalls(*c));
        }
        for port in 0..self.inputs.len() {
            while self.held.len() < self.spec.room
                && let Some(message) = self.inputs[port].pop(ctx)
            {
                self.take(ctx, port, message);
            }
        }
        None
    }

    fn take(&mut self, ctx: &mut Context<'_>, port: usize, message: u64) {
        self.taken += 1;
        self.note(ctx, Did::Take(port, message));
        ctx.probe(|| Probe::Instant {
            name: "taken",
            id: message,
        });
        if self.spec.obligation == Some(self.taken) {
            ctx.discharge_obligation();
        }
        if self.spec.failure == Some(self.taken) {
            ctx.fail(format!("node {} had enough", self.number));
        }
        if message.is_multiple_of(3) {
            self.mode.publish(ctx, message);
        }
        if message.is_multiple_of(256) || self.outputs.is_empty() {
            self.consumed += 1;
        } else {
            self.hold(ctx.cycle(), message - 1);
        }
    }

    fn hold(&mut self, cycle: Cycle, message: u64) {
        self.held
            .push_back((cycle + self.spec.service, cycle, message));
        self.level.add(cycle, 1);
    }

    fn bear(&mut self, cycle: Cycle) {
        let identity = (self.number << 20) | self.born;
        self.born += 1;
        self.hold(cycle, (identity << 8) | (mix(identity) % 12));
    }
}

impl Bundle for Node {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.inputs("in", &mut self.inputs);
        ports.outputs("out", &mut self.outputs);
        ports.optional(|ports| ports.published("mode", &mut self.mode));
        ports.port("modes", &mut self.modes);
    }
}

impl Component for Node {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let cycle = ctx.cycle();
        if !self.started {
            self.started = true;
            if self.spec.obligation.is_some() {
                ctx.take_obligation();
            }
        }
        self.in_background(ctx);
        self.deliver(ctx);
        let stalled_until = self.accept(ctx);
        while self.held.len() < self.spec.room && self.births.front().is_some_and(|at| *at <= cycle)
        {
            self.births.pop_front();
            self.bear(cycle);
        }
        let room = self.held.len() < self.spec.room;
        let timers = [
            stalled_until.filter(|_| room),
            self.held.front().map(|(ready, ..)| *ready),
            self.births.front().copied().filter(|_| room),
        ];
        let timer = timers.into_iter().flatten().filter(|t| *t > cycle).min();
        match timer {
            Some(at) => Next::Until(at),
            None if self.held.is_empty() => Next::Message,
            None => Next::Credit,
        }
    }
}

impl Stateful for Node {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("births", &mut self.births);
        state.field("next_background", &mut self.next_background);
        state.field("background_births", &mut self.background_births);
        state.field("born", &mut self.born);
        state.field("taken", &mut self.taken);
        state.field("consumed", &mut self.consumed);
        state.field("held", &mut self.held);
        state.field("level", &mut self.level);
        state.field("residence", &mut self.residence);
        state.field("residences", &mut self.residences);
        state.field("started", &mut self.started);
    }
}

impl Instrumented for Node {
    fn statistics(&self, s: &mut Statistics<'_>) {
        let (held, level) = (self.held.len() as u64, self.level.integral(s.cycle()));
        for (name, value) in [
            ("born", self.born),
            ("taken", self.taken),
            ("consumed", self.consumed),
            ("held", held),
            ("level", level),
            ("residence", self.residence),
            ("cycle", s.cycle()),
        ] {
            s.counter(name, "", "As in the node.", value);
        }
        s.histogram("residences", "cycles", "Time spent each.", &self.residences);
    }
}

pub(crate) fn build(system: &System, options: EngineOptions) -> (Simulation, Log<Entry>) {
    let mut builder = SystemBuilder::new();
    let clocks: Vec<_> = system
        .clocks
        .iter()
        .enumerate()
        .map(|(i, (n, d))| builder.clock(format!("c{i}"), Frequency::new(*n, *d).unwrap()))
        .collect();
    let log = Log::default();
    let count = system.nodes.len();
    let (mut ins, mut outs, mut modes) = (vec![0; count], vec![0; count], vec![0; count]);
    for (from, to, link) in &system.wires {
        builder.connect(
            format!("n{from}.out[{}]", outs[*from]),
            format!("n{to}.in[{}]", ins[*to]),
            *link,
        );
        outs[*from] += 1;
        ins[*to] += 1;
    }
    for (from, to, latency) in &system.broadcasts {
        let reader = format!("n{to}.modes[{}]", modes[*to]);
        builder.connect(format!("n{from}.mode"), reader, Link::latency(*latency));
        modes[*to] += 1;
    }
    for (i, spec) in system.nodes.iter().enumerate() {
        let mut births = spec.births.clone();
        births.sort_unstable();
        // A node without outputs keeps nothing and bears nothing.
        if outs[i] == 0 {
            births.clear();
        }
        let node = Node {
            spec: spec.clone(),
            number: i as u64,
            inputs: (0..ins[i]).map(|_| InPort::new()).collect(),
            outputs: (0..outs[i]).map(|_| OutPort::new()).collect(),
            mode: Published::new(0),
            modes: (0..modes[i]).map(|_| Observed::new()).collect(),
            births: births.into(),
            next_background: 0,
            background_births: spec.background_births,
            born: 0,
            taken: 0,
            consumed: 0,
            held: VecDeque::new(),
            level: TimeWeighted::default(),
            residence: 0,
            residences: Histogram::default(),
            started: false,
            log: log.clone(),
        };
        builder.add(format!("n{i}"), clocks[spec.clock], node);
    }
    let mut simulation = builder.elaborate().unwrap();
    simulation.set_options(options);
    (simulation, log)
}

pub(crate) const FOREVER: RunLimits = RunLimits {
    until: None,
    silence: None,
    interrupt: None,
};

/// All observable results of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Results {
    pub(crate) outcome: Outcome,
    pub(crate) now: Tick,
    pub(crate) messages: u64,
    pub(crate) statistics: Vec<InstanceStatistics>,
    pub(crate) activity: Vec<[u64; 5]>,
    /// Log, sorted because only the order within each node is defined.
    pub(crate) log: Vec<Entry>,
}

pub(crate) fn results(simulation: &Simulation, outcome: Outcome, log: &Log<Entry>) -> Results {
    let mut log = log.all();
    log.sort_by_key(|entry| entry.node);
    Results {
        outcome,
        now: simulation.now(),
        messages: simulation.messages(),
        statistics: simulation.statistics(),
        activity: (0..simulation.instances().len())
            .map(|n| simulation.activity(n))
            .collect(),
        log,
    }
}

pub(crate) fn run(system: &System, options: EngineOptions) -> Results {
    let (mut simulation, log) = build(system, options);
    let outcome = simulation.run(&FOREVER);
    results(&simulation, outcome, &log)
}

pub(crate) fn same(a: &Results, b: &Results, what: &str) -> Result<(), TestCaseError> {
    // The small things first: they say more when they differ.
    prop_assert_eq!(&a.outcome, &b.outcome, "{}", what);
    prop_assert_eq!(a.now, b.now, "{}", what);
    prop_assert_eq!(&a.log, &b.log, "{}", what);
    prop_assert_eq!(&a.activity, &b.activity, "{}", what);
    prop_assert_eq!(a, b, "{}", what);
    Ok(())
}

fn spec(clocks: usize) -> impl Strategy<Value = Spec> {
    (
        (
            0..clocks,
            1..5usize,
            prop_oneof![4 => 1..4u64, 1 => 60..70u64, 1 => 100..300u64],
            prop_oneof![Just(0), any::<u64>().prop_map(|s| s & !1)],
            prop::collection::vec(prop_oneof![0..20u64, 0..500u64], 0..12),
        ),
        (
            prop_oneof![2 => Just(0), 1 => 3..200u64],
            0..4u64,
            prop_oneof![3 => Just(None), 1 => (1..12u64).prop_map(Some)],
            prop_oneof![9 => Just(None), 1 => (1..12u64).prop_map(Some)],
        ),
    )
        .prop_map(
            |(
                (clock, room, service, stall, births),
                (background, background_births, obligation, failure),
            )| Spec {
                clock,
                room,
                service,
                stall,
                births,
                background,
                background_births,
                obligation,
                failure,
            },
        )
}

fn link() -> impl Strategy<Value = Link> {
    (
        prop_oneof![4 => 1..8u32, 1 => 60..70u32],
        1..8u32,
        prop::option::of(1..5u32),
        prop_oneof![
            (1..3u32).prop_map(Width::Messages),
            (1..12u32).prop_map(Width::Bytes)
        ],
    )
        .prop_map(|(latency, credit_latency, capacity, width)| Link {
            latency,
            credit_latency,
            capacity,
            width,
        })
}

pub(crate) fn system() -> impl Strategy<Value = System> {
    let clock = prop_oneof![
        Just((1_400_000_000, 1)),
        Just((924_000_000, 1)),
        Just((28_000_000_000, 15)),
        Just((700_000_000, 1)),
    ];
    (prop::collection::vec(clock, 1..4), 1..12usize).prop_flat_map(|(clocks, nodes)| {
        let count = clocks.len();
        (
            Just(clocks),
            prop::collection::vec(spec(count), nodes),
            prop::collection::vec((0..nodes, 0..nodes, link()), 1..24),
            prop::collection::vec((0..nodes, 0..nodes, 1..9u32), 0..4),
        )
            .prop_map(|(clocks, nodes, wires, broadcasts)| System {
                clocks,
                nodes,
                wires,
                broadcasts,
            })
    })
}

/// Generates systems whose run ends only when no work is left.
pub(crate) fn endless_system() -> impl Strategy<Value = System> {
    system().prop_map(|mut system| {
        for node in &mut system.nodes {
            node.obligation = None;
            node.failure = None;
        }
        system
    })
}

/// Generates times at which runs are interrupted, in order.
pub(crate) fn cuts() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![0..500u64, 0..20_000u64], 0..5).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts
    })
}

/// Generates engine options with a single partition.
pub(crate) fn options() -> impl Strategy<Value = EngineOptions> {
    let order = prop_oneof![
        Just(Order::Added),
        any::<u64>().prop_map(|seed| Order::Shuffled { seed })
    ];
    (order, any::<bool>()).prop_map(|(order, sleeping)| EngineOptions {
        order,
        sleeping,
        ..EngineOptions::default()
    })
}
