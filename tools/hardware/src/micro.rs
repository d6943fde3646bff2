//! Micro-benchmarks. They measure latency and throughput of instruction classes in one compute
//! unit, load latency by footprint, and bandwidth of all units by footprint.
//!
//! Cycles are counted with the unit's own clock, `%clock64` before and after. Every kernel writes
//! its result, so that no compiler removes the work.

use std::fmt::Write as _;

use crate::driver::{Driver, DriverError, Launch};

/// Measured figure with its kind, subject and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Kind of measurement: `latency`, `throughput`, `load latency`, `bandwidth`.
    pub measure: &'static str,
    /// Subject of the measurement: an instruction or a pattern.
    pub of: &'static str,
    /// Bytes that the accesses touch; 0 if there are none.
    pub footprint: u64,
    pub value: f64,
    /// Unit of the value, such as cycles.
    pub unit: &'static str,
}

/// Instruction repeated in a chain, each depending on the result of the previous one.
struct Chain {
    name: &'static str,
    /// Register class of the value, and PTX of a step from `{v}` to `{v}`, with `{c}` as a
    /// constant.
    register: Register,
    step: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Register {
    Word,
    Single,
    Double,
}

impl Register {
    fn name(self) -> &'static str {
        match self {
            Self::Word => "%r",
            Self::Single => "%f",
            Self::Double => "%d",
        }
    }

    fn start(self) -> &'static str {
        match self {
            Self::Word => "mov.u32 {v}, {n}; mov.u32 {c}, 3;",
            Self::Single => "mov.f32 {v}, 0f3FC00000; mov.f32 {c}, 0f3F900000;",
            Self::Double => "mov.f64 {v}, 0d3FF8000000000000; mov.f64 {c}, 0d3FF2000000000000;",
        }
    }

    fn store(self) -> &'static str {
        match self {
            Self::Word => "st.global.u32 [%rd4], {v};",
            Self::Single => "st.global.f32 [%rd4], {v};",
            Self::Double => "st.global.f64 [%rd4], {v};",
        }
    }
}

const CHAINS: &[Chain] = &[
    Chain {
        name: "add.s32",
        register: Register::Word,
        step: "add.s32 {v}, {v}, {c};",
    },
    Chain {
        name: "mad.lo.s32",
        register: Register::Word,
        step: "mad.lo.s32 {v}, {v}, {c}, {v};",
    },
    Chain {
        name: "shl.b32",
        register: Register::Word,
        step: "shf.l.wrap.b32 {v}, {v}, {v}, {c};",
    },
    Chain {
        name: "div.u32",
        register: Register::Word,
        step: "div.u32 {v}, {v}, {c}; or.b32 {v}, {v}, 0x40000000;",
    },
    Chain {
        name: "add.f32",
        register: Register::Single,
        step: "add.rn.f32 {v}, {v}, {c};",
    },
    Chain {
        name: "mul.f32",
        register: Register::Single,
        step: "mul.rn.f32 {v}, {v}, {c};",
    },
    Chain {
        name: "fma.rn.f32",
        register: Register::Single,
        step: "fma.rn.f32 {v}, {v}, {c}, {c};",
    },
    Chain {
        name: "rcp.approx.f32",
        register: Register::Single,
        step: "rcp.approx.f32 {v}, {v};",
    },
    Chain {
        name: "sqrt.approx.f32",
        register: Register::Single,
        step: "sqrt.approx.f32 {v}, {v};",
    },
    Chain {
        name: "sin.approx.f32",
        register: Register::Single,
        step: "sin.approx.f32 {v}, {v};",
    },
    Chain {
        name: "add.f64",
        register: Register::Double,
        step: "add.rn.f64 {v}, {v}, {c};",
    },
    Chain {
        name: "fma.rn.f64",
        register: Register::Double,
        step: "fma.rn.f64 {v}, {v}, {c}, {c};",
    },
];

