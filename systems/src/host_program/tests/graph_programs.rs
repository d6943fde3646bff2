//! The programs of the graph study, in several emulation orders and on graphs that are hard for
//! them.

use std::path::Path;

use super::folder;
use super::workloads::{launches, verify, workload};
use crate::host_program::{EmulationOrder, EmulationSpec};

const PROGRAMS: [&str; 11] = [
    "bfs_dd.ron",
    "bfs_wc.ron",
    "clr.ron",
    "h_bfs.ron",
    "h_mst.ron",
    "h_sssp.ron",
    "ls_bfs.ron",
    "ls_mst.ron",
    "ls_sssp.ron",
    "mis.ron",
    "stcon.ron",
];

/// Graphs by which the studies override the one of the file; arcs go both ways in the last three.
const GRAPHS: [&str; 5] = [
    "OutDegree(vertices: 300, degree: 4, seed: \"=seed\")",
    "Rmat(scale: \"=log2(vertices)\", edge_factor: 8, a: 0.5, b: 0.1, c: 0.1, seed: 3)",
    "Symmetric(OutDegree(vertices: \"=vertices\", degree: 4, seed: \"=seed\"))",
    "Partners(vertices: 300, low: 2, high: 4, seed: \"=seed\")",
    "Grid(width: 23, height: 9)",
];

#[test]
fn every_program_verifies_on_every_graph_in_any_order() {
    for program in PROGRAMS {
        let needs_both_ways = ["clr", "mst", "mis"]
            .iter()
            .any(|name| program.contains(name));
        for graph in &GRAPHS[if needs_both_ways { 2 } else { 0 }..] {
            verify(
                program,
                &[("vertices", "256"), ("graph", graph), ("block", "64")],
            );
        }
    }
}

#[test]
fn a_graph_of_a_file_can_be_chosen() {
    let file = folder().join("../data/road-helsinki.mtx.gz");
    let graph = format!("File(path: {:?}, format: MatrixMarket)", Path::new(&file));
    for program in ["h_bfs.ron", "clr.ron", "h_mst.ron"] {
        let executed = workload(program, &[("graph", &graph)]).execute(&EmulationSpec::default());
        assert_eq!(executed.unwrap().verified, Some(true), "{program}");
    }
}

#[test]
fn flags_may_be_bytes_or_words_and_the_levels_are_the_same() {
    for program in ["h_bfs.ron", "bfs_wc.ron", "h_sssp.ron", "stcon.ron"] {
        let of = |bytes: &str| verify(program, &[("vertices", "512"), ("flag_bytes", bytes)]);
        let (bytes, words) = (of("1"), of("4"));
        assert_eq!(bytes.outputs, words.outputs);
        assert_eq!(launches(&bytes), launches(&words));
        let size = |executed: &crate::host_program::Executed| {
            let allocations = &executed.program.allocations;
            allocations
                .iter()
                .find(|it| it.name == "mask")
                .unwrap()
                .bytes
        };
        assert_eq!((size(&bytes), size(&words)), (512, 2048));
    }
}

/// A vertex claimed by several is queued once, whichever queue has room for it.
#[test]
fn queues_that_overflow_lose_no_vertex() {
    for capacity in ["0", "1", "2", "1024", "5000"] {
        let sets = [("vertices", "512"), ("capacity", capacity)];
        let executed = verify("bfs_dd.ron", &sets);
        let mut queued = 0;
        for launch in &executed.program.kernels {
            queued += launch.grid[0];
        }
        assert_eq!(
            queued as usize,
            launches(&executed),
            "one group for each level"
        );
    }
}

/// Priorities are drawn, so one of both ends is first, and the other is never of the same round.
#[test]
fn the_ends_of_an_edge_take_different_rounds() {
    for seed in ["1", "2", "3", "4"] {
        let sets = [("graph", "Complete(vertices: 2)"), ("seed", seed)];
        let executed = verify("clr.ron", &sets);
        assert_eq!(launches(&executed), 2);
        let mut colours = executed.outputs["colours"].clone();
        colours.sort_unstable();
        assert_eq!(colours, [0, 1]);
    }
}

#[test]
fn equal_weights_make_no_cycle() {
    for program in ["h_mst.ron", "ls_mst.ron"] {
        let equal = ("weights", "Uniform(low: 1, high: 2, seed: 1)");
        let triangle = verify(program, &[("graph", "Complete(vertices: 3)"), equal]);
        assert_eq!(triangle.outputs["forest"], [2, 1]);
        let many = verify(program, &[("graph", "Complete(vertices: 40)"), equal]);
        assert_eq!(many.outputs["forest"], [39, 1]);
    }
}

#[test]
fn vertices_without_arcs_are_trees_and_members_of_their_own() {
    let alone = ("graph", "Uniform(vertices: 70, edges: 0, seed: 1)");
    assert_eq!(verify("h_mst.ron", &[alone]).outputs["forest"], [0, 70]);
    assert_eq!(verify("mis.ron", &[alone]).outputs["status"], [1; 70]);
    assert_eq!(launches(&verify("bfs_dd.ron", &[alone])), 1);
}

#[test]
fn two_searches_end_when_they_meet_or_when_both_are_done() {
    let rounds_and_met = |sets: &[(&str, &str)]| {
        let executed = verify("stcon.ron", sets);
        (launches(&executed) / 2, executed.outputs["met"][0])
    };
    let path = ("graph", "Grid(width: 9, height: 1)");
    for (target, met) in [("1", 1), ("2", 1), ("3", 2), ("8", 4)] {
        assert_eq!(
            rounds_and_met(&[path, ("target", target)]),
            (met, met as u32)
        );
    }
    assert_eq!(rounds_and_met(&[("vertices", "512")]).1, 0);
    let halves = ("graph", "Twice(Grid(width: 9, height: 1))");
    // Nine vertices take eight rounds, and the last finds that there are no more.
    assert_eq!(rounds_and_met(&[halves, ("target", "9")]), (9, 0));
    assert_eq!(
        rounds_and_met(&[halves, ("source", "11"), ("target", "15")]),
        (2, 2)
    );
}

#[test]
fn launches_state_the_registers_of_the_study() {
    for (program, kernel, registers) in [
        ("h_bfs.ron", "h_bfs_visit_u8", 15),
        ("h_sssp.ron", "h_sssp_relax_u8", 17),
        ("h_mst.ron", "h_mst_find_weight", 21),
        ("ls_bfs.ron", "ls_bfs_relax", 19),
        ("ls_sssp.ron", "ls_sssp_relax", 22),
        ("ls_mst.ron", "ls_mst_find_weight", 13),
        ("stcon.ron", "stcon_visit_u8", 23),
    ] {
        let executed = workload(program, &[("vertices", "64")]).execute(&EmulationSpec {
            order: EmulationOrder::Linear,
            ..EmulationSpec::default()
        });
        let executed = executed.unwrap();
        let launch = executed.program.kernels.iter();
        let launch = launch.filter(|launch| launch.code.name == kernel);
        assert!(launch.clone().count() > 0, "{program}");
        for launch in launch {
            assert_eq!(launch.registers_per_thread(), registers, "{program}");
        }
    }
}

/// The regions of a study are numbered by allocation.
#[test]
fn each_program_has_the_allocations_of_the_one_that_it_is_like() {
    let allocations = [8, 7, 7, 7, 22, 7, 10, 25, 10, 7];
    // Nothing is known of the last.
    for (program, number) in PROGRAMS.into_iter().zip(allocations) {
        assert_eq!(
            workload(program, &[]).buffers().count(),
            number,
            "{program}"
        );
    }
}
