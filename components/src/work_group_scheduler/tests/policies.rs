//! Policies alone.

use warpweave_random::nth;

use super::*;

/// A machine of units that hold `contexts` work-groups each, driven by a policy.
struct Bare {
    policy: Box<dyn Policy>,
    contents: Vec<Vec<u32>>,
    contexts: usize,
    left: u32,
}

impl Bare {
    fn new(policy: WorkGroupPolicy, machine: Machine, contexts: usize, work_groups: u32) -> Self {
        let mut bare = Self {
            policy: policy.build(machine),
            contents: vec![Vec::new(); machine.units() as usize],
            contexts,
            left: work_groups,
        };
        bare.policy.begin(work_groups);
        for unit in 0..bare.contents.len() {
            bare.tell(unit);
        }
        bare
    }

    fn tell(&mut self, unit: usize) {
        let resident = self.contents[unit].len();
        let room = self.contexts - resident;
        self.policy
            .update(unit as u32, resident as u32, room as u32);
    }

    fn step(&mut self) -> Option<Placement> {
        if self.left == 0 {
            return None;
        }
        let Choice::Place(placement) = self.policy.choose(&mut |_| true) else {
            return None;
        };
        self.left -= 1;
        self.contents[placement.unit as usize].push(placement.work_group);
        self.policy.placed(placement);
        self.tell(placement.unit as usize);
        Some(placement)
    }

    fn end(&mut self, unit: usize, work_group: u32) {
        self.contents[unit].retain(|&w| w != work_group);
        self.tell(unit);
    }
}

const TWO_BY_TWO: Machine = Machine {
    clusters: 2,
    units_per_cluster: 2,
};

/// Intra-Cluster Coalescing, Fig. 6, with work-groups numbered from 0: ten of them, two clusters
/// of two units, two contexts per unit.
#[test]
fn the_published_example_is_met_by_every_policy() {
    use WorkGroupPolicy::*;
    let placed = |unit, work_group| Some(Placement { work_group, unit });
    let table = [
        (
            TwoLevelRoundRobin,
            [[0, 4], [2, 6], [1, 5], [3, 7]],
            placed(0, 8),
        ),
        (
            GlobalRoundRobin,
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            placed(0, 8),
        ),
        (
            GreedyClustering,
            [[0, 2], [1, 3], [4, 6], [5, 7]],
            placed(0, 8),
        ),
        (Distributed, [[0, 2], [1, 3], [5, 7], [6, 8]], placed(0, 4)),
        (DistributedBlock, [[0, 1], [2, 3], [5, 6], [7, 8]], None),
        (
            DemandRoundRobin,
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            placed(0, 8),
        ),
    ];
    for (policy, contents, next) in table {
        let mut bare = Bare::new(policy, TWO_BY_TWO, 2, 10);
        while bare.step().is_some() {}
        assert_eq!(bare.contents, contents, "{policy:?}");
        bare.end(0, 0);
        assert_eq!(bare.step(), next, "{policy:?}");
        if policy == DistributedBlock {
            assert_eq!(bare.policy.choose(&mut |_| true), Choice::HeldBack);
            bare.end(0, 1);
            assert_eq!(bare.step(), placed(0, 4));
        }
    }
}

#[test]
fn demand_round_robin_refills_the_unit_that_ended_first() {
    let two = Machine {
        clusters: 1,
        units_per_cluster: 2,
    };
    let mut bare = Bare::new(WorkGroupPolicy::DemandRoundRobin, two, 2, 8);
    while bare.step().is_some() {}
    assert_eq!(bare.contents, [[0, 2], [1, 3]]);
    bare.end(1, 1);
    assert_eq!(
        bare.step(),
        Some(Placement {
            work_group: 4,
            unit: 1
        })
    );
}

/// The order of contexts written out as nested loops, searched for the first that is the next of
/// its unit and open.
fn first_open(
    policy: WorkGroupPolicy,
    machine: Machine,
    bare: &Bare,
    only: Option<u32>,
) -> Option<u32> {
    use WorkGroupPolicy::*;
    let mut order: Vec<(usize, u32)> = Vec::new();
    let (clusters, units, contexts) = (machine.clusters, machine.units_per_cluster, bare.contexts);
    match policy {
        TwoLevelRoundRobin => {
            for k in 0..contexts {
                for s in 0..units {
                    for c in 0..clusters {
                        order.push((k, c * units + s));
                    }
                }
            }
        }
        GlobalRoundRobin => {
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
        let policy = POLICIES[which];
        let machine = Machine { clusters, units_per_cluster };
        let mut bare = Bare::new(policy, machine, contexts, work_groups);
        let mut ends = ends.into_iter();
        let mut expected_work_group = 0;
        loop {
            // Several may end before anything is placed again.
            let expected = first_open(policy, machine, &bare, None).filter(|_| bare.left > 0);
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
        let policy = if pairs { WorkGroupPolicy::DistributedBlock } else { WorkGroupPolicy::Distributed };
        let machine = Machine { clusters, units_per_cluster };
        let mut bare = Bare::new(policy, machine, contexts, work_groups);
        let mut next: Vec<u32> = (0..clusters)
            .map(|c| (0..c).map(|c| work_groups / clusters + u32::from(c < work_groups % clusters)).sum())
            .collect();
        for turn in 0.. {
            if bare.left == 0 && bare.contents.iter().all(Vec::is_empty) {
                break;
            }
            loop {
                let before: Vec<_> = bare.contents.iter().map(Vec::len).collect();
                let expected: Vec<_> = (0..clusters).map(|c| first_open(policy, machine, &bare, Some(c))).collect();
                let Some(placement) = bare.step() else { break };
                let cluster = machine.cluster(placement.unit) as usize;
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
}
