//! The place in a work-group scheduler that a placement policy fills.

use warpweave_framework::PolicyRole;

use super::PlacementPolicy;

/// The placement of a work-group scheduler.
pub struct WorkGroupPlacement;

impl PolicyRole for WorkGroupPlacement {
    const NAME: &'static str = "work_group_placement";
    const SUMMARY: &'static str =
        "Chooses the work-group that a work-group scheduler dispatches next, and its compute unit";
    type Policy = Box<dyn PlacementPolicy>;
    type Site = PlacementSite;
}

/// The compute units of a machine: `unit = cluster × units_per_cluster + unit within the cluster`.
///
/// This is what a work-group scheduler tells its policy when it is built. What the units offer is known
/// once they are wired: [`PlacementPolicy::fits`] and [`Machine::limits`](super::Machine::limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementSite {
    /// Clusters, at least 1.
    pub clusters: u32,
    /// Units of each cluster, at least 1.
    pub units_per_cluster: u32,
}

impl PlacementSite {
    /// Number of units.
    pub fn units(&self) -> u32 {
        self.clusters * self.units_per_cluster
    }

    /// The cluster of a unit.
    pub fn cluster(&self, unit: u32) -> u32 {
        unit / self.units_per_cluster
    }

    /// Number of a unit in its cluster.
    pub fn within(&self, unit: u32) -> u32 {
        unit % self.units_per_cluster
    }
}
