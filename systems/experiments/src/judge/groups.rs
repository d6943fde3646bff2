//! Groups of workloads and the launches in them: mean, least and most side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use super::interval::{Interval, median};
use super::repetitions;
use super::values::{ClaimedMetric, Repetition, Values};
use crate::file::{Combination, ExperimentFile, Mean, MetricFile, Over};
use crate::model::{Outcome, Point, RunId, Runs};

/// Name of the only group, if no workload states one.
const ALL: &str = "all workloads";

/// Results of a metric over one group of workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedGroup {
    pub name: String,
    /// Results for each point, in the order of the study.
    pub rows: Vec<GroupRow>,
}

/// Results of a metric over one group at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRow {
    /// Interval of the group's combined value.
    pub mean: Option<Interval>,
    /// Least value of a workload, or of a launch.
    pub least: Option<Extreme>,
    /// Largest value of a workload, or of a launch.
    pub most: Option<Extreme>,
}

/// Least or largest value of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extreme {
    /// Interval of the value over the pairs.
    pub value: Interval,
    /// Workload, and launch, that has it in most pairs.
    pub place: String,
}

/// Launches that a metric measures one by one, and the number of those it leaves out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedLaunches {
    /// Name of the kernels, in which `*` matches anything.
    pub kernel: String,
    /// Minimum number of wavefront instructions of a launch.
    pub at_least: u64,
    /// Measured launches of the baseline's first pair, over all workloads.
    pub measured: usize,
    /// Launches of the same runs with fewer instructions.
    pub short: usize,
    /// Launches without a value, over all runs.
    pub undefined: usize,
    /// Launches without a value of the baseline to divide by, over all runs.
    pub unpaired: usize,
    /// Every launch at every point, in the order of points, workloads and numbers.
    pub rows: Vec<LaunchRow>,
}

/// Shown value of one launch at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaunchRow {
    pub point: String,
    pub workload: String,
    pub group: String,
    /// Number of the launch within the program.
    pub launch: u32,
    pub kernel: String,
    /// Median of the values of the pairs.
    pub median: f64,
    /// Least of the values of the pairs.
    pub least: f64,
    /// Largest of the values of the pairs.
    pub most: f64,
}

/// Describes the values that a metric shows for all workloads together.
pub(super) fn in_words(metric: &MetricFile) -> String {
    let name = |mean: Mean| match mean {
        Mean::Arithmetic => "mean",
        Mean::Harmonic => "harmonic mean",
        Mean::Geometric => "geometric mean",
        Mean::Least => "least",
        Mean::Most => "most",
    };
    let of_parts = match metric.mean {
        Combination::Pooled(mean) => format!("{} over launches", name(mean)),
        Combination::Least | Combination::Most => {
            format!("{} over workloads", name(metric.mean.mean()))
        }
        _ => "mean over workloads".to_owned(),
    };
    metric.groups.map_or(of_parts.clone(), |groups| {
        format!("{} over groups of the {of_parts}", name(groups))
    })
}

/// Returns the groups of a metric that measures launches or is combined over groups.
pub(super) fn of(
    file: &ExperimentFile,
    metric: &ClaimedMetric<'_>,
    points: &[Point],
    runs: &Runs,
) -> Vec<StudiedGroup> {
    if metric.file.over.is_none() && metric.file.groups.is_none() {
        return Vec::new();
    }
    let is_grouped = file.workloads.iter().any(|(_, of)| of.group.is_some());
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for (workload, group) in file.groups() {
        let group = if is_grouped { group } else { ALL };
        match parts.iter_mut().find(|(known, _)| *known == group) {
            Some((_, part)) => part.push(workload),
            None => parts.push((group, vec![workload])),
        }
    }
    let kernels = kernels(runs);
    let place = |workload: &str, launch: u32| match &metric.file.over {
        None => workload.to_owned(),
        Some(Over::Launches { .. }) => {
            let kernel = kernels.get(&(workload, launch)).unwrap_or(&"?");
            format!("{workload}, launch {launch} of `{kernel}`")
        }
    };
    let row = |part: &[&str], point: &Point| {
        let values = &metric.values;
        let one = std::slice::from_ref(point);
        let means = repetitions(file).filter_map(|at| values.means(part, one, at)?.pop());
        let extreme = |sign: f64| extreme(file, values, part, point, sign, &place);
        GroupRow {
            mean: Interval::of(&means.collect::<Vec<f64>>()),
            least: extreme(1.0),
            most: extreme(-1.0),
        }
    };
    let group = |(name, part): &(&str, Vec<&str>)| StudiedGroup {
        name: (*name).to_owned(),
        rows: points.iter().map(|point| row(part, point)).collect(),
    };
    parts.iter().map(group).collect()
}

