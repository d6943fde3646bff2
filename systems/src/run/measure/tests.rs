//! Tests that parts add up to the totals, however the run was divided.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, InstanceStatistics, Value};
use warpweave_trace::Program;

use super::*;
use crate::run::{Machine, Simulated, Status, Threads};
use crate::{Scenario, standard_registry};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

/// Returns the scenario with these values; kernels and intervals are measured by default.
fn scenario(file: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::load(&scenarios().join(file), &sets);
    scenario.unwrap_or_else(|problems| panic!("{problems}"))
}

const SMALL: &str = "workload.graph=Grid(width: 9, height: 5)";

const MEASURED: [&str; 2] = ["measure.kernels=true", "measure.every_cycles=700"];

fn machine(scenario: &Scenario, program: &Arc<Program>) -> Machine {
    let machine = Machine::of(scenario, &standard_registry(), program);
    machine.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Runs to the end in slices of `slice` cycles.
fn run(machine: &mut Machine, slice: u64) -> Simulated {
    let never = Arc::new(AtomicBool::new(false));
    loop {
        let to = machine.cycle() + slice;
        if let Some(status) = machine.advance(to, &never) {
            assert_eq!(status, Status::Done);
            return machine.results(status);
        }
    }
}

/// Returns the additive numbers of a value and omits all others.
fn amounts(value: &Value) -> Vec<u64> {
    let mut amounts = match value {
        Value::Counter(count) => vec![*count],
        Value::Ratio { part, whole } => vec![*part, *whole],
        Value::Histogram(h) => [&[h.count(), h.sum()], h.buckets()].concat(),
        Value::Series(series) => series.sums().to_vec(),
        Value::Number(_) | Value::Gauge(_) => Vec::new(),
    };
    let used = amounts.iter().rposition(|n| *n > 0).map_or(0, |n| n + 1);
    amounts.truncate(used);
    amounts
}

type Sums = BTreeMap<(String, String), Vec<u64>>;

/// Adds the parts, each with its multiplier; no part may exceed the whole.
fn add_up<'a>(parts: impl Iterator<Item = (i64, &'a [InstanceStatistics])>, total: &Sums) -> Sums {
    let mut sums = Sums::new();
    for (times, instances) in parts {
        for instance in instances {
            for statistic in &instance.values {
                let name = (instance.path.clone(), statistic.name.to_string());
                let by = amounts(&statistic.value);
                let whole = &total[&name];
                let within = by.iter().zip(whole).all(|(by, whole)| by <= whole);
                assert!(
                    within && by.len() <= whole.len(),
                    "{name:?} {by:?} of {whole:?}"
                );
                let sum = sums.entry(name).or_default();
                sum.resize(sum.len().max(by.len()), 0);
                for (sum, by) in sum.iter_mut().zip(by) {
                    *sum = sum.wrapping_add_signed(times * by as i64);
                }
            }
        }
    }
    sums
}

/// Checks that the parts of `simulated` add up to the whole, for kernels and for intervals.
fn adds_up(simulated: &Simulated) {
    let instances = simulated.statistics.iter();
    let all = instances.flat_map(|i| i.values.iter().map(move |s| (i, s)));
    let total: Sums = all
        .filter(|(_, s)| s.grows)
        .map(|(i, s)| ((i.path.clone(), s.name.to_string()), amounts(&s.value)))
        .collect();
    let measured = &simulated.measured;
    let kernels = measured.kernels.as_ref().expect("asked for");
    let outside = measured.outside_kernels.as_ref().expect("asked for");
    // Where several ran, each has all: all but one of them are taken away again.
    let shared = measured.overlaps.iter();
    let shared = shared.map(|(kernels, part)| (1 - kernels.len() as i64, &part[..]));
    let by_kernel = kernels.values().map(|part| (1, &part[..]));
    let by_kernel = by_kernel.chain([(1, &outside[..])]).chain(shared);
    assert_eq!(add_up(by_kernel, &total), total);

    let intervals = measured.intervals.as_ref().expect("asked for");
    let by_interval = intervals.iter().map(|i| (1, &i.statistics[..]));
    let sums = add_up(by_interval, &total);
    for (name, whole) in &total {
        let nothing = Vec::new();
        assert_eq!(sums.get(name).unwrap_or(&nothing), whole, "{name:?}");
    }
    for (one, next) in intervals.iter().zip(&intervals[1..]) {
        assert_eq!(one.to_cycle, next.from_cycle);
    }
}

