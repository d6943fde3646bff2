//! Checks `correlate`: counters measured on an H200, reports of runs, formats and refusals.

use serde_json::Value;
use std::fmt::Write as _;

use crate::harness::{Bench, Ended, scenarios, told};

/// Counters of our programs on an H200, a row for each launch.
fn measured() -> String {
    scenarios()
        .join("validation/h200.csv")
        .display()
        .to_string()
}

/// Writes the scenario `it.ron` of a workload, with further fields.
fn scenario(bench: &Bench, workload: &str, fields: &str) {
    let root = scenarios().display().to_string();
    bench.write(
        "it.ron",
        &format!(
            "Scenario(system: \"{root}/systems/tiny.ron\", \
             workload: \"{root}/workloads/{workload}.ron\", {fields})"
        ),
    );
}

fn correlate(bench: &Bench, arguments: &[&str]) -> Ended {
    bench.warpweave(&[&["--quiet", "correlate"], arguments].concat())
}

fn object(bench: &Bench, arguments: &[&str]) -> Value {
    let text = told(correlate(
        bench,
        &[arguments, &["--format", "json"]].concat(),
    ));
    serde_json::from_str(&text).unwrap()
}

/// Size of most workloads on the board, which they state.
const SIZE: &str = "size: \"S\"";

/// Size of those that take a number of elements.
const ELEMENTS: &str = "overrides: { \"workload.n\": 262144 }";

/// Workloads that were measured, with the size of their runs on the board.
const WORKLOADS: [(&str, &str); 18] = [
    ("b_plus_tree", SIZE),
    ("back_propagation", SIZE),
    (
        "bfs",
        "overrides: { \"workload.graph\": Rmat(scale: 14, edge_factor: 16, seed: 1) }",
    ),
    ("bfs_mask", SIZE),
    ("convolution_2d", SIZE),
    ("dct_8x8", SIZE),
    ("fdtd_3d", SIZE),
    ("histogram", ELEMENTS),
    ("hotspot", SIZE),
    ("lud", SIZE),
    ("matrix_multiply", SIZE),
    ("neural_network", SIZE),
    ("reduction", ELEMENTS),
    ("reduction_f32", ELEMENTS),
    ("srad", SIZE),
    (
        "sssp",
        "overrides: { \"workload.graph\": Graph(\
         source: Rmat(scale: 12, edge_factor: 16, seed: 1), \
         weights: Uniform(low: 1, high: 100, seed: 1)) }",
    ),
    (
        "stencil_2d",
        "overrides: { \"workload.width\": 512, \"workload.height\": 512 }",
    ),
    ("vector_add", ELEMENTS),
];

/// Workloads whose threads race to write the same words, so that stores depend on their order.
const RACING: [&str; 2] = ["bfs", "sssp"];

#[test]
fn every_launch_loads_the_requests_and_sectors_that_an_h200_counted() {
    let bench = Bench::new();
    let mut launches = 0;
    for (workload, size) in WORKLOADS {
        scenario(&bench, workload, size);
        let only = format!("workload={workload}");
        let found = object(&bench, &[&measured(), "it.ron", "--only", &only]);
        // Of a program with many launches, the first were profiled.
        let unmatched = found["unmatched"].as_array().unwrap();
        assert!(
            unmatched.iter().all(|launch| launch["id"].is_null()),
            "{unmatched:?}"
        );
        let mut quantities = vec!["l1_load_requests", "l1_load_sectors"];
        if !RACING.contains(&workload) {
            quantities.extend(["l1_store_requests", "l1_store_sectors"]);
        }
        for quantity in quantities {
            let figure = &found["figures"][quantity];
            let all = &found["profile"]["launches"];
            let equal = [&figure["launches"], &figure["equal"]];
            assert_eq!(
                equal,
                [all, all],
                "{workload} {quantity}: {}",
                found["launches"]
            );
        }
        launches += found["profile"]["launches"].as_u64().unwrap();
    }
    assert_eq!(launches, 88);
}

/// Runs two launches with statistics by kernel, into the folder `mine`.
fn run(bench: &Bench) {
    let root = scenarios().display().to_string();
    let text = format!(
        "Scenario(system: \"{root}/systems/gtx1080.ron\", \
         workload: \"{root}/workloads/hotspot.ron\", overrides: {{ \"workload.n\": 48 }})"
    );
    bench.write("it.ron", &text);
    let arguments = [
        "--quiet",
        "run",
        "it.ron",
        "--set",
        "measure.kernels=true",
        "--out",
        "mine",
    ];
    told(bench.warpweave(&arguments));
}

