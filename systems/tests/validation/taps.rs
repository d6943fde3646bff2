//! Taps on whole machines: they observe every message, cost nothing, and give equal results for any
//! partition of a run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, InstanceStatistics, Order, Value};
use warpweave_systems::{Machine, Scenario, Simulated, Status, Threads};

use super::harness::{machine, named, run, scenario, sum};

const MACHINE: &str = "systems/clustered60.ron";

/// Two clusters of three units, and two partitions.
const SMALL: [&str; 4] = [
    "params.clusters=2",
    "params.units_per_cluster=3",
    "params.partitions=2",
    "workload.n=64",
];

const LOCALITY: &str = r#"taps.locality=Locality(at: "cluster[*].l1[*].down", accesses: "cluster[*].l1[*].up",
    windows: [500, 1000, 1500, 2000], window_unit: Cycles, refresh: true, global_end: 1099511627776)"#;

const TAPS: [&str; 5] = [
    LOCALITY,
    r#"taps.reuse=Reuse(at: "cluster[*].l1[*].up")"#,
    r#"taps.pre_l1=Accesses(at: "cluster[*].l1[*].up")"#,
    r#"taps.at_l2=Accesses(at: "partition[*].l2.up")"#,
    r#"taps.at_dram=Accesses(at: "partition[*].dram.up[*]")"#,
];

fn small(sets: &[&str]) -> Scenario {
    scenario(MACHINE, "matrix_multiply.ron", &[&SMALL[..], sets].concat())
}

fn simulate(scenario: &Scenario) -> Simulated {
    let executed = scenario.emulate().unwrap_or_else(|error| panic!("{error}"));
    run(&mut machine(scenario, &executed.program))
}

fn tap<'s>(simulated: &'s Simulated, name: &str) -> &'s InstanceStatistics {
    let path = format!("tap.{name}");
    let found = simulated.statistics.iter().find(|s| s.path == path);
    found.unwrap_or_else(|| panic!("no {path}"))
}

fn counter(simulated: &Simulated, name: &str, statistic: &str) -> u64 {
    tap(simulated, name)
        .counter(statistic)
        .expect("it is counted")
}

#[test]
fn taps_change_nothing_but_the_report_about_them() {
    let plain = simulate(&small(&[]));
    let tapped = simulate(&small(&TAPS));
    let others = tapped.statistics.iter();
    let others: Vec<_> = others.filter(|s| !s.path.starts_with("tap.")).collect();
    assert_eq!(others.len() + TAPS.len(), tapped.statistics.len());
    assert_eq!(others, plain.statistics.iter().collect::<Vec<_>>());
    assert_eq!(tapped.cycles, plain.cycles);
    assert_eq!(tapped.activity, plain.activity);
}

#[test]
fn taps_hear_what_the_components_count_themselves() {
    let simulated = simulate(&small(&TAPS));
    let units = named(&simulated, "cu");
    assert_eq!(
        counter(&simulated, "pre_l1", "reads"),
        sum(&units, "read_requests")
    );
    assert_eq!(
        counter(&simulated, "pre_l1", "writes"),
        sum(&units, "write_requests")
    );
    assert_eq!(
        counter(&simulated, "at_l2", "reads"),
        sum(&named(&simulated, "l2"), "reads")
    );
    assert_eq!(
        counter(&simulated, "at_dram", "reads"),
        sum(&named(&simulated, "dram"), "reads")
    );
    assert_eq!(
        counter(&simulated, "locality", "requests"),
        sum(&named(&simulated, "l1"), "read_misses")
    );
    // Two matrices of 64 × 64 floats are read, the third is written.
    assert_eq!(counter(&simulated, "pre_l1", "bytes"), 3 * 64 * 64 * 4);
}

#[test]
fn longer_windows_find_no_less_and_what_is_shared_is_words_or_lines() {
    let simulated = simulate(&small(&[LOCALITY]));
    let locality = tap(&simulated, "locality");
    let part = |name: &str| match locality.get(name) {
        Some(Value::Ratio { part, whole }) if *whole > 0 => *part,
        other => panic!("{name} is {other:?}"),
    };
    let windows = [500, 1000, 1500, 2000];
    let within = windows.map(|w| part(&format!("locality_within_cluster[{w}]")));
    assert!(within[0] > 0 && within.is_sorted(), "{within:?}");
    for (window, within) in windows.iter().zip(within) {
        let of = |name: &str| part(&format!("{name}[{window}]"));
        assert_eq!(of("data_sharing") + of("line_sharing"), within);
    }
    // Tiles side by side touch different words of a line: 16 floats are half of it.
    assert!(part("line_sharing[2000]") > 0 && part("data_sharing[2000]") > 0);
}

fn in_pieces(machine: &mut Machine, piece: u64) -> Simulated {
    let never = Arc::new(AtomicBool::new(false));
    loop {
        let to = machine.cycle() + piece;
        if let Some(status) = machine.advance(to, &never) {
            assert_eq!(status, Status::Done);
            return machine.results(status);
        }
    }
}

#[test]
fn neither_pieces_nor_threads_nor_order_nor_sleep_nor_a_checkpoint_change_what_taps_say() {
    let sets = [
        &TAPS[..],
        &["measure.kernels=true", "measure.every_cycles=700"],
    ]
    .concat();
    let scenario = small(&sets);
    let program = scenario.emulate().unwrap().program;
    let straight = run(&mut machine(&scenario, &program));
    let same = |simulated: Simulated| {
        assert_eq!(simulated.statistics, straight.statistics);
        assert_eq!(simulated.measured, straight.measured);
    };
    same(in_pieces(&mut machine(&scenario, &program), 97));
    for threads in [2, 4] {
        let mut divided = machine(&scenario, &program);
        divided.set_threads(Threads::Exactly(threads));
        same(in_pieces(&mut divided, 1000));
    }
    for options in [
        EngineOptions {
            sleeping: false,
            ..EngineOptions::default()
        },
        EngineOptions {
            order: Order::Shuffled { seed: 7 },
            ..EngineOptions::default()
        },
    ] {
        let mut other = machine(&scenario, &program);
        other.set_options(options);
        same(run(&mut other));
    }
    let folder = tempfile::tempdir().unwrap();
    for cycle in [0, 1200, 2500] {
        let file = folder.path().join(format!("{cycle}.wwc"));
        let mut saved = machine(&scenario, &program);
        let never = Arc::new(AtomicBool::new(false));
        assert_eq!(saved.advance(cycle, &never), None);
        saved.write_checkpoint(&file, None).unwrap();
        let mut resumed = machine(&scenario, &program);
        resumed.resume(&file, None).unwrap();
        same(in_pieces(&mut resumed, 1000));
    }
}

#[test]
fn a_machine_with_taps_is_divided_as_one_without() {
    let divisions = [&[][..], &TAPS[..]].map(|sets| {
        let scenario = small(sets);
        let program = scenario.emulate().unwrap().program;
        let mut machine = machine(&scenario, &program);
        machine.set_threads(Threads::OneFor(2));
        in_pieces(&mut machine, 1000);
        machine.system().simulation.division().partition_of
    });
    assert!(divisions[0].contains(&1), "{divisions:?}");
    assert_eq!(divisions[0], divisions[1]);
}

#[test]
fn what_was_not_heard_from_the_start_is_refused_when_resumed() {
    let (plain, tapped) = (small(&[]), small(&TAPS));
    let program = plain.emulate().unwrap().program;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.wwc");
    machine(&plain, &program)
        .write_checkpoint(&file, None)
        .unwrap();
    let refused = machine(&tapped, &program).resume(&file, None);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("tap.locality"), "{refused}");
}
