//! Facts about the programs that were run, and their issue-slot breakdown.

use std::collections::BTreeMap;

use warpweave_systems::report::{Record, RecordedStatistic, RecordedValue};

use super::study::{BaselineRun, Slots};
use crate::model::{Outcome, Point, Runs};

/// Name prefix of issue-slot statistics.
const SLOTS: &str = "slots_";
/// Outcome of slots whose scheduler had no wavefront.
const NO_WAVEFRONT: &str = "no_wavefront";

fn done(runs: &Runs) -> impl Iterator<Item = (&crate::model::RunId, &Record)> {
    runs.iter().filter_map(|(id, outcome)| match outcome {
        Outcome::Done(record) => Some((id, &**record)),
        Outcome::Failed(_) => None,
    })
}

/// Returns the facts about each workload from the baseline's first run.
pub(super) fn of(runs: &Runs, workloads: &[&str], baseline: Option<&Point>) -> Vec<BaselineRun> {
    let first = |workload: &&str| {
        let (_, record) = done(runs).find(|(id, _)| {
            id.workload == *workload
                && Some(&id.point) == baseline
                && id.pair == 0
                && !id.confirming
        })?;
        let mut kernels: Vec<&str> = record.kernels.iter().map(|k| k.name.as_str()).collect();
        kernels.sort_unstable();
        kernels.dedup();
        let groups = |grid: [u32; 3]| {
            let sides = grid.into_iter().map(u64::from);
            sides.fold(1, u64::saturating_mul)
        };
        let launches = record.kernels.len();
        let of_launches = record.kernels.iter().map(|kernel| groups(kernel.grid));
        let work_groups = of_launches.fold(0, u64::saturating_add);
        let has_slots = |names: &BTreeMap<String, RecordedStatistic>| {
            names.keys().any(|name| name.starts_with(SLOTS))
        };
        let units = record.stats.values().filter(|of| has_slots(of)).count();
        let shared = launches * units;
        Some(BaselineRun {
            workload: (*workload).to_owned(),
            kernels: kernels.join(", "),
            launches,
            work_groups,
            work_groups_per_unit: (shared > 0).then(|| work_groups as f64 / shared as f64),
            slots_without_wavefront: without_wavefront(record),
            wavefront_instructions: record.wavefront_instructions,
            cycles: record.cycles,
        })
    };
    workloads.iter().filter_map(first).collect()
}

/// Iterates over the outcomes of issue slots and their counts, instance by instance.
fn counted(record: &Record) -> impl Iterator<Item = (&str, u64)> {
    record
        .stats
        .values()
        .flatten()
        .filter_map(
            |(name, statistic)| match (name.strip_prefix(SLOTS), &statistic.value) {
                (Some(name), RecordedValue::Integer(n)) => Some((name, *n)),
                _ => None,
            },
        )
}

/// Returns the fraction of a run's issue slots whose scheduler had no wavefront.
fn without_wavefront(record: &Record) -> Option<f64> {
    let (mut without, mut all) = (0.0, 0.0);
    for (name, count) in counted(record) {
        all += count as f64;
        if name == NO_WAVEFRONT {
            without += count as f64;
        }
    }
    (all > 0.0).then(|| without / all)
}

/// Returns the issue-slot breakdown of each variant over all its runs.
pub(super) fn slots(runs: &Runs, points: &[Point]) -> Vec<Slots> {
    let mut all: BTreeMap<&Point, BTreeMap<&str, f64>> = BTreeMap::new();
    for (id, record) in done(runs).filter(|(id, _)| !id.confirming) {
        let of_point = all.entry(&id.point).or_default();
        for (name, count) in counted(record) {
            *of_point.entry(name).or_default() += count as f64;
        }
    }
    let mut parts: Vec<&str> = all.values().flat_map(|of| of.keys().copied()).collect();
    parts.sort_unstable();
    parts.dedup();
    // The slots that were used come first.
    parts.sort_by_key(|part| *part != "issued");
    let of = |point: &Point| {
        let counted = all.get(point)?;
        let whole: f64 = counted.values().sum();
        (whole > 0.0).then(|| Slots {
            point: point.to_string(),
            shares: parts
                .iter()
                .map(|part| {
                    let count = counted.get(part).copied().unwrap_or(0.0);
                    ((*part).replace('_', " "), count / whole)
                })
                .collect(),
        })
    };
    points
        .iter()
        .filter(|point| !point.control)
        .filter_map(of)
        .collect()
}
