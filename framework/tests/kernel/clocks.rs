//! Tests of channels between clocks, against a model that advances tick by tick.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{
    Bundle, Component, Context, Frequency, InPort, Link, Next, OutPort, Ports, RunLimits, Stateful,
    Statistics, SystemBuilder, Tick,
};

use crate::parts::Log;

/// True if the component acts in cycle `c`, given by bit `c % 64` of the pattern.
fn acts(pattern: u64, cycle: u64) -> bool {
    pattern >> (cycle % 64) & 1 == 1
}

fn next_active(pattern: u64, cycle: u64) -> u64 {
    (cycle..cycle + 64)
        .find(|c| acts(pattern, *c))
        .expect("not zero")
}

#[derive(Statistics)]
struct Sender {
    output: OutPort<u64>,
    pattern: u64,
    left: u64,
    log: Log<(u64, u64)>,
}

impl Bundle for Sender {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl Component for Sender {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.left == 0 {
            return Next::Idle;
        }
        if acts(self.pattern, ctx.cycle()) {
            if !self.output.can_send(ctx) {
                return Next::Until(next_active(self.pattern, ctx.cycle() + 1));
            }
            self.output.send(ctx, self.left);
            self.log.push((ctx.now().0, self.left));
            self.left -= 1;
        }
        Next::Until(next_active(self.pattern, ctx.cycle() + 1))
    }
}

impl Stateful for Sender {}

#[derive(Statistics)]
struct Receiver {
    input: InPort<u64>,
    pattern: u64,
    log: Log<(u64, u64)>,
}

impl Bundle for Receiver {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for Receiver {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if acts(self.pattern, ctx.cycle())
            && let Some(message) = self.input.pop(ctx)
        {
            self.log.push((ctx.now().0, message));
        }
        if self.input.peek(ctx).is_some() {
            Next::Until(next_active(self.pattern, ctx.cycle() + 1))
        } else {
            Next::Message
        }
    }
}

impl Stateful for Receiver {}

#[derive(Clone, Debug)]
struct Crossing {
    clocks: [(u64, u64); 2],
    latency: u32,
    credit: u32,
    capacity: u32,
    patterns: [u64; 2],
    messages: u64,
}

type Trace = Vec<(u64, u64)>;

fn simulate(crossing: &Crossing) -> (Trace, Trace) {
    let mut builder = SystemBuilder::new();
    let [a, b] = [0, 1].map(|i| {
        let (n, d) = crossing.clocks[i];
        builder.clock(format!("c{i}"), Frequency::new(n, d).unwrap())
    });
    let (sent, received) = (Log::default(), Log::default());
    let sender = Sender {
        output: OutPort::new(),
        pattern: crossing.patterns[0],
        left: crossing.messages,
        log: sent.clone(),
    };
    let receiver = Receiver {
        input: InPort::new(),
        pattern: crossing.patterns[1],
        log: received.clone(),
    };
    builder.add("sender", a, sender);
    builder.add("receiver", b, receiver);
    let link = Link::latency(crossing.latency)
        .credit_latency(crossing.credit)
        .capacity(crossing.capacity);
    builder.connect("sender.output", "receiver.input", link);
    builder.elaborate().unwrap().run(&RunLimits::default());
    (sent.all(), received.all())
}

/// Reference model: at every tick with an edge, acts on the state before that tick.
fn model(crossing: &Crossing, periods: [u64; 2]) -> (Trace, Trace) {
    let (mut sent, mut received) = (Trace::new(), Trace::new());
    let mut flying: VecDeque<(u64, u64)> = VecDeque::new();
    // Ticks at which the free slots become usable by the sender.
    let mut credits = vec![0; crossing.capacity as usize];
    let mut left = crossing.messages;
    for tick in 0.. {
        if left == 0 && flying.is_empty() {
            break;
        }
        let edge = |side: usize| {
            tick % periods[side] == 0 && acts(crossing.patterns[side], tick / periods[side])
        };
        let credit = credits.iter().position(|c| *c <= tick);
        let readable = flying.front().is_some_and(|(ready, _)| *ready <= tick);
        let mut credit_back = None;
        if edge(1) && readable {
            let (_, message) = flying.pop_front().unwrap();
            received.push((tick, message));
            credit_back = Some(tick + u64::from(crossing.credit) * periods[1]);
        }
        if edge(0)
            && left > 0
            && let Some(slot) = credit
        {
            credits.remove(slot);
            sent.push((tick, left));
            flying.push_back((tick + u64::from(crossing.latency) * periods[0], left));
            left -= 1;
        }
        credits.extend(credit_back);
    }
    (sent, received)
}

