//! Partitioning of a system: assignment of instances to partitions and the resulting look-ahead.
//!
//! Two instances joined by a wire shorter than the look-ahead cannot be in different partitions.
//! For each look-ahead, longest first, everything joined by shorter wires is therefore contracted
//! into groups. The look-ahead chosen minimises the busiest thread's work, synchronisation
//! included, or is the first whose groups can be spread evenly. Whole branches of the hierarchy are
//! assigned first, so that neighbours stay together if balance allows.
//!
//! Balance refers to the shares of threads, each of which may evaluate several partitions.

use std::collections::BTreeMap;

/// Thread work, in the unit of [`crate::Component::evaluation_cost`], that outweighs one
/// synchronisation. A synchronisation takes about 1.5 µs, an instruction about 0.25 ns.
pub(crate) const WORK_PER_MEETING: u64 = 80;

/// Percentage by which a share may exceed an equal one before a shorter look-ahead is tried.
const IMBALANCE_PERCENT: u64 = 10;

/// Two instances and the look-ahead in ticks that the wire between them allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) ends: [u32; 2],
    pub(crate) ticks: u64,
}

/// Number of parts into which the system is to be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Maximum number of partitions of the system.
    pub(crate) partitions: usize,
    /// Number of threads that are to have equal shares of the work.
    pub(crate) shares: usize,
}

impl Goal {
    /// Returns the work of the busiest thread in a partitioning, synchronisation included.
    pub(crate) fn cost(self, parts: &Parts<'_>, partition_of: &[u32]) -> u64 {
        let windows = parts.ticks / lookahead(parts.edges, partition_of).max(1);
        self.heaviest_of(parts.weights, partition_of)
            .saturating_add(windows.saturating_mul(WORK_PER_MEETING))
    }

    /// Returns the weight of the heaviest share of a partitioning.
    fn heaviest_of(self, weights: &[u64], partition_of: &[u32]) -> u64 {
        let mut loads = vec![0; self.partitions.max(1)];
        for (partition, weight) in partition_of.iter().zip(weights) {
            loads[*partition as usize] += weight;
        }
        busiest_share(&loads, self.shares)
    }

    /// True if shares, the heaviest of which is `heaviest`, are balanced within `percent`.
    fn is_even(self, heaviest: u64, total: u64, percent: u64) -> bool {
        let even = u128::from(total) * u128::from(100 + percent);
        u128::from(heaviest) * self.shares.max(1) as u128 * 100 <= even
    }
}

/// Returns the work of the busiest of `threads` in a window with these partition loads. Each thread
/// first takes its own partitions, assigned round-robin. It then takes partitions not yet begun,
/// from the last one on. The first partition stays on the first thread.
pub fn busiest_share(loads: &[u64], threads: usize) -> u64 {
    let threads = threads.max(1);
    let mut begun = vec![false; loads.len()];
    let mut shares = vec![0; threads];
    // The first to choose is the first thread, and its first choice the first partition.
    for _ in loads {
        let me = (0..threads).min_by_key(|t| shares[*t]).unwrap_or(0);
        let mut mine = (me..loads.len()).step_by(threads);
        let free = |p: &usize| !begun[*p];
        let others = || (0..loads.len()).rev().find(free);
        if let Some(taken) = mine.find(free).or_else(others) {
            begun[taken] = true;
            shares[me] += loads[taken];
        }
    }
    shares.into_iter().max().unwrap_or(0)
}

/// Instances and wires of the system to divide.
pub(crate) struct Parts<'a> {
    /// Hierarchical paths of the instances, by number.
    pub(crate) paths: &'a [&'a str],
    /// Work of each instance within `ticks`.
    pub(crate) weights: &'a [u64],
    pub(crate) ticks: u64,
    pub(crate) edges: &'a [Edge],
    /// Instances that must stay together and belong to partition 0.
    pub(crate) island: &'a [u32],
}

/// Groups of instances that are joined step by step.
struct Groups {
    parent: Vec<u32>,
}

impl Groups {
    fn new(count: usize, island: &[u32]) -> Self {
        let mut groups = Self {
            parent: (0..count as u32).collect(),
        };
        for pair in island.windows(2) {
            groups.join(pair[0], pair[1]);
        }
        groups
    }

    fn find(&mut self, mut of: u32) -> u32 {
        while self.parent[of as usize] != of {
            let above = self.parent[self.parent[of as usize] as usize];
            self.parent[of as usize] = above;
            of = above;
        }
        of
    }

    /// True if all instances are in one group.
    fn are_one(&mut self) -> bool {
        (1..self.parent.len() as u32).all(|of| self.find(of) == 0)
    }

    /// Joins two groups under their first instance; returns true if they were separate.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
        a != b
    }
}

