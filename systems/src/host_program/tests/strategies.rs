//! The programs of the study of graph algorithms by strategy: results, queues, and what the
//! compiler left of each form.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use warpweave_trace::{KernelTrace, Lanes, Space};

use super::workloads::{launches, verify, workload};
use super::{execute, folder};
use crate::host_program::{EmulationOrder, EmulationSpec, Executed};

/// Graphs of every class of the study, small, in all of which arcs go both ways.
const GRAPHS: [&str; 6] = [
    "Symmetric(Uniform(vertices: 200, edges: 2300, seed: \"=seed\"))",
    "Geometric(vertices: 300, mean: 14.48, seed: \"=seed\")",
    "Streets(width: 6, height: 5, seed: \"=seed\")",
    "WebCopy(vertices: 200, seed: \"=seed\")",
    "Cliques(papers: 150, seed: \"=seed\")",
    "Rewired(source: Streets(width: 6, height: 5, seed: \"=seed\"), seed: \"=seed\")",
];

const WORKLOADS: [(&str, &str, &[&str]); 4] = [
    (
        "graphs/bfs_strategies.ron",
        "strategy",
        &["topology", "warp_centric", "unrolled", "data_driven"],
    ),
    (
        "graphs/bfs_optimised.ron",
        "form",
        &[
            "base",
            "swp",
            "swpnc",
            "unr2",
            "unr3",
            "unr2_swp",
            "unr2_swpnc",
            "unr2_in_sequence",
        ],
    ),
    (
        "graphs/sssp_strategies.ron",
        "strategy",
        &["topology", "warp_centric", "data_driven"],
    ),
    (
        "graphs/clr_strategies.ron",
        "strategy",
        &["topology", "warp_centric", "data_driven"],
    ),
];

/// Sets a parameter to the value of another.
fn choice(name: &str) -> String {
    format!("\"={name}\"")
}

#[test]
fn every_strategy_computes_what_the_host_does_on_every_graph_in_any_order() {
    for (file, parameter, choices) in WORKLOADS {
        for chosen in choices {
            for graph in GRAPHS {
                let sets = [
                    (parameter, &*choice(chosen)),
                    ("graph", graph),
                    ("block", "64"),
                ];
                verify(file, &sets);
            }
        }
    }
}

#[test]
fn warps_of_any_chunk_find_their_vertices_one_by_one_and_by_a_ballot() {
    for (file, ..) in WORKLOADS
        .iter()
        .filter(|(file, ..)| !file.contains("optimised"))
    {
        let mut outputs = Vec::new();
        for scan in ["serial", "ballot"] {
            for chunk in ["1", "5", "32"] {
                let sets = [
                    ("strategy", "\"=warp_centric\""),
                    ("scan", &*choice(scan)),
                    ("chunk", chunk),
                    ("graph", GRAPHS[1]),
                    ("block", "96"),
                ];
                outputs.push(verify(file, &sets).outputs);
            }
        }
        assert!(outputs.iter().all(|it| *it == outputs[0]), "{file}");
    }
    let whole = [
        ("strategy", "\"=warp_centric\""),
        ("early_exit", "false"),
        ("graph", GRAPHS[3]),
    ];
    for chosen in WORKLOADS[3].2 {
        let sets = [("strategy", &*choice(chosen)), whole[1], whole[2]];
        verify("graphs/clr_strategies.ron", &sets);
    }
}

/// One wavefront holds all ten vertices, so each launch deepens the search by as many levels as a
/// thread expands vertices.
#[test]
fn a_thread_that_unrolls_reaches_as_many_levels_as_its_limit() {
    for (limit, expected) in [("1", 10), ("2", 6), ("4", 4), ("16", 2)] {
        let sets = [
            ("strategy", "\"=unrolled\""),
            ("graph", "Grid(width: 10, height: 1)"),
            ("limit", limit),
        ];
        let executed = verify("graphs/bfs_strategies.ron", &sets);
        assert_eq!(launches(&executed), expected, "limit {limit}");
        let levels: Vec<u32> = (0..10).collect();
        assert_eq!(executed.outputs["level"], levels);
    }
}

/// Reads a parameter of 4 bytes from the arguments of a launch.
fn argument(launch: &KernelTrace, at: usize) -> u32 {
    u32::from_le_bytes(launch.arguments[at..at + 4].try_into().unwrap())
}

fn launched<'e>(
    executed: &'e Executed,
    name: &'e str,
) -> impl Iterator<Item = &'e std::sync::Arc<KernelTrace>> {
    let kernels = executed.program.kernels.iter();
    kernels.filter(move |launch| launch.code.name == name)
}

