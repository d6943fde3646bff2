//! Partial copies, numbers read from the device, module variables, and buffers of addresses.

use std::collections::BTreeMap;

use warpweave_inputs::reference::standard_references;
use warpweave_params::{Diagnostics, Files, Source, parse};

use crate::host_program::{EmulationSpec, Executed, HostProgram};

/// Two kernels: `scale` writes the thread's number times `factor` plus `base[0]` to `out`. `gather`
/// adds up the first words of the buffers that `from` points to.
const MODULE: &str = "
.version 6.3
.target sm_70
.address_size 64
.const .align 4 .b8 factors[8];
.visible .entry scale(.param .u64 out) {
    .reg .b64 %rd<4>; .reg .b32 %r<6>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; ld.const.u32 %r2, [factors]; ld.const.u32 %r3, [factors+4];
    mad.lo.u32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4; ret;
}
.visible .entry gather(.param .u64 out, .param .u64 from) {
    .reg .b64 %rd<5>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [from];
    ld.global.u64 %rd3, [%rd2]; ld.global.u64 %rd4, [%rd2+8];
    ld.global.u32 %r1, [%rd3]; ld.global.u32 %r2, [%rd4]; add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd1], %r3; ret;
}
";

fn program(commands: &str) -> Result<HostProgram, Diagnostics> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("module.ptx"), MODULE).unwrap();
    let text = format!(
        r#"Workload(
    module: "module.ptx",
    buffers: {{
        "out": Zero(element: U32, length: 6),
        "a": Values(element: U16, values: [1, 2, 3, 4, 5]),
        "b": Values(element: U32, values: [10, 20]),
        "both": Pointers([Buffer("b"), BufferAt(buffer: "b", offset_bytes: 4)]),
    }},
    commands: [{commands}],
)
"#
    );
    let node = parse(&Source::new("commands.ron", text))?;
    let (files, none) = (Files::of(folder.path()), BTreeMap::new());
    HostProgram::from_node(&node, &files, None, &none, &standard_references())
}

