//! The machine of the mapping study: its variants, its locality plans and its experiments.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_affine::{AccessKind, LaunchAnalysis, LaunchHead, analyse};
use warpweave_components::locality_plan::{Direction, LaunchLocality, LocalityPlan, LoopPlan};
use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::host_program::Executed;
use warpweave_systems::mappings::search;
use warpweave_systems::{Machine, Scenario, Simulated, Status, locality, standard_registry};
use warpweave_trace::{KernelTrace, Lanes};

use crate::harness::{Bench, scenarios, shown};

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

fn table_refused(text: &str) -> String {
    let bench = Bench::new();
    bench.write("table.ron", text);
    let sets = [
        "work_groups=\"table.ron\"",
        "params.placement=Mapped(by: Table)",
    ];
    let scenario = match loaded(&bench, "neighbour_add_y", &sets) {
        Err(said) => return said,
        Ok(scenario) => scenario,
    };
    let executed = scenario.emulate().unwrap();
    let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
    machine
        .err()
        .map_or_else(String::new, |problems| problems.to_string())
}

#[test]
fn a_table_of_work_groups_that_is_wrong_is_refused_at_its_line_with_what_was_expected() {
    let units = |units: &str| {
        format!("WorkGroups(\n  tables: [\n    (launches: [0],\n     units: {units}),\n  ],\n)\n")
    };
    for (text, place, message) in [
        (
            units("[[0, 1], [1]]"),
            "table.ron:4:23",
            "work-group 1 occurs twice, expected once",
        ),
        (
            units("[[0, 7], [1]]"),
            "table.ron:4:18",
            "their numbers are 0 to 2, found 7",
        ),
        (units("[[0, -1]]"), "table.ron:4:18", "-1"),
        (units("[[0, one]]"), "table.ron:4:18", "one"),
        (
            units("[[0]]").replace("units", "unit"),
            "table.ron:4:6",
            "units",
        ),
        (
            units("[[0]]").replace("[0],", "[0, 0],"),
            "table.ron:3:20",
            "launch 0 has two tables",
        ),
        ("System()".to_owned(), "table.ron:1:1", "WorkGroups"),
        ("WorkGroups(".to_owned(), "table.ron:1:", "WorkGroups"),
    ] {
        let said = table_refused(&text);
        assert!(
            said.contains(place) && said.contains(message),
            "{text}{said}"
        );
    }
    let many = units(&format!("{:?}", vec![[0; 0]; 16]));
    let said = table_refused(&many);
    let message = "by: the table of launch 0 has 16 units, but there are 15";
    assert!(said.contains(message), "{said}");
    let sets = ["work_groups=\"nowhere.ron\""];
    let absent = loaded(&Bench::new(), "transpose", &sets).err().unwrap();
    assert!(absent.contains("No such file"), "{absent}");
}

#[test]
fn a_launch_of_another_size_than_its_table_fails_and_one_without_a_table_is_placed_in_turn() {
    let bench = Bench::new();
    let sets = [
        "work_groups=\"table.ron\"",
        "params.placement=Mapped(by: Table)",
    ];
    bench.write(
        "table.ron",
        "WorkGroups(tables: [(launches: [5], units: [[0]])])",
    );
    let other = run(&scenario(&bench, "neighbour_add_y", &sets));
    assert_eq!(
        total(&other, "WorkGroupScheduler", "launches_round_robin"),
        1
    );
    bench.write(
        "table.ron",
        "WorkGroups(tables: [(launches: [0], units: [[0]])])",
    );
    scenario(&bench, "neighbour_add_y", &sets);
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let arguments: Vec<&str> = ["run", "--quiet", "program.ron"]
        .into_iter()
        .chain(sets)
        .collect();
    let ended = bench.warpweave(&arguments);
    let message = "the table of launch 0 has 1 work-groups, but kernel `neighbour_add` has";
    assert!(
        ended.code != 0 && ended.err.contains(message),
        "{}",
        ended.err
    );
}

/// Lines that each work-group of a launch was recorded to load.
fn loaded_lines(kernel: &KernelTrace, analysis: &LaunchAnalysis) -> Vec<BTreeSet<u64>> {
    let mut lanes = Lanes::default();
    let is_load = |pc: u32| {
        let mut loads = analysis.references.iter();
        loads.any(|at| at.pc == pc && at.is_cached && at.kind == AccessKind::Load)
    };
    let of_group = |group: u32| {
        let mut lines = BTreeSet::new();
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(group, wavefront);
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                if is_load(record.pc) {
                    lines.extend(lanes.iter(record.mask).map(|(_, address)| address / 128));
                }
            }
        }
        lines
    };
    (0..kernel.work_groups()).map(of_group).collect()
}

#[test]
fn the_lines_that_a_search_predicts_are_those_of_the_recorded_loads_in_its_order() {
    for workload in ["demosaic", "neighbour_add_y", "matrix_product_global"] {
        let executed = scenario(&Bench::new(), workload, &[]).emulate().unwrap();
        let kernel = &executed.program.kernels[0];
        let head = LaunchHead::of(kernel, &executed.program.allocations);
        let analysis = analyse(&head);
        let sets = analysis.line_sets(&head, 128).unwrap();
        assert!(sets.is_exact && sets.causes.is_empty(), "{workload}");
        let lines = loaded_lines(kernel, &analysis);
        let all: BTreeSet<u64> = lines.iter().flatten().copied().collect();
        assert_eq!(sets.count as usize, all.len(), "{workload}");
        let found = search(&sets, head.grid, 4, 3, 100).unwrap();
        assert!(found.best.is_sorted_by_key(|scored| scored.score));
        assert!(found.best[0].score <= found.in_turn);
        for scored in &found.best {
            let mut fetched = 0;
            for order in &scored.orders {
                for (at, &group) in order.iter().enumerate() {
                    let before = &order[at.saturating_sub(2)..at];
                    let is_held = |line: &&u64| {
                        before
                            .iter()
                            .any(|&other| lines[other as usize].contains(line))
                    };
                    let own = &lines[group as usize];
                    fetched += (own.len() - own.iter().filter(is_held).count()) as u64;
                }
            }
            assert_eq!(
                scored.score.fetched, fetched,
                "{workload}, {}",
                scored.mapping
            );
        }
    }
}

