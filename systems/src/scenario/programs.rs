//! Host programs that several scenarios share.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_params::{Diagnostics, Node, to_ron};

use crate::host_program::{HostProgram, SharedModules};

/// Number of programs that are kept. Runs of an experiment are planned program by program.
const KEPT: usize = 4;

/// Host programs read lately, so that scenarios which differ only in their machines draw graphs
/// and read files once.
///
/// A program keeps the memory that it charged to the first scenario's budget.
#[derive(Debug, Default)]
pub struct SharedPrograms {
    recent: Mutex<VecDeque<(ProgramKey, Arc<Slot>)>>,
    modules: SharedModules,
}

/// Program that is read by the first thread that needs it, while others wait.
type Slot = Mutex<Option<Arc<HostProgram>>>;

/// Everything that a host program depends on, beside the files that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProgramKey {
    path: PathBuf,
    size: Option<String>,
    overrides: Vec<(String, String)>,
}

impl SharedPrograms {
    /// Returns the program of a workload file, which `read` reads if it is not kept.
    ///
    /// # Errors
    /// Fails like `read`. If other programs or modules are kept, they may hold memory that this one
    /// lacks, so they are dropped and it is read again.
    pub(super) fn get(
        &self,
        path: &Path,
        size: Option<&String>,
        overrides: &BTreeMap<String, Node>,
        read: impl Fn() -> Result<HostProgram, Diagnostics>,
    ) -> Result<Arc<HostProgram>, Diagnostics> {
        let overrides = overrides.iter();
        let key = ProgramKey {
            path: path.to_owned(),
            size: size.cloned(),
            overrides: overrides
                .map(|(name, value)| (name.clone(), to_ron(value)))
                .collect(),
        };
        let slot = self.slot(key);
        let mut program = slot.lock();
        if let Some(program) = &*program {
            return Ok(Arc::clone(program));
        }
        let new = match read() {
            Err(_) if self.drop_others(&slot) => read(),
            first => first,
        };
        Ok(Arc::clone(program.insert(Arc::new(new?))))
    }

    /// Returns the modules that programs of different parameters share.
    pub(super) fn modules(&self) -> &SharedModules {
        &self.modules
    }

    fn slot(&self, key: ProgramKey) -> Arc<Slot> {
        let mut recent = self.recent.lock();
        if let Some((_, slot)) = recent.iter().find(|(known, _)| *known == key) {
            return Arc::clone(slot);
        }
        if recent.len() == KEPT {
            recent.pop_front();
        }
        let slot = Arc::<Slot>::default();
        recent.push_back((key, Arc::clone(&slot)));
        slot
    }

    /// Drops all modules, and all programs but one. Returns true if there were any.
    fn drop_others(&self, kept: &Arc<Slot>) -> bool {
        let mut recent = self.recent.lock();
        let before = recent.len();
        recent.retain(|(_, slot)| Arc::ptr_eq(slot, kept));
        self.modules.clear() || recent.len() < before
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use warpweave_params::Diagnostic;

    use super::*;

    fn program(name: &str) -> Result<HostProgram, Diagnostics> {
        let empty = ".version 7.0\n.target sm_70\n.address_size 64\n";
        HostProgram::builder(name)
            .module("empty.ptx", empty)
            .build()
    }

    /// Gets a program of a given size, and counts how often it is read.
    fn get(shared: &SharedPrograms, size: &str, reads: &Cell<u32>) -> Arc<HostProgram> {
        let read = || {
            reads.set(reads.get() + 1);
            program(size)
        };
        let size = size.to_owned();
        let program = shared.get(Path::new("w.ron"), Some(&size), &BTreeMap::new(), read);
        program.unwrap()
    }

    #[test]
    fn a_program_is_read_once_for_equal_parameters_and_again_for_others() {
        let (shared, reads) = (SharedPrograms::default(), Cell::new(0));
        let first = get(&shared, "S", &reads);
        assert!(Arc::ptr_eq(&first, &get(&shared, "S", &reads)));
        assert_eq!(get(&shared, "T", &reads).name(), "T");
        assert_eq!(reads.get(), 2);
    }

    #[test]
    fn the_oldest_program_makes_room_for_a_fifth() {
        let (shared, reads) = (SharedPrograms::default(), Cell::new(0));
        for size in ["A", "B", "C", "D", "E", "B", "A"] {
            get(&shared, size, &reads);
        }
        assert_eq!(reads.get(), 6);
    }

    #[test]
    fn a_program_that_finds_no_memory_is_read_again_without_the_others() {
        let (shared, reads) = (SharedPrograms::default(), Cell::new(0));
        get(&shared, "S", &reads);
        let tries = Cell::new(0);
        let read = || {
            tries.set(tries.get() + 1);
            match tries.get() {
                1 => Err(Diagnostic::error("no memory").into()),
                _ => program("large"),
            }
        };
        let large = shared.get(Path::new("w.ron"), None, &BTreeMap::new(), read);
        assert_eq!(large.unwrap().name(), "large");
        get(&shared, "S", &reads);
        assert_eq!((tries.get(), reads.get()), (2, 2));
    }
}
