//! Results of an experiment: metrics with their intervals, and a verdict on every claim.
//!
//! ```text
//!   runs ──► measure.rs: metric of each run, or of each of its launches
//!               │
//!               └──► values.rs: ratios, means ──► effect.rs: one number a repetition
//!                                                             │ interval.rs
//!                      study.rs ◄── claims.rs: verdicts ◄─────┘
//! ```
//!
//! `check.rs` resolves the names in claims before anything is run.

mod check;
mod claims;
mod coefficients;
mod effect;
mod energy;
mod energy_table;
#[cfg(test)]
mod gate_tests;
mod gates;
mod groups;
mod headroom;
mod interval;
#[cfg(test)]
mod launch_tests;
mod measure;
mod names;
mod required;
mod shares;
mod study;
mod symbols;
#[cfg(test)]
pub(crate) mod tests;
mod values;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use warpweave_params::Diagnostics;
use warpweave_systems::report::Record;

pub use self::check::{check, check_patterns};
pub use self::energy::{EnergyRow, FittedEnergy, StudiedEnergy};
pub use self::energy_table::Bounds;
pub use self::gates::JudgedGate;
pub use self::groups::{Extreme, GroupRow, LaunchRow, StudiedGroup, StudiedLaunches};
pub use self::headroom::HeadroomRow;
pub use self::interval::Interval;
pub use self::required::RequiredStatistics;
pub use self::shares::{SharesRow, StudiedShares};
pub use self::study::{
    BaselineRun, JudgedClaim, Slots, StudiedMetric, StudiedPoint, StudiedRow, Study, Verdict,
};

use self::claims::Claims;
use self::energy_table::EnergyTable;
use self::measure::{Items, Measured};
use self::values::{ClaimedMetric, Repetition, Values};
use crate::file::{ExperimentFile, MetricKind};
use crate::metric::Expression;
use crate::model::{EqualPairs, MetricValue, Outcome, Point, Runs};
use crate::plan::{pairs, points};
use crate::read::Experiment;

/// Judges the runs of an experiment that passed [`check`]. `equal_pairs` are those of its plan.
///
/// # Errors
/// Returns an error for a metric or claim that cannot be parsed.
pub fn judge(
    experiment: &Experiment,
    equal_pairs: &[EqualPairs],
    runs: &Runs,
) -> Result<Study, Diagnostics> {
    let file = &experiment.file;
    let mut metrics = Vec::new();
    for (name, metric) in &file.metrics {
        let expression = Expression::parse(&metric.value)?;
        let values = Values::of(file, metric, &expression, &experiment.baseline, runs);
        metrics.push(ClaimedMetric {
            name: &name.value,
            file: metric,
            values,
            energy: expression.energy_use(),
        });
    }
    let workloads: Vec<&str> = file.workloads.names().collect();
    let points: Vec<Point> = points(file);
    let baseline = points.first().map(|point| experiment.baseline.of(point));
    let failed = runs.iter().filter_map(|(id, outcome)| match outcome {
        Outcome::Done(_) => None,
        Outcome::Failed(why) => Some((id.to_string(), why.clone())),
    });
    let shares = file.shares.iter().flat_map(|name| {
        let claimed = metrics.iter().find(|metric| metric.name == name.value);
        claimed.map_or_else(Vec::new, |metric| {
            shares::of(file, metric.name, &metric.values, &workloads, &points)
        })
    });
    let shares = shares.collect();
    let mut work = work::of(runs, &workloads, baseline.as_ref());
    for (of, baseline) in work.iter_mut().zip(baseline.iter().cycle()) {
        of.headroom = headroom::of(file, runs, &of.workload, baseline)?;
    }
    let spending = EnergyTable::of_runs(runs);
    let claims = Claims {
        experiment,
        spending: &spending,
        metrics: &metrics,
        workloads: &workloads,
        points: &points,
        runs,
    };
    let studied = |metric: &ClaimedMetric<'_>| {
        let values = &metric.values;
        let problems = values.problems.iter();
        StudiedMetric {
            name: metric.name.to_owned(),
            expression: metric.file.value.value.clone(),
            unit: metric.file.unit.clone(),
            is_ratio: metric.file.kind == MetricKind::Ratio,
            mean: groups::in_words(metric.file),
            resolution: resolution(values, file, &workloads, &points),
            resolutions: workloads
                .iter()
                .map(|workload| resolution(values, file, &[workload], &points))
                .collect(),
            rows: points
                .iter()
                .map(|point| row(metric, file, &workloads, point))
                .collect(),
            groups: groups::of(file, metric, &points, runs),
            launches: groups::launches(file, metric, &points, baseline.as_ref(), runs),
            undefined: values.undefined.iter().map(ToString::to_string).collect(),
            problems: problems
                .map(|(id, problem)| (id.to_string(), problem.clone()))
                .collect(),
        }
    };
    Ok(Study {
        summary: file.summary.clone(),
        baseline: baseline_in_words(experiment),
        workloads: workloads.iter().map(|&name| name.to_owned()).collect(),
        points: points
            .iter()
            .map(|point| StudiedPoint {
                name: point.to_string(),
                control: point.control,
            })
            .collect(),
        pairs: pairs(file),
        energy: energy::of(
            &spending,
            &workloads,
            &points,
            |point| experiment.baseline.of(point),
            file.energy.as_ref().map(|energy| &energy.fit),
        )?,
        shares,
        equal_pairs: equal_pairs.to_vec(),
        work,
        scale: None,
        slots: work::slots(runs, &workloads, &points),
        metrics: metrics.iter().map(studied).collect(),
        claims: claims.judge()?,
        failed: failed.collect(),
        earlier: Vec::new(),
    })
}

