//! Checks that `analyze reuse` gives the same numbers from a trace, a log and a tap.

use std::collections::BTreeMap;

use crate::harness::{Bench, scenarios, shown};

/// Creates a scenario with a small quicksort that launches kernels from the device.
fn scenario(bench: &Bench) {
    let root = scenarios().display().to_string();
    bench.write(
        "sort.ron",
        &format!(
            "Scenario(system: \"{root}/systems/laser.ron\", workload: \"{root}/workloads/quicksort_device.ron\")"
        ),
    );
}

const SIZE: [&str; 2] = ["--set", "workload.n=1500"];

/// Reads the rows of the table, keyed by all cells but the last.
fn table(bench: &Bench, file: &str) -> BTreeMap<String, String> {
    let only_global = ["--global-end", "1099511627776"];
    let analyze = ["analyze", "reuse", file, "--format", "csv"];
    let ended = bench.warpweave(&[&analyze[..], &only_global].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let rows = ended.out.lines().skip(1);
    rows.map(|row| {
        let (key, value) = row.rsplit_once(',').unwrap();
        (key.to_owned(), value.to_owned())
    })
    .collect()
}

#[test]
fn a_trace_a_log_and_a_tap_say_the_same() {
    let bench = Bench::new();
    scenario(&bench);
    let record = ["--quiet", "trace", "record", "sort.ron", "sort.trace"];
    let ended = bench.warpweave(&[&record[..], &SIZE].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let run = [
        "--quiet",
        "run",
        "sort.ron",
        "--accesses",
        "sort.log",
        "--format",
        "json",
        "--set",
        r#"taps.l1=Accesses(at: "unit[*].l1.up")"#,
        "--set",
        r#"taps.reuse=Reuse(at: "unit[*].l1.up", global_end: 1099511627776)"#,
    ];
    let ended = bench.warpweave(&[&run[..], &SIZE].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let tap = &ended.json()["stats"]["tap.reuse"];
    let (of_trace, of_log) = (table(&bench, "sort.trace"), table(&bench, "sort.log"));
    // Only distances depend on the order; wavefronts are known by their slots.
    for (key, value) in &of_trace {
        if !key.starts_with("distance") {
            assert_eq!(of_log.get(key), Some(value), "{key}");
        }
    }
    let number = |key: &str| of_log[key].parse::<u64>().unwrap();
    let counted = |name: &str| tap[name]["value"].as_u64().unwrap();
    assert_eq!(counted("accesses"), number("program,,,accesses"));
    assert_eq!(counted("lines"), number("program,,,lines"));
    let part = |name: &str| tap[name]["part"].as_u64().unwrap();
    for relation in ["self", "parent_child", "sibling"] {
        let share = part(&format!("{relation}_share"));
        assert_eq!(share, number(&format!("share,,{relation},accesses")));
        assert!(share > 0, "{relation}");
        let beyond = part(&format!("distance_{relation}_beyond_l1"));
        assert_eq!(beyond, number(&format!("distance,,{relation},beyond_l1")));
        let bin = part(&format!("kernel_{relation}_bin[9]"));
        assert_eq!(bin, number(&format!("ratio,kernel,{relation},b9")));
    }
    assert_eq!(
        counted("work_group_chain_units_max"),
        number("chain,work_group,,longest")
    );
    let page = bench.warpweave(&["analyze", "reuse", "sort.trace"]);
    shown("reuse", &page.out);
}

#[test]
fn what_is_no_trace_and_no_log_is_refused() {
    let bench = Bench::new();
    bench.write(
        "some.txt",
        "some text that is long enough to be read as a header",
    );
    let ended = bench.warpweave(&["analyze", "reuse", "some.txt"]);
    assert_eq!(ended.code, 2);
    let said = "too short for a program trace";
    assert!(ended.err.contains(said), "{}", ended.err);
    let ended = bench.warpweave(&["analyze", "reuse", "none.trace"]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    let ended = bench.warpweave(&["analyze", "reuse", "some.txt", "--line-bytes", "100"]);
    assert!(ended.err.contains("a power of two"), "{}", ended.err);
}
