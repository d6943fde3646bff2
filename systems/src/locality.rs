//! Locality plans: computed from a program, stored in files, used by policies.
//!
//! A plan file uses the [chunk format](warpweave_files::ChunkedOutput) with no chunks. Its index
//! holds the hash of its trace and the plan. The format is described in `docs/locality.md`.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use warpweave_affine::{LaunchHead, LoopWindows, ReuseOptions, analyse};
use warpweave_components::locality_plan::{Direction, LaunchLocality, LocalityPlan, LoopPlan};
use warpweave_files::{ChunkedError, ChunkedInput, ChunkedOutput, Layout, Ledger, OutputError};
use warpweave_trace::{ContentHash, KernelTrace, Program};

static LAYOUT: Layout = Layout {
    magic: *b"WWLOCAL\n",
    version: 2,
    what: "a locality plan",
    again: "write it anew with the program that made it",
};

/// Compression level of zstd for plan files.
const LEVEL: i32 = 3;

/// Line size in bytes, equal on all machines.
const LINE_BYTES: u32 = 128;

/// Computes the plan of a program. Loads count, stores do not: they keep no line in a first-level
/// cache. Launches of one kernel that are equal are analysed once.
pub fn compute(program: &Program) -> LocalityPlan {
    let mut known: FxHashMap<_, LaunchLocality> = FxHashMap::default();
    let launch = |kernel: &Arc<KernelTrace>| {
        let code = Arc::as_ptr(&kernel.code);
        let key = (code, kernel.grid, kernel.block, kernel.arguments.clone());
        let analysed = || of_launch(&LaunchHead::of(kernel, &program.allocations));
        known.entry(key).or_insert_with(analysed).clone()
    };
    LocalityPlan {
        launches: program.kernels.iter().map(launch).collect(),
    }
}

fn of_launch(head: &LaunchHead<'_>) -> LaunchLocality {
    let options = ReuseOptions {
        line_bytes: LINE_BYTES,
        include_stores: false,
    };
    let analysis = analyse(head);
    let found = analysis.directions(head, options);
    let windows = analysis.windows(head, found.direction, LINE_BYTES);
    LaunchLocality {
        direction: match found.direction {
            warpweave_affine::Direction::RoundRobin => Direction::RoundRobin,
            warpweave_affine::Direction::AlongX => Direction::AlongX,
            warpweave_affine::Direction::AlongY => Direction::AlongY,
        },
        distance: found.distance,
        loops: windows.into_iter().map(of_loop).collect(),
    }
}

fn of_loop(found: LoopWindows) -> LoopPlan {
    let instructions = found.instructions.into_iter();
    LoopPlan {
        instructions: instructions.map(|at| at as usize).collect(),
        intra: found.intra,
        inter: found.inter,
        along: found.along,
        irregular: found.irregular,
    }
}

/// Writes the plan for the trace with this hash.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(path: &Path, trace: ContentHash, plan: &LocalityPlan) -> Result<(), OutputError> {
    ChunkedOutput::create(path, &LAYOUT, LEVEL)?.finish(&(trace, plan))
}

/// Reads a plan and the hash of its trace.
///
/// # Errors
/// Fails if the file cannot be read, has another kind or version, or exceeds the memory budget.
pub fn read(path: &Path, ledger: &Ledger) -> Result<(ContentHash, LocalityPlan), ChunkedError> {
    let (_, read) = ChunkedInput::open(path, &LAYOUT, ledger)?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use warpweave_components::reuse_profile::ReuseProfile;

    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.local");
        let launch = LaunchLocality {
            direction: Direction::AlongY,
            distance: 5,
            loops: vec![LoopPlan {
                instructions: [3, 70].into_iter().collect(),
                intra: vec![1, 2],
                irregular: 32,
                ..LoopPlan::default()
            }],
        };
        let plan = LocalityPlan {
            launches: vec![launch, LaunchLocality::default()],
        };
        write(&path, ContentHash([7; 32]), &plan).unwrap();
        let read_back = read(&path, &Ledger::default()).unwrap();
        assert_eq!(read_back, (ContentHash([7; 32]), plan));
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let broken = folder.path().join("b.local");
        std::fs::write(&broken, bytes).unwrap();
        assert!(read(&broken, &Ledger::default()).is_err());
        let profile = folder.path().join("c.reuse");
        let empty = ReuseProfile::default();
        crate::profile::write(&profile, ContentHash([7; 32]), &empty).unwrap();
        let error = read(&profile, &Ledger::default()).unwrap_err().to_string();
        assert!(error.contains("locality plan"), "{error}");
    }
}
