//! Tests of the port cycle by cycle, and under traffic that stalls at random.

use proptest::prelude::*;
use warpweave_framework::{
    Cycle, EngineOptions, InstanceStatistics, Link, Order, Sink, Source, TestBench,
};

use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::memory::Level;

pub(crate) fn spec() -> ClusterPortSpec {
    ClusterPortSpec {
        up_ports: 3,
        injection_depth: 8,
        response_depth: 16,
        request_cycles: 2,
        response_cycles: 3,
        outstanding: 64,
        broadcast: false,
    }
}

fn port(spec: ClusterPortSpec) -> ClusterPort {
    ClusterPort::build(spec, &Environment::default()).unwrap()
}

#[test]
fn a_request_and_its_response_take_the_documented_cycles() {
    let mut bench = TestBench::new();
    bench.add("port", port(spec()));
    let requests = bench.source::<MemRequest>("port.up[2].request");
    let arrivals = bench.sink::<MemRequest>("port.down.request");
    let answers = bench.source::<MemResponse>("port.down.response");
    let responses = bench.sink::<MemResponse>("port.up[2].response");
    for other in 0..2 {
        bench.source::<MemRequest>(&format!("port.up[{other}].request"));
        bench.sink::<MemResponse>(&format!("port.up[{other}].response"));
    }
    let read = MemRequest::read(9, 128, 1);
    requests.send_at(10, read);
    let down = MemRequest { id: 0, ..read };
    bench.expect_at(&arrivals, 12, &down);
    answers.send_at(20, down.answer(Level::L2));
    bench.expect_at(&responses, 23, &read.answer(Level::L2));
}

#[test]
fn up_ports_take_turns_one_request_per_cycle() {
    let mut bench = TestBench::new();
    bench.add("port", port(spec()));
    let arrivals = bench.sink::<MemRequest>("port.down.request");
    bench.source::<MemResponse>("port.down.response");
    for up in 0..3u32 {
        let source = bench.source(&format!("port.up[{up}].request"));
        for n in 0..3 {
            source.send_at(5, MemRequest::read(n, u64::from(up) * 128, 1));
        }
        bench.sink::<MemResponse>(&format!("port.up[{up}].response"));
    }
    bench.step(30);
    let got: Vec<_> = arrivals
        .take_all()
        .iter()
        .map(|(c, r)| (*c, r.line / 128))
        .collect();
    let expected: Vec<_> = (0..9).map(|k| (7 + k, k % 3)).collect();
    assert_eq!(got, expected);
}

#[test]
fn a_full_injection_buffer_stalls_without_loss() {
    let mut bench = TestBench::new();
    bench.add(
        "port",
        port(ClusterPortSpec {
            up_ports: 1,
            injection_depth: 1,
            ..spec()
        }),
    );
    let requests = bench.source("port.up[0].request");
    let arrivals = bench.sink::<MemRequest>("port.down.request");
    bench.source::<MemResponse>("port.down.response");
    bench.sink::<MemResponse>("port.up[0].response");
    for n in 0..3 {
        requests.send_at(5, MemRequest::read(n, 0, 1));
    }
    bench.step(30);
    let cycles: Vec<_> = arrivals.take_all().iter().map(|(c, _)| *c).collect();
    assert_eq!(
        cycles,
        [7, 9, 11],
        "one slot passes one request per request_cycles"
    );
}

#[test]
fn a_full_table_stalls_reads_but_not_copy_backs_of_other_ports() {
    let mut bench = TestBench::new();
    bench.add(
        "port",
        port(ClusterPortSpec {
            up_ports: 2,
            outstanding: 1,
            ..spec()
        }),
    );
    let first = bench.source("port.up[0].request");
    let second = bench.source("port.up[1].request");
    let arrivals = bench.sink::<MemRequest>("port.down.request");
    let answers = bench.source::<MemResponse>("port.down.response");
    let responses = bench.sink::<MemResponse>("port.up[0].response");
    bench.sink::<MemResponse>("port.up[1].response");
    let read = MemRequest::read(0, 0, 1);
    let copy_back = MemRequest {
        kind: RequestKind::CopyBack,
        ..read
    };
    first.send_at(5, read);
    first.send_at(5, MemRequest { line: 128, ..read });
    second.send_at(9, copy_back);
    bench.expect_at(&arrivals, 7, &read);
    bench.expect_at(
        &arrivals,
        11,
        &MemRequest {
            id: u32::MAX,
            ..copy_back
        },
    );
    bench.expect_nothing(&arrivals, 20);
    answers.send_at(40, read.answer(Level::L2));
    bench.expect_at(&responses, 43, &read.answer(Level::L2));
    let (cycle, next) = bench.receive(&arrivals);
    assert_eq!((cycle, next.line), (45, 128));
    assert_ne!(next.id, 0, "the entry is used again, its id is not");
}

