//! Tests of prefetchers on a test bench.

use proptest::prelude::*;
use warpweave_framework::{
    InstanceStatistics, Link, NoFields, Outcome, Policy, PolicyContext, PolicyKind, SpecError,
    State, Statistics, TestBench,
};

use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::cache::tests::l1;
use crate::cache::{AllocatePolicy, Cache, CacheSpec};
use crate::interleave::Interleave;
use crate::memory::{MemRequest, MemResponse, RequestKind, flags};

/// Latency of the test memory in cycles.
const LATENCY: u32 = 30;

/// Results of a run on the test bench.
struct Run {
    responses: Vec<(u64, MemResponse)>,
    below: Vec<(u64, MemRequest)>,
    statistics: InstanceStatistics,
}

impl Run {
    fn count(&self, name: &str) -> u64 {
        self.statistics.counter(name).unwrap()
    }
}

/// Reads the lines, each the given number of cycles after the previous one.
fn reads(spec: CacheSpec, lines: &[(u64, u64)]) -> Run {
    reads_with(0, spec, lines)
}

fn next_line(degree: u32) -> CacheSpec {
    CacheSpec {
        prefetchers: vec![Policy::of::<NextLine>(&NextLineSpec { degree })],
        ..l1()
    }
}

/// Reads like [`reads`], of which each request carries `flags`.
fn reads_with(flags: u16, spec: CacheSpec, lines: &[(u64, u64)]) -> Run {
    let mut bench = TestBench::new();
    bench.add("cache", Cache::new(spec).unwrap());
    let mut memory = EchoMemory::new(&EchoMemorySpec::latency(LATENCY)).unwrap();
    let arrivals = memory.arrivals();
    bench.add("memory", memory);
    bench
        .builder()
        .connect("cache.down", "memory.up", Link::latency(1));
    let requests = bench.source("cache.up.request");
    let responses = bench.sink("cache.up.response");
    let mut cycle = 1;
    for (id, (gap, line)) in (0..).zip(lines) {
        cycle += gap;
        let request = MemRequest {
            flags,
            ..MemRequest::read(id, *line, 1)
        };
        requests.send_at(cycle, request);
    }
    assert_eq!(bench.run_until_quiet(), Outcome::Done);
    Run {
        responses: responses.take_all(),
        below: arrivals.take_all(),
        statistics: bench.statistics("cache"),
    }
}

fn stream(gap: u64) -> Vec<(u64, u64)> {
    (0..12).map(|line| (gap, line * 128)).collect()
}

#[test]
fn a_stream_misses_once_for_a_line_and_those_fetched_after_it() {
    for (degree, misses) in [(1, 6), (2, 4), (3, 3)] {
        let run = reads(next_line(degree), &stream(200));
        assert_eq!(run.count("read_misses"), misses, "degree {degree}");
        assert_eq!(run.count("prefetches_issued"), misses * u64::from(degree));
        assert_eq!(run.count("prefetches_useful"), 12 - misses);
        assert_eq!(run.count("prefetches_late"), 0);
    }
}

#[test]
fn a_request_that_comes_too_early_joins_the_prefetch() {
    let spec = CacheSpec {
        allocate: AllocatePolicy::OnFill,
        mshr_entries: 16,
        ..next_line(1)
    };
    let run = reads(spec, &stream(8));
    assert_eq!(run.count("prefetches_late"), 6);
    assert_eq!(run.count("prefetches_useful"), 0);
    assert_eq!(run.count("hits_reserved"), 6);
    assert_eq!(run.below.len(), 12, "no line is fetched twice");
}

#[test]
fn a_line_that_leaves_unused_is_counted() {
    let far: Vec<_> = (0..6).map(|n| (200, n * 1024)).collect();
    let run = reads(next_line(1), &far);
    assert_eq!(run.count("prefetches_issued"), 6);
    // Two sets of two ways: the last prefetches are still there.
    assert_eq!(run.count("prefetches_unused"), 4);
}

#[test]
fn what_is_here_under_way_or_too_much_is_not_fetched() {
    let again = [(10, 0), (200, 256), (1, 384), (1, 128)];
    let run = reads(next_line(2), &again);
    let lines: Vec<_> = run.below.iter().map(|(_, request)| request.line).collect();
    let mut once = lines.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), lines.len(), "{lines:?}");
    let budget = PrefetchSpec {
        queue_entries: 1,
        ..PrefetchSpec::default()
    };
    let spec = CacheSpec {
        prefetch: budget,
        ..next_line(3)
    };
    let run = reads(spec, &[(10, 0)]);
    assert_eq!(run.count("prefetches_issued"), 1);
    assert_eq!(run.count("prefetches_dropped"), 2);
}

