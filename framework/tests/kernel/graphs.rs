//! Random systems: results depend on nothing but the system.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{
    Component, Context, Cycle, EngineOptions, Frequency, Histogram, InPort, InstanceStatistics,
    Level, Link, Next, Order, OutPort, Outcome, Ports, RunLimits, Simulation, State, Statistics,
    SystemBuilder, Tick, Width,
};

use crate::parts::Log;

/// One wire of a random system.
#[derive(Clone, Debug)]
struct Wire {
    from: usize,
    to: usize,
    latency: u32,
    credit: u32,
    capacity: Option<u32>,
    width: Width,
}

/// A random system of nodes that pass messages on until their hops are used up.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    clocks: Vec<(u64, u64)>,
    nodes: Vec<NodeSpec>,
    wires: Vec<Wire>,
}

#[derive(Clone, Debug)]
struct NodeSpec {
    clock: usize,
    /// Messages held at once.
    room: usize,
    /// Cycles from taking a message to passing it on.
    service: Cycle,
    /// Takes nothing in cycles whose bit is set.
    stall: u64,
    /// Cycles in which a message is born.
    births: Vec<Cycle>,
}

struct Node {
    spec: NodeSpec,
    number: u64,
    inputs: Vec<InPort<u64>>,
    outputs: Vec<OutPort<u64>>,
    births: VecDeque<Cycle>,
    born: u64,
    consumed: u64,
    /// Ready cycle, born or taken cycle, message.
    held: VecDeque<(Cycle, Cycle, u64)>,
    level: Level,
    residence: u64,
    residences: Histogram,
    log: Log<(usize, Cycle, usize, u64)>,
}

/// A message is `identity << 8 | hops left`.
fn mix(message: u64) -> u64 {
    let z = message.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z ^ z >> 29
}

impl Node {
    fn deliver(&mut self, ctx: &mut Context<'_>) {
        while let Some(&(ready, since, message)) = self.held.front() {
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
                self.log.push((self.number as usize, cycle, port, message));
                if message % 256 == 0 || self.outputs.is_empty() {
                    self.consumed += 1;
                } else {
                    self.hold(cycle, message - 1);
                }
            }
        }
        None
    }

    fn hold(&mut self, cycle: Cycle, message: u64) {
        self.held
            .push_back((cycle + self.spec.service, cycle, message));
        self.level.add(cycle, 1);
    }

    fn bear(&mut self, cycle: Cycle) {
        while self.held.len() < self.spec.room && self.births.front().is_some_and(|at| *at <= cycle)
        {
            self.births.pop_front();
            let identity = self.number << 20 | self.born;
            self.born += 1;
            self.hold(cycle, (identity << 8) | (mix(identity) % 7));
        }
    }
}

impl Component for Node {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.inputs("in", &mut self.inputs);
        ports.outputs("out", &mut self.outputs);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.deliver(ctx);
        let stalled_until = self.accept(ctx);
        self.bear(ctx.cycle());
        let room = self.held.len() < self.spec.room;
        let timers = [
            stalled_until.filter(|_| room),
            self.held.front().map(|(ready, ..)| *ready),
            self.births.front().copied().filter(|_| room),
        ];
        let timer = timers
            .into_iter()
            .flatten()
            .filter(|t| *t > ctx.cycle())
            .min();
        match timer {
            Some(at) => Next::Until(at),
            None if self.held.is_empty() => Next::Message,
            None => Next::Credit,
        }
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("births", &mut self.births);
        state.field("born", &mut self.born);
        state.field("consumed", &mut self.consumed);
        state.field("held", &mut self.held);
        state.field("level", &mut self.level);
        state.field("residence", &mut self.residence);
        state.field("residences", &mut self.residences);
    }

    fn statistics(&self, s: &mut Statistics<'_>) {
        s.counter("born", "messages", "Messages born here.", self.born);
        s.counter(
            "consumed",
            "messages",
            "Messages that ended here.",
            self.consumed,
        );
        s.counter(
            "held",
            "messages",
            "Messages held now.",
            self.held.len() as u64,
        );
        let integral = self.level.integral(s.cycle());
        s.counter(
            "level",
            "messages",
            "Messages held, summed over cycles.",
            integral,
        );
        s.counter(
            "residence",
            "cycles",
            "Time spent by those passed on.",
            self.residence,
        );
        s.histogram("residences", "cycles", "Time spent each.", &self.residences);
    }
}

