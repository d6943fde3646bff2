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
            headroom: Vec::new(),
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

/// Returns the issue slots of a run while kernels ran, by outcome. A report without them has those
/// of the whole run.
fn in_kernels(record: &Record) -> BTreeMap<&str, f64> {
    let mut slots = BTreeMap::new();
    let mut add = |name, count| *slots.entry(name).or_default() += count as f64;
    match &record.kernel_time {
        Some(time) => {
            let of_kernels = time.slots.iter();
            of_kernels.for_each(|(name, count)| add(name.as_str(), *count));
        }
        None => counted(record).for_each(|(name, count)| add(name, count)),
    }
    slots
}

/// Returns the issue-slot breakdown of each variant while kernels ran, over all its runs and for
/// each workload.
pub(super) fn slots(runs: &Runs, workloads: &[&str], points: &[Point]) -> Vec<Slots> {
    type Counts<'r> = BTreeMap<&'r str, f64>;
    let mut all: BTreeMap<&Point, BTreeMap<&str, Counts<'_>>> = BTreeMap::new();
    for (id, record) in done(runs).filter(|(id, _)| !id.confirming) {
        let of_point = all.entry(&id.point).or_default();
        let of_workload = of_point.entry(id.workload.as_str()).or_default();
        for (name, count) in in_kernels(record) {
            *of_workload.entry(name).or_default() += count;
        }
    }
    let counts = all.values().flat_map(BTreeMap::values);
    let mut parts: Vec<&str> = counts.flat_map(|of| of.keys().copied()).collect();
    parts.sort_unstable();
    parts.dedup();
    // The slots that were used come first.
    parts.sort_by_key(|part| *part != "issued");
    let shares = |counted: &Counts<'_>| {
        let whole: f64 = counted.values().sum();
        let share = |part: &&str| {
            let count = counted.get(part).copied().unwrap_or(0.0);
            ((*part).replace('_', " "), count / whole)
        };
        (whole > 0.0).then(|| parts.iter().map(share).collect::<Vec<_>>())
    };
    let of = |point: &Point| {
        let by_workload = all.get(point)?;
        let mut sum = Counts::new();
        for (name, count) in by_workload.values().flatten() {
            *sum.entry(name).or_default() += count;
        }
        let of_workload = |workload: &&str| {
            let shares = shares(by_workload.get(workload)?)?;
            Some(((*workload).to_owned(), shares))
        };
        Some(Slots {
            point: point.to_string(),
            shares: shares(&sum)?,
            workloads: workloads.iter().filter_map(of_workload).collect(),
        })
    };
    points
        .iter()
        .filter(|point| !point.control)
        .filter_map(of)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunId;

    fn record(kernel_time: &serde_json::Value) -> Outcome {
        let report = serde_json::json!({
            "schema_version": 2, "scenario": "s", "status": "done", "cycles": 10,
            "simulated_s": 1.0, "wavefront_instructions": 1, "thread_instructions": 1,
            "ipc": 1.0, "core_clock": "core", "kernel_time": kernel_time,
            "stats": {"cu": {
                "slots_issued": {"value": 1, "unit": "slots", "combination": "sum"},
                "slots_no_wavefront": {"value": 9, "unit": "slots", "combination": "sum"},
            }},
        });
        Outcome::Done(Box::new(Record::from_json(&report.to_string()).unwrap()))
    }

    #[test]
    fn slots_are_those_of_kernels_in_all_and_by_workload() {
        let point = Point {
            variant: "v".to_owned(),
            control: false,
            levels: Vec::new(),
        };
        let id = |workload: &str| RunId {
            workload: workload.to_owned(),
            point: point.clone(),
            pair: 0,
            confirming: false,
        };
        let time = serde_json::json!({
            "cycles": 2, "run_cycles": 10, "occupancy": null,
            "slots": {"issued": 1, "no_wavefront": 1},
        });
        let runs = Runs::from([
            (id("a"), record(&time)),
            (id("b"), record(&serde_json::Value::Null)),
        ]);
        let slots = slots(&runs, &["a", "b", "c"], std::slice::from_ref(&point));
        let shares = |issued: f64| {
            vec![
                ("issued".to_owned(), issued),
                ("no wavefront".to_owned(), 1.0 - issued),
            ]
        };
        let expected = Slots {
            point: "v".to_owned(),
            shares: shares(2.0 / 12.0),
            workloads: vec![("a".to_owned(), shares(0.5)), ("b".to_owned(), shares(0.1))],
        };
        assert_eq!(slots.len(), 1);
        let close = |a: &[(String, f64)], b: &[(String, f64)]| {
            let mut both = a.iter().zip(b);
            both.all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12)
        };
        assert!(close(&slots[0].shares, &expected.shares));
        assert_eq!(slots[0].workloads.len(), 2);
        for (found, wanted) in slots[0].workloads.iter().zip(&expected.workloads) {
            assert!(
                found.0 == wanted.0 && close(&found.1, &wanted.1),
                "{found:?}"
            );
        }
    }
}
