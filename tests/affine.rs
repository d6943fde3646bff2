//! Checks the affine analysis of whole programs: `analyze affine` and what it verifies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use warpweave_affine::{
    AccessKind, Cause, Cost, LaunchAnalysis, LaunchHead, ReuseOptions, analyse,
};
use warpweave_systems::Scenario;
use warpweave_trace::{KernelTrace, Lanes, Program, Space};

use crate::harness::{Bench, scenarios, shown};

/// Programs with regular addresses, small enough for a test.
const REGULAR: [(&str, &[&str]); 14] = [
    ("back_propagation", &["workload.inputs=64"]),
    ("convolution_2d", &["workload.n=40"]),
    ("dct_8x8", &["workload.n=24"]),
    (
        "fdtd_3d",
        &["workload.nx=40", "workload.ny=20", "workload.steps=1"],
    ),
    ("histogram", &["workload.n=2000", "workload.blocks=3"]),
    ("hotspot", &["workload.n=29"]),
    ("lud", &["workload.n=48"]),
    ("matrix_multiply", &["workload.n=24"]),
    (
        "neural_network",
        &["workload.batch=1", "workload.small_maps=3"],
    ),
    ("reduction", &["workload.n=2000", "workload.blocks=3"]),
    ("reduction_f32", &["workload.n=2000", "workload.blocks=3"]),
    ("srad", &["workload.n=37"]),
    (
        "stencil_2d",
        &[
            "workload.width=40",
            "workload.height=20",
            "workload.steps=1",
        ],
    ),
    ("vector_add", &["workload.n=1000"]),
];

/// Emulates a workload with overrides and returns its trace.
fn program(bench: &Bench, workload: &str, sets: &[&str]) -> Arc<Program> {
    let root = scenarios().display().to_string();
    let text = format!(
        "Scenario(system: \"systems/tiny.ron\", workload: \"{root}/workloads/{workload}.ron\")"
    );
    bench.write("program.ron", &text);
    let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = Scenario::load(&bench.path("program.ron"), &sets);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    scenario.emulate().unwrap().program
}

/// Costs of the recorded accesses of one instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Recorded {
    least: usize,
    most: usize,
    sum: usize,
    records: usize,
}

impl Recorded {
    fn add(known: Option<Self>, cost: usize) -> Self {
        let known = known.unwrap_or(Self {
            least: cost,
            most: cost,
            sum: 0,
            records: 0,
        });
        Self {
            least: known.least.min(cost),
            most: known.most.max(cost),
            sum: known.sum + cost,
            records: known.records + 1,
        }
    }

    fn of(cost: &Cost) -> Option<(usize, usize, f64)> {
        Some((cost.least as usize, cost.most as usize, cost.mean()?))
    }

    fn values(self) -> (usize, usize, f64) {
        (self.least, self.most, self.sum as f64 / self.records as f64)
    }
}

/// Returns the distinct parts of a size that lanes touch.
fn touched(addresses: &[u64], bytes: u64, size: u64) -> BTreeSet<u64> {
    let all = addresses
        .iter()
        .flat_map(|at| at / size..=(at + bytes - 1) / size);
    all.collect()
}

/// Asserts that exact references cost each wavefront what its recorded lanes do: lines, sectors and
/// cycles of the banks of local memory.
fn assert_costs(head: &LaunchHead<'_>, kernel: &KernelTrace, analysis: &LaunchAnalysis) {
    let mut recorded: BTreeMap<u32, [Recorded; 2]> = BTreeMap::new();
    let mut lanes = Lanes::default();
    for group in 0..kernel.work_groups() {
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(group, wavefront);
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                let instruction = &kernel.code.instructions[record.pc as usize];
                let addresses: Vec<u64> = lanes.iter(record.mask).map(|(_, at)| at).collect();
                let bytes = u64::from(instruction.access_bytes);
                let costs = match record.space {
                    _ if addresses.is_empty() => continue,
                    // Lanes of a generic access that go to local memory.
                    Space::Shared if instruction.space == Space::Global => continue,
                    Space::Global => [128, 32].map(|size| touched(&addresses, bytes, size).len()),
                    Space::Shared => {
                        let mut banks = [0; 32];
                        for word in touched(&addresses, bytes, 4) {
                            banks[word as usize % 32] += 1;
                        }
                        [banks.into_iter().max().unwrap_or(0); 2]
                    }
                    _ => continue,
                };
                let known = recorded.get(&record.pc).copied();
                let sums = [0, 1].map(|at| Recorded::add(known.map(|known| known[at]), costs[at]));
                recorded.insert(record.pc, sums);
            }
        }
    }
    let expected = |pc: u32, at: usize| recorded.get(&pc).map(|known| known[at].values());
    let transactions = analysis.transactions(head, 128);
    for (reference, found) in analysis.references.iter().zip(transactions) {
        if reference.is_exact() {
            let found = found.unwrap_or_else(|cause| panic!("{reference:?}: {cause}"));
            let costs = [found.lines, found.sectors].map(|cost| Recorded::of(&cost));
            let pc = reference.pc;
            assert_eq!(costs, [expected(pc, 0), expected(pc, 1)], "{reference:?}");
        }
    }
    let conflicts = analysis.bank_conflicts(head);
    for (reference, found) in analysis.local.iter().zip(conflicts) {
        if !reference.is_exact() || reference.kind == AccessKind::Atomic {
            continue;
        }
        match found {
            Ok(found) => {
                let expected = expected(reference.pc, 0);
                assert_eq!(Recorded::of(&found), expected, "{reference:?}");
            }
            // Half of the lanes of a wavefront address another variable.
            Err(cause) => {
                assert!(matches!(cause, Cause::Variable { .. }), "{cause}");
                assert_eq!(kernel.code.name, "lud_perimeter");
            }
        }
    }
}

