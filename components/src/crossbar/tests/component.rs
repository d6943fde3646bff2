//! Tests of the component on a test bench: exact cycles, ids, stalls.

use proptest::prelude::*;
use warpweave_framework::{
    Cycle, EngineOptions, Environment, InstanceStatistics, Kind, Link, Message, Order, Outcome,
    Sink, Source, TestBench, Value,
};

use crate::building_blocks::{Arrivals, EchoMemory, EchoMemorySpec};
use crate::crossbar::tests::traffic::islip;
use crate::crossbar::{Crossbar, CrossbarSpec, NetworkSpec, Queueing, SwitchSpec};
use crate::interleave::Interleave;
use crate::memory::{Level, MemRequest, MemResponse, RequestKind};

/// Expects a downstream request in this cycle and returns it, with its hop-local id.
fn expect_below(b: &mut Bench, slice: usize, cycle: Cycle, request: &MemRequest) -> MemRequest {
    let (arrived_at, arrived) = b.bench.receive(&b.arrivals[slice]);
    let id = arrived.id;
    assert_eq!(
        (arrived_at, arrived),
        (cycle, MemRequest { id, ..*request })
    );
    arrived
}

pub(super) fn network() -> SwitchSpec {
    SwitchSpec {
        flit_bytes: 64,
        queueing: Queueing::Fifo,
        arbiter: islip(1),
        buffer_flits: 9,
        output_buffer_flits: 8,
        internal_speedup: 1,
        input_cycles: 2,
        output_cycles: 3,
        credit_cycles: 2,
        turnaround_matchings: 0,
    }
}

pub(super) fn spec(up_ports: u32, down_ports: u32) -> CrossbarSpec {
    CrossbarSpec {
        up_ports,
        down_ports,
        interleave: Interleave::in_turn(256, down_ports),
        outstanding: 16,
        control_flit: false,
        request: NetworkSpec::Switch(network()),
        reply: NetworkSpec::Switch(network()),
    }
}

struct Bench {
    bench: TestBench,
    requests: Vec<Source<MemRequest>>,
    responses: Vec<Sink<MemResponse>>,
    arrivals: Vec<Sink<MemRequest>>,
    answers: Vec<Source<MemResponse>>,
}

fn bench(spec: CrossbarSpec, options: EngineOptions) -> Bench {
    let mut bench = TestBench::new();
    bench.set_options(options);
    let (up, down) = (spec.up_ports, spec.down_ports);
    bench.add(
        "noc",
        Crossbar::build(spec, &Environment::default()).unwrap(),
    );
    Bench {
        requests: (0..up)
            .map(|i| bench.source(&format!("noc.up[{i}].request")))
            .collect(),
        responses: (0..up)
            .map(|i| bench.sink(&format!("noc.up[{i}].response")))
            .collect(),
        arrivals: (0..down)
            .map(|j| bench.sink(&format!("noc.down[{j}].request")))
            .collect(),
        answers: (0..down)
            .map(|j| bench.source(&format!("noc.down[{j}].response")))
            .collect(),
        bench,
    }
}

#[test]
fn a_read_and_its_reply_take_the_documented_cycles() {
    let mut b = bench(spec(12, 8), EngineOptions::default());
    let read = MemRequest::read(77, 5 * 256 + 128, u32::MAX);
    b.requests[3].send_at(10, read);
    // One flit: 2 + 3 + 1 - 1 cycles.
    let down = expect_below(&mut b, 5, 15, &read);
    // 136 bytes in 64-byte flits: 2 + 3 + 3 - 1 cycles.
    b.answers[5].send_at(40, down.answer(Level::L2));
    b.bench
        .expect_at(&b.responses[3], 47, &read.answer(Level::L2));
    assert_eq!(b.bench.run_until_quiet(), Outcome::Done);
    let statistics = b.bench.statistics("noc");
    let count = |name: &str| statistics.counter(name).unwrap();
    assert_eq!(
        (
            count("request_packets"),
            count("request_flits"),
            count("request_bytes")
        ),
        (1, 1, 8)
    );
    assert_eq!(
        (
            count("reply_packets"),
            count("reply_flits"),
            count("reply_bytes")
        ),
        (1, 3, 136)
    );
    let Some(Value::Histogram(latency)) = statistics.get("reply_latency") else {
        panic!("the latency is a histogram");
    };
    assert_eq!((latency.min(), latency.max()), (Some(7), Some(7)));
}

