//! The study of graph algorithms by strategy: its experiments, and its forms on their machine.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Bench, scenarios};
use crate::optional_tool;

#[test]
fn experiments_of_the_study_can_be_planned() {
    let folder = scenarios().join("experiments/graphs");
    // Plans of the others take longer, as they draw their graphs.
    for name in ["reduced", "reduced_rule"] {
        let file = folder.join(format!("{name}.ron")).display().to_string();
        let planned = Bench::new().warpweave(&["experiment", &file, "--check"]);
        assert_eq!(planned.code, 0, "{name}: {}", planned.err);
    }
}

/// Runs the first launch of a form on two units; returns its report.
fn first_launch(form: &str) -> Value {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    bench.write(
        "it.ron",
        &format!(
            "Scenario(system: \"{root}/systems/thesis.ron\", \
             workload: \"{root}/workloads/graphs/bfs_optimised.ron\")"
        ),
    );
    let form_set = format!("workload.form=={form}");
    let region = format!("region=(kernels: \"bfs_{form}\", launches: [0], outside: Skip)");
    let mut arguments = vec!["--quiet", "run", "it.ron", "--format", "json"];
    let two_units = [
        "params.units=2",
        "params.slices=1",
        "params.slice_bytes=98304",
        "params.channels=1",
    ];
    for set in two_units.into_iter().chain([&*form_set, &*region]) {
        arguments.extend(["--set", set]);
    }
    let ended = bench.warpweave(&arguments);
    assert_eq!(ended.code, 0, "{form}: {}", ended.err);
    ended.json()
}

/// Table 18 of the graph thesis: work-groups of 512 threads that a unit of a Fermi holds.
#[test]
fn registers_of_each_form_give_the_published_occupancy() {
    for (form, work_groups) in [
        ("base", 3),
        ("swp", 3),
        ("swpnc", 3),
        ("unr2", 3),
        ("unr3", 2),
        ("unr2_swp", 3),
        ("unr2_swpnc", 3),
    ] {
        let report = first_launch(form);
        let resident = &report["stats"]["scheduler"]["resident_work_groups_max"]["value"];
        assert_eq!(resident.as_u64(), Some(2 * work_groups), "{form}");
    }
}

/// Returns the times of topology, warp centric and data driven on a graph of this degree and depth.
/// The rule with thresholds of 14 and 50 is right on all of them.
fn made_up_times(degree: u32, depth: u32) -> [u32; 3] {
    match (degree, depth) {
        (15.., ..50) => [100, 50, 120],
        (..4, 50..) => [100, 200, 60],
        _ => [100, 200, 120],
    }
}

#[test]
fn the_choice_rule_finds_the_thresholds_of_a_world_that_follows_it() {
    let names = [OsString::from("python3")];
    let Some(python) = optional_tool::find(
        names,
        optional_tool::tells_no_version,
        "apt-get install python3",
    ) else {
        return;
    };
    let bench = Bench::new();
    let mut table = "workload,variant,levels,pair,confirming,metric,value,unit\n".to_owned();
    let strategies = ["topology", "warp centric", "data driven"];
    for degree in [2, 3, 8, 12, 20, 30] {
        for depth in [5, 20, 80, 200] {
            for set in ["train ", "other "] {
                let name = format!("{set}{degree} {depth}");
                for (strategy, time) in strategies.iter().zip(made_up_times(degree, depth)) {
                    for metric in ["time", "time without host"] {
                        writeln!(table, "{name},{strategy},,0,0,{metric},{time},cycles").unwrap();
                    }
                }
                for (metric, value) in [("degree", degree), ("depth", depth)] {
                    writeln!(table, "{name},topology,,0,0,{metric},{value},").unwrap();
                    // Launches of another strategy mean something else.
                    writeln!(table, "{name},data driven,,0,0,{metric},1,").unwrap();
                }
            }
        }
    }
    bench.write("metrics.csv", &table);
    let script = scenarios().join("experiments/graphs/choice_rule.py");
    let told = |folder: &std::path::Path| {
        let ended = Command::new(&python)
            .arg(&script)
            .arg(folder)
            .output()
            .unwrap();
        let texts = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
        (ended.status.success(), texts)
    };
    let (is_done, [text, errors]) = told(&bench.path("."));
    assert!(is_done, "{errors}");
    assert_eq!(text.matches("24 graphs to fit, 24 to judge").count(), 2);
    let lines: Vec<&str> = text.lines().collect();
    let fitted = lines
        .iter()
        .find(|line| line.starts_with("fitted"))
        .unwrap();
    let pairs = "(12, 24), (12, 32), (12, 48), (12, 64)";
    assert!(
        fitted.contains("alpha 14") && fitted.contains(pairs),
        "{fitted}"
    );
    let numbers = |begin: &str| -> Vec<&str> {
        let line = lines.iter().find(|line| line.starts_with(begin));
        let line = line.unwrap_or_else(|| panic!("no {begin} in {text}"));
        line.split_whitespace().rev().take(3).collect()
    };
    assert_eq!(numbers("the rule "), ["1.00", "0.0", "0.0"]);
    // Warp centric is right on the 4 graphs of degree 20 and 30 that are shallow.
    assert_eq!(numbers("warp centric")[0], "0.17");
    assert!(text.contains("0 of 256 pairs lose less than the fitted one"));

    let half: String = table
        .lines()
        .filter(|row| !row.contains("other 8 5,warp"))
        .fold(String::new(), |text, row| text + row + "\n");
    bench.write("metrics.csv", &half);
    let (is_done, [_, errors]) = told(&bench.path("."));
    assert!(
        !is_done && errors.contains("`other 8 5` lacks a run"),
        "{errors}"
    );
}
