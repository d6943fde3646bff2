//! Gates of findings: conditions without which a finding cannot be tested.

use std::fmt;

use serde::Serialize;

use super::interval::Interval;
use super::repetitions;
use super::values::ClaimedMetric;
use crate::file::{ExperimentFile, Gate};
use crate::model::Point;

/// Gate of a finding with the value that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedGate {
    pub metric: String,
    /// Variant or control that is measured, at its levels.
    pub of: String,
    /// True if the bound is the least allowed value, and false if it is the largest.
    pub is_least: bool,
    pub bound: f64,
    /// Measured value over the workloads of the finding; `None` if undefined.
    pub value: Option<Interval>,
}

impl JudgedGate {
    /// Measures a gate at a point over some workloads; `None` if it names no metric.
    pub(super) fn of(
        gate: &Gate,
        metrics: &[ClaimedMetric<'_>],
        file: &ExperimentFile,
        point: &Point,
        workloads: &[&str],
    ) -> Option<Self> {
        let bound = gate.bound();
        let mut metrics = metrics.iter();
        let metric = metrics.find(|metric| metric.name == bound.metric.value)?;
        let one = std::slice::from_ref(point);
        let means = repetitions(file)
            .filter_map(|repetition| metric.values.means(workloads, one, repetition)?.pop());
        Some(Self {
            metric: metric.name.to_owned(),
            of: point.to_string(),
            is_least: matches!(gate, Gate::AtLeast(_)),
            bound: bound.value.value,
            value: Interval::of(&means.collect::<Vec<f64>>()),
        })
    }

    /// True if the whole interval meets the bound.
    pub fn is_met(&self) -> bool {
        self.value.is_some_and(|value| {
            if self.is_least {
                value.low >= self.bound
            } else {
                value.high <= self.bound
            }
        })
    }

    /// Returns the required relation to the bound, in words.
    pub fn relation(&self) -> &'static str {
        if self.is_least { "at least" } else { "at most" }
    }
}

/// Formats as what was found and what is required.
impl fmt::Display for JudgedGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            metric, of, bound, ..
        } = self;
        let relation = self.relation();
        match self.value {
            Some(Interval { low, median, high }) => write!(
                f,
                "{metric} of {of} is {median:.4} [{low:.4}, {high:.4}], required is {relation} {bound}"
            ),
            None => write!(
                f,
                "{metric} of {of} is undefined, required is {relation} {bound}"
            ),
        }
    }
}
