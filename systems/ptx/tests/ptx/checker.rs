//! Tests of the checker: the errors it finds, and valid code that it accepts.

mod meetings;
mod unset;

use warpweave_ptx::{
    DeviceMemory, EmulationOptions, Finding, FindingKind, KernelArgument, LaunchConfig, Numbers,
    ProgramChecker, Verdict,
};

use crate::harness::{kernel, module};

/// Launch shape of `k(out)`, which has two buffers of 16 bytes per thread: `in`, written by the
/// host, followed by `out`.
#[derive(Clone, Copy)]
struct Shape {
    grid: u32,
    threads: u32,
}

const ONE: Shape = Shape {
    grid: 1,
    threads: 32,
};
const TWO_WAVEFRONTS: Shape = Shape {
    grid: 1,
    threads: 64,
};
const TWO_GROUPS: Shape = Shape {
    grid: 2,
    threads: 32,
};

/// Launches a module's `k(out)`; returns the findings, and the error if the launch failed.
fn examine(text: &str, shape: Shape) -> (Vec<Finding>, Option<String>) {
    let module = module(text);
    let mut memory = DeviceMemory::new();
    let mut checker = ProgramChecker::new();
    let bytes = u64::from(shape.grid * shape.threads) * 16;
    let input = memory.allocate("in", bytes);
    memory
        .write(input, &vec![1; bytes as usize])
        .expect("inside");
    checker.host_wrote(input, bytes);
    let out = memory.allocate("out", bytes);
    let args = [KernelArgument::Pointer(out), KernelArgument::Pointer(input)];
    let config = LaunchConfig {
        grid: [shape.grid, 1, 1],
        block: [shape.threads, 1, 1],
        dynamic_local_bytes: 256,
        args: &args[..module.kernels()[0].parameters().len()],
    };
    let options = EmulationOptions {
        quantum: 4,
        ..EmulationOptions::default()
    };
    let result = checker.launch(
        &module,
        "k",
        config,
        &mut memory,
        &options,
        &mut Numbers::default(),
    );
    (
        checker.findings().to_vec(),
        result.err().map(|error| error.to_string()),
    )
}

/// Returns the findings of a body that runs to completion.
fn found_in(body: &str, shape: Shape) -> Vec<Finding> {
    let (found, failed) = examine(&kernel(body), shape);
    assert_eq!(failed, None, "{body}");
    found
}

/// Returns the only finding of a body.
fn only(kind: FindingKind, verdict: Verdict, body: &str, shape: Shape) -> Finding {
    let found = found_in(body, shape);
    let [finding] = &found[..] else {
        panic!("one finding expected: {found:#?}")
    };
    assert_eq!((finding.kind, finding.verdict), (kind, verdict), "{body}");
    finding.clone()
}

fn clean(body: &str, shape: Shape) {
    let found = found_in(body, shape);
    assert!(found.is_empty(), "{body}: {found:#?}");
}

/// Returns a body in which each thread writes its own local-memory word and reads that of the
/// thread `distance` away.
fn neighbours(distance: u32, between: &str) -> String {
    format!(
        ".shared .b32 pool[64]; mov.u32 %r1, pool; mad.lo.u32 %r2, %r0, 4, %r1;
         st.shared.u32 [%r2], %r0; {between}
         mov.u32 %r5, %ntid.x; add.u32 %r3, %r0, {distance}; rem.u32 %r3, %r3, %r5;
         mad.lo.u32 %r3, %r3, 4, %r1;
         ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd0], %r4;"
    )
}

use FindingKind::{
    DivisionByZero, GlobalRace, MissingReturn, OutsideAllocation, UninitialisedMemory,
    UninitialisedRegister,
};
use Verdict::{Error, Undecided};

