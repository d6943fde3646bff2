//! Random systems give the same bits however they are divided and on how many threads they run.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{
    Component, Context, Cycle, EngineOptions, Frequency, InPort, InstanceStatistics, Link, Next,
    Observed, Order, OutPort, Outcome, Ports, Probe, ProbeSink, Published, RunLimits, Simulation,
    Statistics, SystemBuilder, Tick, Width,
};

use crate::parts::{Drain, Log, one_clock};

/// A random system.
#[derive(Clone, Debug)]
struct System {
    clocks: Vec<(u64, u64)>,
    nodes: Vec<Spec>,
    wires: Vec<(usize, usize, Link)>,
    /// Writer, reader, latency.
    broadcasts: Vec<(usize, usize, u32)>,
}

/// What a node does.
#[derive(Clone, Debug)]
struct Spec {
    clock: usize,
    room: usize,
    service: Cycle,
    /// Takes nothing in cycles whose bit is set.
    stall: u64,
    births: Vec<Cycle>,
    /// Cycles between background wake-ups; 0 for none.
    background: Cycle,
    /// Background wake-ups that bear a message.
    background_births: u64,
    /// Takes an obligation at the start and discharges it with this message taken.
    obligation: Option<u64>,
    /// Fails with this message taken.
    failure: Option<u64>,
}

type Entry = (u64, Cycle, u64, u64);

struct Node {
    spec: Spec,
    number: u64,
    inputs: Vec<InPort<u64>>,
    outputs: Vec<OutPort<u64>>,
    mode: Published<u64>,
    modes: Vec<Observed<u64>>,
    births: VecDeque<Cycle>,
    next_background: Cycle,
    born: u64,
    taken: u64,
    held: VecDeque<(Cycle, u64)>,
    started: bool,
    /// Number of the node, cycle, what, value.
    log: Log<Entry>,
}

fn mix(value: u64) -> u64 {
    let z = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z ^ z >> 29
}

impl Node {
    fn note(&self, ctx: &Context<'_>, what: u64, value: u64) {
        self.log.push((self.number, ctx.cycle(), what, value));
    }

    fn bear(&mut self, cycle: Cycle) {
        let message = (self.number << 20 | self.born) << 8;
        self.born += 1;
        let hops = mix(message) % 12;
        self.held
            .push_back((cycle + self.spec.service, message | hops));
    }

    fn deliver(&mut self, ctx: &mut Context<'_>) {
        while let Some(&(ready, message)) = self.held.front() {
            let ports = self.outputs.len().max(1) as u64;
            let port = (mix(message) % ports) as usize;
            if ready > ctx.cycle() || self.outputs[port].try_send(ctx, message).is_err() {
                return;
            }
            self.held.pop_front();
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
                self.take(ctx, message);
            }
        }
        None
    }

    fn take(&mut self, ctx: &mut Context<'_>, message: u64) {
        self.taken += 1;
        self.note(ctx, 1, message);
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
        if !message.is_multiple_of(256) && !self.outputs.is_empty() {
            self.held
                .push_back((ctx.cycle() + self.spec.service, message - 1));
        }
    }
}

impl Component for Node {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.inputs("in", &mut self.inputs);
        ports.outputs("out", &mut self.outputs);
        ports.optional(|ports| ports.published("mode", &mut self.mode));
        for (i, mode) in self.modes.iter_mut().enumerate() {
            ports.observed(&format!("modes[{i}]"), mode);
        }
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let cycle = ctx.cycle();
        if !self.started {
            self.started = true;
            if self.spec.obligation.is_some() {
                ctx.take_obligation();
            }
        }
        if self.spec.background > 0 && cycle >= self.next_background {
            if cycle > 0 {
                let seen = self.modes.iter().map(|m| m.get(ctx)).sum();
                self.note(ctx, 2, seen);
                if self.spec.background_births > 0 && !self.outputs.is_empty() {
                    self.spec.background_births -= 1;
                    self.bear(cycle);
                }
            }
            self.next_background = cycle + self.spec.background;
            ctx.wake_in_background(self.next_background);
        }
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
            self.held.front().map(|(ready, _)| *ready),
            self.births.front().copied().filter(|_| room),
        ];
        let timer = timers.into_iter().flatten().filter(|t| *t > cycle).min();
        match timer {
            Some(at) => Next::Until(at),
            None if self.held.is_empty() => Next::Message,
            None => Next::Credit,
        }
    }

    fn statistics(&self, s: &mut Statistics<'_>) {
        s.counter("born", "messages", "Messages born here.", self.born);
        s.counter("taken", "messages", "Messages taken here.", self.taken);
        s.counter("cycle", "cycles", "The last cycle.", s.cycle());
    }
}

