//! Checks that every program computes the host's results on every machine.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use warpweave_systems::Scenario;
use warpweave_systems::host_program::{EMULATOR_VERSION, EmulationProgress, Verdict};

use crate::harness::{Bench, scenarios, warpweave};

/// Overrides that make each workload small enough for a test.
const SMALL: [(&str, &[&str]); 50] = [
    ("alignment_device", &["workload.n=80", "workload.bases=60"]),
    ("amr_device", &["workload.width=64"]),
    ("b_plus_tree", &["workload.queries=20"]),
    ("back_propagation", &["workload.inputs=64"]),
    ("bfs", &["workload.graph=Grid(width: 8, height: 8)"]),
    ("bfs_dd", &["workload.vertices=256", "workload.capacity=2"]),
    (
        "bfs_device",
        &["workload.graph=Rmat(scale: 7, edge_factor: 32, seed: 1)"],
    ),
    ("bfs_mask", &["workload.vertices=600"]),
    ("bfs_wc", &["workload.vertices=256"]),
    ("blur_texture", &["workload.n=40"]),
    ("clr", &["workload.vertices=128"]),
    (
        "colouring_device",
        &["workload.graph=Symmetric(Rmat(scale: 6, edge_factor: 16, seed: 1))"],
    ),
    (
        "control_device",
        &[
            "workload.tiles=3",
            "workload.parents=2",
            "workload.words=512",
        ],
    ),
    ("convolution_2d", &["workload.n=40"]),
    ("dct_8x8", &["workload.n=24"]),
    ("demosaic", &["workload.n=40"]),
    (
        "fdtd_3d",
        &["workload.nx=40", "workload.ny=20", "workload.steps=2"],
    ),
    ("h_bfs", &["workload.vertices=256"]),
    ("h_mst", &["workload.vertices=128"]),
    (
        "h_sssp",
        &["workload.vertices=256", "workload.flag_bytes=4"],
    ),
    ("histogram", &["workload.n=2000", "workload.blocks=3"]),
    ("hotspot", &["workload.n=29"]),
    ("join_device", &["workload.n=2000", "workload.buckets=32"]),
    (
        "laplace_3d",
        &["workload.nx=40", "workload.ny=10", "workload.steps=2"],
    ),
    ("ls_bfs", &["workload.vertices=256"]),
    ("ls_mst", &["workload.vertices=128"]),
    ("ls_sssp", &["workload.vertices=256"]),
    ("lud", &["workload.n=48"]),
    (
        "mandelbrot_device",
        &["workload.width=64", "workload.step=0.0390625"],
    ),
    ("matrix_multiply", &["workload.n=24"]),
    (
        "matrix_product",
        &["workload.m=40", "workload.n=24", "workload.k=20"],
    ),
    (
        "matrix_product_global",
        &["workload.m=24", "workload.n=40", "workload.k=20"],
    ),
    ("mis", &["workload.vertices=128"]),
    ("neighbour_add", &["workload.groups=9"]),
    ("neighbour_add_y", &["workload.rows=3"]),
    (
        "neural_network",
        &["workload.batch=1", "workload.small_maps=3"],
    ),
    ("quicksort_device", &["workload.n=600"]),
    ("radix_sort_device", &["workload.n=600"]),
    ("reduction", &["workload.n=2000", "workload.blocks=3"]),
    ("reduction_f32", &["workload.n=2000", "workload.blocks=3"]),
    ("regional_maximum", &["workload.n=40"]),
    (
        "spmm_device",
        &[
            "workload.width=16",
            "workload.graph=Uniform(vertices: 32, edges: 700, seed: 1)",
            "workload.threshold=20",
        ],
    ),
    ("srad", &["workload.n=37"]),
    (
        "sssp",
        &["workload.graph=Grid(width: 6, height: 6)", SMALL_WEIGHTS],
    ),
    (
        "sssp_device",
        &["workload.graph=Rmat(scale: 7, edge_factor: 32, seed: 1)"],
    ),
    ("stcon", &["workload.vertices=256"]),
    (
        "stencil_2d",
        &[
            "workload.width=40",
            "workload.height=20",
            "workload.steps=2",
        ],
    ),
    (
        "suffix_match",
        &["workload.letters=512", "workload.queries=100"],
    ),
    ("transpose", &["workload.n=40"]),
    ("vector_add", &["workload.n=1000"]),
];

/// Name suffix of workloads whose kernels launch kernels, and the systems that support such
/// launches.
const LAUNCHING: (&str, [&str; 1]) = ("_device", ["laser"]);

/// Systems that take seconds to build in a test, and the workloads that run on them: loads and
/// stores, atomics, local memory, several launches.
const LARGE: [(&str, &[&str]); 2] = [
    (
        "h200",
        &["histogram", "matrix_multiply", "stencil_2d", "vector_add"],
    ),
    ("h200_revised", &["vector_add"]),
];

const SMALL_WEIGHTS: &str = "workload.weights=Uniform(seed: 1, low: 1, high: 20)";

