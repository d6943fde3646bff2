//! Launch arguments other than numbers and whole buffers.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use warpweave_inputs::reference::standard_references;
use warpweave_params::{Diagnostics, Files, Source, parse};

use crate::host_program::{EmulationSpec, HostProgram};

/// PTX kernel that writes the fields of a structure
/// `{ u32 n; const u32 *from; f32 x; s8 small; s16 more; }` to `out`.
const MODULE: &str = "
.version 6.3
.target sm_70
.address_size 64
.visible .entry fields(.param .u64 out, .param .align 8 .b8 all[24]) {
    .reg .b64 %rd<3>; .reg .b32 %r<6>;
    ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [all]; ld.param.u64 %rd2, [all+8];
    ld.param.u32 %r2, [all+16]; ld.param.s8 %r4, [all+20]; ld.param.s16 %r5, [all+22];
    ld.global.u32 %r3, [%rd2];
    st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r3; st.global.u32 [%rd1+8], %r2;
    st.global.u32 [%rd1+12], %r4; st.global.u32 [%rd1+16], %r5; ret;
}
";

/// Builds the program that launches the kernel with these arguments.
fn program(arguments: &str, more: &str) -> Result<HostProgram, Diagnostics> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fields.ptx"), MODULE).unwrap();
    let text = format!(
        r#"Workload(
    module: "fields.ptx",
    buffers: {{
        "out": Zero(element: U32, length: 5),
        "four": Values(element: U32, values: [11, 22, 33, 44]),
    }},
    commands: [
        CopyToDevice("four"),
        Launch(kernel: "fields", grid: 1, block: 1, {more}arguments: [
            {arguments},
        ]),
        CopyToHost("out"),
    ],
)
"#
    );
    let node = parse(&Source::new("fields.ron", text))?;
    let (files, none) = (Files::of(folder.path()), BTreeMap::new());
    HostProgram::from_node(&node, &files, None, &none, &standard_references())
}

fn out(arguments: &str, more: &str) -> Vec<u32> {
    let program = program(arguments, more).unwrap_or_else(|problems| panic!("{problems}"));
    let executed = program.execute(&EmulationSpec::default());
    let executed = executed.unwrap_or_else(|error| panic!("{error}"));
    executed.outputs["out"].clone()
}

#[test]
fn the_fields_of_a_structure_lie_as_in_c() {
    let structure = r#"Buffer("out"), Struct([
        U32(7), BufferAt(buffer: "four", offset_bytes: "=2 * 4"), F32(-0.5), S8(-2), S16(-3),
    ])"#;
    let expected = [7, 33, (-0.5_f32).to_bits(), -2_i32 as u32, -3_i32 as u32];
    assert_eq!(out(structure, ""), expected);
}

#[test]
fn bit_patterns_of_numbers_that_are_none_arrive_whole() {
    let structure = r#"Buffer("out"), Struct([
        U32(1), Buffer("four"), F32Bits(2139095041), S8(0), S16(0),
    ])"#;
    assert_eq!(out(structure, "")[2], 0x7f80_0001);
}

#[test]
fn an_array_is_a_structure_within_a_structure() {
    let structure = r#"Buffer("out"), Struct([
        Struct([U32(1), U32(2)]), Buffer("four"), Struct([U16(3), U16(4), U8(5)]),
    ])"#;
    assert_eq!(out(structure, ""), [1, 11, 0x0004_0003, 5, 0]);
}

#[test]
fn the_word_of_cuda_names_local_memory_too() {
    let structure = r#"Buffer("out"), Struct([
        U32(7), Buffer("four"), F32(1), S8(0), S16(0),
    ])"#;
    assert_eq!(out(structure, "dynamic_shared_bytes: 64, ")[0], 7);
}

fn refusal(arguments: &str) -> String {
    match program(arguments, "") {
        Err(problems) => problems.to_string(),
        Ok(_) => panic!("{arguments} is not refused"),
    }
}

#[test]
fn a_structure_of_a_wrong_size_is_refused_with_both_sizes() {
    let structure = r#"Buffer("out"), Struct([U32(7), Buffer("four")])"#;
    assert_snapshot!(refusal(structure), @r#"
    error: argument 2 of kernel `fields` is a structure of 16 bytes, but the parameter is a structure of 24 bytes
      --> fields.ron:10:28
       |
    10 |             Buffer("out"), Struct([U32(7), Buffer("four")]),
       |                            ^^^^^^
    "#);
}

#[test]
fn a_number_for_a_structure_is_refused_with_its_size() {
    assert_snapshot!(refusal(r#"Buffer("out"), U64(7)"#), @r#"
    error: argument 2 of kernel `fields` is of type U64, but the parameter is a structure of 24 bytes
      --> fields.ron:10:28
       |
    10 |             Buffer("out"), U64(7),
       |                            ^^^
    "#);
}

#[test]
fn an_offset_behind_a_buffer_is_refused() {
    let arguments = r#"BufferAt(buffer: "four", offset_bytes: 17), Struct([
        U32(7), Buffer("four"), F32(1), S8(0), S16(0)])"#;
    assert_snapshot!(refusal(arguments), @r#"
    error: the offset into buffer `four` of 16 bytes is 17, expected 0 to 16
      --> fields.ron:10:52
       |
    10 |             BufferAt(buffer: "four", offset_bytes: 17), Struct([
       |                                                    ^^
    "#);
}

#[test]
fn a_field_of_a_structure_is_checked_as_an_argument_is() {
    let arguments = r#"Buffer("out"), Struct([U32(-1), Buffer("for"), F32(1), S8(128), S16(0)])"#;
    assert_snapshot!(refusal(arguments), @r#"
    error: an argument of type U32 is -1, expected 0 to 4294967295
      --> fields.ron:10:40
       |
    10 |             Buffer("out"), Struct([U32(-1), Buffer("for"), F32(1), S8(128), S16(0)]),
       |                                        ^^

    error: unknown buffer `for`
      --> fields.ron:10:52
       |
    10 |             Buffer("out"), Struct([U32(-1), Buffer("for"), F32(1), S8(128), S16(0)]),
       |                                                    ^^^^^
       = hint: did you mean `four`? buffers: out, four

    error: an argument of type S8 is 128, expected -128 to 127
      --> fields.ron:10:71
       |
    10 |             Buffer("out"), Struct([U32(-1), Buffer("for"), F32(1), S8(128), S16(0)]),
       |                                                                       ^^^
    "#);
}
