//! Expectations that compare two buffers of one run.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use warpweave_inputs::ElementType::{F32, U32};
use warpweave_inputs::reference::{Computed, standard_references};
use warpweave_params::{Diagnostics, Files, Source, parse};

use super::EMPTY;
use crate::host_program::{Commands, Contents, EmulationSpec, Executed, HostProgram, Tolerance};

/// Two ways to the same values, one element of which differs by a quarter.
const PAIR: &str = r#"Workload(
    module: "empty.ptx",
    structs: { "Point": { "x": F32, "tag": U32 } },
    buffers: {
        "slow": Values(element: F32, values: [1, 2, 4]),
        "fast": Values(element: F32, values: [1, 2, 3]),
        "points": Zero(element: Struct("Point"), length: 3),
        "whole": Zero(element: U32, length: 3),
        "short": Zero(element: F32, length: 2),
        "kept": Zero(element: F32, length: 3),
    },
    commands: [
        CopyToDevice("slow"), CopyToDevice("fast"),
        Write(buffer: "fast", index: 2, value: 3.75),
        Write(buffer: "points.x", index: 0, value: 1),
        CopyToHost("slow"), CopyToHost("fast"), CopyToHost("points"),
        CopyToHost("whole"), CopyToHost("short"),
    ],
    expect: [Expect(buffer: "fast", equals: Computed("slow"), tolerance: Absolute(0.25))],
)
"#;

fn read(piece: &str, replacement: &str) -> Result<HostProgram, Diagnostics> {
    assert!(PAIR.contains(piece), "{piece}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.ptx"), EMPTY).unwrap();
    let node = parse(&Source::new(
        "pair.ron",
        PAIR.replacen(piece, replacement, 1),
    ))?;
    let (files, none) = (Files::of(folder.path()), BTreeMap::new());
    HostProgram::from_node(&node, &files, None, &none, &standard_references())
}

fn executed(piece: &str, replacement: &str) -> Executed {
    let program = read(piece, replacement).unwrap_or_else(|problems| panic!("{problems}"));
    program.execute(&EmulationSpec::default()).unwrap()
}

fn refusal(piece: &str, replacement: &str) -> String {
    read(piece, replacement).unwrap_err().to_string()
}

#[test]
fn a_buffer_is_compared_with_another_of_the_run_within_the_tolerance() {
    let within = executed("Absolute(0.25)", "Absolute(0.25)");
    assert_eq!(within.verified, Some(true), "{:?}", within.checks);
    assert_eq!(within.checks[0].reference, "Computed");
    let relative = executed("Absolute(0.25)", "Relative(0.0625)");
    assert_eq!(relative.verified, Some(true), "{:?}", relative.checks);
    for tolerance in ["Absolute(0.2)", "Relative(0.06)", "Exact"] {
        let differs = executed("Absolute(0.25)", tolerance);
        assert_eq!(differs.verified, Some(false), "{tolerance}");
        let detail = &differs.checks[0].detail;
        assert_eq!(detail, "1 of 3 differ: [2] is 3.75, expected 4.0");
    }
}

#[test]
fn a_field_of_structures_is_compared_too() {
    let executed = executed("Computed(\"slow\")", "Computed(\"points.x\")");
    let detail = &executed.checks[0].detail;
    assert!(detail.contains("[1] is 2.0, expected 0.0"), "{detail}");
}

#[test]
fn a_compared_buffer_that_does_not_exist_is_named_with_the_nearest() {
    assert_snapshot!(refusal("Computed(\"slow\")", "Computed(\"sloww\")"), @r#"
    error: unknown buffer `sloww`
      --> pair.ron:19:54
       |
    19 |     expect: [Expect(buffer: "fast", equals: Computed("sloww"), tolerance: Absolute(0.25))],
       |                                                      ^^^^^^^
       = hint: did you mean `slow`? buffers: slow, fast, points, whole, short, kept
    "#);
}

#[test]
fn a_compared_buffer_of_another_type_or_length_is_refused_with_its_place() {
    assert_snapshot!(refusal("Computed(\"slow\")", "Computed(\"whole\")"), @r#"
    error: Computed returns U32 elements, but buffer `fast` has F32
      --> pair.ron:19:29
       |
    19 |     expect: [Expect(buffer: "fast", equals: Computed("whole"), tolerance: Absolute(0.25))],
       |                             ^^^^^^
    "#);
    assert_snapshot!(refusal("Computed(\"slow\")", "Computed(\"short\")"), @r#"
    error: Computed returns 2 elements, but buffer `fast` has 3
      --> pair.ron:19:45
       |
    19 |     expect: [Expect(buffer: "fast", equals: Computed("short"), tolerance: Absolute(0.25))],
       |                                             ^^^^^^^^
    "#);
    assert_snapshot!(refusal("Computed(\"slow\")", "Computed(\"points\")"), @r#"
    error: buffer `points` has structures `Point`, and numbers are needed here
      --> pair.ron:19:54
       |
    19 |     expect: [Expect(buffer: "fast", equals: Computed("points"), tolerance: Absolute(0.25))],
       |                                                      ^^^^^^^^
       = hint: name one of its fields: "points.x", "points.tag"
    "#);
}

#[test]
fn a_compared_buffer_must_be_copied_to_the_host_and_be_another_one() {
    assert_snapshot!(refusal("Computed(\"slow\")", "Computed(\"kept\")"), @r#"
    error: buffer `kept` is an expected value but is never copied to the host
      --> pair.ron:19:54
       |
    19 |     expect: [Expect(buffer: "fast", equals: Computed("kept"), tolerance: Absolute(0.25))],
       |                                                      ^^^^^^
       = hint: add CopyToHost("kept") to the commands
    "#);
    assert_snapshot!(refusal("Computed(\"slow\")", "Computed(\"fast\")"), @r#"
    error: buffer `fast` would be compared with itself
      --> pair.ron:19:54
       |
    19 |     expect: [Expect(buffer: "fast", equals: Computed("fast"), tolerance: Absolute(0.25))],
       |                                                      ^^^^^^
       = hint: name another buffer
    "#);
}

#[test]
fn a_compared_buffer_whose_copy_never_ran_ends_the_program_with_its_name() {
    let copies = Commands::new().repeat(0, "round", Commands::new().copy_to_host("b"));
    let program = HostProgram::builder("never")
        .module("empty.ptx", EMPTY)
        .buffer("a", Contents::zero(F32, 2))
        .buffer("b", Contents::zero(F32, 2))
        .commands(copies.copy_to_host("a"))
        .expect_within("a", Computed("b".into()), Tolerance::Absolute(1.0));
    let error = program.build().unwrap().execute(&EmulationSpec::default());
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("buffer `b` was never copied to the host"),
        "{message}"
    );
    let mismatched = HostProgram::builder("types")
        .module("empty.ptx", EMPTY)
        .buffer("a", Contents::zero(F32, 2))
        .buffer("b", Contents::zero(U32, 2))
        .commands(Commands::new().copy_to_host("a").copy_to_host("b"))
        .expect("a", Computed("b".into()));
    assert!(mismatched.build().is_err());
}
