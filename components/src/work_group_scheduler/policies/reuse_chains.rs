//! Placement of each work-group chain on one unit, according to a reuse profile.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::QueuesSpec;
use super::queued::Queued;
use crate::artefact::artefact;
use crate::reuse_profile::{ReuseProfile, WHAT};
use crate::work_group_scheduler::{
    Kernel, Machine, Placement, PlacementChoice, PlacementPolicy, QueueAccess, WorkGroupPlacement,
};

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
pub struct ReuseChains {
    profile: Arc<ReuseProfile>,
    queued: Queued,
    begun: BTreeMap<u32, OpenChain>,
}

impl ReuseChains {
    fn enqueue(&mut self, kernel: u32, work_groups: u32) {
        // By chain, in the order of their first work-groups.
        let mut order: Vec<u32> = Vec::new();
        let mut members: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for work_group in 0..work_groups {
            let Some((chain, place)) = self.profile.place(kernel, work_group) else {
                let shortest = self.queued.queues.shortest();
                self.queued.push(shortest, (kernel, work_group));
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
                unit: self.queued.queues.shortest(),
                left: self.profile.chain_len(chain),
            });
            for &(_, work_group) in &list {
                self.queued.push(begun.unit, (kernel, work_group));
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
        Ok(Box::new(Self {
            profile: artefact(context.environment, WHAT)?,
            queued: Queued::new(spec, *context.site)?,
            begun: BTreeMap::new(),
        }))
    }
}

impl PlacementPolicy for ReuseChains {
    fn needs_memory(&self) -> bool {
        self.queued.needs_memory()
    }

    fn arrived(&mut self, kernel: Kernel<'_>, _machine: &Machine) {
        self.enqueue(kernel.number(), kernel.work_groups());
    }

    fn entries(&mut self, writes: &mut Vec<QueueAccess>) {
        self.queued.entries(writes);
    }

    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        self.queued.choose(machine, sendable)
    }

    /// Removes the chosen work-group from its queue and lists the memory accesses needed.
    fn accesses(&mut self, chosen: Placement, _machine: &Machine, accesses: &mut Vec<QueueAccess>) {
        self.queued.take(chosen.unit, accesses);
    }

    fn placed(&mut self, _placed: Placement, _machine: &Machine) {}

    fn state(&mut self, state: &mut State<'_>) {
        self.queued.state(state);
        state.field("begun", &mut self.begun);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.queued.statistics(statistics);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::PlacementSite;
    use super::*;

    fn policy(chains: Vec<Vec<(u32, u32)>>) -> ReuseChains {
        let site = PlacementSite {
            clusters: 3,
            units_per_cluster: 1,
        };
        ReuseChains {
            profile: Arc::new(ReuseProfile::new(Vec::new(), chains)),
            queued: Queued::new(QueuesSpec::default(), site).unwrap(),
            begun: BTreeMap::new(),
        }
    }

    fn queue(policy: &ReuseChains, unit: u32) -> Vec<(u32, u32)> {
        policy.queued.queues.entries(unit).copied().collect()
    }

    /// LSR-M10: the whole chain goes to the queue with the fewest work-groups, in chain order.
    #[test]
    fn lsr_m10_a_chain_goes_to_the_shortest_queue_as_a_whole() {
        let chains = vec![
            vec![(0, 0), (0, 4), (0, 2)],
            vec![(0, 1)],
            vec![(0, 3), (0, 5)],
        ];
        let mut policy = policy(chains);
        policy.enqueue(0, 6);
        assert_eq!(queue(&policy, 0), [(0, 0), (0, 4), (0, 2)]);
        assert_eq!(queue(&policy, 1), [(0, 1)]);
        assert_eq!(queue(&policy, 2), [(0, 3), (0, 5)]);
        // Kernel 1 is in no chain: each to the shortest.
        policy.enqueue(1, 2);
        assert_eq!(queue(&policy, 1), [(0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn work_groups_of_a_chain_that_come_later_follow() {
        let mut policy = policy(vec![vec![(0, 0), (2, 0), (3, 0)], vec![(0, 1)]]);
        policy.enqueue(0, 2);
        policy.enqueue(2, 1);
        policy.enqueue(3, 1);
        assert_eq!(queue(&policy, 0), [(0, 0), (2, 0), (3, 0)]);
        assert_eq!(queue(&policy, 1), [(0, 1)]);
        // Nothing is remembered of chains that are complete.
        assert!(policy.begun.is_empty());
    }
}
