//! Tests of the progress criteria, and of the detection of runs without progress.

use warpweave_framework::{
    Bundle, ClockId, Component, Context, Cycle, EngineOptions, Frequency, InPort, Link, Next,
    Order, OutPort, Outcome, Ports, RunLimits, Simulation, State, Stateful, Statistics,
    SystemBuilder, Tick,
};

use crate::parts::{Drain, Flood, Scripted, Stubborn, ghz, one_clock};

/// Works every `every` cycles, up to `last`, and is evaluated in every cycle.
#[derive(Statistics)]
struct Worker {
    every: Cycle,
    last: Cycle,
}

impl Bundle for Worker {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Worker {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() >= self.last {
            return Next::Idle;
        }
        if ctx.cycle().is_multiple_of(self.every) {
            ctx.made_progress();
        }
        Next::Busy
    }
}

impl Stateful for Worker {
    fn state(&mut self, _state: &mut State<'_>) {}
}

/// Spins forever without progress, and needs no other cycle than the next.
#[derive(Statistics)]
struct Spinner {
    output: OutPort<u64>,
}

impl Bundle for Spinner {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl Component for Spinner {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        Next::Until(ctx.cycle() + 1)
    }
}

impl Stateful for Spinner {
    fn state(&mut self, _state: &mut State<'_>) {}
}

/// Component that takes every message that arrives.
#[derive(Statistics)]
struct Sink {
    input: InPort<u64>,
}

impl Bundle for Sink {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for Sink {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while self.input.pop(ctx).is_some() {}
        Next::Message
    }
}

impl Stateful for Sink {
    fn state(&mut self, _state: &mut State<'_>) {}
}

/// Sets a timer for a cycle, then another one.
#[derive(Statistics)]
struct Sleeper {
    first: Cycle,
    second: Cycle,
}

impl Bundle for Sleeper {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Sleeper {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        match ctx.cycle() {
            now if now < self.first => Next::Until(self.first),
            now if now < self.second => Next::Until(self.second),
            _ => Next::Idle,
        }
    }
}

impl Stateful for Sleeper {
    fn state(&mut self, _state: &mut State<'_>) {}
}

fn silence(ticks: u64) -> RunLimits {
    RunLimits {
        silence: Some(ticks),
        ..RunLimits::default()
    }
}

/// Returns all engine options that must give the same result.
fn ways() -> Vec<EngineOptions> {
    let mut ways = Vec::new();
    for sleeping in [true, false] {
        for order in [Order::Added, Order::Shuffled { seed: 7 }] {
            for (partitions, threads) in [(1, 1), (2, 1), (2, 2), (4, 4), (8, 8)] {
                ways.push(EngineOptions {
                    sleeping,
                    order,
                    partitions,
                    threads,
                    ..EngineOptions::default()
                });
            }
        }
    }
    ways
}

/// Returns the outcome and time of the run. Checks that they are equal with all options, in pieces,
/// and after resuming in the middle.
fn ended(system: impl Fn() -> SystemBuilder, limits: &RunLimits) -> (Outcome, Tick) {
    let build = |options| {
        let mut simulation = system().elaborate().unwrap();
        simulation.set_options(options);
        simulation
    };
    let finish = |simulation: &mut Simulation| {
        let outcome = simulation.run(limits);
        (outcome, simulation.now())
    };
    let expected = finish(&mut build(EngineOptions::default()));
    for options in ways() {
        assert_eq!(finish(&mut build(options)), expected, "{options:?}");
        let mut simulation = build(options);
        for until in (1..expected.1.0).step_by(expected.1.0 as usize / 7 + 1) {
            let piece = RunLimits {
                until: Some(Tick(until)),
                ..limits.clone()
            };
            assert_eq!(simulation.run(&piece), Outcome::Limit, "{options:?}");
            let saved = simulation.save().unwrap();
            simulation = build(options);
            simulation.load(&saved).unwrap();
        }
        assert_eq!(finish(&mut simulation), expected, "resumed, {options:?}");
    }
    expected
}

fn livelock_at(found: &(Outcome, Tick), tick: u64) {
    assert!(matches!(found.0, Outcome::Livelock(_)), "{found:?}");
    assert_eq!(found.1, Tick(tick));
}

/// Adds two components in two clocks to those under test, so that there is something to partition.
fn with_spinner(add: impl Fn(&mut SystemBuilder, ClockId)) -> SystemBuilder {
    let (mut builder, clock) = one_clock();
    let output = OutPort::new();
    builder.add("spinner", clock, Spinner { output });
    let slow = builder.clock("slow", Frequency::new(300_000_000, 1).unwrap());
    let input = InPort::new();
    builder.add("sink", slow, Sink { input });
    builder.connect("spinner.output", "sink.input", Link::latency(5));
    add(&mut builder, clock);
    builder
}

#[test]
fn work_that_sends_nothing_is_progress() {
    let (every, last) = (90, 1000);
    let system = || with_spinner(|b, clock| b.add("it", clock, Worker { every, last }));
    let ticks = system().elaborate().unwrap().time().period(0);
    let found = ended(system, &silence(100 * ticks));
    livelock_at(&found, (990 + 100) * ticks);
    let found = ended(system, &silence(80 * ticks));
    livelock_at(&found, 80 * ticks);
}

#[test]
fn a_timer_postpones_the_verdict_and_counts_when_it_fires() {
    let (first, second) = (700, 1500);
    let system = || with_spinner(|b, clock| b.add("it", clock, Sleeper { first, second }));
    let ticks = system().elaborate().unwrap().time().period(0);
    let found = ended(system, &silence(100 * ticks));
    livelock_at(&found, (second + 100) * ticks);
}

#[test]
fn a_timer_alone_is_waited_for() {
    let system = || {
        let (mut builder, clock) = one_clock();
        let (component, _) = Scripted::new([Next::Until(5_000_000), Next::Idle]);
        builder.add("it", clock, component);
        builder
    };
    let mut simulation = system().elaborate().unwrap();
    assert_eq!(simulation.run(&silence(1000)), Outcome::Done);
    assert_eq!(simulation.now(), Tick(5_000_000));
}

#[test]
fn a_timer_that_never_comes_is_not_waited_for() {
    let system = || {
        let never = Sleeper {
            first: Cycle::MAX,
            second: Cycle::MAX,
        };
        let (first, second) = (50, 60);
        with_spinner(|b, clock| {
            b.add("never", clock, Sleeper { ..never });
            b.add("it", clock, Sleeper { first, second });
        })
    };
    let ticks = system().elaborate().unwrap().time().period(0);
    livelock_at(&ended(system, &silence(100 * ticks)), 160 * ticks);
}

#[test]
fn background_timers_are_no_progress() {
    let (mut builder, clock) = one_clock();
    let (mut component, _) = Scripted::new(std::iter::repeat_n(Next::Message, 1_000_000));
    component.background = Some(10);
    builder.add("refresh", clock, component);
    let output = OutPort::new();
    builder.add("spinner", clock, Spinner { output });
    let (drain, _) = Drain::<u64>::every(1);
    builder.add("drain", clock, drain);
    builder.connect("spinner.output", "drain.input", Link::latency(1));
    let mut simulation = builder.elaborate().unwrap();
    let found = (simulation.run(&silence(500)), simulation.now());
    livelock_at(&found, 500);
}

#[test]
fn spinning_with_a_timer_for_the_next_cycle_is_a_livelock() {
    let system = || with_spinner(|_, _| ());
    livelock_at(&ended(system, &silence(1000)), 1000);
}

#[test]
fn a_message_on_a_longer_way_than_patience_is_no_livelock() {
    // One slot: each message waits for the credit of the one before.
    let link = Link::latency(3000).credit_latency(2000).capacity(1);
    for options in ways() {
        let (mut builder, clock) = one_clock();
        builder.add("flood", clock, Flood::of(3, |n| n).0);
        let (drain, received) = Drain::<u64>::every(1);
        builder.add("drain", clock, drain);
        builder.connect("flood.output", "drain.input", link);
        let mut simulation = builder.elaborate().unwrap();
        simulation.set_options(options);
        assert_eq!(simulation.run(&silence(100)), Outcome::Done, "{options:?}");
        assert_eq!(simulation.now(), Tick(13_000));
        assert_eq!(received.all().len(), 3);
    }
}

#[test]
fn a_closed_circle_beside_a_timer_is_a_deadlock_when_the_timer_has_fired() {
    let system = || {
        let (mut builder, clock) = one_clock();
        for name in ["ping", "pong"] {
            let to_send = 5;
            let stubborn = Stubborn {
                to_send,
                ..Stubborn::default()
            };
            builder.add(name, clock, stubborn);
        }
        builder.connect("ping.output", "pong.input", Link::latency(1).capacity(2));
        builder.connect("pong.output", "ping.input", Link::latency(1).capacity(3));
        let (first, second) = (100, 5000);
        builder.add("timer", clock, Sleeper { first, second });
        builder
    };
    let mut simulation = system().elaborate().unwrap();
    let outcome = simulation.run(&silence(10));
    let Outcome::Deadlock(report) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(report.now, Tick(5000));
    assert_eq!(report.cycle.len(), 2);
}

#[test]
fn a_process_that_waits_for_a_time_is_waited_for() {
    let mut builder = SystemBuilder::new();
    let clock = builder.clock("core", ghz(1));
    let output = OutPort::new();
    builder.add("spinner", clock, Spinner { output });
    builder.add("drain", clock, Drain::<u64>::every(1).0);
    builder.connect("spinner.output", "drain.input", Link::latency(1));
    let world = builder.world();
    let patient = world.clone();
    world.process("patient", async move {
        for _ in 0..3 {
            patient.ticks(1000).await;
        }
    });
    let mut simulation = builder.elaborate().unwrap();
    let found = (simulation.run(&silence(50)), simulation.now());
    livelock_at(&found, 3050);
}
