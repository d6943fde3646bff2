//! Checks that a trace runs like the program from which it was recorded.

use std::fmt::Write as _;

use serde_json::Value;

use crate::harness::{Bench, Ended, scenarios, shown};

/// Records the trace of the scenario `test.ron`.
fn recorded(bench: &Bench, sets: &[&str]) {
    let mut record = vec!["--quiet", "trace", "record", "test.ron", "test.trace"];
    for set in sets {
        record.extend(["--set", set]);
    }
    let ended = bench.warpweave(&record);
    assert_eq!(ended.code, 0, "{}", ended.err);
}

/// Extracts the simulated results, without host measurements.
fn simulated(ended: &Ended) -> Vec<Value> {
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report = ended.json();
    ["cycles", "kernels", "stats"]
        .map(|name| report[name].clone())
        .to_vec()
}

fn by_trace(bench: &Bench, system: &str, more: &[&str]) -> Ended {
    let run = [
        "--quiet",
        "run",
        "--trace",
        "test.trace",
        "--system",
        system,
    ];
    bench.warpweave(&[&run[..], &["--format", "json"], more].concat())
}

const WITH_TRACE: &str = r#"Scenario(system: "systems/tiny.ron", trace: "test.trace")"#;

#[test]
fn a_trace_takes_the_time_that_its_program_takes() {
    let bench = Bench::new();
    recorded(&bench, &[]);
    let program = bench.warpweave(&["--quiet", "run", "test.ron", "--format", "json"]);
    assert_eq!(program.json()["verified"], true);
    let trace = by_trace(&bench, "systems/tiny.ron", &[]);
    assert_eq!(simulated(&trace), simulated(&program));
    // It holds no values to verify.
    assert_eq!(trace.json()["verified"], Value::Null);
    bench.write("traced.ron", WITH_TRACE);
    let scenario = bench.warpweave(&["--quiet", "run", "traced.ron", "--format", "json"]);
    assert_eq!(simulated(&scenario), simulated(&program));
    // On another machine it is another run, of the same program.
    let slower = by_trace(
        &bench,
        "systems/tiny.ron",
        &["--set", "unit[*].cu.start_latency=40"],
    );
    let slower = slower.json();
    assert_eq!(slower["status"], "done");
    assert_eq!(
        slower["wavefront_instructions"],
        program.json()["wavefront_instructions"]
    );
}

#[test]
fn a_program_that_launches_from_the_device_is_run_by_its_trace() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    bench.write(
        "test.ron",
        &format!(
            "Scenario(system: \"{root}/systems/laser.ron\", workload: \"{root}/workloads/quicksort_device.ron\")"
        ),
    );
    recorded(&bench, &["workload.n=1500"]);
    let program = [
        "--quiet",
        "run",
        "test.ron",
        "--set",
        "workload.n=1500",
        "--format",
        "json",
    ];
    let program = bench.warpweave(&program);
    let trace = by_trace(&bench, &format!("{root}/systems/laser.ron"), &[]);
    assert_eq!(simulated(&trace), simulated(&program));
}

#[test]
fn a_run_of_a_trace_goes_on_from_its_checkpoint_and_says_how_to_repeat_it() {
    let bench = Bench::new();
    recorded(&bench, &[]);
    let system = "systems/tiny.ron";
    let saving = [
        "--checkpoint",
        "saved",
        "--checkpoint-at",
        "500",
        "--out",
        "first",
    ];
    let whole = by_trace(&bench, system, &saving);
    let resumed = by_trace(&bench, system, &["--resume", "saved"]);
    assert_eq!(simulated(&resumed), simulated(&whole));
    let manifest: Value = serde_json::from_str(&bench.read("first/manifest.json")).unwrap();
    assert_eq!(
        manifest["command"],
        serde_json::json!([
            "warpweave",
            "run",
            "--trace",
            "test.trace",
            "--system",
            "systems/tiny.ron"
        ])
    );
    // The scenario that it writes beside its results is one.
    let text = bench.read("first/scenario.ron");
    bench.write("again.ron", &text);
    let again = bench.warpweave(&["--quiet", "run", "again.ron", "--format", "json"]);
    assert_eq!(simulated(&again), simulated(&whole));
}

