//! Two-level round robin: over clusters first, then over the units of a cluster, round by round.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::ordered::{Ordered, Rank};
use crate::work_group_scheduler::{
    OldestFirst, PlacementPolicy, PlacementSite, WorkGroupPlacement,
};

/// Fills context `k` of unit `s` of cluster `c` in the order `for k: for s: for c`.
///
/// Source: Intra-Cluster Coalescing, sections 2.3 and 4.1.
pub struct TwoLevelRoundRobin;

impl PolicyKind for TwoLevelRoundRobin {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "TwoLevelRoundRobin";
    const SUMMARY: &'static str =
        "Round robin over all units, visiting one unit of each cluster in turn";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Ordered::new(*context.site, rank)))
    }
}

fn rank(site: PlacementSite, unit: u32, resident: u32) -> Rank {
    (resident, site.within(unit), site.cluster(unit))
}
