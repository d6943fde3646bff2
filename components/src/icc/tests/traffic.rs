//! Stress traffic for the unit: the checker fails the run at the first wrong response.

use proptest::prelude::*;
use warpweave_framework::{EngineOptions, InstanceStatistics, Order};
use warpweave_random::CounterRng;

use super::reborn::Reborn;
use super::tagged_memory::TaggedMemory;
use super::*;
use crate::cache::replacement::Fifo;
use crate::icc::checker::{CoalescingChecker, CoalescingCheckerSpec};

#[derive(Clone, Debug)]
pub(super) struct Traffic {
    /// Per port: cycle, line, kind, words, flags.
    pub(super) requests: Vec<Vec<(Cycle, u64, RequestKind, u32, u16)>>,
    pub(super) seed: u64,
    pub(super) memory_stalls: u32,
    unit_stalls: u32,
    pub(super) slowest: u64,
    /// True if the memory keeps no write numbers.
    forgets: bool,
}

impl Traffic {
    /// Sends every request to the checker; returns the sinks of the responses.
    pub(super) fn send(&self, bench: &mut TestBench) -> Vec<Sink<MemResponse>> {
        let mut sinks = Vec::new();
        for (port, requests) in self.requests.iter().enumerate() {
            let source = bench.source(&format!("checker.up[{port}].request"));
            for (id, &(cycle, line, kind, words, flags)) in requests.iter().enumerate() {
                let request = MemRequest {
                    kind,
                    flags,
                    ..MemRequest::read(id as u32, line * 128, words)
                };
                source.send_at(1 + cycle, request);
            }
            sinks.push(bench.sink(&format!("checker.up[{port}].response")));
        }
        sinks
    }
}

type Outcome = (
    Vec<Vec<(Cycle, MemResponse)>>,
    InstanceStatistics,
    InstanceStatistics,
);

fn run(
    spec: &IccSpec,
    traffic: &Traffic,
    options: EngineOptions,
    reborn: Option<Cycle>,
) -> Outcome {
    let mut bench = TestBench::new();
    bench.set_options(options);
    match reborn {
        Some(every) => bench.add(
            "icc",
            Reborn {
                unit: unit(spec.clone()),
                every,
                last: 0,
            },
        ),
        None => bench.add("icc", unit(spec.clone())),
    }
    let up_ports = spec.up_ports;
    let checker = CoalescingCheckerSpec {
        up_ports,
        freshness: !traffic.forgets,
    };
    let checker = CoalescingChecker::build(checker, &Environment::default());
    bench.add("checker", checker.expect("a valid specification"));
    let mut memory = TaggedMemory::new(traffic.seed, traffic.memory_stalls, traffic.slowest);
    memory.forgets = traffic.forgets;
    bench.add("memory", memory);
    let mut wire = |a: String, b: &str| {
        bench.builder().connect(a, b, Link::latency(1));
    };
    for port in 0..up_ports {
        wire(
            format!("checker.unit_up[{port}]"),
            &format!("icc.up[{port}]"),
        );
    }
    wire("icc.down".to_owned(), "checker.unit_down");
    wire("checker.down".to_owned(), "memory.up");
    let sinks = traffic.send(&mut bench);
    for (port, sink) in (0..).zip(&sinks) {
        sink.stall_randomly(port + traffic.seed, traffic.unit_stalls);
    }
    bench.step(6_000);
    let (mut icc, checker) = (bench.statistics("icc"), bench.statistics("checker"));
    // The same, reborn or not.
    IccUnit::NAME.clone_into(&mut icc.kind);
    (sinks.iter().map(Sink::take_all).collect(), icc, checker)
}

fn specs() -> impl Strategy<Value = IccSpec> {
    let cache = (
        1u32..5,
        1u32..4,
        prop::sample::select(vec![Policy::plain::<Lru>(), Policy::plain::<Fifo>()]),
        prop::sample::select(vec![FillRule::Coalesced, FillRule::All]),
        1u32..4,
        prop::sample::select(vec![BusPriority::Replies, BusPriority::Hits]),
        any::<bool>(),
    );
    let cache = cache.prop_map(
        |(lines, access_cycles, replacement, fill, hit_queue, priority, serve_bypassing)| {
            CoalescedCacheSpec {
                lines,
                access_cycles,
                replacement,
                fill,
                hit_queue,
                priority,
                serve_bypassing,
                invalidate_at_kernel_end: false,
            }
        },
    );
    (
        1u32..6,
        1u32..5,
        0u32..5,
        1u32..4,
        prop::sample::select(vec![Delivery::Broadcast, Delivery::Serial]),
        (
            1u32..20,
            prop::sample::select(vec![TableFull::Untracked, TableFull::Wait]),
            prop::sample::select(vec![Joins::Contained, Joins::Equal]),
            prop::option::weighted(0.3, 1u32..40),
        ),
        prop::option::weighted(0.8, cache),
    )
        .prop_map(
            |(
                up_ports,
                table_entries,
                table_cycles,
                reply_cycles,
                delivery,
                (outstanding, table_full, joins, window_cycles),
                cache,
            )| {
                IccSpec {
                    up_ports,
                    table_entries,
                    table_cycles,
                    reply_cycles,
                    delivery,
                    outstanding,
                    table_full,
                    joins,
                    window_cycles,
                    coalesced_cache: cache,
                    ..spec()
                }
            },
        )
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let kinds = [
        RequestKind::ALL.to_vec(),
        // Mostly reads and writes, or nothing would be merged.
        vec![RequestKind::Read; 12],
        vec![RequestKind::Write; 3],
    ];
    let request = (
        0usize..5,
        0u64..120,
        0u64..4,
        prop::sample::select(kinds.concat()),
        prop::sample::select(vec![u32::MAX, u32::MAX, u32::MAX, 0xff, 0xf]),
        prop::sample::select(vec![0, 0, 0, flags::BYPASS_L1]),
    );
    (
        prop::collection::vec(request, 0..120),
        any::<u16>(),
        0u32..13,
        0u32..13,
        1u64..60,
        any::<bool>(),
    )
        .prop_map(
            |(requests, seed, memory_stalls, unit_stalls, slowest, forgets)| {
                let mut ports = vec![Vec::new(); 5];
                for (port, cycle, line, kind, words, flags) in requests {
                    ports[port].push((cycle, line, kind, words, flags));
                }
                for port in &mut ports {
                    port.sort_by_key(|r| r.0);
                }
                Traffic {
                    requests: ports,
                    seed: u64::from(seed),
                    memory_stalls,
                    unit_stalls,
                    slowest,
                    forgets,
                }
            },
        )
}

