//! Tests of the program as a user calls it: its JSON, and its gate.

#[path = "../../../tests/optional_tool.rs"]
mod optional_tool;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpweave-bench"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// True if valgrind counts instructions here. Its absence is a failure only in CI.
fn has_valgrind() -> bool {
    let counts_nothing = |program: &OsStr| {
        let counted = || {
            let output = Command::new(program)
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "true"])
                .output()
                .ok()?;
            (!output.status.success()).then(|| format!("callgrind ends with {}", output.status))
        };
        optional_tool::tells_no_version(program).or_else(counted)
    };
    let names = [OsString::from("valgrind")];
    optional_tool::find(names, counts_nothing, "apt-get install valgrind").is_some()
}

/// Lists the crates from which a package is built, with their requested features.
fn built_from(package: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p} {f}"])
        .args(["--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(tree.status.success(), "{tree:?}");
    let lines = String::from_utf8(tree.stdout).expect("cargo speaks UTF-8");
    let lines = lines.lines().map(|line| line.trim_end_matches(" (*)"));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_simulator_is_built_once_for_benchmarks_and_the_program() {
    let program = built_from("warpweave");
    let more: Vec<_> = built_from("warpweave-bench")
        .into_iter()
        .filter(|built| !program.contains(built))
        .collect();
    let [alone] = &more[..] else {
        panic!("{more:#?}");
    };
    assert!(alone.starts_with("warpweave-bench "), "{alone}");
}

#[test]
fn json_has_each_workload_with_each_implementation_that_ran() {
    let arguments = "kernel pipe --pairs 2 --shorter 10 --format json";
    let output = bench(&arguments.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&json), ["pipe"]);
    assert_eq!(names(&json["pipe"]), ["limit", "warpweave"]);
    for (name, figure) in json["pipe"].as_object().unwrap() {
        assert!(figure["ns"].as_f64().unwrap() > 0.0, "{name}: {figure}");
        let instructions = figure.get("instructions").and_then(Value::as_f64);
        assert_eq!(instructions.is_some(), has_valgrind(), "{name}: {figure}");
    }
    assert!(json["pipe"]["limit"]["ratio"]["median"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_gate_fails_on_a_table_that_is_too_low_and_passes_on_one_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let gate = |instructions: &str| {
        fs::write(
            &table,
            format!("workload,instructions,tolerance_percent\nsignals,{instructions},3\n"),
        )
        .unwrap();
        bench(&[
            "gate",
            "--shorter",
            "20",
            "--table",
            table.to_str().unwrap(),
        ])
    };
    let low = gate("10.0");
    let errors = String::from_utf8_lossy(&low.stderr);
    if !has_valgrind() {
        assert_eq!(low.status.code(), Some(2));
        assert!(errors.contains("valgrind"), "{errors}");
        return;
    }
    assert_eq!(low.status.code(), Some(1), "{errors}");
    assert!(String::from_utf8_lossy(&low.stdout).contains("MORE THAN ALLOWED"));
    assert!(errors.contains("gate --write"), "{errors}");
    assert!(gate("1000000.0").status.success());
}

/// Creates a program that prints a run's report and does almost nothing else.
#[cfg(unix)]
fn program_of_wavefront_instructions(folder: &Path, count: u64) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = folder.join("warpweave");
    let report = format!("{{ \"wavefront_instructions\": {count} }}");
    fs::write(&program, format!("#!/bin/sh\necho '{report}'\n")).expect("the folder is writable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it was just written");
    program
}

#[cfg(unix)]
#[test]
fn a_whole_system_is_counted_per_wavefront_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let rows = "workload,instructions,tolerance_percent\nscenarios/bfs_60.ron,1000.0,1\n";
    fs::write(&table, rows).unwrap();
    let gate = |program: &Path| {
        let (table, program) = (table.to_str().unwrap(), program.to_str().unwrap());
        bench(&["gate", "--table", table, "--program", program])
    };
    let none = gate(&folder.path().join("none"));
    let errors = String::from_utf8_lossy(&none.stderr);
    assert_eq!(none.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--program"), "{errors}");
    if !has_valgrind() {
        return;
    }
    let verdict = |count| {
        let output = gate(&program_of_wavefront_instructions(folder.path(), count));
        output.status.code()
    };
    assert_eq!(
        verdict(1),
        Some(1),
        "a shell needs more than 1000 instructions"
    );
    assert_eq!(verdict(1_000_000_000), Some(0));
}

#[test]
fn a_table_that_cannot_be_used_is_told_with_a_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let gate = || bench(&["gate", "--table", table.to_str().unwrap()]);
    for text in [
        "",
        "workload,instructions,tolerance_percent\n",
        "workload,instructions\nring,1.0\n",
        "workload,instructions,tolerance_percent\nrung,1.0,3\n",
    ] {
        fs::write(&table, text).unwrap();
        let output = gate();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("hint: "), "{errors}");
    }
    fs::remove_file(&table).unwrap();
    assert_eq!(gate().status.code(), Some(2));
}

#[test]
fn the_stored_table_has_every_workload_and_the_whole_systems_once() {
    let table = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.csv"));
    let table = table.expect("the table is stored");
    let names: Vec<&str> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    let all = [
        "ring",
        "pipe",
        "phold",
        "sleepers",
        "crossing",
        "signals",
        "elaboration",
        "emulated-integer",
        "emulated-float",
        "emulated-memory",
        "emulated-scatter",
        "scenarios/matrix_multiply_60.ron",
        "scenarios/bfs_60.ron",
        "scenarios/vector_add_gtx480.ron",
        "scenarios/matrix_multiply_60.ron workload.n=16",
        "scenarios/matrix_multiply_60.ron workload.n=16 params.clusters=1 params.units_per_cluster=1",
        "scenarios/matrix_multiply_60.ron measure.kernels=true measure.every_cycles=10000",
        "scenarios/bfs_60.ron measure.kernels=true",
        "tools/bench/scenarios/addition_gtx480.ron",
        "tools/bench/scenarios/addition_titanx.ron",
        "tools/bench/scenarios/addition_titanv.ron",
        "tools/bench/scenarios/addition_qv100.ron",
        "tools/bench/scenarios/search_gtx480.ron",
        "tools/bench/scenarios/search_titanx.ron",
        "tools/bench/scenarios/search_titanv.ron",
        "tools/bench/scenarios/search_qv100.ron",
    ];
    assert_eq!(names, all);
    let count = |name: &str| -> f64 {
        let row = table
            .lines()
            .find(|line| line.split(',').next() == Some(name));
        let count = row.and_then(|row| row.split(',').nth(1));
        count
            .expect("the option is in the table")
            .parse()
            .expect("a number")
    };
    for (measured, plain) in [(16, 11), (17, 12)] {
        let measured = count(all[measured]) / count(all[plain]);
        assert!(measured < 1.03, "measuring costs {measured}");
    }
}
