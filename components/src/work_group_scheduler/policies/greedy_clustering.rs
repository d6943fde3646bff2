//! Greedy clustering: fills a cluster completely before the next one.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::ordered::{Ordered, Rank};
use crate::work_group_scheduler::{
    OldestFirst, PlacementPolicy, PlacementSite, WorkGroupPlacement,
};

/// Fills context `k` of unit `s` of cluster `c` in the order `for c: for k: for s`. Small grids
/// leave clusters idle.
///
/// Source: Intra-Cluster Coalescing, section 4.1.
pub struct GreedyClustering;

impl PolicyKind for GreedyClustering {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "GreedyClustering";
    const SUMMARY: &'static str = "Fills a cluster completely before the next one";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Ordered::new(*context.site, rank)))
    }
}

fn rank(site: PlacementSite, unit: u32, resident: u32) -> Rank {
    (site.cluster(unit), resident, unit)
}
