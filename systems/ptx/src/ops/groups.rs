//! Instructions in which lanes or wavefronts meet: exchanges, votes, barriers.

use super::{Pred, Src};

/// Which way a value's lanes are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    pub(crate) mode: ShuffleMode,
    pub(crate) d: u16,
    pub(crate) p: u16,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote {
    pub(crate) mode: VoteMode,
    /// Predicate register, or general register for a ballot.
    pub(crate) d: u16,
    pub(crate) a: Pred,
    /// Lanes named by `.sync`; `None` for the old form.
    pub(crate) members: Option<Src>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    /// Wait for the others.
    Wait,
    /// Announce arrival and go on.
    Arrive,
    /// Wait, then receive how many threads' predicates held.
    Count,
    /// Wait, then receive whether all did.
    All,
    /// Wait, then receive whether any did.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) id: Src,
    /// Threads that take part; `None` for all of the work-group.
    pub(crate) threads: Option<Src>,
    /// Register of the count, or predicate.
    pub(crate) d: u16,
    pub(crate) p: Pred,
}
