//! Operands of instructions that synchronise lanes or wavefronts: exchanges, votes, barriers.

use super::{Pred, Src};

/// Lane exchange pattern of a shuffle.
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
    /// Destination: predicate register, or general register for a ballot.
    pub(crate) d: u16,
    pub(crate) a: Pred,
    /// Lane mask of `.sync`; `None` for the old form.
    pub(crate) members: Option<Src>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    /// Waits until the other threads arrive.
    Wait,
    /// Announces arrival and continues without waiting.
    Arrive,
    /// Waits, and then returns the number of threads with a true predicate.
    Count,
    /// Waits, and then returns true if all predicates are true.
    All,
    /// Waits, and then returns true if any predicate is true.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) id: Src,
    /// Number of participating threads; `None` for the whole work-group.
    pub(crate) threads: Option<Src>,
    /// Destination: register of the count, or predicate.
    pub(crate) d: u16,
    pub(crate) p: Pred,
}
