//! Tests of taps at invalid positions.

use super::refused;
use crate::harness::Bench;

/// Creates the test scenario with one tap.
fn tapped(tap: &str) -> Bench {
    let taps = format!("    taps: {{ {tap} }},\n    overrides:");
    Bench::new().edit("test.ron", "    overrides:", &taps)
}

#[test]
fn tap_of_a_port_that_is_not_there() {
    let bench = tapped(r#""l1": Accesses(at: "unit[*].l1.pu")"#);
    refused("tap_of_a_port_that_is_not_there", &bench, &[]);
}

#[test]
fn tap_with_a_name_in_its_index() {
    let bench = tapped(r#""l1": Accesses(at: "unit[u].l1.up")"#);
    refused("tap_with_a_name_in_its_index", &bench, &[]);
}

#[test]
fn tap_of_an_unknown_analysis() {
    let bench = tapped(r#""l1": Acceses(at: "unit[*].l1.up")"#);
    refused("tap_of_an_unknown_analysis", &bench, &[]);
}

#[test]
fn tap_without_a_plain_name() {
    let bench = tapped(r#""l1.up": Accesses(at: "unit[*].l1.up")"#);
    refused("tap_without_a_plain_name", &bench, &[]);
}

#[test]
fn tap_with_windows_that_fall() {
    let bench = tapped(
        r#""near": Locality(at: "unit[*].l1.down", windows: [500, 100], window_unit: Cycles, refresh: true)"#,
    );
    refused("tap_with_windows_that_fall", &bench, &[]);
}

#[test]
fn tap_above_other_caches_than_below() {
    let bench = tapped(
        r#""near": Locality(at: "unit[*].l1.down", accesses: "unit[0].l1.up", windows: [100], window_unit: Cycles,
        refresh: true)"#,
    );
    refused("tap_above_other_caches_than_below", &bench, &[]);
}

#[test]
fn tap_of_the_command_line_that_has_no_value_yet() {
    let bench = Bench::new();
    let set = ["taps.l1.at=\"unit[*].l1.up\""];
    refused(
        "tap_of_the_command_line_that_has_no_value_yet",
        &bench,
        &set,
    );
}
