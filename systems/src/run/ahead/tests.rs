//! Tests that overlapped simulation gives the same results as simulation after emulation.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;
use crate::run::{Machine, Simulated, Status, Threads};
use crate::standard_registry;

/// Returns a workload at its smallest size on the tiny machine.
fn scenario(workload: &str, sets: &[&str]) -> Scenario {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let files = files.display();
    let text = format!(
        "Scenario(system: \"{files}/systems/tiny.ron\", workload: \"{files}/workloads/{workload}.ron\", size: \"T\")",
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.ron");
    std::fs::write(&file, text).unwrap();
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::load(&file, &sets);
    scenario.unwrap_or_else(|problems| panic!("{problems}"))
}

fn simulate(scenario: &Scenario, program: &Arc<Program>, threads: usize) -> Simulated {
    let machine = Machine::of(scenario, &standard_registry(), program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    machine.set_threads(Threads::OneFor(threads));
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {})
}

/// Runs emulation and simulation concurrently, with a limit on the bytes ahead.
fn beside(scenario: &Scenario, window: u64, threads: usize) -> (Executed, Simulated) {
    let ahead = EmulationAhead::with_window(scenario, window).expect("nothing depends on values");
    thread::scope(|scope| {
        let emulation = scope.spawn(|| ahead.run(&EmulationProgress::default()));
        let program = ahead.begun().expect("it has more streams than that");
        let simulated = simulate(scenario, &program, threads);
        ahead.release();
        (emulation.join().unwrap().unwrap(), simulated)
    })
}

#[test]
fn a_program_of_one_launch_or_of_several_gives_the_same_results_however_far_it_is_emulated_ahead() {
    let small: [(&str, &[&str]); 3] = [
        ("matrix_multiply", &["workload.n=48"]),
        // Backwards, so that the simulation waits for what is emulated last.
        (
            "matrix_multiply",
            &["workload.n=48", "emulation.order=Reversed"],
        ),
        ("srad", &[]),
    ];
    for (workload, sets) in small {
        let scenario = scenario(workload, sets);
        let first = scenario.emulate().unwrap();
        let bytes: u64 = first
            .program
            .kernels
            .iter()
            .map(|kernel| kernel.stream_bytes())
            .sum();
        let expected = simulate(&scenario, &first.program, 1);
        assert_eq!(expected.status, Status::Done);
        for (window, threads) in [(0, 1), (bytes / 7, 1), (bytes - 1, 1), (bytes / 3, 3)] {
            let (executed, simulated) = beside(&scenario, window, threads);
            assert_eq!(
                simulated, expected,
                "{workload}, {window} bytes ahead, {threads} threads"
            );
            assert_eq!(executed.outputs, first.outputs);
            assert_eq!(executed.checks, first.checks);
            assert_eq!(executed.program.head(), first.program.head());
        }
        // With room for all of it, it is emulated first.
        let ahead = EmulationAhead::with_window(&scenario, bytes).unwrap();
        let executed = ahead.run(&EmulationProgress::default()).unwrap();
        assert!(ahead.begun().is_none());
        assert_eq!(executed.program.hash(), first.program.hash());
    }
}

#[test]
fn a_program_whose_launches_depend_on_what_kernels_compute_is_emulated_first() {
    for (workload, sets) in [
        ("bfs_mask", &[][..]),
        ("quicksort_device", &[]),
        ("srad", &["region.launches=0"]),
    ] {
        assert!(
            EmulationAhead::of(&scenario(workload, sets)).is_none(),
            "{workload}"
        );
    }
}
