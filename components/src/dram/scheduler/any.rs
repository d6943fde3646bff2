//! Request order after it has been built.

use warpweave_framework::{Cycle, PolicyContext, PolicyKind, State, Statistics};

use super::{
    Candidate, OpenRequestOrder, RequestOrder, RequestOrderPolicy, View, WaitingRequest,
    bank_round_robin, fcfs, fr_fcfs, fr_fcfs_cap, row_hit_first,
};
use crate::dram::banks::Command;

/// Built-in order, evaluated without a dynamic call per command. None of them has state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInOrder {
    /// First come, first served; see [`Fcfs`](super::Fcfs).
    Fcfs,
    /// First ready, first come, first served; see [`FrFcfs`](super::FrFcfs).
    FrFcfs,
    /// FR-FCFS with a limit on row hits; see [`FrFcfsCap`](super::FrFcfsCap).
    FrFcfsCap {
        /// Limit on column commands; see [`FrFcfsCapSpec`](super::FrFcfsCapSpec).
        columns: u32,
    },
    /// Row hits before all others; see [`RowHitFirst`](super::RowHitFirst).
    RowHitFirst,
    /// Banks in round-robin order; see [`BankRoundRobin`](super::BankRoundRobin).
    BankRoundRobin {
        /// Limit on row hits; see [`BankRoundRobinSpec`](super::BankRoundRobinSpec).
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

/// Request order after it has been built: a built-in one or an open policy.
#[derive(State)]
pub enum AnyRequestOrder {
    /// Built-in order with static dispatch.
    #[state(skip)]
    BuiltIn(BuiltInOrder),
    /// Any other policy, called through the open trait.
    #[state(part, rename = "order")]
    Open(OpenRequestOrder),
}

impl AnyRequestOrder {
    /// Wraps policy `P` so that the channel uses it only through the open trait.
    pub fn open<P: PolicyKind<Role = RequestOrder>>(
        policy: impl RequestOrderPolicy + 'static,
        context: &PolicyContext<'_, RequestOrder>,
    ) -> Self {
        let channel = context.site.channel;
        Self::Open(OpenRequestOrder::new(P::NAME, Box::new(policy), channel))
    }

    /// Returns the earliest command for a waiting request. Its cycle is not before the view's
    /// clock.
    #[inline]
    pub(crate) fn next(&self, view: &View<'_>) -> (Cycle, Candidate) {
        match self {
            Self::BuiltIn(order) => order.next(view),
            Self::Open(order) => order.next(view),
        }
    }

    /// True if a request leaves its queue with its ACT and then has priority.
    #[inline]
    pub(crate) fn has_active_requests(&self) -> bool {
        !matches!(self, Self::BuiltIn(BuiltInOrder::BankRoundRobin { .. }))
    }

    /// True if the policy must be notified of commands.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Notifies the policy that a request got a command.
    pub(crate) fn issued(&mut self, cycle: Cycle, command: Command, request: &WaitingRequest) {
        if let Self::Open(order) = self {
            order.issued(cycle, command, request);
        }
    }

    /// Reports the counters of an open policy.
    pub(crate) fn statistics(&self, statistics: &mut Statistics<'_>) {
        if let Self::Open(order) = self {
            order.statistics(statistics);
        }
    }

    /// Returns the contract violation of the policy, if any, which ends the run.
    #[inline]
    pub fn broken(&self) -> Option<&str> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Open(order) => order.broken(),
        }
    }
}