fn executed(commands: &str) -> Executed {
    let program = program(commands).unwrap_or_else(|problems| panic!("{problems}"));
    let executed = program.execute(&EmulationSpec::default());
    executed.unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(commands: &str) -> String {
    match program(commands) {
        Err(problems) => problems.to_string(),
        Ok(program) => {
            let failed = program.execute(&EmulationSpec::default());
            failed.unwrap_err().to_string()
        }
    }
}

#[test]
fn copies_of_parts_leave_the_rest_as_it_is() {
    let executed = executed(
        r#"CopyPartToDevice(buffer: "a", first: 1, length: 2), Write(buffer: "a", index: 4, value: 9),
           CopyPartToHost(buffer: "a", first: 2, length: 3)"#,
    );
    assert_eq!(executed.outputs["a"], [0x0002_0001, 0x0000_0003, 9]);
    let wrong = refusal(r#"CopyPartToHost(buffer: "a", first: 4, length: 2)"#);
    assert!(
        wrong.contains("from element 4 on is 2, expected 0 to 1"),
        "{wrong}"
    );
}

#[test]
fn a_number_read_from_the_device_sizes_a_launch() {
    let executed = executed(
        r#"CopyToDevice("a"), Read(buffer: "a", index: 3, name: "threads"),
           WriteVariable(variable: "factors", values: [U32(7), U32(1)]),
           Launch(kernel: "scale", grid: 1, block: "=threads", arguments: [Buffer("out")]),
           CopyToHost("out")"#,
    );
    assert_eq!(executed.outputs["out"], [1, 8, 15, 22, 0, 0]);
    assert_eq!(executed.program.kernels[0].block, [4, 1, 1]);
    let hidden = refusal(r#"Repeat(times: 1, counter: "i", body: [Read(buffer: "a", name: "i")])"#);
    assert!(hidden.contains("`i` shadows another value"), "{hidden}");
    let nobody = refusal(
        r#"Read(buffer: "out", name: "n"),
           Launch(kernel: "scale", grid: 1, block: "=n", arguments: [Buffer("out")])"#,
    );
    assert!(nobody.contains("the block along x is 0"), "{nobody}");
}

#[test]
fn a_number_may_be_read_again_in_every_round() {
    let executed = executed(
        r#"Write(buffer: "b", index: 0, value: 1),
           Repeat(times: 3, body: [
               Read(buffer: "b", name: "n"), Write(buffer: "b", index: 0, value: "=n * 5"),
           ]), CopyToHost("b")"#,
    );
    assert_eq!(executed.outputs["b"][0], 125);
}

#[test]
fn variables_are_written_inside_their_size() {
    let half = r#"WriteVariable(variable: "factors", offset_bytes: 4, values: [U32(5)]),
        Launch(kernel: "scale", grid: 1, block: 2, arguments: [Buffer("out")]), CopyToHost("out")"#;
    assert_eq!(executed(half).outputs["out"][..2], [5, 5]);
    let wrong = refusal(r#"WriteVariable(variable: "factors", values: [U64(5), U8(1)])"#);
    assert!(
        wrong.contains("9 bytes do not fit into variable `factors` of 8 bytes"),
        "{wrong}"
    );
    let unknown = refusal(r#"WriteVariable(variable: "factor", values: [])"#);
    assert!(unknown.contains("did you mean `factors`"), "{unknown}");
}

#[test]
fn buffers_of_addresses_point_to_where_buffers_are() {
    let executed = executed(
        r#"CopyToDevice("b"), CopyToDevice("both"),
           Launch(kernel: "gather", grid: 1, block: 1, arguments: [Buffer("out"), Buffer("both")]),
           CopyToHost("out")"#,
    );
    assert_eq!(executed.outputs["out"][0], 30);
}

#[test]
fn a_condition_selects_the_commands_that_run() {
    let chosen = |condition: &str| {
        let executed = executed(&format!(
            r#"If(condition: {condition}, body: [Write(buffer: "b", index: 0, value: 1)],
                  otherwise: [Write(buffer: "b", index: 0, value: 2)]), CopyToHost("b")"#
        ));
        executed.outputs["b"][0]
    };
    assert_eq!((chosen("true"), chosen("\"=1 > 2\"")), (1, 2));
}

#[test]
fn a_condition_is_evaluated_each_time_it_is_reached() {
    let executed = executed(
        r#"Repeat(times: 5, counter: "i", body: [
               If(condition: "=i % 2 == 0", body: [Write(buffer: "out", index: "=i", value: 7)]),
               Read(buffer: "out", index: "=i", name: "found"),
               If(condition: "=found == 7", body: [], otherwise: [
                   Write(buffer: "out", index: "=i", value: 9),
               ]),
           ]), CopyToHost("out")"#,
    );
    assert_eq!(executed.outputs["out"], [7, 9, 7, 9, 7, 0]);
}

#[test]
fn only_the_commands_that_parameters_select_are_checked() {
    let wrong = r#"[CopyToDevice("c")]"#;
    let fine = r#"CopyToDevice("b"), CopyToHost("b")"#;
    executed(&format!("If(condition: false, body: {wrong}), {fine}"));
    let chosen = refusal(&format!("If(condition: true, body: {wrong}), {fine}"));
    assert!(chosen.contains("unknown buffer `c`"), "{chosen}");
    let in_loop = refusal(&format!(
        r#"Repeat(times: 1, counter: "i", body: [If(condition: "=i > 5", body: {wrong})]), {fine}"#
    ));
    assert!(in_loop.contains("unknown buffer `c`"), "{in_loop}");
}

#[test]
fn what_is_no_condition_is_refused_with_its_line() {
    let number = refusal(r#"If(condition: "=1 + 1", body: [])"#);
    for part in [
        "expected a condition, found integer `2`",
        "commands.ron:9:30",
    ] {
        assert!(number.contains(part), "{number}");
    }
    let unknown =
        refusal(r#"Repeat(times: 1, counter: "i", body: [If(condition: "=j > 0", body: [])])"#);
    assert!(unknown.contains("did you mean `i`?"), "{unknown}");
}

#[test]
fn a_result_that_only_a_command_not_selected_copies_is_missed() {
    let wanted = r#"
        Read(buffer: "b", name: "n"),
        If(condition: "=n > 100", body: [CopyToHost("b")])],
        expect: [Expect(buffer: "b", equals: Values([10, 20]))"#;
    let executed = executed(wanted);
    assert_eq!(executed.verified, Some(false));
    let text = &executed.checks[0].detail;
    assert!(
        text.contains("no command that copies it was executed"),
        "{text}"
    );
}
