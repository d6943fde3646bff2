//! Checks that a run saved and resumed in a new process equals an uninterrupted one, and that the
//! first difference of two runs is found.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Scenario, StateLog, standard_registry};

use crate::harness::{Bench, Ended, scenarios};

/// Returns the report without host-dependent values.
fn report(ended: &Ended) -> String {
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut report = ended.json();
    report.as_object_mut().unwrap().remove("host").unwrap();
    serde_json::to_string_pretty(&report).unwrap()
}

fn json<'a>(scenario: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", scenario, "--quiet", "--format", "json"], more].concat()
}

/// Runs without interruption, then saves at each of `cycles` and resumes from each.
fn resumed_alike(bench: &Bench, scenario: &str, sets: &[&str], cycles: &[u64]) {
    let straight = report(&bench.warpweave(&json(scenario, sets)));
    let at = cycles
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let saving = ["--checkpoint", "run-{cycle}.wwc", "--checkpoint-at", &at];
    let saved = bench.warpweave(&json(scenario, &[sets, &saving].concat()));
    assert_eq!(straight, report(&saved), "saving changes nothing");
    for cycle in cycles {
        let file = format!("run-{cycle}.wwc");
        let resumed = bench.warpweave(&json(scenario, &[sets, &["--resume", &file]].concat()));
        assert_eq!(straight, report(&resumed), "resumed after cycle {cycle}");
    }
}

#[test]
fn a_resumed_run_gives_the_same_report() {
    let bench = Bench::new();
    resumed_alike(&bench, "test.ron", &[], &[0, 1, 247, 300, 500, 650]);
}

#[test]
fn bfs_and_matrix_multiply_give_the_same_report_when_resumed() {
    let bench = Bench::new();
    let search = scenarios().join("bfs.ron").display().to_string();
    resumed_alike(&bench, &search, &[], &[500, 9000]);
    let matrix = scenarios()
        .join("matrix_multiply_60.ron")
        .display()
        .to_string();
    let small = ["--set", "workload.n=64"];
    resumed_alike(&bench, &matrix, &small, &[1000, 4000, 6500]);
}

