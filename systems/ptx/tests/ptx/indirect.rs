//! Tests of calls through registers and of indexed branches.

use crate::harness::{HEADER, errors, fault, kernel, run, run_module, try_launch};
use insta::assert_snapshot;
use warpweave_ptx::EmulationOptions;

/// Functions of one argument, with tables of them as emitted by compilers.
const FUNCTIONS: &str = "
.func (.param .b32 r) plus (.param .b32 a) { .reg .b32 %x<2>;
  ld.param.b32 %x0, [a]; add.u32 %x0, %x0, 100; st.param.b32 [r], %x0; ret; }
.func (.param .b32 r) times (.param .b32 a) { .reg .b32 %x<2>;
  ld.param.b32 %x0, [a]; mul.lo.u32 %x0, %x0, 3; st.param.b32 [r], %x0; ret; }
.func (.param .b32 r) early (.param .b32 a) { .reg .b32 %x<2>; .reg .pred %q;
  ld.param.b32 %x0, [a]; setp.gt.u32 %q, %x0, 15; @%q bra big;
  st.param.b32 [r], 7; ret;
 big: st.param.b32 [r], 8; ret; }
.func other (.param .b64 a) { ret; }
.global .align 8 .u64 table[3] = {plus, times, early};
.const .align 8 .u64 constant_table[2] = {times, generic(plus)};
";

/// Calls the function with address `%rd1` with the lane as argument, and stores its result.
const CALL: &str = "
  { .param .b32 a; st.param.b32 [a], %r0; .param .b32 r;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %rd1, (a), proto; ld.param.b32 %r3, [r]; }
  st.global.u32 [%rd0], %r3;";

fn words(body: &str) -> [u32; 32] {
    run_module(&format!("{FUNCTIONS}{}", kernel(body)), 32).words()
}

#[test]
fn lanes_call_the_functions_their_registers_hold() {
    let choose = "rem.u32 %r1, %r0, 3; mov.u64 %rd2, table; mad.wide.u32 %rd2, %r1, 8, %rd2; ld.global.u64 %rd1, [%rd2];";
    let got = words(&format!("{choose}{CALL}"));
    for (lane, got) in (0..).zip(got) {
        let expected = match lane % 3 {
            0 => lane + 100,
            1 => lane * 3,
            _ if lane > 15 => 8,
            _ => 7,
        };
        assert_eq!(got, expected, "lane {lane}");
    }
}

#[test]
fn tables_in_constant_memory_and_moved_addresses_hold_functions_too() {
    let from_table = words(&format!("ld.const.u64 %rd1, [constant_table+8];{CALL}"));
    let moved = words(&format!("mov.u64 %rd1, plus;{CALL}"));
    assert_eq!(from_table, moved);
    assert_eq!(moved[5], 105);
}

#[test]
fn lanes_that_call_the_same_function_go_together_and_all_meet_behind_the_call() {
    let choose = "and.b32 %r1, %r0, 1; mov.u64 %rd2, table; mad.wide.u32 %rd2, %r1, 8, %rd2; ld.global.u64 %rd1, [%rd2];";
    let run = run_module(
        &format!("{FUNCTIONS}{}", kernel(&format!("{choose}{CALL}"))),
        32,
    );
    let records = run.records(0, 0);
    let instructions = &run.trace.code.instructions;
    let masks = |opcode: &str| -> Vec<u32> {
        let wanted = records
            .iter()
            .filter(|r| instructions[r.pc as usize].opcode == opcode);
        wanted.map(|record| record.mask).collect()
    };
    assert_eq!(masks("call"), [0x5555_5555, 0xaaaa_aaaa]);
    assert_eq!(masks("mul.lo.u32"), [0xaaaa_aaaa]);
    assert_eq!(masks("st.global.u32"), [u32::MAX]);
}

#[test]
fn a_guarded_call_leaves_the_other_lanes_alone() {
    let body = "setp.lt.u32 %p1, %r0, 8; mov.u32 %r3, 5; mov.u64 %rd1, times;
  { .param .b32 a; st.param.b32 [a], %r0; .param .b32 r; st.param.b32 [r], 9;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    @%p1 call (r), %rd1, (a), proto; @%p1 ld.param.b32 %r3, [r]; }
  st.global.u32 [%rd0], %r3;";
    for (lane, got) in (0..).zip(words(body)) {
        assert_eq!(got, if lane < 8 { lane * 3 } else { 5 }, "lane {lane}");
    }
}

#[test]
fn targets_of_a_call_may_be_listed() {
    let body = CALL.replace(
        "proto: .callprototype (.param .b32 _) _ (.param .b32 _);",
        "proto: .calltargets plus, times;",
    );
    assert_eq!(words(&format!("mov.u64 %rd1, times;{body}"))[9], 27);
}

#[test]
fn a_call_of_what_is_no_function_of_the_prototype_is_an_error() {
    let options = EmulationOptions::default();
    let text = |address: &str| {
        let body = format!("mov.u64 %rd1, {address};{CALL}");
        let text = format!("{FUNCTIONS}{}", kernel(&body));
        let Err(error) = try_launch(&text, 1, 32, &options) else {
            panic!("the call must fail");
        };
        error.to_string()
    };
    for address in ["64", "other"] {
        let error = text(address);
        assert!(
            error.contains("not a function whose address is taken"),
            "{error}"
        );
    }
}

