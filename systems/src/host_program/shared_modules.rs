//! Parsed modules that several programs share.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_files::{Budget, Ledger};
use warpweave_ptx::Module;

use super::modules::ProgramModule;

/// Number of modules that are kept: those of a workload with many forms of its kernels.
const KEPT: usize = 16;

/// Modules parsed lately, so that programs which differ in their parameters parse each file once.
///
/// Memory of kept modules is charged beside that of the programs, so that either may go first.
#[derive(Debug, Default)]
pub(crate) struct SharedModules {
    recent: Mutex<VecDeque<KeptModule>>,
}

#[derive(Debug)]
struct KeptModule {
    module: Arc<Module>,
    text: Arc<str>,
    _charged: Ledger,
}

impl SharedModules {
    /// Returns the module that was parsed from this text under the name of this file.
    pub(super) fn get(&self, file: &str, text: &str) -> Option<Arc<Module>> {
        let recent = self.recent.lock();
        let mut kept = recent.iter();
        let known = kept.find(|kept| kept.module.file() == file && *kept.text == *text)?;
        Some(Arc::clone(&known.module))
    }

    /// Keeps a module unless it is kept already, or its memory exceeds the budget.
    pub(super) fn keep(&self, module: &ProgramModule, budget: &Budget) {
        let (module, text) = module.shared();
        let mut recent = self.recent.lock();
        if recent.iter().any(|kept| Arc::ptr_eq(&kept.module, module)) {
            return;
        }
        let charged = Ledger::new(budget);
        let bytes = Module::parse_bytes(text);
        if charged.charge(module.file(), bytes).is_err() {
            return;
        }
        if recent.len() == KEPT {
            recent.pop_front();
        }
        recent.push_back(KeptModule {
            module: Arc::clone(module),
            text: Arc::clone(text),
            _charged: charged,
        });
    }

    /// Drops all modules. Returns true if there were any.
    pub(crate) fn clear(&self) -> bool {
        let mut recent = self.recent.lock();
        let any = !recent.is_empty();
        recent.clear();
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_program::HostProgram;

    fn program(file: &str) -> HostProgram {
        let builder = HostProgram::builder("it").module(file, text());
        builder.build().unwrap()
    }

    fn text() -> &'static str {
        ".version 7.0\n.target sm_70\n.address_size 64\n"
    }

    #[test]
    fn a_module_is_found_by_its_file_and_its_text() {
        let shared = SharedModules::default();
        let program = program("a.ptx");
        shared.keep(&program.modules[0], &Budget::unlimited());
        assert!(shared.get("a.ptx", text()).is_some());
        assert!(shared.get("b.ptx", text()).is_none());
        assert!(shared.get("a.ptx", ".version 7.1\n").is_none());
    }

    #[test]
    fn the_oldest_of_too_many_modules_is_dropped() {
        let shared = SharedModules::default();
        for number in 0..=KEPT {
            let program = program(&format!("{number}.ptx"));
            shared.keep(&program.modules[0], &Budget::unlimited());
        }
        assert!(shared.get("0.ptx", text()).is_none());
        assert!(shared.get("1.ptx", text()).is_some());
    }

    #[test]
    fn memory_of_kept_modules_is_charged_and_released() {
        let (shared, budget) = (SharedModules::default(), Budget::of(1 << 20));
        let program = program("a.ptx");
        shared.keep(&program.modules[0], &budget);
        let charged = budget.charged();
        assert!(charged > 0);
        shared.keep(&program.modules[0], &budget);
        assert_eq!(budget.charged(), charged);
        assert!(shared.clear());
        assert_eq!(budget.charged(), 0);
        shared.keep(&program.modules[0], &Budget::of(1));
        assert!(shared.get("a.ptx", text()).is_none());
    }
}
