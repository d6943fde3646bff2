//! Latency and throughput of instructions: chains in which each needs the result of the one before.

use std::fmt::Write as _;

use super::kernel::{RoundKernel, Rounds};
use super::{Bench, LATENCY, RATE};
use crate::driver::DriverError;

/// Number of steps of a round, over all of its chains.
pub const STEPS: u32 = 512;

/// Number of independent chains of a thread in a measurement of throughput.
const PARALLEL: u32 = 8;

/// Threads of a work-group in measurements of throughput: 1 to 32 wavefronts.
const THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// Type of the values of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    Word,
    Single,
    Double,
}

/// Instruction that is repeated, each time with the result of the one before.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// Names of the instructions of a step.
    pub name: &'static str,
    pub operands: Operands,
    /// PTX of a step from `{v}` to `{v}`. `{c}` and `{d}` are unknown numbers, `{t}` is spare.
    pub step: &'static str,
    /// Number of instructions of a step whose latency is measured.
    pub instructions: u32,
    /// Threads of a work-group in the measurement of latency.
    pub threads: u32,
}

impl Chain {
    const fn new(name: &'static str, operands: Operands, step: &'static str) -> Self {
        Self {
            name,
            operands,
            step,
            instructions: 1,
            threads: 1,
        }
    }

    /// Returns the name of the chain's kernel: `latency_..` or `throughput_..`.
    pub fn kernel(&self, measure: &str) -> String {
        let letters = self.name.chars();
        let letters = letters.map(|it| if it.is_alphanumeric() { it } else { '_' });
        format!("{measure}_{}", letters.collect::<String>())
    }

    /// Returns the unknown words that the chain is measured with.
    pub fn words(&self) -> (u32, u32) {
        match self.operands {
            Operands::Word => (0x1234_5677, 0x0000_0b05),
            // Numbers for which nothing overflows and nothing vanishes.
            Operands::Single | Operands::Double => (1.5_f32.to_bits(), 0.9999_f32.to_bits()),
        }
    }
}

/// Chains that are measured. A compiler joins two additions, so two operations alternate there; the
/// divisor changes, as a reciprocal would be kept otherwise.
pub const CHAINS: [Chain; 13] = [
    Chain {
        instructions: 2,
        ..Chain::new(
            "add.s32 and xor.b32",
            Operands::Word,
            "add.s32 {v}, {v}, {c}; xor.b32 {v}, {v}, {d};",
        )
    },
    Chain::new(
        "mad.lo.s32",
        Operands::Word,
        "mad.lo.s32 {v}, {v}, {c}, {d};",
    ),
    Chain::new(
        "shf.l.wrap.b32",
        Operands::Word,
        "shf.l.wrap.b32 {v}, {v}, {d}, {c};",
    ),
    Chain::new(
        "div.u32 after add.s32",
        Operands::Word,
        "add.s32 {t}, {v}, {c}; div.u32 {v}, {d}, {t};",
    ),
    Chain {
        threads: 32,
        ..Chain::new(
            "shfl.sync.bfly.b32",
            Operands::Word,
            "shfl.sync.bfly.b32 {v}, {v}, 1, 31, 0xffffffff;",
        )
    },
    Chain::new("add.f32", Operands::Single, "add.rn.f32 {v}, {v}, {c};"),
    Chain::new("mul.f32", Operands::Single, "mul.rn.f32 {v}, {v}, {c};"),
    Chain::new(
        "fma.rn.f32",
        Operands::Single,
        "fma.rn.f32 {v}, {v}, {c}, {d};",
    ),
    Chain::new(
        "rcp.approx.ftz.f32",
        Operands::Single,
        "rcp.approx.ftz.f32 {v}, {v};",
    ),
    Chain::new(
        "sqrt.approx.ftz.f32",
        Operands::Single,
        "sqrt.approx.ftz.f32 {v}, {v};",
    ),
    Chain::new(
        "sin.approx.ftz.f32",
        Operands::Single,
        "sin.approx.ftz.f32 {v}, {v};",
    ),
    Chain::new("add.f64", Operands::Double, "add.rn.f64 {v}, {v}, {c};"),
    Chain::new(
        "fma.rn.f64",
        Operands::Double,
        "fma.rn.f64 {v}, {v}, {c}, {d};",
    ),
];