/// Pins the share of loads and stores whose addresses are exact, over all launches that differ, and
/// the direction of each kernel's first launch.
#[test]
fn regular_programs_access_exactly_what_the_analysis_states() {
    let bench = Bench::new();
    let mut table = String::from("workload,kernel,kind,exact,may,unknown,first cause,direction\n");
    for (workload, sets) in REGULAR {
        let program = program(&bench, workload, sets);
        let mut seen = Vec::new();
        let mut rows: Vec<(String, &str, [u32; 3], String, String)> = Vec::new();
        for kernel in &program.kernels {
            let shape = (
                &kernel.code.name,
                kernel.grid,
                kernel.block,
                &kernel.arguments,
            );
            if seen.contains(&shape) {
                continue;
            }
            seen.push(shape);
            let head = LaunchHead::of(kernel, &program.allocations);
            let analysis = analyse(&head);
            let verified = analysis.verify(&head, kernel);
            let verified = verified.unwrap_or_else(|violation| {
                panic!("{workload}, {}: {violation}", kernel.code.name)
            });
            assert_eq!(verified.skipped, 0, "{workload}");
            assert_costs(&head, kernel, &analysis);
            let found = analysis.directions(&head, ReuseOptions::default());
            let direction = format!("{} {}", found.direction.name(), found.distance);
            let global = analysis.references.iter();
            let global = global.filter(|at| at.kind != AccessKind::Atomic);
            let global = global.map(|at| (at, at.kind.name()));
            for (reference, name) in global.chain(analysis.local.iter().map(|at| (at, "local"))) {
                let at = match reference.exactness.name() {
                    "exact" => 0,
                    "may" => 1,
                    _ => 2,
                };
                let cause = reference.cause().map(ToString::to_string);
                let cause = cause.unwrap_or_default();
                let row = rows.iter_mut();
                let row = row
                    .rev()
                    .find(|row| row.0 == kernel.code.name && row.1 == name);
                if let Some(row) = row {
                    row.2[at] += 1;
                    if row.3.is_empty() {
                        row.3 = cause;
                    }
                } else {
                    let mut counts = [0; 3];
                    counts[at] = 1;
                    let name_of_kernel = kernel.code.name.clone();
                    rows.push((name_of_kernel, name, counts, cause, direction.clone()));
                }
            }
        }
        for (kernel, kind, [exact, may, unknown], cause, direction) in rows {
            writeln!(
                table,
                "{workload},{kernel},{kind},{exact},{may},{unknown},{cause},{direction}"
            )
            .unwrap();
        }
    }
    shown("affine_coverage", &table);
}

/// Programs that take seconds to emulate or verify even at their smallest size.
const LONG: [&str; 5] = [
    "alignment_device",
    "mandelbrot_device",
    "quicksort_device",
    "radix_sort_device",
    "sssp",
];

