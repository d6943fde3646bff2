//! Tests of launch arguments, shapes and orders, and of launches that cannot end.

use warpweave_ptx::{
    DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, Order, launch,
};

use crate::harness::{kernel, module, run, try_launch};

const OPTIONS: EmulationOptions = EmulationOptions {
    resident_work_groups: 4,
    quantum: 8,
    order: Order::Linear,
    step_limit: 1 << 20,
    stall_limit: 1 << 14,
    call_depth: 8,
    stream_bytes: 1 << 24,
    heap_bytes: 8 << 20,
    is_cooperative: false,
    place: None,
};

fn launch_with(module: &Module, name: &str, args: &[KernelArgument]) -> String {
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_local_bytes: 0,
        args,
    };
    let mut memory = DeviceMemory::new();
    launch(module, name, config, &mut memory, &OPTIONS)
        .expect_err("must fail")
        .to_string()
}

#[test]
fn arguments_must_match_the_parameters_in_number_and_size() {
    let module = module(&kernel(""));
    assert_eq!(
        launch_with(&module, "k", &[]),
        "kernel `k` takes 1 arguments, but 0 were given"
    );
    assert_eq!(
        launch_with(&module, "k", &[KernelArgument::U32(1)]),
        "kernel `k`: argument 0 (`out`, .u64) takes 8 bytes, but 4 were given"
    );
}

#[test]
fn an_unknown_kernel_suggests_the_nearest() {
    let module = module(&kernel("").replace("entry k(", "entry matrix_multiply("));
    assert_eq!(
        launch_with(&module, "matrix_multply", &[]),
        "test.ptx: no kernel `matrix_multply`\nhint: did you mean `matrix_multiply`?"
    );
}

#[test]
fn impossible_shapes_are_refused() {
    let Err(error) = try_launch(&kernel(""), 1, 2048, &OPTIONS) else {
        panic!("too many threads")
    };
    assert_eq!(
        error.to_string(),
        "kernel `k`: a work-group of 2048 threads along x; expected 1 to 1024"
    );
}

#[test]
fn structures_by_value_and_mixed_sizes_keep_their_offsets() {
    let text = ".visible .entry k(.param .u8 a, .param .align 8 .b8 s[12], .param .f64 d,
    .param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f64 %fd;
    ld.param.u8 %r1, [a]; ld.param.u32 %r2, [s+8]; ld.param.f64 %fd, [d];
    cvt.rzi.s32.f64 %r3, %fd; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
    ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1; ret; }";
    let module = module(text);
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 4);
    let args = [
        KernelArgument::U8(1),
        KernelArgument::Bytes([[0; 4], [0; 4], 20u32.to_le_bytes()].concat()),
        KernelArgument::F64(300.5),
        KernelArgument::Pointer(out),
    ];
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_local_bytes: 0,
        args: &args,
    };
    launch(&module, "k", config, &mut memory, &OPTIONS).expect("valid launch");
    assert_eq!(memory.read(out, 4).expect("inside"), 321u32.to_le_bytes());
}

#[test]
fn three_dimensional_shapes_number_threads_x_fastest() {
    let text = ".visible .entry k(.param .u64 out) {
    .reg .b32 %r<16>; .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.z; mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r1, %r2, %r3; mad.lo.u32 %r6, %r5, %r4, %tid.x;
    mov.u32 %r7, %ctaid.y; mad.lo.u32 %r8, %r7, %nctaid.x, %ctaid.x;
    mad.lo.u32 %r9, %r8, 30, %r6;
    ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r9, 4, %rd1;
    st.global.u32 [%rd2], %r9; ret; }";
    let module = module(text);
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 4 * 30 * 6);
    let args = [KernelArgument::Pointer(out)];
    let config = LaunchConfig {
        grid: [3, 2, 1],
        block: [5, 3, 2],
        dynamic_local_bytes: 0,
        args: &args,
    };
    let trace = launch(&module, "k", config, &mut memory, &OPTIONS).expect("valid launch");
    assert_eq!(
        trace.thread_instructions(),
        6 * 30 * module.kernels()[0].code().instructions.len() as u64
    );
    for (at, word) in (0u32..).zip(memory.read(out, 720).expect("inside").chunks(4)) {
        assert_eq!(word, at.to_le_bytes());
    }
}

