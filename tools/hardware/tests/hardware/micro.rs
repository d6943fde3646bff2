//! Micro-benchmarks: their kernels compute on the double what they should, and their figures divide
//! by what the kernels did.

use std::collections::BTreeSet;
use std::process::Command;

use warpweave_hardware::driver::{Driver, Launch};
use warpweave_hardware::micro::{
    self, CHAINS, Chain, Effort, Figure, LOADS, Operands, STEPS, footprints, random_cycle,
};
use warpweave_hardware::table;

use crate::double::Double;

const SHORT: Effort = Effort {
    samples: 1,
    rounds: 1,
    least_nanoseconds: 1.0,
    launches: 2,
};

/// Memory that a kernel of the frame uses.
struct Kernel {
    double: Double,
    module: usize,
    cycles: u64,
    sink: u64,
    data: u64,
}

impl Kernel {
    fn new() -> Self {
        let mut double = Double::new();
        let module = double.load(&micro::ptx()).unwrap();
        let mut allocate = |bytes| double.allocate(bytes).unwrap();
        let (cycles, sink, data) = (allocate(8192), allocate(8192), allocate(1 << 20));
        Self {
            double,
            module,
            cycles,
            sink,
            data,
        }
    }

    /// Launches a kernel, and returns the result of each thread.
    fn run(&mut self, kernel: &str, threads: u32, numbers: [u32; 3]) -> Vec<u64> {
        let addresses = [self.cycles, self.sink, self.data].map(|it| it.to_le_bytes().to_vec());
        let numbers = numbers.map(|it| it.to_le_bytes().to_vec());
        let launch = Launch {
            module: self.module,
            kernel: kernel.to_owned(),
            grid: [1; 3],
            block: [threads, 1, 1],
            dynamic_local_bytes: 0,
            cooperative: false,
            arguments: addresses.into_iter().chain(numbers).collect(),
        };
        let launched = self.double.launch(&launch);
        launched.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let mut bytes = vec![0; 8 * threads as usize];
        self.double.read(self.sink, &mut bytes).unwrap();
        let words = bytes.as_chunks::<8>().0.iter();
        words.map(|word| u64::from_le_bytes(*word)).collect()
    }
}

/// Returns the value of a chain after so many steps, computed on the host, if it is exact there.
fn expected(chain: &Chain, steps: u32) -> Option<u64> {
    let (seed, step) = chain.words();
    let (c, d) = (f32::from_bits(step), f32::from_bits(seed));
    let mut word = 0_u32;
    let (mut single, mut double) = (c, f64::from(c));
    for _ in 0..steps {
        match chain.name {
            "add.s32 and xor.b32" => word = word.wrapping_add(step) ^ seed,
            "mad.lo.s32" => word = word.wrapping_mul(step).wrapping_add(seed),
            "shf.l.wrap.b32" => {
                let both = u64::from(seed) << 32 | u64::from(word);
                word = (both << (step % 32) >> 32) as u32;
            }
            "div.u32 after add.s32" => word = seed / word.wrapping_add(step),
            "add.f32" => single += c,
            "mul.f32" => single *= c,
            "fma.rn.f32" => single = single.mul_add(c, d),
            "add.f64" => double += f64::from(c),
            "fma.rn.f64" => double = double.mul_add(f64::from(c), f64::from(d)),
            _ => return None,
        }
    }
    Some(match chain.operands {
        Operands::Word => word.into(),
        Operands::Single => single.to_bits().into(),
        Operands::Double => double.to_bits(),
    })
}

#[test]
fn every_chain_computes_as_many_steps_as_its_figure_counts() {
    let mut kernel = Kernel::new();
    let mut exact = 0;
    for chain in &CHAINS {
        let (seed, step) = chain.words();
        for rounds in [1, 3] {
            let name = chain.kernel("latency");
            let found = kernel.run(&name, chain.threads, [rounds, seed, step])[0];
            let found = match chain.operands {
                Operands::Double => found,
                _ => found & 0xffff_ffff,
            };
            match expected(chain, rounds * STEPS) {
                Some(expected) => {
                    exact += 1;
                    assert_eq!(found, expected, "{} {rounds}", chain.name);
                }
                None if chain.operands == Operands::Single => {
                    let value = f32::from_bits(found as u32);
                    assert!(value.is_finite() && value > 0.0, "{}: {value}", chain.name);
                }
                None => {}
            }
        }
    }
    assert_eq!(exact, 18);
}

#[test]
fn no_two_chains_of_a_thread_begin_with_one_value() {
    // Chain 0 is stored last; the one before it must differ, or a compiler would keep one of them.
    let mut kernel = Kernel::new();
    for chain in &CHAINS {
        let (seed, step) = chain.words();
        let name = chain.kernel("throughput");
        let results = kernel.run(&name, 32, [1, seed, step]);
        if chain.name == "add.f32" || chain.name == "mad.lo.s32" {
            let distinct: BTreeSet<u64> = results.iter().copied().collect();
            assert_eq!(distinct.len(), 32, "{}", chain.name);
        }
    }
    let text = micro::ptx();
    let start = text.find(".entry throughput_add_f32").unwrap();
    let body = &text[start..start + text[start..].find("bar.sync").unwrap()];
    for n in 0..8 {
        assert!(
            body.contains(&format!("add.u32 %r{}, %r5, {n};", 50 + n)),
            "{body}"
        );
    }
}

