//! What a description may set about a work-group scheduler.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};

use super::{StatedLimits, WorkGroupPlacement};
use crate::occupancy::SchedulerFacts;

/// Compute units a machine may have.
const UNITS_MAX: u64 = 1 << 16;

/// Slices of a second-level cache.
const SLICES_MAX: u32 = 1024;

/// A work-group scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkGroupSchedulerSpec {
    /// Clusters of compute units, at least 1.
    pub clusters: u32,
    /// Compute units per cluster, at least 1; the number of a unit is
    /// `cluster × units_per_cluster + unit within the cluster`.
    pub units_per_cluster: u32,
    /// What every compute unit offers, as far as it is to be stated here; what is stated must be what
    /// the units say. Source: of what is absent, the units.
    #[serde(default)]
    pub unit: StatedLimits,
    /// Order in which work-groups are placed.
    pub policy: Policy<WorkGroupPlacement>,
    /// Work-groups dispatched per cycle on the whole machine, at least 1; a unit gets at most one
    /// per cycle.
    pub dispatches_per_cycle: u32,
    /// Kernels held at a time, from ready to done, at least 1.
    pub kernel_slots: u32,
    /// When the first-level caches are invalidated: `KernelEnd`, `FamilyEnd`, or `Never`.
    pub invalidate_at: InvalidateAt,
    /// The second-level cache whose lines are dropped as well; absent: it keeps them. Source: absent, as on hardware, whose
    /// second level is that of the whole machine.
    #[serde(default)]
    pub second_level: Option<SecondLevelSpec>,
    /// Which ends of kernels that launched others the units are told, so that their reuse monitors forget the
    /// lines: `Never`, `FamilyComplete` or `OwnWorkGroups`. A unit is told by a message in place of a dispatch.
    /// Source: `FamilyComplete` with monitors, own reading of the LASER paper, section 6.
    #[serde(default)]
    pub announce: Announce,
}

/// Which ends of kernels that launched others units are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Announce {
    /// None.
    #[default]
    Never,
    /// When the kernel and all that was launched from it are done.
    FamilyComplete,
    /// When its own work-groups are done, which is before most children arrive.
    OwnWorkGroups,
}

/// A second-level cache that drops its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondLevelSpec {
    /// Slices, 1 to 1024; `caches[i]` is wired to the `control` port of slice `i`.
    pub slices: u32,
    /// When: after the first level, if that drops its lines, too.
    pub invalidate_at: InvalidateAt,
}

/// When lines are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InvalidateAt {
    /// When all work-groups of a kernel are done: the next one may read what it wrote.
    KernelEnd,
    /// When those of a kernel of the host and of all that was launched from it are done: children find
    /// what their parents and siblings brought in. Source: LASER paper, whose children gain by it.
    FamilyEnd,
    /// Not at all.
    Never,
}

impl InvalidateAt {
    /// Whether lines are dropped at the end of a kernel, with which that of its family came or not.
    pub(super) fn drops(self, family_ended: bool) -> bool {
        match self {
            Self::KernelEnd => true,
            Self::FamilyEnd => family_ended,
            Self::Never => false,
        }
    }
}

impl WorkGroupSchedulerSpec {
    /// What the scheduler tells its units.
    pub(super) fn facts(&self) -> SchedulerFacts {
        SchedulerFacts {
            units: self.clusters * self.units_per_cluster,
            register_partitions: self.unit.register_partitions,
            register_granularity: self.unit.register_granularity,
        }
    }

    /// Checks every number.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        SpecError::in_range("clusters", self.clusters, 1..)?;
        SpecError::in_range("units_per_cluster", self.units_per_cluster, 1..)?;
        SpecError::in_range("dispatches_per_cycle", self.dispatches_per_cycle, 1..)?;
        SpecError::in_range("kernel_slots", self.kernel_slots, 1..)?;
        let units = u64::from(self.clusters) * u64::from(self.units_per_cluster);
        SpecError::require(units <= UNITS_MAX, "clusters", || {
            format!(
                "{} clusters of {} units are {units} units; at most {UNITS_MAX} are supported",
                self.clusters, self.units_per_cluster
            )
        })?;
        if let Some(second_level) = &self.second_level {
            SpecError::in_range("second_level.slices", second_level.slices, 1..=SLICES_MAX)?;
        }
        self.unit.check()
    }
}
