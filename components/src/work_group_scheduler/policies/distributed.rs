//! Distributed scheduling: every cluster works on a contiguous part of the grid.

use std::collections::BTreeSet;

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::pools::Pools;
use crate::work_group_scheduler::{
    Assignment, Candidates, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    PlacementSite, WorkGroupPlacement,
};

/// Each cluster fills its contexts `k` of units `s` in the order `for k: for s` from its own part
/// of the grid. It refills freed contexts from the same part. There is no stealing: units of a
/// cluster idle when its part is used up. Clusters do not wait for each other. Among clusters with
/// an open context, the lowest `(k, s, cluster)` goes first.
///
/// Source: MCM-GPU, as in Intra-Cluster Coalescing, section 4.1.
#[derive(State, Statistics)]
pub struct Distributed {
    #[state(skip)]
    site: PlacementSite,
    pools: Pools,
    /// Units with room as `(resident, index within the cluster)`, by cluster.
    #[state(array)]
    open: Vec<BTreeSet<(u32, u32)>>,
    /// Resident count under which each unit is in `open`.
    #[state(array)]
    ranks: Vec<Option<u32>>,
}

impl Distributed {
    fn new(site: PlacementSite) -> Self {
        Self {
            site,
            pools: Pools::default(),
            open: (0..site.clusters).map(|_| BTreeSet::new()).collect(),
            ranks: vec![None; site.units() as usize],
        }
    }
}

impl PolicyKind for Distributed {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Distributed";
    const SUMMARY: &'static str =
        "Contiguous parts of the grid per cluster, filled greedily; no stealing";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Self::new(*context.site)))
    }
}

impl OneKernelPolicy for Distributed {
    fn begin(&mut self, kernel: Kernel<'_>) {
        self.pools.deal(kernel.work_groups(), self.site.clusters);
    }

    fn update(&mut self, unit: u32, resident: u32, room: u32) {
        let open = &mut self.open[self.site.cluster(unit) as usize];
        let within = self.site.within(unit);
        let rank = (room > 0).then_some(resident);
        if let Some(before) = std::mem::replace(&mut self.ranks[unit as usize], rank) {
            open.remove(&(before, within));
        }
        if let Some(resident) = rank {
            open.insert((resident, within));
        }
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        let mut candidates = Candidates::new();
        for cluster in 0..self.site.clusters {
            let Some(&(resident, within)) = self.open[cluster as usize].first() else {
                continue;
            };
            let unit = cluster * self.site.units_per_cluster + within;
            match self.pools.front(cluster) {
                None => candidates.add_held_back(),
                Some(_) if !sendable(unit) => candidates.add_busy(),
                Some(work_group) => {
                    let rank = (resident, within, cluster);
                    candidates.add(rank, Assignment { work_group, unit });
                }
            }
        }
        candidates.choice()
    }

    fn placed(&mut self, placed: Assignment) {
        self.pools.take(self.site.cluster(placed.unit));
    }
}