#[test]
fn an_unwritten_register_is_found_where_it_is_used_first() {
    let found = only(
        UninitialisedRegister,
        Error,
        "\n  add.u32 %r2, %r1, 1; add.u32 %r3, %r1, 2; st.global.u32 [%rd0], %r2;",
        ONE,
    );
    assert_eq!((found.spot.line, found.spot.column), (18, 3));
    assert_eq!(found.spot.opcode, "add.u32");
    assert_eq!(found.spot.thread, [0, 0, 0]);
    assert_eq!(found.count, 32);
    assert!(found.detail.contains("register `%r1`"), "{}", found.detail);
    clean(
        "mov.u32 %r1, 7; add.u32 %r2, %r1, 1; st.global.u32 [%rd0], %r2;",
        ONE,
    );
}

#[test]
fn a_register_written_by_other_lanes_only_is_unwritten() {
    let body = |upper: &str| {
        format!(
            "setp.lt.u32 %p1, %r0, 5; @%p1 mov.u32 %r1, 3; {upper}
             add.u32 %r2, %r1, 1; st.global.u32 [%rd0], %r2;"
        )
    };
    let found = only(UninitialisedRegister, Error, &body(""), ONE);
    assert_eq!((found.spot.thread, found.count), ([5, 0, 0], 27));
    clean(&body("@!%p1 mov.u32 %r1, 4;"), ONE);
}

#[test]
fn a_register_that_shares_its_number_with_a_dead_one_is_still_unwritten() {
    // After its last use the number of %r1 is free, and %r2 gets it.
    let found = only(
        UninitialisedRegister,
        Error,
        "mov.u32 %r1, 7; st.global.u32 [%rd0], %r1; st.global.u32 [%rd0+4], %r2;",
        ONE,
    );
    assert!(found.detail.contains("`%r2`"), "{}", found.detail);
}

#[test]
fn copying_an_unwritten_register_is_no_use_but_using_the_copy_is() {
    clean(
        "setp.eq.u32 %p1, %r0, 0; mov.u32 %r2, %r1; selp.u32 %r3, %r2, 5, %p1;",
        ONE,
    );
    let found = only(
        UninitialisedRegister,
        Error,
        "setp.eq.u32 %p1, %r0, 3; selp.u32 %r3, %r1, 5, %p1; st.global.u32 [%rd0], %r3;",
        ONE,
    );
    assert_eq!((found.spot.thread, found.count), ([3, 0, 0], 1));
}

#[test]
fn an_unwritten_guard_is_found_in_all_lanes_that_come_there() {
    let found = only(UninitialisedRegister, Error, "@%p1 mov.u32 %r1, 3;", ONE);
    assert!(found.detail.contains("`%p1`"), "{}", found.detail);
    assert_eq!(found.count, 32);
}

#[test]
fn unwritten_bytes_of_private_memory_are_found() {
    let body = |bytes: &str| {
        format!(
            ".local .align 4 .b8 mine[8]; st.local.{bytes} [mine+4], %r0;
             ld.local.u32 %r1, [mine+4]; add.u32 %r1, %r1, 1; st.global.u32 [%rd0], %r1;"
        )
    };
    let found = only(UninitialisedMemory, Error, &body("u16"), ONE);
    assert_eq!(found.buffer.as_deref(), Some("mine"));
    assert!(found.detail.contains("private memory"), "{}", found.detail);
    clean(&body("u32"), ONE);
}

#[test]
fn a_callee_does_not_inherit_what_an_earlier_call_left_in_its_frame() {
    let text = |first: &str| {
        format!(
            ".func (.reg .b32 %back) f(.reg .b32 %set) {{
                .local .b32 x; .reg .b32 %r1; .reg .pred %p;
                setp.ne.u32 %p, %set, 0;
                @%p st.local.u32 [x], 5;
                ld.local.u32 %r1, [x];
                mov.u32 %back, %r1; ret; }}
             {}",
            kernel(&format!(
                "call (%r1), f, (1); call (%r2), f, ({first});
                 add.u32 %r1, %r1, %r2; st.global.u32 [%rd0], %r1;"
            ))
        )
    };
    let (found, _) = examine(&text("0"), ONE);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, UninitialisedMemory);
    let (found, failed) = examine(&text("1"), ONE);
    assert!(found.is_empty() && failed.is_none(), "{found:#?}");
}

