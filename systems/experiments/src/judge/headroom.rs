//! Headroom of the programs: what they gain on machines that no policy can reach.

use serde::Serialize;
use warpweave_params::Diagnostics;
use warpweave_systems::report::Record;

use super::measure::Measured;
use crate::file::ExperimentFile;
use crate::metric::Expression;
use crate::model::{Outcome, Point, RunId, Runs};

/// Results of one program on the baseline, or on a machine for its headroom.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomRow {
    /// Name of the machine, or of the baseline.
    pub machine: String,
    /// Cycles of the baseline divided by those of the machine, while kernels ran; `None` for a
    /// failed run.
    pub speed: Option<f64>,
    /// Names of the metrics that the experiment shows, with their values; `None` if undefined.
    pub shown: Vec<(String, Option<f64>)>,
}

/// Returns the rows of a program: the baseline, then each machine. Empty without such machines.
///
/// # Errors
/// Returns an error for a metric that cannot be parsed.
pub(super) fn of(
    file: &ExperimentFile,
    runs: &Runs,
    workload: &str,
    baseline: &Point,
) -> Result<Vec<HeadroomRow>, Diagnostics> {
    let mut rows = Vec::new();
    if file.headroom.machines.is_empty() {
        return Ok(rows);
    }
    let mut metrics = Vec::new();
    for name in &file.headroom.show {
        if let Some((_, metric)) = file.metrics.get(&name.value) {
            metrics.push((&name.value, metric, Expression::parse(&metric.value)?));
        }
    }
    let record = |variant: &str, control: bool| -> Option<&Record> {
        let id = RunId {
            workload: workload.to_owned(),
            point: Point {
                variant: variant.to_owned(),
                control,
                levels: baseline.levels.clone(),
            },
            pair: 0,
            confirming: false,
        };
        match runs.get(&id)? {
            Outcome::Done(record) => Some(record),
            Outcome::Failed(_) => None,
        }
    };
    let machines = file.headroom.machines.names().map(|name| (name, true));
    let machines = std::iter::once((baseline.variant.as_str(), false)).chain(machines);
    let of_baseline = record(&baseline.variant, false).map(kernel_cycles);
    for (machine, control) in machines {
        let found = record(machine, control);
        let speed = of_baseline.zip(found.map(kernel_cycles));
        let speed = speed.map(|(baseline, cycles)| baseline as f64 / cycles as f64);
        let shown = metrics.iter().map(|(name, metric, expression)| {
            let measured = found.and_then(|record| Measured::of(metric, expression, record).ok());
            let value = measured.and_then(|measured| measured.whole(metric));
            ((*name).clone(), value)
        });
        rows.push(HeadroomRow {
            machine: machine.to_owned(),
            speed: speed.filter(|speed| speed.is_finite()),
            shown: shown.collect(),
        });
    }
    Ok(rows)
}

/// Returns the cycles in which kernels ran, or all of a run that does not tell them apart.
fn kernel_cycles(record: &Record) -> u64 {
    let time = record.kernel_time.as_ref();
    time.map_or(record.cycles, |time| time.cycles)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpweave_files::Budget;
    use warpweave_systems::standard_registry;

    use crate::judge::{check, check_patterns, judge};
    use crate::plan::Plan;
    use crate::read::Experiment;
    use crate::run::Runner;
    use crate::store::Folder;
    use crate::tests::Bench;

    #[test]
    fn machines_for_headroom_run_once_and_are_shown_but_not_compared() {
        let bench = Bench::new();
        let more = r#"
            perturb: (pairs: 2, draws: { "host.launch_latency_cycles": [1, 2] }),
            headroom: (machines: { "large": { "unit[*].l1.size_bytes": 1048576 } }, show: ["ipc"]),
        "#;
        let (registry, budget, interrupt) =
            (standard_registry(), Budget::unlimited(), Arc::default());
        let experiment = Experiment::read(&bench.experiment(more), &budget).unwrap();
        check(&experiment.file).unwrap();
        let plan = Plan::of(&experiment, &registry, 1, &interrupt, &budget);
        let plan = plan.unwrap_or_else(|e| panic!("{e}")).unwrap();
        check_patterns(&experiment.file, &plan.statistics).unwrap();
        let names: Vec<String> = plan.ids.iter().map(ToString::to_string).collect();
        let of_large: Vec<&String> = names.iter().filter(|id| id.contains("large")).collect();
        assert_eq!(
            (names.len(), of_large),
            (5, vec![&"add/large/-/0".to_owned()])
        );
        assert!(
            plan.statistics
                .iter()
                .all(|(variant, _)| variant != "large")
        );
        let folder = Folder::claim(&bench.path("results")).unwrap();
        let runner = Runner {
            registry: &registry,
            threads: 1,
            interrupt: &interrupt,
            budget: &budget,
        };
        let (wanted, traces) = (plan.fitting(None), bench.path("traces"));
        let failed = runner.run(&plan, &wanted, folder.reports(), &traces, &mut |_| {});
        let runs = folder.reports().runs(&plan, &failed.unwrap(), &|_| {});
        let study = judge(&experiment, &[], &runs).unwrap();
        assert_eq!(study.points.len(), 2);
        let rows = &study.work[0].headroom;
        let machines: Vec<&str> = rows.iter().map(|row| row.machine.as_str()).collect();
        assert_eq!(machines, ["plain", "large"]);
        assert!(
            rows[0]
                .speed
                .is_some_and(|speed| (speed - 1.0).abs() < 1e-12)
        );
        assert!(rows[1].speed.is_some_and(|speed| speed > 0.9));
        assert!(
            rows.iter()
                .all(|row| row.shown[0].0 == "ipc" && row.shown[0].1 > Some(0.0))
        );
    }

    #[test]
    fn a_machine_for_headroom_with_the_name_of_a_variant_and_an_unknown_metric_are_refused() {
        let bench = Bench::new();
        let budget = Budget::unlimited();
        let more = r#"headroom: (machines: { "narrow": {} }),"#;
        let told = Experiment::read(&bench.experiment(more), &budget).unwrap_err();
        assert!(
            told.to_string()
                .contains("`narrow` is a machine for headroom"),
            "{told}"
        );
        let more = r#"headroom: (machines: { "large": {} }, show: ["icp"]),"#;
        let experiment = Experiment::read(&bench.experiment(more), &budget).unwrap();
        let told = check(&experiment.file).unwrap_err().to_string();
        assert!(told.contains("did you mean `ipc`"), "{told}");
    }
}
