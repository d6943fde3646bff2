//! Region runs compared with whole programs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;
use warpweave_framework::Value;
use warpweave_params::Diagnostics;
use warpweave_systems::{
    Machine, Part, RegionResult, Scenario, Simulated, Status, Threads, standard_registry,
};
use warpweave_trace::Program;

/// Returns a workload at its smallest size on the tiny machine.
fn try_scenario(workload: &str, sets: &[&str]) -> Result<Scenario, Diagnostics> {
    scenario_on("tiny", (workload, Some("T")), sets)
}

/// Returns a workload, at a size if it has any, on a machine of `scenarios/systems`.
fn scenario_on(
    system: &str,
    (workload, size): (&str, Option<&str>),
    sets: &[&str],
) -> Result<Scenario, Diagnostics> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let size = size.map_or_else(String::new, |size| format!("size: \"{size}\", "));
    let text = format!(
        "Scenario(system: \"{0}/systems/{system}.ron\", workload: \"{0}/workloads/{workload}.ron\", {size}\
         measure: (kernels: true))",
        files.display(),
    );
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("part.ron");
    std::fs::write(&file, text).expect("a temporary folder can be written");
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::load(&file, &sets)
}

fn scenario(workload: &str, sets: &[&str]) -> Scenario {
    try_scenario(workload, sets).unwrap_or_else(|problems| panic!("{problems}"))
}

fn emulate(workload: &str) -> Arc<Program> {
    scenario(workload, &[])
        .emulate()
        .expect("the program runs")
        .program
}

fn machine(scenario: &Scenario, program: &Arc<Program>) -> Machine {
    let machine = Machine::of(scenario, &standard_registry(), program);
    machine.unwrap_or_else(|problems| panic!("{problems}"))
}

fn simulate(machine: &mut Machine) -> Simulated {
    let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    assert_eq!(simulated.status, Status::Done);
    simulated
}

fn run(workload: &str, program: &Arc<Program>, sets: &[&str]) -> Simulated {
    simulate(&mut machine(&scenario(workload, sets), program))
}

fn region(simulated: &Simulated) -> &RegionResult {
    simulated
        .region
        .as_ref()
        .expect("a part of the program ran")
}

/// Returns the increase of a statistic during a launch, summed over all instances of a kind.
fn grew(simulated: &Simulated, launch: u32, kind: &str, level: &str, name: &str) -> u64 {
    let kernels = simulated
        .measured
        .kernels
        .as_ref()
        .expect("kernels are measured");
    let instances = kernels[&launch].iter();
    let instances = instances.filter(|i| i.kind == kind && i.path.contains(level));
    let values = instances.flat_map(|instance| &instance.values);
    let values = values.filter(|statistic| &*statistic.name == name);
    let counts = values.map(|statistic| match statistic.value {
        Value::Counter(count) => count,
        _ => 0,
    });
    counts.sum()
}

#[test]
fn a_region_of_every_launch_is_the_plain_run_bit_for_bit() {
    let program = emulate("srad");
    let plain = run("srad", &program, &[]);
    for outside in ["Skip", "Warm", "Simulate"] {
        let outside = format!("region.outside={outside}");
        let mut part = run("srad", &program, &[&outside]);
        let result = part.region.take().unwrap();
        assert_eq!(result.count(Part::Region), 4);
        assert_eq!(result.cycles, Some(plain.cycles));
        for kernel in &mut part.kernels {
            assert_eq!(kernel.part.take(), Some(Part::Region));
        }
        assert!(part == plain, "{outside}");
    }
}

#[test]
fn launches_that_are_simulated_do_what_they_do_in_the_whole_run() {
    let program = emulate("lud");
    let plain = run("lud", &program, &[]);
    let part = ["region.kernels=\"*internal*\"", "region.outside=Skip"];
    let part = run("lud", &program, &part);
    assert!(!part.kernels.is_empty() && part.kernels.len() < plain.kernels.len());
    assert_eq!(
        region(&part).count(Part::Skipped) as usize + part.kernels.len(),
        10
    );
    for kernel in &part.kernels {
        for name in [
            "wavefront_instructions",
            "read_requests",
            "write_requests",
            "barriers",
        ] {
            let of = |simulated| grew(simulated, kernel.number, "ComputeUnit", "", name);
            assert_eq!(of(&part), of(&plain), "{name} of launch {}", kernel.number);
        }
    }
    let instructions = part.kernels.iter().map(|k| k.wavefront_instructions);
    assert_eq!(part.wavefront_instructions, instructions.sum::<u64>());
}