#[test]
fn no_access_of_any_workload_lies_where_the_analysis_excludes_it() {
    let bench = Bench::new();
    let folder = scenarios().join("workloads");
    let files = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension() == Some("ron".as_ref()))
        .collect();
    files.sort();
    let mut verified = 0;
    for file in files {
        let workload = file.file_stem().unwrap().to_string_lossy().into_owned();
        if LONG.contains(&&*workload) {
            continue;
        }
        let has_sizes = std::fs::read_to_string(&file).unwrap().contains("\"T\":");
        let sets: &[&str] = match REGULAR.iter().find(|(name, _)| *name == workload) {
            Some((_, sets)) => sets,
            None if has_sizes => &["size=\"T\""],
            None => &[],
        };
        let program = program(&bench, &workload, sets);
        let mut known: Vec<(&KernelTrace, LaunchAnalysis)> = Vec::new();
        for kernel in &program.kernels {
            let head = LaunchHead::of(kernel, &program.allocations);
            let is_equal = |other: &KernelTrace| {
                Arc::ptr_eq(&other.code, &kernel.code)
                    && (other.grid, other.block) == (kernel.grid, kernel.block)
                    && other.arguments == kernel.arguments
            };
            let at = known.iter().position(|(other, _)| is_equal(other));
            let at = at.unwrap_or_else(|| {
                known.push((kernel, analyse(&head)));
                known.len() - 1
            });
            let agreed = known[at].1.verify(&head, kernel);
            let agreed = agreed.unwrap_or_else(|violation| {
                panic!("{workload}, {}: {violation}", kernel.code.name)
            });
            assert_eq!(agreed.skipped, 0, "{workload}");
        }
        verified += 1;
    }
    assert!(verified > 40, "{verified} workloads");
}

#[test]
fn the_page_says_forms_reuse_and_witness_and_is_verified() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    let text = format!(
        "Scenario(system: \"systems/tiny.ron\", workload: \"{root}/workloads/convolution_2d.ron\")"
    );
    bench.write("window.ron", &text);
    let set = ["--set", "workload.n=40"];
    let analyze = ["--quiet", "analyze", "affine", "window.ron"];
    let page = bench.warpweave(&[&analyze[..], &set, &["--verify"]].concat());
    assert_eq!(page.code, 0, "{}", page.err);
    shown("affine_page", &format!("{}{}", page.out, page.err));
    let csv = bench.warpweave(&[&analyze[..], &set, &["--format", "csv"]].concat());
    assert_eq!(csv.code, 0, "{}", csv.err);
    let first: Vec<&str> = csv.out.lines().take(3).collect();
    shown("affine_table", &first.join("\n"));
    let json = bench.warpweave(&[&analyze[..], &set, &["--format", "json"]].concat());
    let launch = &json.json()["launches"][0];
    assert_eq!(launch["kernel"], "convolution_2d");
    assert_eq!(launch["direction"], "along x");
    let rows = csv.out.lines().count() - 1;
    assert_eq!(launch["references"].as_array().unwrap().len(), rows);
}

#[test]
fn an_access_that_the_analysis_excludes_ends_with_1_and_names_its_record() {
    let bench = Bench::new();
    let mut program = Program::clone(&program(&bench, "vector_add", &["workload.n=300"]));
    // The first buffer is said to be elsewhere.
    let mut launch = program.kernels[0].as_ref().clone();
    launch.arguments[0] ^= 0x80;
    program.kernels[0] = Arc::new(launch);
    program.save(bench.path("moved.trace")).unwrap();
    let ended = bench.warpweave(&["analyze", "affine", "moved.trace", "--verify"]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    let violation = "error: launch 0 of vector_add: record";
    assert!(ended.err.contains(violation), "{}", ended.err);
    assert!(
        ended.err.contains("which the analysis excludes"),
        "{}",
        ended.err
    );
}

#[test]
fn a_ptx_file_is_analysed_with_the_launch_of_the_command_line_or_refused_with_what_is_missing() {
    let bench = Bench::new();
    let file = scenarios().join("workloads/cuda/vector_add.ptx");
    let file = file.display().to_string();
    let analyze = ["analyze", "affine", &file];
    let launch = ["--grid", "4", "--block", "16"];
    let buffers = [
        "--arg",
        "buffer:256",
        "--arg",
        "buffer:256",
        "--arg",
        "buffer:256",
    ];
    let whole = [&analyze[..], &launch, &buffers, &["--arg", "64"]].concat();
    let ended = bench.warpweave(&whole);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut said = ended.out.replace(&file, "vector_add.ptx");
    for arguments in [
        &analyze[..],
        &[&analyze[..], &launch, &buffers].concat(),
        &[&analyze[..], &launch, &buffers, &["--arg", "many"]].concat(),
        &[&whole[..], &["--verify"]].concat(),
        &[&whole[..], &["--kernel", "vector_ad"]].concat(),
        &[&analyze[..], &["--grid", "0"]].concat(),
        &["analyze", "affine", "test.ron", "--grid", "4"],
        &["analyze", "affine", "test.ron", "--kernel", "vector_ad"],
    ] {
        let ended = bench.warpweave(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.err);
        said += &ended.refusal().replace(&file, "vector_add.ptx");
    }
    shown("affine_ptx", &said);
}
