//! Tests of policy chains and the library's policies on a test bench, and of test-only policies
//! ([`duel`], [`mixed`], [`actions`]). Policies of bypass and granularity are [`given`] events, and
//! compared with naive models on random traffic ([`replay`]).

mod actions;
mod bypass;
mod bypass_copy_back;
mod counts;
mod duel;
mod eager_write_back;
mod exclusion;
mod flexclusion;
mod flits;
mod given;
mod granularity;
mod mixed;
mod region_exclusive;
mod replay;
mod request_flags;
mod uses;

use warpweave_framework::{
    NoFields, Policy, PolicyContext, PolicyKind, Sink, Source as BenchSource, SpecError, State,
    Statistics, TestBench,
};

use super::super::tests::l1;
use super::super::{AllocatePolicy, Cache, CacheSpec, PartialWrite, WritePolicy};
use super::*;
use crate::memory::{Level, MemRequest, MemResponse, RequestKind, flags};

struct Rig {
    bench: TestBench,
    request: BenchSource<MemRequest>,
    response: Sink<MemResponse>,
    below: Sink<MemRequest>,
    answer: BenchSource<MemResponse>,
}

impl Rig {
    fn new(cache: Cache) -> Self {
        let mut bench = TestBench::new();
        bench.add("cache", cache);
        Self {
            request: bench.source("cache.up.request"),
            response: bench.sink("cache.up.response"),
            below: bench.sink("cache.down.request"),
            answer: bench.source("cache.down.response"),
            bench,
        }
    }

    /// Reads one word and returns the supplying level and the words fetched.
    fn read(&mut self, line: u64, pc: u32) -> (Level, u32) {
        let mut request = MemRequest::read(7, line, 1);
        request.source.pc = pc;
        self.request.send(request);
        for _ in 0..100 {
            self.bench.step(1);
            if let Some((_, response)) = self.response.take() {
                return (response.level, 0);
            }
            let Some((_, fetch)) = self.below.take() else {
                continue;
            };
            if fetch.kind != RequestKind::Read {
                continue;
            }
            self.answer.send(fetch.answer(Level::L2));
            let (_, response) = self.bench.receive(&self.response);
            return (response.level, fetch.words);
        }
        panic!("no answer");
    }

    fn count(&mut self, name: &str) -> u64 {
        self.bench.statistics("cache").counter(name).unwrap()
    }
}

fn with(policies: Vec<Policy<CachePolicies>>) -> Rig {
    Rig::new(Cache::new(CacheSpec { policies, ..l1() }).unwrap())
}

#[test]
fn lines_of_annotated_instructions_are_not_kept() {
    for allocate in [AllocatePolicy::OnMiss, AllocatePolicy::OnFill] {
        let policies = vec![Policy::of::<StaticBypass>(&StaticBypassSpec {
            pcs: vec![9, 4],
        })];
        let spec = CacheSpec {
            policies,
            allocate,
            ..l1()
        };
        let mut rig = Rig::new(Cache::new(spec).unwrap());
        assert_eq!(rig.read(0, 4), (Level::L2, u32::MAX));
        assert_eq!(rig.read(0, 4), (Level::L2, u32::MAX));
        assert_eq!(rig.read(0, 5), (Level::L2, u32::MAX));
        // Hits are served regardless of the requesting instruction.
        assert_eq!(rig.read(0, 4), (Level::L1, 0));
        assert_eq!(
            (rig.count("bypassed"), rig.count("fills_not_installed")),
            (2, 2)
        );
    }
}

#[test]
fn a_stream_without_reuse_is_bypassed_and_the_loop_beside_it_kept() {
    let reuse = ReuseBypassSpec {
        entries: 64,
        counter_max: 15,
        threshold: 4,
        sample: 32,
        period_requests: 1 << 20,
    };
    let run = |policies| {
        let spec = CacheSpec {
            allocate: AllocatePolicy::OnFill,
            policies,
            ..l1()
        };
        let mut rig = Rig::new(Cache::new(spec).unwrap());
        let (mut hits, mut reads) = (0, 0);
        for n in 0..600u64 {
            // Two streamed lines for each of a loop over four lines, which fill the cache.
            rig.read((1000 + 2 * n) * 128, 1);
            rig.read((1001 + 2 * n) * 128, 1);
            let (level, _) = rig.read(n % 4 * 128, 2);
            if n >= 300 {
                reads += 1;
                hits += u64::from(level == Level::L1);
            }
        }
        hits as f64 / reads as f64
    };
    assert!(run(Vec::new()) < 0.1);
    assert!(run(vec![Policy::of::<ReuseBypass>(&reuse)]) > 0.8);
}

#[test]
fn misses_fetch_aligned_groups_of_sectors() {
    let policies = vec![Policy::of::<FetchGranularity>(&FetchGranularitySpec {
        bytes: 64,
    })];
    let spec = CacheSpec {
        sector_bytes: Some(32),
        policies,
        ..l1()
    };
    let mut rig = Rig::new(Cache::new(spec).unwrap());
    assert_eq!(rig.read(0, 0), (Level::L2, 0xffff));
}

#[test]
fn two_owners_of_a_decision_are_refused_by_name() {
    let bypass = || Policy::of::<StaticBypass>(&StaticBypassSpec { pcs: vec![] });
    let spec = CacheSpec {
        policies: vec![bypass(), bypass()],
        ..l1()
    };
    let error = Cache::new(spec).err().expect("two owners");
    assert_eq!(error.field, "policies[1]");
    assert!(error.message.contains("Insert"), "{}", error.message);
    let fetch = |bytes| Policy::of::<FetchGranularity>(&FetchGranularitySpec { bytes });
    let spec = |bytes| CacheSpec {
        policies: vec![bypass(), fetch(bytes)],
        ..l1()
    };
    assert!(Cache::new(spec(32)).is_ok());
    assert!(Cache::new(spec(48)).is_err());
}

#[test]
fn a_clean_victim_of_the_level_above_is_kept_without_becoming_dirty() {
    let mut rig = with(Vec::new());
    let victim = MemRequest {
        kind: RequestKind::CopyBack,
        flags: flags::CLEAN,
        ..MemRequest::read(0, 256, u32::MAX)
    };
    rig.request.send(victim);
    assert_eq!(rig.read(256, 0), (Level::L1, 0));
    // Its place is taken without a copy-back.
    for n in 2..4 {
        rig.read(n * 256, 0);
    }
    assert_eq!((rig.count("copy_backs"), rig.count("evictions")), (0, 1));
}
