//! An arbiter once it is built.

use warpweave_framework::{PolicyKind, State, Statistics};

use super::{Arbiter, ArbiterPolicy, OpenArbiter};

/// An arbiter that the allocator knows, without a dynamic call for each matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInArbiter {
    /// See [`RoundRobin`](super::RoundRobin).
    RoundRobin,
    /// See [`Islip`](super::Islip).
    Islip {
        /// See [`IslipSpec`](super::IslipSpec).
        iterations: u32,
    },
    /// See [`AgeBased`](super::AgeBased).
    AgeBased,
    /// See [`Fixed`](super::Fixed).
    Fixed,
}

/// An arbiter once it is built.
pub enum AnyArbiter {
    /// One that the allocator knows.
    BuiltIn(BuiltInArbiter),
    /// Any other.
    Open(OpenArbiter),
}

impl AnyArbiter {
    /// The policy `P`, which the allocator knows by the open trait alone.
    pub fn open<P: PolicyKind<Role = Arbiter>>(policy: impl ArbiterPolicy + 'static) -> Self {
        Self::Open(OpenArbiter::new(P::NAME, Box::new(policy)))
    }

    /// The built-in arbiter whose like decides what is no matching of inputs and outputs.
    pub(crate) fn like(&self) -> BuiltInArbiter {
        match self {
            Self::BuiltIn(arbiter) => *arbiter,
            Self::Open(_) => BuiltInArbiter::RoundRobin,
        }
    }

    /// Names the state for checkpoints, of an open arbiter.
    pub(crate) fn state(&mut self, state: &mut State<'_>) {
        if let Self::Open(arbiter) = self {
            state.part("arbiter", |state| arbiter.state(state));
        }
    }

    /// Reports what an open arbiter counted.
    pub(crate) fn statistics(&self, statistics: &mut Statistics<'_>) {
        if let Self::Open(arbiter) = self {
            arbiter.statistics(statistics);
        }
    }

    /// What the arbiter did against its promise, for which the run is to end.
    #[inline]
    pub(crate) fn broken(&self) -> Option<&str> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Open(arbiter) => arbiter.broken(),
        }
    }
}
