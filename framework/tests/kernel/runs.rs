//! Tests of how runs end and continue, and of the work that keeps them alive.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{
    Bundle, Component, Context, Cycle, EngineOptions, InPort, Link, Next, OutPort, Outcome, Ports,
    Reason, RunLimits, Simulation, Stateful, Statistics, TestBench, Tick,
};

use crate::parts::{Drain, Flood, Log, Scripted, one_clock};

fn until(tick: u64) -> RunLimits {
    RunLimits {
        until: Some(Tick(tick)),
        ..RunLimits::default()
    }
}

fn alone(component: impl Component + 'static) -> Simulation {
    let (mut builder, clock) = one_clock();
    builder.add("it", clock, component);
    builder.elaborate().unwrap()
}

#[test]
fn busy_timers_and_far_timers_fire_at_their_cycles() {
    let (component, evaluated) = Scripted::new([
        Next::Busy,
        Next::Until(64),
        Next::Until(129),
        Next::Until(100_000),
        Next::Until(3),
        Next::Message,
    ]);
    let mut simulation = alone(component);
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    // A time that has passed counts as the next cycle.
    assert_eq!(evaluated.all(), [0, 1, 64, 129, 100_000, 100_001]);
}

#[test]
fn a_time_beyond_the_horizon_never_comes() {
    let (component, evaluated) = Scripted::new([Next::Until(Cycle::MAX)]);
    let mut simulation = alone(component);
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(evaluated.all(), [0]);
}

#[test]
fn a_limit_in_the_past_does_not_turn_time_back() {
    let (component, evaluated) = Scripted::new([Next::Until(10), Next::Until(20)]);
    let mut simulation = alone(component);
    assert_eq!(simulation.run(&until(15)), Outcome::Limit);
    assert_eq!(simulation.run(&until(5)), Outcome::Limit);
    assert_eq!(simulation.now(), Tick(15));
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(evaluated.all(), [0, 10, 20]);
}

#[test]
fn the_edge_at_the_limit_is_evaluated() {
    let (component, evaluated) = Scripted::new([Next::Until(10), Next::Until(11)]);
    let mut simulation = alone(component);
    assert_eq!(simulation.run(&until(10)), Outcome::Limit);
    assert_eq!(evaluated.all(), [0, 10]);
    assert_eq!(simulation.activity(0).iter().sum::<u64>(), 11);
}

#[test]
fn no_cycle_has_passed_before_the_first_run() {
    let (component, _) = Scripted::new([]);
    let mut simulation = alone(component);
    assert_eq!(simulation.activity(0), [0; 5]);
    simulation.run(&RunLimits::default());
    assert_eq!(simulation.activity(0).iter().sum::<u64>(), 1);
}

/// Wakes itself in the background every `every` cycles, works in the foreground until `until`.
fn refresher(every: Cycle, until: Cycle) -> (Scripted, Log<Cycle>) {
    let (mut component, evaluated) = Scripted::new([Next::Until(until)]);
    component.background = Some(every);
    (component, evaluated)
}

#[test]
fn background_wake_ups_fire_at_their_time_while_the_run_lives() {
    for sleeping in [true, false] {
        let (component, evaluated) = refresher(10, 35);
        let mut simulation = alone(component);
        simulation.set_options(EngineOptions {
            sleeping,
            ..EngineOptions::default()
        });
        assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
        assert_eq!(simulation.now(), Tick(35));
        if sleeping {
            assert_eq!(evaluated.all(), [0, 10, 20, 30, 35]);
        }
    }
}

#[test]
fn background_wake_ups_alone_do_not_keep_a_run_alive() {
    let (mut component, evaluated) = Scripted::new([]);
    component.background = Some(10);
    let mut simulation = alone(component);
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(evaluated.all(), [0]);
}

#[test]
fn a_bench_that_lets_time_pass_lets_background_work_happen() {
    let (mut component, evaluated) = Scripted::new([]);
    component.background = Some(10);
    let mut bench = TestBench::new();
    bench.add("it", component);
    bench.step(25);
    bench.step(10);
    assert_eq!(evaluated.all(), [0, 10, 20, 30]);
    assert_eq!(bench.cycle(), 35);
}

