//! Latency of loads and atomics: chases through pointers, local memory with conflicts, constants.

use std::fmt::Write as _;

use warpweave_random::CounterRng;

use super::kernel::{RoundKernel, Rounds};
use super::{Bench, LATENCY, RATE};
use crate::driver::DriverError;

/// Number of loads of a round.
pub const LOADS: u32 = 16;

/// Bytes between the places of a chase: the line size of today's GPUs.
const STRIDE: u64 = 128;

/// Larger strides, each of which reaches other pages of the address translation.
const FAR_STRIDES: [u64; 2] = [2 << 20, 32 << 20];

/// Largest number of bytes that a chase covers.
const MOST_BYTES: u64 = 1 << 30;

/// Rounds of loads for a round of other steps.
const ROUNDS: u32 = 4;

/// Places of a footprint above which only as many are timed, in fewer samples. All are walked
/// before.
const TIMED_PLACES: u64 = 1 << 16;

/// Places that are timed from each unit.
const UNIT_PLACES: u64 = 1 << 10;

/// Samples of chases that take long.
const FEW_SAMPLES: u32 = 3;

const SEED: u64 = 1;

/// Returns the footprints of chases for an L2 of this size. They are powers of two from 4 KiB to
/// four times that, and at least a MiB.
pub fn footprints(l2_bytes: u32) -> Vec<u64> {
    let most = (u64::from(l2_bytes) * 4).clamp(1 << 20, MOST_BYTES);
    let sizes = std::iter::successors(Some(4 << 10), |bytes| Some(bytes * 2));
    sizes.take_while(|bytes| *bytes <= most).collect()
}

/// Returns the bytes of data that the measurements access for an L2 of this size: sixteen times
/// that, so that far strides have several places.
pub(super) fn data_bytes(l2_bytes: u32) -> u64 {
    (u64::from(l2_bytes) * 16).clamp(1 << 20, MOST_BYTES)
}

/// Returns the next place of each of `places` places: a random permutation in a single cycle.
pub fn random_cycle(places: u64) -> Vec<u32> {
    let random = CounterRng::new(SEED, "chase");
    let mut next: Vec<u32> = (0..places as u32).collect();
    // Sattolo's algorithm: never swapping a place with itself leaves one cycle.
    for place in (1..next.len()).rev() {
        next.swap(place, random.below(place as u64, place as u64) as usize);
    }
    next
}

/// Kind of global load that a chase uses: through the L1, or past it.
const CHASES: [(&str, &str, &str); 2] = [
    ("chase_ca", "ld.global.ca.u64", "global memory"),
    ("chase_cg", "ld.global.cg.u64", "global memory past the L1"),
];

/// Chains of loads without a footprint: kernel, declarations, instructions before, step, store.
const POOLS: [[&str; 5]; 6] = [
    [
        "local_u64",
        "",
        "mov.u64 %rd10, pool; st.shared.u64 [%rd10], %rd10;",
        "ld.shared.u64 %rd10, [%rd10];",
        "st.global.u64 [%rd2], %rd10;",
    ],
    [
        "local_v2",
        "",
        "mov.u64 %rd10, pool; mov.u64 %rd11, 7; st.shared.v2.u64 [%rd10], {%rd10, %rd11};",
        "ld.shared.v2.u64 {%rd10, %rd11}, [%rd10];",
        "st.global.u64 [%rd2], %rd11;",
    ],
    // A stride of `step` words, which is the number of lanes on each bank.
    [
        "local_stride",
        "",
        "mul.lo.u32 %r10, %r5, %r4; mul.lo.u32 %r10, %r10, 4; mov.u32 %r11, pool; add.u32 %r10, %r10, %r11; st.shared.u32 [%r10], %r10;",
        "ld.shared.u32 %r10, [%r10];",
        "st.global.u32 [%rd2], %r10;",
    ],
    // `step` different addresses: the host stores at each word of `ring` its offset.
    [
        "constant",
        "",
        "rem.u32 %r10, %r5, %r4; mul.wide.u32 %rd10, %r10, 4; mov.u64 %rd12, ring;",
        "add.s64 %rd11, %rd12, %rd10; ld.const.u32 %r11, [%rd11]; cvt.u64.u32 %rd10, %r11;",
        "st.global.u64 [%rd2], %rd10;",
    ],
    [
        "atomic_local",
        "",
        "mov.u32 %r11, 0; mov.u64 %rd10, pool; st.shared.u32 [%rd10], %r11; mov.u32 %r10, %r3;",
        "atom.shared.exch.b32 %r10, [%rd10], %r10;",
        "st.global.u32 [%rd2], %r10;",
    ],
    [
        "atomic_global",
        "",
        "mov.u32 %r11, 0; st.global.u32 [%rd3], %r11; mov.u32 %r10, %r3;",
        "atom.global.exch.b32 %r10, [%rd3], %r10;",
        "st.global.u32 [%rd2], %r10;",
    ],
];

