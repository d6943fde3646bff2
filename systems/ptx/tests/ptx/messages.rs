//! Tests of the exact error messages of the front end.

use insta::assert_snapshot;
use proptest::prelude::*;
use warpweave_ptx::Module;

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
    assert_snapshot!(body("    add.rni.f32 total, total, total;"), @"
    test.ptx:9:5: unsupported form `add.rni.f32`: unexpected modifier `.rni`
    9 |     add.rni.f32 total, total, total;
      |     ^^^^^^^^^^^
    ");
    assert_snapshot!(body("    add.wrap.s32 %r1, %r2, %r3;"), @"
    test.ptx:9:5: unsupported form `add.wrap.s32`: unexpected modifier `.wrap`
    9 |     add.wrap.s32 %r1, %r2, %r3;
      |     ^^^^^^^^^^^^
    ");
}

#[test]
fn unsupported_families_say_so() {
    assert_snapshot!(body("    suld.b.2d.v4.b32.trap {total, total, total, total}, [t, {total, total}];"), @r#"
test.ptx:9:5: `suld.b.2d.v4.b32.trap`: surfaces are not supported
9 |     suld.b.2d.v4.b32.trap {total, total, total, total}, [t, {total, total}];
  |     ^^^^^^^^^^^^^^^^^^^^^
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
fn registers_of_time_are_refused_where_they_are_used() {
    assert_snapshot!(body("    mov.u32 %r1, %clock;"), @r#"
test.ptx:9:18: `%clock` depends on placement or time, which are unknown in emulation
9 |     mov.u32 %r1, %clock;
  |                  ^^^^^^
"#);
}

#[test]
fn widths_and_operand_counts_must_fit() {
    assert_snapshot!(body("    add.s32 %r1, %rd1, %r2;"), @r#"
test.ptx:9:18: expected an operand for .s32, found a .b64 register
9 |     add.s32 %r1, %rd1, %r2;
  |                  ^^^^
"#);
    assert_snapshot!(body("    add.s32 %r1, %r2;"), @"
    test.ptx:9:5: `add.s32` takes 3 operands, but found 2
    9 |     add.s32 %r1, %r2;
      |     ^^^^^^^
    ");
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
    text.extend((0..300).map(|n| format!("    mov.u32 %x{n}, %tid.x;\n")));
    text.extend((0..300).map(|n| format!("    st.global.u32 [%rd1], %x{n};\n")));
    assert_snapshot!(body(&text), @"
    test.ptx:4:17: `k` has 302 live registers at once; a thread has 255, and spilling is not supported
    4 | .visible .entry k(.param .u64 out) {
      |                 ^
    hint: compile with a register limit so that the compiler spills registers
    ");
}

/// A module with a variety of constructs, used as a base for mutations.
const VICTIM: &str = ".version 7.0 .target sm_70 .address_size 64
.const .align 4 .b32 table[4] = {10, 20, 30}; .global .u64 p = generic(table)+4;
.func (.param .b32 r) twice(.param .b32 v) { .reg .b32 %r<4>; .local .b8 x[8];
  ld.param.u32 %r1, [v]; add.u32 %r2, %r1, %r1; st.local.u8 [x+1], %r1; st.param.b32 [r], %r2; ret; }
.visible .entry k(.param .u64 out, .param .align 8 .b8 s[12]) { .reg .pred %p<3>; .reg .b32 %r<8>;
  .reg .b64 %rd<4>; .reg .f32 %f<4>; .shared .align 8 .b8 pool[64]; .loc 1 2 3
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a+0], %r1; call.uni (b), twice, (a);
    ld.param.b32 %r2, [b]; } setp.lt.and.s32 %p1|%p2, %r1, 5, !%p2; @!%p1 bra $L_x;
  and.pred %p1, %p1, %p2; shl.b32 %r3, %r2, 2; cvt.rn.f32.s32 %f1, %r3; bfe.u32 %r4, %r3, 1, 4;
  atom.global.cas.b32 %r5, [%rd2], 0, 1; mov.b64 {%r6, _}, %rd2; shfl.sync.up.b32 %r6|%p1, %r5, 1, 0, -1;
  bar.red.popc.u32 %r7, 0, %p1; vote.sync.ballot.b32 %r7, %p1, -1; st.global.v2.f32 [%rd2], {%f1, %f2};
$L_x: slct.f32.s32 %f3, %f1, %f2, %r1; ret; }";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_text_is_refused_without_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..4usize, any::<prop::sample::Index>()), 1..4)
    ) {
        let mut words: Vec<&str> = VICTIM.split_inclusive([' ', ',', ';', '.', '[', '{', '(']).collect();
        for (at, kind, other) in damage {
            let (at, other) = (at.index(words.len()), other.index(words.len()));
            match kind {
                0 => { words.remove(at); }
                1 => words.swap(at, other),
                2 => { let word = words[other]; words.insert(at, word); }
                _ => words[at] = "0xffffffffffffffff",
            }
        }
        let text = words.concat();
        if let Err(errors) = Module::parse("damaged.ptx", &text) {
            prop_assert!(errors.0.iter().all(|error| error.line >= 1 && error.column >= 1));
            prop_assert!(errors.to_string().contains("damaged.ptx:"));
        }
    }
}

#[test]
fn nesting_of_blocks_operands_and_initialisers_is_limited() {
    let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    let of_block = |depth: usize| {
        let body = nested("{\n", "}\n", depth);
        format!("{HEADER}.visible .entry k() {{\n{body}\n    ret;\n}}\n")
    };
    assert!(Module::parse("test.ptx", &of_block(128)).is_ok());
    let deep = "nested more than 128 levels deep";
    for depth in [129, 100_000] {
        assert!(errors(&of_block(depth)).contains(deep));
        for (open, close) in [("{", "}"), ("(", ")"), ("[x, ", "]")] {
            let operand = format!("    mov.u32 %r1, {};", nested(open, close, depth));
            assert!(body(&operand).contains(deep), "{open}");
        }
        let list = nested("{", "}", depth + 1);
        let variable = format!("{HEADER}.global .u32 x[2] = {list};\n");
        assert!(errors(&variable).contains(deep));
    }
}

#[test]
fn a_long_chain_of_calls_and_a_ladder_of_calls_end_with_a_verdict() {
    use std::fmt::Write as _;
    let function = |text: &mut String, name: &str, registers: usize, calls: &[String]| {
        write!(text, ".func {name}() {{ .reg .b32 %r<20>;").expect("written");
        for r in 0..registers {
            write!(text, " mov.u32 %r{r}, %tid.x;").expect("written");
        }
        for call in calls {
            write!(text, " call {call};").expect("written");
        }
        writeln!(text, " ret; }}").expect("written");
    };
    let mut chain = HEADER.to_owned();
    let mut ladder = HEADER.to_owned();
    let (depth, rungs) = (5_000, 60);
    for i in (0..depth).rev() {
        let next: &[String] = &[format!("f{}", i + 1)];
        function(
            &mut chain,
            &format!("f{i}"),
            0,
            if i + 1 == depth { &[] } else { next },
        );
    }
    for i in (0..rungs).rev() {
        let calls = [format!("a{}", i + 1), format!("b{}", i + 1)];
        let calls: &[String] = if i + 1 == rungs { &[] } else { &calls };
        function(&mut ladder, &format!("a{i}"), 0, calls);
        function(&mut ladder, &format!("b{i}"), 2, calls);
    }
    chain.push_str(".visible .entry k() { call f0; ret; }\n");
    ladder.push_str(".visible .entry k() { call a0; call b0; ret; }\n");
    for text in [chain, ladder] {
        Module::parse("test.ptx", &text).expect("few registers are needed");
    }
}

#[test]
fn a_place_at_any_column_has_a_short_message() {
    let far = " ".repeat(200_000);
    let message = body(&format!("{far}ad.s32 %r1, {};", "%r3,".repeat(60) + "%r3"));
    assert!(
        message.contains("test.ptx:9:200001: unknown instruction `ad.s32`"),
        "{message:.300}"
    );
    assert!(message.len() < 4_000, "{} bytes", message.len());
    let message = body(&format!(
        "    {}.s32 %r1;",
        "\u{1b}[31m\u{7}x".repeat(100_000)
    ));
    assert!(
        message.len() < 40_000 && !message.contains('\u{1b}'),
        "{message:.300}"
    );
}

#[test]
fn numbers_in_another_notation_are_refused_with_the_right_one() {
    let said = body("    add.f32 total, total, 0x1.8p0;");
    assert!(
        said.contains("fractions are decimal, such as `1.5`"),
        "{said}"
    );
    let said = body("    add.f32 total, total, -2;");
    let hint = "hint: a number of type .f32 needs a fraction: `-2.0`";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn a_comparison_of_pairs_wants_two_predicates() {
    assert_snapshot!(body("    setp.lt.f16x2 %p1, %r1, %r2;"), @r#"
test.ptx:9:19: a comparison of .f16x2 requires two destination predicates: `p|q`
9 |     setp.lt.f16x2 %p1, %r1, %r2;
  |                   ^^^
"#);
}

#[test]
fn registers_of_128_bits_are_refused_where_they_do_not_belong() {
    for instruction in [
        "mov.b128 %q1, %q2",
        "mov.b128 {%r1, %r2}, %q1",
        "mov.b64 %rd1, %q1",
        "mov.b64 {%r1, %r2}, %q1",
        "cvt.u64.u64 %rd1, %q1",
        "cvt.u32.u8 %q1, %r1",
        "cvt.b128.b128 %q1, %q2",
        "cvta.global.b128 %q1, %q2",
        "ld.global.u32 %r1, [%q1]",
        "ld.global.u32 %q1, [%rd1]",
        "ld.global.v2.b128 {%q1, %q2}, [%rd1]",
        "ld.global.v2.b64 {%q1, %q2}, [%rd1]",
        "ld.global.b128 %rd1, [%rd1]",
        "ld.global.b128 {%rd1, %rd2}, [%rd1]",
        "st.global.u32 [%rd1], %q1",
        "st.global.b128 [%rd1], %rd1",
        "st.global.b128 [%rd1], 5",
        "atom.global.add.b128 %q1, [%rd1], %q2",
        "atom.global.exch.b128 %q1, [%rd1], %rd2",
        "atom.global.exch.b64 %rd2, [%rd1], %q1",
        "red.global.exch.b128 [%rd1], %q2",
        "and.b128 %q1, %q1, %q2",
        "and.b64 %rd1, %q1, %rd2",
        "shl.b128 %q1, %q1, 3",
        "add.b128 %q1, %q1, 3",
        "selp.b128 %q1, %q1, %q2, %p1",
        "selp.b128 %q1, 1, 2, %p1",
        "slct.b128.s32 %q1, %q1, %q2, %r1",
        "setp.eq.b128 %p1, %q1, %q2",
        "setp.eq.b64 %p1, %q1, %rd1",
        "isspacep.global %p1, %q1",
        "shfl.sync.idx.b32 %q1, %r1, 1, 31, -1",
        "match.any.sync.b128 %r1, %q1, -1",
        "popc.b128 %r1, %q1",
        "tanh.approx.f32 %q1, %q1",
        "prefetch.global.L1 [%q1]",
    ] {
        let said = body(&format!("    .reg .b128 %q<3>; {instruction};"));
        assert!(said.contains("test.ptx:9:"), "{instruction}: {said}");
    }
}
