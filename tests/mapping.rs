//! The machine of the mapping study: its variants, its locality plans and its experiments.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_components::locality_plan::{Direction, LaunchLocality, LocalityPlan, LoopPlan};
use warpweave_systems::host_program::Executed;
use warpweave_systems::{Machine, Scenario, Simulated, Status, locality, standard_registry};

use crate::harness::{Bench, scenarios};

/// Scenario of a workload on the machine, in a folder that may hold a plan.
fn scenario(bench: &Bench, workload: &str, sets: &[&str]) -> Scenario {
    loaded(bench, workload, sets).unwrap_or_else(|problems| panic!("{problems}"))
}

fn loaded(bench: &Bench, workload: &str, sets: &[&str]) -> Result<Scenario, String> {
    let root = scenarios().display().to_string();
    bench.write(
        "program.ron",
        &format!(
            "Scenario(system: \"{root}/systems/mapping.ron\", size: \"T\", \
             workload: \"{root}/workloads/{workload}.ron\")"
        ),
    );
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    Scenario::load(&bench.path("program.ron"), &sets).map_err(|problems| problems.to_string())
}

fn run(scenario: &Scenario) -> Simulated {
    let executed = scenario.emulate().unwrap();
    let machine = Machine::of(scenario, &standard_registry(), &executed.program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    let run = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    assert_eq!(run.status, Status::Done);
    run
}

fn total(run: &Simulated, kind: &str, name: &str) -> u64 {
    let instances = run.statistics.iter().filter(|it| it.kind == kind);
    instances.filter_map(|it| it.counter(name)).sum()
}

/// Plan that maps the first launch of a program along y and groups its loops.
fn plan_of(executed: &Executed) -> LocalityPlan {
    let code = &executed.program.kernels[0].code;
    let instructions = code.instructions.iter().enumerate();
    let inside = instructions.filter(|(_, instruction)| instruction.loop_head.is_some());
    let known = LoopPlan {
        instructions: inside.map(|(at, _)| at).collect(),
        intra: (1..=64).map(|group| 40 * group).collect(),
        ..LoopPlan::default()
    };
    LocalityPlan {
        launches: vec![LaunchLocality {
            direction: Direction::AlongY,
            distance: 1,
            loops: vec![known],
        }],
    }
}

fn write_plan(path: &Path, executed: &Executed) {
    locality::write(path, executed.program.hash(), &plan_of(executed)).unwrap();
}

const PLACEMENTS: [&str; 4] = [
    "DemandRoundRobin",
    "BlockRoundRobin",
    "Mapped",
    "Mapped(deal: Shuffled(seed: 1))",
];

const WAVEFRONTS: [(&str, &str); 4] = [
    ("Gto", "false"),
    ("Ccws", "true"),
    ("Programmed", "false"),
    ("Programmed(scope: Along, others: Nothing)", "false"),
];

#[test]
fn every_variant_of_the_study_runs_every_work_group_and_instruction() {
    let bench = Bench::new();
    let workload = "matrix_product_global";
    let executed = scenario(&bench, workload, &[]).emulate().unwrap();
    write_plan(&bench.path("plan.local"), &executed);
    let plain = run(&scenario(&bench, workload, &[]));
    let instructions = total(&plain, "ComputeUnit", "wavefront_instructions");
    assert!(instructions > 0);
    for placement in PLACEMENTS {
        for (wavefronts, lost_locality) in WAVEFRONTS {
            let run = run(&scenario(
                &bench,
                workload,
                &[
                    "locality=\"plan.local\"",
                    &format!("params.placement={placement}"),
                    &format!("params.wavefronts={wavefronts}"),
                    &format!("params.lost_locality={lost_locality}"),
                ],
            ));
            let of = |kind, name| total(&run, kind, name);
            assert_eq!(of("ComputeUnit", "wavefront_instructions"), instructions);
            assert_eq!(of("ComputeUnit", "work_groups_completed"), 16);
            let is_mapped = placement.starts_with("Mapped");
            assert_eq!(
                of("WorkGroupScheduler", "launches_along_y"),
                u64::from(is_mapped)
            );
            let entered = of("ComputeUnit", "scheduler0_loops_entered");
            assert_eq!(entered > 0, wavefronts.starts_with("Programmed"));
        }
    }
}

#[test]
fn the_other_sizes_of_the_machine_can_be_built() {
    for sets in [
        &["params.l1_kib=48"][..],
        &["params.slice_bytes=65536", "params.mshr=32"],
        &["params.units=14"],
        &["params.units=16"],
    ] {
        let scenario = scenario(&Bench::new(), "transpose", sets);
        let built = Machine::without_program(&scenario, &standard_registry());
        built.unwrap_or_else(|problems| panic!("{sets:?}: {problems}"));
    }
}

#[test]
fn a_plan_that_is_absent_broken_or_of_another_program_is_refused_at_its_place() {
    let bench = Bench::new();
    let refused = |sets: &[&str]| match loaded(&bench, "transpose", sets) {
        Err(said) => said,
        Ok(scenario) => {
            let executed = scenario.emulate().unwrap();
            let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
            machine.err().unwrap().to_string()
        }
    };
    let mapped = "params.placement=Mapped";
    insta::assert_snapshot!(refused(&[mapped]), @"
    error: by: a locality plan is required, but none was provided
     --> --set params.placement=Mapped:1:18
      |
    1 | params.placement=Mapped
      |                  ^^^^^^
    ");
    insta::assert_snapshot!(refused(&["locality=7"]), @"
    error: `locality` must be `Compute`, `Opposite`, `Shuffled(seed: 1)` or the path of a locality plan, found integer `7`
     --> --set locality=7:1:10
      |
    1 | locality=7
      |          ^
    ");
    let absent = refused(&["locality=\"nowhere.local\""]);
    let place = " --> --set locality=\"nowhere.local\":1:10";
    assert!(
        absent.contains("No such file") && absent.contains(place),
        "{absent}"
    );
    bench.write("text.local", "not a plan");
    let broken = refused(&["locality=\"text.local\""]);
    let why = "too short for a locality plan; write it anew";
    assert!(broken.contains(why), "{broken}");
    let other = scenario(&bench, "demosaic", &[]).emulate().unwrap();
    write_plan(&bench.path("other.local"), &other);
    let said = refused(&[mapped, "locality=\"other.local\""]);
    assert!(
        said.contains("a locality plan is required for this program"),
        "{said}"
    );
}

/// CMP-M4: matrix product, transpose and both sums, and a program whose addresses depend on data.
#[test]
fn cmp_m4_a_computed_plan_has_the_direction_of_each_program() {
    for (workload, direction, distance) in [
        ("neighbour_add", Direction::AlongX, 1),
        ("neighbour_add_y", Direction::AlongY, 1),
        ("transpose", Direction::AlongX, 1),
        ("matrix_product", Direction::AlongY, 5),
        ("suffix_match", Direction::RoundRobin, 0),
    ] {
        let executed = scenario(&Bench::new(), workload, &[]).emulate().unwrap();
        let plan = locality::compute(&executed.program);
        let launch = plan.launch(0);
        assert_eq!(
            (launch.direction, launch.distance),
            (direction, distance),
            "{workload}"
        );
    }
}

#[test]
fn a_computed_plan_maps_launches_and_its_opposite_maps_them_the_other_way() {
    for (locality, along_x, along_y) in [
        ("Compute", 0, 1),
        ("Opposite", 1, 0),
        ("Shuffled(seed: 1)", 0, 1),
    ] {
        let sets = [&*format!("locality={locality}"), "params.placement=Mapped"];
        let run = run(&scenario(&Bench::new(), "neighbour_add_y", &sets));
        let of = |name| total(&run, "WorkGroupScheduler", name);
        let found = (of("launches_along_x"), of("launches_along_y"));
        assert_eq!(found, (along_x, along_y), "{locality}");
    }
}

#[test]
fn a_plan_that_was_written_is_the_one_that_is_computed() {
    let bench = Bench::new();
    scenario(&bench, "neighbour_add_y", &[]);
    let analyze = ["analyze", "affine", "program.ron", "--plan", "plan.local"];
    let written = bench.warpweave(&analyze);
    assert_eq!(written.code, 0, "{}", written.err);
    let mapped = |locality: &str| {
        let sets = [&*format!("locality={locality}"), "params.placement=Mapped"];
        run(&scenario(&bench, "neighbour_add_y", &sets))
    };
    let (read, computed) = (mapped("\"plan.local\""), mapped("Compute"));
    assert_eq!(read.statistics, computed.statistics);
    assert_eq!(total(&read, "WorkGroupScheduler", "launches_along_y"), 1);
}

#[test]
fn experiments_of_the_study_can_be_planned() {
    let folder = scenarios().join("experiments/mapping");
    for name in ["reduced", "e2_shares", "e4_balance", "e5_blocks"] {
        let file = folder.join(format!("{name}.ron")).display().to_string();
        let planned = Bench::new().warpweave(&["experiment", &file, "--check"]);
        assert_eq!(planned.code, 0, "{name}: {}", planned.err);
    }
}

/// CMP-M6: 8 wavefronts of a work-group touch 2 rows each and one line of all. Those of the row
/// share them, and the second pair of work-groups has the next line of all.
#[test]
fn cmp_m6_a_computed_plan_has_the_lines_of_the_loops() {
    let plan = |workload| {
        let executed = scenario(&Bench::new(), workload, &[]).emulate().unwrap();
        locality::compute(&executed.program)
    };
    let product = plan("matrix_product_global");
    let [found] = &product.launch(0).loops[..] else {
        panic!("{product:?}")
    };
    let row = |group: u32| 2 * group.min(8) + 1 + u32::from(group > 16);
    let lines: Vec<u32> = (1..=32).map(row).collect();
    for list in [&found.intra, &found.inter, &found.along] {
        assert_eq!((&list[..32], list.len()), (&lines[..], 64));
    }
    assert_eq!(found.irregular, 0);
    let matching = plan("suffix_match");
    let [found] = &matching.launch(0).loops[..] else {
        panic!("{matching:?}")
    };
    // Two loads in the loop depend on data.
    assert_eq!((&found.intra[..], found.irregular), (&[][..], 64));
}

#[test]
fn a_loop_of_a_computed_plan_is_grouped_only_if_its_lines_do_not_fit() {
    let sets = ["locality=Compute", "params.wavefronts=Programmed"];
    for (workload, is_grouped) in [("matrix_product_global", false), ("suffix_match", true)] {
        let run = run(&scenario(&Bench::new(), workload, &sets));
        let entered = total(&run, "ComputeUnit", "scheduler0_loops_entered");
        assert_eq!(entered > 0, is_grouped, "{workload}");
    }
}