#[test]
fn a_branch_by_number_takes_each_lane_to_its_target() {
    let body = "rem.u32 %r1, %r0, 4; mov.u32 %r3, 0;
targets: .branchtargets a, b, c, b;
    brx.idx %r1, targets;
a:  add.u32 %r3, %r3, 1; bra c;
b:  add.u32 %r3, %r3, 10;
c:  add.u32 %r3, %r3, 100;
    st.global.u32 [%rd0], %r3;";
    let run = run(body);
    for (lane, got) in (0..).zip(run.words()) {
        let expected = [101, 110, 100, 110][lane % 4];
        assert_eq!(got, expected, "lane {lane}");
    }
    let stores: Vec<u32> = run
        .records(0, 0)
        .iter()
        .filter(|r| run.trace.code.instructions[r.pc as usize].opcode == "st.global.u32")
        .map(|record| record.mask)
        .collect();
    assert_eq!(stores, [u32::MAX]);
}

#[test]
fn a_branch_to_a_number_without_target_is_an_error() {
    let said = fault("targets: .branchtargets a, b; brx.idx %r0, targets; a: b: ");
    assert!(
        said.contains("a branch to target 2, but there are 2 targets"),
        "{said}"
    );
}

#[test]
fn a_guarded_branch_by_number_leaves_the_other_lanes_behind_it() {
    let body = "and.b32 %r1, %r0, 1; setp.lt.u32 %p1, %r0, 4; mov.u32 %r3, 0;
targets: .branchtargets a, b;
    @%p1 brx.idx %r1, targets;
    add.u32 %r3, %r3, 1000;
a:  add.u32 %r3, %r3, 1;
b:  add.u32 %r3, %r3, 10;
    st.global.u32 [%rd0], %r3;";
    for (lane, got) in (0..).zip(run(body).words()) {
        let expected = match (lane, lane % 2) {
            (0..4, 0) => 11,
            (0..4, _) => 10,
            _ => 1011,
        };
        assert_eq!(got, expected, "lane {lane}");
    }
}

#[test]
fn variables_outside_functions_belong_to_each_thread() {
    let text = format!(
        ".local .align 4 .b32 counter[2];
.func step () {{ .reg .b32 %x<2>; ld.local.u32 %x0, [counter+4]; add.u32 %x0, %x0, 1;
  st.local.u32 [counter+4], %x0; ret; }}
{}",
        kernel(
            "st.local.u32 [counter+4], %r0; call step; call step;
  mov.u64 %rd1, counter; cvta.local.u64 %rd1, %rd1; ld.u32 %r3, [%rd1+4]; st.global.u32 [%rd0], %r3;"
        )
    );
    let run = run_module(&text, 32);
    for (lane, got) in (0..).zip(run.words()) {
        assert_eq!(got, lane + 2, "lane {lane}");
    }
    assert_eq!(run.trace.code.private_bytes, 16);
}

#[test]
fn memory_taken_from_the_stack_is_each_threads_own_to_the_end_of_the_call() {
    let text = format!(
        ".func (.reg .b32 %sum) total (.reg .b32 %n) {{ .reg .b64 %a<4>; .reg .b32 %i<4>; .reg .pred %q;
  mul.wide.u32 %a0, %n, 4; alloca.u64 %a1, %a0, 16;
  mov.u32 %i0, 0;
 fill: mul.wide.u32 %a2, %i0, 4; add.u64 %a2, %a1, %a2; st.local.u32 [%a2], %i0;
  add.u32 %i0, %i0, 1; setp.lt.u32 %q, %i0, %n; @%q bra fill;
  mov.u32 %sum, 0; mov.u32 %i0, 0;
 add: mul.wide.u32 %a2, %i0, 4; add.u64 %a2, %a1, %a2; ld.local.u32 %i1, [%a2]; add.u32 %sum, %sum, %i1;
  add.u32 %i0, %i0, 1; setp.lt.u32 %q, %i0, %n; @%q bra add;
  ret; }}
{}",
        kernel(
            "mov.u32 %r4, 0; stacksave.u64 %rd5; alloca.u64 %rd4, 4; st.local.u32 [%rd4], %r0;
  add.u32 %r2, %r0, 1; call (%r3), total, (%r2); call (%r5), total, (%r2);
  ld.local.u32 %r6, [%rd4]; stackrestore.u64 %rd5; stacksave.u64 %rd6; setp.eq.u64 %p1, %rd5, %rd6;
  @%p1 add.u32 %r3, %r3, 1000; sub.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6; st.global.u32 [%rd0], %r3;"
        )
    );
    for (lane, got) in (0..).zip(run_module(&text, 32).words()) {
        assert_eq!(got, 1000 + lane, "lane {lane}");
    }
}

#[test]
fn more_private_memory_than_a_thread_has_is_an_error() {
    let said = fault("alloca.u64 %rd1, 1000000;");
    assert!(said.contains("`alloca` of 1000000 bytes"), "{said}");
}

#[test]
fn mistakes_of_indirect_calls_and_branches_are_said() {
    let bodies = [
        "call (%r1), %rd1, (%r2), proto;",
        "call (%r1), %rd1, (%r2);",
        "t: .branchtargets nowhere; brx.idx %r1, t;",
        "brx.idx %r1, %r2;",
        "proto: .calltargets plsu; call (%r1), %rd1, (%r2), proto;",
        ".calltargets plus;",
    ];
    let said = bodies.map(|body| errors(&format!("{HEADER}{FUNCTIONS}{}", kernel(body))));
    assert_snapshot!(said.join("\n"));
}
