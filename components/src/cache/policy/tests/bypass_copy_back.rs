//! Rules BYP-M4, BYP-M5 and BYP-M7 of bypass with copy-back at both levels.

use std::sync::Arc;

use warpweave_framework::Environment;
use warpweave_trace::{Allocation, Program};

use super::given::{Given, one_set};
use super::request_bits::{BYPASS_L2, EXCLUSIVE, PRIVATE_REUSE, SAMPLED, SHARED_REUSE};
use super::*;
use crate::cache::CacheLevel;

/// Words of sector 0, which every request asks for.
const FIRST: u32 = 1;

fn spec(sample: u32) -> BypassCopyBackSpec {
    BypassCopyBackSpec {
        period_fills: 4,
        sample,
        ..BypassCopyBackSpec::default()
    }
}

/// The first level, in a run of a program with one allocation of 1 MB at address 0.
fn above(spec: BypassCopyBackSpec) -> Given {
    let mut environment = Environment::default();
    environment.provide(Arc::new(Program {
        allocations: vec![Allocation {
            name: "attributes".to_owned(),
            base: 0,
            bytes: 1 << 20,
        }],
        ..Program::default()
    }));
    Given::in_run::<BypassCopyBack>(spec, one_set(4), &environment)
}

/// Number under this name of the first entry of a table.
fn entry(given: &mut Given, table: &str, name: &str) -> u64 {
    let entries = given.state(&format!("{table}.entries"));
    entries[0][name].as_u64().expect("a count")
}

/// Accesses of the first instruction and hits on its lines.
fn instruction(given: &mut Given) -> (u64, u64) {
    let entries = given.state("instruction_table.entries");
    let hits = entries[0]["events"][0].as_u64().expect("a count");
    (entry(given, "instruction_table", "accesses"), hits)
}

/// Decision about a miss: place in the first level, and flags.
fn decided(given: &mut Given, line: u64, pc: u32) -> (bool, u16) {
    let decision = given.miss(line, pc, FIRST, None);
    (decision.insert, decision.flags)
}

#[test]
fn byp_m7_7_a_join_is_an_access_and_no_hit() {
    let mut given = above(spec(0));
    given.miss(0, 5, FIRST, None);
    given.access(0, 5, FIRST, None, false);
    assert_eq!(instruction(&mut given), (2, 0));
    given.fill((0, 5, 1), 0, None);
    given.access(0, 5, FIRST, Some(0), true);
    assert_eq!(instruction(&mut given), (3, 1));
}

#[test]
fn byp_m4_a_hit_credits_the_instruction_that_fetched_the_line() {
    let mut given = above(spec(0));
    given.miss(0, 5, FIRST, None);
    given.fill((0, 5, 1), 0, None);
    given.access(0, 6, FIRST, Some(0), true);
    assert_eq!(instruction(&mut given), (1, 1));
}

#[test]
fn byp_m7_5_hits_on_lines_of_an_untracked_instruction_credit_nobody() {
    let mut given = above(BypassCopyBackSpec {
        instructions: 1,
        untracked: 1,
        ..spec(0)
    });
    given.miss(0, 5, FIRST, None);
    given.miss(128, 6, FIRST, None);
    given.fill((128, 6, 1), 0, None);
    given.access(128, 5, FIRST, Some(0), true);
    assert_eq!(instruction(&mut given), (2, 0));
    assert_eq!(given.state("instruction_table.untracked")[0], 1);
}

#[test]
fn byp_m7_8_nothing_is_bypassed_before_the_first_update_of_a_launch() {
    let mut given = above(spec(0));
    for line in 0..4 {
        assert_eq!(decided(&mut given, line * 128, 5), (true, 0));
        given.fill((line * 128, 5, 1), 0, None);
    }
    // Neither the instruction nor the region is reused.
    assert_eq!(decided(&mut given, 512, 5), (false, BYPASS_L2));
    for _ in 0..200 - 3 {
        given.access(512, 5, FIRST, None, false);
    }
    given.fill((512, 5, 1), 0, None);
    for _ in 0..10 {
        given.access(512, 6, FIRST, Some(0), true);
    }
    assert_eq!(instruction(&mut given), (200, 10));
    given.kernel = 1;
    assert_eq!(decided(&mut given, 640, 6), (true, 0));
    assert_eq!(instruction(&mut given), (100, 5));
}

#[test]
fn byp_m5_a_region_of_private_reuse_is_exclusive_and_its_lines_are_copied_back() {
    let mut given = above(spec(0));
    for line in 0..4 {
        given.miss(line * 128, 5, FIRST, None);
        given.flags = PRIVATE_REUSE;
        given.fill((line * 128, 5, 1), 0, None);
    }
    assert_eq!(decided(&mut given, 512, 5), (true, EXCLUSIVE));
    given.flags = EXCLUSIVE;
    given.fill((512, 5, 1), 0, None);
    given.flags = 0;
    assert!(given.hands_down(512, 0));
    assert!(!given.hands_down(128, 1));
    // Shared reuse by as many answers ends it.
    for line in 5..9 {
        given.miss(line * 128, 5, FIRST, None);
        given.flags = SHARED_REUSE;
        given.fill((line * 128, 5, 1), 0, None);
    }
    assert_eq!(decided(&mut given, 512, 5).1, 0);
}