#[test]
fn the_table_keeps_guards_inverted_predicates_and_offsets_of_arguments() {
    use warpweave_trace::{Guard, Operand};
    let text = ".visible .entry k(.param .u32 n, .param .align 8 .b8 s[16]) {
    .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<3>;
    ld.param.u32 %r1, [n]; ld.param.u64 %rd1, [s+8]; mov.u64 %rd2, s;
    setp.lt.u32 %p1, %r1, 4; setp.ne.and.u32 %p2, %r1, 7, !%p1;
    @!%p1 add.u32 %r1, %r1, 1; @%p2 st.global.u32 [%rd1], %r1; ret; }";
    let module = module(text);
    let code = module.kernels()[0].code();
    let last = |index: usize| code.instructions[index].operands.last().cloned();
    assert_eq!(last(0), Some(Operand::Argument(0)));
    assert_eq!(last(1), Some(Operand::Argument(16)));
    assert_eq!(last(2), Some(Operand::Argument(8)));
    let written = |index: usize| match code.instructions[index].operands[0] {
        Operand::Predicate(number) => number,
        ref other => panic!("{other:?}"),
    };
    let (first, second) = (written(3), written(4));
    assert_eq!(last(4), Some(Operand::NotPredicate(first)));
    let guards: Vec<_> = code.instructions.iter().map(|at| at.guard).collect();
    let guard = |predicate, negated| Some(Guard { predicate, negated });
    assert_eq!(guards[..5], [None; 5]);
    assert_eq!(
        guards[5..],
        [guard(first, true), guard(second, false), None]
    );
}

/// A histogram with atomics and a barrier; it is race-free, so the result must not depend on the
/// order.
const HISTOGRAM: &str = ".shared .b32 bins[8];
    setp.lt.u32 %p1, %r0, 8; mov.u32 %r9, bins; mad.lo.u32 %r8, %r0, 4, %r9;
    @%p1 st.shared.u32 [%r8], 0;
    bar.sync 0;
    mov.u32 %r1, %ctaid.x; mul.lo.u32 %r2, %r1, 77; mad.lo.u32 %r2, %r0, %r0, %r2;
    and.b32 %r3, %r2, 7; mad.lo.u32 %r3, %r3, 4, %r9;
    red.shared.add.u32 [%r3], 1;
    bar.sync 0;
    @!%p1 bra end;
    ld.shared.u32 %r4, [%r8];
    red.global.add.u32 [%rd0], %r4;
end:";

#[test]
fn every_order_residency_and_quantum_gives_the_same_memory() {
    let text = kernel(HISTOGRAM);
    let baseline = try_launch(&text, 9, 96, &OPTIONS).expect("valid launch");
    let total: u32 = (0..8).map(|bin| baseline.u32(4 * bin)).sum();
    assert_eq!(total, 9 * 96);
    let orders = [
        Order::Linear,
        Order::Reversed,
        Order::Shuffled(1),
        Order::Shuffled(2),
    ];
    for order in orders {
        for (resident_work_groups, quantum) in [(1, 1), (3, 7), (64, 1000)] {
            let options = EmulationOptions {
                order,
                resident_work_groups,
                quantum,
                ..OPTIONS
            };
            let got = try_launch(&text, 9, 96, &options).expect("valid launch");
            assert_eq!(got.words(), baseline.words(), "{options:?}");
        }
    }
}

#[test]
fn the_order_decides_who_comes_first_and_repeats_exactly() {
    let text = kernel(
        "ld.param.u64 %rd1, [out]; atom.global.add.u32 %r1, [%rd1+4], 1;
        mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], %r2;",
    );
    let first = |order| {
        let options = EmulationOptions { order, ..OPTIONS };
        try_launch(&text, 40, 32, &options)
            .expect("valid launch")
            .u32(0)
    };
    assert_eq!((first(Order::Linear), first(Order::Reversed)), (0, 39));
    let seeds: Vec<u32> = (0..8).map(|seed| first(Order::Shuffled(seed))).collect();
    assert_eq!(
        seeds,
        (0..8)
            .map(|seed| first(Order::Shuffled(seed)))
            .collect::<Vec<_>>()
    );
    assert!(seeds.iter().any(|&group| group != seeds[0]), "{seeds:?}");
}

#[test]
fn a_lock_between_lanes_of_a_wavefront_is_reported_as_no_progress() {
    let text = kernel(
        "ld.param.u64 %rd1, [out];
spin: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra spin;
    st.global.u32 [%rd1+4], %r0;
    atom.global.exch.b32 %r1, [%rd1], 0;",
    );
    let Err(error) = try_launch(&text, 1, 32, &OPTIONS) else {
        panic!("must not end")
    };
    let text = error.to_string();
    assert!(
        text.contains("waits in a loop for memory to change (`out`"),
        "{text}"
    );
    assert!(
        text.contains("while 1 lanes of its wavefront wait"),
        "{text}"
    );
}

/// Each work-group arrives at `out[0]` and waits until all have arrived.
const GRID_BARRIER: &str =
    "ld.param.u64 %rd1, [out]; mov.u32 %r4, %nctaid.x; setp.ne.u32 %p2, %r0, 0;
    @%p2 bra behind;
    atom.global.add.u32 %r1, [%rd1], 1;
