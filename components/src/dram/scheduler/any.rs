//! An order of memory requests once it is built.

use warpweave_framework::{Cycle, PolicyContext, PolicyKind, State, Statistics};

use super::{
    Candidate, OpenRequestOrder, RequestOrder, RequestOrderPolicy, View, WaitingRequest,
    bank_round_robin, fcfs, fr_fcfs, fr_fcfs_cap, row_hit_first,
};
use crate::dram::banks::Command;

/// An order that a channel knows, without a dynamic call for each command. None has a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInOrder {
    /// See [`Fcfs`](super::Fcfs).
    Fcfs,
    /// See [`FrFcfs`](super::FrFcfs).
    FrFcfs,
    /// See [`FrFcfsCap`](super::FrFcfsCap).
    FrFcfsCap {
        /// See [`FrFcfsCapSpec`](super::FrFcfsCapSpec).
        columns: u32,
    },
    /// See [`RowHitFirst`](super::RowHitFirst).
    RowHitFirst,
    /// See [`BankRoundRobin`](super::BankRoundRobin).
    BankRoundRobin {
        /// See [`BankRoundRobinSpec`](super::BankRoundRobinSpec).
        hits: u32,
    },
}

impl BuiltInOrder {
    #[inline]
    fn next(self, view: &View<'_>) -> (Cycle, Candidate) {
        match self {
            Self::Fcfs => fcfs::next(view),
            Self::FrFcfs => fr_fcfs::next(view),
            Self::FrFcfsCap { columns } => fr_fcfs_cap::next(view, columns),
            Self::RowHitFirst => row_hit_first::next(view),
            Self::BankRoundRobin { hits } => bank_round_robin::next(view, hits),
        }
    }
}

/// An order of memory requests once it is built.
pub enum AnyRequestOrder {
    /// One that the channel knows.
    BuiltIn(BuiltInOrder),
    /// Any other.
    Open(OpenRequestOrder),
}

impl AnyRequestOrder {
    /// The policy `P`, which the channel knows by the open trait alone.
    pub fn open<P: PolicyKind<Role = RequestOrder>>(
        policy: impl RequestOrderPolicy + 'static,
        context: &PolicyContext<'_, RequestOrder>,
    ) -> Self {
        let channel = context.site.channel;
        Self::Open(OpenRequestOrder::new(P::NAME, Box::new(policy), channel))
    }

    /// The earliest command for a waiting request, its cycle not before the view's clock.
    #[inline]
    pub(crate) fn next(&self, view: &View<'_>) -> (Cycle, Candidate) {
        match self {
            Self::BuiltIn(order) => order.next(view),
            Self::Open(order) => order.next(view),
        }
    }

    /// Whether a request leaves its queue with its ACT and then goes first.
    #[inline]
    pub(crate) fn has_active_requests(&self) -> bool {
        !matches!(self, Self::BuiltIn(BuiltInOrder::BankRoundRobin { .. }))
    }

    /// Whether the policy wants to hear of commands.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// A request got a command.
    pub(crate) fn issued(&mut self, cycle: Cycle, command: Command, request: &WaitingRequest) {
        if let Self::Open(order) = self {
            order.issued(cycle, command, request);
        }
    }

    /// Names the state for checkpoints.
    pub(crate) fn state(&mut self, state: &mut State<'_>) {
        if let Self::Open(order) = self {
            state.part("order", |state| order.state(state));
        }
    }

    /// Reports what an open policy counted.
    pub(crate) fn statistics(&self, statistics: &mut Statistics<'_>) {
        if let Self::Open(order) = self {
            order.statistics(statistics);
        }
    }

    /// What the policy did against its promise, for which the run is to end.
    #[inline]
    pub fn broken(&self) -> Option<&str> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Open(order) => order.broken(),
        }
    }
}
