//! Flexclusion: vectors, the duel of two levels, and a naive model.

use proptest::prelude::*;
use warpweave_framework::{EngineOptions, Link, Order};

use super::super::level_sets::LevelSetsSpec;
use super::super::set_duel::DuelSpec;
use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::cache::{AtomicPolicy, CacheLevel, SetHash};

const DUEL: DuelSpec = DuelSpec {
    period: 4,
    first: 0,
    second: 2,
    max: 7,
};

/// Level below with 8 sets of 2 ways.
const BELOW: LevelSetsSpec = LevelSetsSpec {
    interleave: None,
    sets: 8,
    set_hash: SetHash::Modulo,
};

fn policy(followers: Followers) -> Policy<CachePolicies> {
    Policy::of::<Flexclusion>(&FlexclusionSpec {
        duel: DUEL,
        below: Some(BELOW),
        followers,
        ..FlexclusionSpec::default()
    })
}

fn second_level(followers: Followers) -> CacheSpec {
    CacheSpec {
        level: CacheLevel::L2,
        size_bytes: 8 * 2 * 128,
        allocate: AllocatePolicy::OnFill,
        atomics: AtomicPolicy::Execute { latency_cycles: 1 },
        policies: vec![policy(followers)],
        ..l1()
    }
}

/// Sends a request to a line, answers its fetch, and returns the supplying level.
fn request(rig: &mut Rig, kind: RequestKind, number: u64) -> Option<Level> {
    let clean = kind == RequestKind::CopyBack;
    rig.request.send(MemRequest {
        kind,
        flags: if clean { flags::CLEAN } else { 0 },
        ..MemRequest::read(1, number * 128, u32::MAX)
    });
    rig.bench.step(20);
    while let Some((_, fetch)) = rig.below.take() {
        if fetch.kind.wants_response() {
            rig.answer.send(fetch.answer(Level::DRAM));
        }
    }
    rig.bench.step(20);
    rig.response.take().map(|(_, response)| response.level)
}

fn level(followers: Followers) -> Rig {
    Rig::new(Cache::new(second_level(followers)).unwrap())
}

#[test]
fn inc_m3_only_read_misses_of_the_teams_move_the_count() {
    use RequestKind::{Atomic, Prefetch, Read};
    let mut rig = level(Followers::Winner);
    assert_eq!(rig.count("duel_count_max"), 4);
    request(&mut rig, Read, 0);
    assert_eq!(rig.count("duel_count_max"), 5);
    request(&mut rig, Read, 2);
    request(&mut rig, Read, 10);
    assert_eq!(rig.count("duel_count_max"), 3);
    request(&mut rig, Read, 1);
    request(&mut rig, Atomic, 8);
    request(&mut rig, Prefetch, 16);
    request(&mut rig, Read, 16);
    assert_eq!(rig.count("duel_count_max"), 3);
    // A request that joins a line in flight is no miss of its own.
    rig.request.send(MemRequest::read(1, 32 * 128, 1));
    rig.request.send(MemRequest::read(2, 32 * 128, 1));
    rig.bench.step(20);
    assert_eq!(rig.count("duel_count_max"), 4);
}

#[test]
fn inc_m3_a_line_obeys_its_set_at_the_time_of_its_action() {
    use RequestKind::{CopyBack, Read};
    let mut rig = level(Followers::Winner);
    // The followers act exclusively at first: set 1 inserts nothing, and a hit leaves.
    assert_eq!(request(&mut rig, Read, 1), Some(Level::DRAM));
    assert_eq!(request(&mut rig, Read, 1), Some(Level::DRAM));
    request(&mut rig, CopyBack, 1);
    assert_eq!(request(&mut rig, Read, 1), Some(Level::L2));
    assert_eq!(request(&mut rig, Read, 1), Some(Level::DRAM));
    request(&mut rig, CopyBack, 1);
    // A miss of the exclusive team turns the followers.
    request(&mut rig, Read, 2);
    for _ in 0..2 {
        assert_eq!(request(&mut rig, Read, 1), Some(Level::L2), "it stays");
    }
    assert_eq!(request(&mut rig, Read, 3), Some(Level::DRAM));
    assert_eq!(request(&mut rig, Read, 3), Some(Level::L2), "inserted");
    // Set 0 is never exclusive, set 2 always.
    request(&mut rig, Read, 0);
    assert_eq!(request(&mut rig, Read, 0), Some(Level::L2));
    assert_eq!(request(&mut rig, Read, 2), Some(Level::DRAM));
}

#[test]
fn the_control_follows_the_loser() {
    let mut rig = level(Followers::Loser);
    let read = |rig: &mut Rig, number| request(rig, RequestKind::Read, number);
    read(&mut rig, 1);
    assert_eq!(
        read(&mut rig, 1),
        Some(Level::L2),
        "the winner is exclusive"
    );
    read(&mut rig, 2);
    read(&mut rig, 3);
    assert_eq!(read(&mut rig, 3), Some(Level::DRAM));
    read(&mut rig, 0);
    assert_eq!(read(&mut rig, 0), Some(Level::L2), "teams stay");
}

