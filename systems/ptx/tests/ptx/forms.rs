//! Tests of forms that few programs use. One that is not supported refuses only the kernels that
//! reach it.

use warpweave_ptx::{
    DeviceMemory, EmulationError, EmulationOptions, Kernel, KernelArgument, LaunchConfig, Module,
    NoKernel, launch,
};

use crate::harness::{HEADER, errors, fault, kernel, run, run_module};

/// A kernel that runs, and the start of one that has the form under test.
const PLAIN: &str = ".visible .entry plain(.param .u64 out) { .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 5; ret; }
";

/// Runs `plain`, which stores 5.
fn run_plain(module: &Module) {
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 4);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::Pointer(out)],
    };
    let options = EmulationOptions::default();
    launch(module, "plain", config, &mut memory, &options)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.read(out, 4).expect("inside"), 5u32.to_le_bytes());
}

fn parse(text: &str) -> Module {
    Module::parse("test.ptx", &format!("{HEADER}{text}"))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// Forms that no kernel can execute, with a part of the reason.
const UNSUPPORTED: [(&str, &str); 43] = [
    (
        "mbarrier.init.shared.b64 [%rd1], 1;",
        "asynchronous barriers",
    ),
    (
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];",
        "asynchronous copies",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;",
        "asynchronous copies",
    ),
    (
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;",
        "asynchronous copies",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, p, 1, 1, 0, 0;",
        "warp-group",
    ),
    ("wgmma.fence.sync.aligned;", "warp-group"),
    ("setmaxnreg.inc.sync.aligned.u32 240;", "warp-group"),
    (
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;",
        "tensor-core",
    ),
    (
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2 + 16];",
        "tensor-core",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f1}, {%r1}, {%r2}, {%f2};",
        "matrix",
    ),
    (
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2}, [%rd1], %r3;",
        "matrix",
    ),
    (
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};",
        "matrix",
    ),
    (
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
        "m8n8",
    ),
    (
        "multimem.ld_reduce.global.add.u32 %r1, [%rd1];",
        "multi-device",
    ),
    (
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];",
        "clusters",
    ),
    ("mapa.shared::cluster.u32 %r1, %r2, %r3;", "clusters"),
    ("barrier.cluster.arrive.release.aligned;", "clusters"),
    ("ld.shared::cluster.u32 %r1, [%r2];", "`.shared::cluster`"),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];",
        "`.async`",
    ),
    ("st.bulk.weak.shared::cta [%rd1], 64, 0;", "st.bulk"),
    (
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r1], %r2, [%r3];",
        "`.async`",
    ),
    (
        "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
        "`.tensormap::generic`",
    ),
    ("fence.proxy.async;", "`.async`"),
    ("prefetch.tensormap [%rd1];", "prefetch.tensormap"),
    (
        "applypriority.global.L2::evict_normal [%rd1], 128;",
        "priorities",
    ),
    ("cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;", "cvt.rs"),
    ("cvt.rn.satfinite.tf32.f32 %r1, %f1;", ".tf32"),
    ("cvt.rp.satfinite.ue8m0x2.f32 %rs1, %f1, %f2;", ".ue8m0x2"),
    ("cvt.rn.satfinite.e2m3x2.f32 %rs1, %f1, %f2;", ".e2m3x2"),
    ("vadd.s32.s32.s32.add %r1, %r2.b0, %r3.h1, %r1;", "video"),
    (
        "vshr.u32.u32.u32.clamp %r1, %r2.b0, %r3;",
        "parts of a register",
    ),
    ("vset4.u32.u32.lt %r1, %r2.b3210, %r3.b7654, 0;", "video"),
    ("suld.b.1d.b32.trap %r1, [surface, {%r2}];", "surfaces"),
    ("mov.u64 %rd1, surface;", "surfaces"),
    ("mov.u64 %rd1, sampler;", "samplers"),
    ("istypep.surfref p, %rd1;", "opaque objects"),
    (
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, sampler, {%f5, %f6}];",
        "samplers",
    ),
    ("mov.u32 %r1, %clock;", "placement or time"),
    ("mov.u64 %rd1, %globaltimer;", "placement or time"),
    ("add.f32 %f1, %f2+1, %f3;", "an offset from a .f32 register"),
    (
        "atom.shared.add.v2.f32 {%f1, %f2}, [%r1], {%f3, %f4};",
        "global memory only",
    ),
    (
        "ld.global.v8.b64 {%rd1, %rd2, %rd3, %rd4, %rd5, %rd6, %rd7, %rd8}, [%rd1];",
        "32 bytes",
    ),
    (
        "{ .param .b32 r; call (r), cudaDeviceSynchronize, (); }",
        "waits for kernels",
    ),
];