fn periods(crossing: &Crossing) -> [u64; 2] {
    let named = crossing
        .clocks
        .map(|(n, d)| ("c".to_owned(), Frequency::new(n, d).unwrap()));
    let time = warpweave_framework::TimeBase::new(&named).unwrap();
    [time.period(0), time.period(1)]
}

fn clock() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![
        Just((1_400_000_000, 1)),
        Just((924_000_000, 1)),
        Just((28_000_000_000, 15)),
        Just((1_000_000_000, 1)),
        Just((999_000_000, 1)),
        Just((100_000_000, 7)),
        Just((2_000_000_000, 3)),
    ]
}

fn crossing() -> impl Strategy<Value = Crossing> {
    let pattern = (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a | b | 1 << 17);
    (
        [clock(), clock()],
        1..5u32,
        1..5u32,
        1..6u32,
        [pattern.clone(), pattern],
        1..40u64,
    )
        .prop_map(
            |(clocks, latency, credit, capacity, patterns, messages)| Crossing {
                clocks,
                latency,
                credit,
                capacity,
                patterns,
                messages,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn crossings_agree_with_the_tick_by_tick_model(crossing in crossing()) {
        let (sent, received) = simulate(&crossing);
        let (model_sent, model_received) = model(&crossing, periods(&crossing));
        prop_assert_eq!(sent, model_sent);
        prop_assert_eq!(received, model_received);
    }
}

#[test]
fn a_message_crosses_to_the_first_edge_at_or_after_maturity() {
    // 3 GHz to 2 GHz: edges every 2 and every 3 ticks.
    let crossing = Crossing {
        clocks: [(3_000_000_000, 1), (2_000_000_000, 1)],
        latency: 1,
        credit: 1,
        capacity: 1,
        patterns: [u64::MAX, u64::MAX],
        messages: 3,
    };
    let (sent, received) = simulate(&crossing);
    // Sent at 0, mature at 2, read at 3, its credit mature at 6.
    assert_eq!(sent, [(0, 3), (6, 2), (12, 1)]);
    assert_eq!(received, [(3, 3), (9, 2), (15, 1)]);
}

#[test]
fn edges_at_the_same_tick_do_not_see_each_other() {
    let crossing = Crossing {
        clocks: [(1_000_000_000, 1), (1_000_000_000, 1)],
        latency: 1,
        credit: 1,
        capacity: 2,
        patterns: [u64::MAX, u64::MAX],
        messages: 3,
    };
    let (sent, received) = simulate(&crossing);
    assert_eq!(sent, [(0, 3), (1, 2), (2, 1)]);
    assert_eq!(received, [(1, 3), (2, 2), (3, 1)]);
}

#[test]
fn a_run_ends_at_the_time_of_its_last_edge() {
    let mut builder = SystemBuilder::new();
    let slow = builder.clock("slow", Frequency::new(1_000_000, 1).unwrap());
    builder.clock("fast", Frequency::new(3_000_000, 1).unwrap());
    builder.add(
        "timer",
        slow,
        crate::parts::Scripted::new([warpweave_framework::Next::Until(7)]).0,
    );
    let mut simulation = builder.elaborate().unwrap();
    simulation.run(&RunLimits::default());
    assert_eq!(simulation.now(), Tick(21));
}
