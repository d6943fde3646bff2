//! Random traffic from two ports: every request is answered, in order, under all engine options.

use proptest::prelude::*;
use warpweave_framework::{EngineOptions, InstanceStatistics, Order, Outcome, TestBench, Value};

use super::component::{Bench, ROW_BYTES, with_policies};
use crate::dram::tests::cases;
use crate::dram::*;
use crate::memory::{MemRequest, MemResponse, RequestKind, Source};

/// A request of random traffic: port, gap before it, kind, line, words.
type Random = (usize, Cycle, u8, u64, u32);

fn traffic() -> impl Strategy<Value = Vec<Random>> {
    let words = prop_oneof![Just(u32::MAX), 1u32.., Just(0xffu32)];
    prop::collection::vec((0..2usize, 0..12u64, 0..8u8, 0..24u64, words), 1..120)
}

/// Creates a bench that sends the traffic; each port has its own lines.
fn busy(spec: &GddrSpec, traffic: &[Random], stalls: u32, options: EngineOptions) -> Bench {
    let bench = Bench::new(spec, options);
    let mut at = 1;
    for (i, &(port, gap, kind, line, words)) in traffic.iter().enumerate() {
        at += gap;
        // Few rows of few banks, so that hits, conflicts and same lines are common.
        let line = (line % 6) * 128 + (line / 6) * ROW_BYTES + port as u64 * (1 << 26);
        let kind = match kind {
            0..4 => RequestKind::Read,
            4 => RequestKind::Prefetch,
            5..7 => RequestKind::Write,
            _ => RequestKind::CopyBack,
        };
        bench.requests[port].send_at(
            at,
            MemRequest {
                kind,
                write_sequence: if kind.carries_data() { i as u32 + 1 } else { 0 },
                source: Source {
                    compute_unit: port as u16,
                    ..Source::default()
                },
                ..MemRequest::read(i as u32, line, words)
            },
        );
    }
    for (port, responses) in bench.responses.iter().enumerate() {
        responses.stall_randomly(port as u64 + 5, stalls);
    }
    bench
}

/// Returns the responses and the statistics of a finished bench.
fn seen(bench: &mut Bench) -> (Vec<Vec<(Cycle, MemResponse)>>, InstanceStatistics) {
    let received = bench.responses.iter().map(|sink| {
        let mut all = Vec::new();
        while let Some(response) = sink.take() {
            all.push(response);
        }
        all
    });
    (received.collect(), bench.statistics())
}

/// Checks that every answer arrives once, in order per line, and with current data.
fn is_answered(traffic: &[Random], received: &[Vec<(Cycle, MemResponse)>]) {
    for (port, responses) in received.iter().enumerate() {
        let mut asked = traffic.iter().enumerate().filter(|(_, r)| r.0 == port);
        let wanted: Vec<u32> = asked
            .by_ref()
            .filter(|(_, r)| r.2 < 7)
            .map(|(i, _)| i as u32)
            .collect();
        let mut ids: Vec<u32> = responses.iter().map(|(_, r)| r.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, wanted, "port {port}");
        for (_, response) in responses {
            let i = response.id as usize;
            let line = traffic[i].3;
            let same = |&(_, r): &(usize, &Random)| r.0 == port && r.3 == line;
            if response.kind != RequestKind::Write {
                let before = traffic[..i].iter().enumerate().filter(same);
                let mut last = before.filter(|(_, r)| r.2 >= 5).map(|(w, _)| w as u32 + 1);
                assert_eq!(response.write_sequence, last.next_back().unwrap_or(0));
            }
            let earlier = responses.iter().take_while(|(_, r)| r.id != response.id);
            let overtaken =
                |(_, r): &(Cycle, MemResponse)| r.line == response.line && r.id > response.id;
            assert!(!earlier.into_iter().any(overtaken), "{response:?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn every_request_is_answered_once_in_order_however_the_engine_runs(
        traffic in traffic(), stalls in 0u32..15, small in any::<bool>(), devices in 0u32..3,
        policies in 0usize..7,
    ) {
        let mut spec = GddrSpec {
            ports: 2,
            devices: 1 << devices,
            latency_cycles: devices * 5,
            ..with_policies(policies)
        };
        if small {
            (spec.read_queue, spec.write_queue) = (2, 3);
            spec.drain = Drain::Watermarks { high: 2, low: 1 };
            spec.response_queue = 1;
        }
        let mut usual = busy(&spec, &traffic, stalls, EngineOptions::default());
        prop_assert_eq!(usual.bench.run_until_quiet(), Outcome::Done);
        // Some way into the idle time.
        usual.bench.step(3000);
        let cycles = usual.bench.cycle();
        let (received, statistics) = seen(&mut usual);
        is_answered(&traffic, &received);
        let count = |name| statistics.counter(name).unwrap();
        prop_assert_eq!(
            count("read_requests") + count("write_requests") + count("copy_backs"),
            traffic.len() as u64
        );
        let found: u64 = ["row_hits", "row_misses", "row_conflicts"]
            .iter()
            .map(|name| match statistics.get(name) {
                Some(Value::Ratio { part, .. }) => *part,
                other => panic!("{other:?}"),
            })
            .sum();
        prop_assert_eq!(found, count("reads") + count("writes"));
        for options in [
            EngineOptions { sleeping: false, ..EngineOptions::default() },
            EngineOptions { order: Order::Shuffled { seed: 3 }, ..EngineOptions::default() },
        ] {
            let mut other = busy(&spec, &traffic, stalls, options);
            other.bench.step(cycles);
            let (other, theirs) = seen(&mut other);
            prop_assert_eq!(&other, &received);
            prop_assert_eq!(&theirs, &statistics);
        }
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn saved_in_the_middle_of_traffic_it_goes_on_identically(
        traffic in traffic(), stalls in 0u32..15, policies in 0usize..7,
    ) {
        let spec = GddrSpec { ports: 2, latency_cycles: 5, ..with_policies(policies) };
        let build = || busy(&spec, &traffic, stalls, EngineOptions::default()).bench;
        TestBench::check_state(build, &[70, 333, 1200, 5000], 9000);
    }
}