#[test]
fn a_search_shows_its_best_mappings_and_writes_tables_that_the_machine_runs() {
    let bench = Bench::new();
    scenario(&bench, "neighbour_add_y", &[]);
    let analyze = [
        "--quiet",
        "analyze",
        "mapping",
        "program.ron",
        "--units",
        "15",
    ];
    let searched = bench.warpweave(&[&analyze[..], &["--resident", "4", "--tables", "t"]].concat());
    assert_eq!(searched.code, 0, "{}", searched.err);
    shown("mapping_search", &searched.out);
    let again = bench.warpweave(&[&analyze[..], &["--tables", "t"]].concat());
    assert!(again.refusal().contains("t already exists"));
    for rank in 1..=4 {
        let table = format!("work_groups=\"t/{rank}.ron\"");
        let run = run(&scenario(
            &bench,
            "neighbour_add_y",
            &[&table, "params.placement=Mapped(by: Table)"],
        ));
        let of = |name| total(&run, "WorkGroupScheduler", name);
        assert_eq!(
            (of("launches_by_table"), of("work_groups_dispatched")),
            (1, 64)
        );
    }
    let csv = bench.warpweave(&[&analyze[..], &["--format", "csv"]].concat());
    assert_eq!(csv.out.lines().count(), 6, "{}", csv.out);
    let json = bench.warpweave(&[&analyze[..], &["--format", "json"]].concat());
    let mappings = &json.json()["launches"][0]["mappings"];
    assert_eq!(mappings.as_array().unwrap().len(), 5);
    // No load has a known address.
    scenario(&bench, "suffix_match", &[]);
    let unknown = bench.warpweave(&analyze);
    assert!(
        unknown
            .out
            .contains("not searched: address depends on data loaded"),
        "{}",
        unknown.out
    );
}

/// Both policies at once, on a program that is mapped along y, and on one whose loop is grouped.
const BOTH: [(&str, &str); 2] = [
    ("neighbour_add_y", "launches_along_y"),
    ("suffix_match", "scheduler0_loops_entered"),
];

const POLICIES: [&str; 3] = [
    "locality=Compute",
    "params.placement=Mapped",
    "params.wavefronts=Programmed(scope: Along)",
];

#[test]
fn mapped_and_grouped_programs_give_the_same_bits_on_any_number_of_threads_and_in_any_order() {
    for (workload, counter) in BOTH {
        let scenario = scenario(&Bench::new(), workload, &POLICIES);
        let executed = scenario.emulate().unwrap();
        let run = |options: EngineOptions| {
            let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
            let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
            machine.set_options(options);
            machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {})
        };
        let usual = run(EngineOptions::default());
        let kinds = ["WorkGroupScheduler", "ComputeUnit"];
        let counted: u64 = kinds.iter().map(|kind| total(&usual, kind, counter)).sum();
        assert!(counted > 0, "{workload}");
        for threads in [2, 3, 4, 8] {
            let options = EngineOptions {
                threads,
                ..EngineOptions::default()
            };
            let divided = run(options);
            assert_eq!(
                divided.cycles, usual.cycles,
                "{workload}: {threads} threads"
            );
            assert!(
                divided.statistics == usual.statistics,
                "{workload}: {threads} threads"
            );
        }
        let shuffled = run(EngineOptions {
            order: Order::Shuffled { seed: 3 },
            sleeping: false,
            ..EngineOptions::default()
        });
        assert_eq!(shuffled.cycles, usual.cycles, "{workload}");
        assert!(shuffled.statistics == usual.statistics, "{workload}");
    }
}

#[test]
fn mapped_and_grouped_programs_end_alike_when_they_are_resumed_at_quarters() {
    for (workload, _) in BOTH {
        let bench = Bench::new();
        scenario(&bench, workload, &[]);
        let run = |more: &[&str]| {
            let sets = POLICIES.iter().flat_map(|set| ["--set", set]);
            let arguments = ["run", "--quiet", "program.ron", "--format", "csv"];
            let arguments: Vec<&str> = arguments.into_iter().chain(sets).collect();
            let ended = bench.warpweave(&[&arguments[..], more].concat());
            assert_eq!(ended.code, 0, "{}", ended.err);
            ended.out
        };
        let straight = run(&[]);
        let cycles = straight
            .lines()
            .find_map(|line| line.strip_prefix("run,,cycles,"));
        let cycles: u64 = cycles.unwrap().split(',').next().unwrap().parse().unwrap();
        let quarters = [1, 2, 3].map(|quarter| (quarter * cycles / 4).to_string());
        let saved = run(&[
            "--checkpoint",
            "{cycle}.wwc",
            "--checkpoint-at",
            &quarters.join(","),
        ]);
        assert_eq!(saved, straight, "{workload}");
        for cycle in quarters {
            let resumed = run(&["--resume", &format!("{cycle}.wwc")]);
            assert_eq!(resumed, straight, "{workload} from cycle {cycle}");
        }
    }
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
