//! Which of the waiting requests gets the next command.
//!
//! A policy is one file with one function: what it sees is a [`View`], what it answers is the
//! earliest command and its cycle. A new policy is a new file and a new line in [`Scheduler`].
//!
//! The files are `fcfs.rs`, `fr_fcfs.rs`, `fr_fcfs_cap.rs`, `row_hit_first.rs` and
//! `bank_round_robin.rs`. They look at banks and queues through the view and change nothing.

mod bank_round_robin;
mod fcfs;
mod fr_fcfs;
mod fr_fcfs_cap;
mod row_hit_first;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id, IdTable};

use crate::dram::banks::Banks;
use crate::dram::queue::{Entry, Queue};

/// The scheduling policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Scheduler {
    /// Strictly in order: a request gets its first command when the one before it has its last.
    Fcfs,
    /// Of the commands that are legal, the oldest request's, whatever it is: a precharge ranks
    /// equal to a row hit (Ramulator's FR-FCFS).
    #[default]
    FrFcfs,
    /// FR-FCFS in which a row that has served more than `columns` accesses yields to every other
    /// legal command (Ramulator 1's FRFCFS_Cap, there 16).
    FrFcfsCap {
        /// Column commands after which an open row is no longer preferred.
        columns: u32,
    },
    /// FR-FCFS that prefers row hits and never precharges a row that a waiting request needs
    /// (Ramulator's FRFCFS_PriorHit and FRFCFS-RowHit).
    RowHitFirst,
    /// Banks in turn, within a bank the oldest request with a legal command; the oldest may
    /// close a row that others need once it has served `hits` accesses (DRAMsim3, there 4).
    BankRoundRobin {
        /// Column commands a row may serve while the bank's oldest request needs another row.
        hits: u32,
    },
}

impl Scheduler {
    /// The earliest command for a waiting request, its cycle not before the view's clock.
    #[inline]
    pub(crate) fn next(self, view: &View<'_>) -> (Cycle, Choice) {
        match self {
            Self::Fcfs => fcfs::next(view),
            Self::FrFcfs => fr_fcfs::next(view),
            Self::FrFcfsCap { columns } => fr_fcfs_cap::next(view, columns),
            Self::RowHitFirst => row_hit_first::next(view),
            Self::BankRoundRobin { hits } => bank_round_robin::next(view, hits),
        }
    }

    /// Whether a request leaves its queue with its ACT and then goes first.
    pub(crate) fn has_active_requests(self) -> bool {
        !matches!(self, Self::BankRoundRobin { .. })
    }
}

/// A command that can be next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Nothing,
    /// The column command of a bank's active request.
    Active(Id),
    Activate(Id),
    Precharge(Id),
    Column(Id),
    /// Closes a row that the page policy does not want to keep.
    Close(u32),
    /// Closes the row of the bank to be refreshed.
    PrechargeForRefresh(u32),
    PrechargeAll,
    Refresh,
    RefreshBank(u32),
}

/// What a policy sees.
pub(crate) struct View<'a> {
    pub(crate) banks: &'a Banks,
    pub(crate) entries: &'a IdTable<Entry>,
    /// The queue to choose from.
    pub(crate) queue: &'a Queue,
    /// Banks with a request whose ACT has been issued.
    pub(crate) active: u64,
    /// Banks in which nothing new may start.
    pub(crate) barred: u64,
    /// First cycle to be decided.
    pub(crate) clock: Cycle,
    /// Column commands of each bank since its ACT.
    pub(crate) columns: &'a [u32],
    /// The bank served last.
    pub(crate) turn: u32,
}

impl View<'_> {
    /// Closed banks with requests.
    fn closed(&self) -> impl Iterator<Item = u32> {
        bits(self.queue.banks & !self.banks.open() & !self.barred)
    }

    /// Open banks with requests.
    fn open(&self) -> impl Iterator<Item = u32> {
        bits(self.queue.banks & self.banks.open() & !self.barred)
    }

    fn age(&self, id: Id) -> u64 {
        self.entries[id].age
    }

    /// The oldest request for a bank that has any.
    fn oldest(&self, bank: u32) -> Id {
        let oldest = self.queue.lines[bank as usize].oldest;
        oldest.expect("the queue's banks have requests")
    }

    /// The age of the oldest request and its bank, if any waits.
    fn oldest_of_all(&self) -> Option<(u64, u32)> {
        let banks = bits(self.queue.banks);
        banks.map(|bank| (self.age(self.oldest(bank)), bank)).min()
    }

    /// Requests for a bank's open row that are the oldest of their kind; the first is the oldest.
    #[inline]
    fn hits(&self, bank: u32) -> impl Iterator<Item = Id> {
        let line = &self.queue.lines[bank as usize];
        [line.hit, line.other_hit].into_iter().flatten()
    }

    /// The oldest request that needs another row than the open one, unless that one is needed by a
    /// request whose ACT has been issued.
    #[inline]
    fn miss(&self, bank: u32) -> Option<Id> {
        let miss = self.queue.lines[bank as usize].miss;
        miss.filter(|_| self.active >> bank & 1 == 0)
    }

    #[inline]
    fn column_from(&self, bank: u32, id: Id) -> Cycle {
        self.banks.column_from(bank, self.entries[id].write)
    }
}

/// The earliest command so far; of those that are legal in the same cycle, or already in the
/// first one, the one with the smallest rank.
pub(crate) struct Best {
    clock: Cycle,
    cycle: Cycle,
    rank: u64,
    choice: Choice,
}

/// Added to the age of a request, ranks it behind all others.
const BEHIND: u64 = 1 << 63;

impl Best {
    pub(crate) fn new(clock: Cycle) -> Self {
        Self {
            clock,
            cycle: Cycle::MAX,
            rank: u64::MAX,
            choice: Choice::Nothing,
        }
    }

    #[inline]
    pub(crate) fn consider(&mut self, from: Cycle, rank: u64, choice: Choice) {
        let cycle = from.max(self.clock);
        if (cycle, rank) < (self.cycle, self.rank) {
            (self.cycle, self.rank, self.choice) = (cycle, rank, choice);
        }
    }

    pub(crate) fn take(self) -> (Cycle, Choice) {
        (self.cycle, self.choice)
    }
}

/// The numbers of the set bits, lowest first.
#[inline]
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}
