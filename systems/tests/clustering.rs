//! The workloads of the clustering study: every form computes the same, and tasks run once.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpweave_inputs::reference::standard_references;
use warpweave_params::{Files, Source, parse, parse_from};
use warpweave_systems::host_program::{EmulationOrder, EmulationSpec, Executed, HostProgram};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/workloads/clustering")
}

fn read(source: &Arc<Source>, sets: &[(&str, &str)]) -> HostProgram {
    let read = |&(name, text): &(&str, &str)| {
        let source = Source::new(format!("--set workload.{name}"), text);
        (name.to_owned(), parse_from(&source, 0).unwrap())
    };
    let overrides: BTreeMap<_, _> = sets.iter().map(read).collect();
    let references = standard_references();
    let node = parse(source).unwrap();
    HostProgram::from_node(&node, &Files::of(folder()), None, &overrides, &references)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn execute(program: &HostProgram, order: EmulationOrder) -> Executed {
    let spec = EmulationSpec {
        order,
        resident_work_groups: 7,
        quantum: 5,
        ..Default::default()
    };
    program
        .execute(&spec)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Program of the study: its file, what makes it small, and its forms besides the plain one.
type Program = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

const LINE: &[&str] = &["redirected_rows", "agents", "shuffled"];
const PLANE: &[&str] = &[
    "redirected_rows",
    "redirected_columns",
    "agents",
    "shuffled",
];
const STREAMED_LINE: &[&str] = &["redirected_rows", "agents", "shuffled", "streamed"];
const STREAMED_PLANE: &[&str] = &[
    "redirected_rows",
    "redirected_columns",
    "agents",
    "shuffled",
    "streamed",
];
const AHEAD_LINE: &[&str] = &["redirected_rows", "agents", "ahead"];

const PROGRAMS: [Program; 23] = [
    ("atax", &[("rows", "9000"), ("columns", "5")], LINE),
    (
        "b_plus_tree",
        &[("queries", "37"), ("keys", "70000")],
        AHEAD_LINE,
    ),
    ("back_propagation", &[("inputs", "688")], STREAMED_LINE),
    ("bfs", &[("vertices", "9100")], AHEAD_LINE),
    ("bicg", &[("rows", "9000"), ("columns", "5")], LINE),
    ("black_scholes", &[("options", "5000")], AHEAD_LINE),
    (
        "block_compression",
        &[("columns", "28"), ("rows", "20")],
        AHEAD_LINE,
    ),
    (
        "convolution_3d",
        &[("columns", "170"), ("rows", "60"), ("planes", "3")],
        PLANE,
    ),
    (
        "dct_8x8",
        &[("columns", "56"), ("rows", "48")],
        STREAMED_PLANE,
    ),
    (
        "histogram_64",
        &[("n", "20000"), ("groups", "33")],
        AHEAD_LINE,
    ),
    (
        "hotspot",
        &[("columns", "80"), ("rows", "61")],
        STREAMED_PLANE,
    ),
    (
        "image_denoising",
        &[("columns", "60"), ("rows", "41")],
        PLANE,
    ),
    (
        "kmeans",
        &[("points", "9000"), ("features", "7"), ("clusters", "2")],
        LINE,
    ),
    (
        "matrix_multiply",
        &[("n", "100")],
        &[
            "redirected_rows",
            "redirected_columns",
            "agents",
            "shuffled",
            "tiles2",
            "tiles4",
        ],
    ),
    (
        "monte_carlo",
        &[("options", "37"), ("paths", "300")],
        AHEAD_LINE,
    ),
    ("mvt", &[("rows", "9000"), ("columns", "5")], LINE),
    ("nbody", &[("targets", "5300"), ("sources", "20")], LINE),
    ("needleman_wunsch", &[("n", "144")], AHEAD_LINE),
    (
        "neural_network",
        &[("batch", "3"), ("small_maps", "11"), ("hidden", "7")],
        PLANE,
    ),
    ("sgemm", &[("m", "300"), ("n", "110"), ("k", "20")], PLANE),
    (
        "sum_of_differences",
        &[("columns", "112"), ("rows", "80")],
        &["redirected_rows", "redirected_columns", "agents", "ahead"],
    ),
    ("syr2k", &[("n", "99"), ("m", "6")], PLANE),
    ("syrk", &[("n", "99"), ("m", "6")], PLANE),
];

fn program(file: &str, small: &[(&str, &str)], form: &str, board: &str) -> HostProgram {
    let form = format!("\"={form}\"");
    let sets = [small, &[("form", &form), ("board", board)]].concat();
    let file = folder().join(format!("{file}.ron"));
    let text = std::fs::read_to_string(&file).unwrap();
    read(&Source::new(file.display().to_string(), text), &sets)
}

fn verified(program: &HostProgram, what: &str) -> Executed {
    let executed = execute(program, EmulationOrder::Shuffled { seed: 3 });
    assert_eq!(
        executed.verified,
        Some(true),
        "{what}: {:?}",
        executed.checks
    );
    executed
}

#[test]
fn every_form_of_a_kernel_computes_what_the_plain_one_does() {
    for (file, small, forms) in PROGRAMS {
        let plain = verified(&program(file, small, "plain", "0"), file);
        for form in forms {
            for board in ["0", "2", "3"] {
                let what = format!("{file} {form} {board}");
                let found = verified(&program(file, small, form, board), &what);
                assert_eq!(found.outputs, plain.outputs, "{what}");
                let kernels = found.kernels.join(" ");
                let placed = !form.starts_with("redirected");
                assert_eq!(kernels.contains("_agents_"), placed, "{what}: {kernels}");
                let ending = form
                    .replace("redirected", "rd")
                    .replace("shuffled", "table");
                let named = ending == "agents" || kernels.contains(&format!("_{ending}_"));
                assert!(named, "{what}: {kernels}");
            }
        }
    }
}

#[test]
fn fewer_active_agents_do_the_same_work() {
    for (file, small, _) in PROGRAMS {
        let plain = verified(&program(file, small, "plain", "0"), file);
        for board in ["1", "3"] {
            let one = [small, &[("active", "1")]].concat();
            let found = verified(&program(file, &one, "agents", board), file);
            assert_eq!(found.outputs, plain.outputs, "{file} on board {board}");
        }
    }
}

#[test]
fn agents_have_neither_races_nor_unset_values() {
    for (file, small, forms) in PROGRAMS {
        let form = forms[forms.len() - 1];
        let examined = program(file, small, form, "3").examine(&EmulationSpec::default());
        let examined = examined.unwrap();
        assert!(examined.is_clean(), "{form}: {}", examined.to_text(file));
    }
}

/// Program that notes who executes each task of a grid.
fn task_order(form: &str, grid: [u32; 3], placed: Option<(u32, u32)>) -> [Vec<u32>; 2] {
    let [x, y, z] = grid;
    let tasks = x * y * z;
    let (units, contexts) = placed.unwrap_or((1, 1));
    let launched = placed.map_or(format!("[{x}, {y}, {z}]"), |_| {
        (units * contexts).to_string()
    });
    let by = if form.ends_with("slot") {
        "Slot"
    } else {
        "Arrival"
    };
    let text = format!(
        r#"Workload(
            module: "cuda/task_order.ptx",
            structs: {{ "Tasks": {{
                "arrivals": U64, "order": U64, "width": U32, "height": U32, "each": U32, "more": U32,
                "active": U32,
            }} }},
            buffers: {{
                "times": Zero(element: U32, length: {tasks}),
                "by": Zero(element: U32, length: {tasks}),
                "arrivals": Zero(element: U32, length: {units}),
                "order": Generated(element: U32, length: {tasks}, generator: Shuffled(seed: 1)),
            }},
            commands: [
                CopyToDevice("times"), CopyToDevice("by"), CopyToDevice("arrivals"), CopyToDevice("order"),
                Launch(
                    kernel: "task_order_{form}", grid: {launched}, block: 64,
                    place: (units: {units}, contexts: {contexts}, by: {by}),
                    arguments: [
                        Buffer("times"), Buffer("by"),
                        Record(structure: "Tasks", fields: {{
                            "arrivals": Buffer("arrivals"), "order": Buffer("order"),
                            "width": {x}, "height": {y}, "each": {each}, "more": {more}, "active": {contexts},
                        }}),
                    ],
                ),
                CopyToHost("times"), CopyToHost("by"),
            ],
        )"#,
        each = tasks / units,
        more = tasks % units,
    );
    let program = read(&Source::new("order.ron", &text), &[]);
    let mut outputs = execute(&program, EmulationOrder::Reversed).outputs;
    ["times", "by"].map(|name| outputs.remove(name).unwrap())
}

/// Returns the task of each work-group of a redirected form.
fn redirected(form: &str, grid: [u32; 3]) -> Vec<usize> {
    let [times, by] = task_order(form, grid, None);
    assert!(
        times.iter().all(|&times| times == 1),
        "{form} {grid:?}: {times:?}"
    );
    let task = |group| by.iter().position(|&by| by == group).unwrap();
    (0..by.len() as u32).map(task).collect()
}

#[test]
fn a_redirected_form_executes_every_task_once_in_the_published_order() {
    assert_eq!(redirected("rd_rows_2", [6, 1, 1]), [0, 3, 1, 4, 2, 5]);
    assert_eq!(redirected("rd_rows_3", [7, 1, 1]), [0, 3, 5, 1, 4, 6, 2]);
    assert_eq!(
        redirected("rd_rows_4", [10, 1, 1]),
        [0, 3, 6, 8, 1, 4, 7, 9, 2, 5]
    );
    // Columns of a grid of 3 x 2: tasks 0, 3, 1, 4, 2, 5 in clusters of 2, 2, 1 and 1.
    assert_eq!(redirected("rd_columns_4", [3, 2, 1]), [0, 1, 2, 5, 3, 4]);
    // Planes of 2 x 2 by columns: 0, 2, 1, 3, then 4, 6, 5, 7.
    assert_eq!(
        redirected("rd_planes_4", [2, 2, 2]),
        [0, 1, 4, 5, 2, 3, 6, 7]
    );
}

#[test]
fn agents_execute_the_cluster_of_their_unit() {
    for binding in ["slot", "arrival"] {
        let by = |order: &str, grid, placed| {
            let [times, by] = task_order(&format!("agents_{order}_{binding}"), grid, Some(placed));
            assert!(times.iter().all(|&times| times == 1), "{order}: {times:?}");
            by
        };
        assert_eq!(by("rows", [6, 1, 1], (2, 2)), [0, 0, 0, 1, 1, 1]);
        assert_eq!(by("rows", [7, 1, 1], (3, 1)), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(
            by("rows", [10, 1, 1], (4, 8)),
            [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!(by("rows", [3, 1, 1], (5, 2)), [0, 1, 2]);
        assert_eq!(by("columns", [3, 2, 1], (3, 2)), [0, 1, 2, 0, 1, 2]);
        // Tiles of 2 x 2 in a grid of 3 x 3, cut off at its edges: of 4, 2, 2 and 1 tasks.
        assert_eq!(by("tiles2", [3, 3, 1], (3, 1)), [0, 0, 1, 0, 1, 1, 2, 2, 2]);
        assert_eq!(by("planes", [2, 1, 3], (3, 4)), [0, 0, 1, 1, 2, 2]);
        let mut shuffled = by("table", [9, 1, 1], (3, 2));
        shuffled.sort_unstable();
        assert_eq!(shuffled, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    }
}
