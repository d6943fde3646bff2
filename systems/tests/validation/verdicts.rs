//! Final status of slow machines and long computations, and reports of runs that were cut short.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Simulated, Status};
use warpweave_trace::{HostCommand, Program};

use super::harness::{
    REGISTERS, Step, kernel, machine, program, run, scenario, scenario_of_text, scenarios,
};

const TINY: &str = "systems/tiny.ron";

/// Returns one wavefront of dependent compute instructions without memory accesses.
fn computing(instructions: u32) -> Arc<Program> {
    let mut steps = vec![Step::Compute(0); instructions as usize];
    steps.push(Step::Exit);
    program(vec![kernel(1, 1, |_, _| steps.clone())])
}

fn on_tiny(sets: &[&str], program: &Arc<Program>) -> Machine {
    machine(&scenario(TINY, "vector_add.ron", sets), program)
}

fn stop_in(machine: &mut Machine, cycle: u64) -> Simulated {
    let interrupt = Arc::new(AtomicBool::new(false));
    machine.simulate(&interrupt, &mut |progress| {
        interrupt.store(progress.cycle >= cycle, Ordering::Relaxed);
    })
}

#[test]
fn a_kernel_that_only_computes_for_300_000_iterations_is_no_deadlock() {
    let simulated = run(&mut on_tiny(&[], &computing(300_000)));
    assert!(simulated.cycles > 1_000_000, "{}", simulated.cycles);
}

#[test]
fn a_dispatch_latency_of_1_100_000_cycles_is_no_deadlock() {
    let sets = ["gmu.dispatch_latency_cycles=1100000"];
    let simulated = run(&mut on_tiny(&sets, &computing(1)));
    let kernel = &simulated.kernels[0];
    let waited = kernel.started.unwrap() - kernel.launched.unwrap();
    // The launch, the latency, and the way to the scheduler.
    assert_eq!(waited, 1 + 1_100_000 + 1);
}

#[test]
fn an_initiation_interval_of_65_535_cycles_is_no_deadlock() {
    let sets = ["unit[*].cu.classes.int_add.interval=65535"];
    let simulated = run(&mut on_tiny(&sets, &computing(20)));
    assert!(simulated.cycles > 19 * 65_535, "{}", simulated.cycles);
    let sets = [sets[0], "limits.silent_cycles=65535"];
    let hardly = run(&mut on_tiny(&sets, &computing(20)));
    assert_eq!(hardly.cycles, simulated.cycles);
}

#[test]
fn a_wire_of_1_100_000_cycles_is_no_deadlock() {
    let text = std::fs::read_to_string(scenarios().join(TINY)).unwrap();
    let long = text.replace(
        "\"gmu.scheduler <-> scheduler.gmu\": (latency: 1)",
        "\"gmu.scheduler <-> scheduler.gmu\": (latency: 1100000, capacity: 2)",
    );
    assert_ne!(long, text);
    let scenario = scenario_of_text(&long, "vector_add.ron", &[]);
    let simulated = run(&mut machine(&scenario, &computing(1)));
    assert!(simulated.cycles > 2_200_000, "{}", simulated.cycles);
}

#[test]
fn slow_machines_end_alike_however_they_are_simulated() {
    let sets = [
        "limits.silent_cycles=700",
        "gmu.dispatch_latency_cycles=5000",
        "unit[*].cu.classes.int_add.interval=650",
    ];
    let streams: Vec<_> = (0..64_u64)
        .map(|i| Step::Stream((i % u64::from(REGISTERS)) as u16, i * 128))
        .collect();
    let steps = || {
        let computing = std::iter::repeat_n(Step::Compute(0), 5);
        computing
            .chain(streams.clone())
            .chain([Step::Exit])
            .collect()
    };
    let program = program(vec![
        kernel(3, 2, |_, _| steps()),
        kernel(1, 1, |_, _| steps()),
    ]);
    let simulate = |options| {
        let mut machine = on_tiny(&sets, &program);
        machine.set_options(options);
        let simulated = run(&mut machine);
        (simulated.cycles, simulated.kernels, simulated.statistics)
    };
    let expected = simulate(EngineOptions::default());
    for sleeping in [true, false] {
        for (partitions, threads) in [(1, 1), (2, 1), (3, 2), (8, 4), (8, 8)] {
            let options = EngineOptions {
                sleeping,
                order: Order::Shuffled { seed: 3 },
                partitions,
                threads,
                ..EngineOptions::default()
            };
            assert!(simulate(options) == expected, "{options:?}");
        }
    }
}

#[test]
fn a_run_that_reaches_its_limit_reports_the_cycles_up_to_it() {
    let sets = ["limits.cycles=3000"];
    let simulated = stop_in(&mut on_tiny(&sets, &computing(100_000)), u64::MAX);
    assert_eq!(simulated.status, Status::Limit);
    let kernel = &simulated.kernels[0];
    assert_eq!(simulated.cycles, 3000 - kernel.launched.unwrap());
    assert!(kernel.started > kernel.launched && kernel.completed.is_none());
    let issued = simulated.wavefront_instructions;
    assert!(issued > 500, "{issued}");
    let by_rate = simulated.ipc() * simulated.cycles as f64;
    assert!((by_rate - issued as f64).abs() < 1e-6, "{by_rate}");
}

#[test]
fn an_interrupted_run_reports_the_cycles_up_to_the_interrupt() {
    let mut machine = on_tiny(&[], &computing(100_000));
    let simulated = stop_in(&mut machine, 1);
    assert_eq!(simulated.status, Status::Interrupted);
    let launched = simulated.kernels[0].launched.unwrap();
    assert_eq!(simulated.cycles, machine.cycle() - launched);
    assert!(simulated.cycles > 10_000 && simulated.ipc() > 0.1);
}

#[test]
fn the_times_of_a_kernel_do_not_count_its_wait_for_another_as_running() {
    let steps = |_, _| vec![Step::Compute(0), Step::Compute(0), Step::Exit];
    let long = |_, _| [vec![Step::Compute(0); 2000], vec![Step::Exit]].concat();
    let kernels = vec![kernel(1, 1, long), kernel(1, 1, steps)];
    let two = program(kernels);
    // Both are in one stream: the second is launched at once and runs after the first.
    assert!(matches!(
        two.commands[1],
        HostCommand::Launch { stream: 0, .. }
    ));
    let simulated = run(&mut on_tiny(&[], &two));
    let [first, second] = &simulated.kernels[..] else {
        panic!("two launches")
    };
    assert!(second.launched < first.completed);
    assert!(second.started > first.completed, "{second:?}");
    assert!(second.cycles().unwrap() > 2000);
    assert!(second.run_cycles().unwrap() < 200, "{second:?}");
}

#[test]
fn times_of_kernels_survive_a_resume_between_start_and_end() {
    let program = computing(20_000);
    let never = Arc::new(AtomicBool::new(false));
    let mut machine = on_tiny(&[], &program);
    assert_eq!(machine.advance(2000, &never), None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    machine.write_checkpoint(&path, None).unwrap();
    let mut resumed = on_tiny(&[], &program);
    resumed.resume(&path, None).unwrap();
    let (kernels, whole) = (run(&mut resumed).kernels, run(&mut machine).kernels);
    assert_eq!(kernels, whole);
    assert!(kernels[0].started.unwrap() < 2000);
}