pub(crate) fn build(
    graph: &Graph,
    options: EngineOptions,
) -> (Simulation, Log<(usize, Cycle, usize, u64)>) {
    let mut builder = SystemBuilder::new();
    let clocks: Vec<_> = graph
        .clocks
        .iter()
        .enumerate()
        .map(|(i, (n, d))| builder.clock(format!("c{i}"), Frequency::new(*n, *d).unwrap()))
        .collect();
    let log = Log::default();
    let (mut ins, mut outs) = (vec![0; graph.nodes.len()], vec![0; graph.nodes.len()]);
    for wire in &graph.wires {
        let link = Link {
            latency: wire.latency,
            credit_latency: wire.credit,
            capacity: wire.capacity,
            width: wire.width,
        };
        let from = format!("n{}.out[{}]", wire.from, outs[wire.from]);
        let to = format!("n{}.in[{}]", wire.to, ins[wire.to]);
        outs[wire.from] += 1;
        ins[wire.to] += 1;
        builder.connect(from, to, link);
    }
    for (i, spec) in graph.nodes.iter().enumerate() {
        let mut births = spec.births.clone();
        births.sort_unstable();
        let node = Node {
            spec: spec.clone(),
            number: i as u64,
            inputs: (0..ins[i]).map(|_| InPort::new()).collect(),
            outputs: (0..outs[i]).map(|_| OutPort::new()).collect(),
            // A node without outputs keeps nothing and bears nothing.
            births: if outs[i] == 0 {
                VecDeque::new()
            } else {
                births.into()
            },
            born: 0,
            consumed: 0,
            held: VecDeque::new(),
            level: Level::default(),
            residence: 0,
            residences: Histogram::default(),
            log: log.clone(),
        };
        builder.add(format!("n{i}"), clocks[spec.clock], node);
    }
    let mut simulation = builder.elaborate().unwrap();
    simulation.set_options(options);
    (simulation, log)
}

/// Everything a run gives back.
#[derive(Debug, PartialEq)]
pub(crate) struct Results {
    outcome: Outcome,
    pub(crate) now: Tick,
    messages: u64,
    statistics: Vec<InstanceStatistics>,
    activity: Vec<[u64; 5]>,
    /// In evaluation order only per node, so sorted.
    pub(crate) log: Vec<(usize, Cycle, usize, u64)>,
}

