//! What a scenario asks to be measured beyond the totals of the run.

use serde::Deserialize;
use warpweave_params::{Diagnostic, Placed, out_of_range};

/// What is measured beyond the totals of a run. Nothing of it changes any result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// What every statistic grew by during each kernel.
    pub kernels: bool,
    /// Core cycles of an interval, at least 1: what every statistic grew by in each.
    pub every_cycles: Option<u64>,
}

/// [`Measure`] as a file states it.
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
            return Err(error.hint("leave it out where no intervals are wanted"));
        }
        Ok(Measure {
            kernels: self.kernels,
            every_cycles: self.every_cycles.map(|every| every.value),
        })
    }
}