/// With room for two vertices most of them overflow to the global queue.
#[test]
fn queues_lose_no_vertex_and_hold_none_twice() {
    for capacity in ["0", "2", "1024"] {
        for graph in GRAPHS {
            let sets = [
                ("strategy", "\"=data_driven\""),
                ("capacity", capacity),
                ("graph", graph),
                ("block", "64"),
            ];
            let executed = verify("graphs/bfs_strategies.ron", &sets);
            let queued = launched(&executed, "bfs_dd_expand").map(|launch| argument(launch, 48));
            let levels = executed.outputs["level"].iter();
            let reached = levels.filter(|&&level| level != u32::MAX).count();
            assert_eq!(queued.sum::<u32>() as usize, reached, "{graph}");

            let executed = verify("graphs/clr_strategies.ron", &sets);
            let colours = &executed.outputs["colours"];
            for (round, launch) in (0..).zip(launched(&executed, "clr_queue_colour")) {
                let left = colours.iter().filter(|&&colour| colour >= round).count();
                assert_eq!(
                    argument(launch, 44) as usize,
                    left,
                    "{graph}, round {round}"
                );
            }

            verify("graphs/sssp_strategies.ron", &sets);
        }
    }
}

/// A round changes the same vertices, whichever way they are found.
#[test]
fn a_queue_built_of_lowered_costs_alone_holds_the_same_vertices() {
    for graph in GRAPHS {
        let rounds = |over_all: &str, kernel: &str, at: usize| -> Vec<u32> {
            let sets = [
                ("strategy", "\"=data_driven\""),
                ("build_over_all", over_all),
                ("capacity", "2"),
                ("graph", graph),
                ("block", "64"),
            ];
            let executed = verify("graphs/sssp_strategies.ron", &sets);
            launched(&executed, kernel)
                .map(|launch| argument(launch, at))
                .collect()
        };
        let all = rounds("true", "sssp_queue_relax", 48);
        let lowered = rounds("false", "sssp_queue_relax_claim", 72);
        assert!(all == lowered && all.len() > 2, "{graph}");
    }
}

#[test]
fn kernels_race_only_where_the_file_says_that_it_does_not_matter() {
    for (file, parameter, choices) in WORKLOADS {
        for chosen in choices {
            let sets = [
                (parameter, &*choice(chosen)),
                ("graph", GRAPHS[1]),
                ("block", "64"),
                ("capacity", "2"),
            ];
            let sets: Vec<_> = sets
                .iter()
                .filter(|(name, _)| *name != "capacity" || *chosen == "data_driven")
                .copied()
                .collect();
            let examined = workload(file, &sets).examine(&EmulationSpec::default());
            let examined = examined.unwrap();
            assert!(examined.is_clean(), "{file} {chosen}: {examined:?}");
            let races = file.contains("clr") || *chosen == "unrolled";
            assert_eq!(examined.allowed() > 0, races, "{file} {chosen}");
        }
    }
    let claims = [
        ("strategy", "\"=data_driven\""),
        ("build_over_all", "false"),
        ("graph", GRAPHS[1]),
        ("block", "64"),
    ];
    let examined = workload("graphs/sssp_strategies.ron", &claims);
    let examined = examined.examine(&EmulationSpec::default()).unwrap();
    assert!(
        examined.is_clean() && examined.allowed() == 0,
        "{examined:?}"
    );
}

#[test]
fn launches_of_each_form_state_the_published_registers() {
    for (form, registers) in [
        ("base", 13),
        ("swp", 15),
        ("swpnc", 16),
        ("unr2", 19),
        ("unr2_in_sequence", 19),
        ("unr3", 24),
        ("unr2_swp", 20),
        ("unr2_swpnc", 20),
    ] {
        let sets = [("form", &*choice(form)), ("graph", GRAPHS[0])];
        let program = workload("graphs/bfs_optimised.ron", &sets);
        let executed = execute(&program, EmulationOrder::Linear);
        let name = format!("bfs_{form}");
        let mut visits = launched(&executed, &name).peekable();
        assert!(visits.peek().is_some(), "{form}");
        assert!(visits.all(|launch| launch.registers_per_thread() == registers));
    }
}

/// Counts the addresses that lanes read in global memory in all launches of a kernel.
fn addresses_read(executed: &Executed, kernel: &str) -> BTreeMap<u64, u32> {
    let mut read = BTreeMap::new();
    let mut lanes = Lanes::default();
    for launch in launched(executed, kernel) {
        for group in 0..launch.work_groups() {
            for wavefront in 0..launch.wavefronts_per_work_group() {
                let mut cursor = launch.cursor(group, wavefront);
                while let Some(record) = cursor.next(launch, &mut lanes) {
                    let opcode = &launch.code.instructions[record.pc as usize].opcode;
                    if record.space == Space::Global && opcode.starts_with("ld.") {
                        for (_, address) in lanes.iter(record.mask) {
                            *read.entry(address).or_default() += 1;
                        }
                    }
                }
            }
        }
    }
    read
}