#[test]
fn one_form_refuses_the_kernels_that_reach_it_and_not_the_file() {
    for (form, why) in UNSUPPORTED {
        let text = format!(
            ".extern .func (.param .b32 r) cudaDeviceSynchronize();
            .global .surfref surface; .global .samplerref sampler = {{ addr_mode_0 = wrap, filter_mode = nearest }};
            {PLAIN}.visible .entry other() {{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %rs<9>;
            .reg .f32 %f<9>; .reg .pred p; {form} ret; }}"
        );
        let module = parse(&text);
        run_plain(&module);
        let Err(NoKernel::Refused(refused)) = module.kernel("other") else {
            panic!("{form} must be refused");
        };
        let said = refused.reasons.to_string();
        assert!(said.contains(why), "{form}: {said}");
    }
}

#[test]
fn a_kernel_that_asks_for_a_cluster_is_refused_and_one_of_a_single_work_group_is_not() {
    let text = format!(
        "{PLAIN}
        .entry alone() .reqnctapercluster 1, 1, 1 .maxclusterrank 8 {{ ret; }}
        .entry many() .reqntid 64 .reqnctapercluster 2, 1, 1 .blocksareclusters {{ ret; }}
        .entry chosen() .explicitcluster {{ ret; }}
        .entry opaque(.param .surfref s) {{ ret; }}"
    );
    let module = parse(&text);
    run_plain(&module);
    let names: Vec<&str> = module.kernels().iter().map(Kernel::name).collect();
    assert_eq!(names, ["plain", "alone"]);
    let said: Vec<String> = module
        .refused()
        .iter()
        .map(|refused| refused.reasons.0[0].message.clone())
        .collect();
    assert_eq!(
        said,
        [
            "`.reqnctapercluster`: clusters of work-groups are not supported",
            "`.explicitcluster`: clusters of work-groups are not supported",
            "`s`: surfaces are not supported",
        ]
    );
}

#[test]
fn a_function_without_a_body_stops_the_launch_that_calls_it_and_no_other() {
    let text = |call: &str| {
        format!(
            ".extern .func (.param .b64 r) elsewhere(.param .b64 a);\n{}",
            kernel(&format!(
                "setp.gt.u32 %p1, %r0, 31; {call} st.global.u32 [%rd0], 7;"
            ))
        )
    };
    let call =
        "{ .param .b64 a; .param .b64 r; st.param.b64 [a], %rd0; call.uni (r), elsewhere, (a); }";
    let unreached = format!("@!%p1 bra past; {call} past:");
    assert_eq!(run_module(&text(&unreached), 32).u32(0), 7);
    let error = crate::harness::try_launch(&text(call), 1, 32, &EmulationOptions::default());
    let Err(error @ EmulationError::NoBody { .. }) = error.map(|_| ()) else {
        panic!("the call is reached");
    };
    let said = error.to_string();
    assert!(
        said.ends_with("the function `elsewhere` has no body in this module"),
        "{said}"
    );
    assert!(
        said.starts_with("test.ptx:18: `call.uni` in kernel `k`"),
        "{said}"
    );
}

#[test]
fn vector_registers_have_members_and_are_operands_as_a_whole() {
    let got = run(
        ".reg .v4 .b32 v; .reg .v2 .f32 pair<2>; .reg .v2 .b16 halves;
    mov.b32 v.x, 7; mov.u32 v.y, %r0; mov.b32 v.z, v.x; mov.b32 v.a, 9;
    st.global.v4.b32 [%rd0], v; ld.global.v2.f32 pair1, [%rd0]; mov.v2.f32 pair0, pair1;
    mov.b32 halves, 0x00050004; cvt.u32.u16 %r1, halves.y;
    add.u32 v.r, v.x, %r1; mov.b32 v.g, pair0.y; st.global.v4.b32 [%rd0], v;",
    );
    let rows: Vec<[u32; 4]> = (0..2)
        .map(|lane| std::array::from_fn(|at| got.u32(4 * lane + at as u64)))
        .collect();
    assert_eq!(rows, [[12, 0, 7, 9], [12, 1, 7, 9]]);
    let said = errors(&format!(
        "{HEADER}{}",
        kernel(".reg .v2 .b32 v; mov.b32 %r1, v.z;")
    ));
    assert!(said.contains("`v` has 2 elements, not `.z`"), "{said}");
}