#[test]
fn byp_m5_one_in_so_many_bypassed_lines_is_inserted_all_the_same() {
    let mut given = above(spec(4));
    for line in 0..4 {
        given.miss(line * 128, 5, FIRST, None);
        given.fill((line * 128, 5, 1), 0, None);
    }
    let decisions: Vec<_> = (4..404)
        .map(|line| decided(&mut given, line * 128, 5))
        .collect();
    let sampled = decisions
        .iter()
        .filter(|it| **it == (true, BYPASS_L2 | SAMPLED))
        .count();
    let bypassed = decisions
        .iter()
        .filter(|it| **it == (false, BYPASS_L2))
        .count();
    assert_eq!(sampled + bypassed, 400);
    assert!((70..130).contains(&sampled), "{sampled}");
}

/// Second level alone, between a requester and memory.
fn below() -> Rig {
    let policies = vec![Policy::plain::<BypassCopyBack>()];
    let spec = CacheSpec {
        level: CacheLevel::L2,
        policies,
        ..l1()
    };
    Rig::new(Cache::new(spec).unwrap())
}

/// Reads a line for a core with these flags; returns the level that had it, and the answer's flags.
fn read(rig: &mut Rig, core: u16, asked: u16) -> (Level, u16) {
    let mut request = MemRequest {
        flags: asked,
        ..MemRequest::read(1, 0, u32::MAX)
    };
    request.source.compute_unit = core;
    rig.request.send(request);
    for _ in 0..60 {
        rig.bench.step(1);
        if let Some((_, fetch)) = rig.below.take() {
            rig.answer.send(fetch.answer(Level::DRAM));
        }
        if let Some((_, response)) = rig.response.take() {
            return (response.level, response.flags);
        }
    }
    panic!("no answer");
}

#[test]
fn byp_m7_4_a_private_line_enters_the_second_level_when_its_unit_evicts_it() {
    for other in [3, 5] {
        let mut rig = below();
        assert_eq!(read(&mut rig, 3, EXCLUSIVE), (Level::DRAM, EXCLUSIVE));
        assert_eq!(rig.count("reuse_table_bypasses_here"), 1);
        let mut victim = MemRequest {
            kind: RequestKind::CopyBack,
            flags: flags::CLEAN,
            ..MemRequest::read(2, 0, u32::MAX)
        };
        victim.source.compute_unit = 3;
        rig.request.send(victim);
        rig.bench.step(20);
        let reuse = if other == 3 {
            PRIVATE_REUSE
        } else {
            SHARED_REUSE
        };
        assert_eq!(read(&mut rig, other, 0), (Level::L2, reuse));
        // The line left with its unit, or stays for the others.
        let supplier = if other == 3 { Level::DRAM } else { Level::L2 };
        assert_eq!(read(&mut rig, 7, 0).0, supplier);
    }
}

#[test]
fn byp_m5_the_second_level_inserts_sampled_lines_and_those_of_atomics() {
    for (kind, asked, kept) in [
        (RequestKind::Read, BYPASS_L2, false),
        (RequestKind::Read, BYPASS_L2 | SAMPLED, true),
        (RequestKind::Atomic, BYPASS_L2, true),
    ] {
        let policies = vec![Policy::plain::<BypassCopyBack>()];
        let spec = CacheSpec {
            level: CacheLevel::L2,
            atomics: crate::cache::AtomicPolicy::Execute { latency_cycles: 1 },
            write: WritePolicy::WriteBack {
                partial: PartialWrite::WordMask,
            },
            policies,
            ..l1()
        };
        let mut rig = Rig::new(Cache::new(spec).unwrap());
        rig.request.send(MemRequest {
            kind,
            flags: asked,
            ..MemRequest::read(1, 0, 1)
        });
        let (_, fetch) = rig.bench.receive(&rig.below.clone());
        rig.answer.send(fetch.answer(Level::DRAM));
        rig.bench.receive(&rig.response.clone());
        let level = if kept { Level::L2 } else { Level::DRAM };
        assert_eq!(read(&mut rig, 0, 0).0, level, "{kind:?}");
    }
}

/// Reads a loop of 32 lines, beside which a stream comes up one to one. Returns the percentage of
/// the loop's reads that hit in the second half.
fn loop_hits(policies: Vec<Policy<CachePolicies>>) -> u32 {
    let spec = CacheSpec {
        size_bytes: 32 * 128,
        ways: 4,
        allocate: AllocatePolicy::OnFill,
        policies,
        ..l1()
    };
    let mut rig = Rig::new(Cache::new(spec).unwrap());
    let mut hits = 0;
    for n in 0..8000u64 {
        if n >= 1000 || n % 64 == 0 {
            rig.read((1 << 30) + n * 128, 1);
        }
        let (level, _) = rig.read(n % 32 * 128, 2);
        hits += u32::from(n >= 4000 && level == Level::L1);
    }
    hits / 40
}

#[test]
fn byp_m7_1_a_loop_keeps_its_lines_from_a_stream_after_an_update() {
    let policy = |sample| {
        Policy::of::<BypassCopyBack>(&BypassCopyBackSpec {
            period_fills: 256,
            sample,
            ..BypassCopyBackSpec::default()
        })
    };
    assert!(loop_hits(Vec::new()) < 10);
    assert!(loop_hits(vec![policy(0)]) > 90);
    // Each sampled line of the stream costs the loop a turn of its set.
    assert!(loop_hits(vec![policy(32)]) > 80);
}
