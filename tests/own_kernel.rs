//! Tests a user's own kernel and data: the working case, and the messages for common mistakes.

use std::fs;

use insta::assert_snapshot;

use crate::harness::{Bench, Ended, scenarios};

const FOLDER: &str = "bring-your-own-kernel";

/// Copies the folder of the example so that a test can break things in it.
fn example() -> Bench {
    let bench = Bench::new();
    for entry in fs::read_dir(scenarios().join(FOLDER)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = fs::read_to_string(scenarios().join(FOLDER).join(&name)).unwrap();
        bench.write(&format!("{FOLDER}/{name}"), &text);
    }
    bench
}

fn run(bench: &Bench, more: &[&str]) -> Ended {
    let arguments = ["run", "bring-your-own-kernel/scenario.ron", "--quiet"];
    bench.warpweave(&[&arguments[..], more].concat())
}

/// Returns the error message after replacing a piece of a file of the example.
fn refusal(file: &str, piece: &str, replacement: &str) -> String {
    let bench = example();
    let path = format!("{FOLDER}/{file}");
    let text = fs::read_to_string(bench.path(&path)).unwrap();
    assert!(text.contains(piece), "{piece}");
    bench.write(&path, &text.replacen(piece, replacement, 1));
    run(&bench, &[]).refusal()
}

#[test]
fn a_kernel_with_data_and_answers_from_tables_is_verified_and_writes_its_results() {
    let bench = example();
    let ended = run(&bench, &["--format", "json", "--results", "out"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(ended.json()["verified"], true);
    let expected = fs::read_to_string(bench.path(&format!("{FOLDER}/expected.csv"))).unwrap();
    let smoothed = fs::read_to_string(bench.path("out/smoothed.csv")).unwrap();
    for (expected, written) in expected.lines().zip(smoothed.lines()) {
        assert_eq!(expected.split(',').next().unwrap(), written);
    }
    let warm = fs::read(bench.path("out/warm.npy")).unwrap();
    let marks = expected
        .lines()
        .skip(1)
        .map(|line| u8::from(line.ends_with(",1")));
    assert!(warm.ends_with(&marks.collect::<Vec<u8>>()));
    assert!(warm.starts_with(b"\x93NUMPY\x01\x00"));
    let again = run(&bench, &["--results", "out"]);
    assert_snapshot!(again.refusal(), @"
    exit 2
    error: --results: out already exists, and results never overwrite
    hint: choose another folder, or remove it
    ");
    let kept = fs::read_to_string(bench.path("out/smoothed.csv")).unwrap();
    assert_eq!(kept, smoothed);
}

#[test]
fn results_of_a_workload_that_names_none_are_refused_before_it_runs() {
    let ended = Bench::new().warpweave(&["run", "test.ron", "--results", "out"]);
    assert_snapshot!(ended.refusal(), @r#"
    exit 2
    error: --results: workloads/vector_add.ron does not define results
    hint: name buffers that it copies to the host, such as `results: { "sum": Csv }`
    "#);
}

#[test]
fn a_wrong_value_in_a_table_is_named_by_its_line_and_column() {
    assert_snapshot!(refusal("measurements.csv", "north,3,", "north,3,warm"), @r#"
    exit 2
    error: bring-your-own-kernel/measurements.csv:5:9: expected a number in the range of f32, found "warm17.0"
     --> bring-your-own-kernel/workload.ron:9:45
      |
    9 |         "celsius": File(element: F32, path: "measurements.csv", column: "celsius"),
      |                                             ^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn a_file_that_is_not_there_is_named_where_the_workload_does() {
    assert_snapshot!(refusal("workload.ron", "\"measurements.csv\"", "\"measurement.csv\""), @r#"
    exit 2
    error: bring-your-own-kernel/measurement.csv: cannot read: No such file or directory (os error 2)
     --> bring-your-own-kernel/workload.ron:9:45
      |
    9 |         "celsius": File(element: F32, path: "measurement.csv", column: "celsius"),
      |                                             ^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn a_structure_of_another_size_is_refused_with_both_sizes() {
    let piece = "F32(\"=threshold\")";
    assert_snapshot!(refusal("workload.ron", piece, "Struct([F32(\"=threshold\"), U32(1)])"), @r#"
    exit 2
    error: argument 5 of kernel `smooth` is a structure of 8 bytes, but the parameter is of type .f32
      --> bring-your-own-kernel/workload.ron:18:83
       |
    18 |                 Buffer("celsius"), Buffer("smoothed"), Buffer("warm"), U32("=n"), Struct([F32("=threshold"), U32(1)]),
       |                                                                                   ^^^^^^
    "#);
}

#[test]
fn an_instruction_that_is_not_supported_is_named_in_the_module_and_where_it_is_launched() {
    let piece = "ld.param.u32 \t%r2";
    let unsupported = "wgmma.fence.sync.aligned;\n\tld.param.u32 \t%r2";
    assert_snapshot!(refusal("smooth.ptx", piece, unsupported), @r#"
    exit 2
    error: `wgmma.fence.sync.aligned`: warp-group instructions are not supported
      --> bring-your-own-kernel/smooth.ptx:26:2
       |
    26 |     wgmma.fence.sync.aligned;
       |     ^^^^^^^^^^^^^^^^^^^^^^^^
    note: kernel `smooth` uses this and is launched here
      --> bring-your-own-kernel/workload.ron:16:21
       |
    16 |             kernel: "smooth", grid: "=ceil_div(n, block)", block: "=block",
       |                     --------
    "#);
}

#[test]
fn a_wrong_answer_shows_the_first_differences() {
    let bench = example();
    let path = format!("{FOLDER}/expected.csv");
    let text = fs::read_to_string(bench.path(&path)).unwrap();
    bench.write(&path, &text.replacen("17.125,", "17.25,", 1));
    let ended = run(&bench, &[]);
    assert_eq!(ended.code, 1);
    assert_snapshot!(ended.err, @"error: `smoothed` differs from Column: 1 of 60 differ: [1] is 17.125, expected 17.25");
}