#[test]
fn inc_m9_control_takes_a_flit_of_its_own_where_it_is_said_so() {
    let flits = NetworkSpec::Switch(SwitchSpec {
        flit_bytes: 32,
        ..network()
    });
    let apart = CrossbarSpec {
        control_flit: true,
        ..spec(1, 1)
    };
    let of = |words: u32| {
        let write = MemRequest::write(1, 0, words);
        let bytes = write.wire_bytes();
        (apart.flits(&flits, bytes), spec(1, 1).flits(&flits, bytes))
    };
    // A store of one word, of 32 bytes, of 36, of a line.
    assert_eq!([of(1), of(0xff)], [(2, 1), (2, 2)]);
    assert_eq!([of(0x1ff), of(u32::MAX)], [(3, 2), (5, 5)]);
    let read = MemRequest::read(1, 0, u32::MAX);
    assert_eq!(apart.flits(&flits, read.wire_bytes()), 1);
    let line = read.answer(Level::L2).wire_bytes();
    assert_eq!(apart.flits(&flits, line), 5);
}

#[test]
fn a_port_takes_one_flit_per_cycle() {
    let mut b = bench(spec(2, 2), EngineOptions::default());
    let write = MemRequest::write(1, 0, u32::MAX);
    b.requests[0].send_at(10, write);
    b.requests[0].send(MemRequest::read(2, 0, u32::MAX));
    b.requests[0].send(MemRequest::read(3, 256, u32::MAX));
    // The write is 3 flits and leaves 2 cycles later than a read would; the reads follow it.
    b.bench
        .expect_at(&b.arrivals[0], 17, &MemRequest { id: 0, ..write });
    b.bench
        .expect_at(&b.arrivals[0], 18, &MemRequest::read(1, 0, u32::MAX));
    b.bench
        .expect_at(&b.arrivals[1], 19, &MemRequest::read(2, 256, u32::MAX));
}

#[test]
fn a_full_table_stalls_its_port_until_a_response_left() {
    let mut b = bench(
        CrossbarSpec {
            outstanding: 1,
            ..spec(2, 1)
        },
        EngineOptions::default(),
    );
    for id in [5, 6] {
        b.requests[1].send_at(10, MemRequest::read(id, 0, 1));
    }
    let down = expect_below(&mut b, 0, 15, &MemRequest::read(0, 0, 1));
    b.bench.expect_nothing(&b.arrivals[0], 20);
    b.answers[0].send_at(50, down.answer(Level::L2));
    // 12 bytes are one flit. The entry is free in the cycle in which the response leaves.
    b.bench.expect_at(
        &b.responses[1],
        55,
        &MemRequest::read(5, 0, 1).answer(Level::L2),
    );
    expect_below(&mut b, 0, 60, &MemRequest::read(0, 0, 1));
    assert_eq!(
        b.bench.statistics("noc").counter("table_stalls"),
        Some(55 - 11)
    );
}

#[test]
fn copy_backs_pass_a_full_table() {
    let mut b = bench(
        CrossbarSpec {
            outstanding: 1,
            ..spec(1, 1)
        },
        EngineOptions::default(),
    );
    let copy_back = MemRequest {
        kind: RequestKind::CopyBack,
        ..MemRequest::write(9, 0, 1)
    };
    b.requests[0].send_at(10, MemRequest::read(5, 0, 1));
    b.requests[0].send_at(10, copy_back);
    b.bench
        .expect_at(&b.arrivals[0], 15, &MemRequest::read(0, 0, 1));
    b.bench.expect_at(
        &b.arrivals[0],
        16,
        &MemRequest {
            id: u32::MAX,
            ..copy_back
        },
    );
}

#[test]
fn a_missing_response_is_told_to_the_deadlock_report() {
    let mut b = bench(spec(2, 2), EngineOptions::default());
    b.requests[0].send_at(10, MemRequest::read(0, 256, 1));
    let Outcome::Deadlock(report) = b.bench.run_until_quiet() else {
        panic!("a response is missing");
    };
    let wait = report.waits.iter().find(|w| w.who == "noc").unwrap();
    assert_eq!(wait.port.as_deref(), Some("down[1].response"));
    assert_eq!(wait.what, "1 requests wait for their responses");
}

