//! Experiment files with one mistake each.

use super::shown;
use crate::harness::{Bench, Ended};

const EXPERIMENT: &str = r#"Experiment(
    summary: "Ways of the L1",
    base: "test.ron",
    sets: { "params.units": 2 },
    workloads: {
        "add": (file: "workloads/vector_add.ron", sets: { "workload.n": 256 }),
        "bfs": (file: "workloads/bfs.ron", sets: { "workload.graph": Grid(width: 8, height: 8) }),
    },
    variants: { "two": {}, "one": { "unit[*].l1.ways": 1 } },
    controls: { "idle": { "unit[*].l1.hit_latency_cycles": 5 } },
    axes: { "queue": Values(path: "unit[*].l1.mshr_entries", values: [2, 4]) },
    combine: Product,
    baseline: (variant: "two", queue: "4"),
    perturb: (pairs: 10, seed: 1, draws: { "host.launch_latency_cycles": [1, 2, 3], "seed": [1, 2] }),
    metrics: {
        "ipc": (value: "ipc", kind: Ratio, better: Larger),
        "misses": (value: "sum(unit[*].l1.read_misses)", kind: Value),
    },
    claims: [
        Finding(
            name: "one way is worse",
            claim: Below(metric: "ipc", of: "one", than: "two", margin: 0.02),
            control: "idle"),
        Identity(name: "a miss is a read", claim: AtMost("sum(unit[*].l1.read_misses)", "sum(unit[*].l1.reads)")),
    ],
)
"#;

fn check(bench: &Bench) -> Ended {
    bench.warpweave(&["experiment", "ways.ron", "--check", "--quiet"])
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("ways.ron", EXPERIMENT);
    bench
}

#[test]
fn the_file_that_the_mistakes_are_put_into_is_right() {
    let ended = check(&bench());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended.out.contains(
            "
120 runs, "
        ),
        "{}",
        ended.out
    );
}

/// Name of the mistake, original text, and replacement text.
const MISTAKES: [(&str, &str, &str); 42] = [
    ("another_kind", "Experiment(", "Scenario("),
    ("unknown_field", "baseline:", "base_line:"),
    (
        "missing_field",
        "    baseline: (variant: \"two\", queue: \"4\"),\n",
        "",
    ),
    ("missing_bracket", "\"two\": {},", "\"two\": {,"),
    ("missing_base", "test.ron", "tset.ron"),
    ("base_of_another_kind", "test.ron", "systems/tiny.ron"),
    ("missing_workload_file", "vector_add.ron", "vector_ad.ron"),
    (
        "workload_of_another_kind",
        "workloads/vector_add.ron",
        "test.ron",
    ),
    (
        "unknown_workload_field",
        "(file: \"workloads/bfs.ron\"",
        "(path: \"workloads/bfs.ron\"",
    ),
    ("unknown_parameter", "workload.n", "workload.m"),
    ("wrong_parameter", "256", "\"many\""),
    (
        "no_variants",
        "{ \"two\": {}, \"one\": { \"unit[*].l1.ways\": 1 } }",
        "{}",
    ),
    ("variant_twice", "\"one\": {", "\"two\": {"),
    ("variant_is_no_map", "\"two\": {}", "\"two\": 2"),
    ("control_and_variant", "\"idle\": {", "\"one\": {"),
    ("slash_in_a_name", "\"one\": {", "\"1/2\": {"),
    ("unknown_part", "unit[*].l1.ways", "unti[*].l1.ways"),
    ("unknown_field_of_a_part", "l1.ways", "l1.wayz"),
    ("wrong_value", "l1.ways\": 1", "l1.ways\": \"one\""),
    ("value_that_cannot_be_built", "l1.ways\": 1", "l1.ways\": 3"),
    ("unknown_system_parameter", "params.units", "params.unit"),
    (
        "set_twice",
        "\"params.units\": 2",
        "\"params.units\": 2, \"params. units\": 3",
    ),
    ("size_as_override", "\"params.units\": 2", "\"size\": \"S\""),
    (
        "unknown_variant_of_the_baseline",
        "variant: \"two\"",
        "variant: \"too\"",
    ),
    (
        "unknown_level_of_the_baseline",
        "queue: \"4\"",
        "queue: \"5\"",
    ),
    (
        "unknown_axis_of_the_baseline",
        "queue: \"4\"",
        "quue: \"4\"",
    ),
    ("baseline_without_variant", "variant: \"two\", ", ""),
    (
        "baseline_is_a_number",
        "(variant: \"two\", queue: \"4\")",
        "2",
    ),
    ("unknown_sort_of_axis", "Values(", "Value("),
    ("axis_without_levels", "[2, 4]", "[]"),
    ("level_twice", "[2, 4]", "[2, 4, 2]"),
    ("unknown_path_of_an_axis", "mshr_entries", "mshr_entry"),
    (
        "levels_that_do_not_pair_up",
        "combine: Product",
        "combine: Zip",
    ),
    ("unknown_combination", "Product", "Produkt"),
    ("no_pairs", "pairs: 10", "pairs: 0"),
    ("negative_pairs", "pairs: 10", "pairs: -1"),
    ("nothing_to_draw_from", "[1, 2, 3]", "[]"),
    (
        "unknown_path_of_a_draw",
        "launch_latency_cycles",
        "launch_latency",
    ),
    ("wrong_value_of_a_draw", "[1, 2, 3]", "[1, 2, \"three\"]"),
    ("unknown_kind_of_metric", "kind: Value", "kind: Valu"),
    ("unknown_claim", "Below(", "Under("),
    ("finding_without_margin", ", margin: 0.02", ""),
];

#[test]
fn every_mistake_is_shown_where_it_stands() {
    for (name, right, wrong) in MISTAKES {
        let bench = bench().edit("ways.ron", right, wrong);
        let bench = match name {
            // Two axes that are both in one map.
            "levels_that_do_not_pair_up" => bench.edit("ways.ron", wrong, "combine: Zip").edit(
                "ways.ron",
                "[2, 4]) }",
                "[2, 4]), \"ways\": Values(path: \"unit[*].l1.ways\", values: [1]) }",
            ),
            _ => bench,
        };
        let ended = check(&bench);
        assert_eq!(ended.code, 2, "{name}: {}{}", ended.err, ended.out);
        shown(&format!("experiment_{name}"), &ended.refusal());
    }
}

#[test]
fn a_missing_experiment_and_a_circle_of_files_are_refused() {
    let bench = bench();
    let missing = bench.warpweave(&["experiment", "way.ron", "--check"]);
    shown("experiment_missing", &missing.refusal());
    let bench = bench.edit(
        "ways.ron",
        "Experiment(",
        "Experiment(extends: \"ways.ron\", ",
    );
    shown("experiment_extends_itself", &check(&bench).refusal());
    let bench = bench.edit("ways.ron", "extends: \"ways.ron\"", "extends: \"wais.ron\"");
    shown("experiment_extends_nothing", &check(&bench).refusal());
}