#[test]
fn injected_requests_train_no_prefetcher() {
    let of = |prefetcher: Policy<Prefetching>| CacheSpec {
        prefetchers: vec![prefetcher],
        ..l1()
    };
    for prefetcher in [
        Policy::plain::<NextLine>(),
        Policy::plain::<Stride>(),
        Policy::plain::<Stream>(),
        Policy::plain::<Ghb>(),
    ] {
        let trained = reads(of(prefetcher.clone()), &stream(200));
        assert!(trained.count("prefetches_issued") > 0);
        let injected = reads_with(flags::INJECTED, of(prefetcher), &stream(200));
        assert_eq!(injected.count("prefetches_issued"), 0);
    }
}

#[test]
fn a_degree_of_0_changes_nothing() {
    for gap in [1, 7, 200] {
        let (without, with) = (reads(l1(), &stream(gap)), reads(next_line(0), &stream(gap)));
        assert_eq!(without.responses, with.responses);
        assert_eq!(without.below, with.below);
    }
}

#[test]
fn a_slice_fetches_lines_of_its_own() {
    let interleave = Interleave::in_turn(256, 6);
    let spec = CacheSpec {
        interleave: Some(interleave),
        ..next_line(2)
    };
    let first = interleave.address(4, 0).expect("in turn");
    let run = reads(spec, &[(10, first)]);
    let lines: Vec<_> = run.below.iter().map(|(_, request)| request.line).collect();
    let expected = [0, 128, 256].map(|local| interleave.address(4, local).expect("in turn"));
    assert_eq!(lines, expected);
    let greedy = CacheSpec {
        interleave: Some(interleave),
        prefetchers: vec![Policy::plain::<Greedy>()],
        ..l1()
    };
    let run = reads(greedy, &[(10, first)]);
    assert!(run.count("prefetches_dropped") > 0);
    assert!(run.below.iter().all(|(_, r)| interleave.slice(r.line) == 4));
}

/// Prefetcher that requests eight distant lines on every access.
#[derive(State, Statistics)]
struct Greedy;

const FAR: u64 = 1 << 20;

impl PolicyKind for Greedy {
    type Role = Prefetching;
    const NAME: &'static str = "Greedy";
    const SUMMARY: &'static str = "Many lines far away";
    type Spec = NoFields;
    fn build(
        _spec: NoFields,
        _context: &PolicyContext<'_, Prefetching>,
    ) -> Result<Box<dyn Prefetcher>, SpecError> {
        Ok(Box::new(Self))
    }
}

impl Prefetcher for Greedy {
    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, context: &mut PrefetchContext<'_>) {
        for n in 0..8 {
            context.fetch(FAR + access.line * 8 + n * 128);
        }
    }
}

proptest! {
    #[test]
    fn no_prefetcher_exceeds_its_budget(
        queue_entries in 0u32..6,
        outstanding_max in 0u32..5,
        mshrs_left in 0u32..5,
        per_cycle in 0u32..3,
        lines in prop::collection::vec((0u64..20, 0u64..16), 1..60),
    ) {
        let prefetch = PrefetchSpec { queue_entries, outstanding_max, mshrs_left, per_cycle };
        let spec = CacheSpec {
            prefetchers: vec![Policy::plain::<Greedy>()],
            prefetch,
            ..l1()
        };
        let lines: Vec<_> = lines.into_iter().map(|(gap, line)| (gap, line * 128)).collect();
        let run = reads(spec, &lines);
        prop_assert_eq!(run.responses.len(), lines.len());
        let ahead: Vec<_> = run.below.iter().filter(|(_, r)| r.kind == RequestKind::Prefetch).collect();
        prop_assert!(ahead.iter().all(|(_, request)| request.line >= FAR));
        prop_assert_eq!(ahead.len() as u64, run.count("prefetches_issued"));
        if queue_entries.min(outstanding_max).min(per_cycle) == 0 || mshrs_left >= 4 {
            prop_assert!(ahead.is_empty());
        } else {
            // One more leaves only when an earlier one is back.
            for pair in ahead.windows(outstanding_max as usize + 1) {
                prop_assert!(pair[outstanding_max as usize].0 >= pair[0].0 + u64::from(LATENCY));
            }
        }
    }

    #[test]
    fn prefetches_leave_mshrs_to_requests(mshrs_left in 0u32..4, line in 0u64..8) {
        let prefetch = PrefetchSpec { mshrs_left, outstanding_max: 9, ..PrefetchSpec::default() };
        let spec = CacheSpec {
            prefetchers: vec![Policy::plain::<Greedy>()],
            prefetch,
            ..l1()
        };
        let run = reads(spec, &[(1, line * 128)]);
        prop_assert_eq!(run.count("mshrs_max"), u64::from(4 - mshrs_left).max(1));
    }
}