#[test]
fn a_random_cycle_visits_every_place_once_and_comes_back() {
    for places in [1_u64, 2, 3, 32, 1000, 8192] {
        let next = random_cycle(places);
        let (mut at, mut seen) = (0, BTreeSet::new());
        for _ in 0..places {
            assert!(seen.insert(at), "{at} twice of {places}");
            at = next[at as usize];
        }
        assert_eq!((at, seen.len() as u64), (0, places));
    }
}

#[test]
fn a_chase_follows_its_cycle_through_the_whole_footprint() {
    let mut kernel = Kernel::new();
    let places = 64_u64;
    let next = random_cycle(places);
    for (place, &next) in (0_u64..).zip(&next) {
        let pointer = kernel.data + u64::from(next) * 128;
        let at = kernel.data + place * 128;
        kernel.double.write(at, &pointer.to_le_bytes()).unwrap();
    }
    for name in ["chase_ca", "chase_cg"] {
        for (warm, rounds) in [(0, 1), (8, 3), (4, 4)] {
            let found = kernel.run(name, 1, [rounds, 0, warm])[0];
            let mut at = 0;
            for _ in 0..(warm + rounds) * LOADS {
                at = next[at as usize];
            }
            assert_eq!(found, kernel.data + u64::from(at) * 128, "{name}");
        }
        // Another work-group than the chosen one does nothing.
        kernel.double.write(kernel.sink, &[9; 8]).unwrap();
        assert_eq!(kernel.run(name, 1, [1, 1, 0])[0], 0x0909_0909_0909_0909);
    }
}

#[test]
fn atomics_add_as_often_as_their_figures_count() {
    let mut kernel = Kernel::new();
    for (name, words, each) in [("reduce_one", 1, 64), ("reduce_many", 64, 1)] {
        kernel.double.write(kernel.data, &[0; 256]).unwrap();
        kernel.run(name, 64, [5, 0, 3]);
        let mut bytes = vec![0; 4 * words];
        kernel.double.read(kernel.data, &mut bytes).unwrap();
        let all = each * 5 * LOADS * 3;
        assert!(
            bytes
                .as_chunks::<4>()
                .0
                .iter()
                .all(|it| u32::from_le_bytes(*it) == all)
        );
    }
    // An even number of exchanges gives back the word that began.
    for name in ["atomic_local", "atomic_global"] {
        assert_eq!(
            kernel.run(name, 1, [2, 77, 0])[0] & 0xffff_ffff,
            77,
            "{name}"
        );
    }
}

#[test]
fn traffic_touches_every_piece_once_in_each_pass() {
    let mut kernel = Kernel::new();
    let (groups, threads, turns) = (3_u32, 64_u32, 2_u32);
    let pieces = groups * threads * 4 * turns;
    let words: Vec<u32> = (0..pieces * 4)
        .map(|word| word.wrapping_mul(0x9e37_79b9))
        .collect();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut run = |name: &str, passes: u32| {
        kernel.double.write(kernel.data, &bytes).unwrap();
        let addresses = [kernel.data, kernel.sink].map(|it| it.to_le_bytes().to_vec());
        let numbers = [pieces, turns, passes].map(|it| it.to_le_bytes().to_vec());
        let launch = Launch {
            module: kernel.module,
            kernel: name.to_owned(),
            grid: [groups, 1, 1],
            block: [threads, 1, 1],
            dynamic_local_bytes: 0,
            cooperative: false,
            arguments: addresses.into_iter().chain(numbers).collect(),
        };
        kernel.double.launch(&launch).unwrap();
        let mut sums = vec![0; 4 * (groups * threads) as usize];
        kernel.double.read(kernel.sink, &mut sums).unwrap();
        let mut after = vec![0; 2 * bytes.len()];
        kernel.double.read(kernel.data, &mut after).unwrap();
        let sums = sums
            .as_chunks::<4>()
            .0
            .iter()
            .map(|it| u32::from_le_bytes(*it));
        (sums.collect::<Vec<u32>>(), after)
    };
    let all = words.iter().fold(0, |all, word| all ^ word);
    for passes in [1, 2, 3] {
        let (sums, _) = run("traffic_read", passes);
        let found = sums.iter().fold(0, |all, sum| all ^ sum);
        assert_eq!(
            found,
            if passes % 2 == 1 { all } else { 0 },
            "{passes} passes"
        );
    }
    let (counts, after) = run("traffic_write", 3);
    assert!(counts.iter().all(|count| *count == 3 * 4 * turns));
    let written = after.as_chunks::<16>().0[..pieces as usize].iter();
    let written: BTreeSet<&[u8; 16]> = written.collect();
    assert_eq!(written.len(), pieces as usize);
    let (_, after) = run("traffic_copy", 1);
    assert!(after[bytes.len()..] == bytes[..]);
}

