//! Programs with device-side launches, on a machine that supports them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Scenario, Simulated, Status, Threads, standard_registry};

use super::harness::{machine, named, run, scenario, sum};

fn quicksort(sets: &[&str]) -> Scenario {
    let sets = [&["params.reduced=true", "workload.n=1500"], sets].concat();
    scenario("systems/laser.ron", "quicksort_device.ron", &sets)
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
fn every_kernel_launched_from_the_device_runs_once_and_is_complete_before_its_parent() {
    let scenario = quicksort(&[]);
    let executed = scenario.emulate().unwrap();
    assert_eq!(executed.verified, Some(true));
    let kernels = &executed.program.kernels;
    assert!(kernels.len() > 40, "{}", kernels.len());
    let simulated = run(&mut machine(&scenario, &executed.program));
    let launched = kernels.len() as u64 - 1;
    assert_eq!(
        sum(&named(&simulated, "launcher"), "kernels_sent"),
        launched
    );
    assert_eq!(
        sum(&named(&simulated, "gmu"), "kernels_completed"),
        launched + 1
    );
    assert_eq!(
        sum(&named(&simulated, "host"), "device_kernels_completed"),
        launched
    );
    let instructions: u64 = kernels
        .iter()
        .map(|kernel| kernel.wavefront_instructions())
        .sum();
    assert_eq!(simulated.wavefront_instructions, instructions);
    let completed = |kernel: u32| {
        let found = simulated
            .kernels
            .iter()
            .find(|result| result.number == kernel);
        found
            .and_then(|result| result.completed)
            .expect("it is complete")
    };
    for (kernel, number) in kernels.iter().zip(0..) {
        if let Some(parent) = kernel.parent {
            assert!(
                completed(number) <= completed(parent.kernel),
                "{number} of {}",
                parent.kernel
            );
        }
    }
}

#[test]
fn neither_threads_nor_order_nor_sleep_nor_a_checkpoint_change_anything() {
    let scenario = quicksort(&["measure.kernels=true"]);
    let program = scenario.emulate().unwrap().program;
    let straight = run(&mut machine(&scenario, &program));
    assert_eq!(straight.requests_by_kernel.len(), program.kernels.len());
    let same = |simulated: Simulated| {
        assert_eq!(simulated.cycles, straight.cycles);
        assert_eq!(simulated.requests_by_kernel, straight.requests_by_kernel);
        assert_eq!(simulated.statistics, straight.statistics);
    };
    for threads in [2, 4] {
        let mut divided = machine(&scenario, &program);
        divided.set_threads(Threads::Exactly(threads));
        same(in_pieces(&mut divided, 5000));
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
    for part in [1, 2, 3] {
        let file = folder.path().join(format!("{part}.wwc"));
        let mut saved = machine(&scenario, &program);
        let never = Arc::new(AtomicBool::new(false));
        assert_eq!(saved.advance(straight.cycles * part / 4, &never), None);
        saved.write_checkpoint(&file, None).unwrap();
        let mut resumed = machine(&scenario, &program);
        resumed.resume(&file, None).unwrap();
        same(in_pieces(&mut resumed, 5000));
    }
}

#[test]
fn requests_of_kernels_side_by_side_add_up_to_what_the_components_count() {
    let scenario = quicksort(&["measure.kernels=true"]);
    let program = scenario.emulate().unwrap().program;
    let simulated = run(&mut machine(&scenario, &program));
    assert!(!simulated.measured.overlaps.is_empty());
    let of_kernel = |kernel: u32, port: &str, name: &str| {
        let ports = simulated.requests_by_kernel[&kernel].iter();
        let mut ports = ports.filter(|ports| ports.statistics.path.ends_with(port));
        let counted = ports
            .next()
            .map_or(0, |ports| ports.statistics.counter(name).unwrap_or(0));
        assert!(ports.next().is_none(), "{port}");
        counted
    };
    let all = |port: &str, name: &str| -> u64 {
        let kernels = simulated.requests_by_kernel.keys();
        kernels.map(|kernel| of_kernel(*kernel, port, name)).sum()
    };
    let units = named(&simulated, "cu");
    assert_eq!(all("l1.up", "reads"), sum(&units, "read_requests"));
    assert_eq!(all("l1.up", "writes"), sum(&units, "write_requests"));
    let supplied: u64 = ["L1", "L2", "Dram"]
        .map(|level| all("l1.up", &format!("supplied_{level}")))
        .iter()
        .sum();
    assert_eq!(supplied, all("l1.up", "reads"));
    let memory = named(&simulated, "dram");
    assert!(sum(&memory, "read_requests") > 0);
    assert_eq!(all("dram.up[*]", "reads"), sum(&memory, "read_requests"));
    // The first kernel only starts the sorting: what its children read is not its own.
    let first = of_kernel(0, "l1.up", "reads");
    assert!(first < all("l1.up", "reads") / 2, "{first}");
}

#[test]
fn a_program_of_one_stream_pays_for_no_requests_by_kernel() {
    let sets = [
        "params.reduced=true",
        "measure.kernels=true",
        "workload.n=64",
    ];
    let scenario = scenario("systems/laser.ron", "vector_add.ron", &sets);
    let program = scenario.emulate().unwrap().program;
    let simulated = run(&mut machine(&scenario, &program));
    assert!(simulated.requests_by_kernel.is_empty());
}

#[test]
fn longer_launches_take_longer() {
    let cycles = |base: &str| {
        let scenario = quicksort(&[&format!("launcher.base_cycles={base}")]);
        let program = scenario.emulate().unwrap().program;
        run(&mut machine(&scenario, &program)).cycles
    };
    let (none, usual, twice) = (cycles("0"), cycles("2526"), cycles("5052"));
    // The deepest chain of launches is in front of the end.
    assert!(
        none + 2526 < usual && usual + 2526 < twice,
        "{none} {usual} {twice}"
    );
}

#[test]
fn a_system_in_which_nobody_takes_launches_refuses_the_program() {
    let scenario = scenario(
        "systems/gtx480.ron",
        "quicksort_device.ron",
        &["workload.n=500"],
    );
    let program = scenario.emulate().unwrap().program;
    let refused = Machine::of(&scenario, &standard_registry(), &program)
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains(
            "is launched from the device, but no component of the system accepts such launches"
        ),
        "{refused}"
    );
    assert!(refused.contains("add a `LaunchUnit`"), "{refused}");
}

#[test]
fn a_pool_too_small_for_what_waits_ends_as_a_deadlock_that_names_it() {
    // One queue, which the parent keeps while its launches wait for the pool.
    let sets = [
        "gmu.hardware_queues=1",
        "gmu.pending_kernels=0",
        "launcher.kernels_in_flight=32",
    ];
    let scenario = quicksort(&sets);
    let program = scenario.emulate().unwrap().program;
    let mut machine = machine(&scenario, &program);
    let never = Arc::new(AtomicBool::new(false));
    let status = loop {
        let to = machine.cycle() + 100_000;
        if let Some(status) = machine.advance(to, &never) {
            break status;
        }
    };
    let Status::Deadlock(report) = status else {
        panic!("{status:?}")
    };
    let said = "the pending pool of 0 kernels is full";
    assert!(report.contains(said), "{report}");
}
