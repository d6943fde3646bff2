//! Tests of the parts of the kit that check nothing themselves.

use proptest::prelude::*;
use warpweave_framework::verify::script::{
    delay, expect, expect_nothing, parallel, send, sequence, try_run,
};
use warpweave_framework::verify::{Contract, Coverage, Matching, Rig, check_wire, strategies};
use warpweave_framework::{
    Bundle, Component, Context, EngineOptions, InPort, Instrumented, Link, Next, Order, OutPort,
    Outcome, Ports, Stateful, SystemBuilder, TestBench,
};

use crate::devices::{Buffer, Bug};

fn bench() -> TestBench {
    let mut bench = TestBench::new();
    bench.add("dut", Buffer::new(4, 2, Bug::None));
    bench
}

#[test]
fn a_script_runs_steps_in_turn_and_side_by_side() {
    let mut bench = bench();
    let (input, output) = (
        bench.source::<u64>("dut.input"),
        bench.sink::<u64>("dut.output"),
    );
    let script = sequence([
        send(&input, 1),
        expect(&output, 1, 6),
        parallel([
            sequence([delay(10), send(&input, 2)]),
            sequence([expect_nothing(&output, 10), expect(&output, 2, 6)]),
        ]),
    ]);
    assert_eq!(try_run(&mut bench, script), Ok(()));
}

#[test]
fn a_script_says_what_came_instead() {
    let mut bench = bench();
    let (input, output) = (
        bench.source::<u64>("dut.input"),
        bench.sink::<u64>("dut.output"),
    );
    let wrong = sequence([send(&input, 1), expect(&output, 2, 9)]);
    let problem = try_run(&mut bench, wrong).unwrap_err();
    assert_eq!(problem, "expected 2, got 1 in cycle 3");
    let late = try_run(&mut bench, expect(&output, 2, 9)).unwrap_err();
    assert!(
        late.starts_with("expected 2, but nothing arrived"),
        "{late}"
    );
    let sent = sequence([send(&input, 3), expect_nothing(&output, 9)]);
    let problem = try_run(&mut bench, sent).unwrap_err();
    assert!(problem.starts_with("expected nothing, got 3"), "{problem}");
}

#[test]
fn coverage_counts_what_passes_a_port() {
    let mut bench = bench();
    let input = bench.source::<u64>("dut.input");
    let _output = bench.sink::<u64>("dut.output");
    let coverage = Coverage::new("numbers", ["even", "odd", "huge"]);
    let classify = |n: &u64| Some(if n & 1 == 0 { "even" } else { "odd" });
    let watch = coverage.watch(bench.simulation(), "dut.output", classify);
    watch.unwrap();
    (0..5).for_each(|n| input.send(n));
    bench.run_until_quiet();
    assert_eq!(
        (coverage.count("even"), coverage.count("odd")),
        (Some(3), Some(2))
    );
    assert_eq!(coverage.missing(), ["huge"]);
    let pairs = Coverage::cross("pairs", &["a", "b"], &["x", "y"]);
    assert_eq!(pairs.missing(), ["a/x", "a/y", "b/x", "b/y"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_right_buffer_keeps_the_contract(traffic in strategies::traffic(40), depth in 1..6usize) {
        let contract = Contract::new(|rig: &mut Rig| {
            rig.add("dut", Buffer::new(depth, 2, Bug::None));
            rig.drive("dut.input", |n| n);
            rig.expect("dut.output", Matching::InOrder, |n| n);
        });
        prop_assert_eq!(contract.run_with(traffic), Ok(()));
    }

    #[test]
    fn stalls_anywhere_in_any_system_lose_nothing(
        topology in strategies::topology(7, 4),
        arrivals in strategies::arrivals(20, 6),
        seed: u64,
        stalls in 0..14u32,
    ) {
        let plain = flood(&topology, &arrivals, seed, 0, EngineOptions::default());
        let shuffled = EngineOptions {
 order: Order::Shuffled { seed }, sleeping: false, ..EngineOptions::default() };
        prop_assert_eq!(&plain, &flood(&topology, &arrivals, seed, 0, shuffled));
        let stalled = flood(&topology, &arrivals, seed, stalls, EngineOptions::default());
        let counts = |runs: &[(u64, u64)]| runs.iter().map(|(n, _)| *n).collect::<Vec<_>>();
        prop_assert_eq!(counts(&plain), counts(&stalled));
    }
}

/// Forwards every message to every output.
struct Node {
    inputs: Vec<InPort<u64>>,
    outputs: Vec<OutPort<u64>>,
    messages: u64,
    last: u64,
}

impl Bundle for Node {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.inputs("in", &mut self.inputs);
        ports.outputs("out", &mut self.outputs);
    }
}

impl Component for Node {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        loop {
            let readable = self.inputs.iter().position(|i| i.peek(ctx).is_some());
            let Some(input) = readable else {
                return Next::Message;
            };
            // Every output is checked, so that each wakes the node.
            let mut full = 0;
            for output in &mut self.outputs {
                full += u32::from(!output.can_send(ctx));
            }
            if full > 0 {
                return Next::Credit;
            }
            let message = self.inputs[input].pop(ctx).unwrap();
            for output in &mut self.outputs {
                output.send(ctx, message);
            }
            self.messages += 1;
            self.last = ctx.now().0;
        }
    }
}

