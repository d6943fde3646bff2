//! Tests of placement policies without a scheduler.

use warpweave_random::nth;

use super::*;
use crate::launch::KernelLaunch;

/// Device whose units hold `contexts` work-groups each, driven directly by a policy.
pub(super) struct Bare {
    policy: Box<dyn PlacementPolicy>,
    machine: Machine,
    pub(super) contents: Vec<Vec<u32>>,
    contexts: usize,
    left: u32,
}

impl Bare {
    fn new(
        policy: &Policy<WorkGroupPlacement>,
        site: PlacementSite,
        contexts: usize,
        work_groups: u32,
    ) -> Self {
        let program = program(&[(work_groups, 1, 0, 0)], Vec::new());
        let environment = Environment::new("dut", 3);
        Self::running(policy, &environment, site, contexts, program)
    }

    /// Runs the first kernel of a program.
    pub(super) fn running(
        policy: &Policy<WorkGroupPlacement>,
        environment: &Environment,
        site: PlacementSite,
        contexts: usize,
        program: Program,
    ) -> Self {
        let mut policy = policy.build("policy", environment, &site, 0).unwrap();
        let work_groups = program.kernels[0].work_groups();
        let mut machine = Machine::new(site, Arc::new(program));
        machine.equip(UnitLimits {
            work_group_slots: contexts as u32,
            ..LIMITS
        });
        assert_eq!(policy.fits(machine.limits()), Ok(()));
        machine.accept(KernelLaunch::plain(0, 0).into(), 0).unwrap();
        let kernel = machine.kernel(0).unwrap();
        assert_eq!(policy.accepts(&kernel), Ok(()));
        policy.arrived(kernel, &machine);
        Self {
            policy,
            machine,
            contents: vec![Vec::new(); site.units() as usize],
            contexts,
            left: work_groups,
        }
    }

    pub(super) fn choose(&mut self) -> PlacementChoice<Placement> {
        self.policy.choose(&self.machine, &mut |_| true)
    }

    pub(super) fn step(&mut self) -> Option<Placement> {
        if self.left == 0 {
            return None;
        }
        let PlacementChoice::Place(placement) = self.choose() else {
            return None;
        };
        assert_eq!(self.machine.check(placement), Ok(()));
        let mut accesses = Vec::new();
        self.policy
            .accesses(placement, &self.machine, &mut accesses);
        assert_eq!(accesses, []);
        self.left -= 1;
        self.contents[placement.unit as usize].push(placement.work_group);
        let key = self.machine.key_of(0).unwrap();
        assert!(self.machine.place(key, placement).is_ok());
        self.policy.placed(placement, &self.machine);
        if self.left == 0 {
            self.policy.all_placed(0, &self.machine);
        }
        self.policy.changed(placement.unit, &self.machine);
        Some(placement)
    }

    pub(super) fn fill(&mut self) {
        while self.step().is_some() {}
    }

    pub(super) fn end(&mut self, unit: usize, work_group: u32) {
        self.contents[unit].retain(|&w| w != work_group);
        let ended = placed(unit as u32, work_group);
        let slot = (0..64).find(|&slot| self.machine.end(ended, slot).is_some());
        assert!(slot.is_some(), "{ended:?} runs");
        self.policy.finished(ended, &self.machine);
        self.policy.changed(unit as u32, &self.machine);
    }
}

pub(super) fn placed(unit: u32, work_group: u32) -> Placement {
    Placement {
        kernel: 0,
        work_group,
        unit,
    }
}

pub(super) fn site(clusters: u32, units_per_cluster: u32) -> PlacementSite {
    PlacementSite {
        clusters,
        units_per_cluster,
    }
}

