//! Parts of programs: what tells their runs apart, and what warming leaves behind.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::Value;
use warpweave_systems::{Machine, Scenario, Simulated, Status, standard_registry};
use warpweave_trace::Program;

use crate::harness::scenarios;

/// A workload on the tiny machine.
fn scenario(workload: &str, sets: &[&str]) -> Scenario {
    let files = scenarios();
    let text = format!(
        "Scenario(system: \"{0}/systems/tiny.ron\", workload: \"{0}/workloads/{workload}.ron\")",
        files.display(),
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("part.ron");
    std::fs::write(&file, text).unwrap();
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::load(&file, &sets).unwrap_or_else(|problems| panic!("{problems}"))
}

fn machine(scenario: &Scenario, program: &Arc<Program>) -> Machine {
    let machine = scenario.machine(&standard_registry(), program);
    machine.unwrap_or_else(|problems| panic!("{problems}"))
}

fn simulate(machine: &mut Machine) -> Simulated {
    let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    assert_eq!(simulated.status, Status::Done);
    simulated
}

#[test]
fn two_regions_are_two_runs_of_one_trace() {
    let identity = |sets: &[&str]| scenario("lud", sets).identity().unwrap();
    let whole = identity(&[]);
    let regions: [&[&str]; 5] = [
        &["region.launches=1"],
        &["region.launches=2"],
        &["region.launches=1", "region.outside=Warm"],
        &["region.kernels=\"lud_*\""],
        &["region.sample=Draw(launches: 3, seed: 7)"],
    ];
    let mut runs = vec![whole.run];
    for sets in regions {
        let of_region = identity(sets);
        assert_eq!(of_region.trace, whole.trace, "{sets:?}");
        assert_eq!(identity(sets), of_region);
        assert!(!runs.contains(&of_region.run), "{sets:?}");
        runs.push(of_region.run);
    }
}

/// One wavefront accesses in the same order with time and without, so nothing may differ but the times.
#[test]
fn warming_leaves_the_tags_and_the_order_of_replacement_that_a_simulation_leaves() {
    let small = [
        "params.units=1",
        "workload.block=32",
        "workload.graph=Grid(width: 8, height: 4)",
        // Two lines in each slice: of what a launch touches most is replaced.
        "partition[*].l2[*].size_bytes=256",
        "partition[*].l2[*].ways=2",
    ];
    let program = scenario("bfs", &small).emulate().unwrap().program;
    let never = Arc::new(AtomicBool::new(false));
    for launch in [3, 7] {
        let number = format!("region.launches={launch}");
        let [mut warmed, mut simulated] = ["Warm", "Simulate"].map(|outside| {
            let outside = format!("region.outside={outside}");
            let sets = [&small[..], &[&number, &outside]].concat();
            let scenario = scenario("bfs", &sets);
            // Up to where the launch begins.
            let ended = simulate(&mut machine(&scenario, &program));
            let kernel = ended.kernels.iter().find(|kernel| kernel.number == launch);
            let mut machine = machine(&scenario, &program);
            let begins = kernel.unwrap().launched.unwrap();
            assert_eq!(machine.advance(begins, &never), None);
            machine
        });
        let replaced = |machine: &Machine| {
            let statistics = machine.statistics();
            let slices = statistics.iter().filter(|it| it.path.contains("l2"));
            let values = slices.flat_map(|instance| &instance.values);
            let evictions = values.filter(|value| &*value.name == "evictions");
            let counts = evictions.map(|value| match value.value {
                Value::Counter(count) => count,
                _ => 0,
            });
            counts.sum::<u64>()
        };
        assert!(replaced(&simulated) > 5, "{}", replaced(&simulated));
        let parting = warmed.parting(&mut simulated, 0).unwrap();
        let (_, parting) = parting.expect("the times differ");
        let caches = parting.places.iter().filter(|it| it.kind == "Cache");
        for place in caches {
            // Accesses of no time have no numbers of writes, by which checkers tell fresh data.
            let tags = place.fields.iter().filter(|(field, ..)| {
                field.starts_with("tags") && !field.ends_with("write_sequence")
            });
            let tags: Vec<_> = tags.collect();
            assert!(tags.is_empty(), "{}: {tags:#?}", place.name);
        }
    }
}
