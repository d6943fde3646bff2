//! The replacement policy as a trait: what a policy of any crate is told and asked.

use warpweave_framework::{State, Stateful, Statistics};

use super::Order;
use crate::policy_contract::PolicyContract;

/// The order in which the lines of each set leave. Sets and ways are numbered from 0.
///
/// A line is in a way from [`installed`](Self::installed) on, until [`removed`](Self::removed), or
/// until another is installed in its place. Being asked changes nothing.
pub trait ReplacementPolicy: Send {
    /// The line in this way was used.
    fn used(&mut self, set: usize, way: usize);

    /// A line was put into this way, in place of what was there. That counts as a use; `used` is not
    /// called for it.
    fn installed(&mut self, set: usize, way: usize);

    /// The line in this way was dropped; the way is empty and will be filled before a victim is
    /// asked for.
    fn removed(&mut self, _set: usize, _way: usize) {}

    /// So many ways of each set are in use from here on, the first ones; those beyond hold nothing and may not leave. All are
    /// in use before this is called, and it is called again when a checkpoint has been loaded.
    fn use_ways(&mut self, _ways: usize) {}

    /// The way whose line leaves next: one that may leave, or none when none may. Every way of the
    /// set in use holds a line; those that may not leave are being filled, still answer requests, or are out of use. Another
    /// answer ends the run.
    fn victim(&self, set: usize, may_leave: &dyn Fn(usize) -> bool) -> Option<usize>;

    /// Names the state for checkpoints: all that it was told and remembers. A policy without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// A policy that the cache knows by [`ReplacementPolicy`] alone. Its answers are checked.
pub struct OpenReplacement {
    policy: Box<dyn ReplacementPolicy>,
    ways: usize,
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

    pub(super) fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.policy.statistics(statistics);
    }

    /// What the policy did against its promise.
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
        // What the cache goes on with until the run ends, if this was wrong.
        let right = (0..self.ways).find(|&way| may_leave(way));
        if chosen != right {
            self.promise.violate(|| match chosen {
                None => format!("chose no way of set {set}, although lines of it may leave"),
                Some(way) if way < self.ways => {
                    format!("chose way {way} of set {set}, whose line may not leave now")
                }
                Some(way) => format!(
                    "chose way {way} of set {set}, which has the ways 0 to {}",
                    self.ways - 1
                ),
            });
        }
        right
    }
}

impl Stateful for OpenReplacement {
    fn state(&mut self, state: &mut State<'_>) {
        self.policy.state(state);
    }
}
