//! Texts of inputs beyond a plain run: launches from the device, less common forms of PTX,
//! matrices of real numbers, traces of newer tracers, experiments.

/// Names and contents of the files.
pub(crate) const SURFACES: [(&str, &str); 8] = [
    ("systems/launching.ron", LAUNCHING),
    ("launching.ron", LAUNCHING_SCENARIO),
    ("forms.ron", FORMS_SCENARIO),
    ("workloads/forms.ron", FORMS_WORKLOAD),
    ("workloads/cuda/forms.ptx", FORMS),
    ("data/reals.mtx", REALS),
    ("foreign/kernel-newer.traceg", NEWER),
    ("experiment.ron", EXPERIMENT),
];

/// The tiny machine with launches from the device.
const LAUNCHING: &str = r#"System(
    extends: "tiny.ron",
    modules: { "Unit": (ports: { "launches": "cu.launches" }) },
    parts: {
        "launcher": LaunchUnit(preset: "laser", units: "=units", base_cycles: 100, cycles_per_kernel: 10),
        "scheduler": (kernel_slots: 8),
    },
    wires: {
        "unit[*].launches <-> launcher.units[*]": (latency: 1),
        "launcher.gmu <-> gmu.device": (latency: 1),
    },
)"#;

const LAUNCHING_SCENARIO: &str = r#"Scenario(
    summary: "quicksort that launches itself",
    system: "systems/launching.ron",
    workload: "workloads/quicksort_device.ron",
    overrides: { "workload.n": 300, "workload.depth": 3 },
    limits: (cycles: 20000, silent_cycles: 5000),
)
"#;

const FORMS_SCENARIO: &str = r#"Scenario(
    summary: "instruction forms that compilers use rarely",
    system: "systems/tiny.ron",
    workload: "workloads/forms.ron",
    limits: (cycles: 20000, silent_cycles: 5000),
)
"#;

const FORMS_WORKLOAD: &str = r#"Workload(
    module: "cuda/forms.ptx",
    buffers: { "data": Zero(element: U32, length: 512) },
    commands: [
        CopyToDevice("data"),
        Repeat(times: 2, counter: "round", body: [
            Launch(
                kernel: "forms", grid: [1, 2], block: [32, "=round + 1"],
                cooperative: false, registers_per_thread: 40, attributes: { "work_group_map": 1 }, dynamic_local_bytes: 64,
                arguments: [Buffer("data"), F32(0.5)],
            ),
        ]),
        CopyToHost("data"),
    ],
)
"#;

const FORMS: &str = ".version 8.6
.target sm_100
.address_size 64
.extern .shared .align 16 .b8 box[];
.const .align 4 .u32 table[4] = {1, 2, 3, 0xffffffff};
.func (.reg .u32 out) twice(.reg .u32 in)
{
    add.u32 out, in, in;
    ret;
}
.visible .entry forms(.param .u64 data, .param .f32 factor)
.maxntid 1024, 1, 1
{
    .reg .pred %p<6>;
    .reg .b16 %h<4>;
    .reg .b32 %r<24>;
    .reg .f32 %f<8>;
    .reg .b64 %rd<12>;
    .reg .v4 .b32 %v;
    .shared .align 4 .b8 cell[128];
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 16;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4];
    mov.b64 %rd5, {%r2, %r3};
    fma.rn.f32x2 %rd6, %rd5, %rd5, %rd5;
    cvt.pack.sat.s16.s32 %r6, %r2, %r3;
    setp.lt.u32 %p1, %r1, 16;
    lop3.or.b32 %r7|%p2, %r2, %r3, %r4, 0x96, %p1;
    mov.u32 %r8, %cluster_ctarank;
    pmevent 3;
    call (%r9), twice, (%r1);
    ld.const.u32 %r10, [table+4];
    shfl.sync.bfly.b32 %r11|%p3, %r9, 1, 31, 0xffffffff;
    vote.sync.ballot.b32 %r12, %p1, 0xffffffff;
    prmt.b32 %r13, %r11, %r12, 0x3210;
    dp4a.u32.u32 %r14, %r13, %r10, %r9;
    bfe.u32 %r15, %r14, 4, 8;
    shl.b32 %r16, %r1, 2;
    mov.u32 %r17, cell;
    add.u32 %r17, %r17, %r16;
    st.shared.u32 [%r17], %r15;
    bar.sync 0;
    atom.shared.add.u32 %r18, [cell], 1;
    cvt.rn.f16.f32 %h1, %f1;
    fma.rn.f16 %h2, %h1, %h1, %h1;
    cvt.f32.f16 %f2, %h2;
    ex2.approx.f32 %f3, %f2;
    @%p2 red.global.add.f32 [%rd4], %f3;
    atom.global.cas.b32 %r19, [%rd4+4], 0, %r18;
    membar.gl;
    st.global.v2.u32 [%rd4+8], {%r15, %r19};
    ret;
}
";

const REALS: &str = "\u{feff}%%MatrixMarket matrix coordinate real general\n% a ring\n\
    5 5 6\n1 2 0.5\n2 3 -2.25e1\n3 4 1e-3\n4 5 7\n5 1 -0.125\n1 3 1e30\n";

/// Trace of one kernel, as tracers of version 6 write it.
const NEWER: &str = "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n\
    -shmem = 0\n-nregs = 16\n-binary version = 90\n-cuda stream id = 94558765432123\n\
    -shmem base_addr = 0x00007f2000000000\n-local mem base_addr = 0x00007f1ffe000000\n\
    -nvbit version = 1.7\n-accelsim tracer version = 6\n\n#traces format\n\n#BEGIN_TB\n\n\
    thread block = 0,0,0\ncluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n\nwarp = 0\n\
    insts = 4\n0000 ffffffff 2 R1 P0 MOV 0 0 0 0 NoVal\n\
    0010 ffffffff 2 R4 UP1 LDG.E 2 R2 UR4 4 1 0x7f0000000000 4 0 0 NoVal\n\
    0020 00000001 0 UTMALDG.2D 2 UR4 UR8 16 0x400 0 4096 0 4 0x7f0000000000 3 64 64 0 0 NoVal\n\
    0030 ffffffff 0 EXIT 0 0 0 0 NoVal\n\n#END_TB\n";

const EXPERIMENT: &str = r#"Experiment(
    summary: "Ways of the L1",
    base: "plain.ron",
    workloads: { "add": (file: "workloads/vector_add.ron", sets: { "workload.n": 256, "workload.block": 64 }) },
    variants: { "two": {}, "one": { "unit[*].l1.ways": 1 } },
    axes: { "slots": Sets({ "few": { "unit[*].cu.work_group_slots": 2 }, "more": {} }) },
    baseline: (variant: "two", slots: "more"),
    perturb: (pairs: 2, draws: { "host.launch_latency_cycles": [1, 2], "workload.block": [64, 128] }),
    metrics: {
        "ipc": (value: "ipc", kind: Ratio, better: Larger),
        "hits": (value: "sum(unit[*].l1.hits)", kind: Value, unit: "requests"),
    },
)
"#;