/// Takes an obligation at the start and discharges it at `end`, but stays busy.
#[derive(Statistics)]
struct Worker {
    end: Cycle,
    log: Log<Cycle>,
}

impl Bundle for Worker {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Worker {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.log.push(ctx.cycle());
        if ctx.cycle() == 0 {
            ctx.take_obligation();
        }
        if ctx.cycle() == self.end {
            ctx.discharge_obligation();
        }
        Next::Busy
    }
}

impl Stateful for Worker {}

#[test]
fn the_last_obligation_ends_the_run_at_its_tick() {
    let (mut builder, clock) = one_clock();
    let logs: [Log<Cycle>; 2] = [Log::default(), Log::default()];
    for (i, end) in [5, 9].into_iter().enumerate() {
        let log = logs[i].clone();
        builder.add(format!("w{i}"), clock, Worker { end, log });
    }
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(simulation.now(), Tick(9));
    // Everybody's evaluation of that tick took place.
    assert_eq!(logs[0].all().last(), Some(&9));
    assert_eq!(logs[1].all().last(), Some(&9));
}

#[test]
fn work_without_messages_is_a_livelock() {
    for sleeping in [true, false] {
        let (component, _) = Scripted::new(std::iter::repeat_n(Next::Busy, 1000));
        let mut simulation = alone(component);
        simulation.set_options(EngineOptions {
            sleeping,
            ..EngineOptions::default()
        });
        let limits = RunLimits {
            silence: Some(100),
            ..RunLimits::default()
        };
        let outcome = simulation.run(&limits);
        assert!(matches!(outcome, Outcome::Livelock(_)), "{outcome:?}");
        assert_eq!(simulation.now(), Tick(100));
    }
}

#[test]
fn messages_are_progress() {
    let (mut builder, clock) = one_clock();
    builder.add("flood", clock, Flood::of(500, |n| n).0);
    builder.add("drain", clock, Drain::<u64>::every(1).0);
    builder.connect("flood.output", "drain.input", Link::latency(1));
    let mut simulation = builder.elaborate().unwrap();
    let limits = RunLimits {
        silence: Some(2),
        ..RunLimits::default()
    };
    assert_eq!(simulation.run(&limits), Outcome::Done);
}

#[test]
fn an_interrupt_stops_a_run_that_can_go_on() {
    let (component, evaluated) = Scripted::new(std::iter::repeat_n(Next::Busy, 5000));
    let mut simulation = alone(component);
    let limits = RunLimits {
        interrupt: Some(Arc::new(AtomicBool::new(true))),
        ..RunLimits::default()
    };
    assert_eq!(simulation.run(&limits), Outcome::Interrupted);
    assert!(evaluated.all().len() <= 1024);
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(evaluated.all(), (0..=5000).collect::<Vec<_>>());
}

#[derive(Statistics)]
struct Accuser;

impl Bundle for Accuser {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Accuser {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() == 3 {
            ctx.fail("a response without a request".to_owned());
            ctx.fail("and another".to_owned());
        }
        Next::Busy
    }
}

impl Stateful for Accuser {}

#[test]
fn the_first_failure_ends_the_run_with_its_words() {
    let mut simulation = alone(Accuser);
    assert_eq!(
        simulation.run(&RunLimits::default()),
        Outcome::Failed("a response without a request".to_owned())
    );
    assert_eq!(simulation.now(), Tick(3));
}

#[test]
fn turning_sleep_off_in_mid_run_does_not_turn_time_back() {
    let (component, evaluated) = Scripted::new([Next::Until(10), Next::Until(50)]);
    let mut simulation = alone(component);
    assert_eq!(simulation.run(&until(30)), Outcome::Limit);
    simulation.set_options(EngineOptions {
        sleeping: false,
        ..EngineOptions::default()
    });
    assert_eq!(simulation.run(&until(33)), Outcome::Limit);
    assert_eq!(evaluated.all(), [0, 10, 31, 32, 33]);
}