/// BAS-M3 to BAS-M6 and ICC-M2: Intra-Cluster Coalescing, Fig. 6, with work-groups numbered from 0.
/// It has ten work-groups, two clusters of two units, and two contexts per unit. The other policies
/// fill the same device according to their rules.
#[test]
fn bas_m3_to_m6_icc_m2_the_published_example_is_met_by_every_policy() {
    let plain = [
        (
            Policy::plain::<TwoLevelRoundRobin>(),
            [[0, 4], [2, 6], [1, 5], [3, 7]],
            Some(placed(0, 8)),
        ),
        (
            Policy::plain::<GlobalRoundRobin>(),
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            Some(placed(0, 8)),
        ),
        (
            Policy::plain::<GreedyClustering>(),
            [[0, 2], [1, 3], [4, 6], [5, 7]],
            Some(placed(0, 8)),
        ),
        (
            Policy::plain::<Distributed>(),
            [[0, 2], [1, 3], [5, 7], [6, 8]],
            Some(placed(0, 4)),
        ),
        (
            Policy::plain::<DistributedBlock>(),
            [[0, 1], [2, 3], [5, 6], [7, 8]],
            None,
        ),
        (
            Policy::plain::<DemandRoundRobin>(),
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            Some(placed(0, 8)),
        ),
        (
            Policy::plain::<BlockRoundRobin>(),
            [[0, 1], [2, 3], [4, 5], [6, 7]],
            None,
        ),
        (
            Policy::plain::<StrictRoundRobin>(),
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            Some(placed(0, 8)),
        ),
        (
            Policy::plain::<ShortestQueue>(),
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            Some(placed(0, 8)),
        ),
    ];
    for (policy, contents, next) in plain {
        let mut bare = Bare::new(&policy, site(2, 2), 2, 10);
        bare.fill();
        assert_eq!(bare.contents, contents, "{policy:?}");
        let first = bare.contents[0][0];
        bare.end(0, first);
        assert_eq!(bare.step(), next, "{policy:?}");
    }
}

/// ICC-M2: the single remaining work-group of a cluster waits for two contexts, as published.
#[test]
fn icc_m2_the_last_work_group_of_a_cluster_waits_for_two_contexts() {
    let mut bare = Bare::new(&Policy::plain::<DistributedBlock>(), site(2, 2), 2, 10);
    bare.fill();
    bare.end(0, 0);
    assert_eq!(bare.choose(), PlacementChoice::HeldBack);
    bare.end(0, 1);
    assert_eq!(bare.step(), Some(placed(0, 4)));
}

#[test]
fn icc_m2_relaxed_the_last_work_group_of_a_cluster_waits_for_one_context() {
    let relaxed = Policy::of::<DistributedBlock>(&DistributedBlockSpec { relax_last: true });
    let mut bare = Bare::new(&relaxed, site(2, 2), 2, 12);
    bare.fill();
    assert_eq!(bare.contents, [[0, 1], [2, 3], [6, 7], [8, 9]]);
    // Two are left of each cluster: still a pair.
    bare.end(0, 0);
    assert_eq!(bare.choose(), PlacementChoice::HeldBack);

    let mut bare = Bare::new(&relaxed, site(2, 2), 2, 10);
    bare.fill();
    assert_eq!(bare.contents, [[0, 1], [2, 3], [5, 6], [7, 8]]);
    bare.end(0, 0);
    assert_eq!(bare.step(), Some(placed(0, 4)));
    bare.end(2, 6);
    assert_eq!(bare.step(), Some(placed(2, 9)));
}

/// BAS-M1: eight work-groups, two units and two contexts; the second unit is the first to free one.
#[test]
fn bas_m1_demand_goes_to_who_is_free_and_strict_keeps_to_the_number() {
    let mut demand = Bare::new(&Policy::plain::<DemandRoundRobin>(), site(1, 2), 2, 8);
    demand.fill();
    assert_eq!(demand.contents, [[0, 2], [1, 3]]);
    demand.end(1, 1);
    assert_eq!(demand.step(), Some(placed(1, 4)));

    let mut strict = Bare::new(&Policy::plain::<StrictRoundRobin>(), site(1, 2), 2, 8);
    strict.fill();
    assert_eq!(strict.contents, [[0, 2], [1, 3]]);
    strict.end(1, 1);
    assert_eq!(strict.step(), Some(placed(1, 5)));
    strict.end(0, 2);
    assert_eq!(strict.step(), Some(placed(0, 4)));
}

