//! Accesses to every memory space, and the waits for them.

use super::*;
use crate::bloom::BloomSpec;
use crate::memory::flags;
use crate::reuse_monitor::{FilterReset, KeyMode, PredictionSource, ReuseMonitorSpec};

#[test]
fn a_load_sends_after_its_latency_and_wakes_its_reader_after_the_writeback() {
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0x1004, 4)),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 2);
    let source = Source {
        kernel: 0,
        work_group: 0,
        pc: 0,
        compute_unit: 7,
        wavefront_slot: 0,
        work_group_slot: 2,
    };
    let request = |id, line, words| MemRequest {
        source,
        ..MemRequest::read(id, line, words)
    };
    let first = request(0, 0x1000, ALL << 1);
    let second = request(1, 0x1080, 1);
    bench.bench.expect_at(&bench.request, 6, &first);
    bench.bench.expect_at(&bench.request, 7, &second);
    bench.response.send_at(20, second.answer(Level::L1));
    bench.response.send_at(30, first.answer(Level::L1));
    // Last response in 30, exit issues in 31, ends in 32.
    bench.expect_completion(32, 0, 2);
    assert_eq!(bench.counter("slots_memory"), 27);
    let statistics = bench.bench.statistics("cu");
    let Some(Value::Histogram(latency)) = statistics.get("load_latency") else {
        panic!("the latency is a histogram");
    };
    assert_eq!((latency.count(), latency.sum()), (1, 27));
    let expected = Value::Ratio { part: 2, whole: 1 };
    assert_eq!(statistics.get("requests_per_access"), Some(&expected));
}

#[test]
fn a_work_group_completes_only_when_its_stores_are_answered() {
    let steps = vec![
        access(Class::Store, &[], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, store) = bench.bench.receive(&bench.request);
    assert_eq!(
        (cycle, store.kind, store.write_sequence),
        (6, RequestKind::Write, 1)
    );
    bench.bench.expect_nothing(&bench.completion, 10);
    bench.response.send_at(40, store.answer(Level::L2));
    bench.expect_completion(40, 0, 0);
    assert_eq!(bench.counter("slots_ended"), 35);
}

#[test]
fn a_fence_waits_for_the_stores_of_its_wavefront() {
    let steps = vec![
        access(Class::Store, &[], &[], Space::Global, strided(0, 4)),
        step(op(Class::Fence, &[], &[])),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (_, store) = bench.bench.receive(&bench.request);
    bench.response.send_at(40, store.answer(Level::L2));
    // Fence in 40, exit in 44.
    bench.expect_completion(45, 0, 0);
}

#[test]
fn an_atomic_is_one_request_per_line_and_returns_data() {
    let steps = vec![
        access(Class::Atomic, &[1], &[], Space::Global, [0x500; LANES]),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, atomic) = bench.bench.receive(&bench.request);
    assert_eq!(
        (cycle, atomic.kind, atomic.words),
        (7, RequestKind::Atomic, 1)
    );
    bench.response.send_at(20, atomic.answer(Level::L2));
    bench.expect_completion(22, 0, 0);
    assert_eq!(bench.counter("atomic_requests"), 1);
}

#[test]
fn a_prefetch_asks_for_its_lines_and_nothing_but_the_end_of_the_wavefront_waits() {
    let steps = vec![
        access(Class::Prefetch, &[], &[], Space::Global, strided(0x1000, 4)),
        step(op(Class::Fence, &[], &[])),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (_, request) = bench.bench.receive(&bench.request);
    assert_eq!(
        (request.kind, request.line, request.words),
        (RequestKind::Prefetch, 0x1000, ALL)
    );
    bench.bench.expect_nothing(&bench.completion, 20);
    bench.response.send_at(40, request.answer(Level::L2));
    bench.expect_completion(40, 0, 0);
    assert_eq!(bench.counter("prefetch_requests"), 1);
    assert_eq!(bench.counter("read_requests"), 0);
    let statistics = bench.bench.statistics("cu");
    let Some(Value::Histogram(latency)) = statistics.get("load_latency") else {
        panic!("the latency is a histogram");
    };
    assert_eq!(latency.count(), 0);
}

#[test]
fn cache_operators_ask_to_pass_the_first_level_by() {
    let mut load = access(Class::Load, &[1], &[], Space::Global, strided(0, 4));
    load.instruction.hints.cache = warpweave_trace::CacheOperator::GlobalLevel;
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![load, exit()]], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (_, request) = bench.bench.receive(&bench.request);
    assert_eq!(request.flags, flags::BYPASS_L1);
}

#[test]
fn loads_from_global_memory_pass_the_first_level_by_where_the_unit_says_so() {
    let mut uncached = spec();
    uncached.load_store.global_loads = GlobalLoads::Bypass;
    let mut read_only = access(Class::Load, &[4], &[], Space::Global, strided(0x200, 4));
    read_only.instruction.hints.path = warpweave_trace::ReadPath::NonCoherent;
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        access(Class::Store, &[], &[], Space::Global, strided(0x100, 4)),
        read_only,
        access(Class::Load, &[2], &[], Space::Local, [0; LANES]),
        exit(),
    ];
    for (spec, expected) in [(spec(), [0; 4]), (uncached, [flags::BYPASS_L1, 0, 0, 0])] {
        let mut bench = Bench::new(spec, vec![kernel(std::slice::from_ref(&steps), 1, 0)]);
        bench.start_at(1, 0, 0, 0);
        let found = [0; 4].map(|_: u16| bench.bench.receive(&bench.request).1.flags);
        assert_eq!(found, expected);
    }
}

#[test]
fn private_memory_is_interleaved_by_lane_and_apart_per_slot() {
    let steps = vec![
        access(Class::Store, &[], &[], Space::Local, [8; LANES]),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps.clone(), steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let regions = (1_u64 << 40) + 7 * 8 * 32 * 64;
    for slot in 0..2 {
        let (_, store) = bench.bench.receive(&bench.request);
        let expected = (regions + slot * 32 * 64 + 2 * 128, ALL);
        assert_eq!((store.line, store.words), expected);
    }
}

#[test]
#[should_panic(expected = "offset 0x40 of lane 0's private memory, which has 64 bytes")]
fn private_accesses_stay_inside_private_memory() {
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Local, [64; LANES]),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(10);
}

#[test]
fn bank_conflicts_delay_the_reader_and_the_next_access() {
    let load = |writes, stride| {
        access(
            Class::Load,
            &[writes],
            &[],
            Space::Shared,
            strided(0, stride),
        )
    };
    let steps = vec![
        load(1, 8), // Two words per bank.
        load(2, 4),
        step(op(Class::Exit, &[], &[2])),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 4096)]);
    bench.start_at(1, 0, 0, 0);
    // Loads in 3 and 5, exit in 15.
    bench.expect_completion(16, 0, 0);
    assert_eq!(bench.counter("local_accesses"), 2);
    assert_eq!(bench.counter("local_conflict_cycles"), 1);
    assert_eq!(bench.counter("slots_local_memory_busy"), 1);
}