#[test]
fn slept_cycles_are_charged_to_the_stored_reason() {
    let (component, _) =
        Scripted::new([Next::Busy, Next::Until(10), Next::Until(12), Next::Credit]);
    let mut simulation = alone(component);
    simulation.run(&until(20));
    let activity = simulation.activity(0);
    // Cycle 0, and the last cycles before the two timers expire (9 and 11).
    assert_eq!(activity[Reason::Busy as usize], 3);
    assert_eq!(activity[Reason::Timer as usize], 9);
    assert_eq!(activity[Reason::Credit as usize], 1);
}

/// Checks for room before it knows if it has a message to send.
#[derive(Default, Statistics)]
struct Eager {
    input: InPort<u64>,
    output: OutPort<u64>,
}

impl Bundle for Eager {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Eager {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.output.can_send(ctx)
            && let Some(message) = self.input.pop(ctx)
        {
            self.output.send(ctx, message);
        }
        Next::Message
    }
}

impl Stateful for Eager {}

#[test]
fn asking_for_room_in_an_uninvited_evaluation_does_not_prolong_the_run() {
    let end = |sleeping| {
        let (mut builder, clock) = one_clock();
        builder.add("flood", clock, Flood::of(1, |n| n).0);
        builder.add("eager", clock, Eager::default());
        builder.add("drain", clock, Drain::<u64>::every(8).0);
        builder.connect("flood.output", "eager.input", Link::latency(1));
        let slow_credit = Link::latency(1).capacity(1).credit_latency(30);
        builder.connect("eager.output", "drain.input", slow_credit);
        let mut simulation = builder.elaborate().unwrap();
        simulation.set_options(EngineOptions {
            sleeping,
            ..EngineOptions::default()
        });
        assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
        (simulation.now(), simulation.activity(1))
    };
    assert_eq!(end(true), end(false));
}

#[test]
fn an_empty_system_is_done_at_once() {
    let (builder, _) = one_clock();
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
}

#[test]
fn a_timer_asked_for_again_and_again_costs_one_evaluation() {
    // Woken every cycle by messages, it asks for the same far time each time.
    let (mut builder, clock) = one_clock();
    let log = Log::default();
    builder.add("flood", clock, Flood::of(200, |n| n).0);
    builder.add(
        "patient",
        clock,
        Patient {
            input: InPort::new(),
            log: log.clone(),
        },
    );
    builder.connect("flood.output", "patient.input", Link::latency(1));
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(log.all().len(), 202);
    assert_eq!(log.all().last(), Some(&100_000));
}

#[derive(Statistics)]
struct Patient {
    input: InPort<u64>,
    log: Log<Cycle>,
}

impl Bundle for Patient {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for Patient {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.log.push(ctx.cycle());
        self.input.pop(ctx);
        if ctx.cycle() < 100_000 {
            Next::Until(100_000)
        } else {
            Next::Idle
        }
    }
}

impl Stateful for Patient {}

/// Leaves its input untouched until `open`, then takes everything.
#[derive(Statistics)]
struct Closed {
    input: InPort<u64>,
    open: Cycle,
    log: Log<Cycle>,
}

impl Bundle for Closed {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for Closed {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.log.push(ctx.cycle());
        if ctx.cycle() < self.open {
            return Next::Until(self.open);
        }
        while self.input.pop(ctx).is_some() {}
        Next::Message
    }
}

impl Stateful for Closed {}

#[test]
fn messages_behind_one_left_in_the_input_wake_nobody() {
    let (mut builder, clock) = one_clock();
    let log = Log::default();
    let closed = Closed {
        input: InPort::new(),
        open: 30,
        log: log.clone(),
    };
    builder.add("flood", clock, Flood::of(12, |n| n).0);
    builder.add("closed", clock, closed);
    builder.connect(
        "flood.output",
        "closed.input",
        Link::latency(2).capacity(10),
    );
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    // The first arrival, the opening, and the two that found no room before.
    assert_eq!(log.all(), [0, 2, 30, 34, 35]);
}