#[test]
fn warming_brings_misses_closer_to_the_whole_run_than_skipping() {
    // Caches that hold what launches share; where they do not, order decides what is left of it.
    const LARGE: &str = "partition[*].l2[*].size_bytes=65536";
    for (workload, launch) in [("srad", 3), ("lud", 5), ("bfs_mask", 6)] {
        let program = emulate(workload);
        let number = format!("region.launches={launch}");
        let misses = |sets: &[&str]| {
            let simulated = run(workload, &program, &[sets, &[LARGE]].concat());
            grew(&simulated, launch, "Cache", "l2", "read_misses")
        };
        let whole = misses(&[]);
        let skipped = misses(&[&number]);
        let warmed = misses(&[&number, "region.outside=Warm"]);
        assert_eq!(misses(&[&number, "region.outside=Simulate"]), whole);
        assert!(
            2 * warmed.abs_diff(whole) < skipped.abs_diff(whole),
            "{workload}: {whole}, skipped {skipped}, warmed {warmed}"
        );
    }
}

#[test]
fn launches_of_no_time_leave_the_split_of_their_work_groups() {
    let program = emulate("lud");
    let changes = |outside: &str| {
        let outside = format!("region.outside={outside}");
        // Second launch of a kernel with one work-group, and the machine's first launch unless
        // earlier ones are replayed.
        let sets = ["region.launches=[3]", &outside, "params.clusters=2"];
        let scenario = scenario_on("accelsim/titanv", ("lud", Some("T")), &sets);
        let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
        let simulated = simulate(&mut machine(&scenario, &program));
        grew(&simulated, 3, "ComputeUnit", "", "split_changes")
    };
    assert_eq!(changes("Skip"), 1);
    assert_eq!(changes("Warm"), 0);
}

#[test]
fn the_interval_of_a_sample_covers_the_whole_run() {
    for workload in ["bfs_mask", "lud", "srad", "hotspot"] {
        let program = emulate(workload);
        let whole = run(workload, &program, &[]).cycles;
        for sample in [
            "Every(launches: 3)",
            "Draw(launches: 2)",
            "Draw(launches: 3, seed: 7)",
        ] {
            let sample = format!("region.sample={sample}");
            let part = run(workload, &program, &[&sample, "region.outside=Warm"]);
            let estimate = region(&part).estimate.unwrap();
            let [low, high] = estimate.interval;
            assert!(
                (low..=high).contains(&whole),
                "{workload}, {whole}: {estimate:?}"
            );
            assert!(estimate.whole && low <= estimate.cycles && estimate.cycles <= high);
            if estimate.simulated == estimate.launches {
                assert_eq!((estimate.cycles, low, high), (whole, whole, whole));
            }
        }
    }
}

#[test]
fn a_warmed_run_depends_neither_on_threads_nor_on_pieces_nor_on_a_checkpoint() {
    let sets = ["region.launches=[4, 7]", "region.outside=Warm"];
    let scenario = scenario("lud", &sets);
    let program = emulate("lud");
    let straight = simulate(&mut machine(&scenario, &program));
    assert_eq!(region(&straight).count(Part::Warmed), 6);

    let mut threaded = machine(&scenario, &program);
    threaded.set_threads(Threads::Exactly(2));
    assert!(simulate(&mut threaded) == straight);

    // Before the first replay, while it is pending, between the two, and after them.
    let never = Arc::new(AtomicBool::new(false));
    let second = straight.kernels[1].launched.unwrap();
    let folder = TempDir::new().unwrap();
    let mut first = machine(&scenario, &program);
    for (number, cycle) in [0, 1, 70, second - 20, second - 5, second + 9]
        .into_iter()
        .enumerate()
    {
        assert_eq!(first.advance(cycle, &never), None);
        let file = folder.path().join(number.to_string());
        first.write_checkpoint(&file, None).unwrap();
        let mut resumed = machine(&scenario, &program);
        resumed.resume(&file, None).unwrap();
        assert!(
            simulate(&mut resumed) == straight,
            "resumed after cycle {cycle}"
        );
    }
}

