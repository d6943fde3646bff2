//! Reuse profiles: computed from a program, stored in files, used by policies.
//!
//! A profile file uses the [chunk format](warpweave_files::ChunkedOutput) with no chunks. Its index
//! holds the profile and the hash of its trace. The format is described in `docs/profiles.md`.

use std::path::Path;

use warpweave_components::reuse_profile::{ChildReuse, ReuseProfile};
use warpweave_files::{ChunkedError, ChunkedInput, ChunkedOutput, Layout, Ledger, OutputError};
use warpweave_reuse::{Analysis, Linked, Options};
use warpweave_trace::{ContentHash, Program};

static LAYOUT: Layout = Layout {
    magic: *b"WWREUSE\n",
    version: 2,
    what: "a reuse profile",
    again: "recreate it with `warpweave analyze reuse TRACE --profile FILE`",
};

/// Compression level of zstd for profile files.
const LEVEL: i32 = 3;

/// Line size in bytes, equal on all machines.
const LINE_BYTES: u64 = 128;

/// Computes the profile of a program by the definitions of the LASER paper, with a threshold of
/// 0.4. Reads and writes count.
pub fn compute(program: &Program) -> ReuseProfile {
    let parents = program.kernels.iter().map(|kernel| kernel.parent).collect();
    let mut analysis = Analysis::new(parents, Options::default());
    warpweave_reuse::program(program, LINE_BYTES, false, &mut analysis);
    of_linked(analysis.finish_linked().1)
}

/// Converts the linked units and the launched kernels of an analysis to a profile.
pub fn of_linked(linked: Linked) -> ReuseProfile {
    let children = linked.children.into_iter().map(|child| {
        let reuse = ChildReuse {
            accesses: child.accesses,
            own: child.own,
            parent: child.parent,
            sibling: child.sibling,
        };
        (child.kernel, reuse)
    });
    ReuseProfile::new(linked.kernels, linked.work_group_chains).with_children(children)
}

/// Writes the profile for the trace with this hash.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(path: &Path, trace: ContentHash, profile: &ReuseProfile) -> Result<(), OutputError> {
    ChunkedOutput::create(path, &LAYOUT, LEVEL)?.finish(&(trace, profile))
}

/// Reads a profile and the hash of its trace.
///
/// # Errors
/// Fails if the file cannot be read, has another kind or version, or exceeds the memory budget.
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
        let child = ChildReuse {
            accesses: 9,
            own: 1,
            parent: 2,
            sibling: 3,
        };
        let profile = ReuseProfile::new(vec![(0, 2, 0.75), (2, 0, 0.5)], chains);
        let profile = profile.with_children([(2, child)]);
        write(&path, ContentHash([7; 32]), &profile).unwrap();
        let read_back = read(&path, &Ledger::default()).unwrap();
        assert_eq!(read_back, (ContentHash([7; 32]), profile));
        assert_eq!(read_back.1.linked(2), [(0, 0.75)]);
        let bytes = std::fs::read(&path).unwrap();
        let old = folder.path().join("old.reuse");
        let mut first = bytes.clone();
        first[8] = 1;
        std::fs::write(&old, first).unwrap();
        let said = read(&old, &Ledger::default()).unwrap_err().to_string();
        let why = "format version 1, but this program reads 2; recreate it with `warpweave analyze reuse TRACE --profile FILE`";
        assert!(said.contains(why), "{said}");
        let mut bytes = bytes;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let broken = folder.path().join("b.reuse");
        std::fs::write(&broken, bytes).unwrap();
        assert!(read(&broken, &Ledger::default()).is_err());
    }
}