/// Number of unrolled chain steps between the two clock reads.
const STEPS: u32 = 512;
/// Number of independent chains per thread in throughput tests, followed by the number of threads.
const PARALLEL: u32 = 4;
const THREADS: u32 = 1024;
/// Number of timed loads in a pointer chase.
const LOADS: u32 = 2048;
/// Bytes between consecutive positions of a chase: the largest line size of any GPU.
const CHASE_STRIDE: u64 = 256;
/// Number of work-groups per unit in bandwidth tests, followed by their threads.
const GROUPS_PER_UNIT: u32 = 8;
const GROUP_THREADS: u32 = 256;
/// Number of passes over the footprint in a bandwidth test. The first is not timed.
const PASSES: u32 = 8;

/// Returns the PTX module of all micro-benchmarks.
pub fn ptx() -> String {
    let mut text = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    for chain in CHAINS {
        for (what, count) in [("latency", 1), ("throughput", PARALLEL)] {
            chain_kernel(&mut text, chain, what, count);
        }
    }
    chase_kernels(&mut text);
    bandwidth_kernel(&mut text);
    text
}

/// Returns the kernel name of a chain.
fn kernel_name(chain: &Chain, what: &str) -> String {
    format!("{what}_{}", chain.name.replace('.', "_"))
}

fn chain_kernel(text: &mut String, chain: &Chain, what: &str, count: u32) {
    let name = kernel_name(chain, what);
    let register = chain.register.name();
    let constant = format!("{register}{}", 10 + count);
    let fill = |pattern: &str, n: u32| {
        pattern
            .replace("{v}", &format!("{register}{}", 10 + n))
            .replace("{c}", &constant)
            .replace("{n}", &(n + 5).to_string())
    };
    let _ = write!(
        text,
        "\n.visible .entry {name}(.param .u64 cycles, .param .u64 sink) {{\n\
         \x20   .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %d<20>;\n\
         \x20   ld.param.u64 %rd1, [cycles]; ld.param.u64 %rd2, [sink];\n\
         \x20   mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 8;\n\
         \x20   add.s64 %rd1, %rd1, %rd3; add.s64 %rd4, %rd2, %rd3;\n"
    );
    for n in 0..count {
        let _ = writeln!(text, "    {}", fill(chain.register.start(), n));
    }
    text.push_str("    bar.sync 0;\n    mov.u64 %rd5, %clock64;\n");
    for _ in 0..STEPS {
        for n in 0..count {
            let _ = writeln!(text, "    {}", fill(chain.step, n));
        }
    }
    text.push_str("    mov.u64 %rd6, %clock64;\n    sub.s64 %rd7, %rd6, %rd5;\n    st.global.u64 [%rd1], %rd7;\n");
    for n in 0..count {
        let _ = writeln!(text, "    {}", fill(chain.register.store(), n));
    }
    text.push_str("    ret;\n}\n");
}

/// Appends two single-thread chases: through global memory and through local memory.
fn chase_kernels(text: &mut String) {
    for (name, set_up, step) in [
        (
            "chase_global",
            "ld.param.u64 %rd3, [start];",
            "ld.global.u64 %rd3, [%rd3];",
        ),
        (
            "chase_local",
            "mov.u64 %rd3, pool; st.shared.u64 [%rd3], %rd3;",
            "ld.shared.u64 %rd3, [%rd3];",
        ),
    ] {
        let _ = write!(
            text,
            "\n.visible .entry {name}(.param .u64 cycles, .param .u64 start, .param .u32 loads) {{\n\
             \x20   .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<8>;\n\
             \x20   .shared .align 8 .b8 pool[8];\n\
             \x20   ld.param.u64 %rd1, [cycles]; ld.param.u32 %r1, [loads];\n    {set_up}\n\
             \x20   mov.u32 %r2, 0;\n    mov.u64 %rd5, %clock64;\nagain_{name}:\n"
        );
        for _ in 0..16 {
            let _ = writeln!(text, "    {step}");
        }
        let _ = write!(
            text,
            "    add.u32 %r2, %r2, 16;\n    setp.lt.u32 %p1, %r2, %r1;\n    @%p1 bra again_{name};\n\
             \x20   mov.u64 %rd6, %clock64;\n    sub.s64 %rd7, %rd6, %rd5;\n\
             \x20   st.global.u64 [%rd1], %rd7;\n    st.global.u64 [%rd1+8], %rd3;\n    ret;\n}}\n"
        );
    }
}

