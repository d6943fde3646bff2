//! Tests of metrics over launches and groups.

use warpweave_files::Budget;
use warpweave_systems::report::Record;

use super::*;
use crate::model::RunId;

/// Creates an experiment of two workloads in a group and one in another.
pub(super) fn experiment(metrics: &str, claims: &str) -> Experiment {
    experiment_with(metrics, claims, "")
}

/// Creates the same experiment with more fields.
pub(super) fn experiment_with(metrics: &str, claims: &str, more: &str) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.ron");
    let text = format!(
        r#"Experiment(
            summary: "made up",
            base: "base.ron",
            workloads: {{
                "a": (file: "w.ron", group: "one"),
                "b": (file: "w.ron", group: "one"),
                "c": (file: "w.ron", group: "two"),
            }},
            variants: {{ "D": {{}}, "E": {{}} }},
            controls: {{ "idle": {{}} }},
            baseline: "D",
            perturb: (pairs: 10, draws: {{ "seed": [1, 2] }}),
            metrics: {{ {metrics} }},
            claims: [{claims}],
            {more}
        )"#
    );
    std::fs::write(&path, text).unwrap();
    let experiment = Experiment::read(&path, &Budget::unlimited());
    experiment.unwrap_or_else(|error| panic!("{error}"))
}

/// Creates the record of a run with these launches: wavefront instructions and cycles.
pub(super) fn record(launches: &[(u64, u64)]) -> Record {
    let kernels = launches.iter().enumerate().map(|(number, (count, cycles))| {
        serde_json::json!({"number": number, "name": "visit", "grid": [1, 1, 1], "block": [1, 1, 1],
            "cycles": cycles + 7, "run_cycles": cycles, "wavefront_instructions": count,
            "thread_instructions": 1, "stats": {"l2": {"reads":
                {"value": cycles / 1000, "unit": "requests", "combination": "sum"}}}})
    });
    let json = serde_json::json!({"schema_version": 2, "scenario": "s", "status": "done",
        "cycles": 1_000_000, "simulated_s": 1, "wavefront_instructions": 1_000_000,
        "thread_instructions": 1, "ipc": 1, "core_clock": "core",
        "stats": {"l2": {"reads": {"value": 9, "unit": "requests", "combination": "sum"}}},
        "kernels": kernels.collect::<Vec<_>>()});
    serde_json::from_value(json).unwrap()
}

/// Runs of all workloads. E is faster by these ratios, launch by launch.
pub(super) fn runs(experiment: &Experiment, ratios: [&[f64]; 3]) -> Runs {
    runs_of(experiment, |workload, variant| {
        let ratios = ratios[workload].iter();
        let launches = ratios.map(|ratio| {
            let ratio = if variant == "E" { *ratio } else { 1.0 };
            (200_000, (1e12 / ratio).round() as u64)
        });
        launches.collect()
    })
}

pub(super) fn runs_of(
    experiment: &Experiment,
    of: impl Fn(usize, &str) -> Vec<(u64, u64)>,
) -> Runs {
    let mut runs = Runs::new();
    for (number, workload) in ["a", "b", "c"].into_iter().enumerate() {
        for point in points(&experiment.file) {
            for pair in 0..10 {
                let id = RunId {
                    workload: workload.to_owned(),
                    point: point.clone(),
                    pair,
                    confirming: false,
                };
                let record = record(&of(number, &point.variant));
                runs.insert(id, Outcome::Done(Box::new(record)));
            }
        }
    }
    runs
}

/// Returns the mean of E, and of both groups, of a metric with these fields.
fn means(fields: &str, ratios: [&[f64]; 3]) -> [f64; 3] {
    let over = "over: Launches(kernel: \"*\", at_least: 125000)";
    let metric = format!(r#""ipc": (value: "ipc", kind: Ratio, better: Larger, {over}, {fields})"#);
    let experiment = experiment(&metric, "");
    check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
    let study = judge(&experiment, &[], &runs(&experiment, ratios)).unwrap();
    let metric = &study.metrics[0];
    let group = |at: usize| metric.groups[at].rows[1].mean.unwrap().median;
    [metric.rows[1].mean.unwrap().median, group(0), group(1)]
}

fn close(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() < 1e-4
}

#[test]
fn launches_of_a_group_weigh_equally_and_graphs_do_not() {
    let of = |mean: &str| {
        let ratios: [&[f64]; 3] = [&[1.0, 1.0, 1.0], &[2.0], &[1.0]];
        means(&format!("mean: Pooled({mean}), groups: {mean}"), ratios)[1]
    };
    assert!(close(of("Arithmetic"), 1.25));
    assert!(close(of("Harmonic"), 8.0 / 7.0));
    assert!(close(of("Least"), 1.0));
    assert!(close(of("Most"), 2.0));
}

#[test]
fn a_half_and_a_double_pool_to_four_fifths() {
    let [whole, one, _] = means(
        "mean: Pooled(Harmonic), groups: Harmonic",
        [&[2.0], &[0.5], &[0.8]],
    );
    assert!(close(one, 0.8) && close(whole, 0.8), "{whole} {one}");
}

#[test]
fn two_groups_of_a_double_and_a_half_have_the_harmonic_mean_of_four_fifths() {
    let fields = "mean: Pooled(Harmonic), groups: Harmonic";
    let [whole, one, two] = means(fields, [&[2.0, 2.0], &[2.0], &[0.5]]);
    assert!(close(whole, 0.8) && close(one, 2.0) && close(two, 0.5));
    // Without a mean over groups every launch counts the same: 4 / (3 / 2 + 2).
    let [whole, ..] = means("mean: Pooled(Harmonic)", [&[2.0, 2.0], &[2.0], &[0.5]]);
    assert!(close(whole, 4.0 / 3.5), "{whole}");
}

#[test]
fn published_ratios_of_launches_pool_to_the_published_mean() {
    let ratios: [&[f64]; 3] = [&[1.12, 1.01, 1.02], &[1.04, 1.03, 1.20, 1.04], &[1.0]];
    let [_, one, _] = means("mean: Pooled(Harmonic), groups: Harmonic", ratios);
    assert!((one - 1.062).abs() < 5e-4, "{one}");
}

const IPC: &str = r#""ipc": (value: "ipc", kind: Ratio, better: Larger,
    over: Launches(at_least: 125000), mean: Pooled(Harmonic), groups: Harmonic)"#;