#[test]
fn inc_m10_4_the_count_goes_to_its_ends_and_the_followers_with_it() {
    let mut rig = level(Followers::Winner);
    for round in 0..12 {
        request(&mut rig, RequestKind::Read, 8 * round);
    }
    assert_eq!(rig.count("duel_count_max"), 7);
    assert_eq!(request(&mut rig, RequestKind::Read, 1), Some(Level::DRAM));
    assert_eq!(request(&mut rig, RequestKind::Read, 1), Some(Level::DRAM));
    for round in 0..12 {
        request(&mut rig, RequestKind::Read, 8 * round + 2);
    }
    assert_eq!(rig.count("duel_count_max"), 0);
    request(&mut rig, RequestKind::Read, 1);
    assert_eq!(request(&mut rig, RequestKind::Read, 1), Some(Level::L2));
}

#[test]
fn inc_m10_7_sized_down_teams_have_one_set_in_48() {
    for (sets, max, team, start) in [(192, 511, 4, 256), (96, 255, 2, 128)] {
        let spec = DuelSpec {
            max,
            ..DuelSpec::default()
        };
        let duel = super::super::set_duel::SetDuel::new(spec, "duel").unwrap();
        let of = |which| (0..sets).filter(|&set| duel.team(set) == which).count();
        use super::super::set_duel::Team;
        assert_eq!([of(Team::First), of(Team::Second)], [team, team]);
        assert_eq!(duel.count(), start);
    }
}

#[test]
fn a_first_level_without_the_sets_below_is_refused() {
    let policies = vec![Policy::of::<Flexclusion>(&FlexclusionSpec::default())];
    let error = Cache::new(CacheSpec { policies, ..l1() }).err();
    let error = error.expect("nothing tells the sets below");
    assert_eq!(error.field, "policies[0]");
    assert!(error.message.contains("below"), "{}", error.message);
}

/// A first level and a second one that hear the same count, over a memory.
fn hierarchy(requests: &[(u64, u64)], options: EngineOptions) -> TestBench {
    let first = CacheSpec {
        allocate: AllocatePolicy::OnFill,
        policies: vec![policy(Followers::Winner)],
        peers: 1,
        copy_back_entries: Some(1),
        ..l1()
    };
    let second = CacheSpec {
        peers: 1,
        ..second_level(Followers::Winner)
    };
    let mut bench = TestBench::new();
    bench.set_options(options);
    bench.add("l1", Cache::new(first).unwrap());
    bench.add("l2", Cache::new(second).unwrap());
    let memory = EchoMemory::new(&EchoMemorySpec::latency(10)).unwrap();
    bench.add("memory", memory);
    for (a, b) in [("l1.down", "l2.up"), ("l2.down", "memory.up")] {
        bench.builder().connect(a, b, Link::latency(1));
    }
    for reader in ["l1.peers[0]", "l2.peers[0]"] {
        bench
            .builder()
            .connect("l2.published", reader, Link::latency(4));
    }
    let source = bench.source("l1.up.request");
    bench.sink::<MemResponse>("l1.up.response");
    let mut cycle = 1;
    for (id, &(gap, line)) in (0..).zip(requests) {
        cycle += gap;
        source.send_at(cycle, MemRequest::read(id, line * 128, 1));
    }
    bench
}

proptest! {
    #[test]
    fn inc_m3_both_levels_have_the_same_count_after_the_same_wires(
        requests in prop::collection::vec((0u64..30, 0u64..64), 1..100),
        cut in 1u64..900,
        seed in any::<u64>(),
    ) {
        let run = |options| {
            let mut bench = hierarchy(&requests, options);
            let mut counts = Vec::new();
            for _ in 0..40 {
                bench.run_for(100);
                let count = |path: &str| bench.statistics(path).counter("duel_count_max");
                let mut count = count;
                counts.push([count("l1"), count("l2")]);
            }
            counts
        };
        let usual = run(EngineOptions::default());
        for counts in &usual {
            prop_assert_eq!(counts[0], counts[1]);
        }
        let shuffled = EngineOptions {
            sleeping: false,
            order: Order::Shuffled { seed },
            ..EngineOptions::default()
        };
        prop_assert_eq!(&run(shuffled), &usual);
        TestBench::check_state(|| hierarchy(&requests, EngineOptions::default()), &[cut], 1200);
    }

    #[test]
    fn flexclusion_agrees_with_a_naive_model(
        requests in prop::collection::vec((0u64..48, 0u8..8), 1..150),
    ) {
        let mut rig = level(Followers::Winner);
        let mut count = 4i32;
        let mut sets = vec![Vec::<u64>::new(); 8];
        for (line, what) in requests {
            let number = line % 8;
            let exclusive = match number % 4 {
                0 => false,
                2 => true,
                _ => count >= 4,
            };
            let set = &mut sets[number as usize];
            let at = set.iter().position(|l| *l == line);
            if what == 0 {
                // A copy-back comes to the end of its set.
                if let Some(at) = at {
                    set.remove(at);
                }
                set.push(line);
                request(&mut rig, RequestKind::CopyBack, line);
            } else {
                let expected = if let Some(at) = at {
                    set.remove(at);
                    if !exclusive {
                        set.push(line);
                    }
                    Level::L2
                } else {
                    count += match number % 4 {
                        0 => 1,
                        2 => -1,
                        _ => 0,
                    };
                    count = count.clamp(0, 7);
                    if !exclusive {
                        set.push(line);
                    }
                    Level::DRAM
                };
                let found = request(&mut rig, RequestKind::Read, line);
                prop_assert_eq!(found, Some(expected), "line {} of set {}", line, number);
            }
            if set.len() > 2 {
                set.remove(0);
            }
            prop_assert_eq!(rig.count("duel_count_max"), count as u64);
        }
    }
}