#[test]
fn a_broadcast_brings_one_line_to_several_units_in_one_cycle() {
    for (broadcast, behind) in [(false, [1, 2]), (true, [0, 1])] {
        let mut bench = TestBench::new();
        let spec = ClusterPortSpec {
            broadcast,
            ..spec()
        };
        bench.add("port", port(spec));
        let _arrivals = bench.sink::<MemRequest>("port.down.request");
        let answers = bench.source::<MemResponse>("port.down.response");
        // Unit 0 takes nothing at first: its first answer holds its wire, the others queue up.
        let answered = [(0, 512), (0, 0), (1, 0), (2, 128)];
        let mut sinks = Vec::new();
        for up in 0..3 {
            let source = bench.source(&format!("port.up[{up}].request"));
            for &(_, line) in answered.iter().filter(|a| a.0 == up) {
                source.send_at(1 + up, MemRequest::read(7, line, 1));
            }
            let name = format!("port.up[{up}].response");
            let link = Link::latency(1).capacity(1);
            sinks.push(bench.sink_behind::<MemResponse>(&name, link));
        }
        sinks[0].stall_until(60);
        // Entries are taken in the order of the round robin: units 0, 1, 2, 0.
        for (id, line) in [(0, 512), (3, 0), (1, 0), (2, 128)] {
            answers.send_at(20, MemRequest::read(id, line, 1).answer(Level::L2));
        }
        bench.step(120);
        let cycles: Vec<Vec<_>> = sinks
            .iter()
            .map(|s| s.take_all().iter().map(|(cycle, _)| *cycle).collect())
            .collect();
        let blocked = cycles[0][1];
        assert_eq!([cycles[1][0] - blocked, cycles[2][0] - blocked], behind);
        let shared = bench.statistics("port").counter("shared_responses");
        assert_eq!(shared, Some(u64::from(broadcast)));
    }
}

/// Builds a port of one unit, with scripted neighbours that accept everything.
fn one_unit() -> (TestBench, Source<MemRequest>, Source<MemResponse>) {
    let mut bench = TestBench::new();
    bench.add(
        "port",
        port(ClusterPortSpec {
            up_ports: 1,
            ..spec()
        }),
    );
    let requests = bench.source("port.up[0].request");
    let answers = bench.source("port.down.response");
    bench.sink::<MemRequest>("port.down.request");
    bench.sink::<MemResponse>("port.up[0].response");
    (bench, requests, answers)
}

#[test]
#[should_panic(expected = "sent a response with id 7, which matches no outstanding request")]
fn an_answer_to_nothing_is_reported() {
    let (mut bench, _requests, answers) = one_unit();
    answers.send_at(3, MemRequest::read(7, 0, 1).answer(Level::L2));
    bench.step(10);
}

#[test]
#[should_panic(expected = "sent a response with id 0, which matches no outstanding request")]
fn a_second_answer_is_reported() {
    let (mut bench, requests, answers) = one_unit();
    let read = MemRequest::read(0, 0, 1);
    requests.send_at(3, read);
    for cycle in [10, 30] {
        answers.send_at(cycle, read.answer(Level::L2));
    }
    bench.step(40);
}

