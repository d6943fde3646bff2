//! Policy role of work-group placement in a work-group scheduler.

use warpweave_framework::PolicyRole;

use super::{PlacementPolicy, PlacementSite};

/// Policy role of placement in a work-group scheduler.
pub struct WorkGroupPlacement;

impl PolicyRole for WorkGroupPlacement {
    const NAME: &'static str = "work_group_placement";
    const SUMMARY: &'static str =
        "Chooses the work-group that a work-group scheduler dispatches next, and its compute unit";
    type Policy = Box<dyn PlacementPolicy>;
    type Site = PlacementSite;
}