fn names_in(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(scenarios().join(folder))
        .unwrap()
        .filter_map(|entry| {
            entry
                .unwrap()
                .file_name()
                .into_string()
                .unwrap()
                .strip_suffix(".ron")
                .map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

#[test]
fn every_workload_has_a_small_size_here() {
    let known: Vec<_> = SMALL.iter().map(|(name, _)| *name).collect();
    assert_eq!(names_in("workloads"), known);
}

#[test]
fn every_workload_verifies_on_every_system() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    for system in names_in("systems") {
        for (workload, sets) in SMALL {
            let mut large = LARGE.iter().filter(|(large, _)| system == *large);
            if large.any(|(_, run)| !run.contains(&workload)) {
                continue;
            }
            let text = format!(
                "Scenario(system: \"{root}/systems/{system}.ron\", \
                 workload: \"{root}/workloads/{workload}.ron\")"
            );
            bench.write("test.ron", &text);
            let mut arguments = vec!["run", "test.ron", "--quiet", "--format", "json"];
            for set in sets {
                arguments.extend(["--set", set]);
            }
            let ended = bench.warpweave(&arguments);
            let (launching, taking) = LAUNCHING;
            if workload.ends_with(launching) && !taking.contains(&&*system) {
                let refusal = "no component of the system accepts such launches";
                assert!(
                    ended.code != 0 && ended.err.contains(refusal),
                    "{}",
                    ended.err
                );
                continue;
            }
            let report = ended.json();
            let found = (ended.code, &report["status"], &report["verified"]);
            assert_eq!(
                found,
                (0, &"done".into(), &true.into()),
                "{workload} on {system}: {}",
                ended.err
            );
        }
    }
}

/// Lists the scenario files below a folder, in order.
fn scenario_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scenario_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "ron") {
            let text = fs::read_to_string(&path).unwrap();
            let is_scenario = text.lines().any(|line| line.starts_with("Scenario("));
            found.extend(is_scenario.then_some(path));
        }
    }
    found.sort();
    found
}

/// Covers each workload, and each scenario with its emulation settings, at a small size.
#[test]
fn the_program_check_finds_nothing_in_what_is_shipped() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    let mut files = scenario_files(&scenarios());
    for (workload, _) in SMALL {
        let file = bench.path(&format!("{workload}.ron"));
        let text = format!(
            "Scenario(system: \"systems/tiny.ron\", workload: \"{root}/workloads/{workload}.ron\")"
        );
        fs::write(&file, text).unwrap();
        files.push(file);
    }
    let mut checked = BTreeSet::new();
    for file in files {
        let scenario = Scenario::load(&file, &[]);
        let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
        let workload = scenario.paths.work.file_stem().unwrap();
        let workload = workload.to_str().unwrap().to_owned();
        let small = SMALL.iter().find(|(name, _)| *name == workload);
        let sets: Vec<String> = small.map_or_else(Vec::new, |(_, sets)| {
            sets.iter().map(|&set| set.to_owned()).collect()
        });
        // An input file has its own size; the program is checked without it.
        let Ok(scenario) = Scenario::load(&file, &sets) else {
            continue;
        };
        let examined = scenario.examine(&EmulationProgress::default()).unwrap();
        let text = examined.to_text(&file.display().to_string());
        assert!(examined.is_clean(), "{text}");
        assert_eq!(examined.count(Verdict::Undecided), 0, "{text}");
        checked.insert(workload);
    }
    let all = SMALL.map(|(name, _)| name);
    assert!(all.iter().all(|name| checked.contains(*name)));
}

/// Table `workload,key,hash` of the traces of the small sizes, after a line with the emulator
/// version.
const EMULATED: &str = "tests/snapshots/emulated.csv";

/// The trace store reuses a trace as long as inputs and emulator version are the same.
#[test]
fn an_emulator_that_makes_other_traces_has_another_version() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    let mut now = format!("version,{EMULATOR_VERSION}\n");
    for (workload, sets) in SMALL {
        let text = format!(
            "Scenario(system: \"systems/tiny.ron\", workload: \"{root}/workloads/{workload}.ron\")"
        );
        bench.write("test.ron", &text);
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = Scenario::load(&bench.path("test.ron"), &sets);
        let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
        let key = scenario.identity().unwrap().trace;
        let hash = scenario.emulate().unwrap().program.hash();
        writeln!(now, "{workload},{key},{hash}").unwrap();
    }
    let path = scenarios().join("..").join(EMULATED);
    let then = fs::read_to_string(&path).unwrap_or_default();
    if then == now {
        return;
    }
    for line in then.lines().skip(1) {
        let (inputs, _) = line.rsplit_once(',').unwrap();
        let same = now
            .lines()
            .find(|new| new.rsplit_once(',').unwrap().0 == inputs);
        assert!(
            same.is_none_or(|new| new == line),
            "the emulator makes another trace of the same inputs, so that traces kept by others are wrong: raise \
             EMULATOR_VERSION\n{line}\n{}",
            same.unwrap_or_default()
        );
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|wish| wish == "always") {
        fs::write(&path, now).unwrap();
    } else {
        panic!("inputs or the version changed; INSTA_UPDATE=always writes {EMULATED} anew:\n{now}");
    }
}

#[test]
fn a_size_is_chosen_by_name_and_an_unknown_one_refused() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    let text = format!(
        "Scenario(system: \"{root}/systems/tiny.ron\", size: \"T\", \
         workload: \"{root}/workloads/dct_8x8.ron\")"
    );
    bench.write("sized.ron", &text);
    assert_eq!(bench.warpweave(&["check", "sized.ron"]).code, 0);
    assert_eq!(
        bench
            .warpweave(&["check", "sized.ron", "--set", "size=S"])
            .code,
        0
    );
    let ended = bench.warpweave(&["check", "sized.ron", "--set", "size=SS"]);
    assert_ne!(ended.code, 0);
    assert!(
        ended.err.contains("the workload has no size `SS`"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("--set size=SS"), "{}", ended.err);
}

#[test]
fn every_scenario_file_can_be_built() {
    for name in names_in("") {
        let ended = warpweave(&["check", &format!("scenarios/{name}.ron")]);
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{name}");
    }
}

#[test]
fn copy_longer_than_the_silence_limit_is_no_deadlock() {
    let bench = Bench::new();
    let ended = bench.run(&["limits.silent_cycles=50", "workload.n=4096"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}