#[test]
fn a_checkpoint_of_another_region_is_refused() {
    let program = emulate("hotspot");
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("saved");
    machine(&scenario("hotspot", &["region.launches=1"]), &program)
        .write_checkpoint(&file, None)
        .unwrap();
    let error = machine(&scenario("hotspot", &[]), &program)
        .resume(&file, None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("field `region`"), "{error}");
}

#[test]
fn mistakes_that_show_when_the_program_is_known_have_their_place() {
    let program = emulate("hotspot");
    let refusal = |set: &str| {
        let scenario = scenario("hotspot", &[set]);
        let refused = Machine::of(&scenario, &standard_registry(), &program).err();
        refused.unwrap().to_string()
    };
    let error = refusal("region.launches=2");
    assert!(
        error.contains("no launch 2: the program has 2 launches"),
        "{error}"
    );
    assert!(error.contains("--set region.launches=2"), "{error}");
    let error = refusal("region.at_least=(work_groups: 1000)");
    assert!(
        error.contains("the region contains no launch of the program"),
        "{error}"
    );
    assert!(
        error.contains("the 2 launches have at most 16 work-groups"),
        "{error}"
    );
    let error = try_scenario("hotspot", &["region.kernels=\"hotspo\""])
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("did you mean `hotspot`?"),
        "{error}"
    );
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

/// One wavefront accesses in the same order with and without timing, so only the times may differ.
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
    let scenario = |sets: &[&str]| {
        let scenario = scenario_on("tiny", ("bfs", None), sets);
        scenario.unwrap_or_else(|problems| panic!("{problems}"))
    };
    let program = scenario(&small).emulate().unwrap().program;
    let never = Arc::new(AtomicBool::new(false));
    for launch in [3, 7] {
        let number = format!("region.launches={launch}");
        let [mut warmed, mut simulated] = ["Warm", "Simulate"].map(|outside| {
            let outside = format!("region.outside={outside}");
            let sets = [&small[..], &[&number, &outside]].concat();
            let scenario = scenario(&sets);
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
            // Functional accesses carry no write numbers, which checkers use to identify fresh
            // data.
            let tags = place.fields.iter().filter(|(field, ..)| {
                field.starts_with("tags") && !field.ends_with("write_sequence")
            });
            let tags: Vec<_> = tags.collect();
            assert!(tags.is_empty(), "{}: {tags:#?}", place.name);
        }
    }
}

#[test]
fn with_flushed_caches_every_launch_reads_from_memory_what_it_would_read_alone() {
    // No line is replaced, so the reads of a launch do not depend on timing.
    const LARGE: &str = "partition[*].l2[*].size_bytes=524288";
    let program = emulate("srad");
    let flush = scenario("srad", &["host.flush_caches=true", LARGE]);
    let mut flush = machine(&flush, &program);
    flush.check_protocols();
    let flushed = simulate(&mut flush);
    let plain = run("srad", &program, &[LARGE]);
    let reads = |simulated: &Simulated, launch| grew(simulated, launch, "Gddr5", "dram", "reads");
    for launch in 0..4 {
        let alone = format!("region.launches=[{launch}]");
        let alone = run("srad", &program, &[&alone, "region.outside=Skip", LARGE]);
        assert_eq!(
            reads(&flushed, launch),
            reads(&alone, launch),
            "launch {launch}"
        );
    }
    assert!(reads(&flushed, 3) > reads(&plain, 3));
    // What the first launch finds is as cold without.
    assert_eq!(reads(&flushed, 0), reads(&plain, 0));
    assert!(flush.messages_checked() > 0);
}

#[test]
fn flushes_are_the_same_for_any_threads_and_after_a_checkpoint() {
    let program = emulate("srad");
    let scenario = scenario("srad", &["host.flush_caches=true"]);
    let straight = simulate(&mut machine(&scenario, &program));
    let mut divided = machine(&scenario, &program);
    divided.set_threads(Threads::Exactly(2));
    assert!(simulate(&mut divided) == straight);
    let folder = TempDir::new().unwrap();
    let never = Arc::new(AtomicBool::new(false));
    for part in 1..8 {
        let file = folder.path().join(format!("{part}.wwc"));
        let mut saved = machine(&scenario, &program);
        assert_eq!(saved.advance(straight.cycles * part / 8, &never), None);
        saved.write_checkpoint(&file, None).unwrap();
        let mut resumed = machine(&scenario, &program);
        resumed.resume(&file, None).unwrap();
        assert!(simulate(&mut resumed) == straight, "{part}");
    }
}
