//! Tests that silence with unfinished work gives a deadlock report of the waits.

use insta::assert_snapshot;
use warpweave_framework::{
    Bundle, Component, Context, Link, Next, Outcome, Ports, RunLimits, Simulation, Stateful,
    Statistics,
};

use crate::parts::{Flood, Refuser, Stubborn, one_clock};

fn report(simulation: &mut Simulation) -> String {
    match simulation.run(&RunLimits::default()) {
        Outcome::Deadlock(report) => report.to_string(),
        other => panic!("expected a deadlock, got {other:?}"),
    }
}

#[test]
fn a_cycle_of_credits_is_printed_in_order() {
    let (mut builder, clock) = one_clock();
    for name in ["ping", "pong"] {
        let stubborn = Stubborn {
            to_send: 5,
            ..Stubborn::default()
        };
        builder.add(name, clock, stubborn);
    }
    builder.connect("ping.output", "pong.input", Link::latency(1).capacity(2));
    builder.connect("pong.output", "ping.input", Link::latency(1).capacity(3));
    let mut simulation = builder.elaborate().unwrap();
    assert_snapshot!(report(&mut simulation), @r"
    no progress at tick 2 (0.000000002 s); last progress at tick 2; 0 obligations open
    circular wait:
      * ping.output -> pong: waits for room (2 of 2 slots taken)
      * pong.output -> ping: waits for room (3 of 3 slots taken)
    channels holding messages:
        ping.input: 3 of 3
        pong.input: 2 of 2
    ");
}

#[test]
fn a_message_nobody_takes_is_a_deadlock_with_the_words_of_the_component() {
    let (mut builder, clock) = one_clock();
    builder.add("cpu", clock, Flood::of(1, |n| n).0);
    builder.add("wall", clock, Refuser::default());
    builder.connect("cpu.output", "wall.input", Link::latency(4));
    let mut simulation = builder.elaborate().unwrap();
    assert_snapshot!(report(&mut simulation), @r"
    no progress at tick 4 (0.000000004 s); last progress at tick 0; 0 obligations open
    waiting components:
        wall: a door that never opens
    channels holding messages:
        wall.input: 1 of 8
    ");
}

#[derive(Statistics)]
struct Forgetful {
    oblige: bool,
    next: Next,
}

impl Bundle for Forgetful {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Forgetful {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if std::mem::take(&mut self.oblige) {
            ctx.take_obligation();
        }
        self.next
    }
}

impl Stateful for Forgetful {}

#[test]
fn silence_with_an_open_obligation_is_a_deadlock() {
    let (mut builder, clock) = one_clock();
    let forgetful = Forgetful {
        oblige: true,
        next: Next::Idle,
    };
    builder.add("host", clock, forgetful);
    let mut simulation = builder.elaborate().unwrap();
    assert_snapshot!(report(&mut simulation), @r"
    no progress at tick 0 (0.000000000 s); last progress at tick 0; 1 obligations open
    waiting components:
    ");
}

#[test]
fn waiting_for_a_credit_that_was_never_asked_for_is_reported() {
    let (mut builder, clock) = one_clock();
    let forgetful = Forgetful {
        oblige: false,
        next: Next::Credit,
    };
    builder.add("host", clock, forgetful);
    let mut simulation = builder.elaborate().unwrap();
    assert_snapshot!(report(&mut simulation), @r"
    no progress at tick 0 (0.000000000 s); last progress at tick 0; 0 obligations open
    waiting components:
        host: waits for a credit, but none of its outputs is full
    ");
}

#[test]
fn a_big_deadlock_is_reported_promptly_and_shortened() {
    const STAGES: u64 = 5_000;
    let (mut builder, clock) = one_clock();
    for i in 0..STAGES {
        let stubborn = Stubborn {
            to_send: 3,
            ..Stubborn::default()
        };
        builder.add(format!("s{i}"), clock, stubborn);
    }
    for i in 0..STAGES {
        let (from, to) = (
            format!("s{i}.output"),
            format!("s{}.input", (i + 1) % STAGES),
        );
        builder.connect(from, to, Link::latency(1).capacity(1));
    }
    let mut simulation = builder.elaborate().unwrap();
    let Outcome::Deadlock(report) = simulation.run(&RunLimits::default()) else {
        panic!("a ring of full wires is a deadlock");
    };
    assert_eq!(report.cycle.len() as u64, STAGES);
    assert!(report.to_string().lines().count() < 200, "{report}");
}