/// Appends a kernel in which every thread repeatedly reads 16-byte words of a range at a fixed
/// stride.
fn bandwidth_kernel(text: &mut String) {
    text.push_str(
        "\n.visible .entry bandwidth(.param .u64 data, .param .u64 sink, .param .u64 bytes, .param .u32 passes) {
    .reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [sink]; ld.param.u64 %rd3, [bytes];
    ld.param.u32 %r1, [passes];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
    mad.lo.u32 %r6, %r2, %r3, %r4; mul.lo.u32 %r7, %r5, %r3;
    mul.wide.u32 %rd4, %r6, 16; mul.wide.u32 %rd5, %r7, 16;
    mov.u32 %r8, 0; mov.u32 %r9, 0;
next_pass:
    mov.u64 %rd6, %rd4;
next_piece:
    setp.ge.u64 %p1, %rd6, %rd3;
    @%p1 bra pass_done;
    add.s64 %rd7, %rd1, %rd6;
    ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd7];
    xor.b32 %r8, %r8, %r10; xor.b32 %r8, %r8, %r11; xor.b32 %r8, %r8, %r12; xor.b32 %r8, %r8, %r13;
    add.s64 %rd6, %rd6, %rd5;
    bra next_piece;
pass_done:
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p2, %r9, %r1;
    @%p2 bra next_pass;
    mul.wide.u32 %rd8, %r6, 4; add.s64 %rd9, %rd2, %rd8;
    st.global.u32 [%rd9], %r8;
    ret;
}
",
    );
}

/// Footprints of chases and bandwidth tests for an L2 of `l2_bytes`. They are powers of two from 4
/// KiB to four times that, at most a GiB.
pub fn footprints(l2_bytes: u32) -> Vec<u64> {
    let most = (u64::from(l2_bytes) * 4).clamp(1 << 20, 1 << 30);
    let sizes = std::iter::successors(Some(4 << 10), |bytes| Some(bytes * 2));
    sizes.take_while(|bytes| *bytes <= most).collect()
}

/// Memory image of a pointer chase that starts at `base`. It visits every position of `bytes` once,
/// far from the previous one, and returns to its start.
pub fn chase(base: u64, bytes: u64) -> Vec<u8> {
    let places = (bytes / CHASE_STRIDE).max(1);
    // Odd, so that it visits all of a power of two. It is close to the golden section, so that
    // neighbours are far apart.
    let step = (places * 5 / 8) | 1;
    let mut memory = vec![0; bytes as usize];
    for place in 0..places {
        let next = base + (place + step) % places * CHASE_STRIDE;
        let at = (place * CHASE_STRIDE) as usize;
        memory[at..at + 8].copy_from_slice(&next.to_le_bytes());
    }
    memory
}

