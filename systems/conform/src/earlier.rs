//! Results of earlier runs, which several promises compare with.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use warpweave_params::Diagnostics;
use warpweave_systems::Simulated;

/// Results of runs that more than one check needs, so that each is made once.
///
/// Policies of one role are tested on the same cases, so they share the runs of the default policy
/// as well.
#[derive(Debug, Default)]
pub struct EarlierRuns {
    bounds: RefCell<BTreeMap<String, u64>>,
    first: RefCell<BTreeMap<String, Rc<Simulated>>>,
}

impl EarlierRuns {
    /// Returns the cycle limit of a case, if it is known.
    pub(super) fn bound(&self, case: &str) -> Option<u64> {
        self.bounds.borrow().get(case).copied()
    }

    /// Keeps the cycle limit of a case, and returns it.
    pub(super) fn keep_bound(&self, case: &str, bound: u64) -> u64 {
        self.bounds.borrow_mut().insert(case.to_owned(), bound);
        bound
    }

    /// Returns the undisturbed run of a case with the policy under test.
    pub(super) fn first(
        &self,
        case: &str,
        run: impl FnOnce() -> Result<Simulated, Diagnostics>,
    ) -> Result<Rc<Simulated>, Diagnostics> {
        if let Some(first) = self.first.borrow().get(case) {
            return Ok(Rc::clone(first));
        }
        let first = Rc::new(run()?);
        self.first
            .borrow_mut()
            .insert(case.to_owned(), Rc::clone(&first));
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_belongs_to_its_case() {
        let earlier = EarlierRuns::default();
        assert_eq!(earlier.bound("one"), None);
        assert_eq!(earlier.keep_bound("one", 7), 7);
        assert_eq!(earlier.bound("one"), Some(7));
        assert_eq!(earlier.bound("two"), None);
    }
}
