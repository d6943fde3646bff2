//! What a description may set about a work-group scheduler.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};

use super::{StatedLimits, WorkGroupPlacement};

/// Compute units a machine may have.
const UNITS_MAX: u64 = 1 << 16;

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

/// When first-level lines are dropped.
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

impl WorkGroupSchedulerSpec {
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
        self.unit.check()
    }
}
