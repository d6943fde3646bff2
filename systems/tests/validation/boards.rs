//! The four boards of the CTA-clustering study: latencies, residency, bandwidth, and the set index
//! and halves of the first level, on machines as built.

use warpweave_systems::Simulated;
use warpweave_trace::Attribute;

use super::harness::{
    Places, Step, kernel, kernel_with, machine, named, program, run, scenario_beside_others, sum,
};

/// One of the boards, with numbers of its table.
struct Board {
    system: &'static str,
    units: u32,
    /// Maximum number of work-groups on a unit.
    held: u64,
    /// Cycles of loads from L1, L2 and memory.
    latencies: [u64; 3],
    /// Number of halves of the L1.
    halves: u64,
    gigabytes_per_second: f64,
    gigahertz: f64,
}

const BOARDS: [Board; 4] = [
    Board {
        system: "systems/gtx570.ron",
        units: 15,
        held: 8,
        latencies: [23, 130, 320],
        halves: 1,
        gigabytes_per_second: 152.0,
        gigahertz: 0.732,
    },
    Board {
        system: "systems/k40.ron",
        units: 15,
        held: 16,
        latencies: [40, 220, 500],
        halves: 1,
        gigabytes_per_second: 288.0,
        gigahertz: 0.745,
    },
    Board {
        system: "systems/gtx980.ron",
        units: 16,
        held: 32,
        latencies: [85, 215, 600],
        halves: 2,
        gigabytes_per_second: 224.0,
        gigahertz: 1.126,
    },
    Board {
        system: "systems/gtx1080.ron",
        units: 20,
        held: 32,
        latencies: [132, 260, 750],
        halves: 2,
        gigabytes_per_second: 320.0,
        gigahertz: 1.607,
    },
];

const ONE_UNIT: &str = "params.units=1";

fn simulate(system: &str, sets: &[&str], kernels: Vec<warpweave_trace::KernelTrace>) -> Simulated {
    let scenario = scenario_beside_others(system, sets);
    run(&mut machine(&scenario, &program(kernels)))
}

/// Loads one word with all lanes.
fn one_word(base: u64) -> Step {
    Step::Spread(Places {
        base,
        apart: 0,
        distinct: 1,
    })
}

fn l1(run: &Simulated, counter: &str) -> u64 {
    sum(&named(run, "l1"), counter)
}

#[test]
fn a_chased_pointer_takes_the_cycles_of_the_table_in_every_level() {
    for Board {
        system, latencies, ..
    } in BOARDS
    {
        // Words of two channels, and one of a third.
        let [a, b, far] = [0, 256, 512].map(one_word);
        let chase = |words: &[Step]| {
            let loads = words.iter().flat_map(|&load| [load, Step::Use]);
            // The other words of a line come within the last steps.
            let end = [[Step::Use; 16].as_slice(), &[Step::Exit]].concat();
            let steps: Vec<_> = loads.chain(end).collect();
            // The first kernel brings two lines into the second level.
            let warm_up = kernel(1, 1, |_, _| vec![a, b, Step::Exit]);
            let kernels = vec![warm_up, kernel(1, 1, |_, _| steps.clone())];
            simulate(system, &[ONE_UNIT], kernels).cycles
        };
        // The address is added up in 4 cycles.
        let base = chase(&[a]) + 4;
        let [first, second, memory] = latencies;
        assert_eq!(chase(&[a, a]) - base, first, "{system}");
        assert_eq!(chase(&[a, b]) - base, second, "{system}");
        // Edges of two clocks.
        let found = chase(&[a, far]) - base;
        assert!(found.abs_diff(memory) <= 2, "{system}: {found}");
    }
}

