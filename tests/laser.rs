//! Tests the policies of the LASER study on programs that launch kernels. Every launch tree
//! completes, with equal results in every evaluation order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Scenario, Simulated, Status, standard_registry};

use crate::harness::{Bench, scenarios};

const BY_PROFILE: &str = "profile=Compute";

/// Policies compared by the study, as overrides of its machine.
const POLICIES: [&[&str]; 9] = [
    &[],
    &[BY_PROFILE, "params.order=ByReuse"],
    &[
        BY_PROFILE,
        "params.order=ByReuse",
        "params.placement=ReuseChains",
    ],
    &[
        BY_PROFILE,
        "params.order=ByReuse",
        "params.placement=ReuseChains",
        "params.wavefronts=Grouped(by: Profile)",
    ],
    &[
        "params.order=Priority",
        "params.placement=Laser",
        "params.wavefronts=Grouped",
        "params.reset_on=FamilyComplete",
    ],
    &[
        "params.order=Priority",
        "params.placement=Laser(parent_gone: LastUnit, queues: (memory: (base: 2199023255552)))",
        "params.wavefronts=Grouped",
        "params.reset_on=OwnWorkGroups",
        "params.queue_memory=true",
        "params.monitor=Random(1)",
    ],
    &["params.placement=LaPerm"],
    &[
        "params.placement=LaPerm(entries_on_chip: 1, memory: (base: 2199023255552))",
        "params.queue_memory=true",
    ],
    &["params.wavefronts=OwlLocality"],
];

fn scenario(workload: &str, sets: &[&str]) -> Scenario {
    let root = scenarios().display().to_string();
    let bench = Bench::new();
    bench.write(
        "program.ron",
        &format!(
            "Scenario(system: \"{root}/systems/laser.ron\", size: \"T\", \
             workload: \"{root}/workloads/{workload}_device.ron\", \
             overrides: {{ \"params.reduced\": true }})"
        ),
    );
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::load(&bench.path("program.ron"), &sets);
    scenario.unwrap_or_else(|problems| panic!("{problems}"))
}

fn simulated(workload: &str, sets: &[&str], options: EngineOptions) -> Simulated {
    let scenario = scenario(workload, sets);
    let executed = scenario.emulate().unwrap();
    let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    machine.set_options(options);
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {})
}

#[test]
fn every_policy_of_the_study_runs_every_tree_of_launches_to_its_end() {
    for workload in ["quicksort", "bfs", "spmm"] {
        let mut instructions = None;
        for sets in POLICIES {
            let run = simulated(workload, sets, EngineOptions::default());
            assert_eq!(run.status, Status::Done, "{workload} {sets:?}");
            let all = *instructions.get_or_insert(run.wavefront_instructions);
            assert_eq!(run.wavefront_instructions, all, "{workload} {sets:?}");
            let shuffled = EngineOptions {
                order: Order::Shuffled { seed: 5 },
                sleeping: false,
                ..EngineOptions::default()
            };
            let again = simulated(workload, sets, shuffled);
            assert_eq!(again.cycles, run.cycles, "{workload} {sets:?}");
        }
    }
}

/// Checks that units learn of finished parents only if configured, and that the monitors then
/// forget them.
#[test]
fn monitors_find_less_once_they_forget() {
    let hits = |reset: &str| {
        let sets = [reset];
        let run = simulated("quicksort", &sets, EngineOptions::default());
        let units = run.statistics.iter();
        let hits = units.filter_map(|unit| unit.counter("reuse_parent_hits"));
        hits.sum::<u64>()
    };
    let own = hits("params.reset_on=OwnWorkGroups");
    let family = hits("params.reset_on=FamilyComplete");
    let never = hits("params.reset_on=Never");
    // Children arrive when the work-groups of their parents are done.
    assert!(own < family && family < never, "{own} {family} {never}");
}

#[test]
fn checkers_on_every_wire_find_nothing_wrong_with_launches_from_the_device() {
    let mut scenario = scenario("quicksort", POLICIES[4]);
    scenario.observation.checks = true;
    let executed = scenario.emulate().unwrap();
    let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    let run = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    assert_eq!(run.status, Status::Done);
    assert!(machine.messages_checked() > 0);
}