/// Returns the longest look-ahead at which the system can be divided: the longest wire that joins
/// groups that shorter wires leave separate. Returns `None` without such a wire.
pub(crate) fn longest_lookahead(instances: usize, edges: &[Edge], island: &[u32]) -> Option<u64> {
    joining(instances, edges, island).pop()
}

/// Returns the look-aheads at which groups change, ascending: the wires of a minimum spanning
/// forest (Kruskal 1956).
fn joining(instances: usize, edges: &[Edge], island: &[u32]) -> Vec<u64> {
    let mut sorted: Vec<_> = edges.iter().collect();
    sorted.sort_by_key(|e| e.ticks);
    let mut groups = Groups::new(instances, island);
    let mut ticks: Vec<_> = sorted
        .iter()
        .filter_map(|e| groups.join(e.ends[0], e.ends[1]).then_some(e.ticks))
        // A wire that leaves nothing to look ahead is never cut.
        .filter(|ticks| *ticks > 0)
        .collect();
    ticks.dedup();
    ticks
}

/// Returns the length of the shortest wire across partitions; unlimited if there is none.
pub(crate) fn lookahead(edges: &[Edge], partition_of: &[u32]) -> u64 {
    let cut = |e: &&Edge| partition_of[e.ends[0] as usize] != partition_of[e.ends[1] as usize];
    let ticks = edges.iter().filter(cut).map(|e| e.ticks);
    ticks.min().unwrap_or(u64::MAX)
}

/// Returns the partition of every instance, numbered from 0 without gaps.
pub(crate) fn divide(parts: &Parts<'_>, goal: Goal) -> Vec<u32> {
    // Parts without any wire between them can be divided at any look-ahead.
    let mut candidates = vec![u64::MAX];
    let joining = joining(parts.paths.len(), parts.edges, parts.island);
    candidates.extend(joining.into_iter().rev());
    candidates.push(1);
    candidates.dedup();
    let mut best: Option<(u64, Vec<u32>)> = None;
    for ticks in candidates {
        let mut groups = Groups::new(parts.paths.len(), parts.island);
        for edge in parts.edges.iter().filter(|e| e.ticks < ticks) {
            groups.join(edge.ends[0], edge.ends[1]);
        }
        if groups.are_one() && ticks > 1 {
            continue;
        }
        let (heaviest, division) = spread(parts, &mut groups, goal);
        let good = goal.is_even(heaviest, parts.weights.iter().sum(), IMBALANCE_PERCENT);
        let cost = goal.cost(parts, &division);
        if best.as_ref().is_none_or(|(before, _)| cost < *before) {
            best = Some((cost, division));
        }
        if good {
            break;
        }
    }
    best.map_or_else(Vec::new, |(_, division)| division)
}

