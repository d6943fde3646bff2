//! Tests that only kernels that reach unsupported features are refused, and only at launch.

use warpweave_ptx::{
    DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, NoKernel, launch,
};

use crate::harness::{HEADER, errors, kernel};

const KERNELS: &str = "
.func matrix() { .reg .b32 %r<4>; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; ret; }
.func plain() { ret; }
.visible .entry good(.param .u64 out) { .reg .b64 %rd1; ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1], 7; call plain; ret; }
.visible .entry through(.param .u64 out) { call matrix; ret; }
.visible .entry itself(.param .u64 out, .param .u32 n) {
    .reg .b32 %r<4>; cp.async.ca.shared.global [%r1], [%r2], 4; mapa.u32 %r1, %r2, %r3; ret; }
";

fn module() -> Module {
    Module::parse("test.ptx", &format!("{HEADER}{KERNELS}")).expect("it is PTX")
}

#[test]
fn a_kernel_runs_beside_others_that_reach_what_is_not_supported() {
    let module = module();
    let names: Vec<_> = module.refused().iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["through", "itself"]);
    let mut memory = DeviceMemory::new();
    let args = [KernelArgument::Pointer(memory.allocate("out", 4))];
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_local_bytes: 0,
        args: &args,
    };
    let options = EmulationOptions::default();
    launch(&module, "good", config, &mut memory, &options).expect("runs");
    let error = launch(&module, "through", config, &mut memory, &options).expect_err("refused");
    let error = error.to_string();
    assert!(
        error.contains("kernel `through` uses unsupported features"),
        "{error}"
    );
    assert!(
        error.contains("matrix instructions are not supported"),
        "{error}"
    );
}

#[test]
fn a_refused_kernel_says_everything_that_is_not_supported() {
    let module = module();
    let Err(NoKernel::Refused(refused)) = module.kernel("itself") else {
        panic!("`itself` must be refused");
    };
    let said: Vec<_> = refused
        .reasons
        .0
        .iter()
        .map(|r| r.message.as_str())
        .collect();
    assert_eq!(
        said,
        [
            "`cp.async.ca.shared.global`: asynchronous copies are not supported",
            "`mapa.u32`: clusters of work-groups are not supported"
        ]
    );
    assert_eq!(refused.parameters.len(), 2);
}

#[test]
fn what_is_no_ptx_refuses_the_module_whoever_reaches_it() {
    let text = format!("{HEADER}.func unused() {{ nonsense.u32 x; ret; }} {KERNELS}");
    let error = Module::parse("test.ptx", &text).expect_err("it is no PTX");
    assert!(error.to_string().contains("unknown instruction"), "{error}");
}

#[test]
fn arrays_may_have_more_than_sixteen_million_elements() {
    let text = format!("{HEADER}.global .align 4 .b8 big[17800000]; .entry k() {{ ret; }}");
    Module::parse("test.ptx", &text).expect("it fits");
}

#[test]
fn words_that_an_instruction_does_not_have_are_refused_by_name() {
    for (instruction, word) in [
        (
            "abs.approx.f32 %f1, %f2;",
            "the modifier `.approx` is not supported",
        ),
        (
            "testp.finite.f16 %p1, %rs1;",
            "the modifier `.f16` is not supported",
        ),
        ("clz.f32 %r1, %f1;", "the modifier `.f32` is not supported"),
        (
            "add.ftz.f64 %fd1, %fd2, %fd3;",
            "the type does not support this modifier",
        ),
    ] {
        let text = format!("{HEADER}{}", kernel(instruction));
        let message = errors(&text);
        assert!(message.contains(word), "{instruction}: {message}");
    }
}

#[test]
fn words_of_memory_instructions_that_exclude_each_other_are_refused_by_name() {
    for (instruction, said) in [
        (
            "ld.global.release.gpu.u32 %r1, [%rd0];",
            "the modifier `.release` is not supported",
        ),
        (
            "st.global.lu.u32 [%rd0], %r1;",
            "the modifier `.lu` is not supported",
        ),
        ("membar.gpu;", "the modifier `.gpu` is not supported"),
        ("div.sat.f32 %f1, %f2, %f3;", "`div.sat.f32`"),
        (
            "ld.global.ca.cg.u32 %r1, [%rd0];",
            "`.ca` and `.cg` are mutually exclusive",
        ),
        (
            "ld.relaxed.gpu.global.cg.u32 %r1, [%rd0];",
            "`.relaxed` and `.cg` are mutually exclusive",
        ),
        (
            "st.gpu.global.u32 [%rd0], %r1;",
            "`.gpu` requires `.relaxed`, `.acquire` or `.release`",
        ),
        (
            "atom.relaxed.acquire.gpu.global.add.u32 %r1, [%rd0], 1;",
            "`.relaxed` and `.acquire` are mutually exclusive",
        ),
        (
            "atom.global.exch.noftz.b32 %r1, [%rd0], 1;",
            "`.noftz` goes with `.add` only",
        ),
    ] {
        let text = format!("{HEADER}{}", kernel(instruction));
        let message = errors(&text);
        assert!(message.contains(said), "{instruction}: {message}");
    }
}
