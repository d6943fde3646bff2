//! Programs as compiled: the same results by the same traffic.

use std::collections::BTreeSet;

use warpweave_trace::{Class, KernelTrace, Lanes, Space};

use super::workloads::workload;
use crate::host_program::{EmulatedCode, EmulationSpec, Executed, HostProgram};

/// Bytes of a sector, the unit in which hardware counts.
const SECTOR: u64 = 32;

/// Requests and sectors of global memory, of loads and of stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traffic {
    requests: [u64; 2],
    sectors: [u64; 2],
}

fn traffic(kernel: &KernelTrace) -> Traffic {
    let mut traffic = Traffic::default();
    let mut lanes = Lanes::default();
    let groups: u32 = kernel.grid.iter().product();
    let wavefronts = kernel.block.iter().product::<u32>().div_ceil(32);
    for (group, wavefront) in (0..groups).flat_map(|g| (0..wavefronts).map(move |w| (g, w))) {
        let mut cursor = kernel.cursor(group, wavefront);
        while let Some(record) = cursor.next(kernel, &mut lanes) {
            let instruction = &kernel.code.instructions[record.pc as usize];
            let kind = match instruction.class {
                Class::Load => 0,
                Class::Store => 1,
                _ => continue,
            };
            if record.space != Space::Global || record.mask == 0 {
                continue;
            }
            let bytes = u64::from(instruction.access_bytes);
            let sectors: BTreeSet<u64> = lanes
                .iter(record.mask)
                .flat_map(|(_, at)| at / SECTOR..=(at + bytes - 1) / SECTOR)
                .collect();
            traffic.requests[kind] += 1;
            traffic.sectors[kind] += sectors.len() as u64;
        }
    }
    traffic
}

fn execute(program: &HostProgram, code: EmulatedCode) -> Executed {
    let spec = EmulationSpec {
        code,
        ..EmulationSpec::default()
    };
    let executed = program.execute(&spec);
    executed.unwrap_or_else(|error| panic!("{}: {error}", program.name()))
}

/// Workloads whose threads do not race: where they do, another order lets others come first.
const QUIET: [&str; 16] = [
    "b_plus_tree",
    "back_propagation",
    "bfs_mask",
    "convolution_2d",
    "dct_8x8",
    "fdtd_3d",
    "histogram",
    "hotspot",
    "lud",
    "matrix_multiply",
    "neural_network",
    "reduction",
    "reduction_f32",
    "srad",
    "stencil_2d",
    "vector_add",
];

#[test]
fn code_as_compiled_gives_the_same_results_by_the_same_traffic() {
    let mut fewer = 0;
    for name in QUIET {
        let program = workload(&format!("{name}.ron"), &[]);
        let codes = [EmulatedCode::AsWritten, EmulatedCode::AsCompiled];
        let [written, compiled] = codes.map(|code| execute(&program, code));
        assert_eq!(
            compiled.verified,
            Some(true),
            "{name}: {:?}",
            compiled.checks
        );
        assert!(written.outputs == compiled.outputs, "{name}: other results");
        assert_ne!(written.program.hash(), compiled.program.hash(), "{name}");
        assert_eq!(written.kernels, compiled.kernels, "{name}");
        let pairs = written
            .program
            .kernels
            .iter()
            .zip(&compiled.program.kernels);
        for (number, (one, other)) in pairs.enumerate() {
            assert_eq!(traffic(one), traffic(other), "{name}: launch {number}");
            fewer += u32::from(one.wavefront_instructions() > other.wavefront_instructions());
        }
    }
    assert!(fewer > 8, "launches with fewer instructions: {fewer}");
}

#[test]
fn threads_that_race_agree_in_the_end_as_compiled() {
    for name in ["bfs.ron", "sssp.ron"] {
        let program = workload(name, &[]);
        let compiled = execute(&program, EmulatedCode::AsCompiled);
        assert_eq!(
            compiled.verified,
            Some(true),
            "{name}: {:?}",
            compiled.checks
        );
    }
}
