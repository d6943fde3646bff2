//! The cache on a test bench: exact cycles per policy, then random traffic against a scripted
//! memory.

use warpweave_framework::{Link, Outcome as RunOutcome, Sink, Source, TestBench, Value};

use super::*;
use crate::launch::{CacheCommand, CacheCommandDone};

/// 2 sets of 2 ways, 128-byte lines.
pub(super) fn l1() -> CacheSpec {
    CacheSpec {
        level: CacheLevel::L1,
        size_bytes: 512,
        line_bytes: 128,
        ways: 2,
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
        allocate: AllocatePolicy::OnMiss,
        write: WritePolicy::WriteEvict,
        atomics: AtomicPolicy::Forward,
        mshr_entries: 4,
        mshr_merges: 4,
        pass_entries: 4,
        miss_queue_entries: 4,
        hit_latency_cycles: 5,
        miss_latency_cycles: 2,
        fill_latency_cycles: 3,
        responses_per_cycle: 1,
    }
}

fn l2(partial: PartialWrite) -> CacheSpec {
    CacheSpec {
        level: CacheLevel::L2,
        write: WritePolicy::WriteBack { partial },
        atomics: AtomicPolicy::Execute { latency_cycles: 4 },
        ..l1()
    }
}

/// A cache between a scripted requester and a scripted level below.
pub(super) struct Rig {
    pub(super) bench: TestBench,
    pub(super) request: Source<MemRequest>,
    pub(super) response: Sink<MemResponse>,
    pub(super) below: Sink<MemRequest>,
    pub(super) answer: Source<MemResponse>,
}

pub(super) const ALL: u32 = u32::MAX;

impl Rig {
    pub(super) fn new(spec: CacheSpec) -> Self {
        let mut bench = TestBench::new();
        bench.add("cache", Cache::new(spec).unwrap());
        let request = bench.source("cache.up.request");
        let response = bench.sink_behind("cache.up.response", wide());
        let below = bench.sink("cache.down.request");
        let answer = bench.source("cache.down.response");
        Self {
            bench,
            request,
            response,
            below,
            answer,
        }
    }

    pub(super) fn read_at(&self, cycle: Cycle, id: u32, line: u64) {
        self.request.send_at(cycle, MemRequest::read(id, line, 1));
    }

    pub(super) fn write_at(&self, cycle: Cycle, id: u32, line: u64, words: u32) {
        self.request
            .send_at(cycle, MemRequest::write(id, line, words));
    }

    pub(super) fn atomic_at(&self, cycle: Cycle, id: u32, line: u64) {
        self.request.send_at(
            cycle,
            MemRequest {
                kind: RequestKind::Atomic,
                ..MemRequest::read(id, line, 1)
            },
        );
    }

    /// The next request below: it must leave in `cycle`.
    pub(super) fn below_at(
        &mut self,
        cycle: Cycle,
        kind: RequestKind,
        line: u64,
        words: u32,
    ) -> MemRequest {
        let (at, request) = self.bench.receive(&self.below);
        assert_eq!(
            (at, request.kind, request.line, request.words),
            (cycle, kind, line, words)
        );
        request
    }

    pub(super) fn answer_at(&self, cycle: Cycle, request: &MemRequest) {
        self.answer.send_at(cycle, request.answer(Level::Dram));
    }

    /// The next response above: it must leave in `cycle`.
    pub(super) fn above_at(&mut self, cycle: Cycle, id: u32, level: Level) -> MemResponse {
        let (at, response) = self.bench.receive(&self.response);
        assert_eq!((at, response.id, response.level), (cycle, id, level));
        response
    }

    /// Brings a line in and returns the cycle after its answer.
    pub(super) fn warm(&mut self, line: u64) -> Cycle {
        let start = self.bench.cycle() + 2;
        self.read_at(start, 99, line);
        let fetch = self.below_at(start + 2, RequestKind::Read, line, ALL);
        let back = self.bench.cycle() + 2;
        self.answer_at(back, &fetch);
        let ready = (back + 3).max(start + 5);
        self.above_at(ready, 99, Level::Dram);
        self.bench.cycle() + 2
    }

    pub(super) fn count(&mut self, name: &str) -> u64 {
        self.bench.statistics("cache").counter(name).unwrap()
    }
}

/// A wire for several messages per cycle.
fn wide() -> Link {
    Link::latency(1)
        .width(warpweave_framework::Width::Messages(4))
        .capacity(8)
}

