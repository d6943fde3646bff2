use std::sync::atomic::AtomicBool;

use warpweave_files::Budget;
use warpweave_systems::standard_registry;

use super::*;
use crate::tests::Bench;

fn plan(bench: &Bench, more: &str) -> Plan {
    let budget = Budget::unlimited();
    let path = bench.experiment(more);
    let experiment = Experiment::read(&path, &budget).unwrap_or_else(|e| panic!("{e}"));
    let interrupt = AtomicBool::new(false);
    let plan = Plan::of(&experiment, &standard_registry(), 2, &interrupt, &budget);
    plan.unwrap_or_else(|e| panic!("{e}")).unwrap()
}

fn names(plan: &Plan) -> Vec<String> {
    let ids = plan.runs.iter().flat_map(|run| &run.ids);
    ids.map(ToString::to_string).collect()
}

#[test]
fn every_variant_and_control_meets_every_level_and_pair() {
    let bench = Bench::new();
    let plan = plan(
        &bench,
        r#"axes: { "mshr": Values(path: "unit[*].l1.mshr_entries", values: [2, 4]) },
        controls: { "idle": { "unit[*].l1.hit_latency_cycles": 5 } },
        perturb: (pairs: 2, draws: { "host.launch_latency_cycles": [1, 2], "workload.nothing": [1, 2] }),"#,
    );
    assert_eq!(
        plan.left_out,
        [("add".to_owned(), "workload.nothing".to_owned())]
    );
    let mut expected = Vec::new();
    for pair in 0..2 {
        for level in [2, 4] {
            for variant in ["plain", "narrow", "idle"] {
                expected.push(format!("add/{variant}/{level}/{pair}"));
            }
        }
    }
    assert_eq!(names(&plan), expected);
    assert_eq!(plan.fitting(Some("add/plain")).len(), 4);
    assert_eq!(plan.fitting(Some("*/*/2/1")).len(), 3);
    assert_eq!(plan.fitting(None).len(), 12);
}

#[test]
fn equal_runs_are_made_once_and_those_of_a_trace_stay_together() {
    let bench = Bench::new();
    let plan = plan(
        &bench,
        r#"axes: { "n": Values(path: "workload.n", values: [256, 512]), "ways": Values(path: "params.units", values: [2]) },
        controls: { "same": { "params.units": 2 } },
        perturb: (pairs: 2, draws: { "workload.block": [64, 128] }),"#,
    );
    assert_eq!(plan.runs.len(), 8);
    assert!(plan.runs.iter().any(|run| run.ids.len() == 2));
    let mut traces: Vec<_> = plan.runs.iter().map(|run| &run.identity.trace).collect();
    traces.dedup();
    assert_eq!(traces.len(), 4);
}