#[test]
#[should_panic(expected = "sent a response with id 3, which matches no outstanding request")]
fn an_answer_to_nothing_is_reported() {
    let mut b = bench(spec(2, 2), EngineOptions::default());
    b.answers[0].send_at(5, MemRequest::read(3, 0, 1).answer(Level::L2));
    b.bench.step(10);
}

#[test]
#[should_panic(expected = "sent a response with id 0, which matches no outstanding request")]
fn a_second_answer_is_reported() {
    let mut b = bench(spec(2, 2), EngineOptions::default());
    let read = MemRequest::read(9, 0, 1);
    b.requests[0].send_at(5, read);
    let down = expect_below(&mut b, 0, 10, &read);
    for _ in 0..2 {
        b.answers[0].send_at(20, down.answer(Level::L2));
    }
    b.bench.step(20);
}

#[test]
fn numbers_that_cannot_be_built_are_named() {
    let error = |change: &dyn Fn(&mut CrossbarSpec)| {
        let mut spec = spec(12, 8);
        change(&mut spec);
        Crossbar::build(spec, &Environment::default())
            .err()
            .map(|e| e.field)
    };
    let with = |change: &dyn Fn(&mut SwitchSpec)| {
        let mut spec = network();
        change(&mut spec);
        NetworkSpec::Switch(spec)
    };
    assert_eq!(error(&|_| ()), None);
    assert_eq!(error(&|s| s.up_ports = 129).as_deref(), Some("up_ports"));
    assert_eq!(
        error(&|s| s.interleave.slices = 7).as_deref(),
        Some("interleave.slices")
    );
    assert_eq!(
        error(&|s| s.outstanding = 0).as_deref(),
        Some("outstanding")
    );
    assert_eq!(
        error(&|s| s.outstanding = u32::MAX).as_deref(),
        Some("outstanding")
    );
    assert_eq!(
        error(&|s| s.request = with(&|n| n.flit_bytes = 0)).as_deref(),
        Some("request.flit_bytes")
    );
    assert_eq!(
        error(&|s| s.reply = with(&|n| n.internal_speedup = 3)).as_deref(),
        Some("reply.internal_speedup")
    );
    let huge = |s: &mut CrossbarSpec| {
        s.request = with(&|n| {
            n.queueing = Queueing::VirtualOutput;
            n.buffer_flits = 1 << 20;
        });
    };
    assert_eq!(error(&huge).as_deref(), Some("request"));
}

/// Requests per port: cycle, granule, kind.
type Traffic = Vec<Vec<(Cycle, u64, RequestKind)>>;
type Outcomes = (
    Vec<Vec<(Cycle, MemRequest)>>,
    Vec<Vec<(Cycle, MemResponse)>>,
    InstanceStatistics,
);

/// Runs the traffic against slices that answer after 20 cycles.
fn run(spec: &CrossbarSpec, traffic: &Traffic, stalls: u32, options: EngineOptions) -> Outcomes {
    let mut bench = TestBench::new();
    bench.set_options(options);
    bench.add(
        "noc",
        Crossbar::build(spec.clone(), &Environment::default()).unwrap(),
    );
    let mut responses = Vec::new();
    for (port, requests) in traffic.iter().enumerate() {
        let source = bench.source(&format!("noc.up[{port}].request"));
        for (number, &(cycle, granule, kind)) in requests.iter().enumerate() {
            let read = MemRequest::read(number as u32, granule * 256, u32::MAX);
            source.send_at(1 + cycle, MemRequest { kind, ..read });
        }
        let sink = bench.sink::<MemResponse>(&format!("noc.up[{port}].response"));
        sink.stall_randomly(port as u64, stalls);
        responses.push(sink);
    }
    let mut arrivals = Vec::new();
    for slice in 0..spec.down_ports {
        let mut memory = EchoMemory::new(&EchoMemorySpec {
            stalls,
            seed: u64::from(slice),
            ..EchoMemorySpec::latency(20)
        })
        .unwrap();
        arrivals.push(memory.arrivals());
        bench.add(&format!("slice[{slice}]"), memory);
        let (from, to) = (format!("noc.down[{slice}]"), format!("slice[{slice}].up"));
        bench.builder().connect(from, to, Link::latency(1));
    }
    // A fixed time, so that the lasting quantities of all runs are comparable.
    bench.step(6_000);
    let statistics = bench.statistics("noc");
    let arrived = arrivals.iter().map(Arrivals::take_all).collect();
    let responses = responses.iter().map(Sink::take_all).collect();
    (arrived, responses, statistics)
}

