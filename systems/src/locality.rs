//! Files of locality plans: written by an analysis, read for policies.
//!
//! A plan file uses the [chunk format](warpweave_files::ChunkedOutput) with no chunks. Its index
//! holds the hash of its trace and the plan. The format is described in `docs/locality.md`.

use std::path::Path;

use warpweave_components::locality_plan::LocalityPlan;
use warpweave_files::{ChunkedError, ChunkedInput, ChunkedOutput, Layout, Ledger, OutputError};
use warpweave_trace::ContentHash;

static LAYOUT: Layout = Layout {
    magic: *b"WWLOCAL\n",
    version: 1,
    what: "a locality plan",
    again: "write it anew with the program that made it",
};

/// Compression level of zstd for plan files.
const LEVEL: i32 = 3;

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
    use warpweave_components::locality_plan::{Direction, LaunchLocality, LoopPlan};
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