#[test]
fn pairs_of_equal_draws_are_found() {
    let bench = Bench::new();
    let pairs = |draws: &str| {
        let plan = plan(
            &bench,
            &format!("perturb: (pairs: 4, draws: {{ {draws} }}),"),
        );
        let equal = plan.equal_pairs.into_iter();
        equal.map(|equal| equal.pairs).collect::<Vec<_>>()
    };
    let latency = |values: &str| format!("\"host.launch_latency_cycles\": [{values}]");
    assert_eq!(pairs(&latency("1, 2, 3, 4")), Vec::<Vec<Vec<u32>>>::new());
    // A draw that the workload does not have tells no pairs apart.
    let two = pairs(&format!(
        "{}, \"workload.nothing\": [1, 2, 3, 4]",
        latency("1, 2")
    ));
    assert_eq!(two.len(), 1);
    assert_eq!(two[0].iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    let none = pairs("\"workload.nothing\": [1, 2, 3, 4]");
    assert_eq!(none, [[[0, 1, 2, 3]]]);
}

#[test]
fn the_hash_ignores_layout_and_what_is_added_after_the_runs() {
    let bench = Bench::new();
    let hash = |more: &str| plan(&bench, more).hash;
    let claim = |more: &str| {
        format!(
            r#"claims: [Finding(name: "x", claim: Above(metric: "ipc", of: "plain", margin: 0.1), control: "narrow")],{more}"#
        )
    };
    let first = hash(&claim(""));
    assert_eq!(first, hash(&claim(r#"record: { "x": Reproduced },"#)));
    assert_eq!(
        first,
        hash(&format!("// why\n{} published: \"p.ron\",", claim("")))
    );
    assert_ne!(first, hash(""));
    let base = std::fs::read_to_string(bench.path("base.ron")).unwrap();
    bench.write("base.ron", &format!("{base} // another byte"));
    assert_ne!(first, hash(&claim("")));
}

#[test]
fn a_mistake_in_an_override_is_shown_once_where_it_stands() {
    let bench = Bench::new();
    let budget = Budget::unlimited();
    let path = bench.experiment("sets: { \"params.untis\": 3 },");
    let experiment = Experiment::read(&path, &budget).unwrap();
    let interrupt = AtomicBool::new(false);
    let refused = Plan::of(&experiment, &standard_registry(), 2, &interrupt, &budget);
    let problems = refused.unwrap_err();
    assert_eq!(problems.len(), 1);
    let text = problems.to_string();
    assert!(
        text.contains("test.ron:8:") && text.contains("`units`"),
        "{text}"
    );
}

#[test]
fn a_file_that_extends_another_says_what_is_different() {
    let bench = Bench::new();
    bench.experiment(
        "sets: { \"params.units\": 2, \"unit[*].l1.ways\": 2 }, perturb: (pairs: 1, draws: {}),",
    );
    std::fs::create_dir(bench.path("inner")).unwrap();
    bench.write(
        "inner/more.ron",
        r#"Experiment(
            extends: "../test.ron",
            sets: { "params.units": 1 },
            variants: { "wide": { "unit[*].l1.ways": 4 } },
        )"#,
    );
    let budget = Budget::unlimited();
    let experiment = Experiment::read(&bench.path("inner/more.ron"), &budget).unwrap();
    let interrupt = AtomicBool::new(false);
    let plan = Plan::of(&experiment, &standard_registry(), 1, &interrupt, &budget);
    let plan = plan.unwrap_or_else(|e| panic!("{e}")).unwrap();
    assert_eq!(
        names(&plan),
        ["add/plain/-/0", "add/narrow/-/0", "add/wide/-/0"]
    );
    let sets: Vec<_> = plan.runs[2]
        .parameters()
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    assert!(sets.contains(&"params.units=1".to_owned()), "{sets:?}");
    assert_eq!(experiment.extended, [bench.path("inner/../test.ron")]);
    bench.write("inner/more.ron", "Experiment(extends: \"more.ron\")");
    let refused = Experiment::read(&bench.path("inner/more.ron"), &budget).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("extend one another in a cycle"),
        "{refused}"
    );
}

#[test]
fn a_workload_may_have_its_own_size_for_one_of_the_experiment() {
    let bench = Bench::new();
    let traces = |workload: &str| {
        let text = format!(
            r#"Experiment(
    summary: "A test", base: "base.ron", size: "T", confirm: (size: "S"),
    workloads: {{ "heat": (file: "{}/workloads/hotspot.ron", {workload}) }},
    variants: {{ "plain": {{}} }}, baseline: "plain",
    metrics: {{ "ipc": (value: "ipc", kind: Ratio, better: Larger) }},
)"#,
            crate::tests::scenarios().display()
        );
        bench.write("sizes.ron", &text);
        let budget = Budget::unlimited();
        let experiment = Experiment::read(&bench.path("sizes.ron"), &budget);
        let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
        let interrupt = AtomicBool::new(false);
        let plan = Plan::of(&experiment, &standard_registry(), 1, &interrupt, &budget);
        let plan = plan
            .unwrap_or_else(|problems| panic!("{problems}"))
            .unwrap();
        let runs = plan
            .runs
            .iter()
            .flat_map(|run| run.ids.iter().map(move |id| (id, run)));
        let runs = runs.map(|(id, run)| (id.confirming, run.identity.trace.clone()));
        runs.collect::<std::collections::BTreeMap<bool, String>>()
    };
    let usual = traces("");
    assert_ne!(usual[&false], usual[&true]);
    let own = traces(r#"sizes: { "T": "S", "S": "T" }"#);
    assert_eq!((&own[&false], &own[&true]), (&usual[&true], &usual[&false]));
}

/// Returns the refusal of a plan within `limit` bytes.
fn refused_within(bench: &Bench, more: &str, limit: u64) -> Diagnostics {
    let path = bench.experiment(more);
    let experiment = Experiment::read(&path, &Budget::unlimited());
    let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
    let interrupt = AtomicBool::new(false);
    let budget = Budget::of(limit);
    let plan = Plan::of(&experiment, &standard_registry(), 2, &interrupt, &budget);
    plan.map(drop).unwrap_err()
}

#[test]
fn more_runs_than_fit_are_refused_with_the_axes_and_their_number_before_any_is_made() {
    let bench = Bench::new();
    let axes = |count: usize| {
        let axis = |at| format!("\"a{at}\": Values(path: \"unit[0].l1.ways\", values: [1, 2])");
        let axes: Vec<String> = (0..count).map(axis).collect();
        format!("axes: {{ {} }},", axes.join(", "))
    };
    for (count, runs) in [
        (30, "2147483648 runs"),
        (64, "36893488147419103232 runs"),
        (200, "more than 2^128 runs"),
    ] {
        let refused = refused_within(&bench, &axes(count), 64 << 30);
        assert!(refused.is_of_host());
        let text = refused.to_string();
        for part in [
            "too many runs",
            "`a0` (2 levels)",
            "`a3`",
            runs,
            "test.ron:8:",
            "--memory-limit",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let pairs = "perturb: (pairs: 10000, draws: { \"host.launch_latency_cycles\": [1, 2] }),";
    let text = refused_within(&bench, pairs, 16 << 20).to_string();
    assert!(
        text.contains("10000 pairs") && text.contains("test.ron:8:"),
        "{text}"
    );
}

#[test]
fn the_charge_of_a_plan_covers_what_it_holds_and_ends_with_it() {
    let bench = Bench::new();
    let path =
        bench.experiment("axes: { \"n\": Values(path: \"unit[0].l1.ways\", values: [1, 2]) },");
    let budget = Budget::of(64 << 20);
    let experiment = Experiment::read(&path, &Budget::unlimited()).unwrap();
    let interrupt = AtomicBool::new(false);
    let plan = Plan::of(&experiment, &standard_registry(), 2, &interrupt, &budget);
    let plan = plan.unwrap().unwrap();
    let kinds: BTreeSet<_> = plan
        .statistics
        .iter()
        .map(|(_, kind)| Arc::as_ptr(kind))
        .collect();
    assert_eq!((plan.statistics.len(), kinds.len()), (4, 1));
    assert!(budget.charged() > 4 * 4096, "{}", budget.charged());
    drop(plan);
    assert_eq!(budget.charged(), 0);
}
