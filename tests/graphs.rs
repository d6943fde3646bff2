//! The study of graph algorithms by strategy: its experiments, and its forms on their machine.

use serde_json::Value;

use crate::harness::{Bench, scenarios};

#[test]
fn experiments_of_the_study_can_be_planned() {
    let folder = scenarios().join("experiments/graphs");
    for name in [
        "reduced",
        "gim_bfs",
        "gim_sssp",
        "gim_clr",
        "gim_optimised",
        "gim_rule",
    ] {
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