struct Values {
    register: &'static str,
    /// Instructions that determine `{c}` and `{d}`.
    constants: &'static str,
    /// Instruction that determines the first value of chain `{n}`.
    start: &'static str,
    store: &'static str,
}

impl Operands {
    fn values(self) -> Values {
        match self {
            Self::Word => Values {
                register: "%r",
                constants: "mov.u32 {c}, %r4; mov.u32 {d}, %r3;",
                start: "mad.lo.u32 {v}, {d}, {n}, %r5;",
                store: "st.global.u32 [%rd2], {v};",
            },
            Self::Single => Values {
                register: "%f",
                constants: "mov.b32 {c}, %r4; mov.b32 {d}, %r3;",
                start: "cvt.rn.f32.u32 {t}, {n}; fma.rn.f32 {v}, {t}, {d}, {c};",
                store: "st.global.f32 [%rd2], {v};",
            },
            Self::Double => Values {
                register: "%d",
                constants: "mov.b32 %f1, %r4; mov.b32 %f2, %r3; cvt.f64.f32 {c}, %f1; cvt.f64.f32 {d}, %f2;",
                start: "cvt.rn.f64.u32 {t}, {n}; fma.rn.f64 {v}, {t}, {d}, {c};",
                store: "st.global.f64 [%rd2], {v};",
            },
        }
    }
}

/// Appends two kernels for each chain, one with a single chain and one with several.
pub(super) fn kernels(text: &mut String) {
    for chain in &CHAINS {
        for (measure, chains) in [("latency", 1), ("throughput", PARALLEL)] {
            let values = chain.operands.values();
            let register = values.register;
            let fill = |pattern: &str, n: u32| {
                pattern
                    .replace("{v}", &format!("{register}{}", 10 + n))
                    .replace("{t}", &format!("{register}{}", 40 + n))
                    .replace("{c}", &format!("{register}30"))
                    .replace("{d}", &format!("{register}31"))
                    .replace("{n}", &format!("%r{}", 50 + n))
            };
            let (mut before, mut round, mut after) =
                (fill(values.constants, 0), String::new(), String::new());
            for n in 0..chains {
                let number = format!("add.u32 %r{}, %r5, {n};", 50 + n);
                let _ = write!(before, "\n    {number} {}", fill(values.start, n));
                // The last store stands; the ones before keep a compiler from dropping a chain.
                let _ = writeln!(after, "    {}", fill(values.store, chains - 1 - n));
            }
            for _ in 0..STEPS / chains {
                for n in 0..chains {
                    let _ = writeln!(round, "    {}", fill(chain.step, n));
                }
            }
            RoundKernel {
                name: &chain.kernel(measure),
                declares: "",
                before: &before,
                round: &round,
                after: &after.replace("st.global", "st.volatile.global"),
            }
            .write(text);
        }
    }
}

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), DriverError> {
    for chain in &CHAINS {
        let (seed, step) = chain.words();
        let latency = Rounds {
            kernel: &chain.kernel("latency"),
            groups: 1,
            threads: chain.threads,
            seed,
            step,
            fewer: bench.effort.rounds,
            samples: bench.effort.samples,
        };
        let results = f64::from(STEPS * chain.instructions);
        let samples = bench.cycles_of_a_round(latency)?;
        let samples = samples.iter().map(|cycles| cycles / results).collect();
        bench.add(LATENCY, chain.name, 0, samples);
        for threads in THREADS {
            let throughput = Rounds {
                kernel: &chain.kernel("throughput"),
                threads,
                ..latency
            };
            let all = results * f64::from(threads);
            let samples = bench.cycles_of_a_round(throughput)?;
            let samples = samples.iter().map(|cycles| all / cycles).collect();
            bench.add(RATE, chain.name, u64::from(threads), samples);
        }
    }
    Ok(())
}
