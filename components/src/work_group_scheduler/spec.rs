//! Description of a work-group scheduler and checks of its parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};

use super::{StatedLimits, WorkGroupPlacement};
use crate::occupancy::SchedulerFacts;

/// Maximum number of compute units of a device.
const UNITS_MAX: u64 = 1 << 16;

/// Maximum number of slices of a second-level cache.
const SLICES_MAX: u32 = 1024;

/// Description of a work-group scheduler: units, placement policy and invalidation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkGroupSchedulerSpec {
    /// Number of clusters of compute units, at least 1.
    pub clusters: u32,
    /// Compute units per cluster, at least 1. The index of a unit is
    /// `cluster × units_per_cluster + unit within the cluster`.
    pub units_per_cluster: u32,
    /// Resources of every compute unit, to the extent stated here; they must match those published
    /// by the units. Source: of what is absent, the units.
    #[serde(default)]
    pub unit: StatedLimits,
    /// Policy that chooses the next work-group and its unit.
    pub policy: Policy<WorkGroupPlacement>,
    /// Maximum number of work-groups dispatched per cycle on the whole device, at least 1; a unit
    /// gets at most one per cycle.
    pub dispatches_per_cycle: u32,
    /// Maximum number of kernels held, from ready to done, at least 1.
    pub kernel_slots: u32,
    /// Time of first-level cache invalidation: `KernelEnd`, `FamilyEnd`, or `Never`.
    pub invalidate_at: InvalidateAt,
    /// Second-level cache whose lines are invalidated as well; absent: it keeps them. Source:
    /// absent, as on hardware, whose second level is that of the whole machine.
    #[serde(default)]
    pub second_level: Option<SecondLevelSpec>,
    /// Ends of kernels with children that are announced to the units, so that their reuse monitors
    /// clear the lines: `Never`, `FamilyComplete` or `OwnWorkGroups`. An announcement takes the
    /// place of a dispatch. Source: `FamilyComplete` with monitors, own reading of the LASER paper,
    /// section 6.
    #[serde(default)]
    pub announce: Announce,
}

/// Ends of kernels with children that are announced to the units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Announce {
    /// Announces no kernel ends to the units.
    #[default]
    Never,
    /// Announces a kernel when it and all its descendants are done.
    FamilyComplete,
    /// Announces a kernel when its own work-groups are done, which is before most children arrive.
    OwnWorkGroups,
}

/// Second-level cache that is invalidated at kernel ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondLevelSpec {
    /// Number of slices, 1 to 1024; `caches[i]` connects to the `control` port of slice `i`.
    pub slices: u32,
    /// Time of invalidation; it follows that of the first level, if both are invalidated.
    pub invalidate_at: InvalidateAt,
}

/// Event at which cache lines are invalidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InvalidateAt {
    /// All work-groups of a kernel are done; the next kernel may read data that it wrote.
    KernelEnd,
    /// All work-groups of a host kernel and its descendants are done. Children thus find the lines
    /// fetched by their parents and siblings. Source: LASER paper, whose children gain by it.
    FamilyEnd,
    /// Never; lines stay until they are evicted.
    Never,
}

impl InvalidateAt {
    /// True if lines are invalidated at the end of a kernel; `family_ended` is true if its family
    /// ended with it.
    pub(super) fn drops(self, family_ended: bool) -> bool {
        match self {
            Self::KernelEnd => true,
            Self::FamilyEnd => family_ended,
            Self::Never => false,
        }
    }
}

impl WorkGroupSchedulerSpec {
    /// Returns the facts that the scheduler publishes to its units.
    pub(super) fn facts(&self) -> SchedulerFacts {
        SchedulerFacts {
            units: self.clusters * self.units_per_cluster,
            register_partitions: self.unit.register_partitions,
            register_granularity: self.unit.register_granularity,
        }
    }

    /// Checks that every parameter is in its range.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        SpecError::in_range("clusters", self.clusters, 1..)?;
        SpecError::in_range("units_per_cluster", self.units_per_cluster, 1..)?;
        SpecError::in_range("dispatches_per_cycle", self.dispatches_per_cycle, 1..)?;
        SpecError::in_range("kernel_slots", self.kernel_slots, 1..)?;
        let units = u64::from(self.clusters) * u64::from(self.units_per_cluster);
        SpecError::require(units <= UNITS_MAX, "clusters", || {
            format!(
                "{} clusters of {} units make {units} units; at most {UNITS_MAX} are supported",
                self.clusters, self.units_per_cluster
            )
        })?;
        if let Some(second_level) = &self.second_level {
            SpecError::in_range("second_level.slices", second_level.slices, 1..=SLICES_MAX)?;
        }
        self.unit.check()
    }
}