#[test]
fn unwritten_bytes_of_local_memory_are_found() {
    let body = |who: &str| {
        format!(
            ".shared .b32 pool[32]; setp.{who} %p1, %r0, 31; mov.u32 %r1, pool;
             mad.lo.u32 %r1, %r0, 4, %r1; @%p1 st.shared.u32 [%r1], %r0; bar.sync 0;
             ld.shared.u32 %r2, [%r1]; st.global.u32 [%rd0], %r2;"
        )
    };
    let found = only(UninitialisedMemory, Error, &body("lt.u32"), ONE);
    assert_eq!(found.buffer.as_deref(), Some("pool"));
    assert_eq!((found.address, found.spot.thread), (Some(124), [31, 0, 0]));
    clean(&body("le.u32"), ONE);
}

#[test]
fn global_memory_that_neither_host_nor_kernel_wrote_is_found_with_its_buffer() {
    let found = only(
        UninitialisedMemory,
        Error,
        "ld.global.u32 %r1, [%rd0+8]; st.global.u32 [%rd0], %r1;",
        ONE,
    );
    assert_eq!(found.buffer.as_deref(), Some("out"));
    assert_eq!(found.address, Some(0x1000_0300 + 8));
    assert!(
        found
            .near
            .as_deref()
            .is_some_and(|near| near.starts_with("`out`"))
    );
    clean(
        "st.global.u32 [%rd0+8], %r0; ld.global.u32 %r1, [%rd0+8]; st.global.u32 [%rd0], %r1;",
        ONE,
    );
}

#[test]
fn initialised_and_zeroed_variables_of_the_module_count_as_written() {
    let text = format!(
        ".global .b32 zero; .const .b32 one = 1; {}",
        kernel(
            "ld.global.u32 %r1, [zero]; ld.const.u32 %r2, [one]; add.u32 %r1, %r1, %r2;
             st.global.u32 [%rd0], %r1;"
        )
    );
    let (found, failed) = examine(&text, ONE);
    assert!(found.is_empty() && failed.is_none(), "{found:#?}");
}

#[test]
fn an_access_beside_its_allocation_is_found_even_inside_another_one() {
    let far = |bytes: u32| {
        format!(
            "ld.param.u64 %rd1, [input]; ld.global.u32 %r1, [%rd1+{bytes}]; st.global.u32 [%rd0], %r1;"
        )
    };
    let text = |bytes| {
        kernel(&format!("st.global.u32 [%rd0], 1; {}", far(bytes)))
            .replace(".param .u64 out)", ".param .u64 out, .param .u64 input)")
    };
    // `in` has 512 bytes, `out` begins 768 bytes behind its start.
    let (mut found, failed) = examine(&text(1024), ONE);
    assert_eq!(failed, None);
    // It also reads what another thread writes.
    found.retain(|finding| finding.kind != GlobalRace);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].kind, found[0].verdict),
        (OutsideAllocation, Error)
    );
    assert!(
        found[0].detail.contains("outside `in`"),
        "{}",
        found[0].detail
    );
    assert!(
        found[0]
            .near
            .as_deref()
            .is_some_and(|near| near.starts_with("`out`"))
    );
    let (found, _) = examine(&text(508), ONE);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn pointers_keep_their_allocation_through_memory_calls_and_arithmetic() {
    let text = |offset: u32| {
        format!(
            ".func (.param .b64 back) step(.param .b64 p) {{ .reg .b64 %rd<3>;
                ld.param.b64 %rd1, [p]; add.u64 %rd1, %rd1, {offset}; st.param.b64 [back], %rd1; ret; }}
             {}",
            kernel(
                ".local .align 8 .b8 mine[16]; .shared .align 8 .b8 pool[8];
                 .param .b64 give; .param .b64 get;
                 setp.ne.u32 %p1, %r0, 0; @%p1 exit;
                 st.local.u64 [mine+8], %rd0; ld.local.u64 %rd1, [mine+8];
                 st.shared.u64 [pool], %rd1; ld.shared.u64 %rd2, [pool];
                 mov.b64 {%r1, %r2}, %rd2; mov.b64 %rd3, {%r1, %r2};
                 st.param.b64 [give], %rd3; call (get), step, (give); ld.param.b64 %rd4, [get];
                 st.global.u32 [%rd4], 5;"
            )
        )
    };
    let (found, failed) = examine(&text(0), ONE);
    assert!(
        found.is_empty() && failed.is_none(),
        "{found:#?} {failed:?}"
    );
    let (found, failed) = examine(&text(4096), ONE);
    assert!(failed.is_some());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].kind, found[0].verdict),
        (OutsideAllocation, Error)
    );
}

