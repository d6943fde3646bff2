//! `proptest` strategies for traffic, wires, and systems of relays.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::channel::{Link, Width};
use crate::time::Frequency;
use crate::verify::rig::Traffic;

/// Generates traffic of up to `messages` messages per port, with gaps, stalls and small wires.
pub fn traffic(messages: u64) -> impl Strategy<Value = Traffic> {
    let parts = (
        any::<u64>(),
        1..=messages,
        0..8u64,
        0..13u32,
        1..8u64,
        1..5u32,
    );
    parts.prop_map(|(seed, messages, gap, stall, longest, room)| Traffic {
        seed,
        messages,
        gap,
        stall,
        longest,
        room,
    })
}

/// Generates cycles, strictly increasing from 1, at which up to `messages` messages are offered.
/// Gaps are below `gap`, often 0.
pub fn arrivals(messages: usize, gap: u64) -> impl Strategy<Value = Vec<u64>> {
    let gaps = vec(prop_oneof![3 => Just(0), 1 => 0..gap.max(1)], 0..=messages);
    gaps.prop_map(|gaps| {
        let mut cycle = 0;
        let next = |gap: u64| {
            cycle += 1 + gap;
            cycle
        };
        gaps.into_iter().map(next).collect()
    })
}

/// Generates back-pressure: (seed, sixteenths of all cycles stalled) for
/// [`crate::Sink::stall_randomly`].
pub fn back_pressure() -> impl Strategy<Value = (u64, u32)> {
    (any::<u64>(), 0..15u32)
}

/// Generates wires: latencies up to `latency`, narrow and wide, with less or more capacity than
/// full rate needs.
pub fn link(latency: u32) -> impl Strategy<Value = Link> {
    let width = prop_oneof![
        2 => Just(Width::Messages(1)),
        1 => (2..5u32).prop_map(Width::Messages),
        1 => (1..17u32).prop_map(Width::Bytes),
    ];
    let latency = latency.max(1);
    let parts = (
        1..=latency,
        1..=latency,
        proptest::option::of(1..9u32),
        width,
    );
    parts.prop_map(|(latency, credit_latency, capacity, width)| Link {
        latency,
        credit_latency,
        capacity,
        width,
    })
}

/// Generates clocks from a small set whose ratios are exact.
pub fn clock() -> impl Strategy<Value = Frequency> {
    let ratios = [(1, 1), (1, 2), (3, 2), (2, 3), (4, 5)];
    proptest::sample::select(ratios.to_vec())
        .prop_map(|(up, down)| Frequency::new(1_000_000_000 * up, down).expect("not zero"))
}

/// A random acyclic system: nodes on clocks, wires from lower to higher nodes.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Frequencies of the clocks of the system.
    pub clocks: Vec<Frequency>,
    /// Index of each node's clock in `clocks`.
    pub nodes: Vec<usize>,
    /// Wires as (from, to, terms); every node but the first has at least one incoming wire.
    pub wires: Vec<(usize, usize, Link)>,
}

impl Topology {
    /// Iterates over the wires that begin at node `n`, in order.
    pub fn outputs_of(&self, n: usize) -> impl Iterator<Item = usize> {
        let ends = self.wires.iter().enumerate();
        ends.filter(move |(_, w)| w.0 == n).map(|(i, _)| i)
    }

    /// Iterates over the wires that end at node `n`, in order.
    pub fn inputs_of(&self, n: usize) -> impl Iterator<Item = usize> {
        let ends = self.wires.iter().enumerate();
        ends.filter(move |(_, w)| w.1 == n).map(|(i, _)| i)
    }
}

/// Generates systems of 2 to `nodes` nodes on up to three clocks. They shrink to two nodes on one
/// wire.
pub fn topology(nodes: usize, latency: u32) -> impl Strategy<Value = Topology> {
    let clocks = vec(clock(), 1..4).prop_map(|mut clocks| {
        clocks.sort_by_key(|f| format!("{f:?}"));
        clocks.dedup();
        clocks
    });
    let node = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        link(latency),
    );
    let extra = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        link(latency),
    );
    let nodes = vec(node, 2..=nodes.max(2));
    (clocks, nodes, vec(extra, 0..6)).prop_map(|(clocks, nodes, extra)| {
        let mut wires = Vec::new();
        for (n, (_, from, link)) in nodes.iter().enumerate().skip(1) {
            wires.push((from.index(n), n, *link));
        }
        for (to, from, link) in extra {
            let to = 1 + to.index(nodes.len() - 1);
            wires.push((from.index(to), to, link));
        }
        Topology {
            nodes: nodes
                .iter()
                .map(|(c, _, _)| c.index(clocks.len()))
                .collect(),
            clocks,
            wires,
        }
    })
}