#[test]
fn parts_of_every_statistic_of_every_system_add_up() {
    let matrix = ["workload.n=32"];
    let files: [(&str, &[&str]); 3] = [
        ("bfs.ron", &[SMALL]),
        ("matrix_multiply_60_icc.ron", &matrix),
        ("bfs_60.ron", &[SMALL]),
    ];
    for (file, sets) in files {
        let sets = [&MEASURED, sets].concat();
        let scenario = scenario(file, &sets);
        let program = scenario.emulate().unwrap().program;
        let simulated = run(&mut machine(&scenario, &program), 5000);
        assert!(!simulated.measured.kernels.as_ref().unwrap().is_empty());
        adds_up(&simulated);
    }
}

#[test]
fn neither_pieces_nor_threads_nor_sleep_nor_a_checkpoint_change_what_is_measured() {
    let sets = [&MEASURED[..], &[SMALL]].concat();
    let scenario = scenario("bfs_60.ron", &sets);
    let program = scenario.emulate().unwrap().program;
    let straight = run(&mut machine(&scenario, &program), u64::MAX / 2);
    let kernels = straight.measured.kernels.as_ref().unwrap();
    assert!(kernels.len() > 2);

    let in_pieces = run(&mut machine(&scenario, &program), 97);
    assert_eq!(straight.measured, in_pieces.measured);

    let mut threaded = machine(&scenario, &program);
    threaded.set_threads(Threads::OneFor(3));
    assert_eq!(straight.measured, run(&mut threaded, 1000).measured);

    let mut awake = machine(&scenario, &program);
    awake.set_options(EngineOptions {
        sleeping: false,
        ..EngineOptions::default()
    });
    assert_eq!(straight.measured, run(&mut awake, 1000).measured);

    let folder = tempfile::tempdir().unwrap();
    let started = straight.kernels[1].started.unwrap();
    for cycle in [0, 650, started, started + 1] {
        let file = folder.path().join(format!("{cycle}.wwc"));
        let mut saved = machine(&scenario, &program);
        let never = Arc::new(AtomicBool::new(false));
        assert_eq!(saved.advance(cycle, &never), None);
        saved.write_checkpoint(&file, None).unwrap();
        let mut resumed = machine(&scenario, &program);
        resumed.resume(&file, None).unwrap();
        assert_eq!(
            straight.measured,
            run(&mut resumed, 1000).measured,
            "{cycle}"
        );
    }
}

#[test]
fn measuring_changes_no_result() {
    let plain = scenario("bfs.ron", &[SMALL]);
    let measured = scenario("bfs.ron", &[&MEASURED[..], &[SMALL]].concat());
    let program = plain.emulate().unwrap().program;
    let without = run(&mut machine(&plain, &program), 5000);
    assert_eq!(*without.measured, Measured::default());
    let with = run(&mut machine(&measured, &program), 5000);
    let comparable = |simulated: Simulated| Simulated {
        measured: LazyMeasured::default(),
        ..simulated
    };
    assert_eq!(comparable(with), comparable(without));
}

#[test]
fn what_was_not_measured_from_the_start_is_refused_when_resumed() {
    let plain = scenario("bfs.ron", &[SMALL]);
    let measured = scenario("bfs.ron", &[&MEASURED[..], &[SMALL]].concat());
    let program = plain.emulate().unwrap().program;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.wwc");
    machine(&plain, &program)
        .write_checkpoint(&file, None)
        .unwrap();
    let refused = machine(&measured, &program).resume(&file, None);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("measure.kernels"), "{refused}");
}

#[test]
fn the_kernels_of_a_program_share_out_its_instructions() {
    let scenario = scenario("bfs_60.ron", &[&MEASURED[..], &[SMALL]].concat());
    let program = scenario.emulate().unwrap().program;
    let simulated = run(&mut machine(&scenario, &program), 5000);
    let kernels = simulated.measured.kernels.as_ref().unwrap();
    for kernel in &simulated.kernels {
        let [issued, ..] = crate::run::results::totals(&kernels[&kernel.number]);
        assert_eq!(issued, kernel.wavefront_instructions, "{}", kernel.number);
    }
}
