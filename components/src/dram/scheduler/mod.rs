//! Request order: the policy role that selects the next waiting request, and its built-in policies.
//!
//! ```text
//!   role.rs    the role, and what a channel tells of itself
//!   view.rs    what a policy sees: requests, banks, and which command a request needs from when on
//!   any.rs     what a policy is once built: one that the channel knows, or any other
//!   open.rs    the trait of policies of any crate, whose answers are checked
//!   fcfs.rs  fr_fcfs.rs  fr_fcfs_cap.rs  row_hit_first.rs  bank_round_robin.rs      built-in policies
//! ```
//!
//! A policy returns the earliest command and its cycle. A new policy is a file with a
//! specification, an `impl RequestOrderPolicy` and an `impl PolicyKind`, and a line in its crate's
//! registration. Built-in policies are one function each. They inspect banks and queues through the
//! view and change nothing.

mod any;
mod bank_round_robin;
mod fcfs;
mod fr_fcfs;
mod fr_fcfs_cap;
mod open;
mod role;
mod row_hit_first;
mod view;

use warpweave_framework::{Cycle, Id, Registry};

pub use any::{AnyRequestOrder, BuiltInOrder};
pub use bank_round_robin::{BankRoundRobin, BankRoundRobinSpec};
pub use fcfs::Fcfs;
pub use fr_fcfs::FrFcfs;
pub use fr_fcfs_cap::{FrFcfsCap, FrFcfsCapSpec};
pub use open::{OpenRequestOrder, RequestOrderPolicy};
pub use role::{RequestOrder, RequestOrderSite};
pub use row_hit_first::RowHitFirst;
pub use view::{View, WaitingRequest};

/// Registers the request orders defined in this folder.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<BankRoundRobin>();
    registry.register_policy::<Fcfs>();
    registry.register_policy::<FrFcfs>();
    registry.register_policy::<FrFcfsCap>();
    registry.register_policy::<RowHitFirst>();
}

/// Candidate for the next command of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    Nothing,
    /// Column command of a bank's active request.
    Active(Id),
    Activate(Id),
    Precharge(Id),
    Column(Id),
    /// Precharge of a row that the page policy closes.
    Close(u32),
    /// Precharge of a bank that is about to be refreshed.
    PrechargeForRefresh(u32),
    PrechargeAll,
    Refresh,
    RefreshBank(u32),
}

/// Earliest command found so far. Among commands legal in the same cycle, or already legal in the
/// first cycle, the smallest rank wins.
pub(crate) struct BestCommand {
    clock: Cycle,
    cycle: Cycle,
    rank: u64,
    choice: Candidate,
}

/// Offset added to the age of a request to rank it behind all others.
const BEHIND: u64 = 1 << 63;

impl BestCommand {
    pub(crate) fn new(clock: Cycle) -> Self {
        Self {
            clock,
            cycle: Cycle::MAX,
            rank: u64::MAX,
            choice: Candidate::Nothing,
        }
    }

    #[inline(always)]
    pub(crate) fn consider(&mut self, from: Cycle, rank: u64, choice: Candidate) {
        self.consider_ranked(from, || rank, choice);
    }

    /// Like [`BestCommand::consider`], but computes the rank only if it can matter.
    #[inline(always)]
    pub(crate) fn consider_ranked(
        &mut self,
        from: Cycle,
        rank: impl FnOnce() -> u64,
        choice: Candidate,
    ) {
        let cycle = from.max(self.clock);
        if cycle > self.cycle {
            return;
        }
        let rank = rank();
        if cycle < self.cycle || rank < self.rank {
            (self.cycle, self.rank, self.choice) = (cycle, rank, choice);
        }
    }

    pub(crate) fn take(self) -> (Cycle, Candidate) {
        (self.cycle, self.choice)
    }
}

/// Iterates over the indices of the set bits, lowest first.
#[inline(always)]
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}