/// Distributes groups over partitions: whole branches of the hierarchy if balanced enough, else
/// smaller ones. Also returns the weight of the heaviest share.
fn spread(parts: &Parts<'_>, groups: &mut Groups, goal: Goal) -> (u64, Vec<u32>) {
    let depth = |path: &&str| path.matches('.').count() + 1;
    let deepest = parts.paths.iter().map(depth).max().unwrap_or(1);
    let total: u64 = parts.weights.iter().sum();
    let mut best: Option<(u64, Vec<u32>)> = None;
    for level in 1..=deepest + 1 {
        let mut joined = Groups {
            parent: groups.parent.clone(),
        };
        if level <= deepest {
            let mut branches: BTreeMap<&str, u32> = BTreeMap::new();
            for (number, path) in parts.paths.iter().enumerate() {
                let end = path
                    .match_indices('.')
                    .nth(level - 1)
                    .map_or(path.len(), |(at, _)| at);
                let first = *branches.entry(&path[..end]).or_insert(number as u32);
                joined.join(first, number as u32);
            }
        }
        let (mut heaviest, mut division) = longest_first(parts, &mut joined, goal);
        if level > 1 {
            // Below whole branches neighbours are worth a little balance.
            let (ordered, neighbourly) = in_order(parts, &mut joined, goal);
            if ordered * 10 <= heaviest * 11 {
                (heaviest, division) = (ordered, neighbourly);
            }
        }
        // A finer division must be better by something that matters.
        if best
            .as_ref()
            .is_none_or(|(before, _)| heaviest * 50 < before * 49)
        {
            best = Some((heaviest, division));
        }
        if goal.is_even(heaviest, total, IMBALANCE_PERCENT / 2) {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Assigns the heaviest group not yet placed to the partition with the least weight (Graham 1969).
fn longest_first(parts: &Parts<'_>, groups: &mut Groups, goal: Goal) -> (u64, Vec<u32>) {
    let mut weights: BTreeMap<u32, u64> = BTreeMap::new();
    let roots: Vec<u32> = (0..parts.paths.len() as u32)
        .map(|n| groups.find(n))
        .collect();
    for (number, root) in roots.iter().enumerate() {
        *weights.entry(*root).or_default() += parts.weights[number];
    }
    let mut order: Vec<_> = weights.into_iter().collect();
    order.sort_by_key(|(root, weight)| (std::cmp::Reverse(*weight), *root));
    let mut loads = vec![0u64; goal.partitions.max(1)];
    let mut place: BTreeMap<u32, u32> = BTreeMap::new();
    for (root, weight) in order {
        let least = (0..loads.len()).min_by_key(|p| loads[*p]).unwrap_or(0);
        loads[least] += weight;
        place.insert(root, least as u32);
    }
    let bin_of: Vec<u32> = roots.iter().map(|root| place[root]).collect();
    let division = numbered(parts, &loads, &bin_of);
    (goal.heaviest_of(parts.weights, &division), division)
}

/// Places groups heavier than an equal share alone. The others are split, in the order of the
/// hierarchy, into pieces of equal weight, so that neighbours stay together.
fn in_order(parts: &Parts<'_>, groups: &mut Groups, goal: Goal) -> (u64, Vec<u32>) {
    let mut weights: BTreeMap<u32, u64> = BTreeMap::new();
    let roots: Vec<u32> = (0..parts.paths.len() as u32)
        .map(|n| groups.find(n))
        .collect();
    for (number, root) in roots.iter().enumerate() {
        *weights.entry(*root).or_default() += parts.weights[number];
    }
    let count = goal.partitions;
    let share = parts.weights.iter().sum::<u64>() / count.max(1) as u64;
    let is_heavy = |weight: u64| weight > share;
    let heavy = weights.values().filter(|w| is_heavy(**w)).count();
    let pieces = count.saturating_sub(heavy).max(1);
    let rest: u64 = weights.values().filter(|w| !is_heavy(**w)).sum();
    let mut loads = vec![0u64; pieces + heavy];
    let (mut before, mut alone) = (0u64, pieces);
    let mut place: BTreeMap<u32, u32> = BTreeMap::new();
    // Groups are named by their first instance, so this is the order of the hierarchy.
    for (root, weight) in weights {
        let bin = if is_heavy(weight) {
            alone += 1;
            alone - 1
        } else {
            // Piece that contains the middle of the group.
            let middle = u128::from(2 * before + weight) * pieces as u128;
            before += weight;
            ((middle / u128::from(2 * rest.max(1))) as usize).min(pieces - 1)
        };
        loads[bin] += weight;
        place.insert(root, bin as u32);
    }
    let bin_of: Vec<u32> = roots.iter().map(|root| place[root]).collect();
    let division = numbered(parts, &loads, &bin_of);
    (goal.heaviest_of(parts.weights, &division), division)
}

/// Numbers partitions from 0 without gaps: that of the island first, then the heaviest, which
/// should start early.
fn numbered(parts: &Parts<'_>, loads: &[u64], bin_of: &[u32]) -> Vec<u32> {
    let mut bins: Vec<u32> = Vec::new();
    for bin in bin_of {
        if !bins.contains(bin) {
            bins.push(*bin);
        }
    }
    let island = parts.island.first().map(|first| bin_of[*first as usize]);
    bins.sort_by_key(|bin| {
        let load = loads[*bin as usize];
        (Some(*bin) != island, std::cmp::Reverse(load))
    });
    let number = |bin: &u32| bins.iter().position(|b| b == bin).unwrap_or(0) as u32;
    bin_of.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(a: u32, b: u32, ticks: u64) -> Edge {
        Edge {
            ends: [a, b],
            ticks,
        }
    }

    fn division(weights: &[u64], edges: &[Edge], island: &[u32], count: usize) -> Vec<u32> {
        let names: Vec<String> = (0..weights.len()).map(|i| format!("n{i}")).collect();
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let parts = Parts {
            paths: &paths,
            weights,
            ticks: 0,
            edges,
            island,
        };
        divide(&parts, one_each(count))
    }

    /// Goal with as many partitions as shares.
    fn one_each(count: usize) -> Goal {
        Goal {
            partitions: count,
            shares: count,
        }
    }

    #[test]
    fn a_thread_that_is_done_takes_the_last_partition_that_nobody_began() {
        // Own partitions 0 and 2, and 1 and 3: the second thread is at 1 until 90 others are done.
        assert_eq!(busiest_share(&[10, 90, 20, 40], 2), 90);
        assert_eq!(busiest_share(&[10, 90, 20, 40], 1), 160);
        assert_eq!(busiest_share(&[10, 90], 4), 90);
        assert_eq!(busiest_share(&[], 2), 0);
    }

    #[test]
    fn the_first_partition_stays_on_the_first_thread() {
        // The second thread is idle while the first does both: it may not take the first.
        assert_eq!(busiest_share(&[5], 2), 5);
        assert_eq!(busiest_share(&[5, 1, 1, 1], 2), 5);
    }

    #[test]
    fn a_chain_is_cut_at_its_longest_wire_when_both_sides_weigh_alike() {
        let edges = [edge(0, 1, 1), edge(1, 2, 20), edge(2, 3, 1)];
        let of = division(&[5, 5, 5, 5], &edges, &[], 2);
        assert_eq!(of, [0, 0, 1, 1]);
        assert_eq!(lookahead(&edges, &of), 20);
    }

    #[test]
    fn balance_is_worth_a_shorter_look_ahead() {
        let edges = [edge(0, 1, 2), edge(1, 2, 2), edge(2, 3, 20)];
        let of = division(&[5, 5, 5, 1], &edges, &[], 2);
        assert_eq!(lookahead(&edges, &of), 2);
    }

    #[test]
    fn balance_is_not_worth_meetings_that_take_longer() {
        // In 100 ticks: uneven by 50 with 5 meetings, or even with 50.
        let edges = [edge(0, 1, 2), edge(1, 2, 20)];
        let parts = |ticks| Parts {
            paths: &["a", "b", "c"],
            weights: &[50, 100, 50],
            ticks,
            edges: &edges,
            island: &[],
        };
        assert_eq!(divide(&parts(100), one_each(2)), [0, 0, 1]);
        assert_eq!(divide(&parts(0), one_each(2)), [0, 1, 0]);
    }

    #[test]
    fn even_shares_of_uneven_partitions_keep_their_look_ahead() {
        // Two branches and one as heavy as both, joined by long wires, inside by short ones.
        let weights = [6, 6, 6, 6, 12, 12];
        let inside = [edge(0, 1, 1), edge(2, 3, 1), edge(4, 5, 1)];
        let between = [edge(1, 2, 9), edge(3, 4, 9)];
        let edges = [&inside[..], &between].concat();
        let names: Vec<String> = (0..weights.len()).map(|i| format!("n{i}")).collect();
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let parts = Parts {
            paths: &paths,
            weights: &weights,
            ticks: 0,
            edges: &edges,
            island: &[],
        };
        let partitions = 4;
        let two = Goal {
            partitions,
            shares: 2,
        };
        assert_eq!(lookahead(&edges, &divide(&parts, two)), 9);
        assert_eq!(lookahead(&edges, &divide(&parts, one_each(4))), 1);
    }

    #[test]
    fn an_island_stays_together_in_partition_zero() {
        let edges = [edge(0, 1, 4), edge(1, 2, 4), edge(2, 3, 4)];
        let of = division(&[5, 5, 5, 5], &edges, &[1, 3], 4);
        assert_eq!((of[1], of[3]), (0, 0));
        assert!(of[0] != of[2] && of[0] != 0 && of[2] != 0);
    }

    #[test]
    fn branches_of_the_hierarchy_stay_together() {
        let paths = ["a.x", "b.x", "a.y", "b.y"];
        let parts = Parts {
            paths: &paths,
            weights: &[3, 3, 3, 3],
            ticks: 0,
            edges: &[],
            island: &[],
        };
        assert_eq!(divide(&parts, one_each(2)), [0, 1, 0, 1]);
    }

    #[test]
    fn below_whole_branches_neighbours_stay_together_and_who_is_heavy_alone() {
        let paths = ["a.big", "a.x", "a.y", "b.x", "b.y", "b.z", "b.w"];
        let parts = Parts {
            paths: &paths,
            weights: &[10, 4, 4, 4, 4, 4, 4],
            ticks: 0,
            edges: &[],
            island: &[],
        };
        assert_eq!(divide(&parts, one_each(4)), [0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn the_heaviest_partition_comes_first_after_that_of_the_island() {
        assert_eq!(division(&[1, 5, 9], &[], &[], 3), [2, 1, 0]);
        assert_eq!(division(&[1, 5, 9], &[], &[0], 3), [0, 2, 1]);
    }

    #[test]
    fn more_partitions_than_instances_leave_none_empty() {
        assert_eq!(division(&[1, 1], &[edge(0, 1, 1)], &[], 8), [0, 1]);
    }

    #[test]
    fn longest_look_ahead_is_the_longest_wire_that_joins_anything() {
        // The wire of 50 runs beside one of 3.
        let edges = [edge(0, 1, 50), edge(0, 1, 3), edge(1, 2, 7)];
        assert_eq!(longest_lookahead(3, &edges, &[]), Some(7));
        assert_eq!(longest_lookahead(3, &edges, &[0, 2]), Some(3));
        assert_eq!(longest_lookahead(1, &[], &[]), None);
    }
}
