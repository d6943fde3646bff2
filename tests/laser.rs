//! Tests the policies of the LASER study on programs that launch kernels. Every launch tree
//! completes, with equal results in every evaluation order. Profiles hold the ratios of the trace.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_components::reuse_profile::ChildReuse;
use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Scenario, Simulated, Status, profile, standard_registry};
use warpweave_trace::{Class, KernelTrace, Lanes, Space};

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

/// Returns what the monitors of all units counted.
fn monitored(run: &Simulated) -> Vec<u64> {
    let counters = [
        "parent_hits",
        "sibling_hits",
        "self_misses",
        "predicted_none",
    ];
    let units = run.statistics.iter();
    let counts = units.flat_map(|unit| {
        let counted = |counter| unit.counter(&format!("reuse_{counter}"));
        counters.into_iter().filter_map(counted)
    });
    counts.collect()
}

#[test]
fn monitors_by_profile_and_by_work_group_count_the_same_in_every_order() {
    let laser = POLICIES[4];
    for sets in [
        &["profile=Shuffled(seed: 1)", "params.monitor=Profile"][..],
        &["params.clear=ParentWorkGroup"],
    ] {
        let sets = [laser, sets].concat();
        let run = simulated("control", &sets, EngineOptions::default());
        assert_eq!(run.status, Status::Done, "{sets:?}");
        let shuffled = EngineOptions {
            order: Order::Shuffled { seed: 5 },
            sleeping: false,
            ..EngineOptions::default()
        };
        let again = simulated("control", &sets, shuffled);
        assert_eq!(again.cycles, run.cycles, "{sets:?}");
        let counts = monitored(&run);
        assert!(counts.iter().any(|count| *count > 0), "{sets:?}");
        assert_eq!(monitored(&again), counts, "{sets:?}");
    }
}

/// Checks that units learn of finished parents only if configured, and that the monitors then
/// forget them.
#[test]
fn monitors_find_less_once_they_forget() {
    let hits_of = |sets: &[&str]| {
        let run = simulated("quicksort", sets, EngineOptions::default());
        let units = run.statistics.iter();
        let hits = units.filter_map(|unit| unit.counter("reuse_parent_hits"));
        hits.sum::<u64>()
    };
    let hits = |reset: &str| hits_of(&[reset]);
    let own = hits("params.reset_on=OwnWorkGroups");
    let family = hits("params.reset_on=FamilyComplete");
    let never = hits("params.reset_on=Never");
    // Children arrive when the work-groups of their parents are done.
    assert!(own < family && family < never, "{own} {family} {never}");
    // Nor before those of the work-group that launched them, nor later than those of its kernel.
    let groups = hits_of(&["params.reset_on=Never", "params.clear=ParentWorkGroup"]);
    assert!(own < groups && groups < never, "{own} {groups} {never}");
}

/// Checks the profiled ratios against a naive computation from the records of the trace.
#[test]
fn profiles_hold_the_ratios_of_every_launched_kernel() {
    for workload in ["quicksort", "bfs"] {
        let executed = scenario(workload, &[]).emulate().unwrap();
        let kernels = &executed.program.kernels;
        let lines: Vec<Vec<u64>> = kernels.iter().map(|kernel| lines_of(kernel)).collect();
        let sets: Vec<BTreeSet<u64>> = lines
            .iter()
            .map(|of| of.iter().copied().collect())
            .collect();
        let profile = profile::compute(&executed.program);
        let launcher = |kernel: usize| {
            let parent = kernels[kernel].parent;
            parent.map(|parent| (parent.kernel, parent.work_group))
        };
        let mut launched = 0;
        for kernel in 0..kernels.len() {
            let known = profile.child(kernel as u32);
            let Some((parent, group)) = launcher(kernel) else {
                assert_eq!(known, None);
                continue;
            };
            launched += 1;
            let with = |other: usize| {
                let mine = lines[kernel].iter();
                mine.filter(|line| sets[other].contains(line)).count() as u64
            };
            let earlier = (0..kernel).filter(|&other| launcher(other) == Some((parent, group)));
            let expected = ChildReuse {
                accesses: lines[kernel].len() as u64,
                own: (lines[kernel].len() - sets[kernel].len()) as u64,
                parent: with(parent as usize),
                sibling: earlier.map(with).max().unwrap_or(0),
            };
            assert_eq!(known, Some(expected), "{workload} {kernel}");
        }
        assert!(launched > 10, "{workload} {launched}");
    }
}

/// Returns the lines that a kernel accesses in global memory, each once per instruction.
fn lines_of(kernel: &KernelTrace) -> Vec<u64> {
    let mut accessed = Vec::new();
    let mut lanes = Lanes::default();
    for work_group in 0..kernel.work_groups() {
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(work_group, wavefront);
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                let instruction = &kernel.code.instructions[record.pc as usize];
                if record.space != Space::Global || instruction.class == Class::Prefetch {
                    continue;
                }
                let last = u64::from(instruction.access_bytes).saturating_sub(1);
                let of_lanes = lanes.iter(record.mask);
                let touched: BTreeSet<u64> = of_lanes
                    .flat_map(|(_, address)| address / 128..=(address + last) / 128)
                    .collect();
                accessed.extend(touched);
            }
        }
    }
    accessed
}

/// Checks that a monitor that predicts by a profile needs one, and says how to give it.
#[test]
fn predictions_by_a_profile_are_refused_without_one() {
    let scenario = scenario("quicksort", &["params.monitor=Profile"]);
    let executed = scenario.emulate().unwrap();
    let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
    let said = machine.err().unwrap().to_string();
    insta::assert_snapshot!(said, @"
    error: reuse_monitor.prediction: a reuse profile is required, but none was provided; with `Profile`, set `profile: Compute` in the scenario
     --> --set params.monitor=Profile:1:16
      |
    1 | params.monitor=Profile
      |                ^^^^^^^
    ");
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