impl Stateful for Node {}

impl Instrumented for Node {
    fn statistics(&self, statistics: &mut warpweave_framework::Statistics<'_>) {
        statistics.counter("messages", "messages", "messages passed on", self.messages);
        statistics.counter("last", "ticks", "time of the last one", self.last);
    }
}

/// Offers messages at the first node of a system and returns the count of each node.
fn flood(
    topology: &strategies::Topology,
    arrivals: &[u64],
    seed: u64,
    stalls: u32,
    options: EngineOptions,
) -> Vec<(u64, u64)> {
    let mut builder = SystemBuilder::new();
    let clocks: Vec<_> = topology
        .clocks
        .iter()
        .enumerate()
        .map(|(i, f)| builder.clock(format!("clock{i}"), *f))
        .collect();
    builder.add("source", clocks[topology.nodes[0]], Timed::new(arrivals));
    builder.connect("source.out", "node[0].in[0]", Link::latency(1));
    for (n, clock) in topology.nodes.iter().enumerate() {
        let inputs = topology.inputs_of(n).count() + usize::from(n == 0);
        let node = Node {
            inputs: (0..inputs).map(|_| InPort::new()).collect(),
            outputs: topology.outputs_of(n).map(|_| OutPort::new()).collect(),
            messages: 0,
            last: 0,
        };
        builder.add(format!("node[{n}]"), clocks[*clock], node);
    }
    let mut names = Vec::new();
    for (w, (from, to, link)) in topology.wires.iter().enumerate() {
        let out = topology.outputs_of(*from).position(|i| i == w).unwrap();
        let into = topology.inputs_of(*to).position(|i| i == w).unwrap();
        let from = format!("node[{from}].out[{out}]");
        builder.connect(&from, format!("node[{to}].in[{into}]"), *link);
        names.push(from);
    }
    let mut simulation = builder.elaborate().unwrap();
    simulation.set_options(options);
    let checks: Vec<_> = names
        .iter()
        .map(|from| check_wire::<u64>(&mut simulation, from).unwrap())
        .collect();
    if stalls > 0 {
        simulation.stall(seed, stalls, 5, |_| true);
    }
    let outcome = simulation.run(&warpweave_framework::RunLimits::default());
    assert_eq!(outcome, Outcome::Done);
    for check in checks {
        check.finish().unwrap();
    }
    let statistics = simulation.statistics();
    let nodes = statistics.iter().map(|s| {
        let value = |name| s.counter(name).unwrap();
        (value("messages"), value("last"))
    });
    nodes.collect()
}

/// Component that sends numbers at given cycles.
#[derive(warpweave_framework::Statistics)]
struct Timed {
    output: OutPort<u64>,
    cycles: Vec<u64>,
    sent: usize,
}

impl Timed {
    fn new(cycles: &[u64]) -> Self {
        Self {
            output: OutPort::new(),
            cycles: cycles.to_vec(),
            sent: 0,
        }
    }
}

impl Bundle for Timed {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("out", &mut self.output);
    }
}

impl Component for Timed {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while let Some(cycle) = self.cycles.get(self.sent) {
            if *cycle > ctx.cycle() {
                return Next::Until(*cycle);
            }
            if !self.output.can_send(ctx) {
                return Next::Credit;
            }
            self.output.send(ctx, self.sent as u64);
            self.sent += 1;
        }
        Next::Idle
    }
}

impl Stateful for Timed {}