#[test]
fn a_miss_pays_miss_latency_down_and_fill_latency_up_and_a_hit_its_own() {
    let mut rig = Rig::new(l1());
    rig.read_at(10, 1, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(23, 1, Level::Dram);
    rig.read_at(40, 2, 0);
    rig.above_at(45, 2, Level::L1);
    rig.bench.expect_nothing(&rig.below.clone(), 20);
    assert_eq!(
        (rig.count("hits"), rig.count("misses"), rig.count("fills")),
        (1, 1, 1)
    );
    // In use from acceptance to the last answer.
    assert_eq!(rig.count("mshr_cycles"), 23 - 10);
}

#[test]
fn hits_follow_each_other_every_cycle() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    for i in 0..20 {
        rig.read_at(start + u64::from(i), i, 0);
    }
    for i in 0..20 {
        rig.above_at(start + u64::from(i) + 5, i, Level::L1);
    }
}

#[test]
fn zero_latencies_answer_in_the_cycle_of_arrival() {
    let mut rig = Rig::new(CacheSpec {
        hit_latency_cycles: 0,
        miss_latency_cycles: 0,
        fill_latency_cycles: 0,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    let fetch = rig.below_at(10, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(20, 1, Level::Dram);
    rig.read_at(30, 2, 0);
    rig.above_at(30, 2, Level::L1);
}

#[test]
fn requests_for_a_line_in_flight_merge_and_are_answered_in_order() {
    let mut rig = Rig::new(l1());
    for (cycle, id) in [(10, 1), (11, 2), (30, 3)] {
        rig.read_at(cycle, id, 0);
    }
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(40, &fetch);
    for (cycle, id) in [(43, 1), (44, 2), (45, 3)] {
        rig.above_at(cycle, id, Level::Dram);
    }
    assert_eq!((rig.count("misses"), rig.count("hits_reserved")), (1, 2));
    let statistics = rig.bench.statistics("cache");
    let Some(Value::Histogram(latency)) = statistics.get("read_miss_latency") else {
        panic!("the latency is a histogram");
    };
    assert_eq!((latency.count(), latency.max()), (1, Some(33)));
}

#[test]
fn a_full_mshr_entry_blocks_the_head_request_for_counted_cycles() {
    let mut rig = Rig::new(CacheSpec {
        mshr_merges: 2,
        ..l1()
    });
    for (cycle, id) in [(10, 1), (11, 2), (12, 3)] {
        rig.read_at(cycle, id, 0);
    }
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(40, &fetch);
    // Request 3 finds room in cycle 44, when request 1 has left, and joins the line being
    // answered.
    for (cycle, id) in [(43, 1), (44, 2), (45, 3)] {
        rig.above_at(cycle, id, Level::Dram);
    }
    assert_eq!(rig.count("blocked_merges_full"), 44 - 12);
}

#[test]
fn mshrs_and_ways_run_out_one_by_one() {
    let mut rig = Rig::new(CacheSpec {
        mshr_entries: 1,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    rig.read_at(11, 2, 128);
    let first = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &first);
    rig.above_at(23, 1, Level::Dram);
    rig.below_at(26, RequestKind::Read, 128, ALL);
    assert_eq!(rig.count("blocked_mshrs_full"), 24 - 11);

    // Three lines of one set with two ways, reserved on miss.
    let mut rig = Rig::new(l1());
    for (cycle, line) in [(10, 0), (11, 256), (12, 512)] {
        rig.read_at(cycle, 0, line);
    }
    let first = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.below_at(13, RequestKind::Read, 256, ALL);
    rig.answer_at(20, &first);
    rig.below_at(26, RequestKind::Read, 512, ALL);
    assert_eq!(rig.count("blocked_no_way"), 24 - 12);

    // On fill nothing is reserved.
    let mut rig = Rig::new(CacheSpec {
        allocate: AllocatePolicy::OnFill,
        ..l1()
    });
    for (cycle, line) in [(10, 0), (11, 256), (12, 512)] {
        rig.read_at(cycle, 0, line);
    }
    for (cycle, line) in [(12, 0), (13, 256), (14, 512)] {
        rig.below_at(cycle, RequestKind::Read, line, ALL);
    }
}

#[test]
fn write_evict_sends_writes_down_and_drops_the_copy() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    rig.write_at(start, 1, 0, 0b110);
    let write = rig.below_at(start + 2, RequestKind::Write, 0, 0b110);
    rig.answer_at(start + 30, &write);
    rig.above_at(start + 33, 1, Level::Dram);
    rig.read_at(start + 40, 2, 0);
    rig.below_at(start + 42, RequestKind::Read, 0, ALL);
    assert_eq!((rig.count("write_evictions"), rig.count("misses")), (1, 2));
}

#[test]
fn a_write_miss_allocates_nothing_under_write_evict() {
    let mut rig = Rig::new(l1());
    rig.write_at(10, 1, 0, ALL);
    let write = rig.below_at(12, RequestKind::Write, 0, ALL);
    rig.answer_at(20, &write);
    rig.above_at(23, 1, Level::Dram);
    rig.read_at(30, 2, 0);
    rig.below_at(32, RequestKind::Read, 0, ALL);
}

#[test]
fn a_store_to_a_line_in_flight_keeps_it_from_being_installed() {
    for allocate in [AllocatePolicy::OnMiss, AllocatePolicy::OnFill] {
        let mut rig = Rig::new(CacheSpec { allocate, ..l1() });
        rig.read_at(10, 1, 0);
        rig.write_at(11, 2, 0, 1);
        rig.read_at(12, 3, 0);
        let old = rig.below_at(12, RequestKind::Read, 0, ALL);
        let write = rig.below_at(13, RequestKind::Write, 0, 1);
        let new = rig.below_at(14, RequestKind::Read, 0, ALL);
        rig.answer_at(20, &old);
        rig.answer_at(21, &write);
        rig.above_at(23, 1, Level::Dram);
        rig.above_at(24, 2, Level::Dram);
        // Still in flight for the second MSHR: a read joins that one.
        rig.read_at(30, 4, 0);
        rig.answer_at(40, &new);
        rig.above_at(43, 3, Level::Dram);
        rig.above_at(44, 4, Level::Dram);
        rig.read_at(50, 5, 0);
        rig.above_at(55, 5, Level::L1);
        assert_eq!(rig.count("fills_not_installed"), 1);
    }
}

#[test]
fn write_back_keeps_words_and_copies_back_the_dirty_ones() {
    let mut rig = Rig::new(l2(PartialWrite::WordMask));
    rig.write_at(10, 1, 0, 0b11);
    rig.above_at(15, 1, Level::L2);
    // Words present: a hit. Others: the rest of the line is fetched.
    rig.read_at(20, 2, 0);
    rig.above_at(25, 2, Level::L2);
    rig.request.send_at(30, MemRequest::read(3, 0, 0b100));
    let rest = rig.below_at(32, RequestKind::Read, 0, !0b11);
    rig.answer_at(40, &rest);
    rig.above_at(43, 3, Level::Dram);
    // Two more lines of the set displace it; the copy-back goes ahead of the miss.
    rig.read_at(50, 4, 256);
    let fetch = rig.below_at(52, RequestKind::Read, 256, ALL);
    rig.answer_at(60, &fetch);
    rig.above_at(63, 4, Level::Dram);
    rig.read_at(70, 5, 512);
    rig.below_at(72, RequestKind::CopyBack, 0, 0b11);
    rig.below_at(73, RequestKind::Read, 512, ALL);
    let counts = ["partial_misses", "evictions", "copy_backs"].map(|name| rig.count(name));
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn fetch_on_write_fetches_for_partial_writes_only() {
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.write_at(10, 1, 0, ALL);
    rig.above_at(15, 1, Level::L2);
    rig.write_at(20, 2, 128, 1);
    let fetch = rig.below_at(22, RequestKind::Read, 128, ALL);
    rig.answer_at(30, &fetch);
    rig.above_at(33, 2, Level::L2);
    rig.read_at(40, 3, 128);
    rig.above_at(45, 3, Level::L2);
    for (at, line) in [(50, 384), (60, 640)] {
        rig.write_at(at, 4, line, ALL);
        rig.above_at(at + 5, 4, Level::L2);
    }
    rig.below_at(62, RequestKind::CopyBack, 128, 1);
}

#[test]
fn atomics_execute_at_one_per_cycle_and_leave_the_line_dirty() {
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.atomic_at(10, 1, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(23 + 4, 1, Level::Dram);
    rig.atomic_at(40, 2, 0);
    rig.atomic_at(41, 3, 0);
    rig.read_at(42, 4, 0);
    rig.above_at(40 + 5 + 4, 2, Level::L2);
    rig.above_at(41 + 5 + 4, 3, Level::L2);
    // The hit behind atomics leaves after them.
    rig.above_at(51, 4, Level::L2);
    for (at, line) in [(60, 256), (70, 512)] {
        rig.write_at(at, 5, line, ALL);
        rig.above_at(at + 5, 5, Level::L2);
    }
    rig.below_at(72, RequestKind::CopyBack, 0, 1);
}

#[test]
fn forwarded_atomics_drop_the_copy() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    rig.atomic_at(start, 1, 0);
    let atomic = rig.below_at(start + 2, RequestKind::Atomic, 0, 1);
    rig.answer_at(start + 20, &atomic);
    let answer = rig.above_at(start + 23, 1, Level::Dram);
    assert_eq!(answer.kind, RequestKind::Atomic);
    rig.read_at(start + 30, 2, 0);
    rig.below_at(start + 32, RequestKind::Read, 0, ALL);
    assert_eq!((rig.count("passed"), rig.count("atomics")), (1, 1));
}

#[test]
fn dirty_words_go_down_ahead_of_a_forwarded_atomic() {
    let mut rig = Rig::new(CacheSpec {
        atomics: AtomicPolicy::Forward,
        ..l2(PartialWrite::Fetch)
    });
    rig.write_at(10, 1, 0, 1);
    rig.atomic_at(11, 2, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(23, 1, Level::L2);
    // Blocked until the write is answered in 23; accepted in 24.
    rig.below_at(26, RequestKind::CopyBack, 0, 1);
    rig.below_at(27, RequestKind::Atomic, 0, 1);
    assert_eq!(rig.count("blocked_line_busy"), 24 - 11);
}

#[test]
fn bypassing_requests_pass_an_l1_but_not_an_l2() {
    let bypass = MemRequest {
        flags: flags::BYPASS_L1,
        ..MemRequest::read(1, 0, 0b1000)
    };
    let mut rig = Rig::new(l1());
    rig.request.send_at(10, bypass);
    let passed = rig.below_at(12, RequestKind::Read, 0, 0b1000);
    rig.answer_at(20, &passed);
    rig.above_at(23, 1, Level::Dram);
    rig.read_at(30, 2, 0);
    rig.below_at(32, RequestKind::Read, 0, ALL);

    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.request.send_at(10, bypass);
    rig.below_at(12, RequestKind::Read, 0, ALL);
}

#[test]
fn answers_from_below_never_leave_before_a_hit_of_the_same_cycle_would() {
    let slow_hits = CacheSpec {
        hit_latency_cycles: 40,
        ..l1()
    };
    let mut rig = Rig::new(slow_hits.clone());
    rig.read_at(10, 1, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(10 + 40, 1, Level::Dram);

    let mut rig = Rig::new(slow_hits);
    rig.write_at(10, 1, 0, 1);
    let write = rig.below_at(12, RequestKind::Write, 0, 1);
    rig.answer_at(20, &write);
    rig.above_at(10 + 40, 1, Level::Dram);
}

#[test]
fn a_write_without_fetch_waits_for_readers_that_a_passing_request_overtook() {
    let mut rig = Rig::new(CacheSpec {
        level: CacheLevel::L1,
        ..l2(PartialWrite::WordMask)
    });
    rig.read_at(10, 1, 0);
    let bypass = MemRequest {
        kind: RequestKind::CopyBack,
        flags: flags::BYPASS_L1,
        ..MemRequest::read(0, 0, 1)
    };
    rig.request.send_at(11, bypass);
    rig.write_at(12, 2, 0, 1);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.below_at(13, RequestKind::CopyBack, 0, 1);
    rig.answer_at(30, &fetch);
    rig.above_at(33, 1, Level::Dram);
    rig.above_at(34 + 5, 2, Level::L1);
    assert_eq!(rig.count("blocked_line_busy"), 34 - 12);
}

#[test]
fn copy_backs_from_above_stay_in_a_write_back_cache_and_are_not_answered() {
    let copy_back = |line, words| MemRequest {
        kind: RequestKind::CopyBack,
        ..MemRequest::read(0, line, words)
    };
    let mut rig = Rig::new(l2(PartialWrite::WordMask));
    rig.request.send_at(10, copy_back(0, 0b1));
    rig.request.send_at(11, MemRequest::read(1, 0, 0b1));
    rig.above_at(16, 1, Level::L2);
    assert_eq!(rig.count("copy_backs_received"), 1);

    // Where the line must be fetched, its posted waiter is dropped at the fill.
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.request.send_at(10, copy_back(0, 0b1));
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.bench.step(10);
    rig.read_at(40, 1, 0);
    rig.above_at(45, 1, Level::L2);

    let mut rig = Rig::new(l1());
    rig.request.send_at(10, copy_back(0, 0b1));
    rig.below_at(12, RequestKind::CopyBack, 0, 0b1);
    assert_eq!(rig.bench.run_until_quiet(), RunOutcome::Done);
}

#[test]
fn shorter_lines_above_share_a_line_here() {
    let mut rig = Rig::new(l1());
    rig.request.send_at(10, MemRequest::read(1, 32, 0xff));
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    let answer = rig.above_at(23, 1, Level::Dram);
    assert_eq!((answer.line, answer.words), (32, 0xff));
    rig.request.send_at(30, MemRequest::read(2, 96, 0xff));
    rig.above_at(35, 2, Level::L1);
}

#[test]
#[should_panic(expected = "lines above must not be longer")]
fn longer_lines_above_end_the_run() {
    let mut rig = Rig::new(CacheSpec {
        line_bytes: 32,
        ..l1()
    });
    rig.request.send_at(10, MemRequest::read(1, 0, 0x100));
    rig.bench.step(20);
}

#[test]
#[should_panic(expected = "answers no request")]
fn an_answer_to_nothing_ends_the_run() {
    let rig = &mut Rig::new(l1());
    rig.answer
        .send_at(10, MemRequest::read(1, 0, 1).answer(Level::L2));
    rig.bench.step(20);
}

#[test]
fn invalidation_waits_for_what_is_in_flight_and_drops_clean_lines() {
    let mut rig = Rig::new(l1());
    let command = rig.bench.source::<CacheCommand>("cache.control.command");
    let done = rig.bench.sink::<CacheCommandDone>("cache.control.done");
    let start = rig.warm(0);
    // Idle: answered at once.
    command.send_at(start, CacheCommand::Invalidate);
    rig.bench.expect_at(&done, start, &CacheCommandDone);
    let at = start + 10;
    rig.read_at(at, 1, 0);
    command.send_at(at + 1, CacheCommand::Invalidate);
    rig.read_at(at + 2, 2, 128);
    let fetch = rig.below_at(at + 2, RequestKind::Read, 0, ALL);
    rig.answer_at(at + 20, &fetch);
    rig.above_at(at + 23, 1, Level::Dram);
    rig.bench.expect_at(&done, at + 23, &CacheCommandDone);
    rig.below_at(at + 26, RequestKind::Read, 128, ALL);
    let names = ["invalidations", "lines_invalidated", "blocked_invalidation"];
    assert_eq!(names.map(|name| rig.count(name)), [2, 2, 22]);
}

#[test]
fn the_write_sequence_of_a_response_is_that_of_its_place_in_order() {
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    let write = |id, sequence| MemRequest {
        write_sequence: sequence,
        ..MemRequest::write(id, 0, 1)
    };
    rig.read_at(10, 1, 0);
    rig.request.send_at(11, write(2, 7));
    rig.read_at(12, 3, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer.send_at(
        20,
        MemResponse {
            write_sequence: 4,
            ..fetch.answer(Level::Dram)
        },
    );
    let sequences = [
        (23, 1, Level::Dram),
        (24, 2, Level::L2),
        (25, 3, Level::Dram),
    ]
    .map(|(cycle, id, level)| rig.above_at(cycle, id, level).write_sequence);
    assert_eq!(sequences, [4, 7, 7]);
    rig.read_at(40, 4, 0);
    assert_eq!(rig.above_at(45, 4, Level::L2).write_sequence, 7);
}

#[test]
fn a_loop_of_one_line_more_than_a_set_holds_misses_always() {
    for allocate in [AllocatePolicy::OnMiss, AllocatePolicy::OnFill] {
        let mut rig = Rig::new(CacheSpec { allocate, ..l1() });
        for _ in 0..4 {
            for line in [0, 256, 512] {
                rig.warm(line);
            }
        }
        assert_eq!((rig.count("misses"), rig.count("evictions")), (12, 10));
    }
}

#[test]
fn latencies_of_two_levels_and_their_wires_add_up() {
    let mut bench = TestBench::new();
    let second = CacheSpec {
        hit_latency_cycles: 9,
        miss_latency_cycles: 4,
        fill_latency_cycles: 6,
        ..l2(PartialWrite::Fetch)
    };
    bench.add("first", Cache::new(l1()).unwrap());
    bench.add("second", Cache::new(second).unwrap());
    let wire = Link::latency(11);
    bench.builder().connect("first.down", "second.up", wire);
    let request = bench.source::<MemRequest>("first.up.request");
    let response = bench.sink::<MemResponse>("first.up.response");
    let below = bench.sink::<MemRequest>("second.down.request");
    let answer = bench.source::<MemResponse>("second.down.response");
    request.send_at(10, MemRequest::read(1, 0, 1));
    let (sent, fetch) = bench.receive(&below);
    assert_eq!(sent, 10 + 2 + 11 + 4);
    answer.send_at(50, fetch.answer(Level::Dram));
    let (cycle, got) = bench.receive(&response);
    assert_eq!((cycle, got.level), (50 + 6 + 11 + 3, Level::Dram));
    // Displaced from the first level by its write, the line is still in the second.
    request.send_at(100, MemRequest::write(2, 0, 1));
    let (cycle, got) = bench.receive(&response);
    assert_eq!((cycle, got.level), (100 + 2 + 11 + 9 + 11 + 3, Level::L2));
    request.send_at(200, MemRequest::read(3, 0, 1));
    let (cycle, got) = bench.receive(&response);
    assert_eq!((cycle, got.level), (200 + 2 + 11 + 9 + 11 + 3, Level::L2));
}

#[test]
fn a_cache_that_waits_for_a_fill_sleeps_even_with_a_blocked_request() {
    let mut rig = Rig::new(CacheSpec {
        mshr_merges: 1,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    rig.read_at(11, 2, 0);
    rig.bench.step(30);
    let before = rig.bench.simulation().evaluations();
    rig.bench.step(1000);
    // The bench wakes its two sources at every step.
    assert_eq!(rig.bench.simulation().evaluations() - before, 2);
    assert_eq!(rig.count("blocked_merges_full"), rig.bench.cycle() + 1 - 11);
}

#[test]
fn a_stream_of_hits_costs_one_evaluation_each() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    let before = rig.bench.simulation().evaluations();
    for i in 0..1000 {
        rig.read_at(start + u64::from(i), i, 0);
    }
    rig.bench.step(1200);
    let evaluations = rig.bench.simulation().evaluations() - before;
    // Source, cache and sink once per request, and the pipeline's length more at the end.
    assert!(evaluations <= 3 * 1000 + 30, "{evaluations} evaluations");
    assert_eq!(rig.count("hits"), 1000);
}

#[test]
fn a_cache_without_answers_tells_what_it_waits_for() {
    let mut rig = Rig::new(CacheSpec {
        mshr_entries: 1,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    rig.read_at(11, 2, 128);
    let RunOutcome::Deadlock(report) = rig.bench.run_until_quiet() else {
        panic!("nobody answers the fetch");
    };
    let text = report.to_string();
    assert!(text.contains("1 MSHRs wait for fills"), "{text}");
    assert!(
        text.contains("head request waited for a free MSHR"),
        "{text}"
    );
}

#[test]
fn specifications_are_refused_with_the_field_at_fault() {
    let cases = [
        (
            CacheSpec {
                line_bytes: 96,
                ..l1()
            },
            "line_bytes",
        ),
        (
            CacheSpec {
                size_bytes: 500,
                ..l1()
            },
            "size_bytes",
        ),
        (
            CacheSpec {
                size_bytes: 0,
                ..l1()
            },
            "size_bytes",
        ),
        (CacheSpec { ways: 0, ..l1() }, "ways"),
        (
            CacheSpec {
                mshr_entries: 0,
                ..l1()
            },
            "mshr_entries",
        ),
        (
            CacheSpec {
                miss_queue_entries: 1,
                ..l1()
            },
            "miss_queue_entries",
        ),
        (
            CacheSpec {
                mshr_entries: 1 << 20,
                mshr_merges: 1 << 20,
                ..l1()
            },
            "mshr_merges",
        ),
        (
            CacheSpec {
                size_bytes: 1 << 31,
                line_bytes: 4,
                ways: 1,
                ..l1()
            },
            "size_bytes",
        ),
        (
            CacheSpec {
                interleave: Some(crate::interleave::Interleave {
                    granule_bytes: 64,
                    slices: 2,
                }),
                ..l1()
            },
            "interleave.granule_bytes",
        ),
    ];
    for (spec, field) in cases {
        let error = Cache::new(spec).err().expect("the value is out of range");
        assert_eq!(error.field, field, "{error}");
    }
}
