//! Random traffic through one or two caches of random shape, against a memory that answers late and
//! out of order between lines. Because every line's answers leave in the order of its requests, the
//! write sequence of each answer is known exactly.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use warpweave_framework::{
    EngineOptions, InstanceStatistics, Link, Order, Outcome as RunOutcome, TestBench, Width,
};

use super::*;
use crate::launch::{CacheCommand, CacheCommandDone};

/// What a line looks like below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LineBelow {
    /// Words that arrived with writes, atomics and copy-backs.
    written: u32,
    write_sequence: u32,
    /// Due time of its last answer.
    last: Cycle,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Record {
    lines: BTreeMap<u64, LineBelow>,
    kinds: [u64; RequestKind::ALL.len()],
}

/// The level below: takes requests in order, looks at the line at once, answers after a random
/// delay; answers for one line stay in order, others overtake.
struct Memory {
    line_bytes: u32,
    seed: u64,
    delay_max: u64,
    record: Arc<Mutex<Record>>,
    pending: Vec<(Cycle, MemResponse)>,
    up: MemSlave,
}

fn mix(seed: u64, n: u64) -> u64 {
    let mut z = (seed ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(n);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Line of this length that a request touches, and the words of it.
fn place(request: &MemRequest, line_bytes: u32) -> (u64, u32) {
    let line = request.line & !u64::from(line_bytes - 1);
    (line, request.words << ((request.line - line) / 4))
}

impl Memory {
    fn take(&mut self, request: &MemRequest, now: Cycle) {
        let mut record = self.record.lock();
        record.kinds[request.kind as usize] += 1;
        let count = record.kinds.iter().sum();
        let (line, words) = place(request, self.line_bytes);
        let line = record.lines.entry(line).or_default();
        if request.kind.carries_data() {
            line.written |= words;
            line.write_sequence = line.write_sequence.max(request.write_sequence);
        }
        if request.kind.wants_response() {
            let due = now + 1 + mix(self.seed, count) % self.delay_max;
            line.last = due.max(line.last + 1);
            let answer = MemResponse {
                write_sequence: line.write_sequence,
                ..request.answer(Level::Dram)
            };
            let at = self.pending.partition_point(|&(due, _)| due <= line.last);
            self.pending.insert(at, (line.last, answer));
        }
    }
}

impl Component for Memory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        while let Some(&(due, response)) = self.pending.first() {
            if due > now || self.up.response.try_send(ctx, response).is_err() {
                break;
            }
            self.pending.remove(0);
        }
        if !mix(self.seed, now).is_multiple_of(3)
            && let Some(request) = self.up.request.pop(ctx)
        {
            self.take(&request, now);
        }
        if self.pending.is_empty() && self.up.request.peek(ctx).is_none() {
            Next::Idle
        } else {
            Next::Until(now + 1)
        }
    }
}

/// A whole random case.
#[derive(Clone, Debug)]
struct Case {
    spec: CacheSpec,
    /// A second level below the first.
    second: Option<CacheSpec>,
    /// Gap in cycles before each request, and the request.
    requests: Vec<(u64, MemRequest)>,
    commands: Vec<Cycle>,
    stall: u32,
    seed: u64,
    delay_max: u64,
}

/// Everything that must not depend on how the engine works.
#[derive(Clone, Debug, PartialEq)]
struct Observed {
    responses: Vec<(Cycle, MemResponse)>,
    invalidations: usize,
    below: Record,
    statistics: InstanceStatistics,
}

/// Bytes of a line above; the caches' own may be twice as long.
const LINE: u32 = 32;
/// Lines used by random requests; the flush uses others.
const LINES: u64 = 12;

fn policies() -> impl Strategy<Value = (WritePolicy, AllocatePolicy, AtomicPolicy, CacheLevel)> {
    let write = prop_oneof![
        Just(WritePolicy::WriteEvict),
        Just(WritePolicy::WriteBack {
            partial: PartialWrite::Fetch
        }),
        Just(WritePolicy::WriteBack {
            partial: PartialWrite::WordMask
        }),
    ];
    let allocate = prop_oneof![Just(AllocatePolicy::OnMiss), Just(AllocatePolicy::OnFill)];
    let atomics = prop_oneof![
        Just(AtomicPolicy::Forward),
        (0u32..5).prop_map(|latency_cycles| AtomicPolicy::Execute { latency_cycles }),
    ];
    let level = prop_oneof![Just(CacheLevel::L1), Just(CacheLevel::L2)];
    (write, allocate, atomics, level)
}

