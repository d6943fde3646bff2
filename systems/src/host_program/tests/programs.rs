//! Small host programs that are built in Rust.

use std::collections::BTreeMap;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde::Deserialize;
use warpweave_inputs::reference::{
    File, Question, Reference, References, Shape, Values, standard_references,
};
use warpweave_inputs::{ElementType, Name, Value};
use warpweave_params::{Diagnostic, Files, Source, parse};

use super::{EMPTY, execute};
use crate::host_program::{Commands, Contents, EmulationOrder, EmulationSpec, HostProgram, Launch};

#[test]
fn loops_may_nest_and_see_both_counters() {
    let body = Commands::new().write("cells", "=row * 3 + column", "=row * 10 + column");
    let rows = Commands::new().repeat(3, "column", body);
    let program = HostProgram::builder("fill")
        .module("empty.ptx", EMPTY)
        .buffer("cells", Contents::u32s([7; 6]))
        .commands(Commands::new().repeat(2, "row", rows).copy_to_host("cells"))
        .expect(
            "cells",
            Values([0, 1, 2, 10, 11, 12].map(Value::from).into()),
        )
        .build()
        .unwrap();
    let executed = execute(&program, EmulationOrder::Linear);
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
    assert_eq!(executed.outputs["cells"], [0, 1, 2, 10, 11, 12]);
    assert_eq!(executed.program.commands.len(), 7);
}

#[test]
fn nothing_expected_is_neither_verified_nor_refuted() {
    let program = HostProgram::builder("nothing")
        .module("empty.ptx", EMPTY)
        .build()
        .unwrap();
    assert_eq!(execute(&program, EmulationOrder::Linear).verified, None);
}

#[test]
fn what_was_copied_back_is_what_a_later_copy_sends() {
    let commands = Commands::new()
        .write("a", 0, 5)
        .copy_to_host("a")
        .write("a", 0, 6)
        .copy_to_device("a")
        .copy_to_host("a");
    let program = HostProgram::builder("back and forth")
        .module("empty.ptx", EMPTY)
        .buffer("a", Contents::u32s([1]))
        .commands(commands)
        .build()
        .unwrap();
    assert_eq!(execute(&program, EmulationOrder::Linear).outputs["a"], [5]);
}

#[test]
fn mistakes_in_rust_code_are_named_without_a_place() {
    let program = HostProgram::builder("wrong")
        .module("empty.ptx", EMPTY)
        .param("n", 4)
        .buffer("cells", Contents::zero(ElementType::U32, "=m"))
        .buffer("cells", Contents::u32s([1]))
        .buffer("cells", Contents::u32s([1]))
        .build();
    assert_snapshot!(program.unwrap_err(), @"
    error: expression `m`: unknown name `m` in an expression
    hint: did you mean `n`? names known here: n

    error: buffer `cells` is defined twice
    ");
    let program = HostProgram::builder("wrong")
        .module("empty.ptx", EMPTY)
        .commands(Commands::new().launch(Launch::new("none")))
        .build();
    assert_snapshot!(program.unwrap_err(), @r"
    error: empty.ptx has no kernel `none`
    hint: there are no kernels
    ");
}

#[test]
fn words_are_read_from_files_in_little_endian_order() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.bin"), [1, 0, 0, 0, 0, 1, 0, 0]).unwrap();
    let contents = Contents::of_file(ElementType::U32, "in.bin");
    let program = HostProgram::builder("file")
        .module("empty.ptx", EMPTY)
        .folder(folder.path())
        .buffer("a", contents)
        .commands(Commands::new().copy_to_device("a").copy_to_host("a"))
        .expect("a", Values(vec![1.into(), 256.into()]))
        .expect("a", File(PathBuf::from("in.bin").into()))
        .build()
        .unwrap();
    assert_eq!(
        execute(&program, EmulationOrder::Linear).verified,
        Some(true)
    );
    std::fs::write(folder.path().join("in.bin"), [1, 0, 0]).unwrap();
    let changed = program.execute(&EmulationSpec::default());
    assert!(
        changed
            .unwrap_err()
            .to_string()
            .contains("not a multiple of 4")
    );
}

#[test]
fn a_text_is_not_read_as_words() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.txt"), "1,2\n3,4\n").unwrap();
    let program = HostProgram::builder("text")
        .module("empty.ptx", EMPTY)
        .folder(folder.path())
        .buffer("a", Contents::of_file(ElementType::U32, "in.txt"))
        .build();
    let refused = program.unwrap_err().to_string();
    assert!(
        refused.contains("is a text file, expected little-endian words"),
        "{refused}"
    );
}

/// Reference that the library does not provide.
#[derive(Debug, Deserialize)]
struct Reversed(Name);

impl Reference for Reversed {
    const NAME: &'static str = "Reversed";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::u32s(question.length(&self.0, ElementType::U32)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(question.u32s(&self.0)?.into_iter().rev().collect())
    }
}

#[test]
fn a_workload_may_name_a_reference_that_was_added() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.ptx"), EMPTY).unwrap();
    let text = r#"Workload(
        module: "empty.ptx",
        buffers: { "a": Values(element: U32, values: [1, 2]), "b": Zero(element: U32, length: 2) },
        commands: [Write(buffer: "b", index: 0, value: 2), Write(buffer: "b", index: 1, value: 1),
                   CopyToHost("b")],
        expect: [Expect(buffer: "b", equals: Reversed("a"))],
    )"#;
    let node = parse(&Source::new("reversed.ron", text)).unwrap();
    let read = |references: &References| {
        HostProgram::from_node(
            &node,
            &Files::of(folder.path()),
            None,
            &BTreeMap::new(),
            references,
        )
    };
    let mut references = standard_references();
    let unknown = read(&references).unwrap_err().to_string();
    assert!(
        unknown.contains("unknown reference `Reversed`"),
        "{unknown}"
    );
    references.register::<Reversed>();
    let program = read(&references).unwrap_or_else(|problems| panic!("{problems}"));
    let executed = execute(&program, EmulationOrder::Linear);
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
    assert_eq!(executed.checks[0].reference, "Reversed");
}
