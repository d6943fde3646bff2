//! Programs of several modules, with their variables.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use tempfile::TempDir;
use warpweave_inputs::reference::standard_references;
use warpweave_params::{Diagnostics, Files, Source, parse};

use crate::host_program::{EmulationSpec, HostProgram};

/// Returns a module with two kernels, `put` and `name`, that both write `factor[0] * number`.
fn module(name: &str, number: u32, variables: &str) -> String {
    let kernel = |name: &str| {
        format!(
            "
.visible .entry {name}(.param .u64 out)
{{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [factor];
    mul.lo.u32 %r2, %r1, {number};
    st.global.u32 [%rd1], %r2;
    ret;
}}
"
        )
    };
    let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
    format!("{head}{variables}{}{}", kernel("put"), kernel(name))
}

const WORKLOAD: &str = r#"Workload(
    modules: { "first": "a.ptx", "second": "b.ptx", "third": "c.ptx" },
    buffers: {
        "factors": Values(element: U32, values: [5, 6]),
        "x": Zero(element: U32, length: 1),
        "y": Zero(element: U32, length: 1),
        "z": Zero(element: U32, length: 1),
    },
    commands: [
        CopyToVariable(buffer: "factors", variable: "factor", module: "first"),
        WriteVariable(variable: "factor", module: "second", values: [U32(7)]),
        Launch(kernel: "put", module: "first", grid: 1, block: 1, arguments: [Buffer("x")]),
        Launch(kernel: "put", module: "second", grid: 1, block: 1, arguments: [Buffer("y")]),
        Launch(kernel: "only_c", grid: 1, block: 1, arguments: [Buffer("z")]),
        CopyToHost("x"), CopyToHost("y"), CopyToHost("z"),
    ],
    expect: [
        Expect(buffer: "x", equals: Values([50])),
        Expect(buffer: "y", equals: Values([700])),
        // The variable of the first module that defines it, since the third only declares it.
        Expect(buffer: "z", equals: Values([7000])),
    ],
)
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = ".global .align 4 .u32 factor[2] = {1, 2};\n";
    let declared = ".extern .global .align 4 .u32 factor[2];\n";
    for (file, kernel, number, variables) in [
        ("a.ptx", "only_a", 10, own),
        ("b.ptx", "only_b", 100, own),
        ("c.ptx", "only_c", 1000, declared),
    ] {
        std::fs::write(folder.path().join(file), module(kernel, number, variables)).unwrap();
    }
    folder
}

fn read(folder: &TempDir, text: &str) -> Result<HostProgram, Diagnostics> {
    let node = parse(&Source::new("modules.ron", text))?;
    let (files, none) = (Files::of(folder.path()), BTreeMap::new());
    HostProgram::from_node(&node, &files, None, &none, &standard_references())
}

#[test]
fn each_module_has_kernels_and_variables_of_its_own() {
    let folder = folder();
    let program = read(&folder, WORKLOAD).unwrap_or_else(|problems| panic!("{problems}"));
    let files = program.files_read().iter();
    let names: Vec<_> = files.filter_map(|file| file.file_name()).collect();
    assert_eq!(names, ["a.ptx", "b.ptx", "c.ptx"]);
    let executed = program.execute(&EmulationSpec::default()).unwrap();
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
    let examined = program.examine(&EmulationSpec::default()).unwrap();
    assert!(examined.is_clean(), "{examined:?}");
}

