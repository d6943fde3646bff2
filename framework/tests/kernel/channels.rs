//! Tests of message latency, credit latency, and bandwidth of wires.

use warpweave_framework::{Link, Message, Outcome, RunLimits, Tick, Width};

use crate::parts::{Drain, Flood, Log, one_clock};

/// Returns the cycles in which messages were sent and received over `link`, with a receiver that
/// takes one every `every` cycles.
fn pass<T: Message + Clone>(
    count: u64,
    make: fn(u64) -> T,
    link: Link,
    every: u64,
) -> (Vec<u64>, Vec<u64>) {
    let (mut builder, clock) = one_clock();
    let (flood, sent) = Flood::of(count, make);
    let (drain, received): (_, Log<(u64, T)>) = Drain::every(every);
    builder.add("flood", clock, flood);
    builder.add("drain", clock, drain);
    builder.connect("flood.output", "drain.input", link);
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    let received = received.all().into_iter().map(|(cycle, _)| cycle).collect();
    (sent.all(), received)
}

#[test]
fn a_message_is_readable_latency_cycles_after_it_was_sent() {
    for latency in [1, 2, 7, 63, 64, 65, 200] {
        let (sent, received) = pass(3, |n| n, Link::latency(latency), 1);
        let latency = u64::from(latency);
        assert_eq!(sent, [0, 1, 2]);
        assert_eq!(received, [latency, latency + 1, latency + 2]);
    }
}

#[test]
fn capacity_one_with_latency_one_runs_at_half_rate() {
    let (sent, received) = pass(4, |n| n, Link::latency(1).capacity(1), 1);
    assert_eq!(sent, [0, 2, 4, 6]);
    assert_eq!(received, [1, 3, 5, 7]);
}

#[test]
fn default_capacity_is_just_enough_for_full_rate() {
    for (latency, credit) in [(1, 1), (3, 2), (2, 9)] {
        let link = Link::latency(latency).credit_latency(credit);
        let (sent, _) = pass(50, |n| n, link, 1);
        assert_eq!(sent, (0..50).collect::<Vec<_>>(), "{link:?}");
        let one_less = link.capacity(link.full_rate_capacity() - 1);
        let (sent, _) = pass(50, |n| n, one_less, 1);
        let round = u64::from(latency + credit);
        // One bubble per round trip.
        assert_eq!(sent[49], 49 + 49 / (round - 1), "{link:?}");
    }
}

#[test]
fn a_credit_returns_credit_latency_cycles_after_the_pop() {
    let link = Link::latency(1).credit_latency(5).capacity(2);
    let (sent, received) = pass(4, |n| n, link, 1);
    assert_eq!(sent, [0, 1, 6, 7]);
    assert_eq!(received, [1, 2, 7, 8]);
}

#[test]
fn a_slow_receiver_stalls_the_sender_without_loss() {
    let (sent, received) = pass(6, |n| n, Link::latency(1).capacity(2), 4);
    assert_eq!(received, [4, 8, 12, 16, 20, 24]);
    assert_eq!(sent, [0, 1, 5, 9, 13, 17]);
}

#[test]
fn a_wide_wire_takes_so_many_messages_per_cycle() {
    let link = Link::latency(2).width(Width::Messages(3));
    let (sent, _) = pass(8, |n| n, link, 1);
    // Twelve slots: the receiver's one per cycle is not felt before they are taken.
    assert_eq!(sent, [0, 0, 0, 1, 1, 1, 2, 2]);
}

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Packet(u32);

impl Message for Packet {
    fn wire_bytes(&self) -> u32 {
        self.0
    }
}

#[test]
fn a_byte_wide_wire_is_taken_for_the_length_of_each_message() {
    let link = Link::latency(3).width(Width::Bytes(32));
    let lengths = |n| Packet([32, 33, 128, 0, 1][n as usize]);
    let (sent, received) = pass(5, lengths, link, 1);
    // Taken for 1, 2, 4, 1 and 1 cycles; readable 3 cycles after the last byte left.
    assert_eq!(sent, [0, 1, 3, 7, 8]);
    assert_eq!(received, [3, 5, 9, 10, 11]);
}

#[test]
fn a_wire_below_full_rate_is_warned_about() {
    let (mut builder, clock) = one_clock();
    builder.add("flood", clock, Flood::of(1, |n| n).0);
    builder.add("drain", clock, Drain::<u64>::every(1).0);
    builder.connect("flood.output", "drain.input", Link::latency(2).capacity(3));
    let simulation = builder.elaborate().unwrap();
    insta::assert_snapshot!(
        simulation.warnings().iter().map(|w| w.message.as_str()).collect::<String>(),
        @"flood.output -> drain.input holds 3 messages; full rate needs 4 (width × (latency + credit latency))"
    );
}

#[test]
fn a_message_sent_before_a_limit_arrives_after_it() {
    let (mut builder, clock) = one_clock();
    let (drain, received) = Drain::<u64>::every(1);
    builder.add("flood", clock, Flood::of(1, |n| n).0);
    builder.add("drain", clock, drain);
    builder.connect("flood.output", "drain.input", Link::latency(100));
    let mut simulation = builder.elaborate().unwrap();
    let limits = RunLimits {
        until: Some(Tick(99)),
        ..RunLimits::default()
    };
    assert_eq!(simulation.run(&limits), Outcome::Limit);
    assert!(received.all().is_empty());
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(received.all(), [(100, 0)]);
}
