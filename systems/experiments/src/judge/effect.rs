//! Effect of a finding: one number per repetition, positive in the claimed direction.

use super::interval::{correlation, rank_correlation};
use super::values::{Repetition, Values};
use crate::file::{Coefficient, Direction, FindingClaim, MetricFile, Sign};
use crate::model::Point;

/// Comparison of a finding, with its names resolved.
pub(super) struct Effect<'e> {
    pub(super) values: &'e Values,
    /// Values with which a correlation compares.
    pub(super) with: Option<&'e Values>,
    pub(super) compares: Compares,
    /// 1 if more is better or claimed; -1 if less is.
    pub(super) sign: f64,
}

/// Points that a finding compares, by type.
pub(super) enum Compares {
    /// One point compared with another.
    Two { of: Point, than: Point },
    /// One point compared with a number.
    Number { of: Point, number: f64 },
    /// One point compared with the best of others.
    All { of: Point, others: Vec<Point> },
    /// One step, given by its ends, compared with every other step.
    Step {
        step: [Point; 2],
        others: Vec<[Point; 2]>,
    },
    /// First step of a sequence compared with its last.
    Steps(Vec<Point>),
    /// Best inner point of a sequence compared with its better end.
    Inner(Vec<Point>),
    /// Correlation of two metrics of one point.
    Correlates { of: Point, by: Coefficient },
}

impl Effect<'_> {
    /// True if a point is compared with its own baseline.
    pub(super) fn is_to_baseline(&self) -> bool {
        match &self.compares {
            Compares::Two { of, than } => self.values.baseline_of(of) == *than,
            _ => false,
        }
    }

    /// Computes the effect in one repetition, over the mean of some workloads.
    pub(super) fn in_repetition(
        &self,
        workloads: &[&str],
        repetition: Repetition,
    ) -> Vec<Option<f64>> {
        let means = |points: &[Point]| {
            let means = self.values.means(workloads, points, repetition)?;
            Some(
                means
                    .iter()
                    .map(|mean| mean * self.sign)
                    .collect::<Vec<f64>>(),
            )
        };
        match &self.compares {
            Compares::Two { of, than } => {
                let means = means(&[of.clone(), than.clone()]);
                vec![means.map(|means| means[0] - means[1])]
            }
            Compares::Number { of, number } => {
                let means = means(std::slice::from_ref(of));
                vec![means.map(|means| means[0] - number * self.sign)]
            }
            Compares::All { of, others } => others
                .iter()
                .map(|other| {
                    let means = means(&[of.clone(), other.clone()])?;
                    Some(means[0] - means[1])
                })
                .collect(),
            Compares::Step { step, others } => others
                .iter()
                .map(|other| {
                    let all = [step.as_slice(), other.as_slice()].concat();
                    let means = means(&all)?;
                    Some((means[1] - means[0]) - (means[3] - means[2]))
                })
                .collect(),
            Compares::Correlates { of, by } => {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                for workload in workloads {
                    let values = self.values.shown(workload, of, repetition);
                    let others = self.with.map(|with| with.shown(workload, of, repetition));
                    let others = others.unwrap_or_default();
                    for (launch, value) in values {
                        if let Some(other) = others.get(&launch) {
                            a.push(value);
                            b.push(*other);
                        }
                    }
                }
                let correlation = match by {
                    Coefficient::Spearman => rank_correlation(&a, &b),
                    Coefficient::Pearson => correlation(&a, &b),
                };
                vec![correlation.map(|coefficient| coefficient * self.sign)]
            }
            Compares::Steps(row) => {
                let steps = means(row).and_then(|means| {
                    let [first, second, .., before, last] = means[..] else {
                        let [first, middle, last] = means[..] else {
                            return None;
                        };
                        return Some((middle - first) - (last - middle));
                    };
                    Some((second - first) - (last - before))
                });
                vec![steps]
            }
            Compares::Inner(row) => {
                let means = means(row);
                let inner = 1..row.len().saturating_sub(1);
                inner
                    .map(|at| {
                        let means = means.as_ref()?;
                        let ends = means[0].max(*means.last()?);
                        Some(means[at] - ends)
                    })
                    .collect()
            }
        }
    }
}

/// Returns 1 if the claim is that a value is larger, or larger is better, and -1 otherwise.
pub(super) fn sign_of(claim: &FindingClaim, metric: &MetricFile) -> f64 {
    let smaller = match claim {
        FindingClaim::Above(_) => false,
        FindingClaim::Below(_) => true,
        FindingClaim::Correlates(c) => c.sign == Sign::Negative,
        _ => metric.better == Some(Direction::Smaller),
    };
    if smaller { -1.0 } else { 1.0 }
}