/// Returns the kernel of each launch of a workload, by number.
fn kernels(runs: &Runs) -> BTreeMap<(&str, u32), &str> {
    let mut kernels = BTreeMap::new();
    for (id, outcome) in runs {
        let Outcome::Done(record) = outcome else {
            continue;
        };
        for launch in &record.kernels {
            let of = (id.workload.as_str(), launch.number);
            kernels.entry(of).or_insert(launch.name.as_str());
        }
    }
    kernels
}

/// Returns the least value of a group, or the largest if `sign` is negative.
fn extreme(
    file: &ExperimentFile,
    values: &Values,
    part: &[&str],
    point: &Point,
    sign: f64,
    place: &dyn Fn(&str, u32) -> String,
) -> Option<Extreme> {
    let mut found = Vec::new();
    let mut places: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    let in_repetition = |repetition: Repetition| {
        let all = part.iter().enumerate().flat_map(|(at, workload)| {
            let shown = values.shown(workload, point, repetition);
            shown
                .into_iter()
                .map(move |(launch, value)| (at, launch, value))
        });
        all.min_by(|a, b| (a.2 * sign).total_cmp(&(b.2 * sign)))
    };
    for (at, launch, value) in repetitions(file).filter_map(in_repetition) {
        found.push(value);
        *places.entry((at, launch)).or_default() += 1;
    }
    let most = places.values().copied().max()?;
    let ((at, launch), _) = places.into_iter().find(|(_, count)| *count == most)?;
    Some(Extreme {
        value: Interval::of(&found)?,
        place: place(part[at], launch),
    })
}

/// Lists the launches that a metric measures, and counts those it leaves out.
pub(super) fn launches(
    file: &ExperimentFile,
    metric: &ClaimedMetric<'_>,
    points: &[Point],
    baseline: Option<&Point>,
    runs: &Runs,
) -> Option<StudiedLaunches> {
    let Over::Launches { kernel, at_least } = metric.file.over.as_ref()?;
    let values = &metric.values;
    let mut launches = StudiedLaunches {
        kernel: kernel.clone(),
        at_least: *at_least,
        measured: 0,
        short: 0,
        undefined: 0,
        unpaired: 0,
        rows: rows(file, values, points, &kernels(runs)),
    };
    let compared = values.of_runs.iter();
    for (id, measured) in compared.filter(|(id, _)| file.compares(&id.point.variant)) {
        let RunId {
            workload,
            point,
            pair,
            confirming,
        } = id;
        if *pair == 0 && !confirming && Some(point) == baseline {
            launches.measured += measured.values.len();
            launches.short += measured.short;
        }
        launches.undefined += measured.undefined;
        let repetition = Repetition {
            pair: *pair,
            confirming: *confirming,
        };
        let shown = values.shown(workload, point, repetition);
        launches.unpaired += measured.values.len() - shown.len();
    }
    Some(launches)
}

fn rows(
    file: &ExperimentFile,
    values: &Values,
    points: &[Point],
    kernels: &BTreeMap<(&str, u32), &str>,
) -> Vec<LaunchRow> {
    let mut rows = Vec::new();
    for point in points {
        for (workload, group) in file.groups() {
            let mut found: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for repetition in repetitions(file) {
                for (launch, value) in values.shown(workload, point, repetition) {
                    found.entry(launch).or_default().push(value);
                }
            }
            for (launch, mut of_pairs) in found {
                let Some(median) = median(&mut of_pairs) else {
                    continue;
                };
                rows.push(LaunchRow {
                    point: point.to_string(),
                    workload: workload.to_owned(),
                    group: group.to_owned(),
                    launch,
                    kernel: (*kernels.get(&(workload, launch)).unwrap_or(&"?")).to_owned(),
                    median,
                    // The values are sorted by now.
                    least: of_pairs[0],
                    most: of_pairs[of_pairs.len() - 1],
                });
            }
        }
    }
    rows
}