/// Profile with the values of the run's report themselves, in the form of rows by metric.
fn own_profile(report: &Value) -> String {
    let mut text = "==PROF== Connected to process 7\n\
        \"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\
        \"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
        .to_owned();
    for kernel in report["kernels"].as_array().unwrap() {
        let shape = |key: &str| kernel[key].to_string().replace(['[', ']'], "");
        for (metric, value) in [
            ("smsp__inst_executed.sum", &kernel["wavefront_instructions"]),
            (
                "smsp__thread_inst_executed.sum",
                &kernel["thread_instructions"],
            ),
            ("Elapsed Cycles", &kernel["run_cycles"]),
        ] {
            let _ = writeln!(
                text,
                "\"{}\",\"7\",\"hotspot(float *, int)\",\"({})\",\"({})\",\"{metric}\",\"\",\"{value}\"",
                kernel["number"],
                shape("block"),
                shape("grid"),
            );
        }
    }
    text
}

#[test]
fn a_run_against_its_own_values_has_no_error_in_any_format() {
    let bench = Bench::new();
    run(&bench);
    let report: Value = serde_json::from_str(&bench.read("mine/report.json")).unwrap();
    bench.write("profile.csv", &own_profile(&report));
    let arguments = ["profile.csv", "mine", "--cycles", "run", "--floor", "100"];
    let found = object(&bench, &arguments);
    for quantity in ["cycles", "warp_instructions", "thread_instructions"] {
        assert_eq!(found["figures"][quantity]["mape"], 0.0, "{quantity}");
    }
    assert_eq!(found["figures"]["cycles"]["body"], 0.0);
    assert_eq!(found["figures"]["warp_instructions"]["equal"], 2);
    // Its folder, its report and another order of the options give the same.
    let report = [
        "--floor",
        "100",
        "profile.csv",
        "mine/report.json",
        "--cycles",
        "run",
    ];
    let other = object(&bench, &report);
    assert_eq!(
        other["launches"][0]["quantities"],
        found["launches"][0]["quantities"]
    );
    for (format, shows) in [("text", "hotspot"), ("csv", "summary,"), ("html", "<svg")] {
        let text = told(correlate(
            &bench,
            &[&arguments[..], &["--format", format]].concat(),
        ));
        assert!(text.contains(shows), "{format}: {text}");
    }
}

#[test]
fn a_run_and_its_program_count_the_same_requests() {
    let bench = Bench::new();
    run(&bench);
    let report: Value = serde_json::from_str(&bench.read("mine/report.json")).unwrap();
    let mut profile = own_profile(&report);
    for id in 0..2 {
        for metric in [
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            "smsp__inst_executed_op_shared.sum",
        ] {
            let _ = writeln!(
                profile,
                "\"{id}\",\"7\",\"hotspot\",\"\",\"\",\"{metric}\",\"\",\"1\""
            );
        }
    }
    bench.write("profile.csv", &profile);
    let timed = object(&bench, &["profile.csv", "mine"]);
    let emulated = object(&bench, &["profile.csv", "it.ron"]);
    for launch in 0..2 {
        for quantity in [
            "l1_load_requests",
            "l1_store_requests",
            "shared_instructions",
        ] {
            let ours =
                |object: &Value| object["launches"][launch]["quantities"][quantity]["ours"].clone();
            assert!(ours(&timed).as_f64().unwrap() > 0.0, "{quantity}: {timed}");
            assert_eq!(ours(&timed), ours(&emulated), "launch {launch}: {quantity}");
        }
    }
}

#[test]
fn mistakes_are_refused_with_their_places() {
    let bench = Bench::new();
    bench.write(
        "profile.csv",
        "ID,Kernel Name,sm__cycles_elapsed.max\n0,k,\"1.234,5\"\n",
    );
    bench.write("mine.json", "{}");
    bench.write("good.csv", "ID,Kernel Name\n0,k\n");
    for (arguments, shows) in [
        (&["profile.csv", "mine.json"][..], "profile.csv:2:5"),
        (
            &["good.csv", "mine.json"],
            "mine.json: this is not a run report",
        ),
        (&["good.csv", "gone"], "gone"),
        (&["mine.json", "gone"], "no line names the columns"),
        (
            &["good.csv", "mine.json", "--only", "Kernel=k"],
            "columns: ID, Kernel Name",
        ),
        (&["good.csv", "mine.json", "--only", "k"], "size=S"),
        (&["good.csv", "mine.json", "--floor=-1"], "--floor"),
    ] {
        let ended = correlate(&bench, arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.out);
        assert!(ended.err.contains(shows), "{arguments:?}: {}", ended.err);
    }
    let limited = ["good.csv", "mine.json", "--memory-limit", "64 B"];
    assert_eq!(correlate(&bench, &limited).code, 3);
}
