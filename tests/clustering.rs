//! The study of clustered work-groups: its experiments, and its programs on the boards.

use serde_json::Value;

use crate::harness::{Bench, scenarios};

#[test]
fn experiments_of_the_study_can_be_planned() {
    let folder = scenarios().join("experiments/clustering");
    for name in ["reduced", "mm"] {
        let file = folder.join(format!("{name}.ron")).display().to_string();
        let planned = Bench::new().warpweave(&["experiment", &file, "--check"]);
        assert_eq!(planned.code, 0, "{name}: {}", planned.err);
    }
}

/// Runs a workload of the study on a board with overrides; returns its verified report.
fn run(system: &str, workload: &str, sets: &[&str]) -> Value {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    bench.write(
        "it.ron",
        &format!(
            "Scenario(system: \"{root}/systems/{system}.ron\", workload: \"{root}/workloads/clustering/{workload}.ron\")"
        ),
    );
    let mut arguments = vec!["--quiet", "run", "it.ron", "--format", "json"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    let ended = bench.warpweave(&arguments);
    assert_eq!(ended.code, 0, "{workload} on {system}: {}", ended.err);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(report["verified"], true, "{workload} on {system}");
    report
}

/// Adds up a statistic of all instances whose name ends so.
fn sum(report: &Value, ending: &str, statistic: &str) -> u64 {
    let instances = report["stats"].as_object().unwrap().iter();
    let values = instances.filter(|(name, _)| name.ends_with(ending));
    values
        .filter_map(|(_, values)| values[statistic]["value"].as_u64())
        .sum()
}

/// Cuts of the published study are from 28 to 65 % of the reads of the L2.
#[test]
fn agents_read_less_of_the_l2_than_work_groups_in_turn_and_than_agents_in_a_meaningless_order() {
    // Slots on the first board, arrival on the second.
    for (system, board) in [
        ("gtx570", "workload.board=0"),
        ("gtx980", "workload.board=2"),
    ] {
        let reads = |form: &str| {
            let form = format!("workload.form=={form}");
            let report = run(
                system,
                "neural_network",
                &["workload.batch=20", board, &form],
            );
            sum(&report, ".l1", "read_misses")
        };
        let [plain, agents, shuffled] = ["plain", "agents", "shuffled"].map(reads);
        assert!(
            5 * agents < 4 * plain.min(shuffled),
            "{system}: {plain}, {agents}, {shuffled}"
        );
    }
}