#[test]
fn prefetching_reads_the_same_addresses_as_often() {
    for graph in GRAPHS {
        let read = |form: &str| {
            let sets = [("form", &*choice(form)), ("graph", graph), ("block", "64")];
            let program = workload("graphs/bfs_optimised.ron", &sets);
            let executed = execute(&program, EmulationOrder::Linear);
            addresses_read(&executed, &format!("bfs_{form}"))
        };
        let base = read("base");
        assert!(base.len() > 20, "{graph}");
        for form in [
            "swp",
            "swpnc",
            "unr2",
            "unr3",
            "unr2_swp",
            "unr2_swpnc",
            "unr2_in_sequence",
        ] {
            assert!(read(form) == base, "{form} on {graph}");
        }
    }
}

/// Instructions of the longest innermost loop of a kernel, as the compiler's comments delimit it.
struct Loop {
    blocks: Vec<String>,
}

impl Loop {
    fn of(ptx: &str, kernel: &str) -> Self {
        let (_, rest) = ptx.split_once(&format!(".entry {kernel}(")).unwrap();
        let (body, _) = rest.split_once("\n}").unwrap();
        let mut loops: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut innermost = BTreeSet::new();
        let mut header = None;
        for line in body.lines() {
            let label = line
                .strip_prefix("$L__")
                .and_then(|rest| rest.split_once(':'));
            if label.is_some() || line.starts_with("// %bb") {
                header = match (label, line.split_once("in Loop: Header=")) {
                    (_, Some((_, rest))) => rest.split(' ').next(),
                    (Some((label, _)), None) if line.contains("Loop") => Some(label),
                    _ => None,
                };
                if let Some(header) = header {
                    loops.entry(header).or_default().push(String::new());
                }
            } else if let Some(block) = header.and_then(|header| loops.get_mut(header)?.last_mut())
            {
                block.push_str(line);
                block.push('\n');
            }
            if line.contains("This Inner Loop Header") {
                innermost.extend(header);
            }
        }
        loops.retain(|header, _| innermost.contains(header));
        let length = |blocks: &Vec<String>| blocks.iter().map(String::len).sum::<usize>();
        let blocks = loops.into_values().max_by_key(length).unwrap();
        Self { blocks }
    }

    fn count(&self, opcode: &str) -> usize {
        let of_block = |block: &String| block.matches(opcode).count();
        self.blocks.iter().map(of_block).sum()
    }

    /// Largest number in one block, where nothing separates them.
    fn together(&self, opcode: &str) -> usize {
        let of_block = |block: &String| block.matches(opcode).count();
        self.blocks.iter().map(of_block).max().unwrap()
    }
}

#[test]
fn the_compiler_leaves_every_form_of_the_loop_as_it_is_written() {
    let ptx = fs::read_to_string(folder().join("graphs/cuda/bfs_optimised.ptx")).unwrap();
    let (number, flag) = ("ld.global.nc.u32", "ld.global.nc.u8");
    // Neighbours of an iteration, and comparisons beside those of their flags.
    for (form, neighbours, compared, together) in [
        ("base", 1, 1, 1),
        ("swp", 1, 2, 1),
        ("swpnc", 1, 1, 1),
        ("unr2", 2, 1, 2),
        ("unr2_in_sequence", 2, 1, 1),
        ("unr3", 3, 1, 3),
        ("unr2_swp", 2, 2, 2),
        ("unr2_swpnc", 2, 1, 2),
    ] {
        let found = Loop::of(&ptx, &format!("bfs_{form}"));
        let counts = [number, flag, "setp.", "st.global.u8"].map(|opcode| found.count(opcode));
        let expected = [neighbours, neighbours, neighbours + compared, neighbours];
        assert_eq!(counts, expected, "{form}");
        assert_eq!(found.together(number), together, "{form}");
    }
}

#[test]
fn loops_over_neighbours_are_not_unrolled() {
    for (file, kernel, loads) in [
        ("bfs_strategies", "bfs_warp_visit_serial", 1),
        ("bfs_strategies", "bfs_warp_visit_ballot", 1),
        ("bfs_strategies", "bfs_unrolled_relax", 1),
        // A neighbour and a weight.
        ("sssp_strategies", "sssp_warp_relax_serial", 2),
        ("sssp_strategies", "sssp_queue_relax", 2),
        // A neighbour and a priority.
        ("clr_strategies", "clr_thread_colour", 2),
        ("clr_strategies", "clr_warp_colour_serial", 2),
        ("clr_strategies", "clr_queue_colour", 2),
    ] {
        let ptx = folder().join(format!("graphs/cuda/{file}.ptx"));
        let found = Loop::of(&fs::read_to_string(ptx).unwrap(), kernel);
        assert_eq!(found.count("ld.global.nc.u32"), loads, "{kernel}");
    }
}