#[test]
fn what_no_trace_can_do_is_refused_with_its_place() {
    let bench = Bench::new();
    recorded(&bench, &[]);
    let mut said = String::new();
    let mut refused = |text: &str, arguments: &[&str]| {
        bench.write("traced.ron", text);
        let ended = bench.warpweave(&[&["--quiet", "run"], arguments].concat());
        assert_ne!(ended.code, 0, "{text}");
        said.push_str(&ended.refusal());
        said.push('\n');
    };
    let alone = ["traced.ron"];
    refused(r#"Scenario(system: "systems/tiny.ron")"#, &alone);
    refused(
        r#"Scenario(system: "systems/tiny.ron", trace: "test.trace", workload: "workloads/vector_add.ron")"#,
        &alone,
    );
    refused(
        r#"Scenario(system: "systems/tiny.ron", trace: "test.trace", size: "S")"#,
        &alone,
    );
    refused(
        r#"Scenario(system: "systems/tiny.ron", trace: "test.trace", emulation: (quantum: 8))"#,
        &alone,
    );
    refused(
        r#"Scenario(system: "systems/tiny.ron", trace: "test.ron")"#,
        &alone,
    );
    refused(
        r#"Scenario(system: "systems/tiny.ron", trace: "missing.trace")"#,
        &alone,
    );
    refused(WITH_TRACE, &["traced.ron", "--set", "workload.n=8"]);
    refused(WITH_TRACE, &["traced.ron", "--check-program"]);
    refused(WITH_TRACE, &["--trace", "test.trace"]);
    refused(
        WITH_TRACE,
        &["--trace", "test.trace", "--system", "systems/tony.ron"],
    );
    shown("trace_refusals", &said);
}

#[test]
fn a_trace_cut_short_or_changed_is_refused() {
    let bench = Bench::new();
    recorded(&bench, &[]);
    bench.write("traced.ron", WITH_TRACE);
    let whole = std::fs::read(bench.path("test.trace")).unwrap();
    for length in (0..whole.len()).step_by(1 + whole.len() / 40) {
        std::fs::write(bench.path("test.trace"), &whole[..length]).unwrap();
        let ended = bench.warpweave(&["--quiet", "run", "traced.ron"]);
        assert!(matches!(ended.code, 1 | 2), "{length}: {}", ended.code);
        let mut changed = whole.clone();
        changed[length] ^= 0x10;
        std::fs::write(bench.path("test.trace"), &changed).unwrap();
        let ended = bench.warpweave(&["--quiet", "run", "traced.ron"]);
        assert!(matches!(ended.code, 1 | 2), "{length}: {}", ended.code);
    }
}

/// Path of an Accel-Sim trace in the repository.
fn foreign(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = folder.join("systems/accel-sim/tests/accel_sim/vectors");
    folder.join(name).display().to_string()
}

#[test]
fn a_trace_of_accel_sim_runs_like_what_is_imported_from_it_and_leaves_nothing() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("temporary")).unwrap();
    let within = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        command.env("TMPDIR", bench.path("temporary"));
        let ended = Ended::of(&command.output().unwrap());
        let left = std::fs::read_dir(bench.path("temporary")).unwrap().count();
        assert_eq!(left, 0, "{}", ended.err);
        ended
    };
    let system = ["--system", "systems/tiny.ron", "--format", "json"];
    for name in [
        "kernelslist.g",
        "kernel-modes.traceg",
        "packed.traceg.xz",
        "packed.traceg.zst",
    ] {
        let name = foreign(name);
        let imported = bench.warpweave(&["trace", "import", &name, "-o", "it.trace"]);
        assert_eq!(imported.code, 0, "{}", imported.err);
        let apart = within(&[&["--quiet", "run", "--trace", "it.trace"][..], &system].concat());
        let at_once = within(&[&["run", "--trace", &name][..], &system].concat());
        assert_eq!(simulated(&at_once), simulated(&apart), "{name}");
        for unmodelled in imported
            .err
            .lines()
            .filter(|line| line.contains("not modelled"))
        {
            assert!(at_once.err.contains(unmodelled), "{}", at_once.err);
        }
    }
    // Nothing stays of one that is refused in the middle either.
    let whole = std::fs::read_to_string(foreign("kernel-modes.traceg")).unwrap();
    bench.write("cut.traceg", &whole[..whole.len() / 2]);
    let refused = within(&[&["--quiet", "run", "--trace", "cut.traceg"][..], &system].concat());
    shown("foreign_trace_refused", &refused.refusal());
}

#[test]
fn a_folder_for_temporary_files_that_is_not_there_is_a_failure_of_the_host() {
    let bench = Bench::new();
    let name = foreign("kernelslist.g");
    let mut command = bench.command(&["run", "--trace", &name, "--system", "systems/tiny.ron"]);
    command.env("TMPDIR", bench.path("nowhere"));
    let ended = Ended::of(&command.output().unwrap());
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("TMPDIR"), "{}", ended.err);
}

#[test]
fn an_exported_program_takes_the_time_that_it_took_but_for_what_is_listed() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    let mut said = String::new();
    for (workload, sets) in [
        ("vector_add", &["workload.n=256", "workload.block=64"][..]),
        ("bfs", &["workload.graph=Grid(width: 12, height: 12)"]),
        ("reduction", &["workload.n=1024"]),
    ] {
        bench.write(
            "test.ron",
            &format!("Scenario(system: \"systems/tiny.ron\", workload: \"{root}/workloads/{workload}.ron\")"),
        );
        recorded(&bench, sets);
        let folder = format!("exported_{workload}");
        let exported = bench.warpweave(&["trace", "export", "test.trace", "-o", &folder]);
        assert_eq!(
            (exported.code, exported.out.as_str()),
            (0, ""),
            "{}",
            exported.err
        );
        let direct = by_trace(&bench, "systems/tiny.ron", &[]).json();
        let list = format!("{folder}/kernelslist.g");
        let run = [
            "--quiet",
            "run",
            "--trace",
            &list,
            "--system",
            "systems/tiny.ron",
            "--format",
            "json",
        ];
        let back = bench.warpweave(&run).json();
        for count in ["wavefront_instructions", "thread_instructions"] {
            assert_eq!(back[count], direct[count], "{workload}");
        }
        let (back, direct) = (&back["cycles"], &direct["cycles"]);
        let row = writeln!(
            said,
            "{workload}: {direct} cycles, read back {back}\n{}",
            exported.err
        );
        row.unwrap();
    }
    // An export replaces nothing.
    let again = bench.warpweave(&["trace", "export", "test.trace", "-o", "exported_bfs"]);
    said.push_str(&again.refusal());
    shown("exported_traces", &said);
}
