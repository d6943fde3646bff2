//! All workloads of the repository, at small sizes and in several emulation orders.

use std::path::PathBuf;

use warpweave_params::Files;
use warpweave_trace::HostCommand;

use super::{execute, folder, read_below};
use crate::host_program::{
    EmulationOrder, EmulationProgress, EmulationSpec, Executed, HostProgram,
};

pub(super) fn workload(file: &str, sets: &[(&str, &str)]) -> HostProgram {
    let file = folder().join(file);
    let source = Files::default().description(&file, &[]).unwrap();
    read_below(file.parent().unwrap(), &source, None, sets)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// Executes a workload in several orders, each of which must meet its expectations.
pub(super) fn verify(file: &str, sets: &[(&str, &str)]) -> Executed {
    let program = workload(file, sets);
    assert!(!program.summary().is_empty());
    let orders = [
        EmulationOrder::Reversed,
        EmulationOrder::Shuffled { seed: 3 },
        EmulationOrder::Linear,
    ];
    let executed = orders.map(|order| {
        let executed = execute(&program, order);
        assert_eq!(
            executed.verified,
            Some(true),
            "{file} {order:?}: {:?}",
            executed.checks
        );
        executed
    });
    assert!(
        executed
            .iter()
            .all(|other| other.outputs == executed[0].outputs),
        "{file}"
    );
    let [.., linear] = executed;
    linear
}

pub(super) fn launches(executed: &Executed) -> usize {
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
            CopyToDevice {
                allocation: 0,
                offset,
                bytes
            },
            CopyToDevice {
                allocation: 1,
                offset,
                bytes
            },
            Launch {
                kernel: 0,
                stream: 0
            },
            Synchronize,
            CopyToHost {
                allocation: 2,
                offset,
                bytes
            },
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
    assert!(
        matches!(last, Some(HostCommand::CopyToHost { allocation: 1, .. })),
        "{last:?}"
    );
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
fn bfs_verifies_in_any_order() {
    let executed = verify(
        "bfs.ron",
        &[("graph", "Grid(width: 9, height: 7)"), ("block", "32")],
    );
    // The source is (1, 1), so the far corner is 7 + 5 steps away; one launch more finds nothing.
    assert_eq!(launches(&executed), 13);
}

#[test]
fn shortest_paths_verify_in_any_order() {
    let weights = ("weights", "Uniform(low: 1, high: 50, seed: 4)");
    verify(
        "sssp.ron",
        &[("graph", "Grid(width: 9, height: 7)"), weights],
    );
}

#[test]
fn every_workload_file_verifies_as_it_is() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ron"));
    files.sort();
    assert!(files.len() >= 8);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let comments = text
            .lines()
            .take_while(|line| line.starts_with("// "))
            .count();
        assert_eq!(
            comments,
            3,
            "{}: what it shows, runtime, expected",
            file.display()
        );
        let name = file.file_name().unwrap().to_str().unwrap();
        let executed = workload(name, &[])
            .execute(&EmulationSpec::default())
            .unwrap();
        assert_eq!(
            executed.verified,
            Some(true),
            "{name}: {:?}",
            executed.checks
        );
        // As the comments at the head of the files say.
        match name {
            "bfs.ron" => assert_eq!(launches(&executed), 7),
            "sssp.ron" => assert_eq!(launches(&executed), 158),
            _ => {}
        }
    }
}

#[test]
fn whoever_watches_sees_how_far_the_emulation_has_come() {
    let program = workload("vector_add.ron", &[("n", "1000"), ("block", "64")]);
    let progress = EmulationProgress::default();
    assert_eq!((progress.launches(), progress.work_groups()), (0, (0, 0)));
    let executed = program.execute_watched(&EmulationSpec::default(), &progress);
    assert_eq!(executed.unwrap().verified, Some(true));
    assert_eq!((progress.launches(), progress.work_groups()), (1, (16, 16)));
}
