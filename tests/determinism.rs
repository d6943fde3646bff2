//! Checks that equal inputs give identical bits, regardless of the order of options, evaluation or
//! emulation.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Scenario, Simulated, Status, standard_registry};

use crate::harness::{Bench, scenarios};

/// Returns the report without host-dependent values and without the list of overrides, which echoes
/// the request.
fn report(bench: &Bench, arguments: &[&str]) -> String {
    let all = [&["run", "--quiet", "--format", "json"], arguments].concat();
    let ended = bench.warpweave(&all);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut report = ended.json();
    let object = report.as_object_mut().unwrap();
    object.remove("host").unwrap();
    object.remove("overrides").unwrap();
    serde_json::to_string_pretty(&report).unwrap()
}

#[test]
fn same_scenario_twice_gives_the_same_report() {
    let bench = Bench::new();
    assert_eq!(report(&bench, &["test.ron"]), report(&bench, &["test.ron"]));
}

#[test]
fn order_of_overrides_does_not_matter() {
    let bench = Bench::new();
    let sets = [
        "unit[*].l1.ways=4",
        "workload.n=300",
        "params.channels=1",
        "seed=7",
    ];
    let in_order = |order: [usize; 4]| {
        let mut arguments = vec!["test.ron"];
        for i in order {
            arguments.extend(["--set", sets[i]]);
        }
        report(&bench, &arguments)
    };
    let first = in_order([0, 1, 2, 3]);
    assert_eq!(first, in_order([3, 2, 1, 0]));
    assert_eq!(first, in_order([1, 3, 0, 2]));
    assert_ne!(
        first,
        report(&bench, &["test.ron"]),
        "the overrides must change something"
    );
}

#[test]
fn resolved_system_gives_the_same_report() {
    let bench = Bench::new();
    let sets = ["--set", "unit[*].l1.ways=4"];
    let original = report(&bench, &["test.ron", "--out", "results", sets[0], sets[1]]);
    let bench = bench.edit("test.ron", "systems/tiny.ron", "results/system.ron");
    assert_eq!(original, report(&bench, &["test.ron"]));
}

#[test]
fn order_of_emulation_does_not_change_what_is_computed() {
    let bench = Bench::new();
    for workload in ["bfs", "histogram", "reduction"] {
        let root = scenarios().display().to_string();
        let small = if workload == "bfs" {
            "\"workload.graph\": Grid(width: 7, height: 9)"
        } else {
            "\"workload.n\": 3000, \"workload.blocks\": 5"
        };
        for order in ["Linear", "Reversed", "Shuffled(seed: 3)"] {
            let text = format!(
                "Scenario(system: \"{root}/systems/tiny.ron\", \
                 workload: \"{root}/workloads/{workload}.ron\", \
                 overrides: {{ {small} }}, emulation: (order: {order}))"
            );
            bench.write("test.ron", &text);
            let ended = bench.warpweave(&["run", "test.ron", "--quiet", "--format", "json"]);
            assert_eq!(ended.code, 0, "{workload} {order}: {}", ended.err);
            assert_eq!(ended.json()["verified"], Value::Bool(true));
        }
    }
}

/// Simulates `workload` on `system` with the given engine options.
fn simulated(system: &str, workload: &str, sets: &[&str], options: EngineOptions) -> Simulated {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    let text = format!(
        "Scenario(system: \"{root}/systems/{system}.ron\", \
         workload: \"{root}/workloads/{workload}.ron\")"
    );
    bench.write("test.ron", &text);
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load(Path::new(&bench.path("test.ron")), &sets)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let program = scenario.emulate().unwrap().program;
    let mut machine = Machine::of(&scenario, &standard_registry(), &program)
        .unwrap_or_else(|problems| panic!("{problems}"));
    machine.set_options(options);
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {})
}

#[test]
fn results_do_not_depend_on_how_the_engine_works() {
    let cases: [(&str, &str, &[&str]); 5] = [
        ("tiny", "vector_add", &["workload.n=1000"]),
        ("tiny", "bfs", &["workload.graph=Grid(width: 6, height: 6)"]),
        ("tiny", "matrix_multiply", &["workload.n=24"]),
        (
            "tiny",
            "histogram",
            &["workload.n=1000", "workload.blocks=3"],
        ),
        (
            "gtx480",
            "reduction",
            &["workload.n=2000", "workload.blocks=4"],
        ),
    ];
    for (system, workload, sets) in cases {
        let run = |order, sleeping| {
            simulated(
                system,
                workload,
                sets,
                EngineOptions {
                    order,
                    sleeping,
                    ..EngineOptions::default()
                },
            )
        };
        let plain = run(Order::Added, true);
        assert_eq!(plain.status, Status::Done);
        assert!(plain.wavefront_instructions > 0);
        for (how, other) in [
            ("without sleeping", run(Order::Added, false)),
            ("shuffled", run(Order::Shuffled { seed: 11 }, true)),
            ("in 3 partitions", {
                let options = EngineOptions {
                    partitions: 3,
                    ..EngineOptions::default()
                };
                simulated(system, workload, sets, options)
            }),
        ] {
            same(&plain, &other, &format!("{workload} on {system}, {how}"));
        }
    }
}