#[test]
fn the_figures_divide_by_what_the_kernels_did() {
    let mut double = Double::new();
    let figures = micro::run(&mut double, SHORT).unwrap();
    let median = |measure: &str, what: &str, size: u64| {
        let found = figures
            .iter()
            .find(|it| (it.measure, it.what.as_str(), it.size) == (measure, what, size));
        let found = found.unwrap_or_else(|| panic!("{measure} {what} {size}"));
        assert_eq!(found.refused, None);
        found.values().unwrap()[0]
    };
    // 4,096 cycles pass in a round on the double: 512 steps, 16 loads, 1,024 threads.
    for (found, expected) in [
        (median("latency", "fma.rn.f32", 0), 8.0),
        (median("latency", "add.s32 and xor.b32", 0), 4.0),
        (median("throughput", "fma.rn.f32", 32), 4.0),
        (median("throughput", "fma.rn.f32", 1024), 128.0),
        (median("latency", "global memory", 4 << 10), 256.0),
        (median("latency", "local memory, lanes on a bank", 8), 256.0),
        (
            median("latency", "constants, different addresses", 32),
            256.0,
        ),
        (
            median("throughput", "red.global.add at one address", 1024),
            4.0,
        ),
    ] {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }
    // Twice as many additions as lanes are refused, as half of them were never executed.
    let impossible = figures
        .iter()
        .find(|it| it.what == "add.s32 and xor.b32" && it.size == 1024);
    let impossible = impossible.unwrap();
    assert!(
        impossible
            .refused
            .as_ref()
            .unwrap()
            .contains("256.0000 is not between")
    );
    let table = table::figures(&double.properties, &figures);
    let row = table.lines().find(|line| line.contains("refused")).unwrap();
    assert!(row.contains(",1024,,,,thread instructions"), "{row}");
    let read = |size: u64| median("bandwidth", "reads past the L1", size);
    let (small, large) = (read(256 << 10), read(1 << 20));
    // What a pass costs beyond its accesses weighs less in a large one.
    assert!(small < large && large < 2.0 * small, "{small} and {large}");
    let each = figures
        .iter()
        .find(|it| it.what.ends_with("by unit"))
        .unwrap();
    assert_eq!(each.samples.len(), 2);
}

#[test]
fn footprints_go_from_the_first_level_to_beyond_the_second() {
    let sizes = footprints(50 << 20);
    assert_eq!((sizes[0], sizes.last()), (4 << 10, Some(&(128 << 20))));
    assert_eq!(footprints(0).last(), Some(&(1 << 20)));
}

#[test]
fn a_figure_without_samples_has_no_values() {
    let figure = Figure {
        measure: "latency",
        what: String::new(),
        size: 0,
        samples: Vec::new(),
        unit: "cycles",
        refused: None,
    };
    assert_eq!(figure.values(), None);
}

/// The compiled code holds every step of the chains, where the compiler is at hand.
#[test]
fn the_compiled_kernels_hold_every_step() {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !has("ptxas") || !has("nvdisasm") {
        println!("skipped: `ptxas` and `nvdisasm` are not here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("m.ptx"), folder.path().join("m.cubin"));
    std::fs::write(&source, micro::ptx()).unwrap();
    let mut compile = Command::new("ptxas");
    compile
        .args(["-arch=sm_90", "-o"])
        .arg(&object)
        .arg(&source);
    assert!(compile.status().unwrap().success());
    let output = Command::new("nvdisasm").arg(&object).output().unwrap();
    let code = String::from_utf8(output.stdout).unwrap();
    for (chain, opcode) in [
        ("fma.rn.f32", "FFMA"),
        ("add.f32", "FADD"),
        ("mul.f32", "FMUL"),
        ("mad.lo.s32", "IMAD"),
        ("shf.l.wrap.b32", "SHF"),
        ("rcp.approx.ftz.f32", "MUFU.RCP"),
        ("sqrt.approx.ftz.f32", "MUFU"),
        ("add.f64", "DADD"),
        ("fma.rn.f64", "DFMA"),
        ("shfl.sync.bfly.b32", "SHFL"),
    ] {
        let chain = CHAINS.iter().find(|it| it.name == chain).unwrap();
        let section = format!(".text.{}", chain.kernel("latency"));
        let start = code.find(&section).unwrap();
        let end = code[start + 1..]
            .find(".section")
            .map_or(code.len(), |at| start + 1 + at);
        let found = code[start..end].matches(opcode).count();
        assert!(
            found >= STEPS as usize,
            "{}: {found} of {opcode}",
            chain.name
        );
    }
}