/// Returns the error message after a piece of the workload is replaced.
fn refusal(piece: &str, replacement: &str) -> String {
    assert!(WORKLOAD.contains(piece), "{piece}");
    let folder = folder();
    let read = read(&folder, &WORKLOAD.replacen(piece, replacement, 1));
    let message = match read.map(|program| program.execute(&EmulationSpec::default())) {
        Err(problems) => problems.to_string(),
        Ok(Err(error)) => error.to_string(),
        Ok(Ok(_)) => panic!("{replacement} is not refused"),
    };
    message.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn what_several_modules_have_needs_the_name_of_one() {
    assert_snapshot!(refusal(r#""put", module: "first""#, r#""put""#), @r#"
    error: several modules have a kernel `put`: `first`, `second`, `third`
      --> modules.ron:12:24
       |
    12 |         Launch(kernel: "put", grid: 1, block: 1, arguments: [Buffer("x")]),
       |                        ^^^^^
       = hint: say which: module: "first"
    "#);
    assert_snapshot!(refusal(r#""factor", module: "first""#, r#""factor""#), @r#"
    error: several modules have a variable `factor`: `first`, `second`
      --> modules.ron:10:53
       |
    10 |         CopyToVariable(buffer: "factors", variable: "factor"),
       |                                                     ^^^^^^^^
       = hint: say which: module: "first"
    "#);
    assert_snapshot!(refusal(r#""put", module: "first""#, r#""put", module: "frist""#), @r#"
    error: unknown module `frist`
      --> modules.ron:12:39
       |
    12 |         Launch(kernel: "put", module: "frist", grid: 1, block: 1, arguments: [Buffer("x")]),
       |                                       ^^^^^^^
       = hint: did you mean `first`? modules: first, second, third
    "#);
}

#[test]
fn what_no_module_has_is_named_with_the_nearest() {
    assert_snapshot!(refusal(r#""only_c""#, r#""only_d""#), @r#"
    error: none of a.ptx, b.ptx, c.ptx has a kernel `only_d`
      --> modules.ron:14:24
       |
    14 |         Launch(kernel: "only_d", grid: 1, block: 1, arguments: [Buffer("z")]),
       |                        ^^^^^^^^
       = hint: did you mean `only_a`? kernels: only_a, only_b, only_c, put
    "#);
    assert_snapshot!(refusal(r#""only_c""#, r#""only_c", module: "first""#), @r#"
    error: a.ptx has no kernel `only_c`
      --> modules.ron:14:24
       |
    14 |         Launch(kernel: "only_c", module: "first", grid: 1, block: 1, arguments: [Buffer("z")]),
       |                        ^^^^^^^^
       = hint: did you mean `only_a`? kernels: only_a, put
    "#);
    assert_snapshot!(refusal(r#""factor", module: "first""#, r#""factor", module: "third""#), @r#"
    error: c.ptx has no variable `factor`
      --> modules.ron:10:53
       |
    10 |         CopyToVariable(buffer: "factors", variable: "factor", module: "third"),
       |                                                     ^^^^^^^^
       = hint: there are no variables
    "#);
}

#[test]
fn modules_are_one_or_named_and_each_is_there_once() {
    let modules = r#"modules: { "first": "a.ptx", "second": "b.ptx", "third": "c.ptx" },"#;
    assert_snapshot!(refusal(modules, ""), @r#"
    error: a workload must have either `module` or `modules`
     --> modules.ron:1:1
      |
    1 | Workload(
      | ^^^^^^^^
      = hint: module: "kernels.ptx", or modules: { "name": "kernels.ptx" }
    "#);
    assert_snapshot!(refusal(modules, &format!(r#"{modules} module: "a.ptx","#)), @r#"
    error: a workload must have either `module` or `modules`
     --> modules.ron:1:1
      |
    1 | Workload(
      | ^^^^^^^^
      = hint: module: "kernels.ptx", or modules: { "name": "kernels.ptx" }
    "#);
    assert_snapshot!(refusal(r#""b.ptx""#, r#""a.ptx""#), @r#"
    error: module `second` is already listed, as `first` of a.ptx
     --> modules.ron:2:34
      |
    2 |     modules: { "first": "a.ptx", "second": "a.ptx", "third": "c.ptx" },
      |                                  ^^^^^^^^
    "#);
}

#[test]
fn a_buffer_that_is_larger_than_a_variable_is_refused_with_both_sizes() {
    assert_snapshot!(refusal("[5, 6]", "[5, 6, 7]"), @r#"
    error: 12 bytes do not fit into variable `factor` of 8 bytes
      --> modules.ron:10:53
       |
    10 |         CopyToVariable(buffer: "factors", variable: "factor", module: "first"),
       |                                                     ^^^^^^^^
    "#);
}

#[test]
fn a_variable_of_another_module_has_to_be_defined_by_an_earlier_one() {
    let reversed = r#""third": "c.ptx", "first": "a.ptx", "second": "b.ptx""#;
    let order = r#""first": "a.ptx", "second": "b.ptx", "third": "c.ptx""#;
    assert_snapshot!(refusal(order, reversed), @r#"
    error: c.ptx declares variable `factor`, which no earlier module defines
      --> modules.ron:10:53
       |
    10 |         CopyToVariable(buffer: "factors", variable: "factor", module: "first"),
       |                                                     ^^^^^^^^
       = hint: list the module that defines it before those that declare it: modules: { "one": "one.ptx", "other": "other.ptx" }
    "#);
}
