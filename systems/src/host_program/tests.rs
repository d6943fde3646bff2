//! Every workload of the repository, small and in several orders; then programs that are wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use warpweave_params::{Diagnostics, Node, Source, parse, parse_from};
use warpweave_trace::HostCommand;

use super::{EmulationOrder, EmulationSpec, Executed, HostProgram};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/workloads")
}

fn overrides(sets: &[(&str, &str)]) -> BTreeMap<String, Node> {
    let read = |&(name, text): &(&str, &str)| {
        let source = Source::new(format!("--set workload.{name}"), text);
        (name.to_owned(), parse_from(&source, 0).unwrap())
    };
    sets.iter().map(read).collect()
}

fn workload(file: &str, sets: &[(&str, &str)]) -> HostProgram {
    let source = Source::read(&folder().join(file)).unwrap();
    let node = parse(&source).unwrap();
    HostProgram::from_node(&node, &folder(), &overrides(sets))
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn execute(program: &HostProgram, order: EmulationOrder) -> Executed {
    let spec = EmulationSpec { order, resident_work_groups: 7, quantum: 5, ..Default::default() };
    program.execute(&spec).unwrap_or_else(|error| panic!("{error}"))
}

/// Executes a workload in several orders; all must meet its expectations.
fn verify(file: &str, sets: &[(&str, &str)]) -> Executed {
    let program = workload(file, sets);
    assert!(!program.summary().is_empty());
    let orders = [
        EmulationOrder::Reversed,
        EmulationOrder::Shuffled { seed: 3 },
        EmulationOrder::Linear,
    ];
    let executed = orders.map(|order| {
        let executed = execute(&program, order);
        assert_eq!(executed.verified, Some(true), "{file} {order:?}: {:?}", executed.checks);
        executed
    });
    // Equal to the same reference, so equal to one another; sizes of copies must agree as well.
    let copied = |executed: &Executed| executed.program.allocations.clone();
    assert!(executed.iter().all(|other| copied(other) == copied(&executed[0])));
    let [.., linear] = executed;
    linear
}

fn launches(executed: &Executed) -> usize {
    let is_launch = |c: &&HostCommand| matches!(c, HostCommand::Launch { .. });
    executed.program.commands.iter().filter(is_launch).count()
}

#[test]
fn vector_add_verifies_in_any_order() {
    let executed = verify("vector_add.ron", &[("n", "1000"), ("block", "64")]);
    assert_eq!(executed.program.kernels[0].grid, [16, 1, 1]);
    assert_eq!(executed.kernels, ["vector_add"]);
    assert_eq!(executed.program.name, "vector_add");
    use HostCommand::{CopyToDevice, CopyToHost, Launch, Synchronize};
    let (offset, bytes) = (0, 4000);
    assert_eq!(
        executed.program.commands,
        [
            CopyToDevice { allocation: 0, offset, bytes },
            CopyToDevice { allocation: 1, offset, bytes },
            Launch { kernel: 0, stream: 0 },
            Synchronize,
            CopyToHost { allocation: 2, offset, bytes },
        ]
    );
}

#[test]
fn matrix_multiply_verifies_in_any_order() {
    verify("matrix_multiply.ron", &[("n", "37")]);
}

#[test]
fn stencil_steps_swap_their_buffers() {
    let sets = [("width", "40"), ("height", "21"), ("steps", "3")];
    let executed = verify("stencil_2d.ron", &sets);
    assert_eq!(launches(&executed), 3);
    // After an odd number of swaps the newest cells are in the second allocation.
    let last = executed.program.commands.last();
    assert!(matches!(last, Some(HostCommand::CopyToHost { allocation: 1, .. })), "{last:?}");
}

#[test]
fn reductions_verify_in_any_order() {
    verify("reduction.ron", &[("n", "3001"), ("blocks", "5")]);
    let executed = verify("reduction_f32.ron", &[("n", "3001"), ("blocks", "5")]);
    assert_eq!((launches(&executed), executed.checks.len()), (2, 2));
}

#[test]
fn histogram_verifies_in_any_order() {
    verify("histogram.ron", &[("n", "3001"), ("blocks", "5")]);
}

#[test]
fn bfs_verifies_in_any_order_on_a_grid_and_on_the_blogs() {
    let executed = verify("bfs.ron", &[("graph", "Grid(width: 9, height: 7)"), ("block", "32")]);
    // The source is (1, 1), so the far corner is 7 + 5 steps away; one launch more finds nothing.
    assert_eq!(launches(&executed), 13);
    let executed = execute(&workload("bfs.ron", &[]), EmulationOrder::Linear);
    assert_eq!((executed.verified, launches(&executed)), (Some(true), 7));
}

#[test]
fn shortest_paths_verify_in_any_order() {
    let weights = ("weights", "Uniform(low: 1, high: 50, seed: 4)");
    verify("sssp.ron", &[("graph", "Grid(width: 9, height: 7)"), weights]);
}
