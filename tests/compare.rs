//! Tests of `warpweave compare`, which compares runs side by side.

use crate::harness::{Bench, shown, told};

/// Creates the results folders `a`, `slow` with slower copies, and `late`, which starts work-groups
/// later.
fn runs() -> Bench {
    let bench = Bench::new();
    for (folder, set) in [
        ("a", "seed=1"),
        ("slow", "host.launch_latency_cycles=50"),
        ("late", "unit[*].cu.start_latency=3"),
    ] {
        let run = ["run", "test.ron", "--quiet", "--out", folder, "--set", set];
        told(bench.warpweave(&run));
    }
    bench
}

#[test]
fn two_runs_are_compared_by_what_was_set_and_what_came_of_it() {
    let bench = runs();
    let of = |more: &[&str]| {
        let mut arguments = vec!["compare", "a", "late"];
        arguments.extend(more);
        told(bench.warpweave(&arguments))
    };
    let page = of(&[]);
    assert!(
        page.lines().all(|line| line.chars().count() <= 80),
        "{page}"
    );
    shown("compare", &page);
    let csv = of(&["--format", "csv"]);
    assert!(
        csv.contains("\nsystem,unit[*].cu.start_latency,,,late,3,"),
        "{csv}"
    );
    let html = of(&["--format", "html"]);
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("unit[*].cu.start_latency"));
    assert!(html.contains("default-src 'none'"), "{html}");
    for outside in ["http:", "https:", "src=", "href=", "<script", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn changes_within_what_repetitions_vary_by_are_called_noise() {
    let page = told(runs().warpweave(&["compare", "a,slow", "late/report.json"]));
    shown("compare_repeated", &page);
}

#[test]
fn a_run_beside_itself_is_equal() {
    let page = told(runs().warpweave(&["compare", "a", "a"]));
    assert!(
        page.contains("(0 of 0 that differ") || !page.contains("statistics by"),
        "{page}"
    );
    assert!(page.contains("system as built: no difference"), "{page}");
}

#[test]
fn what_is_no_report_is_refused_by_name() {
    let bench = runs();
    insta::assert_snapshot!(bench.warpweave(&["compare", "a", "none"]).refusal(), @r"
    exit 2
    error: cannot read none: No such file or directory (os error 2)
    hint: name a report.json, or a folder that `warpweave run --out` wrote
    ");
    insta::assert_snapshot!(bench.warpweave(&["compare", "a", "a/manifest.json"]).refusal(), @r"
    exit 2
    error: a/manifest.json: this is not a run report: invalid type: map, expected a string at line 11 column 14
    ");
    assert_eq!(bench.warpweave(&["compare", "a"]).code, 2);
}

#[test]
fn a_system_that_cannot_be_read_is_named_with_its_folder() {
    let bench = Bench::new();
    for out in ["a", "b"] {
        told(bench.warpweave(&["run", "test.ron", "--quiet", "--out", out]));
    }
    bench.write("b/system.ron", "System(");
    let refused = bench.warpweave(&["compare", "a", "b"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("b/system.ron:1:"), "{}", refused.err);
}
