//! Helpers that run a few PTX instructions over 32 lanes.

use warpweave_ptx::{
    CodeForm, DeviceMemory, EmulationError, EmulationOptions, KernelArgument, LaunchConfig, Module,
    launch,
};
use warpweave_trace::{KernelTrace, Lanes, Record};

pub(crate) const HEADER: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// Parses a whole module, which must be valid.
pub(crate) fn module(text: &str) -> Module {
    Module::parse("test.ptx", &format!("{HEADER}{text}"))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// Returns the error messages for an invalid module.
pub(crate) fn errors(text: &str) -> String {
    match Module::parse("test.ptx", text) {
        Err(errors) => errors.to_string(),
        Ok(module) => match module.refused() {
            [refused, ..] => refused.reasons.to_string(),
            [] => panic!("the text must be refused, or a kernel of it"),
        },
    }
}

/// Returns a kernel `k(out)` with the given body. It provides `%rd0` (address of `out`, 16 bytes
/// per lane) and `%r0` (lane). The body may use `%r`, `%rd`, `%rs`, `%f`, `%fd`, `%p` up to 31.
pub(crate) fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<32>;
    .reg .b64 %rd<32>;
    .reg .b16 %rs<32>;
    .reg .f32 %f<32>;
    .reg .f64 %fd<32>;
    .reg .pred %p<32>;
    .reg .b64 %at;
    .reg .b32 %thread;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %rd0, %r0, 16, %rd0;
{body}
    ret;
}}
"
    )
}

/// A finished launch of `k` with one buffer of 16 bytes per thread.
pub(crate) struct Run {
    pub(crate) memory: DeviceMemory,
    pub(crate) out: u64,
    pub(crate) trace: KernelTrace,
}