pub(crate) fn results(
    simulation: &Simulation,
    outcome: Outcome,
    log: &Log<(usize, Cycle, usize, u64)>,
) -> Results {
    let mut log = log.all();
    log.sort_by_key(|(node, ..)| *node);
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

fn run(graph: &Graph, options: EngineOptions, limits: &RunLimits) -> Results {
    let (mut simulation, log) = build(graph, options);
    let outcome = simulation.run(limits);
    results(&simulation, outcome, &log)
}

fn node(clocks: usize) -> impl Strategy<Value = NodeSpec> {
    (
        0..clocks,
        1..5usize,
        prop_oneof![4 => 1..4u64, 1 => 60..70u64, 1 => 100..300u64],
        prop_oneof![Just(0), any::<u64>().prop_map(|s| s & !1)],
        prop::collection::vec(prop_oneof![0..20u64, 0..500u64], 0..12),
    )
        .prop_map(|(clock, room, service, stall, births)| NodeSpec {
            clock,
            room,
            service,
            stall,
            births,
        })
}

fn wire(nodes: usize) -> impl Strategy<Value = Wire> {
    (
        0..nodes,
        0..nodes,
        prop_oneof![4 => 1..4u32, 1 => 60..70u32],
        1..4u32,
        prop::option::of(1..5u32),
        prop_oneof![
            (1..3u32).prop_map(Width::Messages),
            (1..12u32).prop_map(Width::Bytes)
        ],
    )
        .prop_map(|(from, to, latency, credit, capacity, width)| Wire {
            from,
            to,
            latency,
            credit,
            capacity,
            width,
        })
}

pub(crate) fn graph() -> impl Strategy<Value = Graph> {
    let clock = prop_oneof![
        Just((1_400_000_000, 1)),
        Just((924_000_000, 1)),
        Just((28_000_000_000, 15)),
        Just((700_000_000, 1)),
    ];
    (prop::collection::vec(clock, 1..4), 1..9usize).prop_flat_map(|(clocks, nodes)| {
        let count = clocks.len();
        (
            Just(clocks),
            prop::collection::vec(node(count), nodes),
            prop::collection::vec(wire(nodes), 1..20),
        )
            .prop_map(|(clocks, nodes, wires)| Graph {
                clocks,
                nodes,
                wires,
            })
    })
}

fn options() -> impl Strategy<Value = EngineOptions> {
    let order = prop_oneof![Just(Order::Added), Just(Order::Shuffled { seed: 5 })];
    (order, any::<bool>()).prop_map(|(order, sleeping)| EngineOptions {
        order,
        sleeping,
        ..EngineOptions::default()
    })
}

fn sum(results: &Results, name: &str) -> u64 {
    results
        .statistics
        .iter()
        .filter_map(|s| s.counter(name))
        .sum()
}

pub(crate) const FOREVER: RunLimits = RunLimits {
    until: None,
    silence: None,
    interrupt: None,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn sleeping_and_order_change_nothing(graph in graph(), seed in any::<u64>()) {
        let reference = run(&graph, EngineOptions::default(), &FOREVER);
        for sleeping in [true, false] {
            for order in [Order::Added, Order::Shuffled { seed }] {
                let other = run(&graph, EngineOptions { order, sleeping, ..EngineOptions::default() }, &FOREVER);
                // The small things first: they say more when they differ.
                prop_assert_eq!(reference.now, other.now, "sleeping {}, {:?}", sleeping, order);
                prop_assert_eq!(&reference.activity, &other.activity);
                prop_assert_eq!(&reference.log, &other.log);
                prop_assert_eq!(&reference, &other);
            }
        }
    }

    #[test]
    fn nothing_is_lost_or_duplicated(graph in graph()) {
        let results = run(&graph, EngineOptions::default(), &FOREVER);
        let in_wires: usize = match &results.outcome {
            Outcome::Done => 0,
            Outcome::Deadlock(report) => report.occupied.iter().map(|(_, n, _)| n).sum(),
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        prop_assert_eq!(
            sum(&results, "born"),
            sum(&results, "consumed") + sum(&results, "held") + in_wires as u64
        );
        let mut seen: Vec<_> = results.log.iter().map(|(.., message)| *message).collect();
        seen.sort_unstable();
        prop_assert!(seen.windows(2).all(|w| w[0] != w[1]), "a hop was taken twice");
        prop_assert_eq!(results.messages, seen.len() as u64 + in_wires as u64);
    }

    #[test]
    fn occupancy_over_time_is_the_sum_of_residences(graph in graph()) {
        let results = run(&graph, EngineOptions::default(), &FOREVER);
        for node in &results.statistics {
            // Little's law: exact for nodes that are empty at the end.
            if node.counter("held") == Some(0) {
                prop_assert_eq!(node.counter("level"), node.counter("residence"));
            }
        }
    }

    #[test]
    fn activity_sums_to_the_cycles_that_passed(graph in graph(), until in 0..2000u64) {
        let limits = RunLimits { until: Some(Tick(until)), ..FOREVER };
        let (mut simulation, _) = build(&graph, EngineOptions::default());
        simulation.run(&limits);
        for (number, node) in graph.nodes.iter().enumerate() {
            let elapsed = simulation.now().0 / simulation.time().period(node.clock) + 1;
            prop_assert_eq!(simulation.activity(number).iter().sum::<u64>(), elapsed);
        }
    }

    #[test]
    fn a_run_in_pieces_is_the_same_run(
        graph in graph(),
        mut cuts in prop::collection::vec(0..20_000u64, 0..6),
        sleeping in any::<bool>(),
    ) {
        let options = EngineOptions { sleeping, ..EngineOptions::default() };
        let whole = run(&graph, options, &FOREVER);
        let (mut simulation, log) = build(&graph, options);
        cuts.sort_unstable();
        for until in cuts.into_iter().filter(|c| *c < whole.now.0) {
            let outcome = simulation.run(&RunLimits { until: Some(Tick(until)), ..FOREVER });
            prop_assert_eq!(outcome, Outcome::Limit);
            prop_assert_eq!(simulation.now(), Tick(until));
        }
        let outcome = simulation.run(&FOREVER);
        prop_assert_eq!(whole, results(&simulation, outcome, &log));
    }

    #[test]
    fn a_run_saved_and_loaded_into_fresh_systems_is_the_same_run(
        graph in graph(),
        mut cuts in prop::collection::vec(0..3_000u64, 1..4),
        saving in options(),
        loading in options(),
    ) {
        let whole = run(&graph, saving, &FOREVER);
        let (mut used, _) = build(&graph, loading);
        used.run(&FOREVER);
        let (mut simulation, mut log) = build(&graph, saving);
        let passed = Log::default();
        cuts.sort_unstable();
        for until in cuts.into_iter().filter(|c| *c < whole.now.0) {
            let outcome = simulation.run(&RunLimits { until: Some(Tick(until)), ..FOREVER });
            prop_assert_eq!(outcome, Outcome::Limit);
            let checkpoint = simulation.save().unwrap();
            prop_assert_eq!(checkpoint.now(), Tick(until));
            used.load(&checkpoint).unwrap();
            prop_assert_eq!(&used.save().unwrap(), &checkpoint);
            log.all().into_iter().for_each(|entry| passed.push(entry));
            (simulation, log) = build(&graph, loading);
            simulation.load(&checkpoint).unwrap();
            prop_assert_eq!(&simulation.save().unwrap(), &checkpoint);
        }
        let outcome = simulation.run(&FOREVER);
        log.all().into_iter().for_each(|entry| passed.push(entry));
        prop_assert_eq!(whole, results(&simulation, outcome, &passed));
    }
}
