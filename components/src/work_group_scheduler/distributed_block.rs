//! Distributed-block scheduling: pairs of consecutive work-groups share a unit.

use warpweave_framework::State;

use super::policy::{Choice, Machine, Placement, Policy};
use super::pools::Pools;

/// Parts of the grid per cluster as in [`Distributed`](super::distributed::Distributed), given out
/// in pairs: a unit receives the next two work-groups of its cluster's part when it has room for
/// two at once, and waits for that even if only one is left (Intra-Cluster Coalescing, section 5).
/// Units are tried by `(resident, within the cluster, cluster)`; the second of a pair follows as
/// soon as the unit can be sent something again, before any new pair of the cluster.
#[derive(Debug)]
pub(super) struct DistributedBlock {
    machine: Machine,
    pools: Pools,
    /// `(resident, room)` by unit.
    units: Vec<(u32, u32)>,
    /// Unit that is owed the second of a pair, by cluster.
    owed: Vec<Option<u32>>,
}

impl DistributedBlock {
    pub(super) fn new(machine: Machine) -> Self {
        Self {
            machine,
            pools: Pools::default(),
            units: vec![(0, 0); machine.units() as usize],
            owed: vec![None; machine.clusters as usize],
        }
    }

    /// The unit of a cluster whose turn it is.
    fn candidate(&self, cluster: u32) -> Option<u32> {
        if let Some(unit) = self.owed[cluster as usize] {
            return Some(unit);
        }
        let first = cluster * self.machine.units_per_cluster;
        (first..first + self.machine.units_per_cluster)
            .filter(|&unit| self.units[unit as usize].1 >= 2)
            .min_by_key(|&unit| (self.units[unit as usize].0, unit))
    }
}

impl Policy for DistributedBlock {
    fn begin(&mut self, work_groups: u32) {
        self.pools.deal(work_groups, self.machine.clusters);
        self.owed.fill(None);
    }

    fn update(&mut self, unit: u32, resident: u32, room: u32) {
        self.units[unit as usize] = (resident, room);
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> Choice {
        let mut best = None;
        let mut busy = false;
        for cluster in 0..self.machine.clusters {
            let (Some(work_group), Some(unit)) =
                (self.pools.front(cluster), self.candidate(cluster))
            else {
                continue;
            };
            if !sendable(unit) {
                busy = true;
                continue;
            }
            let (resident, _) = self.units[unit as usize];
            let rank = (resident, self.machine.within(unit), cluster);
            if best.is_none_or(|(before, _)| rank < before) {
                best = Some((rank, Placement { work_group, unit }));
            }
        }
        match best {
            Some((_, placement)) => Choice::Place(placement),
            None if busy => Choice::UnitBusy,
            None if self.units.iter().any(|&(_, room)| room > 0) => Choice::HeldBack,
            None => Choice::UnitsFull,
        }
    }

    fn placed(&mut self, placement: Placement) {
        let cluster = self.machine.cluster(placement.unit);
        self.pools.take(cluster);
        let owed = &mut self.owed[cluster as usize];
        *owed = match *owed {
            None if self.pools.front(cluster).is_some() => Some(placement.unit),
            _ => None,
        };
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("pools", &mut self.pools);
        state.array("units", &mut self.units);
        state.array("owed", &mut self.owed);
    }
}
