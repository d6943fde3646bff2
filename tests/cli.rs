//! Tests of the program's output, files and exit codes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Bench, Ended, shown, warpweave};

#[test]
fn text_report() {
    let ended = Bench::new().run(&[]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    shown("text_report", &ended.out);
}

#[test]
fn full_report() {
    let ended = Bench::new().warpweave(&["run", "test.ron", "--quiet", "--full"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    shown("full_report", &ended.out);
}

#[test]
fn list_components() {
    shown("list_components", &warpweave(&["list", "components"]).out);
}

#[test]
fn list_policies() {
    shown("list_policies", &warpweave(&["list", "policies"]).out);
}

#[test]
fn describe_policy() {
    let by_role = warpweave(&["describe", "wavefront_scheduler/Ccws"]).out;
    assert_eq!(by_role, warpweave(&["describe", "Ccws"]).out);
    shown("describe_policy", &by_role);
    // Two roles have one of this name.
    let fcfs = warpweave(&["describe", "Fcfs"]);
    insta::assert_snapshot!(fcfs.refusal(), @r"
    exit 2
    error: several roles have a policy `Fcfs`
    hint: write kernel_order/Fcfs or request_order/Fcfs
    ");
}

#[test]
fn describe_cache() {
    shown("describe_cache", &warpweave(&["describe", "Cache"]).out);
}

#[test]
fn the_kernels_of_a_ptx_file_are_listed_with_what_cannot_be_emulated() {
    let bench = Bench::new();
    bench.write(
        "some.ptx",
        ".version 7.0
.target sm_80
.address_size 64
.global .texref picture;
.shared .align 4 .b8 tile[2048];
.func copies() { .reg .b64 %rd<3>; cp.async.ca.shared.global [%rd1], [%rd2], 4; ret; }
.visible .entry scale(.param .u64 values, .param .f32 factor, .param .align 8 .b8 shape[24]) {
    .reg .b32 %r<3>; ld.shared.u32 %r1, [tile]; st.shared.u32 [tile+4], %r1; ret; }
.visible .entry gather(.param .u64 values) {
    .reg .b32 %r<3>; call copies; mov.u32 %r1, %clock; ret; }
",
    );
    let ended = bench.warpweave(&["ptx", "some.ptx"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    shown("ptx", &ended.out);
    let one = bench.warpweave(&["ptx", "some.ptx", "--entry", "scale"]);
    assert!(!one.out.contains("gather") && one.out.contains("factor"));
    let wrong = bench.warpweave(&["ptx", "some.ptx", "--entry", "scael"]);
    insta::assert_snapshot!(wrong.refusal(), @"
    exit 2
    error: --entry scael: some.ptx has no such kernel
    hint: did you mean `scale`? kernels: scale, gather
    ");
}

#[test]
fn lists_name_every_file_and_statistic() {
    for (what, expected) in [
        ("systems", "scenarios/systems/tiny.ron"),
        ("workloads", "scenarios/workloads/bfs.ron"),
        ("stats", "read_hit_rate"),
    ] {
        let ended = warpweave(&["list", what]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.out.contains(expected), "{what}: {}", ended.out);
    }
}

#[test]
fn statistics_are_listed_in_a_folder_without_scenarios() {
    let bench = Bench::new();
    let ended = bench.warpweave(&["list", "stats", "--folder", "nowhere"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert_eq!(ended.out, warpweave(&["list", "stats"]).out);
    let line = ended.out.lines().find(|line| line.contains("mshrs_max"));
    let words: Vec<_> = line.unwrap().split_whitespace().collect();
    assert_eq!(words[..3], ["mshrs_max", "MSHRs", "maximum"]);
}

#[test]
fn check_counts_the_parts_and_prints_the_resolved_system() {
    let bench = Bench::new();
    let ended = bench.warpweave(&["check", "test.ron"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.out.contains("2 ComputeUnit"), "{}", ended.out);
    assert!(
        ended.out.contains("for 2 threads: 11 partitions")
            && ended.out.contains("look-ahead limited by"),
        "{}",
        ended.out
    );
    let resolved = bench.warpweave(&["check", "test.ron", "--resolved"]);
    assert!(
        resolved.out.contains("\"unit[1].cu\": ComputeUnit("),
        "{}",
        resolved.out
    );
}

#[test]
fn traces_are_recorded_summarised_and_printed() {
    let bench = Bench::new();
    assert_eq!(
        bench
            .warpweave(&["trace", "record", "test.ron", "t.trace"])
            .code,
        0
    );
    let info = bench.warpweave(&["trace", "info", "t.trace"]);
    assert!(
        info.code == 0 && info.out.contains("vector_add"),
        "{}{}",
        info.out,
        info.err
    );
    let dump = bench.warpweave(&["trace", "dump", "t.trace", "--work-group", "3"]);
    assert!(
        dump.code == 0 && dump.out.lines().count() > 10,
        "{}{}",
        dump.out,
        dump.err
    );
    let beyond = bench.warpweave(&["trace", "dump", "t.trace", "--work-group", "4"]);
    assert_eq!(beyond.code, 2);
    assert!(beyond.err.contains("4 work-groups"), "{}", beyond.err);
}

#[test]
fn json_report_has_the_documented_keys() {
    let ended = Bench::new().warpweave(&["run", "test.ron", "--format", "json", "--quiet"]);
    let report = ended.json();
    for key in [
        "schema_version",
        "scenario",
        "status",
        "verified",
        "cycles",
        "simulated_s",
        "wavefront_instructions",
        "thread_instructions",
        "ipc",
        "kernels",
        "stats",
        "host",
    ] {
        assert!(!report[key].is_null(), "{key}");
    }
    for key in [
        "wall_s",
        "cpu_s",
        "emulation_cpu_s",
        "simulation_cpu_s",
        "wavefront_instructions_per_s",
        "peak_rss_bytes",
        "threads",
        "windows_together",
        "windows_alone",
    ] {
        assert!(report["host"][key].is_number(), "{key}");
    }
    assert_eq!(report["verified"], Value::Bool(true));
    let reads = &report["stats"]["unit[0].l1"]["reads"];
    assert!(
        reads["value"].as_u64() > Some(0) && reads["unit"] == "requests",
        "{reads}"
    );
}

#[test]
fn the_host_part_tells_how_many_windows_threads_worked_on_together_and_one_alone() {
    let bench = Bench::new();
    let host = |threads: &str| {
        let arguments = ["run", "test.ron", "--format", "json", "--threads", threads];
        let host = bench.warpweave(&arguments).json()["host"].clone();
        ["threads", "windows_together", "windows_alone"].map(|key| host[key].as_u64().unwrap())
    };
    let [_, together, alone] = host("1");
    assert_eq!(together, 0);
    assert!(alone > 0);
    // On one core there is one thread. Others begin together, and part when one is faster.
    let [threads, together, _] = host("2");
    assert_eq!(threads > 1, together > 0);
}

#[test]
fn verified_is_false_after_a_mismatch_and_null_without_expectations() {
    let verified = |to: &str, code: i32| {
        let bench = Bench::new().edit(
            "workloads/vector_add.ron",
            r#"VectorAdd(a: "a", b: "b")"#,
            to,
        );
        let ended = bench.warpweave(&["run", "test.ron", "--format", "json", "--quiet"]);
        assert_eq!(ended.code, code, "{}", ended.err);
        (
            ended.json()["verified"].clone(),
            ended.json()["status"].clone(),
        )
    };
    assert_eq!(
        verified(r#"VectorAdd(a: "a", b: "a")"#, 1),
        (false.into(), "mismatch".into())
    );
    let bench = Bench::new();
    let text = bench.read("workloads/vector_add.ron");
    let start = text.find("    expect:").unwrap();
    bench.write(
        "workloads/vector_add.ron",
        &format!("{})\n", &text[..start]),
    );
    let ended = bench.warpweave(&["run", "test.ron", "--format", "json", "--quiet"]);
    assert_eq!((ended.code, &ended.json()["verified"]), (0, &Value::Null));
}

const FILES: [&str; 5] = [
    "report.json",
    "report.txt",
    "scenario.ron",
    "system.ron",
    "manifest.json",
];

#[test]
fn results_folder_holds_report_inputs_and_manifest() {
    let bench = Bench::new();
    let ended = bench.warpweave(&[
        "run", "test.ron", "--quiet", "--out", "r", "--set", "seed=3",
    ]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    for file in FILES {
        assert!(!bench.read(&format!("r/{file}")).is_empty(), "{file}");
    }
    let manifest: Value = serde_json::from_str(&bench.read("r/manifest.json")).unwrap();
    assert_eq!(manifest["seed"], 3);
    assert_eq!(bench.read("r/report.txt"), ended.out);
    assert_eq!(bench.read("r/scenario.ron"), bench.read("test.ron"));
}

#[test]
fn limit_of_cycles_ends_the_run_with_a_report() {
    let ended = Bench::new().warpweave(&[
        "run",
        "test.ron",
        "--quiet",
        "--format",
        "json",
        "--set",
        "limits.cycles=300",
    ]);
    assert_eq!(ended.code, 1);
    assert_eq!(ended.json()["status"], "limit");
    assert!(ended.err.contains("limits.cycles"), "{}", ended.err);
}

#[test]
fn full_disk_is_the_machines_fault() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return;
    };
    let output = Bench::new()
        .command(&["run", "test.ron", "--quiet", "--format", "json"])
        .stdout(full)
        .output()
        .unwrap();
    let ended = Ended::of(&output);
    assert_eq!(ended.code, 3);
    assert!(ended.err.contains("standard output"), "{}", ended.err);
}

#[test]
fn closed_output_does_not_lose_results() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["run", "test.ron", "--quiet", "--out", "r"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
    for file in FILES {
        assert!(bench.path("r").join(file).exists(), "{file}");
    }
}

/// Starts a run, interrupts it once its log shows `line`, and returns its exit code.
fn interrupted(bench: &Bench, sets: &[&str], line: &str) -> Option<i32> {
    let mut arguments = vec!["run", "test.ron", "--verbose", "--out", "r"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    let mut child = bench
        .command(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(
        log.any(|l| l.unwrap().ends_with(line)),
        "the log never says `{line}`"
    );
    Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    for rest in log {
        rest.unwrap();
    }
    child.wait().unwrap().code()
}

#[test]
fn interrupted_simulation_reports_what_was_simulated() {
    let bench = Bench::new();
    let code = interrupted(&bench, &["workload.n=2000000"], "simulating");
    assert_eq!(code, Some(130));
    let report: Value = serde_json::from_str(&bench.read("r/report.json")).unwrap();
    assert_eq!(report["status"], "interrupted");
    assert_eq!(report["kernels"][0]["completed"], Value::Null);
    let manifest: Value = serde_json::from_str(&bench.read("r/manifest.json")).unwrap();
    assert_eq!(manifest["complete"], false);
}

#[test]
fn interrupted_emulation_ends_at_once() {
    let bench = Bench::new();
    let code = interrupted(&bench, &["workload.n=8000000"], "emulating the program");
    assert_eq!(code, Some(130));
    assert!(!bench.path("r/report.json").exists());
}

#[test]
fn the_log_is_filtered_by_crate_and_states_how_long_each_phase_took() {
    let bench = Bench::new();
    let run = ["run", "test.ron", "--quiet"];
    let plain = bench.warpweave(&run);
    assert_eq!(plain.err, "");
    let spans = |filter: &str| -> Vec<String> {
        let mut command = bench.command(&run);
        let ended = Ended::of(&command.env("WARPWEAVE_LOG", filter).output().unwrap());
        assert_eq!((ended.code, &ended.out), (0, &plain.out));
        let lines = ended.err.lines().filter_map(|line| {
            let (span, times) = line.trim_start().split_once(": close ")?;
            assert!(times.starts_with("time.busy="), "{line}");
            Some(span.to_owned())
        });
        lines.collect()
    };
    assert_eq!(
        spans("warpweave_systems=debug"),
        [
            "DEBUG load{path=\"test.ron\"}",
            "DEBUG emulate",
            "DEBUG elaborate"
        ]
    );
    assert_eq!(spans("warpweave_cli::run=info"), ["INFO run"]);
    let all = spans("trace");
    assert!(
        all.iter().any(|span| span == "DEBUG run:simulate"),
        "{all:?}"
    );
    let windows = |span: &String| span.starts_with("TRACE run:simulate:windows{opened=");
    assert!(all.iter().any(windows), "{all:?}");
}
