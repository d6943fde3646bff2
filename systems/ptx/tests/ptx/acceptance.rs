//! Tests of ten code patterns that real compilers emit and simple interpreters execute incorrectly.

use warpweave_ptx::{DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, launch};

use crate::harness::{kernel, module, run, run_module};

#[test]
fn registers_declared_in_an_inner_scope_shadow_outer_ones() {
    let got = run("mov.u32 %r1, 5; setp.eq.u32 %p1, %r1, 5;
    { .reg .pred %p1; .reg .b32 %r1; mov.u32 %r1, 9; setp.eq.u32 %p1, %r1, 5;
      @%p1 st.global.u32 [%rd0+4], 1; { .reg .b32 %r<3>; mov.u32 %r1, 11; } }
    @%p1 st.global.u32 [%rd0], %r1;");
    assert_eq!((got.u32(0), got.u32(1)), (5, 0));
}

#[test]
fn bfind_gives_the_shift_amount() {
    let got = run(
        "mov.u32 %r1, 0x00800000; bfind.shiftamt.u32 %r2, %r1; bfind.u32 %r3, %r1;
    st.global.v2.u32 [%rd0], {%r2, %r3};",
    );
    assert_eq!((got.u32(0), got.u32(1)), (8, 23));
}

#[test]
fn labels_may_have_a_space_and_directives_may_have_labels() {
    let got = run("bra go;
targets: .branchtargets go, skip;
proto_0 : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[12]);
skip : trap;
go : st.global.u32 [%rd0], 3;");
    assert_eq!(got.u32(0), 3);
}

#[test]
fn call_sequences_declare_parameter_arrays_in_nested_scopes() {
    let text = format!(
        ".func (.param .b64 r) pick(.param .align 4 .b8 dim[12], .param .b64 other) {{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u32 %r1, [dim+8]; mov.u64 %rd1, dim; ld.param.u32 %r2, [%rd1+4];
    ld.param.u64 %rd2, [other]; add.u32 %r1, %r1, %r2; cvt.u64.u32 %rd3, %r1;
    add.u64 %rd3, %rd3, %rd2; st.param.b64 [r], %rd3; ret; }}
{}",
        kernel(
            "mov.u64 %rd1, 1000;
    { .reg .b32 temp;
      .param .align 4 .b8 a[12]; st.param.v2.b32 [a], {%r0, %r0}; st.param.b32 [a+8], %r0;
      { .param .b64 b; st.param.b64 [b+0], %rd1; .param .b64 r;
        call.uni (r), pick, (a, b); ld.param.b64 %rd2, [r+0]; } }
    st.global.u64 [%rd0], %rd2;"
        )
    );
    let got = run_module(&text, 32).doubles();
    assert_eq!(got, std::array::from_fn(|lane| 1000 + 2 * lane as u64));
}

#[test]
fn addresses_of_functions_are_data() {
    let text = format!(
        ".func one() {{ ret; }} .func two() {{ ret; }}
.global .u64 operations[2] = {{one, two}};
{}",
        kernel(
            "mov.u64 %rd1, two; ld.global.u64 %rd2, [operations+8]; mov.u64 %rd3, k;
    setp.eq.u64 %p1, %rd1, %rd2; setp.ne.u64 %p2, %rd1, %rd3;
    and.pred %p1, %p1, %p2; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%rd0], %r1;"
        )
    );
    assert_eq!(run_module(&text, 32).u32(0), 1);
}

#[test]
fn untyped_registers_hold_integers_and_floats() {
    let got = run(
        "mov.b32 %r1, 0f3FC00000; add.f32 %r2, %r1, 0f3F000000; cvt.rzi.s32.f32 %r3, %r2;
    add.s32 %r2, %r2, 1; st.global.v2.b32 [%rd0], {%r2, %r3};",
    );
    assert_eq!((got.u32(0), got.u32(1)), (2f32.to_bits() + 1, 2));
}

#[test]
fn shared_variables_are_static_per_kernel_and_extern_ones_share_the_rest() {
    let text = format!(
        ".extern .shared .align 16 .b8 pool_a[]; .extern .shared .b32 pool_b[];
.visible .entry other() {{ .shared .b8 big[4096]; st.shared.u8 [big], 1; ret; }}
{}",
        kernel(
            ".shared .align 4 .b8 mine[20];
    mov.u32 %r1, mine; mov.u32 %r2, pool_a; mov.u32 %r3, pool_b;
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, 0};"
        )
    );
    let got = run_module(&text, 32);
    assert_eq!([got.u32(0), got.u32(1), got.u32(2)], [0, 32, 32]);
    assert_eq!(got.trace.code.static_local_bytes, 32);
}

#[test]
fn blocks_need_not_be_in_order() {
    let got = run("mov.u32 %r1, 0; bra head;
leave: st.global.u32 [%rd0], %r1; ret;
body: add.u32 %r1, %r1, 2; bra head;
head: setp.lt.u32 %p1, %r1, %r0; @%p1 bra body; bra leave;");
    for (lane, got) in (0u32..).zip(got.words()) {
        assert_eq!(got, lane.next_multiple_of(2));
    }
}

#[test]
fn module_variables_persist_between_launches() {
    let module = module(&format!(
        ".global .u32 counter = 40;\n{}",
        kernel("atom.global.add.u32 %r1, [counter], 1; st.global.u32 [%rd0], %r1;")
    ));
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 512);
    let args = [KernelArgument::Pointer(out)];
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_local_bytes: 0,
        args: &args,
    };
    for round in 0..3u32 {
        launch(
            &module,
            "k",
            config,
            &mut memory,
            &EmulationOptions::default(),
        )
        .expect("runs");
        assert_eq!(
            memory.read(out, 4).expect("inside"),
            (40 + round).to_le_bytes()
        );
    }
    let counter = memory.find("counter").expect("it has an allocation").base;
    assert_eq!(
        memory.read(counter, 4).expect("inside"),
        43u32.to_le_bytes()
    );
}

#[test]
fn narrow_loads_extend_shifts_clamp_and_division_by_zero_goes_on() {
    let got = run(
        "st.global.u32 [%rd0], 0x80; ld.global.s8 %r1, [%rd0]; mov.u32 %r5, 40;
    shl.b32 %r2, %r1, %r5; shr.s32 %r3, %r1, %r5; mov.u32 %r6, 0; div.u32 %r4, %r5, %r6;
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};",
    );
    let row: Vec<u32> = (0..4).map(|at| got.u32(at)).collect();
    assert_eq!(row, [0xffff_ff80, 0, 0xffff_ffff, 0xffff_ffff]);
}
