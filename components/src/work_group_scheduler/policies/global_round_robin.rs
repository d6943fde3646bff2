//! Global round robin: over all units by number, round by round.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::ordered::{Ordered, Rank};
use crate::work_group_scheduler::{
    OldestFirst, PlacementPolicy, PlacementSite, WorkGroupPlacement,
};

/// Fills context `k` of unit `s` of cluster `c` in the order `for k: for c: for s`.
///
/// Source: Intra-Cluster Coalescing, section 4.1.
pub struct GlobalRoundRobin;

impl PolicyKind for GlobalRoundRobin {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "GlobalRoundRobin";
    const SUMMARY: &'static str =
        "Round robin over all units, visiting the units of a cluster first";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Ordered::new(*context.site, rank)))
    }
}

fn rank(_: PlacementSite, unit: u32, resident: u32) -> Rank {
    (resident, unit, 0)
}