/// BAS-M1, item 3: strict round robin is not work-conserving.
#[test]
fn bas_m1_a_unit_without_work_groups_of_its_own_stays_empty_under_strict() {
    let mut strict = Bare::new(&Policy::plain::<StrictRoundRobin>(), site(1, 2), 1, 3);
    strict.fill();
    strict.end(1, 1);
    assert_eq!(strict.choose(), PlacementChoice::HeldBack);
    strict.end(0, 0);
    assert_eq!(strict.step(), Some(placed(0, 2)));
}

/// Returns the number of work-groups on each unit when they end in a pseudo-random order.
fn loads(policy: &Policy<WorkGroupPlacement>, units: u32, work_groups: u32, seed: u64) -> Vec<u32> {
    let mut bare = Bare::new(policy, site(1, units), 4, work_groups);
    let mut loads = vec![0; units as usize];
    for turn in 0.. {
        while let Some(placement) = bare.step() {
            loads[placement.unit as usize] += 1;
        }
        let busy: Vec<_> = (0..units as usize)
            .filter(|&u| !bare.contents[u].is_empty())
            .collect();
        if busy.is_empty() {
            break;
        }
        let unit = busy[nth(seed, turn) as usize % busy.len()];
        let work_group = bare.contents[unit][0];
        bare.end(unit, work_group);
    }
    loads
}

/// BAS-M2: pattern 2, and work that is not balanced even when it divides evenly.
#[test]
fn bas_m2_random_placement_spreads_unevenly_and_places_each_work_group() {
    let loads = loads(&Policy::plain::<RandomRoundRobin>(), 15, 960, 5);
    assert_eq!(loads.iter().sum::<u32>(), 960);
    assert!(loads.iter().any(|&load| load != 64), "{loads:?}");
}

/// BAS-M2: within a round every free context gets one work-group, in an order that is not round
/// robin.
#[test]
fn bas_m2_a_turn_is_a_permutation_of_the_free_contexts() {
    let mut bare = Bare::new(&Policy::plain::<RandomRoundRobin>(), site(1, 6), 2, 100);
    bare.fill();
    assert!(
        bare.contents.iter().all(|c| c.len() == 2),
        "{:?}",
        bare.contents
    );
    let round_robin = |unit: usize| vec![unit as u32, unit as u32 + 6];
    assert!((0..6).any(|unit| bare.contents[unit] != round_robin(unit)));
    // The next turn is of the two contexts that are free when it begins.
    for unit in [4, 2] {
        let first = bare.contents[unit][0];
        bare.end(unit, first);
    }
    let mut units = [bare.step(), bare.step()].map(|p| p.map(|p| p.unit));
    units.sort_unstable();
    assert_eq!(units, [Some(2), Some(4)]);
    assert_eq!(bare.step(), None);
}

/// BAS-M7: a block waits until a unit has room for all of it, and units are served round robin.
#[test]
fn bas_m7_a_block_waits_for_two_contexts_of_one_unit() {
    let mut bare = Bare::new(&Policy::plain::<BlockRoundRobin>(), site(1, 2), 2, 10);
    bare.fill();
    assert_eq!(bare.contents, [[0, 1], [2, 3]]);
    bare.end(0, 0);
    bare.end(1, 3);
    assert_eq!(bare.choose(), PlacementChoice::HeldBack);
    bare.end(1, 2);
    assert_eq!(bare.step(), Some(placed(1, 4)));
    assert_eq!(bare.step(), Some(placed(1, 5)));
    assert_eq!(bare.choose(), PlacementChoice::HeldBack);
    bare.end(1, 4);
    bare.end(1, 5);
    bare.end(0, 1);
    // Both have room: it is the turn of the unit after the one served last.
    assert_eq!(bare.step(), Some(placed(0, 6)));
    assert_eq!(bare.step(), Some(placed(0, 7)));
}