#[test]
fn variables_in_local_and_private_memory_have_their_own_bounds() {
    let body = |at: u32| {
        format!(
            ".shared .b32 one[32]; .shared .b32 two[32]; mov.u32 %r1, one; mad.lo.u32 %r1, %r0, 4, %r1;
             st.shared.u32 [%r1+{at}], %r0;"
        )
    };
    let found = only(OutsideAllocation, Error, &body(128), ONE);
    assert!(found.detail.contains("outside `one`"), "{}", found.detail);
    clean(&body(0), ONE);
    let body = |at: u32| {
        format!(
            ".local .align 4 .b8 one[4]; .local .align 4 .b8 two[4]; mov.u64 %rd1, one;
             st.local.u32 [%rd1+{at}], %r0; st.local.u32 [two], %r0;"
        )
    };
    only(OutsideAllocation, Error, &body(4), ONE);
    clean(&body(0), ONE);
}

#[test]
fn what_an_address_points_to_is_listed_as_undecided_where_nothing_tells() {
    let found = only(
        OutsideAllocation,
        Undecided,
        "shr.u64 %rd1, %rd0, 1; shl.b64 %rd1, %rd1, 1; st.global.u32 [%rd1], %r0;",
        ONE,
    );
    assert!(
        found.detail.contains("hides which object it refers to"),
        "{}",
        found.detail
    );
    let found = only(
        OutsideAllocation,
        Undecided,
        "mad.wide.u32 %rd1, %r0, 4, 0x10000000; st.global.u32 [%rd1], %r0;",
        ONE,
    );
    assert!(found.detail.contains("from a number"), "{}", found.detail);
}

#[test]
fn control_that_runs_off_the_end_is_found() {
    let text = ".visible .entry k(.param .u64 out) { .reg .b32 %r1; mov.u32 %r1, 1; }";
    let (found, failed) = examine(text, ONE);
    assert_eq!(failed, None);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].kind, found[0].verdict), (MissingReturn, Error));
    let (found, _) = examine(&text.replace("1; }", "1; ret; }"), ONE);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn integers_divided_by_zero_are_found_at_every_width() {
    for (instruction, first) in [
        ("div.u32 %r2, 8, %r1;", 0),
        ("rem.s32 %r2, 8, %r1;", 0),
        ("cvt.u64.u32 %rd1, %r1; div.s64 %rd2, %rd0, %rd1;", 0),
        ("cvt.u16.u32 %rs1, %r1; rem.u16 %rs2, %rs1, %rs1;", 0),
        ("@%p1 div.u32 %r2, 8, %r1;", 4),
    ] {
        let body = |from: u32| {
            format!(
                "setp.gt.u32 %p1, %r0, 3; shr.u32 %r1, %r0, 3; add.u32 %r1, %r1, {from}; {instruction}"
            )
        };
        let found = only(DivisionByZero, Error, &body(0), ONE);
        assert_eq!(found.spot.thread, [first, 0, 0], "{instruction}");
        clean(&body(1), ONE);
    }
    clean("mov.f32 %f1, 0f00000000; div.rn.f32 %f2, %f1, %f1;", ONE);
}

#[test]
fn findings_name_the_source_line_where_the_compiler_says_it() {
    let text = format!(
        ".file 1 \"kernels/sum.cu\"\n{}",
        kernel(".loc 1 17 9\n div.u32 %r2, %r0, 0;\n st.global.u32 [%rd0], %r2;")
    );
    let (found, _) = examine(&text, ONE);
    let source = found[0].spot.source.as_ref().expect("a source line");
    assert_eq!(source.to_string(), "kernels/sum.cu:17:9");
}

