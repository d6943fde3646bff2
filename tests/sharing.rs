//! Checks `analyze sharing`: classes, formats, and independence of orders.

use crate::harness::{Bench, Ended, scenarios, shown};

/// Writes a scenario of a workload, with overrides in its file.
fn scenario(bench: &Bench, workload: &str, overrides: &str) {
    let root = scenarios().display().to_string();
    bench.write(
        "it.ron",
        &format!(
            "Scenario(system: \"{root}/systems/tiny.ron\", \
             workload: \"{root}/workloads/{workload}.ron\", overrides: {{ {overrides} }})"
        ),
    );
}

fn sharing(bench: &Bench, file: &str, more: &[&str]) -> Ended {
    let ended = bench.warpweave(&[&["--quiet", "analyze", "sharing", file], more].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended
}

/// Cell of the table in a column, for the kernel at an index.
fn cell(table: &str, kernel: usize, column: &str) -> String {
    let mut lines = table.lines();
    let columns = lines.next().unwrap().split(',');
    let place = columns.into_iter().position(|name| name == column).unwrap();
    let row = lines.nth(kernel).unwrap();
    row.split(',').nth(place).unwrap().to_owned()
}

#[test]
fn kernels_have_the_class_of_what_their_work_groups_do() {
    for (workload, overrides, class) in [
        ("matrix_multiply", "\"workload.n\": 64", "A"),
        (
            "stencil_2d",
            "\"workload.width\": 40, \"workload.height\": 20, \"workload.steps\": 1",
            "B",
        ),
        ("vector_add", "\"workload.n\": 4096", "E"),
    ] {
        let bench = Bench::new();
        scenario(&bench, workload, overrides);
        let table = sharing(&bench, "it.ron", &["--format", "csv"]).out;
        assert_eq!(cell(&table, 0, "class"), class, "{workload}: {table}");
    }
}

#[test]
fn work_groups_share_the_same_in_every_order_of_emulation() {
    let bench = Bench::new();
    let mut found = Vec::new();
    for order in ["Linear", "Reversed", "Shuffled(seed: 3)"] {
        let overrides =
            format!("\"workload.n\": 48, \"emulation.order\": {order}, \"emulation.quantum\": 5");
        scenario(&bench, "matrix_multiply", &overrides);
        let table = sharing(&bench, "it.ron", &["--clusters", "3", "--format", "csv"]);
        found.push(table.out);
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}

#[test]
fn a_trace_a_scenario_and_a_log_say_the_same() {
    let bench = Bench::new();
    scenario(&bench, "matrix_multiply", "\"workload.n\": 48");
    let record = ["--quiet", "trace", "record", "it.ron", "it.trace"];
    assert_eq!(bench.warpweave(&record).code, 0);
    let run = [
        "--quiet",
        "run",
        "it.ron",
        "--accesses",
        "it.log",
        "--set",
        r#"taps.l1=Accesses(at: "unit[*].l1.up")"#,
    ];
    let ended = bench.warpweave(&run);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let csv = ["--format", "csv"];
    let of_scenario = sharing(&bench, "it.ron", &csv).out;
    assert_eq!(sharing(&bench, "it.trace", &csv).out, of_scenario);
    let of_log = sharing(&bench, "it.log", &csv).out;
    for column in ["line_inter", "line_intra", "word_inter", "word_intra"] {
        let expected = cell(&of_scenario, 0, column);
        assert_eq!(cell(&of_log, 0, column), expected, "{column}");
    }
    let last = cell(&of_log, 0, "line_last_by_other");
    let inter = cell(&of_log, 0, "line_inter");
    assert!(last.parse::<u64>().unwrap() >= inter.parse().unwrap());
    shown("sharing_log", &sharing(&bench, "it.log", &[]).out);
}

#[test]
fn the_page_the_table_and_the_object_show_every_kernel() {
    let bench = Bench::new();
    scenario(&bench, "back_propagation", "\"workload.inputs\": 64");
    let clusters = ["--clusters", "2"];
    shown("sharing_page", &sharing(&bench, "it.ron", &clusters).out);
    let csv = [&clusters[..], &["--format", "csv"]].concat();
    shown("sharing_table", &sharing(&bench, "it.ron", &csv).out);
    let json = sharing(&bench, "it.ron", &["--format", "json"]).json();
    assert_eq!(json["kernels"].as_array().unwrap().len(), 2);
    assert_eq!(json["line_bytes"], 128);
    let sum = |field: &str| {
        let kernels = json["kernels"].as_array().unwrap().iter();
        let counts = kernels.map(|kernel| kernel["line"][field].as_u64().unwrap());
        counts.sum::<u64>()
    };
    for field in ["touches", "inter", "intra"] {
        assert_eq!(json["all"]["line"][field], sum(field));
    }
}

#[test]
fn what_cannot_be_analysed_is_refused_with_what_to_do() {
    let bench = Bench::new();
    scenario(&bench, "vector_add", "\"workload.n\": 256");
    let analyze = ["--quiet", "analyze", "sharing"];
    let mut refusals = String::new();
    for more in [
        &["it.ron", "--line-bytes", "100"][..],
        &["it.ron", "--clusters", "0"],
        &["none.trace"],
    ] {
        let ended = bench.warpweave(&[&analyze[..], more].concat());
        refusals += &ended.refusal();
    }
    shown("sharing_refused", &refusals);
    let ended = bench.warpweave(&[&analyze[..], &["it.ron", "--memory-limit", "1 MiB"]].concat());
    assert_eq!(ended.code, 3);
    assert!(ended.err.contains("--memory-limit"), "{}", ended.err);
}