#[test]
fn a_conflict_delays_dependents_by_its_latency_and_the_memory_by_a_cycle() {
    for pipe in [MemoryPipe::Separate, MemoryPipe::InOrder] {
        for stride in [1u64, 2, 4, 8, 16, 32] {
            let mut spec = spec();
            spec.local_memory.conflict_latency = 2;
            spec.load_store.pipe = pipe;
            let at = strided(0, 4 * stride);
            let steps = vec![
                access(Class::Load, &[1], &[], Space::Shared, at),
                access(Class::Load, &[2], &[], Space::Shared, at),
                step(op(Class::Exit, &[], &[1])),
            ];
            // The second load is served behind the first and ends last.
            let served = 3 + stride;
            Bench::completes_at(spec, &[steps], served + 10 + 2 * (stride - 1));
        }
    }
}

#[test]
fn a_memory_instruction_without_lanes_only_takes_its_latency() {
    let mut load = access(Class::Load, &[1], &[], Space::Global, [0; LANES]);
    load.mask = 0;
    let steps = vec![load, step(op(Class::Exit, &[], &[1]))];
    Bench::completes_at(spec(), &[steps], 3 + 3 + 1);
}

#[test]
fn the_parts_of_a_split_access_follow_each_other_and_count_once() {
    let mut first = access(Class::Load, &[1], &[], Space::Shared, strided(0, 4));
    first.mask = 0xffff;
    first.continues = true;
    let mut second = access(Class::Load, &[1], &[], Space::Global, strided(0, 4));
    second.mask = !0xffff;
    second.instruction = first.instruction.clone();
    let steps = vec![first, second, step(op(Class::Exit, &[], &[1]))];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 4096)]);
    bench.start_at(1, 0, 0, 0);
    // Local part in 3, ready in 13; global part issues in 13, sends in 16.
    let (cycle, request) = bench.bench.receive(&bench.request);
    assert_eq!((cycle, request.words), (16, !0xffff));
    bench.response.send_at(30, request.answer(Level::L1));
    bench.expect_completion(32, 0, 0);
    assert_eq!(bench.counter("wavefront_instructions"), 2);
    assert_eq!(bench.counter("instructions_load"), 1);
    assert_eq!(bench.counter("slots_issued"), 3);
}

