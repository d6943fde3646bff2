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

use super::policy::{FetchGranularity, PolicySpec, ReuseBypass, StaticBypass};
use super::*;
use crate::launch::{CacheCommand, CacheCommandDone};

/// A cache that is replaced, in the middle of everything, by a fresh one that its state was loaded
/// into.
struct Renewed {
    cache: Cache,
    at: Option<Cycle>,
}

impl Renewed {
    fn renew(&mut self) {
        let bytes = State::save(|state| self.cache.state(state)).expect("a cache can be saved");
        let mut fresh = Cache::new(self.cache.spec.clone()).expect("as before");
        State::load(&bytes, |state| fresh.state(state)).expect("the same fields");
        std::mem::swap(&mut fresh.up, &mut self.cache.up);
        std::mem::swap(&mut fresh.down, &mut self.cache.down);
        std::mem::swap(&mut fresh.control, &mut self.cache.control);
        self.cache = fresh;
    }
}

impl Component for Renewed {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        self.cache.ports(ports);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.at.is_some_and(|at| at <= ctx.cycle()) {
            self.at = None;
            self.renew();
        }
        self.cache.evaluate(ctx)
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.cache.statistics(statistics);
    }
}

/// What a line looks like below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LineBelow {
    /// Words that arrived with writes, atomics and copy-backs.
    written: u32,
    write_sequence: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Record {
    lines: BTreeMap<u64, LineBelow>,
    kinds: [u64; RequestKind::ALL.len()],
    /// Due time of the last answer, by the line that the request named.
    answered: BTreeMap<u64, Cycle>,
}

