//! Prefetching into spare registers, and the meter of waits, on the machine of the graph thesis.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, InstanceStatistics, Order, Value};
use warpweave_systems::{Machine, Scenario, Simulated, standard_registry};

use crate::harness::Bench;
use crate::thesis::{SIZES, scenario, simulate};

/// Variants of the mechanism, as overrides.
const MECHANISMS: [&str; 3] = [
    "params.spare_registers=()",
    "params.spare_registers=(variant: Compiler, distance: Dynamic(), head_sequence: Slice, address_registers: 2)",
    "params.spare_registers=(detection_iterations: 0, tails: Cache)",
];

const METERED: &str = "params.load_waits=true";

/// Kernels of the study: program, KiB of first-level cache, and threads resident in a unit. Last
/// are the KiB of that cache and of the registers that prefetching at distance 1 uses. Weights are
/// a second head of our spanning forests: those of the thesis take 56 KiB.
const KERNELS: [(&str, u64, u64, u64); 7] = [
    ("h_bfs", 48, 1536, 60),
    ("h_sssp", 48, 1536, 60),
    ("h_mst", 48, 1024, 60),
    ("ls_bfs", 16, 1024, 20),
    ("ls_sssp", 16, 1024, 24),
    ("ls_mst", 48, 1024, 60),
    ("stcon", 48, 1024, 56),
];

/// Loads a program of 512 vertices on the machine, sized down by 8.
fn small(program: &str, more: &[&str]) -> Scenario {
    let more: Vec<_> = more.iter().map(|&set| set.to_owned()).collect();
    let vertices = "workload.vertices=512".to_owned();
    scenario(program, SIZES[2].0, &[&[vertices], &more[..]].concat())
}

fn units(run: &Simulated) -> impl Iterator<Item = &InstanceStatistics> {
    run.statistics.iter().filter(|it| it.kind == "ComputeUnit")
}

fn total(run: &Simulated, name: &str) -> u64 {
    units(run).map(|unit| unit.counter(name).unwrap()).sum()
}

#[test]
fn a_distance_of_0_and_a_meter_change_no_cycle_of_any_program() {
    for (program, ..) in KERNELS {
        let run = |more: &[&str]| simulate(&small(program, more), EngineOptions::default());
        let plain = run(&[]);
        let without_effect = [
            "params.spare_registers=(distance: Fixed(0))",
            "params.spare_registers=(variant: Compiler, distance: Fixed(0))",
        ];
        for spares in without_effect {
            let seen = run(&[spares, METERED]);
            assert_eq!(seen.cycles, plain.cycles, "{program} {spares}");
            for (with, without) in seen.statistics.iter().zip(&*plain.statistics) {
                assert_eq!(with.path, without.path);
                for statistic in &without.values {
                    let same = with.get(&statistic.name) == Some(&statistic.value);
                    assert!(same, "{program}: {} {}", with.path, statistic.name);
                }
            }
            assert!(total(&seen, "load_wait_head") > 0, "{program} {spares}");
        }
    }
}

#[test]
fn prefetched_loads_give_the_same_bits_on_any_number_of_threads() {
    let vertices = ["workload.vertices=512".to_owned()];
    for spares in MECHANISMS {
        let sets: Vec<_> = [SIZES[1].0, &[spares, METERED]].concat();
        let scenario = scenario("h_bfs", &sets, &vertices);
        let run = |options| {
            let run = simulate(&scenario, options);
            (run.cycles, run.statistics)
        };
        let usual = run(EngineOptions::default());
        for threads in [2, 3, 8] {
            let options = EngineOptions {
                threads,
                ..EngineOptions::default()
            };
            assert!(run(options) == usual, "{spares}: {threads} threads");
        }
        let shuffled = EngineOptions {
            order: Order::Shuffled { seed: 3 },
            sleeping: false,
            ..EngineOptions::default()
        };
        assert_eq!(run(shuffled).0, usual.0, "{spares}");
    }
}

#[test]
fn a_run_with_prefetched_loads_goes_on_from_each_quarter() {
    let bench = Bench::new();
    let file = bench.path("quarter.wwc");
    let never = Arc::new(AtomicBool::new(false));
    for spares in MECHANISMS {
        let scenario = small("h_bfs", &[spares, METERED]);
        let program = scenario.emulate().unwrap().program;
        let machine = || Machine::of(&scenario, &standard_registry(), &program).unwrap();
        let mut whole = machine();
        let straight = whole.simulate(&never, &mut |_| {});
        assert!(total(&straight, "loads_replaced") > 0, "{spares}");
        for quarter in 1..4 {
            let mut saved = machine();
            let at = whole.cycle() * quarter / 4;
            assert!(saved.advance(at, &never).is_none());
            saved.write_checkpoint(&file, None).unwrap();
            let mut resumed = machine();
            resumed.resume(&file, None).unwrap();
            let resumed = resumed.simulate(&never, &mut |_| {});
            assert_eq!(resumed.cycles, straight.cycles, "{spares}: cycle {at}");
            assert!(
                resumed.statistics == straight.statistics,
                "{spares}: cycle {at}"
            );
        }
    }
}

#[test]
fn cache_and_registers_of_prefetches_at_distance_1_stay_within_64_kib() {
    for (program, l1_kib, threads, expected) in KERNELS {
        let l1 = format!("params.l1_kib={l1_kib}");
        let scenario = small(program, &["params.spare_registers=()", &l1]);
        let run = simulate(&scenario, EngineOptions::default());
        let used = units(&run).map(|unit| match unit.get("spare_registers_max") {
            Some(Value::Number(registers)) => *registers,
            other => panic!("{other:?}"),
        });
        let registers = used.max().unwrap();
        assert_eq!(
            l1_kib + threads * registers * 4 / 1024,
            expected,
            "{program}"
        );
        assert!(expected <= 64);
    }
}