fn spec() -> impl Strategy<Value = CacheSpec> {
    let sizes = (
        1u32..4,
        1u32..4,
        any::<bool>(),
        prop_oneof![Just(LINE), Just(2 * LINE)],
    );
    let tables = (1u32..5, 1u32..4, 1u32..4, 2u32..5);
    let times = (0u32..7, 0u32..4, 0u32..4, 1u32..3);
    (policies(), sizes, tables, times).prop_map(|(policies, sizes, tables, times)| CacheSpec {
        level: policies.3,
        size_bytes: sizes.0 * sizes.1 * sizes.3,
        line_bytes: sizes.3,
        ways: sizes.1,
        interleave: None,
        set_hash: SetHash::Modulo,
        halves: None,
        sector_bytes: None,
        below_line_bytes: None,
        banks: None,
        victim_cache: None,
        policies: Vec::new(),
        write_allocate: None,
        replacement: if sizes.2 {
            Replacement::Lru
        } else {
            Replacement::Fifo
        },
        allocate: policies.1,
        write: policies.0,
        atomics: policies.2,
        mshr_entries: tables.0,
        mshr_merges: tables.1,
        pass_entries: tables.2,
        miss_queue_entries: tables.3,
        hit_latency_cycles: times.0,
        miss_latency_cycles: times.1,
        fill_latency_cycles: times.2,
        responses_per_cycle: times.3,
    })
}