fn wanted(traffic: &Traffic) -> usize {
    let requests = traffic.requests.iter().flatten();
    requests
        .filter(|(_, _, kind, ..)| kind.wants_response())
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// The checker fails the run at the first lost, repeated, mixed up or stale response and at a
    /// second tracked read of a line.
    #[test]
    fn every_read_is_answered_once_and_fresh_whatever_stalls(
        spec in specs(), traffic in traffic(), every in 1u64..40,
    ) {
        let mut traffic = traffic;
        traffic.requests.truncate(spec.up_ports as usize);
        let outcome = run(&spec, &traffic, EngineOptions::default(), None);
        let (responses, icc, checker) = &outcome;
        let answered: usize = responses.iter().map(Vec::len).sum();
        prop_assert_eq!(answered, wanted(&traffic));
        prop_assert_eq!(checker.counter("unanswered"), Some(0));
        let count = |name| icc.counter(name).expect("a counter of the unit");
        prop_assert_eq!(
            count("reads"),
            count("reads_merged") + count("reads_injected") + count("cache_hits")
        );
        if spec.table_full == TableFull::Wait {
            prop_assert_eq!(count("reads_untracked_full"), 0);
        }
        prop_assert_eq!(count("reads_tracked"), count("table_replies"));
        prop_assert_eq!(count("responses"), answered as u64);
        prop_assert!(count("table_occupancy_max") <= u64::from(spec.table_entries));
        for options in [
            EngineOptions { sleeping: false, ..EngineOptions::default() },
            EngineOptions { order: Order::Shuffled { seed: 3 }, ..EngineOptions::default() },
        ] {
            prop_assert_eq!(&run(&spec, &traffic, options, None), &outcome);
        }
        prop_assert_eq!(&run(&spec, &traffic, EngineOptions::default(), Some(every)), &outcome);
    }
}

/// Generates many concurrent reads and writes of few lines by all units.
pub(super) fn dense() -> Traffic {
    let port = |port: u64| {
        let (kinds, lines) = (
            CounterRng::new(port, "kinds"),
            CounterRng::new(port, "lines"),
        );
        let request = |n: u64| {
            let kind = match kinds.below(n, 5) {
                0 => RequestKind::Write,
                _ => RequestKind::Read,
            };
            (n * 2, lines.below(n, 6), kind, u32::MAX, 0)
        };
        (0..200).map(request).collect()
    };
    Traffic {
        requests: (0..5).map(port).collect(),
        seed: 5,
        memory_stalls: 8,
        unit_stalls: 2,
        slowest: 40,
        forgets: false,
    }
}

/// A unit that merges nothing would also satisfy the property above.
#[test]
fn dense_traffic_merges_hits_closes_and_overflows() {
    let (responses, icc, checker) = run(&spec(), &dense(), EngineOptions::default(), None);
    let answered: usize = responses.iter().map(Vec::len).sum();
    assert_eq!(answered, 1000);
    for name in [
        "reads_merged",
        "reads_untracked_full",
        "reads_untracked_closed",
        "entries_closed",
        "cache_hits",
        "cache_invalidated",
    ] {
        assert!(
            icc.counter(name) > Some(10),
            "{name}: {:?}",
            icc.counter(name)
        );
    }
    assert!(checker.counter("reads_behind_writes") > Some(100));
}

#[test]
#[should_panic(expected = "the next level returned stale line")]
fn the_checker_notices_a_memory_that_forgets_if_it_must_not() {
    let mut bench = TestBench::new();
    let checker = CoalescingCheckerSpec {
        up_ports: 1,
        freshness: true,
    };
    let checker = CoalescingChecker::build(checker, &Environment::default());
    bench.add("checker", checker.unwrap());
    let spec = IccSpec {
        up_ports: 1,
        ..spec()
    };
    bench.add("icc", unit(spec));
    let mut memory = TaggedMemory::new(1, 0, 1);
    memory.forgets = true;
    bench.add("memory", memory);
    let wires = [
        ("checker.unit_up[0]", "icc.up[0]"),
        ("icc.down", "checker.unit_down"),
        ("checker.down", "memory.up"),
    ];
    for (a, b) in wires {
        bench.builder().connect(a, b, Link::latency(1));
    }
    let above = bench.source::<MemRequest>("checker.up[0].request");
    bench.sink::<MemResponse>("checker.up[0].response");
    above.send_at(10, MemRequest::write(1, A, 1));
    above.send_at(30, read(2, A));
    bench.step(100);
}
