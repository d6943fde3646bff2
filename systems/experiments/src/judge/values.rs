//! Metrics of all runs: raw, normalised to the baseline, and as means over workloads and groups.

use std::collections::{BTreeMap, BTreeSet};

use super::measure::{Items, Measured, mean};
use crate::file::{ExperimentFile, Mean, MetricFile, MetricKind};
use crate::metric::{EnergyUse, Expression};
use crate::model::{Outcome, Point, RunId, Runs};
use crate::read::Baseline;

/// Values of one metric over all completed runs. A run has one value, or one for each launch.
pub(super) struct Values {
    kind: MetricKind,
    mean: Mean,
    /// Type of mean over groups; `None` if all workloads are one.
    groups: Option<Mean>,
    /// Name of the group of each workload.
    group_of: BTreeMap<String, String>,
    baseline: Baseline,
    /// Values of each run, of which all may be undefined.
    pub(super) of_runs: BTreeMap<RunId, Measured>,
    /// Runs in which some value is undefined.
    pub(super) undefined: BTreeSet<RunId>,
    /// Runs in which the metric cannot be computed, with the reasons.
    pub(super) problems: BTreeMap<RunId, String>,
}

/// Metric of the experiment with its values.
pub(super) struct ClaimedMetric<'e> {
    pub(super) name: &'e str,
    pub(super) file: &'e MetricFile,
    pub(super) values: Values,
    /// Dependence of the metric on energy, if any.
    pub(super) energy: Option<EnergyUse>,
}

/// Repetition number, and which of the two sizes it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repetition {
    pub(super) pair: u32,
    pub(super) confirming: bool,
}

impl Values {
    pub(super) fn of(
        file: &ExperimentFile,
        metric: &MetricFile,
        expression: &Expression,
        baseline: &Baseline,
        runs: &Runs,
    ) -> Self {
        let groups = file.groups();
        let groups = groups.map(|(workload, group)| (workload.to_owned(), group.to_owned()));
        let mut values = Self {
            kind: metric.kind,
            mean: metric.mean.mean(),
            groups: metric.groups,
            group_of: groups.collect(),
            baseline: baseline.clone(),
            of_runs: BTreeMap::new(),
            undefined: BTreeSet::new(),
            problems: BTreeMap::new(),
        };
        for (id, outcome) in runs {
            let Outcome::Done(record) = outcome else {
                continue;
            };
            if !metric.is_of(&id.point.variant) {
                continue;
            }
            // A machine for headroom has values for gates, and need not have any.
            let is_compared = file.compares(&id.point.variant);
            match Measured::of(metric, expression, record) {
                Ok(measured) => {
                    if measured.undefined > 0 && is_compared {
                        values.undefined.insert(id.clone());
                    }
                    values.of_runs.insert(id.clone(), measured);
                }
                Err(problem) if is_compared => {
                    values.problems.insert(id.clone(), problem);
                }
                Err(_) => {}
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

    /// Returns the raw values of one run; empty if it has none.
    pub(super) fn raw(&self, workload: &str, point: &Point, repetition: Repetition) -> &Items {
        static NONE: Items = Items::new();
        let id = RunId {
            workload: workload.to_owned(),
            point: point.clone(),
            pair: repetition.pair,
            confirming: repetition.confirming,
        };
        self.of_runs
            .get(&id)
            .map_or(&NONE, |measured| &measured.values)
    }

    /// Returns the shown values of one run: ratios to the baseline's, or the raw values.
    pub(super) fn shown(&self, workload: &str, point: &Point, repetition: Repetition) -> Items {
        let values = self.raw(workload, point, repetition);
        match self.kind {
            MetricKind::Value => values.clone(),
            MetricKind::Ratio => {
                let base = self.raw(workload, &self.baseline_of(point), repetition);
                let ratios = values.iter().filter_map(|(launch, value)| {
                    let ratio = value / base.get(launch)?;
                    ratio.is_finite().then_some((*launch, ratio))
                });
                ratios.collect()
            }
        }
    }

    /// Divides workloads into those of each group, in the order of their first workloads. Without a
    /// mean over groups there is one part.
    pub(super) fn parts<'w>(&self, workloads: &[&'w str]) -> Vec<Vec<&'w str>> {
        if self.groups.is_none() {
            return vec![workloads.to_vec()];
        }
        let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
        for &workload in workloads {
            let group = self.group(workload);
            match parts.iter_mut().find(|(known, _)| *known == group) {
                Some((_, part)) => part.push(workload),
                None => parts.push((group, vec![workload])),
            }
        }
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// Returns the sets of workloads that a count counts: groups, or single workloads.
    pub(super) fn units<'w>(&self, workloads: &[&'w str]) -> Vec<Vec<&'w str>> {
        match self.groups {
            Some(_) => self.parts(workloads),
            None => workloads.iter().map(|workload| vec![*workload]).collect(),
        }
    }

    /// Returns the group of a workload.
    pub(super) fn group<'s>(&'s self, workload: &'s str) -> &'s str {
        let group = self.group_of.get(workload);
        group.map_or(workload, String::as_str)
    }

    /// Combines rows of values into one row, first over the workloads of a group, then over groups.
    /// A workload has any number of rows.
    pub(super) fn combined(
        &self,
        workloads: &[&str],
        width: usize,
        rows: impl Fn(&str) -> Vec<Vec<f64>>,
    ) -> Option<Vec<f64>> {
        let of_columns = |by: Mean, rows: &[Vec<f64>]| {
            let of_column = |at: usize| {
                let column: Vec<f64> = rows.iter().map(|row| row[at]).collect();
                mean(by, &column)
            };
            (0..width).map(of_column).collect::<Option<Vec<f64>>>()
        };
        let of_part = |part: &Vec<&str>| {
            let rows: Vec<Vec<f64>> = part.iter().flat_map(|workload| rows(workload)).collect();
            of_columns(self.mean, &rows)
        };
        let parts = self.parts(workloads);
        let mut found: Vec<Vec<f64>> = parts.iter().filter_map(of_part).collect();
        match self.groups {
            Some(groups) if found.len() > 1 => of_columns(groups, &found),
            _ => found.pop(),
        }
    }

    /// Returns the means over workloads of the shown values of several points. Only workloads, or
    /// launches, in which all of them have a value are included.
    pub(super) fn means(
        &self,
        workloads: &[&str],
        points: &[Point],
        repetition: Repetition,
    ) -> Option<Vec<f64>> {
        self.combined(workloads, points.len(), |workload| {
            let shown: Vec<Items> = points
                .iter()
                .map(|point| self.shown(workload, point, repetition))
                .collect();
            let Some(first) = shown.first() else {
                return Vec::new();
            };
            let row = |launch: &u32| {
                let values = shown.iter().map(|items| items.get(launch).copied());
                values.collect::<Option<Vec<f64>>>()
            };
            first.keys().filter_map(row).collect()
        })
    }
}