impl Run {
    pub(crate) fn u32(&self, index: u64) -> u32 {
        let bytes = self
            .memory
            .read(self.out + 4 * index, 4)
            .expect("inside the buffer");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    pub(crate) fn u64(&self, index: u64) -> u64 {
        let bytes = self
            .memory
            .read(self.out + 8 * index, 8)
            .expect("inside the buffer");
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    /// Returns the first word of each of the first 32 threads.
    pub(crate) fn words(&self) -> [u32; 32] {
        std::array::from_fn(|lane| self.u32(4 * lane as u64))
    }

    /// Returns the first double word of each of the first 32 threads.
    pub(crate) fn doubles(&self) -> [u64; 32] {
        std::array::from_fn(|lane| self.u64(2 * lane as u64))
    }

    pub(crate) fn records(&self, work_group: u32, wavefront: u32) -> Vec<Record> {
        let mut cursor = self.trace.cursor(work_group, wavefront);
        let mut lanes = Lanes::default();
        std::iter::from_fn(|| cursor.next(&self.trace, &mut lanes)).collect()
    }
}

/// Launches `k(out)` from module text, with one work-group of `threads` threads.
pub(crate) fn try_launch(
    text: &str,
    grid: u32,
    threads: u32,
    options: &EmulationOptions,
) -> Result<Run, EmulationError> {
    let module = module(text);
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", u64::from(grid * threads.max(32)) * 16);
    let config = LaunchConfig {
        grid: [grid, 1, 1],
        block: [threads, 1, 1],
        dynamic_local_bytes: 256,
        args: &[KernelArgument::Pointer(out)],
    };
    let trace = launch(&module, "k", config, &mut memory, options)?;
    let bytes = u64::from(grid * threads.max(32)) * 16;
    let written = memory.read(out, bytes).expect("the buffer");
    assert_eq!(
        compiled(text, config, bytes, options),
        Ok(written.to_vec()),
        "as compiled"
    );
    Ok(Run { memory, out, trace })
}

/// Returns the buffer after the same launch of compiled code.
fn compiled(
    text: &str,
    config: LaunchConfig<'_>,
    bytes: u64,
    options: &EmulationOptions,
) -> Result<Vec<u8>, String> {
    let text = format!("{HEADER}{text}");
    let module = Module::parse_as("test.ptx", &text, CodeForm::AsCompiled);
    let module = module.map_err(|errors| errors.to_string())?;
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", bytes);
    let ended = launch(&module, "k", config, &mut memory, options);
    ended.map_err(|error| error.to_string())?;
    Ok(memory.read(out, bytes).expect("the buffer").to_vec())
}

pub(crate) fn run_module(text: &str, threads: u32) -> Run {
    try_launch(text, 1, threads, &EmulationOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a body in one wavefront; it must succeed.
pub(crate) fn run(body: &str) -> Run {
    run_module(&kernel(body), 32)
}

/// Returns the error from running a body.
pub(crate) fn fault(body: &str) -> String {
    match try_launch(&kernel(body), 1, 32, &EmulationOptions::default()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the launch must fail"),
    }
}

/// Evaluates `instruction` for every row of operands, 32 lanes at a time. Operands are in `%rd1`,
/// `%rd2`, `%rd3`, with their low halves in `%r1..%r3` and quarters in `%rs1..%rs3`. As floats they
/// are in `%f1..` and `%fd1..`. The result is read from the named register.
pub(crate) fn evaluate(instruction: &str, result: &str, rows: &[[u64; 3]]) -> Vec<u64> {
    let store = if result.starts_with("%rd") {
        format!("st.global.b64 [%at], {result};")
    } else if result.starts_with("%fd") {
        format!("st.global.f64 [%at], {result};")
    } else if result.starts_with("%rs") {
        format!("cvt.u64.u16 %rd9, {result}; st.global.b64 [%at], %rd9;")
    } else if result.starts_with("%p") {
        format!("selp.b64 %rd9, 1, 0, {result}; st.global.b64 [%at], %rd9;")
    } else if result.starts_with("%f") {
        format!("mov.b32 %r9, {result}; cvt.u64.u32 %rd9, %r9; st.global.b64 [%at], %rd9;")
    } else {
        format!("cvt.u64.u32 %rd9, {result}; st.global.b64 [%at], %rd9;")
    };
    let unpack: String = (1..=3)
        .map(|n| {
            format!(
                "ld.global.u64 %rd{n}, [%at+{}]; cvt.u32.u64 %r{n}, %rd{n}; cvt.u16.u64 %rs{n}, \
                 %rd{n}; mov.b32 %f{n}, %r{n}; mov.b64 %fd{n}, %rd{n};\n",
                8 * (n - 1)
            )
        })
        .collect();
    let body = format!(
        "mov.u32 %r31, %ctaid.x; mov.u32 %r30, %ntid.x; mad.lo.u32 %thread, %r31, %r30, %r0;
         ld.param.u64 %at, [out]; mad.wide.u32 %at, %thread, 24, %at;
         {unpack} {instruction}\n {store}"
    );
    let module = module(&kernel(&body));
    let mut memory = DeviceMemory::new();
    let count = rows.len().next_multiple_of(32);
    let out = memory.allocate("rows", count as u64 * 24);
    for (at, value) in rows.iter().flatten().enumerate() {
        memory
            .write(out + 8 * at as u64, &value.to_le_bytes())
            .expect("inside the buffer");
    }
    let config = LaunchConfig {
        grid: [count as u32 / 32, 1, 1],
        block: [32, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::U64(out)],
    };
    launch(
        &module,
        "k",
        config,
        &mut memory,
        &EmulationOptions::default(),
    )
    .unwrap_or_else(|error| panic!("{error}"));
    (0..rows.len() as u64)
        .map(|row| {
            let bytes = memory.read(out + 24 * row, 8).expect("inside the buffer");
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        })
        .collect()
}

/// Edge operand values for integer instructions.
pub(crate) const EDGES: [u64; 16] = [
    0,
    1,
    2,
    5,
    31,
    32,
    63,
    0x7f,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Returns combinations of three edge values that include every pair.
pub(crate) fn edge_rows() -> Vec<[u64; 3]> {
    let mut rows = Vec::new();
    for (i, &a) in EDGES.iter().enumerate() {
        for (j, &b) in EDGES.iter().enumerate() {
            rows.push([a, b, EDGES[(3 * i + 5 * j + 2) % EDGES.len()]]);
        }
    }
    rows
}

/// Checks an instruction against a reference over the edge values.
pub(crate) fn check(instruction: &str, result: &str, reference: impl Fn(u64, u64, u64) -> u64) {
    let rows = edge_rows();
    for (row, got) in rows.iter().zip(evaluate(instruction, result, &rows)) {
        let expected = reference(row[0], row[1], row[2]);
        assert_eq!(
            got, expected,
            "{instruction} of {row:x?}: {got:#x}, expected {expected:#x}"
        );
    }
}
