//! Places of work-groups: the units of a device, and the unit chosen for a work-group.

/// Compute units of a device: `unit = cluster × units_per_cluster + unit within the cluster`.
///
/// A work-group scheduler passes this to its policy at construction. Resources of the units are
/// known only after elaboration: see [`PlacementPolicy::fits`](super::PlacementPolicy::fits) and
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

/// A work-group and its target unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Placement {
    /// Number of the kernel's launch in the program.
    pub kernel: u32,
    /// Linear index of the work-group in its grid.
    pub work_group: u32,
    /// Index of the target unit, from 0.
    pub unit: u32,
}
