//! Measurements of machines by `warpweave probe`.

use insta::assert_snapshot;

use crate::harness::{Bench, Ended};

/// Measures the tiny machine with these fields set, with footprints up to 32 KiB.
fn probed(bench: &Bench, sets: &[&str]) -> Ended {
    let mut arguments = vec!["probe", "systems/tiny.ron", "--largest", "32 KiB"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    arguments.extend(["--format", "csv"]);
    bench.warpweave(&arguments)
}

/// Returns the value of a figure.
fn value(table: &str, quantity: &str, at: &str) -> f64 {
    let begin = format!("{quantity},{at},");
    let row = table.lines().find_map(|row| row.strip_prefix(&begin));
    let value = row.and_then(|row| row.split(',').next());
    let value = value.unwrap_or_else(|| panic!("no {begin} in {table}"));
    value.parse().unwrap_or_else(|_| panic!("{begin} {value}"))
}

#[test]
fn a_machine_is_measured_to_the_cycle() {
    let bench = Bench::new();
    let told = bench.warpweave(&["probe", "systems/tiny.ron", "--largest", "32 KiB"]);
    assert_snapshot!(told.out);
}

#[test]
fn a_longer_latency_is_measured_where_it_belongs() {
    let bench = Bench::new();
    let before = probed(&bench, &[]).out;
    let longer = [
        "unit[*].l1.hit_latency_cycles=12",
        "unit[*].cu.classes.fp_add.latency=6",
    ];
    let after = probed(&bench, &longer).out;
    let change = |quantity, at| {
        let change = value(&after, quantity, at) - value(&before, quantity, at);
        change.round() as i64
    };
    assert_eq!(change("load latency", "1 KiB"), 8);
    assert_eq!(change("instruction latency", "fp_add"), 2);
    assert_eq!(change("instruction latency", "int_add"), 0);
    assert_eq!(change("atomic latency", "one lane"), 0);
}

#[test]
fn a_program_that_the_machine_cannot_run_has_a_reason_instead_of_a_value() {
    let bench = Bench::new();
    let table = probed(&bench, &["partition[*].l2[*].atomics=Forward"]).out;
    let row = table
        .lines()
        .find(|row| row.starts_with("atomic latency,one lane"));
    assert!(
        row.is_some_and(|row| row.contains(",,cycles,") && row.contains("atomic")),
        "{row:?}"
    );
}

#[test]
fn a_machine_with_a_mistake_is_refused() {
    let bench = Bench::new();
    let told = bench.warpweave(&["probe", "systems/tiny.ron", "--set", "unit[*].l1.wayss=4"]);
    assert!(told.refusal().contains("wayss"));
}
