//! Distributed-block scheduling: pairs of consecutive work-groups share a unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::pools::Pools;
use crate::occupancy::UnitLimits;
use crate::work_group_scheduler::{
    Assignment, Candidates, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    PlacementSite, WorkGroupPlacement,
};

/// Treatment of unpaired work-groups in [`DistributedBlock`] placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DistributedBlockSpec {
    /// Sends the last work-group of a cluster's part, if it has no partner, to a unit with room for
    /// one. Source: Intra-Cluster Coalescing, section 5, whose example waits for two (`false`).
    #[serde(default)]
    pub relax_last: bool,
}

/// Divides the grid among clusters like [`Distributed`](super::Distributed), but assigns pairs. A
/// unit receives the next two work-groups of its cluster's part when it has room for two at once.
/// Units are tried by `(resident, index within the cluster, cluster)`. The second of a pair follows
/// as soon as the unit can be sent a message again, before any new pair of the cluster.
///
/// Source: Intra-Cluster Coalescing, section 5.
#[derive(State, Statistics)]
pub struct DistributedBlock {
    #[state(skip)]
    relax_last: bool,
    #[state(skip)]
    site: PlacementSite,
    pools: Pools,
    /// Pair `(resident, room)` of each unit, by unit index.
    #[state(array)]
    units: Vec<(u32, u32)>,
    /// Unit in each cluster that still receives the second of a pair.
    #[state(array)]
    owed: Vec<Option<u32>>,
}

impl DistributedBlock {
    fn new(spec: DistributedBlockSpec, site: PlacementSite) -> Self {
        Self {
            relax_last: spec.relax_last,
            site,
            pools: Pools::default(),
            units: vec![(0, 0); site.units() as usize],
            owed: vec![None; site.clusters as usize],
        }
    }

    /// Returns the unit of a cluster that is served next.
    fn candidate(&self, cluster: u32) -> Option<u32> {
        if let Some(unit) = self.owed[cluster as usize] {
            return Some(unit);
        }
        let is_last = self.relax_last && self.pools.left(cluster) == 1;
        let needed = if is_last { 1 } else { 2 };
        let first = cluster * self.site.units_per_cluster;
        (first..first + self.site.units_per_cluster)
            .filter(|&unit| self.units[unit as usize].1 >= needed)
            .min_by_key(|&unit| (self.units[unit as usize].0, unit))
    }
}

impl PolicyKind for DistributedBlock {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "DistributedBlock";
    const SUMMARY: &'static str =
        "Contiguous parts of the grid per cluster, two consecutive work-groups at a time per unit";
    type Spec = DistributedBlockSpec;

    fn build(
        spec: DistributedBlockSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Self::new(spec, *context.site)))
    }
}

impl OneKernelPolicy for DistributedBlock {
    fn fits(&self, limits: &UnitLimits) -> Result<(), String> {
        if limits.work_group_slots < 2 {
            return Err(
                "DistributedBlock places pairs, but a unit has only one work-group slot".to_owned(),
            );
        }
        Ok(())
    }

    fn accepts(&self, kernel: &Kernel<'_>) -> Result<(), String> {
        let per_unit = kernel.per_unit();
        if per_unit.work_groups < 2 {
            return Err(format!(
                "DistributedBlock places pairs of work-groups, but a compute unit holds only one of kernel `{}`, limited by {:?}; choose Distributed",
                kernel.name(),
                per_unit.limiter
            ));
        }
        Ok(())
    }

    fn begin(&mut self, kernel: Kernel<'_>) {
        self.pools.deal(kernel.work_groups(), self.site.clusters);
        self.owed.fill(None);
    }

    fn update(&mut self, unit: u32, resident: u32, room: u32) {
        self.units[unit as usize] = (resident, room);
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        let mut candidates = Candidates::new();
        if self.units.iter().any(|&(_, room)| room > 0) {
            candidates.add_held_back();
        }
        for cluster in 0..self.site.clusters {
            let (Some(work_group), Some(unit)) =
                (self.pools.front(cluster), self.candidate(cluster))
            else {
                continue;
            };
            if !sendable(unit) {
                candidates.add_busy();
                continue;
            }
            let (resident, _) = self.units[unit as usize];
            let rank = (resident, self.site.within(unit), cluster);
            candidates.add(rank, Assignment { work_group, unit });
        }
        candidates.choice()
    }

    fn placed(&mut self, placed: Assignment) {
        let cluster = self.site.cluster(placed.unit);
        self.pools.take(cluster);
        let owed = &mut self.owed[cluster as usize];
        *owed = match *owed {
            None if self.pools.front(cluster).is_some() => Some(placed.unit),
            _ => None,
        };
    }
}
