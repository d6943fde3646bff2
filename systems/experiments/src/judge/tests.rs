use warpweave_files::Budget;
use warpweave_random::CounterRng;
use warpweave_systems::report::Record;

use super::*;
use crate::model::{RunId, Runs};

const WORKLOADS: [&str; 4] = ["a", "b", "c", "d"];

/// Creates an experiment of three variants, one control and one axis, with these claims.
fn experiment(claims: &str, more: &str) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.ron");
    let text = format!(
        r#"Experiment(
            summary: "made up",
            base: "base.ron",
            workloads: {{ "a": (file: "w.ron"), "b": (file: "w.ron"), "c": (file: "w.ron"), "d": (file: "w.ron") }},
            variants: {{ "D": {{}}, "E": {{}}, "F": {{}} }},
            controls: {{ "idle": {{}} }},
            axes: {{ "x": Values(path: "params.x", values: [1, 2, 4]) }},
            baseline: (variant: "D", x: "1"),
            perturb: (pairs: 10, draws: {{ "seed": [1, 2] }}),
            metrics: {{
                "speed": (value: "wavefront_instructions / cycles", kind: Ratio, better: Larger),
                "time": (value: "cycles", kind: Ratio, better: Smaller),
                "cycles": (value: "cycles", kind: Value, better: Smaller),
            }},
            claims: [{claims}],
            {more}
        )"#
    );
    std::fs::write(&path, text).unwrap();
    let experiment = Experiment::read(&path, &Budget::unlimited());
    experiment.unwrap_or_else(|error| panic!("{error}"))
}

fn record(cycles: f64) -> Record {
    let json = format!(
        r#"{{"schema_version": 2, "scenario": "s", "status": "done", "cycles": {}, "simulated_s": 1,
            "wavefront_instructions": 1000000, "thread_instructions": 1, "ipc": 1, "core_clock": "core",
            "stats": {{}}}}"#,
        cycles.round()
    );
    serde_json::from_str(&json).unwrap()
}

/// Creates runs with speed `speed(workload, variant, level, confirming)` times a factor for the
/// pair. Each run has noise of up to `noise`.
fn runs(
    experiment: &Experiment,
    noise: f64,
    speed: impl Fn(usize, &str, &str, bool) -> f64,
) -> Runs {
    let dice = CounterRng::new(3, "noise");
    let mut rolls = 0;
    let mut random = || {
        rolls += 1;
        dice.below(rolls, 2001) as f64 / 1000.0 - 1.0
    };
    let mut runs = Runs::new();
    for (number, workload) in WORKLOADS.into_iter().enumerate() {
        for point in crate::plan::points(&experiment.file) {
            for pair in 0..11 {
                let confirming = pair == 10;
                let (variant, level) = (point.variant.as_str(), point.levels[0].1.as_str());
                let of_pair = 1.0 + 0.01 * f64::from(pair % 3);
                let speed = speed(number, variant, level, confirming) * of_pair;
                let cycles = 1e9 / (speed * (1.0 + noise * random()));
                let id = RunId {
                    workload: workload.to_owned(),
                    point: point.clone(),
                    pair: if confirming { 0 } else { pair },
                    confirming,
                };
                runs.insert(id, Outcome::Done(Box::new(record(cycles))));
            }
        }
    }
    runs
}

