//! Placement of each work-group chain on one unit, according to a reuse profile.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::QueuesSpec;
use super::from_queues::{FromQueues, QueuePolicy};
use super::queued::{Entry, Queued, Tie};
use crate::artefact::artefact;
use crate::reuse_profile::{ReuseProfile, WHAT};
use crate::work_group_scheduler::{Kernel, PlacementPolicy, WorkGroupPlacement};

/// A chain with work-groups that have not arrived yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OpenChain {
    unit: u32,
    /// Number of its work-groups that have not arrived.
    left: u32,
}

/// Each chain of work-groups that share lines goes into one queue as a whole: the shortest when its
/// first one arrives. Work-groups of the chain in kernels that arrive later follow into the same
/// queue. Work-groups without a chain go into the shortest queue. Units take from the queues like
/// [`ShortestQueue`](super::ShortestQueue).
///
/// Source: the LASER paper, section 5, Algorithm 2. That later work-groups of a chain follow is our
/// interpretation: the paper knows all of them from the beginning.
#[derive(State, Statistics)]
pub struct ReuseChains {
    #[state(skip)]
    profile: Arc<ReuseProfile>,
    begun: BTreeMap<u32, OpenChain>,
}

impl ReuseChains {
    fn append(&mut self, kernel: u32, work_groups: u32, queues: &mut Queued) {
        let entry = |work_group, tie| Entry {
            kernel,
            work_group,
            tie,
        };
        // By chain, in the order of their first work-groups.
        let mut order: Vec<u32> = Vec::new();
        let mut members: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for work_group in 0..work_groups {
            let Some((chain, place)) = self.profile.place(kernel, work_group) else {
                let shortest = queues.shortest();
                queues.push(shortest, entry(work_group, Tie::None));
                continue;
            };
            let list = members.entry(chain).or_insert_with(|| {
                order.push(chain);
                Vec::new()
            });
            list.push((place, work_group));
        }
        for chain in order {
            let mut list = members.remove(&chain).unwrap_or_default();
            list.sort_unstable();
            let begun = self.begun.remove(&chain).unwrap_or_else(|| OpenChain {
                unit: queues.shortest(),
                left: self.profile.chain_len(chain),
            });
            for &(_, work_group) in &list {
                queues.push(begun.unit, entry(work_group, Tie::Preferred));
            }
            let left = begun.left.saturating_sub(list.len() as u32);
            if left > 0 {
                self.begun.insert(chain, OpenChain { left, ..begun });
            }
        }
    }
}

impl PolicyKind for ReuseChains {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "ReuseChains";
    const SUMMARY: &'static str = "Queues work-groups that share lines on the same unit, according to a profile; idle units steal";
    type Spec = QueuesSpec;

    fn build(
        spec: QueuesSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        let policy = Self {
            profile: artefact(context.environment, WHAT)?,
            begun: BTreeMap::new(),
        };
        FromQueues::boxed(policy, spec, *context.site)
    }
}

impl QueuePolicy for ReuseChains {
    fn enqueue(&mut self, kernel: Kernel<'_>, queues: &mut Queued) {
        self.append(kernel.number(), kernel.work_groups(), queues);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::PlacementSite;
    use super::*;

    fn policy(chains: Vec<Vec<(u32, u32)>>) -> (ReuseChains, Queued) {
        let site = PlacementSite {
            clusters: 3,
            units_per_cluster: 1,
        };
        let policy = ReuseChains {
            profile: Arc::new(ReuseProfile::new(Vec::new(), chains)),
            begun: BTreeMap::new(),
        };
        (policy, Queued::new(QueuesSpec::default(), site).unwrap())
    }

    fn queue(queued: &Queued, unit: u32) -> Vec<(u32, u32)> {
        let entries = queued.queues.entries(unit);
        entries
            .map(|entry| (entry.kernel, entry.work_group))
            .collect()
    }

    /// LSR-M10: the whole chain goes to the queue with the fewest work-groups, in chain order.
    #[test]
    fn lsr_m10_a_chain_goes_to_the_shortest_queue_as_a_whole() {
        let chains = vec![
            vec![(0, 0), (0, 4), (0, 2)],
            vec![(0, 1)],
            vec![(0, 3), (0, 5)],
        ];
        let (mut policy, mut queued) = policy(chains);
        policy.append(0, 6, &mut queued);
        assert_eq!(queue(&queued, 0), [(0, 0), (0, 4), (0, 2)]);
        assert_eq!(queue(&queued, 1), [(0, 1)]);
        assert_eq!(queue(&queued, 2), [(0, 3), (0, 5)]);
        // Kernel 1 is in no chain: each to the shortest.
        policy.append(1, 2, &mut queued);
        assert_eq!(queue(&queued, 1), [(0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn work_groups_of_a_chain_that_come_later_follow() {
        let (mut policy, mut queued) = policy(vec![vec![(0, 0), (2, 0), (3, 0)], vec![(0, 1)]]);
        policy.append(0, 2, &mut queued);
        policy.append(2, 1, &mut queued);
        policy.append(3, 1, &mut queued);
        assert_eq!(queue(&queued, 0), [(0, 0), (2, 0), (3, 0)]);
        assert_eq!(queue(&queued, 1), [(0, 1)]);
        // Nothing is remembered of chains that are complete.
        assert!(policy.begun.is_empty());
    }
}