/// Runs all micro-benchmarks and returns their figures.
///
/// # Errors
/// Returns the error reported by the driver.
pub fn run(driver: &mut dyn Driver) -> Result<Vec<Figure>, DriverError> {
    driver.load(&ptx())?;
    let mut figures = Vec::new();
    let cycles = driver.allocate(8 * u64::from(THREADS))?;
    let sink = driver.allocate(8 * u64::from(THREADS))?;
    for chain in CHAINS {
        for (what, count, threads) in [("latency", 1, 1), ("throughput", PARALLEL, THREADS)] {
            let launch = Launch {
                module: 0,
                kernel: kernel_name(chain, what),
                grid: [1, 1, 1],
                block: [threads, 1, 1],
                dynamic_local_bytes: 0,
                arguments: vec![cycles.to_le_bytes().to_vec(), sink.to_le_bytes().to_vec()],
            };
            let took = longest(driver, &launch, cycles, threads)?;
            figures.push(if what == "latency" {
                Figure {
                    measure: "latency",
                    of: chain.name,
                    footprint: 0,
                    value: took / f64::from(STEPS),
                    unit: "cycles",
                }
            } else {
                Figure {
                    measure: "throughput",
                    of: chain.name,
                    footprint: 0,
                    value: f64::from(threads * count * STEPS) / took,
                    unit: "thread instructions per cycle and unit",
                }
            });
        }
    }
    let sizes = footprints(driver.device().l2_bytes);
    let largest = sizes.last().copied().unwrap_or(1 << 20);
    let data = driver.allocate(largest)?;
    for (of, kernel, sizes) in [
        ("local memory", "chase_local", &[0][..]),
        ("global memory", "chase_global", &sizes[..]),
    ] {
        for &footprint in sizes {
            driver.write(data, &chase(data, footprint.max(CHASE_STRIDE)))?;
            let launch = Launch {
                module: 0,
                kernel: kernel.to_owned(),
                grid: [1, 1, 1],
                block: [1, 1, 1],
                dynamic_local_bytes: 0,
                arguments: vec![
                    cycles.to_le_bytes().to_vec(),
                    data.to_le_bytes().to_vec(),
                    LOADS.to_le_bytes().to_vec(),
                ],
            };
            let took = longest(driver, &launch, cycles, 1)?;
            figures.push(Figure {
                measure: "load latency",
                of,
                footprint,
                value: took / f64::from(LOADS),
                unit: "cycles",
            });
        }
    }
    let groups = driver.device().units.max(1) * GROUPS_PER_UNIT;
    let threads = groups * GROUP_THREADS;
    let sums = driver.allocate(4 * u64::from(threads))?;
    for footprint in sizes {
        let timed = |driver: &mut dyn Driver, passes: u32| {
            driver.launch(&Launch {
                module: 0,
                kernel: "bandwidth".to_owned(),
                grid: [groups, 1, 1],
                block: [GROUP_THREADS, 1, 1],
                dynamic_local_bytes: 0,
                arguments: vec![
                    data.to_le_bytes().to_vec(),
                    sums.to_le_bytes().to_vec(),
                    footprint.to_le_bytes().to_vec(),
                    passes.to_le_bytes().to_vec(),
                ],
            })
        };
        let once = timed(driver, 1)?;
        let more = timed(driver, PASSES)?;
        // The difference leaves out what a launch costs, and the first pass.
        let nanoseconds = (more - once).max(1.0);
        figures.push(Figure {
            measure: "bandwidth",
            of: "reads of all units",
            footprint,
            value: footprint as f64 * f64::from(PASSES - 1) / nanoseconds,
            unit: "GB/s",
        });
    }
    Ok(figures)
}

/// Returns the maximum cycles counted by a thread in the second of two launches. The first one
/// warms up.
fn longest(
    driver: &mut dyn Driver,
    launch: &Launch,
    cycles: u64,
    threads: u32,
) -> Result<f64, DriverError> {
    driver.launch(launch)?;
    driver.launch(launch)?;
    let mut bytes = vec![0; 8 * threads as usize];
    driver.read(cycles, &mut bytes)?;
    let counts = bytes.as_chunks::<8>().0;
    let most = counts.iter().map(|count| u64::from_le_bytes(*count)).max();
    Ok(most.unwrap_or(0) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_visits_every_place_once_and_comes_back() {
        for bytes in [256, 4 << 10, 1 << 20] {
            let (base, memory) = (0x7000_0000, chase(0x7000_0000, bytes));
            let mut at = base;
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..bytes / CHASE_STRIDE {
                assert!(seen.insert(at), "{at:#x} twice of {bytes}");
                let place = (at - base) as usize;
                let next = memory[place..].first_chunk().expect("inside");
                at = u64::from_le_bytes(*next);
            }
            assert_eq!(at, base);
        }
    }

    #[test]
    fn footprints_go_from_the_first_level_to_beyond_the_second() {
        let sizes = footprints(50 << 20);
        assert_eq!((sizes[0], sizes.last()), (4 << 10, Some(&(128 << 20))));
        assert_eq!(footprints(0).last(), Some(&(1 << 20)));
    }
}
