//! Runs a loop of simple arithmetic with all 32 lanes active, so that a profiler can count host
//! instructions per emulated wavefront instruction:
//!
//! ```text
//! cargo build --release -p warpweave-ptx --example arithmetic
//! valgrind --tool=callgrind target/release/examples/arithmetic [kind]
//! ```
//!
//! Divide the total by the number it prints. Kinds: `integer` (default), `float`, `memory`.

#![allow(clippy::print_stdout)] // The output of an example.

use warpweave_ptx::{DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, launch};

const INTEGER: &str = "add.s32 %r2, %r2, %r1; xor.b32 %r3, %r3, %r2; sub.s32 %r4, %r3, %r2;
    shl.b32 %r5, %r4, 3; and.b32 %r6, %r5, %r3; add.s32 %r2, %r2, 7; or.b32 %r3, %r6, %r4;
    mad.lo.s32 %r4, %r2, %r3, %r5;";
const FLOAT: &str = "add.f32 %f2, %f2, %f1; mul.f32 %f3, %f2, %f1; sub.f32 %f4, %f3, %f2;
    fma.rn.f32 %f5, %f4, %f3, %f2; max.f32 %f2, %f5, %f1; mul.f32 %f3, %f3, %f2;";
const MEMORY: &str = "ld.global.u32 %r2, [%rd2]; add.s32 %r2, %r2, %r1; st.global.u32 [%rd2], %r2;
    ld.global.f32 %f2, [%rd2+4]; add.s64 %rd3, %rd2, 4; st.global.f32 [%rd2], %f2;";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = match std::env::args().nth(1).as_deref() {
        Some("float") => FLOAT,
        Some("memory") => MEMORY,
        _ => INTEGER,
    };
    let text = format!(
        ".version 7.0 .target sm_70 .address_size 64
.visible .entry loop(.param .u64 out, .param .u32 rounds) {{
    .reg .b32 %r<10>; .reg .b64 %rd<4>; .reg .f32 %f<8>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r9, [rounds];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    mov.u32 %r2, 1; mov.u32 %r3, 3; mov.u32 %r8, 0;
    cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F800000; mov.f32 %f3, %f2;
again:
    {body}
    add.s32 %r8, %r8, 1;
    setp.lt.u32 %p1, %r8, %r9;
    @%p1 bra again;
    st.global.u32 [%rd2], %r4;
    st.global.f32 [%rd2], %f3;
    ret;
}}"
    );
    let module = Module::parse("arithmetic.ptx", &text)?;
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 1024);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::Pointer(out), KernelArgument::U32(20_000)],
    };
    let options = EmulationOptions::default();
    let trace = launch(&module, "loop", config, &mut memory, &options)?;
    println!("{} wavefront instructions", trace.wavefront_instructions());
    Ok(())
}