/// Returns the verdict on one finding. E is faster by these fractions, the control by `idle`.
fn verdict(claim: &str, gain: f64, idle: f64, noise: f64) -> JudgedClaim {
    let claims = format!(r#"Finding(name: "it", claim: {claim}, control: "idle")"#);
    let experiment = experiment(&claims, "");
    check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
    let runs = runs(&experiment, noise, |_, variant, _, _| match variant {
        "E" => 1.0 + gain,
        "idle" => 1.0 + idle,
        _ => 1.0,
    });
    judge(&experiment, &[], &runs).unwrap().claims.remove(0)
}

/// The same variant is its own control where the programs are others.
#[test]
fn a_control_on_other_workloads_voids_a_finding_that_holds_there_too() {
    let on_a = r#"Above(metric: "speed", of: "E", margin: 0.03, on: "a")"#;
    let judged = |gain_on_b: f64| {
        let claims =
            format!(r#"Finding(name: "it", claim: {on_a}, control: "E", control_on: "b")"#);
        let experiment = experiment(&claims, "");
        check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
        let runs = runs(&experiment, 0.005, |workload, variant, _, _| {
            match (variant, workload) {
                ("E", 1) => 1.0 + gain_on_b,
                ("E", _) => 1.1,
                _ => 1.0,
            }
        });
        judge(&experiment, &[], &runs).unwrap().claims.remove(0)
    };
    let alone = judged(0.0);
    assert_eq!(alone.verdict, Verdict::Reproduced, "{}", alone.because);
    let (name, verdict, _) = alone.control.unwrap();
    assert_eq!((name.as_str(), verdict), ("E on b", Verdict::NotReproduced));
    let both = judged(0.1);
    assert_eq!(both.verdict, Verdict::Void);
    assert_eq!(both.because, "the control `E on b` passes too");
}

#[test]
fn a_control_on_other_workloads_needs_their_name_and_a_claim_on_some() {
    let told = |finding: &str| {
        let experiment = experiment(finding, "");
        check(&experiment.file).unwrap_err().to_string()
    };
    let on_a = r#"Above(metric: "speed", of: "E", margin: 0.03, on: "a")"#;
    let unknown = told(&format!(
        r#"Finding(name: "it", claim: {on_a}, control: "E", control_on: "bb")"#
    ));
    assert!(
        unknown.contains("unknown workload `bb`") && unknown.contains("did you mean `b`"),
        "{unknown}"
    );
    let everywhere = told(&format!(
        r#"Finding(name: "it", claim: {ABOVE}, control: "E", control_on: "b")"#
    ));
    assert!(
        everywhere.contains("`control_on` needs a claim on a workload or group"),
        "{everywhere}"
    );
    let same = told(&format!(
        r#"Finding(name: "it", claim: {on_a}, control: "E")"#
    ));
    assert!(same.contains("unknown control `E`"), "{same}");
}

const ABOVE: &str = r#"Above(metric: "speed", of: "E", than: "D", margin: 0.03)"#;

#[test]
fn an_effect_wholly_beyond_its_margin_is_reproduced() {
    let judged = verdict(ABOVE, 0.1, 0.0, 0.005);
    assert_eq!(judged.verdict, Verdict::Reproduced, "{}", judged.because);
    let effect = judged.effect.unwrap();
    assert!(effect.low > 0.09 && effect.high < 0.11, "{effect:?}");
    assert_eq!(judged.by_workload.len(), 4);
    let below = r#"Below(metric: "time", of: "E", margin: 0.03)"#;
    assert_eq!(verdict(below, 0.1, 0.0, 0.005).verdict, Verdict::Reproduced);
}

#[test]
fn a_control_far_on_the_other_side_of_the_baseline_is_flagged() {
    let far = |idle| verdict(ABOVE, 0.1, idle, 0.005).control_is_far;
    assert!(far(-0.2));
    assert!(!far(0.0) && !far(-0.01));
    // A control that passes makes the test void already.
    assert!(!far(0.2));
    // Only a difference to the baseline says that a control does too much.
    let than = r#"Above(metric: "speed", of: "E", value: 1.3, margin: 0.03)"#;
    assert!(!verdict(than, 0.5, -0.2, 0.005).control_is_far);
}

#[test]
fn an_effect_wholly_short_of_its_margin_is_not_reproduced() {
    for gain in [-0.1, 0.0, 0.02] {
        let judged = verdict(ABOVE, gain, 0.0, 0.002);
        assert_eq!(judged.verdict, Verdict::NotReproduced, "{gain}");
    }
}

#[test]
fn an_interval_that_holds_the_margin_is_unresolved() {
    let judged = verdict(ABOVE, 0.03, 0.0, 0.03);
    assert_eq!(judged.verdict, Verdict::Unresolved);
}

#[test]
fn a_number_may_take_the_place_of_a_variant() {
    let than = |number: f64| {
        let claim = format!(r#"Above(metric: "speed", of: "E", value: {number}, margin: 0.05)"#);
        verdict(&claim, 0.5, 0.0, 0.002)
    };
    // In multiples of the baseline.
    assert_eq!(than(1.3).verdict, Verdict::Reproduced);
    assert_eq!(than(1.7).verdict, Verdict::NotReproduced);
    assert_eq!(than(0.8).verdict, Verdict::Void);
    assert_eq!(than(1.3).claim, "speed: E > 1.3 + 0.05");
    let below = r#"Below(metric: "speed", of: "E", value: 2, margin: 0.05)"#;
    assert_eq!(verdict(below, 0.5, 1.5, 0.002).verdict, Verdict::Reproduced);
}

#[test]
fn a_difference_may_be_claimed_to_be_small() {
    let of = |gain, noise| {
        let within = r#"Within(metric: "speed", of: "E", than: "D", margin: 0.03)"#;
        verdict(within, gain, 0.5, noise)
    };
    for gain in [0.02, -0.02, 0.0] {
        assert_eq!(of(gain, 0.002).verdict, Verdict::Reproduced, "{gain}");
    }
    for gain in [0.1, -0.1] {
        assert_eq!(of(gain, 0.002).verdict, Verdict::NotReproduced, "{gain}");
    }
    assert_eq!(of(0.03, 0.03).verdict, Verdict::Unresolved);
    assert_eq!(of(0.0, 0.002).claim, "speed: E = D ± 0.03");
}

#[test]
fn the_largest_step_of_a_row_is_larger_than_each_other_one() {
    let claims = r#"Finding(name: "it", control: "idle", claim:
        LargestStep(metric: "speed", of: "E", row: ["D", "E", "F"], margin: 0.02))"#;
    let experiment = experiment(claims, "");
    check(&experiment.file).unwrap_or_else(|error| panic!("{error}"));
    let of = |e: f64, f: f64| {
        let runs = runs(&experiment, 0.002, |_, variant, _, _| match variant {
            "E" => e,
            "F" => f,
            _ => 1.0,
        });
        judge(&experiment, &[], &runs).unwrap().claims.remove(0)
    };
    assert_eq!(of(1.2, 1.25).verdict, Verdict::Reproduced);
    assert_eq!(of(1.1, 1.3).verdict, Verdict::NotReproduced);
    let judged = of(1.2, 1.25);
    assert_eq!(
        judged.claim,
        "speed: the step to E is larger than all others of D → E → F by 0.02"
    );
    let effect = judged.effect.unwrap().median;
    assert!((effect - 0.15).abs() < 0.01, "{effect}");
}

#[test]
fn a_margin_below_the_resolution_of_the_baseline_is_unresolved() {
    let fine = r#"Above(metric: "speed", of: "E", margin: 0.001)"#;
    let judged = verdict(fine, 0.5, 0.0, 0.001);
    assert_eq!(judged.verdict, Verdict::Unresolved);
    assert!(judged.because.contains("resolution"), "{}", judged.because);
    assert!(judged.resolution.unwrap() > 0.001);
}

#[test]
fn a_claim_whose_control_passes_is_void() {
    let judged = verdict(ABOVE, 0.1, 0.08, 0.005);
    assert_eq!(judged.verdict, Verdict::Void);
    assert!(!judged.is_as_expected());
}

#[test]
fn without_an_effect_a_finding_is_hardly_ever_reproduced() {
    for noise in [0.01, 0.05, 0.2] {
        let judged = verdict(ABOVE, 0.0, 0.0, noise);
        assert_ne!(judged.verdict, Verdict::Reproduced, "{noise}");
    }
}

#[test]
fn the_best_has_to_beat_every_other_and_a_count_its_number() {
    let best = r#"Best(metric: "time", of: "E", margin: 0.02)"#;
    assert_eq!(verdict(best, 0.1, 0.0, 0.002).verdict, Verdict::Reproduced);
    assert_eq!(
        verdict(best, 0.0, 0.0, 0.002).verdict,
        Verdict::NotReproduced
    );
    let counted = |at_least: u32, gains: [f64; 4]| {
        let claims = format!(
            r#"Finding(name: "it", control: "idle",
                claim: Count(metric: "speed", of: "E", than: "D", margin: 0.05, at_least: {at_least}))"#
        );
        let experiment = experiment(&claims, "");
        let runs = runs(
            &experiment,
            0.002,
            |workload, variant, _, _| match variant {
                "E" => 1.0 + gains[workload],
                _ => 1.0,
            },
        );
        judge(&experiment, &[], &runs)
            .unwrap()
            .claims
            .remove(0)
            .verdict
    };
    let gains = [0.2, 0.1, 0.0, 0.05];
    assert_eq!(counted(2, gains), Verdict::Reproduced);
    assert_eq!(counted(3, gains), Verdict::Unresolved);
    assert_eq!(counted(4, gains), Verdict::NotReproduced);
}

#[test]
fn shapes_along_an_axis_are_told_apart() {
    let along = |claim: &str, speeds: [f64; 3]| {
        let claims = format!(
            r#"Finding(name: "it", control: "idle",
                claim: {claim}(metric: "speed", of: "E", axis: "x", margin: 0.05))"#
        );
        let experiment = experiment(&claims, "");
        let runs = runs(&experiment, 0.002, |_, variant, level, _| {
            match (variant, level) {
                ("E", "1") => speeds[0],
                ("E", "2") => speeds[1],
                ("E", "4") => speeds[2],
                _ => 1.0,
            }
        });
        judge(&experiment, &[], &runs)
            .unwrap()
            .claims
            .remove(0)
            .verdict
    };
    assert_eq!(along("Saturates", [1.0, 1.5, 1.6]), Verdict::Reproduced);
    assert_eq!(along("Saturates", [1.0, 1.5, 2.0]), Verdict::NotReproduced);
    assert_eq!(along("Interior", [1.0, 1.5, 1.2]), Verdict::Reproduced);
    assert_eq!(along("Interior", [1.0, 1.5, 1.6]), Verdict::NotReproduced);
}

