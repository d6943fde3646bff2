//! Replacement policy trait, implementable by any crate: the events and queries of a policy.

use warpweave_framework::{Instrumented, State, Stateful, Statistics};

use super::Order;
use crate::policy_contract::PolicyContract;

/// Replacement order of the lines of each set. Sets and ways are numbered from 0.
///
/// A way holds a line from [`installed`](Self::installed) until [`removed`](Self::removed), or
/// until another is installed in its place. Queries must not change state.
pub trait ReplacementPolicy: Stateful + Instrumented + Send {
    /// Records a use of the line in this way.
    fn used(&mut self, set: usize, way: usize);

    /// Records that a line was installed in this way, replacing its previous content. This counts
    /// as a use; `used` is not called for it.
    fn installed(&mut self, set: usize, way: usize);

    /// Records that the line in this way was dropped. The way is empty and will be filled before
    /// the next victim is selected.
    fn removed(&mut self, _set: usize, _way: usize) {}

    /// Sets the number of ways in use per set; these are the first ones. Ways beyond are empty and
    /// must not be chosen. All are in use before the first call; it is called again after a
    /// checkpoint is loaded.
    fn use_ways(&mut self, _ways: usize) {}

    /// Returns the victim way among those that may leave, or `None` if none may. Every way in use
    /// of the set holds a line. Those that may not leave are being filled, still answer requests,
    /// or are out of use. Any other result ends the run.
    fn victim(&self, set: usize, may_leave: &dyn Fn(usize) -> bool) -> Option<usize>;
}

/// Policy that the cache accesses only through [`ReplacementPolicy`]. Its results are checked.
#[derive(State, Statistics)]
pub struct OpenReplacement {
    #[state(flatten)]
    #[statistic(flatten)]
    policy: Box<dyn ReplacementPolicy>,
    #[state(skip)]
    ways: usize,
    #[state(skip)]
    promise: PolicyContract,
}

impl OpenReplacement {
    pub(super) fn new(name: &'static str, policy: Box<dyn ReplacementPolicy>, ways: usize) -> Self {
        Self {
            policy,
            ways,
            promise: PolicyContract::of(name),
        }
    }

    /// Returns the contract violation of the policy, if there was one.
    pub(super) fn broken(&self) -> Option<&str> {
        self.promise.broken()
    }
}

impl Order for OpenReplacement {
    fn used(&mut self, set: usize, way: usize) {
        self.policy.used(set, way);
    }

    fn installed(&mut self, set: usize, way: usize) {
        self.policy.installed(set, way);
    }

    fn removed(&mut self, set: usize, way: usize) {
        self.policy.removed(set, way);
    }

    fn use_ways(&mut self, ways: usize) {
        self.policy.use_ways(ways);
    }

    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let chosen = self.policy.victim(set, &may_leave);
        if chosen.is_some_and(|way| way < self.ways && may_leave(way)) {
            return chosen;
        }
        // Fallback victim used until the run ends, if the policy's choice was invalid.
        let right = (0..self.ways).find(|&way| may_leave(way));
        if chosen != right {
            self.promise.violate(|| match chosen {
                None => {
                    format!("chose no way of set {set}, although some of its lines may be evicted")
                }
                Some(way) if way < self.ways => {
                    format!("chose way {way} of set {set}, whose line must not be evicted now")
                }
                Some(way) => format!(
                    "chose way {way} of set {set}, but its ways are 0 to {}",
                    self.ways - 1
                ),
            });
        }
        right
    }
}
