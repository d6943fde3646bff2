//! Region-based exclusion: the tags of the second level, what a first level learns of regions, and
//! a naive model of the tags.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use warpweave_framework::{Environment, Kind};
use warpweave_trace::{Allocation, Program};

use super::super::request_bits::{EXCLUSIVE, PRIVATE_REUSE, SHARED_REUSE};
use super::*;
use crate::cache::{AtomicPolicy, CacheLevel};

const BOTH: u16 = PRIVATE_REUSE | SHARED_REUSE;

fn policies(spec: RegionExclusiveSpec) -> Vec<Policy<CachePolicies>> {
    vec![Policy::of::<RegionExclusive>(&spec)]
}

fn second_level() -> Rig {
    let spec = CacheSpec {
        level: CacheLevel::L2,
        allocate: AllocatePolicy::OnFill,
        atomics: AtomicPolicy::Execute { latency_cycles: 1 },
        policies: policies(RegionExclusiveSpec::default()),
        ..l1()
    };
    Rig::new(Cache::new(spec).unwrap())
}

fn request(kind: RequestKind, line: u64, core: u16, more: u16) -> MemRequest {
    let clean = kind == RequestKind::CopyBack;
    let mut request = MemRequest {
        kind,
        flags: more | if clean { flags::CLEAN } else { 0 },
        ..MemRequest::read(1, line, u32::MAX)
    };
    request.source.compute_unit = core;
    request
}

/// Sends a request and returns the supplying level and the flags of reuse.
fn send(rig: &mut Rig, request: MemRequest) -> Option<(Level, u16)> {
    rig.request.send(request);
    rig.bench.step(20);
    while let Some((_, fetch)) = rig.below.take() {
        if fetch.kind.wants_response() {
            rig.answer.send(fetch.answer(Level::DRAM));
        }
    }
    rig.bench.step(20);
    let (_, response) = rig.response.take()?;
    Some((response.level, response.flags & BOTH))
}

/// Reads a line for a core and returns the supplying level and the flags of reuse.
fn read(rig: &mut Rig, line: u64, core: u16) -> (Level, u16) {
    send(rig, request(RequestKind::Read, line, core, 0)).expect("an answer")
}

fn copy_back(rig: &mut Rig, line: u64, core: u16) {
    send(rig, request(RequestKind::CopyBack, line, core, 0));
}

#[test]
fn inc_m4_a_line_learns_of_private_and_shared_reuse_and_leaves_with_its_core() {
    let mut rig = second_level();
    // Filled by core 3, read by it, then by core 5.
    assert_eq!(read(&mut rig, 0, 3), (Level::DRAM, 0));
    assert_eq!(read(&mut rig, 0, 3), (Level::L2, PRIVATE_REUSE));
    assert_eq!(read(&mut rig, 0, 5), (Level::L2, BOTH));
    // Copied back by core 5 while it is here: core 5 has it, shared reuse stays.
    copy_back(&mut rig, 0, 5);
    assert_eq!(rig.count("copy_backs_ignored"), 1);
    assert_eq!(read(&mut rig, 0, 5), (Level::L2, BOTH));
    assert_eq!(
        read(&mut rig, 0, 5),
        (Level::DRAM, 0),
        "it left with core 5"
    );
    // Copied back by core 6 while it is absent: a hit of another core keeps it.
    copy_back(&mut rig, 128, 6);
    assert_eq!(read(&mut rig, 128, 2), (Level::L2, SHARED_REUSE));
    assert_eq!(read(&mut rig, 128, 6), (Level::L2, BOTH));
    assert_eq!(read(&mut rig, 128, 6), (Level::DRAM, 0));
}

#[test]
fn inc_m6_an_exclusive_miss_is_not_inserted_but_that_of_an_atomic_is() {
    let mut rig = second_level();
    let asks = |kind| request(kind, 0, 1, EXCLUSIVE);
    for _ in 0..2 {
        let answer = send(&mut rig, asks(RequestKind::Read));
        assert_eq!(answer, Some((Level::DRAM, 0)));
    }
    assert_eq!(rig.count("exclusive_misses"), 2);
    send(&mut rig, asks(RequestKind::Atomic));
    let answer = send(&mut rig, asks(RequestKind::Read));
    assert_eq!(answer.map(|a| a.0), Some(Level::L2));
}

#[test]
fn inc_m10_6_requests_of_two_cores_that_are_merged_are_shared_reuse() {
    for (flag, installed) in [(0, 1), (EXCLUSIVE, 0)] {
        let mut rig = second_level();
        for core in 0..2 {
            rig.request.send(request(RequestKind::Read, 0, core, flag));
        }
        rig.bench.step(20);
        let (_, fetch) = rig.below.take().expect("one fetch");
        assert!(rig.below.take().is_none());
        rig.answer.send(fetch.answer(Level::DRAM));
        rig.bench.step(20);
        for _ in 0..2 {
            let (_, response) = rig.response.take().expect("two answers");
            assert_eq!(response.flags & BOTH, 0, "answers that were merged");
        }
        assert_eq!(rig.count("lines_installed"), installed);
        if installed == 1 {
            assert_eq!(read(&mut rig, 0, 1), (Level::L2, SHARED_REUSE));
        }
    }
}

/// Tag of a line in the model: core, shared, private, copied back.
type ModelTag = (u16, bool, bool, bool);