#[test]
fn at_reduced_size_the_next_size_has_to_agree_in_sign_and_order() {
    let confirmed = |next: [f64; 4]| {
        let claims = format!(r#"Finding(name: "it", claim: {ABOVE}, control: "idle")"#);
        let experiment = experiment(&claims, r#"confirm: (size: "S"),"#);
        let here = [0.4, 0.3, 0.2, 0.1];
        let runs = runs(
            &experiment,
            0.002,
            |workload, variant, _, confirming| match variant {
                "E" if confirming => 1.0 + next[workload],
                "E" => 1.0 + here[workload],
                _ => 1.0,
            },
        );
        judge(&experiment, &[], &runs).unwrap().claims.remove(0)
    };
    assert_eq!(confirmed([0.9, 0.7, 0.5, 0.3]).verdict, Verdict::Reproduced);
    let other_sign = confirmed([-0.1, -0.2, -0.3, -0.4]);
    assert_eq!(other_sign.verdict, Verdict::Unresolved);
    assert!(
        other_sign.because.contains("the opposite sign"),
        "{}",
        other_sign.because
    );
    let other_order = confirmed([0.1, 0.2, 0.3, 0.4]);
    assert_eq!(other_order.verdict, Verdict::Unresolved);
    assert!(
        other_order.because.contains("a different order"),
        "{}",
        other_order.because
    );
}

#[test]
fn an_identity_that_fails_names_the_run() {
    let claims = r#"
        Identity(name: "one", claim: AtMost("cycles", "2000000000")),
        Identity(name: "two", claim: Equal("cycles", "wavefront_instructions"), on: ["E"]),
        Identity(name: "three", claim: Ascending(["1", "2", "cycles"])),
    "#;
    let experiment = experiment(claims, "");
    let study = judge(&experiment, &[], &runs(&experiment, 0.0, |_, _, _, _| 1.0)).unwrap();
    let verdicts: Vec<Verdict> = study.claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [Verdict::Holds, Verdict::Fails, Verdict::Holds]);
    assert!(
        study.claims[1].because.starts_with("a/E/1/0: ["),
        "{}",
        study.claims[1].because
    );
    assert!(!study.is_as_expected());
}

#[test]
fn a_failed_run_is_left_out_and_named() {
    let experiment = experiment("", "");
    let mut runs = runs(
        &experiment,
        0.0,
        |_, variant, _, _| {
            if variant == "E" { 2.0 } else { 1.0 }
        },
    );
    let first = runs
        .keys()
        .find(|id| id.point.variant == "E")
        .unwrap()
        .clone();
    runs.insert(first.clone(), Outcome::Failed("deadlock".to_owned()));
    let study = judge(&experiment, &[], &runs).unwrap();
    assert_eq!(study.failed, [(first.to_string(), "deadlock".to_owned())]);
    assert!(!study.is_as_expected());
    let row = &study.metrics[0].rows[study
        .points
        .iter()
        .position(|p| p.name == "E, x=1")
        .unwrap()];
    assert!((row.mean.unwrap().median - 2.0).abs() < 1e-6);
}

#[test]
fn mistakes_in_claims_are_marked_where_they_stand() {
    let claims = r#"
        Finding(name: "1", claim: Above(metric: "sped", of: "E", margin: 0.03), control: "idle"),
        Finding(name: "2", claim: Above(metric: "speed", of: "G", than: "H", margin: 0), control: "none"),
        Finding(name: "3", claim: Best(metric: "speed", of: "E", margin: 0.1, on: "e", at: { "y": "1" }), control: "idle"),
        Finding(name: "4", claim: Count(metric: "speed", of: "E", margin: 0.1, at_least: 5), control: "idle"),
        Finding(name: "5", claim: Interior(metric: "speed", of: "E", margin: 0.1, axis: "z"), control: "idle"),
        Finding(name: "6", claim: Above(metric: "speed", of: "E", margin: 0.1, at: { "x": "3" }), control: "idle"),
        Identity(name: "7", claim: Equal("cycels", "1"), on: ["G"]),
    "#;
    let experiment = experiment(claims, r#"record: { "8": Reproduced },"#);
    let folder = experiment.path.parent().unwrap().display().to_string();
    let told = check(&experiment.file).unwrap_err().to_string();
    insta::assert_snapshot!(told.replace(&folder, "."));
}

/// Creates a study in which E is a fifth faster.
pub(crate) fn study() -> Study {
    let claims = format!(
        r#"Finding(name: "E is faster", claim: {ABOVE}, control: "idle"),
           Identity(name: "time passes", claim: AtMost("1", "cycles")),"#
    );
    let record = r#"record: { "E is faster": NotReproduced(because: "of old") },"#;
    let experiment = experiment(&claims, record);
    let faster = |_, variant: &str, _: &str, _| if variant == "E" { 1.2 } else { 1.0 };
    let runs = runs(&experiment, 0.01, faster);
    judge(&experiment, &[], &runs).unwrap()
}

#[test]
fn work_groups_are_shared_out_over_launches_and_units() {
    let mut json: serde_json::Value = serde_json::to_value(record(1000.0)).unwrap();
    let launch = |number: u32, grid: [u32; 3]| {
        serde_json::json!({"number": number, "name": "k", "grid": grid, "block": [32, 1, 1],
            "wavefront_instructions": 1, "thread_instructions": 1})
    };
    json["kernels"] = serde_json::json!([launch(0, [4, 2, 1]), launch(1, [4, 1, 1])]);
    let unit =
        serde_json::json!({"slots_issued": {"value": 7, "unit": "slots", "combination": "sum"}});
    json["stats"] = serde_json::json!({"unit[0].cu": unit, "unit[1].cu": unit, "dram": {}});
    let point = Point {
        variant: "D".to_owned(),
        control: false,
        levels: Vec::new(),
    };
    let id = RunId {
        workload: "a".to_owned(),
        point: point.clone(),
        pair: 0,
        confirming: false,
    };
    let done = Outcome::Done(Box::new(serde_json::from_value(json).unwrap()));
    let work = work::of(&Runs::from([(id, done)]), &["a"], Some(&point));
    assert_eq!((work[0].launches, work[0].work_groups), (2, 12));
    assert_eq!(work[0].work_groups_per_unit, Some(3.0));
}

#[test]
fn the_page_says_what_was_compared_how_well_and_what_came_out() {
    insta::assert_snapshot!(crate::report::text(&study()));
}

#[test]
fn what_nothing_asks_for_is_taken_out_of_a_run_and_changes_no_metric() {
    let experiment = experiment(
        r#"Identity(name: "it", claim: AtMost("sum(l1[*].reads)", "part(l2.rate)"))"#,
        "",
    );
    let mut record = crate::metric::tests::record();
    RequiredStatistics::of(&experiment.file)
        .unwrap()
        .trim(&mut record);
    assert_eq!(record.stats.len(), 3);
    assert!(
        record
            .stats
            .values()
            .all(|statistics| statistics.keys().eq(["reads"]))
    );
}