#[test]
fn bas_m7_blocks_of_several_units_are_filled_side_by_side() {
    let mut bare = Bare::new(&Policy::plain::<BlockRoundRobin>(), site(1, 2), 4, 9);
    // Unit 0 takes nothing for a while: the second block does not wait for the rest of the first.
    assert_eq!(bare.step(), Some(placed(0, 0)));
    let choice = bare.policy.choose(&bare.machine, &mut |unit| unit != 0);
    assert_eq!(choice, PlacementChoice::Place(placed(1, 2)));
    assert_eq!(bare.step(), Some(placed(0, 1)));
    let busy = bare.policy.choose(&bare.machine, &mut |_| false);
    assert_eq!(busy, PlacementChoice::UnitBusy);
    bare.fill();
    assert_eq!(bare.contents, [vec![0, 1, 4, 5], vec![2, 3, 6, 7]]);
    // The last block has a single work-group but still waits for two contexts.
    bare.end(0, 0);
    assert_eq!(bare.choose(), PlacementChoice::HeldBack);
    bare.end(0, 1);
    assert_eq!(bare.step(), Some(placed(0, 8)));
}

#[test]
fn units_steal_when_their_queue_is_empty() {
    let spec = |stealing| QueuesSpec {
        stealing,
        memory: None,
    };
    for (stealing, next) in [
        (Stealing::Never, None),
        // The longest queue is that of unit 0, whose tail is 6.
        (Stealing::Literal, Some(placed(2, 6))),
        (Stealing::OwnerFirst, Some(placed(2, 6))),
        (Stealing::IfLongerThan(1), Some(placed(2, 6))),
        // Unit 0 has two work-groups waiting.
        (Stealing::IfLongerThan(2), None),
    ] {
        let policy = Policy::of::<ShortestQueue>(&spec(stealing));
        let mut bare = Bare::new(&policy, site(1, 3), 1, 8);
        bare.fill();
        assert_eq!(bare.contents, [[0], [1], [2]]);
        bare.end(2, 2);
        assert_eq!(bare.step(), Some(placed(2, 5)));
        bare.end(2, 5);
        assert_eq!(bare.step(), next, "{stealing:?}");
        if next.is_none() {
            assert_eq!(bare.choose(), PlacementChoice::HeldBack);
        }
    }
}