#[test]
fn vectors_are_passed_to_functions_and_back() {
    let text = format!(
        ".func (.reg .v2 .u32 r) turned(.reg .v2 .u32 a, .reg .u32 b) {{
            add.u32 r.x, a.y, b; mov.u32 r.y, a.x; ret; }}\n{}",
        kernel(
            ".reg .v2 .u32 v; mov.u32 v.x, 3; mov.u32 v.y, 40; call (v), turned, (v, 2);
            st.global.v2.u32 [%rd0], v;"
        )
    );
    let got = run_module(&text, 32);
    assert_eq!((got.u32(0), got.u32(1)), (42, 3));
}

#[test]
fn a_register_with_an_offset_is_their_sum() {
    let got = run("mov.u32 %r1, 40; setp.eq.u32 %p1, %r0, 0; mov.u64 %rd1, 5;
    @%p1 st.global.u32 [%rd0], %r1 + 2; add.u32 %r2, %r1+1, %r1+-1; st.global.u32 [%rd0+4], %r2;
    st.global.u64 [%rd0+8], %rd1-6;");
    assert_eq!((got.u32(0), got.u32(1), got.u64(1)), (42, 80, u64::MAX));
    assert_eq!((got.u32(4), got.u32(5)), (0, 80));
    let said = errors(&format!("{HEADER}{}", kernel("mov.u32 %r1+1, %r2;")));
    assert!(
        said.contains("the destination cannot have an offset"),
        "{said}"
    );
}

#[test]
fn a_work_group_is_alone_in_its_cluster() {
    let got = run(
        ".reg .v4 .u32 v; mov.u32 %r1, %cluster_ctaid.x; mov.u32 %r2, %cluster_nctaid.z;
    mov.u32 %r3, %cluster_ctarank; mov.u32 %r4, %cluster_nctarank; mov.u32 %r5, %nclusterid.x;
    mov.pred %p1, %is_explicit_cluster; selp.u32 %r6, 8, 16, %p1; add.u32 %r6, %r6, %r5;
    mov.v4.u32 v, %clusterid; add.u32 %r6, %r6, v.x; add.u32 %r6, %r6, %tid.w;
    shl.b32 %r1, %r1, 4; or.b32 %r1, %r1, %r2; st.global.v4.u32 [%rd0], {%r1, %r3, %r4, %r6};",
    );
    let row: [u32; 4] = std::array::from_fn(|at| got.u32(at as u64));
    assert_eq!(row, [1, 0, 1, 17]);
}

#[test]
fn events_and_dependent_launches_change_nothing() {
    let got = run(
        "pmevent 7; pmevent.mask 0xff; griddepcontrol.wait; griddepcontrol.launch_dependents;
    st.global.u32 [%rd0], 3;",
    );
    assert_eq!(got.u32(0), 3);
}

#[test]
fn a_difference_gives_the_carry_of_the_sum_with_the_complement() {
    let got = run(
        "sub.cc.u32 %r1, 5, 7; addc.u32 %r1, 0, 0; sub.cc.u32 %r2, 7, 5; addc.u32 %r2, 0, 0;
    add.cc.u32 %r3, -1, 1; subc.u32 %r3, 10, 0; add.cc.u32 %r4, 5, 7; subc.u32 %r4, 10, 0;
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};",
    );
    let row: [u32; 4] = std::array::from_fn(|at| got.u32(at as u64));
    assert_eq!(row, [0, 1, 10, 9]);
    let got = run(
        "sub.cc.u64 %rd1, 3, 4; subc.cc.u64 %rd2, 0, 0; subc.u64 %rd3, 9, 1;
    st.global.v2.u64 [%rd0], {%rd2, %rd3};",
    );
    assert_eq!((got.u64(0), got.u64(1)), (u64::MAX, 7));
}