#[test]
fn a_checkpoint_of_another_machine_or_program_is_refused_by_field() {
    let bench = Bench::new();
    let saving = ["--checkpoint", "a.wwc", "--checkpoint-at", "500"];
    bench.warpweave(&json("test.ron", &saving));
    let refusal = |set: &str| {
        let ended = bench.warpweave(&json("test.ron", &["--resume", "a.wwc", "--set", set]));
        ended.refusal()
    };
    let program = refusal("workload.n=300");
    assert!(
        program.contains("`run` (scenario): field `trace_hash`"),
        "{program}"
    );
    let refusals = ["unit[*].l1.ways=4", "seed=7"].map(refusal).concat();
    bench.write("b.wwc", "RON, perhaps");
    let other = bench
        .warpweave(&json("test.ron", &["--resume", "b.wwc"]))
        .refusal();
    let none = bench
        .warpweave(&json("test.ron", &["--resume", "c.wwc"]))
        .refusal();
    insta::assert_snapshot!(refusals + &other + &none, @"
    exit 2
    error: cannot resume from a.wwc: the checkpoint is for a different system: `unit[0].l1` (Cache): field `ways`: the checkpoint has 2, this system has 4
    exit 2
    error: cannot resume from a.wwc: the checkpoint is for a different system: `run` (scenario): field `seed`: the checkpoint has 1, this system has 7
    exit 2
    error: cannot resume from b.wwc: not a checkpoint: wrong file header
    exit 2
    error: cannot resume from c.wwc: cannot read c.wwc: No such file or directory (os error 2)
    ");
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_refused_before_the_run() {
    let bench = Bench::new();
    let saving = ["--checkpoint", "none/a.wwc", "--checkpoint-at", "500"];
    let ended = bench.warpweave(&json("test.ron", &saving));
    insta::assert_snapshot!(ended.refusal(), @"
    exit 3
    error: cannot write none/a.wwc: No such file or directory (os error 2)
    ");
}

#[test]
fn signals_save_a_run_that_goes_on_or_ends() {
    let bench = Bench::new();
    let long = ["--set", "workload.n=200000"];
    let file = bench.path("a.wwc");
    let saving = [&long[..], &["--checkpoint", "a.wwc"]].concat();
    let straight = bench.warpweave(&json("test.ron", &long));
    for (signal, code) in [("-USR1", 0), ("-INT", 130)] {
        let mut child = bench
            .command(&json("test.ron", &saving))
            .env("WARPWEAVE_LOG", "info")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(log.any(|line| line.unwrap().ends_with("simulating")));
        let id = child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
        let rest: Vec<_> = log.map(Result::unwrap).collect();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{rest:?}");
        assert!(file.exists(), "{signal} saves");
        let resumed = bench.warpweave(&json(
            "test.ron",
            &[&long[..], &["--resume", "a.wwc"]].concat(),
        ));
        assert_eq!(report(&straight), report(&resumed), "{signal}");
        std::fs::remove_file(&file).unwrap();
    }
}

fn machine(scenario: &Path, sets: &[&str]) -> Machine {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load(scenario, &sets).unwrap_or_else(|p| panic!("{p}"));
    let program = scenario.emulate().unwrap().program;
    let machine = Machine::of(&scenario, &standard_registry(), &program);
    machine.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Logs the state of a run with `every` cycles per epoch, up to `last`.
fn log(machine: &mut Machine, every: u64, last: u64) -> StateLog {
    let mut log = StateLog::new(every);
    let never = Arc::new(AtomicBool::new(false));
    while machine.cycle() < last {
        let ended = machine.advance(log.next_after(machine.cycle()), &never);
        log.record(machine).unwrap();
        if ended.is_some() {
            break;
        }
    }
    log
}

#[test]
fn state_hashes_do_not_depend_on_how_the_engine_works() {
    let cases: [(&str, &[&str]); 2] = [
        ("bfs.ron", &[]),
        ("matrix_multiply_60.ron", &["workload.n=64"]),
    ];
    for (scenario, sets) in cases {
        let of = |order, sleeping| {
            let mut machine = machine(&scenarios().join(scenario), sets);
            machine.set_options(EngineOptions {
                order,
                sleeping,
                ..EngineOptions::default()
            });
            log(&mut machine, 250, 12_000).to_csv(&machine)
        };
        let usual = of(Order::Added, true);
        for (order, sleeping) in [(Order::Added, false), (Order::Shuffled { seed: 3 }, true)] {
            first_difference(&usual, &of(order, sleeping), scenario);
        }
    }
}

/// Fails with the first epoch and instances whose hashes differ.
fn first_difference(a: &str, b: &str, what: &str) {
    let names: Vec<_> = a.lines().next().unwrap().split(',').collect();
    for (x, y) in a.lines().zip(b.lines()) {
        let cells = || x.split(',').zip(y.split(',')).zip(&names);
        let differ: Vec<_> = cells()
            .filter(|((x, y), _)| x != y)
            .map(|(_, name)| name)
            .collect();
        let cycle = x.split(',').next().unwrap();
        assert!(differ.is_empty(), "{what}: cycle {cycle}: {differ:?}");
    }
    assert_eq!(a.lines().count(), b.lines().count());
}

#[test]
fn state_hashes_of_a_resumed_run_are_those_of_the_straight_one() {
    let bench = Bench::new();
    let hashing = ["--state-hash", "100", "--out"];
    let straight = bench.warpweave(&json("test.ron", &[&hashing[..], &["a"]].concat()));
    assert_eq!(straight.code, 0, "{}", straight.err);
    let saving = ["b", "--checkpoint", "x.wwc", "--checkpoint-at", "350"];
    bench.warpweave(&json("test.ron", &[&hashing[..], &saving].concat()));
    let resuming = ["c", "--resume", "x.wwc"];
    bench.warpweave(&json("test.ron", &[&hashing[..], &resuming].concat()));
    let [a, b, c] = ["a", "b", "c"].map(|run| bench.read(&format!("{run}/state-hashes.csv")));
    assert_eq!(a, b);
    let tail: Vec<_> = a.lines().skip(1 + 3).collect();
    assert!(tail.len() > 3, "epochs are left after cycle 350");
    assert_eq!(tail, c.lines().skip(1).collect::<Vec<_>>());
    let equal = bench.warpweave(&["diff", "a", "c"]);
    assert_eq!(
        (equal.code, equal.out.starts_with("equal: ")),
        (0, true),
        "{}",
        equal.out
    );
}

#[test]
fn diff_finds_the_cycle_and_component_at_which_two_runs_part() {
    let bench = Bench::new();
    let run = |folder: &str, more: &[&str]| {
        let arguments = ["--state-hash", "100", "--out", folder];
        let ended = bench.warpweave(&json("test.ron", &[&arguments, more].concat()));
        assert_eq!(ended.code, 0, "{}", ended.err);
    };
    run("a", &[]);
    run("b", &["--set", "unit[1].cu.start_latency=3"]);
    let diff = bench.warpweave(&["diff", "a", "b", "--quiet"]);
    insta::assert_snapshot!(format!("exit {}\n{}{}", diff.code, diff.out, diff.err), @"
    exit 1
    equal up to core cycle 200; different after core cycle 300
    the runs are of different machines: `unit[1].cu` (ComputeUnit): field `start_latency`: 1 | 3
    first difference after core cycle 247
    the two runs diverge at tick 8151:
      `unit[1].cu` (ComputeUnit)
        pipes.events[0][0]: 248 | 250
    ");
    bench.warpweave(&json("test.ron", &["--out", "c"]));
    insta::assert_snapshot!(bench.warpweave(&["diff", "a", "c"]).refusal(), @"
    exit 2
    error: c holds no state hashes
    hint: repeat the run with `--state-hash 10000`
    ");
}

#[test]
fn no_registered_kind_refuses_to_be_saved() {
    // Whole systems hold most kinds. Their contents are checked by name, so a new kind is either
    // part of a system here or reported as missing.
    let mut saved = std::collections::BTreeSet::new();
    for scenario in [
        "bfs.ron",
        "matrix_multiply_60.ron",
        "bfs_60.ron",
        "matrix_multiply_60_icc.ron",
        "quicksort_device.ron",
    ] {
        let mut machine = machine(&scenarios().join(scenario), &[]);
        machine
            .check_checkpoint()
            .unwrap_or_else(|error| panic!("{scenario}: {error}"));
        let instances = machine.system().simulation.instances();
        saved.extend(instances.map(|(_, kind)| kind.to_owned()));
    }
    let registry = standard_registry();
    let missing: Vec<_> = registry
        .kinds()
        .map(|k| k.name)
        .filter(|k| !saved.contains(*k))
        .collect();
    assert_eq!(
        missing,
        ["ClockCrossing", "CoalescingChecker"],
        "kinds that no scenario here uses"
    );
}
