//! Tests of gates, of metrics that only some variants have, and of correlations.

use super::launch_tests::{experiment, experiment_with, record, runs};
use super::*;
use crate::model::RunId;

const METRICS: &str = r#"
    "speed": (value: "ipc", kind: Ratio, better: Larger, over: Launches(), mean: Pooled(Harmonic)),
    "acted": (value: "sum(policy.acted) / 100", kind: Value, variants: ["E", "idle"]),
    "time": (value: "cycles", kind: Value),
"#;

/// Judges claims on runs in which E is faster by these ratios and its policy acts this often.
fn study(claims: &str, ratios: [&[f64]; 3], acted: [u64; 3]) -> Study {
    let experiment = experiment(METRICS, claims);
    check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
    let mut runs = runs(&experiment, ratios);
    for (id, outcome) in &mut runs {
        let Outcome::Done(record) = outcome else {
            continue;
        };
        if id.point.variant == "D" {
            continue;
        }
        let workload = ["a", "b", "c"].iter().position(|of| *of == id.workload);
        // Between pairs it varies by 2 in either direction.
        let acted = acted[workload.unwrap()] + u64::from(id.pair % 5);
        let text =
            format!(r#"{{"acted": {{"value": {acted}, "unit": "", "combination": "sum"}}}}"#);
        let statistics = serde_json::from_str(&text).unwrap();
        record.stats.insert("policy".to_owned(), statistics);
    }
    judge(&experiment, &[], &runs).unwrap()
}

fn finding(gates: &str, on: &str) -> String {
    format!(
        r#"Finding(name: "it", control: "idle", gates: [{gates}],
            claim: Above(metric: "speed", of: "E", margin: 0.1{on}))"#
    )
}

const FASTER: [&[f64]; 3] = [&[1.5], &[1.5], &[1.5]];

