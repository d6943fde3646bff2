//! Tests of the cache on a test bench, between a scripted requester and a scripted next level.
//! Exact cycles are checked for [`reads`], [`writes`], the optional [`features`],
//! [`partial_lines`], [`copy_backs`] and [`resize`]. Further tests cover rejected specifications
//! ([`refusals`]), and [`random_traffic`] with a memory that answers late and out of order.

mod copy_backs;
mod features;
mod partial_lines;
mod random_traffic;
mod reads;
mod refusals;
mod replacement;
mod resize;
mod writes;

use warpweave_framework::{Link, Outcome as RunOutcome, Policy, Sink, Source, TestBench, Value};

use super::replacement::Lru;
use super::*;
use crate::launch::{CacheCommand, CacheCommandDone};
use crate::memory::{Level, MemResponse, RequestKind, flags};

/// Specification with 2 sets of 2 ways and 128-byte lines.
pub(crate) fn l1() -> CacheSpec {
    CacheSpec {
        level: CacheLevel::L1,
        size_bytes: 512,
        line_bytes: 128,
        ways: 2,
        interleave: None,
        set_hash: SetHash::Modulo,
        partitions: None,
        sector_bytes: None,
        below_line_bytes: None,
        cut: Cut::Here,
        above_line_bytes: None,
        wait_for: WaitFor::Words,
        banks: None,
        victim_cache: None,
        policies: Vec::new(),
        peers: 0,
        prefetchers: Vec::new(),
        prefetch: PrefetchSpec::default(),
        copy_back_entries: None,
        write_allocate: None,
        replacement: Policy::plain::<Lru>(),
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

/// Test rig with a cache between a scripted requester and a scripted next level.
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

    /// Returns the next downstream request, which must leave in `cycle`.
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
        self.answer.send_at(cycle, request.answer(Level::DRAM));
    }

    /// Returns the next upstream response, which must leave in `cycle`.
    pub(super) fn above_at(&mut self, cycle: Cycle, id: u32, level: Level) -> MemResponse {
        let (at, response) = self.bench.receive(&self.response);
        assert_eq!((at, response.id, response.level), (cycle, id, level));
        response
    }

    /// Fetches a line and returns the cycle after its response.
    pub(super) fn warm(&mut self, line: u64) -> Cycle {
        let start = self.bench.cycle() + 2;
        self.read_at(start, 99, line);
        let fetch = self.below_at(start + 2, RequestKind::Read, line, ALL);
        let back = self.bench.cycle() + 2;
        self.answer_at(back, &fetch);
        let ready = (back + 3).max(start + 5);
        self.above_at(ready, 99, Level::DRAM);
        self.bench.cycle() + 2
    }

    pub(super) fn count(&mut self, name: &str) -> u64 {
        self.bench.statistics("cache").counter(name).unwrap()
    }
}

/// Creates a wire for several messages per cycle.
fn wide() -> Link {
    Link::latency(1)
        .width(warpweave_framework::Width::Messages(4))
        .capacity(8)
}