/// Computes the metrics of one run. Metrics that the run does not have are undefined.
///
/// # Errors
/// Returns an error for a metric that cannot be parsed.
pub fn metrics_of(file: &ExperimentFile, record: &Record) -> Result<Vec<MetricValue>, Diagnostics> {
    let mut values = Vec::new();
    for (name, metric) in &file.metrics {
        let expression = Expression::parse(&metric.value)?;
        let measured = Measured::of(metric, &expression, record);
        values.push(MetricValue {
            metric: name.value.clone(),
            value: measured.ok().and_then(|measured| measured.whole(metric)),
            unit: metric.unit.clone(),
        });
    }
    Ok(values)
}

/// Iterates over the repetitions at the experiment's own size.
fn repetitions(file: &ExperimentFile) -> impl Iterator<Item = Repetition> + use<> {
    (0..pairs(file)).map(|pair| Repetition {
        pair,
        confirming: false,
    })
}

fn baseline_in_words(experiment: &Experiment) -> String {
    let levels = experiment.baseline.levels.iter();
    let levels = levels.map(|(axis, level)| format!(", {axis}={level}"));
    let same = match experiment.file.axes.iter().count() - experiment.baseline.levels.len() {
        0 => "",
        _ => " at the same level",
    };
    let variant = &experiment.baseline.variant;
    format!("{variant}{}{same}", levels.collect::<String>())
}

fn row(
    metric: &ClaimedMetric<'_>,
    file: &ExperimentFile,
    workloads: &[&str],
    point: &Point,
) -> StudiedRow {
    let values = &metric.values;
    let of = |workloads: &[&str]| {
        let point = std::slice::from_ref(point);
        let shown = repetitions(file)
            .filter_map(|repetition| values.means(workloads, point, repetition)?.pop());
        Interval::of(&shown.collect::<Vec<f64>>())
    };
    StudiedRow {
        is_measured: metric.file.is_of(&point.variant),
        workloads: workloads.iter().map(|workload| of(&[workload])).collect(),
        mean: of(workloads),
    }
}

/// Returns the half-width of the interval of the baseline's own metric. For a ratio it is relative
/// to its median. With several levels the widest is returned.
fn resolution(
    values: &Values,
    file: &ExperimentFile,
    workloads: &[&str],
    points: &[Point],
) -> Option<f64> {
    let mut baselines: Vec<Point> = points
        .iter()
        .map(|point| values.baseline_of(point))
        .collect();
    baselines.sort();
    baselines.dedup();
    let widths = baselines.iter().filter_map(|point| {
        let median = |workload: &str, launch: u32| {
            let raw = |at| values.raw(workload, point, at).get(&launch).copied();
            let raw = repetitions(file).filter_map(raw);
            interval::median(&mut raw.collect::<Vec<f64>>())
        };
        // Median of each value of a workload; of a `Value` nothing is a part.
        let mut scales: BTreeMap<&str, Items> = BTreeMap::new();
        for &workload in workloads {
            let all = repetitions(file).flat_map(|at| values.raw(workload, point, at).keys());
            let launches: BTreeSet<u32> = all.copied().collect();
            let scale = |launch: u32| {
                if !values.is_ratio() {
                    return Some((launch, 1.0));
                }
                let median = median(workload, launch).filter(|median| *median != 0.0);
                Some((launch, median?))
            };
            scales.insert(workload, launches.into_iter().filter_map(scale).collect());
        }
        let means = repetitions(file).filter_map(|repetition| {
            let rows = |workload: &str| {
                let raw = values.raw(workload, point, repetition).iter();
                let scaled =
                    raw.filter_map(|(launch, value)| Some(value / scales[workload].get(launch)?));
                scaled.map(|value| vec![value]).collect()
            };
            values.combined(workloads, 1, rows)?.pop()
        });
        Some(Interval::of(&means.collect::<Vec<f64>>())?.half_width())
    });
    widths.reduce(f64::max)
}