/// Finds the first open context that is the next of its unit, in the order written out as nested
/// loops.
fn first_open(policy: &str, site: PlacementSite, bare: &Bare, only: Option<u32>) -> Option<u32> {
    let mut order: Vec<(usize, u32)> = Vec::new();
    let (clusters, units, contexts) = (site.clusters, site.units_per_cluster, bare.contexts);
    match policy {
        "TwoLevelRoundRobin" => {
            for k in 0..contexts {
                for s in 0..units {
                    for c in 0..clusters {
                        order.push((k, c * units + s));
                    }
                }
            }
        }
        "GlobalRoundRobin" => {
            for k in 0..contexts {
                for c in 0..clusters {
                    for s in 0..units {
                        order.push((k, c * units + s));
                    }
                }
            }
        }
        _ => {
            for c in (0..clusters).filter(|&c| only.is_none_or(|o| o == c)) {
                for k in 0..contexts {
                    for s in 0..units {
                        order.push((k, c * units + s));
                    }
                }
            }
        }
    }
    order
        .into_iter()
        .find(|&(k, unit)| bare.contents[unit as usize].len() == k)
        .map(|(_, unit)| unit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ordered_policies_follow_the_nested_loops(
        which in 0_usize..3,
        clusters in 1_u32..5,
        units_per_cluster in 1_u32..5,
        contexts in 1_usize..4,
        work_groups in 1_u32..80,
        ends in prop::collection::vec((0_usize..16, 0_usize..4, 0_u8..3), 0..80),
    ) {
        let policy = &every_policy()[which];
        let site = site(clusters, units_per_cluster);
        let mut bare = Bare::new(policy, site, contexts, work_groups);
        let mut ends = ends.into_iter();
        let mut expected_work_group = 0;
        loop {
            // Several may end before anything is placed again.
            let expected = first_open(policy.name(), site, &bare, None).filter(|_| bare.left > 0);
            let got = bare.step();
            prop_assert_eq!(got.map(|p| p.unit), expected);
            if let Some(placement) = got {
                prop_assert_eq!(placement.work_group, expected_work_group);
                expected_work_group += 1;
                continue;
            }
            let mut more = false;
            for (unit, place, go_on) in ends.by_ref() {
                let unit = unit % bare.contents.len();
                if let Some(&work_group) = bare.contents[unit].get(place) {
                    bare.end(unit, work_group);
                    more = true;
                }
                if go_on == 0 { break; }
            }
            if !more { break; }
        }
    }

    #[test]
    fn distributed_clusters_fill_from_their_own_part_only(
        pairs in any::<bool>(),
        clusters in 1_u32..5,
        units_per_cluster in 1_u32..4,
        contexts in 2_usize..4,
        work_groups in 1_u32..60,
        seed in any::<u64>(),
    ) {
        let policy = if pairs { Policy::plain::<DistributedBlock>() } else { Policy::plain::<Distributed>() };
        let site = site(clusters, units_per_cluster);
        let mut bare = Bare::new(&policy, site, contexts, work_groups);
        let mut next: Vec<u32> = (0..clusters)
            .map(|c| (0..c).map(|c| work_groups / clusters + u32::from(c < work_groups % clusters)).sum())
            .collect();
        for turn in 0.. {
            if bare.left == 0 && bare.contents.iter().all(Vec::is_empty) {
                break;
            }
            loop {
                let before: Vec<_> = bare.contents.iter().map(Vec::len).collect();
                let expected: Vec<_> = (0..clusters).map(|c| first_open(policy.name(), site, &bare, Some(c))).collect();
                let Some(placement) = bare.step() else { break };
                let cluster = site.cluster(placement.unit) as usize;
                prop_assert_eq!(placement.work_group, next[cluster]);
                next[cluster] += 1;
                if !pairs {
                    prop_assert_eq!(Some(placement.unit), expected[cluster]);
                } else if before[placement.unit as usize] == contexts - 1 {
                    // The last context is filled only by the second of a pair.
                    let contents = &bare.contents[placement.unit as usize];
                    prop_assert!(contents.contains(&(placement.work_group - 1)));
                }
            }
            let busy: Vec<usize> = (0..bare.contents.len()).filter(|&u| !bare.contents[u].is_empty()).collect();
            prop_assert!(!busy.is_empty(), "work-groups left and an empty machine");
            let unit = busy[nth(seed, turn) as usize % busy.len()];
            let work_group = bare.contents[unit][0];
            bare.end(unit, work_group);
        }
        let parts: u32 = (0..clusters).map(|c| next[c as usize]).max().unwrap();
        prop_assert_eq!(parts, work_groups);
    }

    #[test]
    fn bas_m1_strict_and_bas_m7_blocks_keep_their_rules_whatever_ends_when(
        block_size in 1_u32..5,
        units in 1_u32..7,
        contexts in 4_usize..7,
        work_groups in 1_u32..80,
        seed in any::<u64>(),
    ) {
        // A block of one stands for strict round robin.
        let strict = block_size == 1;
        let policy = if strict {
            Policy::plain::<StrictRoundRobin>()
        } else {
            Policy::of::<BlockRoundRobin>(&BlockRoundRobinSpec { block_size })
        };
        let mut bare = Bare::new(&policy, site(1, units), contexts, work_groups);
        let mut unit_of_block = std::collections::BTreeMap::new();
        for turn in 0.. {
            while let Some(Placement { work_group, unit, .. }) = bare.step() {
                if strict {
                    prop_assert_eq!(unit, work_group % units);
                    continue;
                }
                let before = bare.contents[unit as usize].len() - 1;
                let room = (contexts - before) as u32;
                let first = work_group.is_multiple_of(block_size);
                prop_assert!(!first || room >= block_size, "{work_group} with room for {room}");
                let owner = *unit_of_block.entry(work_group / block_size).or_insert(unit);
                prop_assert_eq!(unit, owner);
            }
            let busy: Vec<_> = (0..units as usize).filter(|&u| !bare.contents[u].is_empty()).collect();
            if busy.is_empty() {
                break;
            }
            let unit = busy[nth(seed, turn) as usize % busy.len()];
            let work_group = bare.contents[unit][0];
            bare.end(unit, work_group);
        }
        prop_assert_eq!(bare.left, 0);
    }
}
