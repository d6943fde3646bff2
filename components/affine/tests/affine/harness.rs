//! Kernels as PTX text, analysed and emulated.

use warpweave_affine::{
    Direction, Directions, LaunchAnalysis, LaunchHead, LoopWindows, ReuseOptions, analyse,
};
use warpweave_ptx::{DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, launch};
use warpweave_trace::{Allocation, KernelTrace};

const HEADER: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// Registers that every body finds set: indices of work-group and thread, pointers to two buffers,
/// and two numbers.
const PROLOGUE: &str = "
    .reg .pred %p<16>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<8>;
    .reg .b32 %bx, %by, %bz, %tx, %ty, %tz, %n, %m; .reg .b64 %in, %out;
    mov.u32 %bx, %ctaid.x; mov.u32 %by, %ctaid.y; mov.u32 %bz, %ctaid.z;
    mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %tz, %tid.z;
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
    ld.param.u32 %n, [n]; ld.param.u32 %m, [m];
";

/// A launch that was emulated, with its analysis.
pub(crate) struct Case {
    pub(crate) trace: KernelTrace,
    pub(crate) allocations: Vec<Allocation>,
    pub(crate) analysis: LaunchAnalysis,
}

impl Case {
    pub(crate) fn head(&self) -> LaunchHead<'_> {
        LaunchHead::of(&self.trace, &self.allocations)
    }

    pub(crate) fn directions(&self, line_bytes: u32, include_stores: bool) -> Directions {
        let options = ReuseOptions {
            line_bytes,
            include_stores,
        };
        self.analysis.directions(&self.head(), options)
    }

    /// Returns the windows of loops with lines of 128 bytes.
    pub(crate) fn windows(&self, direction: Direction) -> Vec<LoopWindows> {
        self.analysis.windows(&self.head(), direction, 128)
    }

    /// Asserts that the recorded accesses agree with the analysis, and that all are exact.
    pub(crate) fn assert_exact(&self) {
        for reference in &self.analysis.references {
            assert!(reference.is_exact(), "{reference:?}");
        }
        self.assert_agrees();
    }

    pub(crate) fn assert_agrees(&self) {
        let verified = self.analysis.verify(&self.head(), &self.trace);
        let verified = verified.unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!(verified.skipped, 0);
    }
}

/// Analyses and emulates a body. Both buffers have 1 MiB.
pub(crate) fn case(body: &str, grid: [u32; 3], block: [u32; 3], numbers: [u32; 2]) -> Case {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 m)\n{{{PROLOGUE}{body}\nret;\n}}"
    );
    let module = Module::parse("test.ptx", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut memory = DeviceMemory::new();
    let bytes = 1 << 20;
    let (input, output) = (memory.allocate("in", bytes), memory.allocate("out", bytes));
    let config = LaunchConfig {
        grid,
        block,
        dynamic_local_bytes: 0,
        args: &[
            KernelArgument::Pointer(input),
            KernelArgument::Pointer(output),
            KernelArgument::U32(numbers[0]),
            KernelArgument::U32(numbers[1]),
        ],
    };
    let options = EmulationOptions::default();
    let trace = launch(&module, "k", config, &mut memory, &options);
    let trace = trace.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let allocation = |name: &str, base| Allocation {
        name: name.to_owned(),
        base,
        bytes,
    };
    let allocations = vec![allocation("in", input), allocation("out", output)];
    let analysis = analyse(&LaunchHead::of(&trace, &allocations));
    Case {
        trace,
        allocations,
        analysis,
    }
}