#[test]
fn a_launch_one_instruction_short_is_left_out_on_both_sides_and_counted() {
    let experiment = experiment(IPC, "");
    let runs = runs_of(&experiment, |_, variant| {
        let faster = if variant == "E" { 2 } else { 1 };
        vec![
            (125_000, 800_000 / faster),
            (124_999, 9_000_000 / faster / 3),
        ]
    });
    let study = judge(&experiment, &[], &runs).unwrap();
    let metric = &study.metrics[0];
    assert!(close(metric.rows[1].mean.unwrap().median, 2.0));
    let launches = metric.launches.as_ref().unwrap();
    assert_eq!((launches.measured, launches.short), (3, 3));
    assert!(launches.rows.iter().all(|row| row.launch == 0));
}

#[test]
fn a_launch_without_a_value_on_one_side_is_left_out_and_counted() {
    let experiment = experiment(IPC, "");
    let runs = runs_of(&experiment, |workload, variant| match (workload, variant) {
        // The variant's second launch took no time; the baseline has no third one.
        (0, "E") => vec![(200_000, 500_000), (200_000, 0), (200_000, 10)],
        (0, _) => vec![(200_000, 1_000_000), (200_000, 1_000_000)],
        (_, "E") => vec![(200_000, 500_000)],
        _ => vec![(200_000, 1_000_000)],
    });
    let study = judge(&experiment, &[], &runs).unwrap();
    let metric = &study.metrics[0];
    assert!(close(metric.rows[1].mean.unwrap().median, 2.0));
    let launches = metric.launches.as_ref().unwrap();
    assert_eq!((launches.undefined, launches.unpaired), (10, 10));
    assert_eq!(metric.undefined.len(), 10);
}

#[test]
fn a_workload_without_a_launch_that_fits_is_named() {
    let metric = r#""ipc": (value: "ipc", kind: Ratio, mean: Pooled(Most),
        over: Launches(kernel: "vis*", at_least: 300000))"#;
    let experiment = experiment(metric, "");
    let study = judge(
        &experiment,
        &[],
        &runs(&experiment, [&[1.0, 1.0], &[1.0], &[1.0]]),
    )
    .unwrap();
    assert_eq!(
        study.metrics[0].problems[0].1,
        "all 2 launches of `vis*` execute fewer than 300000 wavefront instructions"
    );
}

#[test]
fn a_claim_names_a_group_as_it_names_a_workload_and_a_count_counts_groups() {
    let claims = r#"
        Finding(name: "1", claim: Above(metric: "ipc", of: "E", on: "one", margin: 0.3), control: "idle"),
        Finding(name: "2", claim: Above(metric: "ipc", of: "E", on: "two", margin: 0.3), control: "idle"),
        Finding(name: "3", claim: Above(metric: "least", of: "E", value: 0.99, margin: 0.001), control: "idle"),
        Finding(name: "4", claim: Count(metric: "ipc", of: "E", margin: 0.3, at_least: 2), control: "idle"),
        Finding(name: "5", claim: Count(metric: "ipc", of: "E", margin: 0.3, at_least: 1), control: "idle"),
    "#;
    let least = r#""least": (value: "ipc", kind: Ratio, better: Larger, over: Launches(),
        mean: Pooled(Least), groups: Least)"#;
    let experiment = experiment(&format!("{IPC}, {least}"), claims);
    check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
    let runs = runs(&experiment, [&[1.5, 1.5], &[1.5], &[1.5, 0.9]]);
    let study = judge(&experiment, &[], &runs).unwrap();
    let verdicts: Vec<Verdict> = study.claims.iter().map(|claim| claim.verdict).collect();
    // The harmonic mean of 1.5 and 0.9 is 1.125. The control never loses either.
    let no = Verdict::NotReproduced;
    let yes = Verdict::Reproduced;
    assert_eq!(verdicts, [yes, no, Verdict::Void, no, yes]);
    assert_eq!(
        study.claims[3].because,
        "holds on at least 1 and at most 1 of 2 groups; the claim requires 2"
    );
    assert!(study.claims[3].claim.ends_with("on at least 2 groups"));
}

