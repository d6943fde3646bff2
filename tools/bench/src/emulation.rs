//! Emulation workloads: one wavefront that runs a PTX loop.

use cpu_time::ProcessTime;
use warpweave_ptx::{DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, launch};

use crate::workload::{Sample, Tally};

/// Number of copies of the body in the loop. The loop itself adds three instructions.
const REPEATED: usize = 4;

/// PTX loop body and its amount of work.
#[derive(Clone, Copy)]
pub(crate) struct Loop {
    /// PTX of the body: eight instructions.
    body: &'static str,
    /// Units of work in one iteration.
    units: u64,
}

/// Integer arithmetic. Every instruction of an iteration counts as a unit.
pub(crate) const INTEGER: Loop = Loop {
    body: "add.s32 %r2, %r2, %r1; xor.b32 %r3, %r3, %r2; sub.s32 %r4, %r3, %r2; shl.b32 %r5, %r4, 3;
        and.b32 %r6, %r5, %r3; add.s32 %r2, %r2, 7; or.b32 %r3, %r6, %r4; mad.lo.s32 %r4, %r2, %r3, %r5;",
    units: 35,
};

/// Floating-point arithmetic, with units as in [`INTEGER`].
pub(crate) const FLOAT: Loop = Loop {
    body: "add.f32 %f2, %f2, %f1; mul.f32 %f3, %f2, %f1; sub.f32 %f4, %f3, %f2; fma.rn.f32 %f5, %f4, %f3, %f2;
        max.f32 %f2, %f5, %f1; mul.ftz.f32 %f3, %f3, %f2; fma.rn.f32 %f4, %f4, %f1, %f5; add.f32 %f3, %f3, %f4;",
    units: 35,
};

/// Accesses to neighbouring words in global and work-group memory. Each access counts as a unit.
pub(crate) const MEMORY: Loop = Loop {
    body: "ld.global.u32 %r2, [%rd2]; ld.shared.u32 %r3, [%r7]; st.global.u32 [%rd2+128], %r2;
        st.shared.u32 [%r7], %r3; ld.global.f32 %f2, [%rd2+256]; st.global.f32 [%rd2+256], %f2;
        ld.global.u64 %rd3, [%rd1]; st.shared.u32 [%r7+128], %r2;",
    units: 32,
};

/// Accesses to words in irregular order, in global and work-group memory.
pub(crate) const SCATTERED: Loop = Loop {
    body: "ld.global.u32 %r2, [%rd4]; ld.shared.u32 %r3, [%r6]; st.global.u32 [%rd4+4], %r2;
        st.shared.u32 [%r6], %r3; ld.global.f32 %f2, [%rd4+8]; st.global.f32 [%rd4+8], %f2;
        ld.global.u32 %r4, [%rd4+12]; st.shared.u32 [%r6+4], %r4;",
    units: 32,
};

/// Runs the loop with `lanes` lanes until about `units` units are done.
pub(crate) fn emulated(what: Loop, lanes: u64, units: u64) -> Sample {
    let text = format!(
        ".version 7.0 .target sm_70 .address_size 64
.visible .entry loop(.param .u64 data, .param .u32 rounds) {{
    .reg .b32 %r<10>; .reg .b64 %rd<5>; .reg .f32 %f<8>; .reg .pred %p<2>;
    .shared .align 8 .b8 near[4096];
    ld.param.u64 %rd1, [data]; ld.param.u32 %r9, [rounds];
    mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
    mov.u32 %r7, near; mad.lo.u32 %r7, %r1, 4, %r7;
    mul.lo.u32 %r6, %r1, %r1; mad.lo.u32 %r6, %r6, 37, 5; and.b32 %r6, %r6, 63; shl.b32 %r6, %r6, 4;
    cvt.u64.u32 %rd4, %r6; add.u64 %rd4, %rd4, %rd1;
    mov.u32 %r2, 1; mov.u32 %r3, 3; mov.u32 %r4, 0; mov.u32 %r8, 0;
    cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F800000; mov.f32 %f3, %f2; mov.f32 %f4, %f2;
again:
    {}
    add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r9; @%p1 bra again;
    st.global.u32 [%rd2], %r4; st.global.f32 [%rd2+128], %f3;
    ret;
}}",
        what.body.repeat(REPEATED)
    );
    let module = Module::parse("loop.ptx", &text).expect("the loop is PTX");
    let mut memory = DeviceMemory::new();
    let data = memory.allocate("data", 2048);
    let rounds = units.div_ceil(what.units);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [lanes as u32, 1, 1],
        dynamic_local_bytes: 0,
        args: &[
            KernelArgument::Pointer(data),
            KernelArgument::U32(rounds as u32),
        ],
    };
    let options = EmulationOptions::default();
    let start = ProcessTime::now();
    launch(&module, "loop", config, &mut memory, &options).expect("the loop ends");
    let ns = start.elapsed().as_nanos() as u64;
    let tally = Tally::default();
    let bytes = memory.read(data, 2048).expect("it was allocated");
    for (place, word) in (0..).zip(bytes.as_chunks::<8>().0) {
        tally.add(place, u64::from_le_bytes(*word));
    }
    Sample {
        ns,
        units: rounds * what.units,
        checksum: tally.sum(),
        bytes: 0,
    }
}
