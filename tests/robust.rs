//! Checks that a robustness study resumes and distributes without a difference, and that it refuses
//! bad input.

use std::fs;

use crate::harness::{Bench, Ended, files_below, told};

const EXPERIMENT: &str = r#"Experiment(
    summary: "Ways of the L1",
    base: "test.ron",
    workloads: { "add": (file: "workloads/vector_add.ron", sets: { "workload.n": 256, "workload.block": 64 }) },
    variants: { "two": {}, "slow": { "unit[*].l1.hit_latency_cycles": 60 } },
    controls: { "same": {} },
    baseline: "two",
    perturb: (pairs: 10, draws: { "host.launch_latency_cycles": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }),
    metrics: { "ipc": (value: "ipc", kind: Ratio, better: Larger) },
    claims: [
        Finding(name: "a slow L1 costs IPC", claim: Below(metric: "ipc", of: "slow", margin: 0.05), control: "same"),
        Identity(name: "time passes", claim: AtMost("1", "cycles")),
    ],
)
"#;

const ROBUST: &str = r#"Robustness(
    summary: "A slow L1 on <other> machines",
    experiment: "slow.ron",
    machines: 4,
    pairs: 2,
    ranges: {
        "partition[*].dram.latency_cycles": Between(low: 1, high: 20000, stated: 5, scale: Log),
        "unit[*].l1.ways": Values(values: [2, 3], stated: 2),
    },
)
"#;

/// Creates a folder with an experiment and its robustness file. Three ways are refused by the
/// machine, and a slow memory hides the L1.
pub(crate) fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("slow.ron", EXPERIMENT);
    bench.write("robust.ron", ROBUST);
    bench
}

fn run(bench: &Bench, more: &[&str]) -> Ended {
    bench.warpweave(&[&["robust", "robust.ron", "--quiet"], more].concat())
}

/// Returns everything that must match between equal studies: all but the page, which names its
/// folder.
fn results(bench: &Bench, folder: &str) -> Vec<(String, Vec<u8>)> {
    let files = files_below(&bench.path(folder)).into_iter();
    files
        .filter(|(name, _)| {
            let differs = ["report.html", ".claim"].contains(&name.as_str());
            !differs && !name.contains(".partial-")
        })
        .collect()
}

#[test]
fn a_study_is_the_same_at_once_in_shards_and_resumed() {
    let bench = bench();
    let text = told(run(&bench, &["--out", "once", "-j", "1"]));
    insta::assert_snapshot!("robust", text);
    for shard in ["2/2", "1/2"] {
        let ended = told(run(&bench, &["--out", "parts", "--shard", shard]));
        assert!(ended.contains("machines have ended"), "{ended}");
    }
    told(run(&bench, &["--out", "parts"]));
    let once = results(&bench, "once");
    assert!(once.iter().any(|(name, _)| name == "robust.json"));
    assert!(once == results(&bench, "parts"));
    // One machine and its runs are lost.
    let machines = files_below(&bench.path("parts/machines"));
    let lost = machines.keys().next().unwrap();
    fs::remove_file(bench.path("parts/machines").join(lost)).unwrap();
    fs::remove_dir_all(bench.path("parts/runs")).unwrap();
    told(run(&bench, &["--out", "parts", "-j", "2"]));
    let outcomes = |all: Vec<(String, Vec<u8>)>| -> Vec<_> {
        let kept = all.into_iter();
        kept.filter(|(name, _)| !name.starts_with("runs/"))
            .collect()
    };
    assert!(outcomes(once) == outcomes(results(&bench, "parts")));
}

#[test]
fn a_robustness_file_with_a_mistake_is_refused_at_its_place() {
    let mut told = String::new();
    for (from, to) in [
        (
            "partition[*].dram.latency_cycles",
            "partition[*].dram.latency_cycels",
        ),
        ("stated: 5,", "stated: 6,"),
        ("[2, 3]", "[3, 6]"),
        ("values: [2, 3], stated: 2", "values: [3, 6], stated: 3"),
        ("Between", "Within"),
        ("slow.ron", "fast.ron"),
    ] {
        let bench = bench().edit("robust.ron", from, to);
        told += &run(&bench, &["--check"]).refusal();
        told.push('\n');
    }
    insta::assert_snapshot!("robust_mistakes", told);
}