#[test]
fn sums_of_singles_in_global_memory_have_no_subnormal_numbers() {
    let body = |space: &str, address: &str| {
        format!(
            ".shared .align 8 .b8 near[8]; setp.ne.u32 %p1, %r0, 0; @%p1 bra past;
            mov.f32 %f1, 0f00400000; st{space}.v2.f32 [{address}], {{%f1, %f1}};
            mov.f32 %f3, 0f01000000; mov.f32 %f4, 0f80c00000;
            atom{space}.add.f32 %f2, [{address}], %f1; st{space}.f32 [{address}+4], %f3;
            red{space}.add.f32 [{address}+4], %f4; ld{space}.v2.f32 {{%f5, %f6}}, [{address}];
            st.global.v2.f32 [%rd0], {{%f5, %f6}}; past:"
        )
    };
    let near = "mov.u64 %rd2, near; cvta.shared.u64 %rd2, %rd2;";
    let words = |body: &str| {
        let got = run(body);
        (got.u32(0), got.u32(1))
    };
    assert_eq!(words(&body(".global", "%rd0")), (0, 0));
    assert_eq!(words(&body("", "%rd0")), (0, 0));
    assert_eq!(words(&body(".shared", "near")), (0x0080_0000, 0x0040_0000));
    let generic = body("", "%rd2").replacen("setp", &format!("{near} setp"), 1);
    assert_eq!(words(&generic), (0x0080_0000, 0x0040_0000));
}

#[test]
fn a_vector_of_atomics_is_aligned_as_a_whole() {
    let said = fault("red.global.add.v2.f32 [%rd0+4], {%f1, %f2};");
    assert!(said.contains("8-byte access"), "{said}");
    assert!(said.contains("misaligned"), "{said}");
}

#[test]
fn a_second_name_calls_the_function_that_it_stands_for() {
    let text = format!(
        ".func (.reg .b32 r) nine() {{ mov.u32 r, 9; ret; }} .func (.reg .b32 r) more();
        .alias more, nine;\n{}",
        kernel("call (%r1), more, (); st.global.u32 [%rd0], %r1;")
    );
    assert_eq!(run_module(&text, 32).u32(0), 9);
    let text = format!("{HEADER}.func nine() {{ ret; }} .alias more, nien;");
    assert!(errors(&text).contains("unknown function `nien`"));
}

#[test]
fn constant_expressions_have_their_value() {
    let text = format!(
        ".global .align 4 .u32 table[2*(1+1)] = {{ 1 << 4, ~0 & 0xff, (3 > 2) ? 10 : 20, -(7 % 4) }};
        {}",
        kernel(
            "ld.global.u32 %r1, [table + 4*2 - 4]; mov.u32 %r2, (6 | 1) * 3; ld.global.u32 %r3, [table+(8)];
            ld.global.s32 %r4, [table+12]; add.u32 %r2, %r2, 10 / 3 == 3; st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};"
        )
    );
    let got = run_module(&text, 32);
    let row: [u32; 4] = std::array::from_fn(|at| got.u32(at as u64));
    assert_eq!(row, [255, 22, 10, 3u32.wrapping_neg()]);
    assert!(errors(&format!("{HEADER}.global .u32 x[4 / 0];")).contains("division by zero"));
}

#[test]
fn directives_of_every_version_are_read() {
    let module = parse(&format!(
        ".file 1 \"a.cu\", 123, 45
        .section .debug_str {{ info: .b8 97, 0 .b32 info+4 }}
        .pragma \"unroll\";
        .common .global .align 4 .b32 shared_name;
        .visible .global .attribute(.managed) .align 4 .u32 managed;
        .global .attribute(.unified(19, 95)) .u32 unified;
        .weak .func .attribute(.unified(1, 2)) (.param .b32 r) weak(.param .align 4 .b8 list[]) .noreturn;
        .func .noreturn never() {{ trap; }}
        .visible .entry tuned(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[16])
            .maxntid 128, 2, 1 .minnctapersm 2 .maxnreg 64 .maxnctapersm 4 .pragma \"nounroll\";
        {{ .loc 1 2 3, function_name info, inlined_at 1 4 5
            .loc 1 2 3, function_name info+12, inlined_at 1 4 5
            .section .debug_loc {{ .b8 1 }}
            .pragma \"used_bytes_mask 0xff\"; ret; }}
        {PLAIN}"
    ));
    run_plain(&module);
    assert_eq!(module.refused().len(), 0);
}