#[test]
fn zero_sizes_are_named() {
    let error = |change: &dyn Fn(&mut ClusterPortSpec)| {
        let mut spec = spec();
        change(&mut spec);
        let built = ClusterPort::build(spec, &Environment::default());
        built.err().map(|e| e.field)
    };
    assert_eq!(error(&|_| ()), None);
    assert_eq!(error(&|s| s.up_ports = 0).as_deref(), Some("up_ports"));
    assert_eq!(
        error(&|s| s.request_cycles = 0).as_deref(),
        Some("request_cycles")
    );
    assert_eq!(
        error(&|s| s.outstanding = u32::MAX).as_deref(),
        Some("outstanding")
    );
}

type Traffic = Vec<Vec<(Cycle, u64, RequestKind)>>;
type Outcomes = (
    Vec<(Cycle, MemRequest)>,
    Vec<Vec<(Cycle, MemResponse)>>,
    InstanceStatistics,
);

fn run(spec: &ClusterPortSpec, traffic: &Traffic, stalls: u32, options: EngineOptions) -> Outcomes {
    let mut bench = TestBench::new();
    bench.set_options(options);
    bench.add("port", port(spec.clone()));
    let mut memory = EchoMemory::new(&EchoMemorySpec {
        stalls,
        seed: 1,
        ..EchoMemorySpec::latency(17)
    })
    .unwrap();
    let arrivals = memory.arrivals();
    bench.add("memory", memory);
    bench
        .builder()
        .connect("port.down", "memory.up", Link::latency(1));
    let mut sinks = Vec::new();
    for (up, requests) in traffic.iter().enumerate() {
        let source = bench.source(&format!("port.up[{up}].request"));
        for (number, &(cycle, line, kind)) in requests.iter().enumerate() {
            let read = MemRequest::read(number as u32, line * 128, u32::MAX);
            source.send_at(1 + cycle, MemRequest { kind, ..read });
        }
        let sink = bench.sink::<MemResponse>(&format!("port.up[{up}].response"));
        sink.stall_randomly(up as u64, stalls);
        sinks.push(sink);
    }
    bench.step(4_000);
    let statistics = bench.statistics("port");
    (
        arrivals.take_all(),
        sinks.iter().map(Sink::take_all).collect(),
        statistics,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_request_is_answered_once_in_order_whatever_stalls(
        up_ports in 1u32..6, depths in (1u32..6, 1u32..6, 1u32..8), cycles in (1u32..5, 1u32..5),
        stalls in 0u32..12, broadcast: bool,
        requests in prop::collection::vec(
            (0usize..6, 0u64..60, 0u64..8, prop::sample::select(RequestKind::ALL.to_vec())), 0..80),
    ) {
        let spec = ClusterPortSpec {
            up_ports,
            injection_depth: depths.0,
            response_depth: depths.1,
            outstanding: depths.2,
            request_cycles: cycles.0,
            response_cycles: cycles.1,
            broadcast,
        };
        let mut traffic: Traffic = vec![Vec::new(); up_ports as usize];
        for (up, cycle, line, kind) in requests {
            traffic[up % up_ports as usize].push((cycle, line, kind));
        }
        for port in &mut traffic {
            port.sort_by_key(|r| r.0);
        }
        let outcome = run(&spec, &traffic, stalls, EngineOptions::default());
        let (arrived, responses, statistics) = &outcome;
        let total: usize = traffic.iter().map(Vec::len).sum();
        prop_assert_eq!(arrived.len(), total);
        prop_assert_eq!(statistics.counter("requests"), Some(total as u64));
        for (up, sent) in traffic.iter().enumerate() {
            // The memory answers in order and the port keeps it.
            let ids: Vec<_> = responses[up].iter().map(|(_, r)| r.id as usize).collect();
            let wanted: Vec<_> = (0..sent.len()).filter(|&n| sent[n].2.wants_response()).collect();
            prop_assert_eq!(ids, wanted);
            for (_, response) in &responses[up] {
                let (_, line, kind) = sent[response.id as usize];
                prop_assert_eq!((response.line, response.kind), (line * 128, kind));
            }
        }
        for options in [
            EngineOptions { sleeping: false, ..EngineOptions::default() },
            EngineOptions { order: Order::Shuffled { seed: 3 }, ..EngineOptions::default() },
        ] {
            prop_assert_eq!(&run(&spec, &traffic, stalls, options), &outcome);
        }
    }
}