#[test]
fn findings_come_in_the_same_order_in_every_run_and_are_bounded() {
    let body: String = (0..300).map(|_| "div.u32 %r1, %r0, 0;\n").collect();
    let (first, _) = examine(&kernel(&body), TWO_WAVEFRONTS);
    let (second, _) = examine(&kernel(&body), TWO_WAVEFRONTS);
    assert_eq!(first, second);
    assert_eq!(first.len(), 200);
    assert!(first.iter().all(|finding| finding.count == 64));
}

#[test]
fn checking_changes_neither_memory_nor_trace() {
    let text = kernel(&neighbours(1, "bar.sync 0;"));
    let plain = crate::harness::run_module(&text, 32);
    let module = module(&text);
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 512);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_local_bytes: 256,
        args: &[KernelArgument::Pointer(out)],
    };
    let options = EmulationOptions::default();
    let family = ProgramChecker::new()
        .launch(
            &module,
            "k",
            config,
            &mut memory,
            &options,
            &mut Numbers::default(),
        )
        .expect("the launch ends");
    assert_eq!(memory.read(out, 512), plain.memory.read(plain.out, 512));
    assert_eq!(family.kernels[0].counts(), plain.trace.counts());
    assert_eq!(family.kernels[0].stream_bytes(), plain.trace.stream_bytes());
}

#[test]
fn calls_through_registers_and_memory_from_the_stack_are_followed() {
    let text = format!(
        ".func (.reg .b32 %r) plus (.reg .b32 %a) {{ add.u32 %r, %a, 1; ret; }}
.func (.reg .b32 %r) minus (.reg .b32 %a) {{ sub.u32 %r, %a, 1; ret; }}
.global .u64 table[2] = {{plus, minus}};
{}",
        kernel(
            "and.b32 %r1, %r0, 1; mov.u64 %rd2, table; mad.wide.u32 %rd2, %r1, 8, %rd2;
  ld.global.u64 %rd1, [%rd2]; alloca.u64 %rd3, 8; st.local.u32 [%rd3], %r0; ld.local.u32 %r2, [%rd3];
  proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
  call (%r3), %rd1, (%r2), proto; st.global.u32 [%rd0], %r3;"
        )
    );
    let (findings, failed) = examine(&text, ONE);
    assert_eq!((findings.len(), failed), (0, None), "{findings:?}");
    let forgotten = text.replace("ld.global.u64 %rd1, [%rd2];", "");
    let (findings, _) = examine(&forgotten, ONE);
    assert!(findings[0].detail.contains("%rd1"), "{findings:?}");
}

#[test]
fn memory_that_is_given_back_is_nobodys_for_whoever_takes_it_next() {
    let text = format!(
        ".extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
{}",
        kernel(
            "setp.ne.u32 %p1, %r0, 0; @%p1 bra behind;
  mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd5, %r5, 512; add.u64 %rd0, %rd0, %rd5;
  mul.lo.u32 %r5, %r5, 200;
later: setp.eq.u32 %p2, %r5, 0; @%p2 bra now; sub.u32 %r5, %r5, 1; bra later;
now:
  { .param .b64 n; st.param.b64 [n], 16; .param .b64 r; call (r), malloc, (n); ld.param.b64 %rd1, [r]; }
  st.u32 [%rd1], %r0; ld.u32 %r2, [%rd1]; st.global.u32 [%rd0], %r2;
  { .param .b64 p; st.param.b64 [p], %rd1; call free, (p); }
behind:"
        )
    );
    let (findings, failed) = examine(&text, TWO_GROUPS);
    assert_eq!((findings.len(), failed), (0, None), "{findings:?}");
    let unwritten = text.replace("st.u32 [%rd1], %r0;", "");
    let (findings, _) = examine(&unwritten, TWO_GROUPS);
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(finding.kind, UninitialisedMemory);
    assert_eq!(finding.count, 2, "it is handed out again");
}