#[test]
fn a_finding_below_its_gate_is_void_with_the_reason_and_does_not_fail_the_experiment() {
    let of = |bound: f64| {
        let gates = format!(r#"AtLeast(metric: "acted", value: {bound})"#);
        study(&finding(&gates, ""), FASTER, [30, 30, 30])
    };
    let met = of(0.25);
    assert_eq!(met.claims[0].verdict, Verdict::Reproduced);
    assert_eq!(met.below_gates(), (0, 1));
    let unmet = of(0.5);
    assert_eq!(unmet.claims[0].verdict, Verdict::Void);
    assert_eq!(
        unmet.claims[0].because,
        "a gate is not met: acted of E is 0.3200 [0.3050, 0.3350], required is at least 0.5"
    );
    assert!(unmet.is_as_expected());
    assert_eq!(unmet.below_gates(), (1, 1));
    let row = &unmet.claim_rows()[0];
    assert_eq!(row.verdict, "void");
    assert_eq!(row.below_gate.as_ref(), Some(&unmet.claims[0].because));
    let text = crate::report::text(&unmet);
    assert!(text.contains("1 of 1 findings with gates are void because a gate is not met"));
    let written = crate::report::write(&unmet, &[], &Vec::new(), None);
    let gates = written.tables.iter().find(|(name, _)| name == "gates.csv");
    let lines: Vec<&str> = gates.unwrap().1.lines().collect();
    let heads = "finding,metric,of,relation,bound,median,low,high,met";
    assert_eq!((lines.len(), lines[0]), (2, heads));
    assert!(
        lines[1].starts_with("it,acted,E,at least,0.5,0.3"),
        "{}",
        lines[1]
    );
    assert!(lines[1].ends_with(",0"), "{}", lines[1]);
}

#[test]
fn a_gate_is_met_by_the_whole_interval_in_its_direction() {
    let verdict = |gates: &str| study(&finding(gates, ""), FASTER, [30, 30, 30]).claims[0].verdict;
    assert_eq!(
        verdict(r#"AtLeast(metric: "acted", value: 0.32)"#),
        Verdict::Void
    );
    assert_eq!(
        verdict(r#"AtMost(metric: "acted", value: 0.32)"#),
        Verdict::Void
    );
    assert_eq!(
        verdict(r#"AtMost(metric: "acted", value: 0.4)"#),
        Verdict::Reproduced
    );
    let both = r#"AtMost(metric: "acted", value: 0.4), AtLeast(metric: "acted", value: 0.4)"#;
    assert_eq!(verdict(both), Verdict::Void);
}

#[test]
fn a_gate_speaks_of_the_workloads_of_its_finding_and_of_another_variant_if_it_says_so() {
    let gate = |of: &str| format!(r#"AtLeast(metric: "acted", value: 0.3{of})"#);
    let acted = [50, 50, 0];
    let on = |on: &str| study(&finding(&gate(""), on), FASTER, acted).claims[0].verdict;
    assert_eq!(on(r#", on: "one""#), Verdict::Reproduced);
    assert_eq!(on(r#", on: "two""#), Verdict::Void);
    let gates = gate(r#", of: "idle""#);
    let study = study(&finding(&gates, r#", on: "a""#), FASTER, acted);
    assert_eq!(study.claims[0].gates[0].of, "idle");
    assert_eq!(study.claims[0].verdict, Verdict::Reproduced);
}

#[test]
fn a_gate_may_speak_of_a_machine_for_headroom_which_runs_once() {
    let verdict = |bound: f64| {
        let gates = format!(r#"AtLeast(metric: "speed", value: {bound}, of: "large")"#);
        let more = r#"headroom: (machines: { "large": {} }),"#;
        let experiment = experiment_with(METRICS, &finding(&gates, ""), more);
        check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
        let mut runs = runs(&experiment, FASTER);
        for workload in ["a", "b", "c"] {
            let id = RunId {
                workload: workload.to_owned(),
                point: Point {
                    variant: "large".to_owned(),
                    control: true,
                    levels: Vec::new(),
                },
                pair: 0,
                confirming: false,
            };
            let record = record(&[(200_000, 800_000_000_000)]);
            runs.insert(id, Outcome::Done(Box::new(record)));
        }
        let study = judge(&experiment, &[], &runs).unwrap();
        assert!(study.metrics[0].problems.is_empty());
        assert_eq!(study.metrics[0].launches.as_ref().unwrap().measured, 3);
        study.claims[0].verdict
    };
    assert_eq!(verdict(1.2), Verdict::Reproduced);
    assert_eq!(verdict(1.3), Verdict::Void);
}

#[test]
fn a_record_of_a_verdict_holds_for_one_below_a_gate_too() {
    let gates = r#"AtLeast(metric: "acted", value: 0.5)"#;
    let mut study = study(&finding(gates, ""), FASTER, [30, 30, 30]);
    study.claims[0].expected = Some((Verdict::Void, "it hardly acts".to_owned()));
    assert!(study.is_as_expected());
    study.claims[0].expected = Some((Verdict::Reproduced, String::new()));
    assert!(!study.is_as_expected());
}

#[test]
fn a_metric_of_some_variants_has_no_value_in_others_and_no_problem() {
    let claims = r#"Finding(name: "it acts", control: "idle",
        claim: Above(metric: "acted", of: "E", value: 0.2, margin: 0.05))"#;
    let study = study(claims, FASTER, [30, 40, 50]);
    let metric = &study.metrics[1];
    assert!(metric.problems.is_empty() && metric.undefined.is_empty());
    assert_eq!(metric.rows[0].mean, None);
    assert!(!metric.rows[0].is_measured && metric.rows[1].is_measured);
    assert!((metric.rows[1].mean.unwrap().median - 0.42).abs() < 1e-9);
    // The control acts as often.
    assert_eq!(study.claims[0].verdict, Verdict::Void);
    let text = crate::report::text(&study);
    assert!(text.contains("  D             —\n"), "{text}");
}

#[test]
fn metrics_correlate_over_workloads_by_rank_or_by_value() {
    let verdict = |more: &str, ratios: [&[f64]; 3]| {
        let claims = format!(
            r#"Finding(name: "it", control: "idle",
                claim: Correlates(metric: "gain", with: "acted", of: "E", margin: 0.95{more}))"#
        );
        let metrics = format!(r#"{METRICS} "gain": (value: "sum(l2.reads)", kind: Value)"#);
        let experiment = experiment(&metrics, &claims);
        check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
        let mut runs = runs(&experiment, FASTER);
        for (id, outcome) in &mut runs {
            let Outcome::Done(record) = outcome else {
                continue;
            };
            let at = ["a", "b", "c"]
                .iter()
                .position(|of| *of == id.workload)
                .unwrap();
            // The control acts alike on all, so its correlation is undefined.
            let acted = if id.point.variant == "E" {
                10 * at as u64
            } else {
                1
            };
            let gain = (ratios[at][0] * 1000.0) as u64;
            for (path, name, value) in [("policy", "acted", acted), ("l2", "reads", gain)] {
                let text = format!(
                    r#"{{"{name}": {{"value": {value}, "unit": "", "combination": "sum"}}}}"#
                );
                let statistics = serde_json::from_str(&text).unwrap();
                record.stats.insert(path.to_owned(), statistics);
            }
        }
        let mut study = judge(&experiment, &[], &runs).unwrap();
        study.claims.remove(0)
    };
    let bent: [&[f64]; 3] = [&[1.0], &[1.1], &[9.0]];
    let line: [&[f64]; 3] = [&[1.0], &[2.0], &[3.0]];
    let down: [&[f64]; 3] = [&[3.0], &[2.0], &[1.0]];
    assert_eq!(verdict("", bent).verdict, Verdict::Reproduced);
    assert_eq!(
        verdict(", by: Pearson", bent).verdict,
        Verdict::NotReproduced
    );
    assert_eq!(verdict(", by: Pearson", line).verdict, Verdict::Reproduced);
    assert_eq!(verdict("", down).verdict, Verdict::NotReproduced);
    let judged = verdict(", sign: Negative", down);
    assert_eq!(judged.verdict, Verdict::Reproduced);
    assert_eq!(
        judged.claim,
        "gain with acted of E: rank correlation < -0.95"
    );
    assert_eq!(judged.resolution, None);
}

#[test]
fn mistakes_in_gates_variants_and_correlations_are_marked_where_they_stand() {
    let metrics = r#"
        "speed": (value: "ipc", kind: Ratio, better: Larger),
        "launch": (value: "ipc", kind: Ratio, over: Launches(), mean: Pooled(Least)),
        "acted": (value: "sum(policy.acted)", kind: Value, better: Larger, variants: ["E"]),
        "1": (value: "cycles", kind: Ratio, variants: ["E"]),
        "2": (value: "cycles", kind: Value, variants: ["F"]),
        "3": (value: "cycles", kind: Value, variants: []),
        "joules": (value: "energy", kind: Value),
    "#;
    let claims = r#"
        Finding(name: "4", control: "idle", claim: Above(metric: "acted", of: "E", value: 1, margin: 0.1)),
        Finding(name: "5", control: "idle", claim: Best(metric: "acted", of: "E", margin: 0.1)),
        Finding(name: "6", control: "idle", claim: Above(metric: "speed", of: "E", margin: 0.1),
            gates: [AtLeast(metric: "acted", value: 1), AtLeast(metric: "acted", of: "D", value: 1),
                AtMost(metric: "akted", value: 1), AtMost(metric: "speed", of: "dile", value: 1)]),
        Finding(name: "7", control: "idle", claim: Correlates(metric: "speed", with: "launch", of: "E", margin: 0.1)),
        Finding(name: "8", control: "idle", claim: Correlates(metric: "speed", with: "joules", of: "E", margin: 0.1, on: "one")),
        Finding(name: "9", control: "idle", claim: Correlates(metric: "speed", with: "acted", of: "E", margin: 0.1)),
    "#;
    let experiment = experiment(metrics, claims);
    let folder = experiment.path.parent().unwrap().display().to_string();
    let told = check(&experiment.file).unwrap_err().to_string();
    insta::assert_snapshot!(told.replace(&folder, "."));
}