/// CTA-clustering paper, Table 2. Columns: program, wavefronts of a work-group, registers of a
/// thread, bytes of local memory, and work-groups of a unit; the lists are by board.
type Row = (&'static str, u32, [u64; 4], u32, [u32; 4]);

const TABLE_2: [Row; 23] = [
    ("KMN", 8, [14, 17, 16, 18], 0, [6, 8, 8, 8]),
    ("MM", 32, [22, 29, 32, 27], 8192, [1, 2, 2, 2]),
    ("NN", 1, [21, 35, 37, 32], 0, [8, 16, 32, 32]),
    ("IMD", 2, [63, 61, 49, 55], 0, [8, 16, 18, 18]),
    ("BKP", 8, [11, 11, 16, 18], 1092, [6, 8, 8, 8]),
    ("DCT", 2, [14, 17, 22, 19], 512, [8, 16, 32, 32]),
    ("SGM", 4, [33, 53, 41, 46], 512, [7, 9, 12, 8]),
    ("HS", 8, [35, 38, 36, 38], 3072, [3, 5, 6, 6]),
    ("SYK", 8, [21, 26, 21, 28], 0, [5, 8, 8, 8]),
    ("S2K", 8, [33, 38, 33, 19], 0, [6, 6, 8, 8]),
    ("ATX", 8, [13, 17, 17, 22], 0, [6, 8, 8, 8]),
    ("MVT", 8, [13, 17, 17, 22], 0, [6, 8, 8, 8]),
    ("NBO", 8, [24, 38, 35, 46], 0, [2, 4, 6, 6]),
    ("3CV", 8, [18, 9, 18, 19], 0, [6, 8, 8, 8]),
    ("BC", 8, [13, 16, 17, 22], 0, [6, 8, 8, 8]),
    ("HST", 8, [15, 19, 20, 15], 1024, [6, 8, 8, 8]),
    ("BTR", 8, [22, 27, 29, 30], 0, [5, 8, 8, 8]),
    ("NW", 1, [28, 27, 39, 40], 2180, [8, 16, 32, 32]),
    ("BFS", 8, [17, 18, 19, 20], 0, [6, 8, 8, 8]),
    ("MON", 8, [28, 28, 28, 28], 4096, [4, 4, 8, 8]),
    ("DXT", 2, [63, 89, 89, 91], 2048, [8, 8, 10, 10]),
    ("SAD", 2, [43, 44, 46, 40], 0, [8, 16, 20, 20]),
    ("BS", 4, [23, 25, 21, 19], 0, [8, 16, 16, 16]),
];

/// Work-groups that a unit holds at the same time; 40 are launched.
fn held(board: usize, row: &Row, sets: &[&str]) -> u32 {
    let (_, wavefronts, registers, local_bytes, _) = *row;
    let sets = [&[ONE_UNIT], sets].concat();
    let registers = Attribute::new(Attribute::REGISTERS, registers[board]);
    // All are there before the first one ends.
    let steps = |_, _| vec![Step::Load(0), Step::Use, Step::Exit];
    let kernel = kernel_with(40, wavefronts, local_bytes, vec![registers], steps);
    let simulated = simulate(BOARDS[board].system, &sets, vec![kernel]);
    sum(&named(&simulated, "scheduler"), "resident_work_groups_max") as u32
}

/// Printed numbers that the resources of Table 1 do not give: program, board, printed and held.
/// NW has them with the larger local memory. Those of the others contradict their neighbours.
const MISSES: [(&str, usize, u32, u32); 11] = [
    ("S2K", 0, 6, 3),
    ("NBO", 0, 2, 5),
    ("NW", 0, 8, 7),
    ("NBO", 1, 4, 6),
    ("NW", 1, 16, 7),
    ("SGM", 2, 12, 10),
    ("S2K", 2, 8, 6),
    ("SGM", 3, 8, 10),
    ("NBO", 3, 6, 5),
    ("NW", 3, 32, 30),
    ("SAD", 3, 20, 24),
];

#[test]
fn units_hold_the_printed_work_groups_in_81_of_92_rows() {
    let mut misses = Vec::new();
    for board in 0..BOARDS.len() {
        for row in &TABLE_2 {
            let (name, .., printed) = row;
            let held = held(board, row, &[]);
            if held != printed[board] {
                misses.push((*name, board, printed[board], held));
            }
        }
    }
    assert_eq!(misses, MISSES);
}

#[test]
fn a_program_with_much_local_memory_has_the_printed_work_groups_with_the_other_split() {
    let row = TABLE_2.iter().find(|(name, ..)| *name == "NW").unwrap();
    for (board, printed) in row.4.into_iter().enumerate() {
        assert_eq!(held(board, row, &["params.much_local=true"]), printed);
    }
}

#[test]
fn a_stream_of_reads_reaches_95_percent_of_the_bandwidth_of_the_board() {
    for board in BOARDS {
        let Board { system, units, .. } = board;
        let measure = |steps: u64| {
            let all = u64::from(units) * 48;
            let stream = kernel(2 * units, 24, |work_group, wavefront| {
                let first = u64::from(work_group * 24 + wavefront);
                let load = |step: u64| {
                    let register = (step % 3) as u16;
                    Step::Stream(register, (step * all + first) * 128)
                };
                (0..steps).map(load).chain([Step::Exit]).collect()
            });
            let run = simulate(system, &[], vec![stream]);
            (run.cycles, sum(&named(&run, "dram"), "bytes"))
        };
        // The difference of two lengths, without the ends of a kernel.
        let (short, long) = (measure(12), measure(36));
        let rate = (long.1 - short.1) as f64 / (long.0 - short.0) as f64;
        let reached = rate * board.gigahertz / board.gigabytes_per_second;
        assert!((0.95..1.001).contains(&reached), "{system}: {reached}");
    }
}

/// The micro-benchmark of the paper: every work-group of a unit loads one word of one line.
#[test]
fn a_line_that_all_work_groups_load_is_read_once_by_each_half_in_32_bytes() {
    for Board {
        system,
        held,
        halves,
        ..
    } in BOARDS
    {
        // Turns of work-groups, and reads of 32 bytes: four for 128 bytes, or one for each half.
        let (turns, reads) = if halves == 1 { (4, 4) } else { (2, 2) };
        let all = turns * held;
        let kernel = kernel(all as u32, 1, |work_group, _| {
            let result = Places {
                base: (1 << 20) + u64::from(work_group) * 128,
                apart: 0,
                distinct: 1,
            };
            vec![one_word(0), Step::Use, Step::Put(result), Step::Exit]
        });
        let run = simulate(system, &[ONE_UNIT], vec![kernel]);
        assert_eq!(sum(&named(&run, "l2"), "reads"), reads, "{system}");
        assert_eq!(l1(&run, "reads"), all, "{system}");
        assert_eq!(l1(&run, "read_misses"), halves, "{system}");
        assert_eq!(l1(&run, "read_hits_reserved"), held - halves, "{system}");
        assert_eq!(l1(&run, "read_hits"), all - held, "{system}");
    }
}

/// A column of a matrix with rows of 256 bytes: 32 bytes of each line are read.
#[test]
fn loads_past_the_l1_fetch_the_32_bytes_that_they_need() {
    let column = Places {
        base: 0,
        apart: 256,
        distinct: 32,
    };
    for (loads, reads, l1_hits) in [("Cached", 4 * 32, 32), ("Bypass", 2 * 32, 0)] {
        let steps = vec![
            Step::Spread(column),
            Step::Use,
            Step::Spread(column),
            Step::Exit,
        ];
        let kernel = kernel(1, 1, |_, _| steps.clone());
        let set = format!("params.global_loads={loads}");
        let run = simulate("systems/k40.ron", &[ONE_UNIT, &set], vec![kernel]);
        assert_eq!(sum(&named(&run, "l2"), "reads"), reads, "{loads}");
        assert_eq!(l1(&run, "read_hits"), l1_hits, "{loads}");
    }
}

/// Hit rate of the first level for accesses of one work-group, in order, on a board; lists of
/// accesses by wavefront slot.
fn hit_rate(system: &str, hash: &str, accesses: &[(u32, Vec<Places>)]) -> f64 {
    let hash = format!("params.l1_hash={hash}");
    let kernel = kernel(1, 4, |_, wavefront| {
        let own = accesses.iter().filter(|(slot, _)| *slot == wavefront);
        let steps = own.flat_map(|(_, places)| places);
        let steps = steps.flat_map(|&places| [Step::Spread(places), Step::Use]);
        steps.chain([Step::Exit]).collect()
    });
    let run = simulate(system, &[ONE_UNIT, &hash], vec![kernel]);
    l1(&run, "read_hits") as f64 / l1(&run, "reads") as f64
}

/// Accesses of `work_groups` of 256 threads in lock step, where thread t reads `A[t * n + j]` for
/// j from 0 to 31.
fn row_walk(n: u64, work_groups: u64) -> Vec<Places> {
    let wavefronts = work_groups * 8;
    let steps = (0..32).flat_map(|j| (0..wavefronts).map(move |wavefront| (j, wavefront)));
    let places = steps.map(|(j, wavefront)| Places {
        base: (wavefront * 32 * n + j) * 4,
        apart: 4 * n,
        distinct: 32,
    });
    places.collect()
}

/// Accesses of some wavefronts of a work-group of 256 points, which read 34 features of 122,880
/// points, three times.
fn features(wavefronts: &[u64]) -> Vec<Places> {
    let steps = (0..3 * 34).flat_map(|step| wavefronts.iter().map(move |w| (step % 34, w)));
    let places = steps.map(|(feature, wavefront)| Places {
        base: (feature * 122_880 + wavefront * 32) * 4,
        apart: 4,
        distinct: 32,
    });
    places.collect()
}

#[test]
fn the_set_index_decides_how_often_strided_accesses_hit() {
    let fermi = "systems/gtx570.ron";
    let pascal = "systems/gtx1080.ron";
    let all: Vec<u64> = (0..8).collect();
    let whole = features(&all);
    // Wavefronts of a half: slots 0, 1, 4, 5 and 2, 3, 6, 7.
    let halves = [(0, features(&[0, 1, 4, 5])), (2, features(&[2, 3, 6, 7]))];
    // Accesses, and hit rates by hash: modulo, that of Fermi, polynomial.
    let mut vectors = Vec::new();
    for n in [64, 1024] {
        vectors.push((fermi, vec![(0, row_walk(n, 1))], [0.0, 0.969, 0.969]));
        vectors.push((fermi, vec![(0, row_walk(n, 2))], [0.0, 0.0, 0.0]));
    }
    vectors.push((fermi, vec![(0, whole.clone())], [0.0, 0.0, 0.667]));
    vectors.push((pascal, halves.to_vec(), [0.0, 0.0, 0.667]));
    vectors.push((pascal, vec![(0, whole)], [0.0, 0.0, 0.0]));
    for (vector, (system, accesses, rates)) in vectors.into_iter().enumerate() {
        for (hash, expected) in ["Modulo", "Fermi", "Polynomial"].into_iter().zip(rates) {
            let found = hit_rate(system, hash, &accesses);
            assert!((found - expected).abs() < 0.001, "{vector} {hash}: {found}");
        }
    }
}
