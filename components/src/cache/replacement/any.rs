//! A replacement policy once it is built.

use warpweave_framework::{Instrumented, PolicyContext, PolicyKind, State, Statistics};

use super::{
    BitPlru, Fifo, Lfu, Lru, OpenReplacement, Order, PseudoLru, Random, Replacement,
    ReplacementPolicy, Srrip,
};

/// A replacement policy once it is built.
#[derive(State)]
pub enum AnyReplacement {
    /// See [`Lru`].
    Lru(Lru),
    /// See [`Fifo`].
    Fifo(Fifo),
    /// See [`PseudoLru`].
    PseudoLru(PseudoLru),
    /// See [`BitPlru`].
    BitPlru(BitPlru),
    /// See [`Random`].
    Random(Random),
    /// See [`Srrip`].
    Srrip(Srrip),
    /// See [`Lfu`].
    Lfu(Lfu),
    /// Any other.
    Open(OpenReplacement),
}

/// Does the same with the policy, whichever it is.
macro_rules! with {
    ($any:expr, $policy:ident => $what:expr) => {
        match $any {
            Self::Lru($policy) => $what,
            Self::Fifo($policy) => $what,
            Self::PseudoLru($policy) => $what,
            Self::BitPlru($policy) => $what,
            Self::Random($policy) => $what,
            Self::Srrip($policy) => $what,
            Self::Lfu($policy) => $what,
            Self::Open($policy) => $what,
        }
    };
}

impl AnyReplacement {
    /// The policy `P`, which the cache knows by the open trait alone.
    pub fn open<P: PolicyKind<Role = Replacement>>(
        policy: impl ReplacementPolicy + 'static,
        context: &PolicyContext<'_, Replacement>,
    ) -> Self {
        let ways = context.site.ways as usize;
        Self::Open(OpenReplacement::new(P::NAME, Box::new(policy), ways))
    }

    /// The line in this way was used.
    #[inline]
    pub(crate) fn used(&mut self, set: usize, way: usize) {
        with!(self, policy => policy.used(set, way));
    }

    /// A line was put into this way, in place of what was there.
    #[inline]
    pub(crate) fn installed(&mut self, set: usize, way: usize) {
        with!(self, policy => policy.installed(set, way));
    }

    /// The line in this way was dropped; the way is empty.
    #[inline]
    pub(crate) fn removed(&mut self, set: usize, way: usize) {
        with!(self, policy => policy.removed(set, way));
    }

    /// So many ways of each set are in use from here on, the first ones.
    pub(crate) fn use_ways(&mut self, ways: usize) {
        with!(self, policy => policy.use_ways(ways));
    }

    /// The way whose line leaves next among those that may, if any may.
    #[inline]
    pub(crate) fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        with!(self, policy => policy.victim(set, may_leave))
    }

    /// What the policy did against its promise, for which the run is to end.
    #[inline]
    pub(crate) fn broken(&self) -> Option<&str> {
        match self {
            Self::Open(policy) => policy.broken(),
            _ => None,
        }
    }
}

impl Instrumented for AnyReplacement {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        if let Self::Open(policy) = self {
            policy.statistics(statistics);
        }
    }
}
