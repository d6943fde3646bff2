//! Policy role of work-group placement in a work-group scheduler.

use warpweave_framework::PolicyRole;

use super::PlacementPolicy;

/// Policy role of placement in a work-group scheduler.
pub struct WorkGroupPlacement;

impl PolicyRole for WorkGroupPlacement {
    const NAME: &'static str = "work_group_placement";
    const SUMMARY: &'static str =
        "Chooses the work-group that a work-group scheduler dispatches next, and its compute unit";
    type Policy = Box<dyn PlacementPolicy>;
    type Site = PlacementSite;
}

/// Compute units of a device: `unit = cluster × units_per_cluster + unit within the cluster`.
///
/// A work-group scheduler passes this to its policy at construction. Resources of the units are
/// known only after elaboration: see [`PlacementPolicy::fits`] and
/// [`Machine::limits`](super::Machine::limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementSite {
    /// Number of clusters of compute units, at least 1.
    pub clusters: u32,
    /// Number of units in each cluster, at least 1.
    pub units_per_cluster: u32,
}

impl PlacementSite {
    /// Returns the number of units in all clusters.
    pub fn units(&self) -> u32 {
        self.clusters * self.units_per_cluster
    }

    /// Returns the index of the cluster that contains a unit.
    pub fn cluster(&self, unit: u32) -> u32 {
        unit / self.units_per_cluster
    }

    /// Returns the index of a unit within its cluster.
    pub fn within(&self, unit: u32) -> u32 {
        unit % self.units_per_cluster
    }
}
