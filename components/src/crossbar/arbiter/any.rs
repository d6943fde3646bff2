//! Built arbiter, either known to the allocator or behind the open trait.

use warpweave_framework::{PolicyKind, State, Statistics};

use super::{Arbiter, ArbiterPolicy, OpenArbiter};

/// Arbiter known to the allocator, evaluated without a dynamic call per matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInArbiter {
    /// Round-robin arbiter; see [`RoundRobin`](super::RoundRobin) for its rules.
    RoundRobin,
    /// Iterative iSLIP arbiter; see [`Islip`](super::Islip) for its rules.
    Islip {
        /// Iterations per matching; see [`IslipSpec`](super::IslipSpec) for the range.
        iterations: u32,
    },
    /// Arbiter that prefers the oldest packet; see [`AgeBased`](super::AgeBased).
    AgeBased,
    /// Arbiter with fixed port priorities; see [`Fixed`](super::Fixed).
    Fixed,
}

/// Built arbiter: a known one or an open one.
#[derive(State)]
pub enum AnyArbiter {
    /// Built-in arbiter that the allocator knows.
    #[state(skip)]
    BuiltIn(BuiltInArbiter),
    /// Any other arbiter, called through the open trait.
    #[state(part, rename = "arbiter")]
    Open(OpenArbiter),
}

impl AnyArbiter {
    /// Wraps policy `P`, which the allocator accesses only through the open trait.
    pub fn open<P: PolicyKind<Role = Arbiter>>(policy: impl ArbiterPolicy + 'static) -> Self {
        Self::Open(OpenArbiter::new(P::NAME, Box::new(policy)))
    }

    /// Returns the built-in arbiter whose rules apply to decisions other than input-output
    /// matching. This is round robin for an open arbiter.
    pub(crate) fn like(&self) -> BuiltInArbiter {
        match self {
            Self::BuiltIn(arbiter) => *arbiter,
            Self::Open(_) => BuiltInArbiter::RoundRobin,
        }
    }

    /// Reports statistics of an open arbiter.
    pub(crate) fn statistics(&self, statistics: &mut Statistics<'_>) {
        if let Self::Open(arbiter) = self {
            arbiter.statistics(statistics);
        }
    }

    /// Returns the contract violation of the arbiter, which ends the run, if there was one.
    #[inline]
    pub(crate) fn broken(&self) -> Option<&str> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Open(arbiter) => arbiter.broken(),
        }
    }
}