wait: ld.volatile.global.u32 %r2, [%rd1]; setp.lt.u32 %p1, %r2, %r4; @%p1 bra wait;
behind: bar.sync 0; st.global.u32 [%rd0+4], %r2;";

#[test]
fn a_barrier_of_the_whole_grid_is_refused_however_many_groups_are_resident() {
    let text = kernel(GRID_BARRIER);
    for (groups, resident) in [(2, 1), (2, 60), (60, 60), (61, 60), (8, 4)] {
        let options = EmulationOptions {
            resident_work_groups: resident,
            quantum: 32,
            ..EmulationOptions::default()
        };
        let Err(error) = try_launch(&text, groups, 64, &options) else {
            panic!("{groups} groups, {resident} resident")
        };
        let text = error.to_string();
        assert!(text.contains("such a grid-wide barrier"), "{text}");
    }
}

#[test]
fn a_barrier_of_the_whole_grid_passes_in_a_cooperative_launch() {
    let text = kernel(GRID_BARRIER).replace("%rd0+4", "%rd1+4");
    for (groups, resident) in [(2, 1), (60, 60), (61, 60), (8, 4)] {
        let options = EmulationOptions {
            resident_work_groups: resident,
            is_cooperative: true,
            ..EmulationOptions::default()
        };
        let launched = try_launch(&text, groups, 64, &options);
        launched.unwrap_or_else(|error| panic!("{groups} groups, {resident} resident: {error}"));
    }
}

/// The barrier as compilers write it: in the workspace, a word whose top bit flips when all
/// work-groups have arrived.
const COMPILED_GRID_BARRIER: &str = "
    ld.param.u64 %rd1, [out]; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %ctaid.x;
    mov.u32 %r1, %envreg2; mov.u32 %r2, %envreg1; mov.b64 %rd2, {%r1, %r2};
    setp.eq.u64 %p1, %rd2, 0; @%p1 trap;
    atom.global.add.u32 %r3, [%rd1], 1;
    bar.sync 0;
    setp.ne.u32 %p2, %r0, 0; @%p2 bra behind;
    sub.u32 %r6, 0x80000001, %r4; setp.eq.u32 %p1, %r5, 0; selp.u32 %r6, %r6, 1, %p1;
    fence.acq_rel.gpu;
    atom.add.gpu.u32 %r7, [%rd2+4], %r6;
wait: ld.acquire.gpu.u32 %r8, [%rd2+4]; xor.b32 %r8, %r8, %r7; setp.ge.s32 %p1, %r8, 0; @%p1 bra wait;
behind: bar.sync 0; ld.global.u32 %r9, [%rd1];
    mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3+4], %r9;";

#[test]
fn the_grid_barrier_of_compilers_finds_its_workspace_in_a_cooperative_launch() {
    let text = kernel(COMPILED_GRID_BARRIER);
    let cooperative = EmulationOptions {
        is_cooperative: true,
        ..EmulationOptions::default()
    };
    let got = try_launch(&text, 7, 32, &cooperative).unwrap_or_else(|error| panic!("{error}"));
    let seen: Vec<u32> = (0..8).map(|word| got.u32(word)).collect();
    assert_eq!(seen, [7 * 32; 8]);
    let Err(error) = try_launch(&text, 7, 32, &EmulationOptions::default()) else {
        panic!("it has no workspace")
    };
    assert!(
        matches!(error, warpweave_ptx::EmulationError::Trap { .. }),
        "{error}"
    );
}

#[test]
fn a_work_group_that_waits_for_one_before_it_runs() {
    // Work-group i adds to what work-group i - 1 has left.
    let text = kernel(
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r3, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra first;
    mov.u32 %r5, 0;
busy: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, %r1; @%p3 bra busy;
wait: ld.volatile.global.u32 %r2, [%rd1+-4]; setp.eq.u32 %p2, %r2, 0; @%p2 bra wait;
    add.u32 %r3, %r2, 1;
first: mov.u32 %r6, 0;
slow: add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 20000; @%p3 bra slow;
    st.volatile.global.u32 [%rd1], %r3;",
    );
    let got = try_launch(&text, 5, 32, &EmulationOptions::default());
    let got = got.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        std::array::from_fn(|group| got.u32(group as u64)),
        [1, 2, 3, 4, 5]
    );
}

