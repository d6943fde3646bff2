//! Settings of a scenario for measurements beyond the totals of the run.

use serde::Deserialize;
use warpweave_params::{Diagnostic, Placed, out_of_range};

/// Measurements of a run beyond its totals. They do not change any result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Measures the increase of every statistic during each kernel.
    pub kernels: bool,
    /// Measures the increase of every statistic in intervals of this many core cycles, at least 1.
    pub every_cycles: Option<u64>,
}

/// Form of [`Measure`] in a scenario file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StatedMeasure {
    kernels: bool,
    every_cycles: Option<Placed<u64>>,
}

impl StatedMeasure {
    pub(super) fn check(self) -> Result<Measure, Diagnostic> {
        if let Some(every) = &self.every_cycles
            && let Some(problem) = out_of_range(&every.value, &(1..))
        {
            let error = every.error(format!("every_cycles: {problem}"));
            return Err(error.hint("omit it if no intervals are needed"));
        }
        Ok(Measure {
            kernels: self.kernels,
            every_cycles: self.every_cycles.map(|every| every.value),
        })
    }
}
