//! Settings for everything that a run reports beyond its totals.

use super::Measure;
use crate::energy::EnergyModel;
use crate::taps::TapSpec;

/// Observers of a run. None of them changes its cycles.
#[derive(Clone)]
pub struct Observation {
    /// Enables protocol checkers on every memory and launch wire.
    pub checks: bool,
    /// Settings for measurements beyond the totals.
    pub measure: Measure,
    /// Analyses that are attached to ports.
    pub taps: Vec<TapSpec>,
    /// Energy coefficients; energy is not reported if `None`.
    pub energy: Option<EnergyModel>,
}