/// Uses more threads than cores, which the command line does not allow.
#[test]
fn more_threads_than_cores_change_nothing_in_a_whole_system() {
    let run = |threads| {
        let options = EngineOptions {
            threads,
            ..EngineOptions::default()
        };
        simulated("tiny", "vector_add", &["workload.n=256"], options)
    };
    let one = run(1);
    assert_eq!(one.status, Status::Done);
    for threads in [2, 3, 4, 8] {
        same(&one, &run(threads), &format!("{threads} threads"));
    }
}

fn same(a: &Simulated, b: &Simulated, what: &str) {
    assert_eq!(a.status, b.status, "{what}");
    assert_eq!(a.kernels, b.kernels, "{what}");
    for (x, y) in a.statistics.iter().zip(b.statistics.iter()) {
        assert_eq!(x, y, "{what}");
    }
    assert_eq!(a.cycles, b.cycles, "{what}");
    assert_eq!(a.activity.messages, b.activity.messages, "{what}");
    for (x, y) in a.activity.instances.iter().zip(&b.activity.instances) {
        assert_eq!(x, y, "{what}");
    }
}

#[test]
fn reports_are_the_same_for_any_number_of_threads() {
    let root = scenarios().display().to_string();
    let search = format!("{root}/bfs.ron");
    let clustered = format!("{root}/matrix_multiply_60.ron");
    let cases: [&[&str]; 2] = [
        &[&search],
        &[
            &clustered,
            "--set",
            "workload.n=32",
            "--set",
            "params.clusters=2",
        ],
    ];
    for case in cases {
        let bench = Bench::new();
        let with = |threads: &str| report(&bench, &[case, &["--threads", threads]].concat());
        let one = with("1");
        for threads in ["2", "3", "4", "8", "auto"] {
            assert!(
                one == with(threads),
                "{case:?} differs with {threads} threads"
            );
        }
    }
}

/// Returns the printed output and every file of a run by name, without host-dependent values.
fn everything(bench: &Bench, arguments: &[&str], out: &str) -> Vec<(String, Vec<u8>)> {
    let record = ["vcd", "pftrace"].map(|ending| format!("{out}.{ending}"));
    let more = [
        "--out",
        out,
        "--state-hash",
        "500",
        "--record",
        &record[0],
        "--record",
        &record[1],
    ];
    let ended = bench.warpweave(&[&["run", "--quiet"], arguments, &more].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut files = vec![("output".to_owned(), ended.out.into_bytes())];
    for (ending, name) in ["vcd", "pftrace"].iter().zip(&record) {
        files.push(((*ending).to_owned(), fs::read(bench.path(name)).unwrap()));
    }
    for entry in fs::read_dir(bench.path(out)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mut bytes = fs::read(entry.path()).unwrap();
        if entry
            .path()
            .extension()
            .is_some_and(|ending| ending == "json")
        {
            let mut value: Value = serde_json::from_slice(&bytes).unwrap();
            let fields = value.as_object_mut().unwrap();
            fields.remove("host").unwrap();
            // The command names the folder and the number of threads.
            fields.remove("command");
            bytes = serde_json::to_vec_pretty(&value).unwrap();
        }
        files.push((name, bytes));
    }
    files.sort();
    files
}

#[test]
fn every_file_of_a_run_is_the_same_byte_for_byte_for_any_number_of_threads() {
    let bench = Bench::new();
    let scenario = format!("{}/matrix_multiply_60.ron", scenarios().display());
    let sets = ["--set", "workload.n=32", "--set", "params.clusters=3"];
    let arguments = [&[scenario.as_str()][..], &sets].concat();
    let with = |threads: &str| {
        let all = [&arguments[..], &["--threads", threads]].concat();
        everything(&bench, &all, &format!("results{threads}"))
    };
    let one = with("1");
    let names: Vec<_> = one.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "report.json",
        "report.txt",
        "state-hashes.csv",
        "vcd",
        "pftrace",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(one.iter().all(|(_, bytes)| !bytes.is_empty()), "{names:?}");
    for threads in ["2", "3", "4", "8"] {
        for ((name, bytes), (other, others)) in one.iter().zip(&with(threads)) {
            assert_eq!(name, other);
            assert!(bytes == others, "{name} differs with {threads} threads");
        }
    }
}
