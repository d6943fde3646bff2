//! Reuse profiles: computed from a program, kept in files, given to policies.
//!
//! A file is one of [chunks](warpweave_files::ChunkedOutput) without any: its index holds the profile and the hash of
//! the trace that it is of. `docs/profiles.md` describes it.

use std::path::Path;

use warpweave_components::reuse_profile::ReuseProfile;
use warpweave_files::{ChunkedError, ChunkedInput, ChunkedOutput, Layout, Ledger, OutputError};
use warpweave_reuse::{Analysis, Linked, Options};
use warpweave_trace::{ContentHash, Program};

static LAYOUT: Layout = Layout {
    magic: *b"WWREUSE\n",
    version: 1,
    what: "a reuse profile",
    again: "write it again with `warpweave analyze reuse TRACE --profile FILE`",
};

/// zstd level.
const LEVEL: i32 = 3;

/// Bytes of a line, which are those of all machines.
const LINE_BYTES: u64 = 128;

/// The profile of a program, by the definitions of the LASER paper with a threshold of 0.4: reads and writes count.
pub fn compute(program: &Program) -> ReuseProfile {
    let parents = program.kernels.iter().map(|kernel| kernel.parent).collect();
    let mut analysis = Analysis::new(parents, Options::default());
    warpweave_reuse::program(program, LINE_BYTES, false, &mut analysis);
    of_linked(analysis.finish_linked().1)
}

/// What an analysis has linked.
pub fn of_linked(linked: Linked) -> ReuseProfile {
    ReuseProfile::new(linked.kernels, linked.work_group_chains)
}

/// Writes the profile of the trace with this hash.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, trace: ContentHash, profile: &ReuseProfile) -> Result<(), OutputError> {
    ChunkedOutput::create(path, &LAYOUT, LEVEL)?.finish(&(trace, profile))
}

/// Reads a profile, and the hash of its trace.
///
/// # Errors
/// A file that cannot be read, is of another kind or version, or takes more memory than there may be.
pub fn read(path: &Path, ledger: &Ledger) -> Result<(ContentHash, ReuseProfile), ChunkedError> {
    let (_, read) = ChunkedInput::open(path, &LAYOUT, ledger)?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_as_it_was_written_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.reuse");
        let chains = vec![vec![(0, 1), (2, 0)], vec![(0, 0)]];
        let profile = ReuseProfile::new(vec![(0, 2, 0.75), (2, 0, 0.5)], chains);
        write(&path, ContentHash([7; 32]), &profile).unwrap();
        let read_back = read(&path, &Ledger::default()).unwrap();
        assert_eq!(read_back, (ContentHash([7; 32]), profile));
        assert_eq!(read_back.1.linked(2), [(0, 0.75)]);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let broken = folder.path().join("b.reuse");
        std::fs::write(&broken, bytes).unwrap();
        assert!(read(&broken, &Ledger::default()).is_err());
    }
}