fn build(system: &System, options: EngineOptions) -> (Simulation, Log<Entry>) {
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
            born: 0,
            taken: 0,
            held: VecDeque::new(),
            started: false,
            log: log.clone(),
        };
        builder.add(format!("n{i}"), clocks[spec.clock], node);
    }
    let mut simulation = builder.elaborate().unwrap();
    simulation.set_options(options);
    (simulation, log)
}

struct Recorder(Log<(Tick, u32, String)>);

impl ProbeSink for Recorder {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        self.0.push((tick, component, format!("{probe:?}")));
    }
}

/// Everything a run gives back.
#[derive(Debug, PartialEq)]
struct Results {
    outcomes: Vec<(Outcome, Tick)>,
    messages: u64,
    statistics: Vec<InstanceStatistics>,
    activity: Vec<[u64; 5]>,
    /// In evaluation order only per node, so sorted.
    log: Vec<Entry>,
    /// In order.
    probes: Vec<(Tick, u32, String)>,
}

/// Runs in pieces that end at `cuts`, then to the end; `each` is called between pieces.
fn run(
    system: &System,
    options: EngineOptions,
    cuts: &[u64],
    silence: Option<u64>,
    each: &mut dyn FnMut(&mut Simulation),
) -> Results {
    let (mut simulation, log) = build(system, options);
    let probes = Log::default();
    simulation.set_probe_sink(Some(Box::new(Recorder(probes.clone()))));
    let mut outcomes = Vec::new();
    for until in cuts.iter().map(|c| Some(Tick(*c))).chain([None]) {
        let limits = RunLimits {
            until,
            silence,
            interrupt: None,
        };
        let outcome = simulation.run(&limits);
        let over = outcome != Outcome::Limit;
        outcomes.push((outcome, simulation.now()));
        if over {
            break;
        }
        each(&mut simulation);
    }
    let mut log = log.all();
    log.sort_by_key(|(node, ..)| *node);
    Results {
        outcomes,
        messages: simulation.messages(),
        statistics: simulation.statistics(),
        activity: (0..system.nodes.len())
            .map(|n| simulation.activity(n))
            .collect(),
        log,
        probes: probes.all(),
    }
}

/// Sends one message at each of these cycles and is busy between them.
struct Restless {
    output: OutPort<u64>,
    at: Vec<Cycle>,
}

impl Component for Restless {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.at.contains(&ctx.cycle()) {
            self.output.send(ctx, ctx.cycle());
        }
        if self.at.iter().all(|at| *at <= ctx.cycle()) {
            Next::Idle
        } else {
            Next::Busy
        }
    }
}