#[test]
fn work_groups_share_a_lock_that_is_held_for_long() {
    let text = kernel(
        "ld.param.u64 %rd1, [out]; setp.ne.u32 %p2, %r0, 0; @%p2 bra behind;
spin: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra spin;
    mov.u32 %r6, 0;
slow: add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 20000; @%p3 bra slow;
    ld.volatile.global.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd1+4], %r2;
    atom.global.exch.b32 %r1, [%rd1], 0;
behind:",
    );
    for order in [Order::Linear, Order::Reversed, Order::Shuffled(3)] {
        let options = EmulationOptions {
            order,
            ..EmulationOptions::default()
        };
        let got = try_launch(&text, 6, 32, &options);
        let got = got.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(got.u32(1), 6);
    }
}

#[test]
fn a_wait_for_what_nobody_writes_is_found_soon() {
    let text =
        kernel("wait: ld.volatile.global.u32 %r2, [%rd0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra wait;");
    let Err(error) = try_launch(&text, 3, 64, &EmulationOptions::default()) else {
        panic!("must not end")
    };
    let text = error.to_string();
    assert!(
        text.contains("all running wavefronts wait in the same way"),
        "{text}"
    );
}

#[test]
fn a_wait_for_a_group_that_is_not_resident_is_reported() {
    let text = kernel(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 7; ld.param.u64 %rd1, [out];
    @%p1 st.global.u32 [%rd1], 1;
wait: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra wait;",
    );
    let options = EmulationOptions {
        resident_work_groups: 4,
        ..EmulationOptions::default()
    };
    let Err(error) = try_launch(&text, 8, 32, &options) else {
        panic!("must not end")
    };
    let text = error.to_string();
    assert!(
        text.contains("work-groups can start only after a waiting one ends"),
        "{text}"
    );
}

#[test]
fn wavefronts_at_different_barriers_are_a_deadlock_with_their_lines() {
    let text = kernel(
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra other;
    bar.sync 1; bra end;
other: bar.sync 2;
end:",
    );
    let Err(error) = try_launch(&text, 1, 64, &OPTIONS) else {
        panic!("must not end")
    };
    let text = error.to_string();
    assert!(text.contains("stuck at barriers"), "{text}");
    assert!(text.contains("wavefront 0 at barrier 2") && text.contains("wavefront 1 at barrier 1"));
}

#[test]
fn the_step_limit_stops_long_launches() {
    let text = kernel("again: st.global.u32 [%rd0], 1; bra again;");
    let Err(error) = try_launch(&text, 1, 32, &OPTIONS) else {
        panic!("must not end")
    };
    assert!(error.to_string().contains("raise `step_limit`"), "{error}");
}

#[test]
fn traces_of_one_launch_count_all_work() {
    let got = run("add.u32 %r1, %r0, 1; st.global.u32 [%rd0], %r1;");
    assert_eq!(got.trace.wavefront_instructions(), 6);
    assert_eq!(got.trace.thread_instructions(), 6 * 32);
    assert_eq!(got.trace.code.name, "k");
}

#[test]
fn a_launch_whose_records_outgrow_their_limit_is_stopped_with_kernel_and_size() {
    let text = kernel("again: st.global.u32 [%rd0], 1; xor.b64 %rd0, %rd0, 256; bra again;");
    let options = EmulationOptions {
        stream_bytes: 1000,
        ..OPTIONS
    };
    let Err(error) = try_launch(&text, 1, 32, &options) else {
        panic!("must not end")
    };
    let text = error.to_string();
    assert!(
        text.starts_with("test.ptx: kernel `k` has written 10"),
        "{text}"
    );
    assert!(
        text.contains("more than the 1000 allowed; raise `emulation.stream_bytes`"),
        "{text}"
    );
}

#[test]
fn the_default_limits_are_those_documented() {
    let options = EmulationOptions::default();
    let found = (
        options.step_limit,
        options.stall_limit,
        options.stream_bytes,
    );
    assert_eq!(found, (1 << 34, 1 << 25, 4 << 30));
}

#[test]
fn modules_of_many_functions_kernels_and_loops_are_read() {
    use std::fmt::Write as _;
    // Work that grows with the square of the number would take minutes.
    const MANY: usize = 40_000;
    let mut text = String::from(".version 7.8\n.target sm_80\n.address_size 64\n");
    for number in 0..MANY {
        let _ = writeln!(text, ".func f{number}() {{ ret; }}");
        let _ = writeln!(text, ".visible .entry k{number}() {{ ret; }}");
    }
    text += ".visible .entry loops() {\n.reg .pred %p;\n";
    for number in 0..MANY {
        let _ = writeln!(
            text,
            "L{number}: @%p bra L{number};\nM{number}: bra M{number};"
        );
    }
    text += "ret; }\n.visible .entry calls() {\n";
    for number in 0..MANY {
        let _ = writeln!(text, "call f{number};");
    }
    text += "ret; }\n";
    let module = Module::parse("many.ptx", &text).expect("the module is valid");
    assert_eq!(module.kernels().len(), MANY + 2);
}
