//! Tests of divergence, reconvergence and function calls.

use warpweave_ptx::EmulationOptions;

use crate::harness::{fault, kernel, run, run_module, try_launch};

/// Runs a body and returns the mask of each executed instruction with this opcode.
fn masks(body: &str, opcode: &str) -> Vec<u32> {
    let got = run(body);
    let records = got.records(0, 0);
    let instructions = &got.trace.code.instructions;
    let wanted = records
        .iter()
        .filter(|r| instructions[r.pc as usize].opcode == opcode);
    wanted.map(|record| record.mask).collect()
}

#[test]
fn a_breakpoint_ends_the_launch_as_a_trap_does() {
    let [trap, breakpoint] = ["trap;", "brkpt;"].map(crate::harness::fault);
    assert_eq!(trap.replace("`trap`", "`brkpt`"), breakpoint);
}

#[test]
fn both_sides_of_an_if_run_once_and_meet() {
    let body = "setp.lt.u32 %p1, %r0, 10;
    @%p1 bra small;
    add.u32 %r1, %r0, 100; bra both;
small: sub.u32 %r1, %r0, 0;
both: st.global.u32 [%rd0], %r1;";
    assert_eq!(masks(body, "st.global.u32"), [u32::MAX]);
    assert_eq!(masks(body, "add.u32"), [!0x3ff]);
    assert_eq!(masks(body, "sub.u32"), [0x3ff]);
    for (lane, got) in (0..).zip(run(body).words()) {
        assert_eq!(got, if lane < 10 { lane } else { lane + 100 });
    }
}

#[test]
fn lanes_leave_a_loop_one_by_one_and_meet_behind_it() {
    let body = "mov.u32 %r1, 0; mov.u32 %r2, 0;
loop: setp.gt.u32 %p1, %r1, %r0; @%p1 bra leave;
    add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; bra loop;
leave: st.global.u32 [%rd0], %r2;";
    assert_eq!(masks(body, "st.global.u32"), [u32::MAX]);
    for (lane, got) in (0..).zip(run(body).words()) {
        assert_eq!(got, lane * (lane + 1) / 2);
    }
}

#[test]
fn nested_loops_with_a_break_give_each_lane_its_own_count() {
    // for i in 0..=lane % 5 { for j in 0.. { if j == i || j > 2 break; n += 1 } }
    let body = "rem.u32 %r5, %r0, 5; mov.u32 %r1, 0; mov.u32 %r3, 0;
outer: setp.gt.u32 %p1, %r1, %r5; @%p1 bra done;
    mov.u32 %r2, 0;
inner: setp.eq.u32 %p2, %r2, %r1; @%p2 bra next;
    setp.gt.u32 %p3, %r2, 2; @%p3 bra next;
    add.u32 %r3, %r3, 1; add.u32 %r2, %r2, 1; bra inner;
next: add.u32 %r1, %r1, 1; bra outer;
done: st.global.u32 [%rd0], %r3;";
    assert_eq!(masks(body, "st.global.u32"), [u32::MAX]);
    for (lane, got) in (0..).zip(run(body).words()) {
        let expected: u32 = (0..=lane % 5).map(|i: u32| i.min(3)).sum();
        assert_eq!(got, expected, "lane {lane}");
    }
}

#[test]
fn unstructured_branches_into_shared_code_still_compute_per_lane() {
    // if (a) goto x; if (b) goto y; n += 1; x: n += 10; y: n += 100
    let body = "mov.u32 %r1, 0; and.b32 %r2, %r0, 1; and.b32 %r3, %r0, 2;
    setp.ne.u32 %p1, %r2, 0; setp.ne.u32 %p2, %r3, 0;
    @%p1 bra x;
    @%p2 bra y;
    add.u32 %r1, %r1, 1;
x: add.u32 %r1, %r1, 10;
y: add.u32 %r1, %r1, 100;
    st.global.u32 [%rd0], %r1;";
    for (lane, got) in run(body).words().into_iter().enumerate() {
        let expected = match lane % 4 {
            0 => 111,
            2 => 100,
            _ => 110,
        };
        assert_eq!(got, expected, "lane {lane}");
    }
    assert_eq!(masks(body, "st.global.u32"), [u32::MAX]);
}

#[test]
fn lanes_that_exit_early_leave_the_others_running() {
    let body = "st.global.u32 [%rd0], 7; setp.lt.u32 %p1, %r0, 16; @%p1 exit;
    st.global.u32 [%rd0], 8;";
    let got = run(body).words();
    assert_eq!((got[15], got[16]), (7, 8));
}

#[test]
fn guarded_instructions_without_lanes_are_recorded_with_an_empty_mask() {
    let body = "setp.gt.u32 %p1, %r0, 99; @%p1 st.global.u32 [%rd0], %r0;";
    assert_eq!(masks(body, "st.global.u32"), [0]);
}

