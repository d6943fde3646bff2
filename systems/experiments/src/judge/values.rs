//! Metrics of all runs: raw, normalised to the baseline, and as means over workloads.

use std::collections::{BTreeMap, BTreeSet};

use crate::file::{Mean, MetricFile, MetricKind};
use crate::metric::Expression;
use crate::model::{Outcome, Point, RunId, Runs};
use crate::read::Baseline;

/// Values of one metric over all completed runs.
pub(super) struct Values {
    kind: MetricKind,
    mean: Mean,
    baseline: Baseline,
    /// Value of each run. Runs in which it is undefined are absent.
    of_runs: BTreeMap<RunId, f64>,
    /// Runs in which the metric is undefined.
    pub(super) undefined: BTreeSet<RunId>,
    /// Runs in which the metric cannot be computed, with the reasons.
    pub(super) problems: BTreeMap<RunId, String>,
}

/// Repetition number, and which of the two sizes it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repetition {
    pub(super) pair: u32,
    pub(super) confirming: bool,
}

impl Values {
    pub(super) fn of(
        metric: &MetricFile,
        expression: &Expression,
        baseline: &Baseline,
        runs: &Runs,
    ) -> Self {
        let mut values = Self {
            kind: metric.kind,
            mean: metric.mean,
            baseline: baseline.clone(),
            of_runs: BTreeMap::new(),
            undefined: BTreeSet::new(),
            problems: BTreeMap::new(),
        };
        for (id, outcome) in runs {
            let Outcome::Done(record) = outcome else {
                continue;
            };
            match expression.evaluate(record) {
                Ok(Some(value)) => {
                    values.of_runs.insert(id.clone(), value);
                }
                Ok(None) => {
                    values.undefined.insert(id.clone());
                }
                Err(problem) => {
                    values.problems.insert(id.clone(), problem);
                }
            }
        }
        values
    }

    /// True if ratios to the baseline are shown.
    pub(super) fn is_ratio(&self) -> bool {
        self.kind == MetricKind::Ratio
    }

    /// True if means over workloads are arithmetic.
    pub(super) fn is_arithmetic(&self) -> bool {
        self.mean == Mean::Arithmetic
    }

    /// Returns the mean of some values over workloads.
    pub(super) fn mean(&self, values: &[f64]) -> Option<f64> {
        mean(self.mean, values)
    }

    /// Returns the baseline that a point is compared with.
    pub(super) fn baseline_of(&self, point: &Point) -> Point {
        self.baseline.of(point)
    }

    /// Returns the raw value of one run.
    pub(super) fn raw(&self, workload: &str, point: &Point, repetition: Repetition) -> Option<f64> {
        let id = RunId {
            workload: workload.to_owned(),
            point: point.clone(),
            pair: repetition.pair,
            confirming: repetition.confirming,
        };
        self.of_runs.get(&id).copied()
    }

    /// Returns the shown value of one run: a ratio to the baseline, or the raw value.
    pub(super) fn shown(
        &self,
        workload: &str,
        point: &Point,
        repetition: Repetition,
    ) -> Option<f64> {
        let value = self.raw(workload, point, repetition)?;
        match self.kind {
            MetricKind::Value => Some(value),
            MetricKind::Ratio => {
                let base = self.raw(workload, &self.baseline_of(point), repetition)?;
                let ratio = value / base;
                ratio.is_finite().then_some(ratio)
            }
        }
    }

    /// Returns the means over workloads of the shown values of several points. Only workloads in
    /// which all of them have a value are included.
    pub(super) fn means(
        &self,
        workloads: &[&str],
        points: &[Point],
        repetition: Repetition,
    ) -> Option<Vec<f64>> {
        let of_workload = |workload: &&str| -> Option<Vec<f64>> {
            let values = points.iter();
            values
                .map(|point| self.shown(workload, point, repetition))
                .collect()
        };
        let rows: Vec<Vec<f64>> = workloads.iter().filter_map(of_workload).collect();
        if rows.is_empty() {
            return None;
        }
        let of_point = |at: usize| {
            let column: Vec<f64> = rows.iter().map(|row| row[at]).collect();
            self.mean(&column)
        };
        (0..points.len()).map(of_point).collect()
    }
}

/// Computes a mean; `None` if it does not exist.
fn mean(mean: Mean, values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let value = match mean {
        Mean::Arithmetic => values.iter().sum::<f64>() / count,
        Mean::Harmonic => count / values.iter().map(|value| 1.0 / value).sum::<f64>(),
        Mean::Geometric => (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp(),
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_of_their_names() {
        let of = |kind, values: &[f64]| super::mean(kind, values).unwrap();
        assert!((of(Mean::Arithmetic, &[1.0, 2.0, 6.0]) - 3.0).abs() < 1e-12);
        assert!((of(Mean::Harmonic, &[1.0, 2.0, 4.0]) - 12.0 / 7.0).abs() < 1e-12);
        assert!((of(Mean::Geometric, &[1.0, 2.0, 4.0]) - 2.0).abs() < 1e-12);
        assert_eq!(super::mean(Mean::Arithmetic, &[]), None);
        assert_eq!(super::mean(Mean::Geometric, &[-1.0]), None);
        assert_eq!(super::mean(Mean::Harmonic, &[0.0, 1.0]), Some(0.0));
    }
}
