//! Error messages of the front end, spelled out.

use insta::assert_snapshot;

use crate::harness::{HEADER, errors, kernel};

fn body(body: &str) -> String {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{\n    .reg .b32 %r<4>;\n    .reg .pred %p<2>;\n    .reg .b64 %rd<3>;\n    .reg .f32 total;\n{body}\n    ret;\n}}\n"
    );
    errors(&text)
}

#[test]
fn an_unknown_instruction_is_named_with_its_place() {
    assert_snapshot!(body("    ad.s32 %r1, %r2, %r3;"), @r#"
test.ptx:9:5: unknown instruction `ad.s32`
9 |     ad.s32 %r1, %r2, %r3;
  |     ^^^^^^
hint: did you mean `add`?
"#);
}

#[test]
fn an_unknown_form_is_refused_not_skipped() {
    assert_snapshot!(body("    add.rz.f32 total, total, total;"), @r#"
test.ptx:9:5: unsupported form `add.rz.f32`: only rounding to nearest even is supported
9 |     add.rz.f32 total, total, total;
  |     ^^^^^^^^^^
"#);
    assert_snapshot!(body("    add.wrap.s32 %r1, %r2, %r3;"), @r#"
test.ptx:9:5: unsupported form `add.wrap.s32`: `.wrap` is not known here
9 |     add.wrap.s32 %r1, %r2, %r3;
  |     ^^^^^^^^^^^^
"#);
}

#[test]
fn unsupported_families_say_so() {
    assert_snapshot!(body("    tex.2d.v4.f32.f32 {total, total, total, total}, [t, {total, total}];"), @r#"
test.ptx:9:5: `tex.2d.v4.f32.f32`: textures are not supported
9 |     tex.2d.v4.f32.f32 {total, total, total, total}, [t, {total, total}];
  |     ^^^^^^^^^^^^^^^^^
"#);
    assert_snapshot!(body("    mma.sync.aligned.m8n8k4 %r1, %r2, %r3, %r1;"), @r#"
test.ptx:9:5: `mma.sync.aligned.m8n8k4`: matrix instructions are not supported
9 |     mma.sync.aligned.m8n8k4 %r1, %r2, %r3, %r1;
  |     ^^^^^^^^^^^^^^^^^^^^^^^
"#);
}

#[test]
fn unknown_registers_and_labels_get_a_hint() {
    assert_snapshot!(body("    add.s32 %r1, %r2, %r9;"), @r#"
test.ptx:9:23: unknown register `%r9`
9 |     add.s32 %r1, %r2, %r9;
  |                       ^^^
hint: `%r<4>` declares %r0 to %r3
"#);
    assert_snapshot!(body("done:\n    bra dome;"), @r#"
test.ptx:10:9: unknown name `dome`
10 |     bra dome;
   |         ^^^^
hint: did you mean `done`?
"#);
}

#[test]
fn placement_dependent_registers_are_refused_where_they_are_used() {
    assert_snapshot!(body("    mov.u32 %r1, %smid;"), @r#"
test.ptx:9:18: `%smid` depends on placement or time, which emulation does not know
9 |     mov.u32 %r1, %smid;
  |                  ^^^^^
"#);
}

#[test]
fn widths_and_operand_counts_must_fit() {
    assert_snapshot!(body("    add.s32 %r1, %rd1, %r2;"), @r#"
test.ptx:9:18: expected an operand for .s32, found a .b64 register
9 |     add.s32 %r1, %rd1, %r2;
  |                  ^^^^
"#);
    assert_snapshot!(body("    add.s32 %r1, %r2;"), @r#"
test.ptx:9:5: `add.s32` takes 3 operands, found 2
9 |     add.s32 %r1, %r2;
  |     ^^^^^^^
"#);
}

#[test]
fn syntax_errors_name_what_was_expected_and_parsing_goes_on() {
    assert_snapshot!(body("    add.s32 %r1, %r2 %r3;\n    sub.s32 %r1, , %r2;"), @r#"
test.ptx:9:22: expected `,` or `;` after an operand of `add.s32`, found `%r3`
9 |     add.s32 %r1, %r2 %r3;
  |                      ^^^
test.ptx:10:18: expected an operand, found `,`
10 |     sub.s32 %r1, , %r2;
   |                  ^
"#);
}

#[test]
fn indirect_calls_are_refused() {
    assert_snapshot!(body("    call (%r1), %rd1, (%r2), proto;"), @r#"
test.ptx:9:5: indirect calls and calls of undeclared functions are not supported
9 |     call (%r1), %rd1, (%r2), proto;
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"#);
}

#[test]
fn a_missing_brace_is_found_at_the_end() {
    assert_snapshot!(errors(&format!("{HEADER}{}", kernel("").trim_end().trim_end_matches('}'))), @r#"
test.ptx:19:1: expected `}` after the body, the file ends
19 | 
   | ^
"#);
}

#[test]
fn too_many_live_registers_are_refused() {
    let mut text = String::from("    .reg .b32 %x<300>;\n");
    for n in 0..300 {
        text += &format!("    mov.u32 %x{n}, %tid.x;\n");
    }
    for n in 0..300 {
        text += &format!("    st.global.u32 [%rd1], %x{n};\n");
    }
    assert_snapshot!(body(&text), @r#"
test.ptx:4:17: `k` keeps 302 registers alive at once; a thread has 255 and nothing is spilled
4 | .visible .entry k(.param .u64 out) {
  |                 ^
hint: compile with a register limit so that the compiler spills
"#);
}