proptest! {
    #[test]
    fn inc_m4_tags_agree_with_a_naive_model(
        requests in prop::collection::vec((0u64..2, 0u16..3, 0u8..4), 1..120),
    ) {
        let mut rig = second_level();
        // Two lines of one set of two ways: nothing is displaced.
        let mut tags = BTreeMap::<u64, ModelTag>::new();
        for (number, core, what) in requests {
            let line = number * 256;
            let exclusive = if what == 1 { EXCLUSIVE } else { 0 };
            if what == 0 {
                copy_back(&mut rig, line, core);
                let shared = tags.get(&line).is_some_and(|tag| tag.1);
                tags.insert(line, (core, shared, false, true));
                continue;
            }
            let expected = if let Some(tag) = tags.get_mut(&line) {
                if core == tag.0 {
                    tag.2 = true;
                } else {
                    tag.1 = true;
                }
                let bit = |set, bit| if set { bit } else { 0 };
                let bits = bit(tag.1, SHARED_REUSE) | bit(tag.2, PRIVATE_REUSE);
                if tag.3 && tag.0 == core {
                    tags.remove(&line);
                }
                (Level::L2, bits)
            } else {
                if exclusive == 0 {
                    tags.insert(line, (core, false, false, false));
                }
                (Level::DRAM, 0)
            };
            let read = request(RequestKind::Read, line, core, exclusive);
            prop_assert_eq!(send(&mut rig, read), Some(expected));
        }
    }
}

/// A first level over two allocations of 64 KiB, with updates after four fills.
fn first_level(spec: RegionExclusiveSpec) -> Rig {
    let allocation = |number: u64| Allocation {
        name: format!("buffer {number}"),
        base: number << 16,
        bytes: 1 << 16,
    };
    let mut environment = Environment::default();
    environment.provide(Arc::new(Program {
        allocations: vec![allocation(0), allocation(1)],
        ..Program::default()
    }));
    let spec = CacheSpec {
        allocate: AllocatePolicy::OnFill,
        policies: policies(RegionExclusiveSpec {
            period_fills: 4,
            ..spec
        }),
        ..l1()
    };
    Rig::new(Cache::build(spec, &environment).unwrap())
}

/// Reads a line that misses and answers with flags of reuse. Returns the flags of the fetch and the
/// lines that went down.
fn miss(rig: &mut Rig, line: u64, kernel: u32, reuse: u16) -> (u16, Vec<u64>) {
    let mut request = MemRequest::read(1, line, 1);
    request.source.kernel = kernel;
    rig.request.send(request);
    rig.bench.step(10);
    let (_, fetch) = rig.below.take().expect("a fetch");
    let mut answer = fetch.answer(Level::L2);
    answer.flags |= reuse;
    rig.answer.send(answer);
    rig.bench.step(10);
    let below = rig.below.take_all();
    let down = below.iter().map(|(_, copy_back)| copy_back.line).collect();
    (fetch.flags, down)
}

#[test]
fn inc_m10_3_a_region_with_private_reuse_alone_becomes_exclusive() {
    let mut rig = first_level(RegionExclusiveSpec::default());
    // Region 0 has private reuse, region 1 shared reuse too.
    for line in 0..4 {
        let (region, reuse) = [(0, PRIVATE_REUSE), (1 << 16, BOTH)][line as usize % 2];
        assert_eq!(
            miss(&mut rig, region + line * 256, 0, reuse).0,
            0,
            "unknown yet"
        );
    }
    assert_eq!(rig.count("region_updates"), 1);
    assert_eq!(miss(&mut rig, 1 << 12, 0, 0).0, EXCLUSIVE);
    assert_eq!(miss(&mut rig, (1 << 16) + (1 << 12), 0, 0).0, 0);
    assert_eq!(miss(&mut rig, 1 << 20, 0, 0).0, 0, "outside all regions");
    assert_eq!(rig.count("exclusive_requests"), 1);
}

#[test]
fn inc_m6_only_lines_that_were_asked_for_as_exclusive_are_copied_back() {
    let mut rig = first_level(RegionExclusiveSpec::default());
    for line in 0..4 {
        let (_, down) = miss(&mut rig, line * 256, 0, PRIVATE_REUSE);
        assert!(down.is_empty());
    }
    // Two usual lines leave, then an exclusive one.
    for (line, expected) in [(4, None), (5, None), (6, Some(4 * 256)), (7, Some(5 * 256))] {
        let (flags, down) = miss(&mut rig, line * 256, 0, 0);
        assert_eq!(
            (flags, down.first().copied()),
            (EXCLUSIVE, expected),
            "{line}"
        );
    }
}

#[test]
fn inc_m5_a_launch_forgets_what_was_learned() {
    let mut rig = first_level(RegionExclusiveSpec::default());
    for line in 0..4 {
        miss(&mut rig, line * 256, 0, PRIVATE_REUSE);
    }
    assert_eq!(miss(&mut rig, 1 << 12, 0, 0).0, EXCLUSIVE);
    assert_eq!(
        miss(&mut rig, 1 << 13, 1, 0).0,
        0,
        "the first miss of a launch"
    );
    assert_eq!(miss(&mut rig, 1 << 14, 1, 0).0, 0);
}

#[test]
fn without_regions_nothing_is_exclusive() {
    let mut rig = first_level(RegionExclusiveSpec {
        regions: 0,
        ..RegionExclusiveSpec::default()
    });
    for line in 0..12 {
        let (flags, down) = miss(&mut rig, line * 256, 0, PRIVATE_REUSE);
        assert!(flags == 0 && down.is_empty());
    }
}