#[test]
fn patience_ends_at_the_same_tick_in_any_division() {
    for silence in 1..20 {
        for pause in 1..25 {
            let ends = [(1, true), (2, true), (2, false)].map(|(partitions, sleeping)| {
                let (mut builder, clock) = one_clock();
                let output = OutPort::new();
                let at = vec![3, 3 + pause];
                builder.add("restless", clock, Restless { output, at });
                let (drain, received) = Drain::<u64>::every(1);
                builder.add("drain", clock, drain);
                builder.connect("restless.output", "drain.input", Link::latency(8));
                let mut simulation = builder.elaborate().unwrap();
                simulation.set_options(EngineOptions {
                    sleeping,
                    ..options(partitions, 1)
                });
                let outcome = simulation.run(&RunLimits {
                    silence: Some(silence),
                    ..RunLimits::default()
                });
                (outcome, simulation.now(), received.all())
            });
            let (outcome, now, _) = &ends[0];
            // Silent are three cycles before the first message, those between the two, and eight
            // while the second is on its way.
            let end = match silence {
                ..3 => Some(silence),
                _ if pause > silence => Some(3 + silence),
                ..8 => Some(3 + pause + silence),
                _ => None,
            };
            assert_eq!(matches!(outcome, Outcome::Livelock(_)), end.is_some());
            assert!(end.is_none_or(|end| *now == Tick(end)), "{now:?}");
            assert_eq!(
                ends[1], ends[0],
                "two partitions, silence {silence}, pause {pause}"
            );
            assert_eq!(
                ends[2], ends[0],
                "and awake, silence {silence}, pause {pause}"
            );
        }
    }
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

fn system() -> impl Strategy<Value = System> {
    let clock = prop_oneof![
        Just((1_400_000_000, 1)),
        Just((924_000_000, 1)),
        Just((28_000_000_000, 15)),
        Just((700_000_000, 1)),
    ];
    (prop::collection::vec(clock, 1..4), 2..12usize).prop_flat_map(|(clocks, nodes)| {
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

fn options(partitions: usize, threads: usize) -> EngineOptions {
    EngineOptions {
        partitions,
        threads,
        ..EngineOptions::default()
    }
}

fn same(a: &Results, b: &Results, what: &str) -> Result<(), TestCaseError> {
    // The small things first: they say more when they differ.
    prop_assert_eq!(&a.outcomes, &b.outcomes, "{}", what);
    prop_assert_eq!(&a.log, &b.log, "{}", what);
    prop_assert_eq!(&a.activity, &b.activity, "{}", what);
    prop_assert_eq!(&a.statistics, &b.statistics, "{}", what);
    prop_assert_eq!(a.messages, b.messages, "{}", what);
    prop_assert_eq!(&a.probes, &b.probes, "{}", what);
    Ok(())
}

fn cuts() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..20_000u64, 0..5).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn partitions_change_nothing(
        system in system(),
        cuts in cuts(),
        silence in prop::option::of(1..3000u64),
        seed in any::<u64>(),
    ) {
        let serial = run(&system, options(1, 1), &cuts, silence, &mut |_| {});
        for partitions in [2, 3, 4, 8] {
            let other = run(&system, options(partitions, 1), &cuts, silence, &mut |_| {});
            same(&serial, &other, &format!("{partitions} partitions"))?;
        }
        for sleeping in [true, false] {
            let shuffled = EngineOptions { order: Order::Shuffled { seed }, sleeping, ..options(3, 1) };
            let mut other = run(&system, shuffled, &cuts, silence, &mut |_| {});
            // In the order of evaluation, so another one.
            other.probes = serial.probes.clone();
            same(&serial, &other, &format!("3 partitions, shuffled, sleeping {sleeping}"))?;
        }
    }

    #[test]
    fn dividing_anew_between_runs_changes_nothing(system in system(), cuts in cuts()) {
        let serial = run(&system, options(1, 1), &cuts, None, &mut |_| {});
        let mut partitions = 3;
        let other = run(&system, options(3, 1), &cuts, None, &mut |simulation| {
            partitions = partitions % 5 + 1;
            simulation.set_options(options(partitions, 1));
        });
        same(&serial, &other, "divided anew")?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn threads_change_nothing(system in system(), cuts in cuts()) {
        let serial = run(&system, options(1, 1), &cuts, None, &mut |_| {});
        for (partitions, threads) in [(2, 2), (3, 2), (3, 3), (4, 4), (8, 8)] {
            let other = run(&system, options(partitions, threads), &cuts, None, &mut |_| {});
            same(&serial, &other, &format!("{partitions} partitions, {threads} threads"))?;
        }
    }
}