#[test]
fn loop_heads_and_meeting_points_are_in_the_static_code() {
    let got = run("mov.u32 %r1, 0;
again: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r0; @%p1 bra again;
    st.global.u32 [%rd0], %r1;");
    let code = &got.trace.code.instructions;
    let at = |opcode| {
        code.iter()
            .position(|i| i.opcode == opcode)
            .expect("it is there") as u32
    };
    let branch = &code[at("bra") as usize];
    assert_eq!(branch.target, Some(at("add.u32")));
    assert_eq!(branch.loop_head, Some(at("add.u32")));
    assert_eq!(branch.reconvergence, Some(at("st.global.u32")));
    assert_eq!(code[at("st.global.u32") as usize].loop_head, None);
}

#[test]
fn calls_pass_parameters_and_results_in_memory() {
    let text = format!(
        ".visible .func (.param .b32 result) twice(.param .b32 value) {{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [value]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret;
}}
{}",
        kernel(
            "setp.lt.u32 %p1, %r0, 4; mov.u32 %r1, 1; @%p1 bra skip;
    {
        .param .b32 argument; .param .b32 answer;
        st.param.b32 [argument+0], %r0;
        call.uni (answer), twice, (argument);
        ld.param.b32 %r1, [answer+0];
    }
skip: st.global.u32 [%rd0], %r1;"
        )
    );
    for (lane, got) in (0..).zip(run_module(&text, 32).words()) {
        assert_eq!(got, if lane < 4 { 1 } else { 2 * lane });
    }
}

#[test]
fn calls_pass_registers_too() {
    let text = format!(
        ".func (.reg .b32 result, .reg .b64 wide) mix(.reg .b32 a, .reg .b64 b, .reg .pred p) {{
    .reg .b32 t; cvt.u32.u64 t, b; add.u32 result, a, t; selp.b64 wide, b, 0, p; ret;
}}
{}",
        kernel(
            "setp.lt.u32 %p1, %r0, 4; mov.u64 %rd1, 1000;
    call (%r1, %rd2), mix, (%r0, %rd1, %p1);
    cvt.u32.u64 %r2, %rd2; st.global.v2.u32 [%rd0], {%r1, %r2};"
        )
    );
    let got = run_module(&text, 32);
    for lane in 0..32 {
        let expected = [lane as u32 + 1000, if lane < 4 { 1000 } else { 0 }];
        assert_eq!([got.u32(4 * lane), got.u32(4 * lane + 1)], expected);
    }
}

/// Computes `f(n) = n < 2 ? n : f(n - 1) + f(n - 2)`, with a private variable that is live across
/// the first call.
const FIBONACCI: &str = ".func (.param .b32 result) fib(.param .b32 n) {
    .local .b32 kept; .reg .b32 %r<8>; .reg .pred %p;
    ld.param.u32 %r1, [n]; mov.u32 %r5, %r1; setp.lt.u32 %p, %r1, 2; @%p bra out;
    { .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2;
      call.uni (r), fib, (a); ld.param.b32 %r3, [r]; }
    st.local.u32 [kept], %r3;
    { .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 2; st.param.b32 [a], %r2;
      call.uni (r), fib, (a); ld.param.b32 %r4, [r]; }
    ld.local.u32 %r3, [kept]; add.u32 %r5, %r3, %r4;
out: st.param.b32 [result], %r5; ret; }
";

fn fibonacci() -> String {
    format!(
        "{FIBONACCI}{}",
        kernel(
            "rem.u32 %r1, %r0, 10;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), fib, (a);
      ld.param.b32 %r2, [r]; }
    st.global.u32 [%rd0], %r2;"
        )
    )
}

#[test]
fn recursion_with_divergent_depth_gives_each_lane_its_answer() {
    let numbers = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34];
    for (lane, got) in run_module(&fibonacci(), 32).words().into_iter().enumerate() {
        assert_eq!(got, numbers[lane % 10], "lane {lane}");
    }
}

#[test]
fn recursion_beyond_the_limit_is_an_error_with_the_line() {
    let options = EmulationOptions {
        call_depth: 4,
        ..EmulationOptions::default()
    };
    let Err(error) = try_launch(&fibonacci(), 1, 32, &options) else {
        panic!("too deep")
    };
    let text = error.to_string();
    assert!(
        text.contains("test.ptx:8") && text.contains("more than 4 nested calls"),
        "{text}"
    );
}

#[test]
fn exit_inside_a_function_ends_the_thread() {
    let text = format!(
        ".func stop(.reg .b32 n) {{ .reg .pred p; setp.lt.u32 p, n, 8; @p exit; ret; }}\n{}",
        kernel("call stop, (%r0); st.global.u32 [%rd0], 5;")
    );
    let got = run_module(&text, 32).words();
    assert_eq!((got[7], got[8]), (0, 5));
}

#[test]
fn traps_name_line_and_thread() {
    let error = fault("setp.eq.u32 %p1, %r0, 3; @%p1 trap;");
    assert!(
        error.contains("thread (3, 0, 0): the program trapped"),
        "{error}"
    );
}

#[test]
fn registers_are_counted_as_live_values_not_as_names() {
    let got = run(
        "add.u32 %r1, %r0, 1; add.u32 %r2, %r1, 1; add.u32 %r3, %r2, 1;
    add.u32 %r4, %r3, 1; add.u32 %r5, %r4, 1; st.global.u32 [%rd0], %r5;",
    );
    // The address takes a pair, the value one register; %r0 dies early.
    assert!(got.trace.code.registers_per_thread <= 4);
    assert_eq!(got.words()[0], 5);
}