#[test]
fn a_full_load_store_queue_stops_memory_instructions_alone() {
    let mut steps: Vec<_> = (0..6)
        .map(|i| access(Class::Load, &[i], &[], Space::Global, strided(0, 128)))
        .collect();
    steps.push(exit());
    let compute: Vec<_> = (0..20)
        .map(|i| step(op(Class::IntAdd, &[i], &[])))
        .chain([exit()])
        .collect();
    let mut bench = Bench::new(spec(), vec![kernel(&[steps, compute], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(25);
    // Four loads fill the queue in 3 to 6; the other wavefront continues to issue.
    assert_eq!(bench.counter("instructions_load"), 4);
    assert_eq!(bench.counter("instructions_int_add"), 19);
    bench.bench.step(10);
    assert!(bench.counter("slots_load_store_full") > 0);
}

#[test]
fn sending_stops_at_the_outstanding_limit() {
    let mut spec = spec();
    spec.load_store.outstanding_max = 3;
    let load = access(Class::Load, &[1], &[], Space::Global, strided(0, 128));
    let mut bench = Bench::new(spec, vec![kernel(&[vec![load, exit()]], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(30);
    let sent = bench.request.take_all();
    assert_eq!(sent.len(), 3);
    bench.response.send_at(40, sent[1].1.answer(Level::L1));
    let (cycle, _) = bench.bench.receive(&bench.request);
    assert_eq!(cycle, 40);
}

/// Returns the cycles in which `count` loads of `bytes` a lane send their requests.
fn sent_by(bytes_per_cycle: Option<u32>, count: u16, bytes: u8) -> Vec<Cycle> {
    let mut spec = spec();
    spec.load_store.bytes_per_cycle = bytes_per_cycle;
    spec.load_store.requests_per_cycle = 4;
    spec.load_store.queue_depth = 32;
    let steps: Vec<_> = (0..count)
        .map(|n| {
            let lanes = strided(u64::from(n) << 12, u64::from(bytes));
            let load = op(Class::Load, &[n], &[]).accessing(Space::Global, bytes);
            Step {
                access: Some((Space::Global, lanes)),
                ..step(load)
            }
        })
        .chain([exit()])
        .collect();
    let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(300);
    let sent = bench.request.take_all().into_iter();
    sent.map(|(cycle, _)| cycle).collect()
}

#[test]
fn loads_of_16_bytes_a_lane_begin_when_the_bytes_of_those_before_them_have_passed() {
    // The port takes a line in a cycle, so a load of four lines begins every four cycles.
    let free = sent_by(None, 16, 16);
    assert_eq!(free[60] - free[0], 60);
    // Before the last one, 15 loads of 512 bytes pass. The rate is kept in the mean.
    let sent = sent_by(Some(114), 16, 16);
    assert_eq!(sent[60] - sent[0], 15 * 512 / 114);
}

#[test]
fn reads_feed_the_reuse_monitor() {
    let mut spec = spec();
    spec.reuse_monitor = Some(ReuseMonitorSpec {
        filter: BloomSpec {
            bits: 4840,
            hashes: 3,
        },
        key: KeyMode::LineOwner,
        threshold_percent: 50,
        warm_up_children: 2,
        warm_up_lookups: 64,
        self_all: true,
        prediction: PredictionSource::Monitor,
        clear: FilterReset::default(),
    });
    let load = |register| access(Class::Load, &[register], &[], Space::Global, strided(0, 8));
    let steps = vec![load(1), load(2), load(3), exit()];
    let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(40);
    assert_eq!(bench.counter("reuse_self_hits"), 4);
    assert_eq!(bench.counter("reuse_self_misses"), 2);
    assert_eq!(bench.counter("reuse_prediction"), 3);
}

#[test]
#[should_panic(expected = "a response has id 3, which matches no request in flight")]
fn an_answer_to_nothing_is_a_failure() {
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![exit()]], 1, 0)]);
    bench
        .response
        .send_at(3, MemRequest::read(3, 0, 1).answer(Level::L1));
    bench.bench.step(5);
}