/// Words of local memory that the chains use.
const POOL: &str = ".shared .align 16 .b8 pool[4096];";

/// Words of constants, each of which the host sets to its own offset.
const RING_WORDS: u32 = 32;

pub(super) fn kernels(text: &mut String) {
    let _ = writeln!(text, "\n.visible .const .align 4 .b32 ring[{RING_WORDS}];");
    for (name, load, _) in CHASES {
        // `step` rounds come before the clock, and only work-group `seed` does anything.
        let mut steps = String::new();
        for _ in 0..LOADS {
            let _ = writeln!(steps, "    {load} %rd10, [%rd10];");
        }
        let before = format!(
            "    mov.u32 %r10, %ctaid.x; setp.ne.u32 %p2, %r10, %r3; @%p2 ret;\n\
             \x20   mov.u64 %rd10, %rd3; mov.u32 %r11, 0;\n\
             warm_{name}:\n\
             \x20   setp.ge.u32 %p3, %r11, %r4; @%p3 bra warmed_{name};\n\
             {steps}    add.u32 %r11, %r11, 1; bra warm_{name};\n\
             warmed_{name}:"
        );
        RoundKernel {
            name,
            declares: "",
            before: &before,
            round: &steps,
            after: "    st.global.u64 [%rd2], %rd10;",
        }
        .write(text);
    }
    for [name, declares, before, step, after] in POOLS {
        let declares = if name.contains("local") {
            POOL
        } else {
            declares
        };
        let mut round = String::new();
        for _ in 0..LOADS {
            let _ = writeln!(round, "    {step}");
        }
        RoundKernel {
            name,
            declares,
            before,
            round: &round,
            after,
        }
        .write(text);
    }
    for (name, address) in [
        ("reduce_one", "mov.u64 %rd10, %rd3;"),
        (
            "reduce_many",
            "mul.wide.u32 %rd10, %r5, 4; add.s64 %rd10, %rd3, %rd10;",
        ),
    ] {
        let mut round = String::new();
        for _ in 0..LOADS {
            let _ = writeln!(round, "    red.global.add.u32 [%rd10], %r4;");
        }
        RoundKernel {
            name,
            declares: "",
            before: address,
            round: &round,
            after: "    st.global.u64 [%rd2], %rd10;",
        }
        .write(text);
    }
    let mut round = String::new();
    for _ in 0..LOADS {
        let _ = writeln!(round, "    bar.sync 0;");
    }
    RoundKernel {
        name: "barriers",
        declares: "",
        before: "",
        round: &round,
        after: "    st.global.u32 [%rd2], %r5;",
    }
    .write(text);
}

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), DriverError> {
    let l2_bytes = bench.driver.properties().l2_bytes;
    for footprint in footprints(l2_bytes) {
        chase(bench, footprint, STRIDE, &CHASES)?;
    }
    for stride in FAR_STRIDES {
        let mut footprint = stride * 2;
        while footprint <= data_bytes(l2_bytes) {
            chase(bench, footprint, stride, &CHASES[1..])?;
            footprint *= 2;
        }
    }
    by_unit(bench)?;
    pools(bench)?;
    for threads in [32_u32, 256, 1024] {
        let rounds = rounds(bench, "barriers", threads, 0);
        let size = u64::from(threads);
        latency(bench, rounds, "barrier", size)?;
    }
    for (kernel, what) in [
        ("reduce_one", "red.global.add at one address"),
        ("reduce_many", "red.global.add at an address each"),
    ] {
        let rounds = rounds(bench, kernel, 1024, 1);
        let samples = bench.cycles_of_a_round(rounds)?;
        let all = f64::from(LOADS * rounds.threads);
        let samples = samples.iter().map(|cycles| all / cycles).collect();
        bench.add(RATE, what, 1024, samples);
    }
    Ok(())
}

fn rounds<'k>(bench: &Bench<'_>, kernel: &'k str, threads: u32, step: u32) -> Rounds<'k> {
    Rounds {
        kernel,
        groups: 1,
        threads,
        seed: 5,
        step,
        fewer: bench.effort.rounds * ROUNDS,
        samples: bench.effort.samples,
    }
}

/// Adds the latency of one load of a round.
fn latency(
    bench: &mut Bench<'_>,
    rounds: Rounds<'_>,
    what: &str,
    size: u64,
) -> Result<(), DriverError> {
    let samples = bench.cycles_of_a_round(rounds)?;
    let samples = samples.iter().map(|cycles| cycles / f64::from(LOADS));
    let samples = samples.collect();
    bench.add(LATENCY, what, size, samples);
    Ok(())
}

