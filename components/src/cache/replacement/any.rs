//! Built replacement policy, either known to the cache or behind the open trait.

use warpweave_framework::{Instrumented, PolicyContext, PolicyKind, State, Statistics};

use super::{
    BitPlru, Fifo, Lfu, Lru, OpenReplacement, Order, PseudoLru, Random, Replacement,
    ReplacementPolicy, Srrip,
};

/// Built replacement policy: one of the known types or an open one.
#[derive(State)]
pub enum AnyReplacement {
    /// Least recently used; see [`Lru`] for details.
    Lru(Lru),
    /// First in, first out; see [`Fifo`].
    Fifo(Fifo),
    /// Tree-based pseudo-LRU; see [`PseudoLru`] for details.
    PseudoLru(PseudoLru),
    /// Pseudo-LRU with one bit per way; see [`BitPlru`].
    BitPlru(BitPlru),
    /// Random choice of the victim; see [`Random`].
    Random(Random),
    /// Static re-reference interval prediction; see [`Srrip`].
    Srrip(Srrip),
    /// Least frequently used; see [`Lfu`] for details.
    Lfu(Lfu),
    /// Any other policy, called through the open trait.
    Open(OpenReplacement),
}

/// Evaluates an expression on the policy, whatever its type.
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
    /// Wraps policy `P`, which the cache accesses only through the open trait.
    pub fn open<P: PolicyKind<Role = Replacement>>(
        policy: impl ReplacementPolicy + 'static,
        context: &PolicyContext<'_, Replacement>,
    ) -> Self {
        let ways = context.site.ways as usize;
        Self::Open(OpenReplacement::new(P::NAME, Box::new(policy), ways))
    }

    /// Records a use of the line in this way.
    #[inline]
    pub(crate) fn used(&mut self, set: usize, way: usize) {
        with!(self, policy => policy.used(set, way));
    }

    /// Records that a line was installed in this way, replacing its previous content.
    #[inline]
    pub(crate) fn installed(&mut self, set: usize, way: usize) {
        with!(self, policy => policy.installed(set, way));
    }

    /// Records that the line in this way was dropped; the way is now empty.
    #[inline]
    pub(crate) fn removed(&mut self, set: usize, way: usize) {
        with!(self, policy => policy.removed(set, way));
    }

    /// Sets the number of ways in use per set; these are the first ones.
    pub(crate) fn use_ways(&mut self, ways: usize) {
        with!(self, policy => policy.use_ways(ways));
    }

    /// Returns the victim way among those that may leave, if there is one.
    #[inline]
    pub(crate) fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        with!(self, policy => policy.victim(set, may_leave))
    }

    /// Returns the contract violation of the policy, which ends the run, if there was one.
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