fn request() -> impl Strategy<Value = (u64, MemRequest)> {
    let kind = prop_oneof![
        6 => Just(RequestKind::Read),
        3 => Just(RequestKind::Write),
        2 => Just(RequestKind::Atomic),
        1 => Just(RequestKind::Prefetch),
        1 => Just(RequestKind::CopyBack),
    ];
    let gap = prop_oneof![4 => Just(0u64), 1 => 1u64..30];
    let words = prop_oneof![1 => Just(0xffu32), 3 => 1u32..0x100];
    (kind, gap, 0..LINES, words, 0u32..8, 0u16..3).prop_map(
        |(kind, gap, line, words, bypass, unit)| {
            let mut request = MemRequest {
                kind,
                flags: if bypass == 0 { flags::BYPASS_L1 } else { 0 },
                ..MemRequest::read(0, line * u64::from(LINE), words)
            };
            request.source.compute_unit = unit;
            (gap, request)
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    (
        (spec(), prop::option::of(spec())),
        prop::collection::vec(request(), 1..120),
        prop::collection::vec(1u64..400, 0..3),
        0u32..14,
        any::<u64>(),
        1u64..60,
    )
        .prop_map(|(specs, mut requests, commands, stall, seed, delay_max)| {
            number(&mut requests);
            let (spec, mut second) = specs;
            flush(&spec, &mut requests);
            if let Some(second) = &mut second {
                second.level = CacheLevel::L2;
                second.size_bytes = second.size_bytes / second.line_bytes * spec.line_bytes;
                second.line_bytes = spec.line_bytes;
                flush(second, &mut requests);
            }
            Case {
                spec,
                second,
                requests,
                commands,
                stall,
                seed,
                delay_max,
            }
        })
}

/// Gives requests their ids and writes their sequence.
fn number(requests: &mut [(u64, MemRequest)]) {
    for (id, (_, request)) in (0u32..).zip(requests) {
        request.id = id;
        if request.kind.carries_data() {
            request.write_sequence = id + 1;
        }
    }
}

/// Appends reads that displace every line.
fn flush(spec: &CacheSpec, requests: &mut Vec<(u64, MemRequest)>) {
    for line in 0..u64::from(spec.size_bytes / spec.line_bytes) {
        let id = requests.len() as u32;
        // All earlier lines have been answered by then, so that none is locked.
        let gap = if line == 0 { 20_000 } else { 500 };
        // Lines that follow each other visit all sets equally often; ids are never reused.
        let line = (LINES + u64::from(id)) * u64::from(spec.line_bytes);
        requests.push((gap, MemRequest::read(id, line, 1)));
    }
}

fn observe(case: &Case, options: EngineOptions) -> Observed {
    let mut bench = TestBench::new();
    bench.set_options(options);
    bench.add("cache", Cache::new(case.spec.clone()).unwrap());
    let record = Arc::<Mutex<Record>>::default();
    let memory = Memory {
        line_bytes: case.spec.line_bytes,
        seed: case.seed,
        delay_max: case.delay_max,
        record: record.clone(),
        pending: Vec::new(),
        up: MemSlave::default(),
    };
    bench.add("memory", memory);
    if let Some(second) = &case.second {
        bench.add("second", Cache::new(second.clone()).unwrap());
        let builder = bench.builder();
        builder.connect("cache.down", "second.up", Link::latency(1));
        builder.connect("second.down", "memory.up", Link::latency(1));
    } else {
        let builder = bench.builder();
        builder.connect("cache.down", "memory.up", Link::latency(1));
    }
    let requests = bench.source::<MemRequest>("cache.up.request");
    let wide = Link::latency(1).width(Width::Messages(2)).capacity(4);
    let responses = bench.sink_behind::<MemResponse>("cache.up.response", wide);
    let commands = bench.source::<CacheCommand>("cache.control.command");
    let done = bench.sink::<CacheCommandDone>("cache.control.done");
    responses.stall_randomly(case.seed, case.stall);
    let mut cycle = 1;
    for (gap, request) in &case.requests {
        cycle += gap;
        requests.send_at(cycle, *request);
    }
    let mut at = 1;
    for gap in &case.commands {
        at += gap;
        commands.send_at(at, CacheCommand::Invalidate);
    }
    assert_eq!(bench.run_until_quiet(), RunOutcome::Done);
    let below = record.lock().clone();
    Observed {
        responses: responses.take_all(),
        invalidations: done.take_all().len(),
        below,
        statistics: bench.statistics("cache"),
    }
}

/// Each request that wants an answer gets one, per line in order, with the exact sequence.
fn check_answers(case: &Case, observed: &Observed) {
    let mut expected: BTreeMap<u64, Vec<(u32, u32, u32)>> = BTreeMap::new();
    let mut sequences: BTreeMap<u64, u32> = BTreeMap::new();
    for (_, request) in &case.requests {
        let (line, _) = place(request, case.spec.line_bytes);
        let sequence = sequences.entry(line).or_default();
        *sequence = request.write_sequence.max(*sequence);
        if request.kind.wants_response() {
            let list = expected.entry(line).or_default();
            list.push((request.id, request.words, *sequence));
        }
    }
    let mut answered: BTreeMap<u64, Vec<(u32, u32, u32)>> = BTreeMap::new();
    for (_, response) in &observed.responses {
        let (_, request) = &case.requests[response.id as usize];
        let (line, _) = place(request, case.spec.line_bytes);
        let list = answered.entry(line).or_default();
        list.push((response.id, response.words, response.write_sequence));
        assert_eq!(
            (
                response.line,
                response.kind,
                response.source,
                response.flags
            ),
            (request.line, request.kind, request.source, request.flags)
        );
    }
    for (line, expected) in &expected {
        assert_eq!(answered.get(line), Some(expected), "line {line}");
    }
    assert_eq!(answered.len(), expected.len());
    assert_eq!(observed.invalidations, case.commands.len());
}

/// Written words arrive below, no others, with the sequence of the last write.
fn check_memory(case: &Case, observed: &Observed) {
    let mut written: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    for (_, request) in case.requests.iter().filter(|(_, r)| r.kind.carries_data()) {
        let (line, words) = place(request, case.spec.line_bytes);
        let line = written.entry(line).or_default();
        *line = (line.0 | words, request.write_sequence);
    }
    let below: BTreeMap<_, _> = observed
        .below
        .lines
        .iter()
        .filter(|(_, line)| line.written != 0)
        .map(|(&line, below)| (line, (below.written, below.write_sequence)))
        .collect();
    assert_eq!(below, written);
}

fn check_statistics(case: &Case, observed: &Observed) {
    let count = |name| observed.statistics.counter(name).unwrap();
    let outcomes = ["hits", "hits_reserved", "misses", "passed"].map(count);
    assert_eq!(outcomes.iter().sum::<u64>(), case.requests.len() as u64);
    for (name, kind) in [("reads", RequestKind::Read), ("writes", RequestKind::Write)] {
        let sent = case.requests.iter().filter(|(_, r)| r.kind == kind);
        assert_eq!(count(name), sent.count() as u64, "{name}");
    }
    if case.second.is_some() {
        return;
    }
    let below = |kind| observed.below.kinds[kind as usize];
    let fetched = below(RequestKind::Read) + below(RequestKind::Prefetch);
    let passes = |(_, r): &&(u64, MemRequest)| {
        r.flags & flags::BYPASS_L1 != 0
            && case.spec.level == CacheLevel::L1
            && !r.kind.carries_data()
    };
    let passed = case.requests.iter().filter(passes).count() as u64;
    assert_eq!(count("fills"), fetched - passed);
    assert!(count("copy_backs") <= below(RequestKind::CopyBack));
    if case.spec.write != WritePolicy::WriteEvict && case.spec.level == CacheLevel::L2 {
        assert_eq!(count("copy_backs"), below(RequestKind::CopyBack));
    }
}

/// Piece by piece, for the sake of the message.
fn compare(other: &Observed, usual: &Observed) {
    for (a, b) in other.responses.iter().zip(&usual.responses) {
        assert_eq!(a, b);
    }
    for (a, b) in other.statistics.values.iter().zip(&usual.statistics.values) {
        assert_eq!(a, b);
    }
    assert_eq!(other, usual);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_traffic_is_answered_once_in_order_and_fresh_however_the_engine_works(case in case()) {
        let usual = observe(&case, EngineOptions::default());
        check_answers(&case, &usual);
        check_memory(&case, &usual);
        check_statistics(&case, &usual);
        let awake = EngineOptions { sleeping: false, ..EngineOptions::default() };
        compare(&observe(&case, awake), &usual);
        let shuffled =
            EngineOptions { order: Order::Shuffled { seed: case.seed }, ..EngineOptions::default() };
        compare(&observe(&case, shuffled), &usual);
    }
}