fn any_kind() -> impl Strategy<Value = RequestKind> {
    prop::sample::select(RequestKind::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_request_is_answered_once_whatever_stalls_and_however_the_engine_works(
        up in 1u32..6, down in 1u32..6, outstanding in 1u32..6, voq: bool, speedup in 1u32..3,
        buffer_flits in 1u32..6, stalls in 0u32..12,
        requests in prop::collection::vec((0usize..6, 0u64..60, 0u64..20, any_kind()), 0..80),
    ) {
        let network = SwitchSpec {
            queueing: if voq { Queueing::VirtualOutput } else { Queueing::Fifo },
            internal_speedup: speedup,
            buffer_flits,
            output_buffer_flits: 2,
            ..network()
        };
        let spec = CrossbarSpec {
            outstanding,
            request: NetworkSpec::Switch(network.clone()),
            reply: NetworkSpec::Switch(network),
            ..spec(up, down)
        };
        let mut traffic: Traffic = vec![Vec::new(); up as usize];
        for (port, cycle, granule, kind) in requests {
            traffic[port % up as usize].push((cycle, granule, kind));
        }
        for port in &mut traffic {
            port.sort_by_key(|r| r.0);
        }
        let outcome = run(&spec, &traffic, stalls, EngineOptions::default());
        let (arrived, responses, statistics) = &outcome;
        let total: usize = traffic.iter().map(Vec::len).sum();
        prop_assert_eq!(arrived.iter().map(Vec::len).sum::<usize>(), total);
        prop_assert_eq!(statistics.counter("request_packets"), Some(total as u64));
        for (slice, requests) in arrived.iter().enumerate() {
            prop_assert!(requests.iter().all(|(_, r)| spec.interleave.slice(r.line) == slice as u32));
        }
        let mut answered = 0;
        for (port, sent) in traffic.iter().enumerate() {
            let mut ids: Vec<_> = responses[port].iter().map(|(_, r)| r.id as usize).collect();
            for (_, response) in &responses[port] {
                let (_, granule, kind) = sent[response.id as usize];
                prop_assert_eq!((response.line, response.kind), (granule * 256, kind));
            }
            // Order per line holds up and down.
            for line in 0..20u64 {
                let of_line = |id: &&usize| sent[**id].1 == line;
                prop_assert!(ids.iter().filter(of_line).is_sorted());
            }
            ids.sort_unstable();
            let wanted: Vec<_> = (0..sent.len()).filter(|&n| sent[n].2.wants_response()).collect();
            answered += wanted.len() as u64;
            prop_assert_eq!(ids, wanted);
        }
        prop_assert_eq!(statistics.counter("reply_packets"), Some(answered));
        for options in [
            EngineOptions { sleeping: false, ..EngineOptions::default() },
            EngineOptions { order: Order::Shuffled { seed: 5 }, ..EngineOptions::default() },
        ] {
            prop_assert_eq!(&run(&spec, &traffic, stalls, options), &outcome);
        }
    }
}

#[test]
fn a_slow_slice_stalls_its_requesters_without_loss() {
    let mut bench = TestBench::new();
    bench.add(
        "noc",
        Crossbar::build(spec(1, 1), &Environment::default()).unwrap(),
    );
    let requests = bench.source::<MemRequest>("noc.up[0].request");
    let arrivals =
        bench.sink_behind::<MemRequest>("noc.down[0].request", Link::latency(1).capacity(2));
    let _responses = bench.sink::<MemResponse>("noc.up[0].response");
    let _answers = bench.source::<MemResponse>("noc.down[0].response");
    arrivals.stall_until(200);
    for id in 0..16 {
        requests.send_at(10, MemRequest::write(id, 0, u32::MAX));
    }
    bench.step(400);
    let ids: Vec<_> = arrivals.take_all().iter().map(|(_, r)| r.id).collect();
    assert_eq!(ids, (0..16).collect::<Vec<_>>());
    let stalls = bench
        .statistics("noc")
        .counter("request_credit_stalls")
        .unwrap();
    assert!((100..200).contains(&stalls), "{stalls}");
}