#[test]
fn the_report_shows_mean_least_and_most_of_each_group_and_whose_they_are() {
    let experiment = experiment(IPC, "");
    let runs = runs(&experiment, [&[1.0, 1.2, 0.9], &[2.0], &[1.0]]);
    let study = judge(&experiment, &[], &runs).unwrap();
    insta::assert_snapshot!("text", crate::report::text(&study));
    let written = crate::report::write(&study, &[], &Vec::new(), None);
    let launches = written
        .tables
        .iter()
        .find(|(name, _)| name == "launches.csv");
    insta::assert_snapshot!("launches.csv", launches.unwrap().1);
    for told in ["a, launch 2 of `visit`", "b, launch 0 of `visit`"] {
        assert!(written.html.contains(told), "{told}");
    }
    let bars = &written.figures[0].1;
    assert!(bars.contains(">one<") && !bars.contains(">a<"), "{bars}");
}

#[test]
fn the_value_of_a_run_is_that_of_its_launches_together() {
    let metric =
        r#""reads": (value: "sum(l2.reads)", kind: Ratio, over: Launches(), mean: Pooled(Most))"#;
    let experiment = experiment(metric, "");
    let record = record(&[(200_000, 3_000), (200_000, 8_000), (200_000, 5_000)]);
    let values = metrics_of(&experiment.file, &record).unwrap();
    assert_eq!(values[0].value, Some(8.0));
}

#[test]
fn groups_serve_metrics_of_whole_runs_too() {
    let metric = r#""cycles": (value: "sum(l2.reads)", kind: Value, groups: Least)"#;
    let experiment = experiment(metric, "");
    let mut runs = runs(&experiment, [&[1.0], &[1.0], &[1.0]]);
    for (id, outcome) in &mut runs {
        let Outcome::Done(record) = outcome else {
            continue;
        };
        let reads = match id.workload.as_str() {
            "a" => 10,
            "b" => 20,
            _ => 90,
        };
        let text = format!(r#"{{"value": {reads}, "unit": "requests", "combination": "sum"}}"#);
        let statistic = serde_json::from_str(&text).unwrap();
        record
            .stats
            .get_mut("l2")
            .unwrap()
            .insert("reads".to_owned(), statistic);
    }
    let study = judge(&experiment, &[], &runs).unwrap();
    let metric = &study.metrics[0];
    assert!(close(metric.rows[0].mean.unwrap().median, 15.0));
    assert_eq!(metric.groups[0].rows[0].most.as_ref().unwrap().place, "b");
    assert_eq!(metric.launches, None);
}

#[test]
fn metrics_that_cannot_be_combined_are_refused_where_they_stand() {
    let metrics = r#"
        "1": (value: "ipc", kind: Ratio, over: Launches()),
        "2": (value: "ipc", kind: Ratio, mean: Pooled(Least)),
        "3": (value: "kernels(*, ipc)", kind: Ratio, over: Launches(), mean: Pooled(Least)),
        "4": (value: "cycles / occupancy", kind: Ratio, over: Launches(), mean: Pooled(Least)),
        "5": (value: "energy", kind: Ratio, groups: Harmonic),
    "#;
    let claims = r#"
        Finding(name: "6", claim: Above(metric: "1", of: "E", on: "won", margin: 0.03), control: "idle"),
        Finding(name: "7", claim: Count(metric: "8", of: "E", margin: 0.03, at_least: 3), control: "idle"),
    "#;
    let more = r#""8": (value: "ipc", kind: Ratio, better: Larger, groups: Harmonic)"#;
    let experiment = experiment(&format!("{metrics} {more}"), claims);
    let folder = experiment.path.parent().unwrap().display().to_string();
    let told = check(&experiment.file).unwrap_err().to_string();
    insta::assert_snapshot!(told.replace(&folder, "."));
}

#[test]
fn a_group_with_the_name_of_a_workload_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.ron");
    let text = r#"Experiment(
        summary: "made up",
        base: "base.ron",
        workloads: { "a": (file: "w.ron"), "b": (file: "w.ron", group: "a"), "c": (file: "w.ron", group: " ") },
        variants: { "D": {} },
        baseline: "D",
        metrics: { "ipc": (value: "ipc", kind: Value) },
    )"#;
    std::fs::write(&path, text).unwrap();
    let told = Experiment::read(&path, &Budget::unlimited())
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("`a` is both a workload and a group"),
        "{told}"
    );
    assert!(told.contains("not a valid name of a group"), "{told}");
}