/// The level below: takes requests in order, looks at the line at once, answers after a random
/// delay; answers for one line stay in order, others overtake.
struct Memory {
    line_bytes: u32,
    /// Bytes of the lines that requests are answered in order for.
    order_bytes: u32,
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
            let answer = MemResponse {
                write_sequence: line.write_sequence,
                ..request.answer(Level::Dram)
            };
            let due = now + 1 + mix(self.seed, count) % self.delay_max;
            // Requests for one line of this level are answered in order, others in any.
            let ordered = request.line & !u64::from(self.order_bytes - 1);
            let last = record.answered.entry(ordered).or_default();
            *last = due.max(*last + 1);
            let due = *last;
            let at = self.pending.partition_point(|&(other, _)| other <= due);
            self.pending.insert(at, (due, answer));
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
        Just(WritePolicy::WriteThrough),
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

/// Everything optional.
#[derive(Clone, Debug)]
struct Features {
    hash: SetHash,
    halves: bool,
    sector_bytes: Option<u32>,
    below_line_bytes: Option<u32>,
    banks: Option<Banks>,
    victim_cache: Option<VictimCacheSpec>,
    policy: u32,
    write_allocate: Option<bool>,
    replacement: Replacement,
}

fn features() -> impl Strategy<Value = Features> {
    let hash = prop_oneof![
        Just(SetHash::Modulo),
        Just(SetHash::Xor),
        Just(SetHash::Polynomial)
    ];
    let bytes = || prop_oneof![2 => Just(None), 1 => Just(Some(8)), 1 => Just(Some(16)), 1 => Just(Some(32))];
    let banks = prop::option::of((1u32..4, 1u32..4, 1u32..4).prop_map(|b| Banks {
        count: b.0,
        busy_cycles: b.1,
        requests_per_cycle: b.2,
    }));
    let victims =
        prop::option::of(
            (1u32..4, 0u32..3).prop_map(|(lines, latency_cycles)| VictimCacheSpec {
                lines,
                latency_cycles,
            }),
        );
    let replacement = prop_oneof![
        3 => Just(Replacement::Lru),
        2 => Just(Replacement::Fifo),
        1 => Just(Replacement::PseudoLru),
        1 => Just(Replacement::BitPlru),
        1 => any::<u64>().prop_map(|seed| Replacement::Random { seed }),
        1 => Just(Replacement::Srrip),
        1 => Just(Replacement::Lfu),
    ];
    let switches = (any::<bool>(), 0u32..6, any::<Option<bool>>());
    (
        hash,
        bytes(),
        bytes(),
        banks,
        victims,
        replacement,
        switches,
    )
        .prop_map(
            |(hash, sector_bytes, below_line_bytes, banks, victim_cache, replacement, switches)| {
                Features {
                    hash,
                    halves: switches.0,
                    sector_bytes,
                    below_line_bytes,
                    banks,
                    victim_cache,
                    policy: switches.1,
                    write_allocate: switches.2,
                    replacement,
                }
            },
        )
}

impl Features {
    /// Puts into the specification what it can take.
    fn add_to(self, spec: &mut CacheSpec) {
        spec.sector_bytes = self.sector_bytes;
        spec.below_line_bytes = self.below_line_bytes;
        spec.banks = self.banks;
        let evicts = spec.write == WritePolicy::WriteEvict;
        if !(evicts && self.write_allocate == Some(true)) {
            spec.write_allocate = self.write_allocate;
        }
        let pieces = spec.line_bytes / spec.below_line();
        spec.miss_queue_entries = (spec.miss_queue_entries + 1) * pieces;
        if self.replacement.refuses(spec.ways).is_none() {
            spec.replacement = self.replacement;
        }
        let sets = spec.size_bytes / spec.line_bytes / spec.ways;
        if sets.is_power_of_two() {
            spec.set_hash = self.hash;
        }
        if keeps_no_dirty_lines(spec) {
            spec.victim_cache = self.victim_cache;
            if evicts && self.halves && spec.level == CacheLevel::L1 {
                spec.size_bytes *= 2;
                spec.halves = Some(Halves {
                    count: 2,
                    by: HalfBy::WorkGroup,
                });
            }
        }
        spec.policies = match self.policy {
            1 => vec![PolicySpec::StaticBypass(StaticBypass { pcs: vec![1, 2] })],
            2 => vec![PolicySpec::ReuseBypass(ReuseBypass {
                entries: 4,
                counter_max: 3,
                threshold: 2,
                sample: 3,
                period_requests: 20,
            })],
            3 => vec![
                PolicySpec::FetchGranularity(FetchGranularity { bytes: 16 }),
                PolicySpec::StaticBypass(StaticBypass { pcs: vec![2] }),
            ],
            _ => Vec::new(),
        };
    }
}

/// Whether nothing in the cache is newer than below.
fn keeps_no_dirty_lines(spec: &CacheSpec) -> bool {
    !matches!(spec.write, WritePolicy::WriteBack { .. }) && spec.atomics == AtomicPolicy::Forward
}

/// Whether the reads of [`flush`] displace every dirty line.
fn is_flushed(spec: &CacheSpec) -> bool {
    let in_turn = matches!(spec.replacement, Replacement::Lru | Replacement::Fifo)
        && spec.set_hash == SetHash::Modulo;
    let bypasses = |p: &PolicySpec| matches!(p, PolicySpec::ReuseBypass(_));
    keeps_no_dirty_lines(spec) || in_turn && !spec.policies.iter().any(bypasses)
}

fn spec() -> impl Strategy<Value = CacheSpec> {
    let sizes = (1u32..4, 1u32..5, prop_oneof![Just(LINE), Just(2 * LINE)]);
    let tables = (1u32..5, 1u32..4, 1u32..4, 2u32..5);
    let times = (0u32..7, 0u32..4, 0u32..4, 1u32..3);
    let features = prop_oneof![1 => Just(None), 3 => features().prop_map(Some)];
    (policies(), sizes, tables, times, features).prop_map(
        |(policies, sizes, tables, times, features)| {
            let mut spec = CacheSpec {
                level: policies.3,
                size_bytes: sizes.0 * sizes.1 * sizes.2,
                line_bytes: sizes.2,
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
                replacement: Replacement::Lru,
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
            };
            if let Some(features) = features {
                features.add_to(&mut spec);
            }
            spec
        },
    )
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
    (
        kind,
        gap,
        0..LINES,
        words,
        0u32..8,
        (0u16..3, 0u32..4, 0u32..4),
    )
        .prop_map(|(kind, gap, line, words, bypass, (unit, work_group, pc))| {
            let mut request = MemRequest {
                kind,
                flags: if bypass == 0 { flags::BYPASS_L1 } else { 0 },
                ..MemRequest::read(0, line * u64::from(LINE), words)
            };
            request.source.compute_unit = unit;
            request.source.work_group = work_group;
            request.source.pc = pc;
            (gap, request)
        })
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
                if second.halves.take().is_some() {
                    second.size_bytes /= 2;
                }
                // Lines of 8 bytes at least, so that pieces and sectors fit.
                let line_bytes = spec.below_line();
                second.size_bytes = second.size_bytes / second.line_bytes * line_bytes;
                second.line_bytes = line_bytes;
                second.sector_bytes = second.sector_bytes.map(|b| b.min(line_bytes));
                second.below_line_bytes = None;
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

fn observe(case: &Case, options: EngineOptions, renewed_at: Option<Cycle>) -> Observed {
    let mut bench = TestBench::new();
    bench.set_options(options);
    let cache = Renewed {
        cache: Cache::new(case.spec.clone()).unwrap(),
        at: renewed_at,
    };
    bench.add("cache", cache);
    let record = Arc::<Mutex<Record>>::default();
    let memory = Memory {
        line_bytes: case.spec.line_bytes,
        order_bytes: match &case.second {
            Some(second) => second.line_bytes,
            None => case.spec.below_line(),
        },
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

/// What an answer must look like.
#[derive(Clone, Copy, Debug)]
struct Expected {
    id: u32,
    words: u32,
    /// Sequence of the last store before it to one of its words, and to its line.
    fresh: u32,
    last: u32,
}

/// Line, and part of the cache: what answers are in order for.
fn stream(case: &Case, request: &MemRequest) -> (u64, u32) {
    let (line, _) = place(request, case.spec.line_bytes);
    let part = case
        .spec
        .halves
        .map_or(0, |halves| request.source.work_group % halves.count);
    (line, part)
}

/// The answers expected for each stream, in order.
fn expected(case: &Case) -> BTreeMap<(u64, u32), Vec<Expected>> {
    let mut expected: BTreeMap<_, Vec<Expected>> = BTreeMap::new();
    let mut stores: BTreeMap<u64, Vec<(u32, u32)>> = BTreeMap::new();
    for (_, request) in &case.requests {
        let (line, words) = place(request, case.spec.line_bytes);
        let stores = stores.entry(line).or_default();
        if request.kind.carries_data() {
            stores.push((words, request.write_sequence));
        }
        if request.kind.wants_response() {
            let last = stores.last().map_or(0, |s| s.1);
            let overlapping = stores.iter().rev().find(|s| s.0 & words != 0);
            expected
                .entry(stream(case, request))
                .or_default()
                .push(Expected {
                    id: request.id,
                    words: request.words,
                    fresh: overlapping.map_or(0, |s| s.1),
                    last,
                });
        }
    }
    expected
}

/// Each request that wants an answer gets one, per line in order, with the exact sequence; where the
/// level below keeps sequences of shorter lines, with one that is fresh and not from the future.
fn check_answers(case: &Case, observed: &Observed) {
    let mut answered: BTreeMap<_, Vec<&MemResponse>> = BTreeMap::new();
    for (_, response) in &observed.responses {
        let (_, request) = &case.requests[response.id as usize];
        answered
            .entry(stream(case, request))
            .or_default()
            .push(response);
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
    let expected = expected(case);
    assert_eq!(answered.len(), expected.len());
    let exact = case.second.is_none() || case.spec.below_line_bytes.is_none();
    for (stream, expected) in &expected {
        let answers = &answered[stream];
        assert_eq!(answers.len(), expected.len(), "answers for {stream:?}");
        for (answer, expected) in answers.iter().zip(expected) {
            assert_eq!(
                (answer.id, answer.words),
                (expected.id, expected.words),
                "{stream:?}"
            );
            let least = if exact { expected.last } else { expected.fresh };
            let range = least..=expected.last;
            assert!(
                range.contains(&answer.write_sequence),
                "{answer:?} is not within {range:?}"
            );
        }
    }
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
    let second_is_flushed = case.second.as_ref().is_none_or(|second| {
        keeps_no_dirty_lines(second)
            || second.line_bytes == case.spec.line_bytes && is_flushed(second)
    });
    if is_flushed(&case.spec) && second_is_flushed {
        assert_eq!(below, written);
        return;
    }
    for (line, (words, sequence)) in below {
        let (all, last) = written[&line];
        assert!(words & !all == 0 && sequence <= last, "line {line}");
    }
}

fn check_statistics(case: &Case, observed: &Observed) {
    let count = |name| observed.statistics.counter(name).unwrap();
    let outcomes = ["hits", "hits_reserved", "misses", "passed"].map(count);
    assert_eq!(outcomes.iter().sum::<u64>(), case.requests.len() as u64);
    for (name, kind) in [("reads", RequestKind::Read), ("writes", RequestKind::Write)] {
        let sent = case.requests.iter().filter(|(_, r)| r.kind == kind);
        assert_eq!(count(name), sent.count() as u64, "{name}");
    }
    let pieces = case
        .spec
        .below_line_bytes
        .is_some_and(|b| b < case.spec.line_bytes);
    if case.second.is_some() || pieces {
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
    let takes_all = matches!(case.spec.write, WritePolicy::WriteBack { .. });
    if takes_all && case.spec.allocates_writes() && case.spec.level == CacheLevel::L2 {
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
        let usual = observe(&case, EngineOptions::default(), None);
        check_answers(&case, &usual);
        check_memory(&case, &usual);
        check_statistics(&case, &usual);
        let awake = EngineOptions { sleeping: false, ..EngineOptions::default() };
        compare(&observe(&case, awake, None), &usual);
        let shuffled =
            EngineOptions { order: Order::Shuffled { seed: case.seed }, ..EngineOptions::default() };
        compare(&observe(&case, shuffled, None), &usual);
        let renewed_at = Some(1 + case.seed % 300);
        compare(&observe(&case, EngineOptions::default(), renewed_at), &usual);
    }
}