/// Writes a random cycle through all places of a footprint.
fn write_chase(bench: &mut Bench<'_>, footprint: u64, stride: u64) -> Result<(), DriverError> {
    let next = random_cycle(footprint / stride);
    let pointer = |place: u32| (bench.data + u64::from(place) * stride).to_le_bytes();
    if stride > STRIDE {
        for (place, &next) in (0_u64..).zip(&next) {
            let at = bench.data + place * stride;
            bench.driver.write(at, &pointer(next))?;
        }
        return Ok(());
    }
    let mut image = vec![0; footprint as usize];
    let places = image.chunks_exact_mut(stride as usize).zip(&next);
    for (place, &next) in places {
        place[..8].copy_from_slice(&pointer(next));
    }
    bench.driver.write(bench.data, &image)
}

/// Rounds of as many loads as there are places, or more.
fn covering(places: u64) -> u32 {
    places.div_ceil(u64::from(LOADS)) as u32
}

/// Measures loads that visit the places of a footprint in random order, after a walk through all of
/// them that is not timed.
fn chase(
    bench: &mut Bench<'_>,
    footprint: u64,
    stride: u64,
    kinds: &[(&str, &str, &str)],
) -> Result<(), DriverError> {
    write_chase(bench, footprint, stride)?;
    let places = footprint / stride;
    let samples = bench.effort.samples;
    for &(kernel, _, what) in kinds {
        let rounds = Rounds {
            kernel,
            groups: 1,
            threads: 1,
            seed: 0,
            step: covering(places),
            fewer: covering(2 * places.min(TIMED_PLACES)).max(bench.effort.rounds * ROUNDS),
            samples: if places > TIMED_PLACES {
                samples.min(FEW_SAMPLES)
            } else {
                samples
            },
        };
        let what = if stride == STRIDE {
            what.to_owned()
        } else {
            format!("{what}, every {} MiB", stride >> 20)
        };
        latency(bench, rounds, &what, footprint)?;
    }
    Ok(())
}

/// Measures the L2 from every unit: one work-group of as many as there are units does the loads.
/// Devices place work-groups that are fewer than units on different ones.
fn by_unit(bench: &mut Bench<'_>) -> Result<(), DriverError> {
    let footprint = u64::from(bench.driver.properties().l2_bytes / 8).next_power_of_two();
    let footprint = footprint.clamp(4 << 10, 1 << 20);
    write_chase(bench, footprint, STRIDE)?;
    let units = bench.driver.properties().units;
    let mut samples = Vec::new();
    for unit in 0..units {
        let rounds = Rounds {
            kernel: CHASES[1].0,
            groups: units,
            threads: 1,
            seed: unit,
            step: covering(footprint / STRIDE),
            fewer: covering(UNIT_PLACES),
            samples: bench.effort.samples.min(FEW_SAMPLES),
        };
        let mut cycles = bench.cycles_of_a_round(rounds)?;
        cycles.sort_by(f64::total_cmp);
        let median = cycles.get(cycles.len() / 2);
        samples.extend(median.map(|cycles| cycles / f64::from(LOADS)));
    }
    let what = "global memory past the L1, by unit";
    bench.add(LATENCY, what, footprint, samples);
    Ok(())
}

fn pools(bench: &mut Bench<'_>) -> Result<(), DriverError> {
    for (kernel, what, bytes) in [
        ("local_u64", "local memory", 8),
        ("local_v2", "local memory", 16),
        ("atomic_local", "atom.shared.exch", 4),
        ("atomic_global", "atom.global.exch", 4),
    ] {
        let rounds = rounds(bench, kernel, 1, 0);
        latency(bench, rounds, what, bytes)?;
    }
    for lanes in [1_u32, 2, 4, 8, 16, 32] {
        let what = "local memory, lanes on a bank";
        let rounds = rounds(bench, "local_stride", 32, lanes);
        latency(bench, rounds, what, u64::from(lanes))?;
    }
    let (address, _) = bench.driver.variable(bench.module, "ring")?;
    let offsets = (0..RING_WORDS).flat_map(|word| (word * 4).to_le_bytes());
    bench.driver.write(address, &offsets.collect::<Vec<u8>>())?;
    for addresses in [1_u32, 2, 4, 8, 16, 32] {
        let rounds = rounds(bench, "constant", 32, addresses);
        let what = "constants, different addresses";
        latency(bench, rounds, what, u64::from(addresses))?;
    }
    Ok(())
}
