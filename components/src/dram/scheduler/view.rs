//! View of a channel that request orders decide on.

use warpweave_framework::{Cycle, Id, IdTable};

use super::{Candidate, bits};
use crate::dram::banks::Banks;
use crate::dram::queue::{Entry, Line, Queue};

/// A request waiting for its next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRequest {
    /// Number of the access within the channel, which identifies its bytes.
    pub access: u64,
    pub bank: u32,
    pub row: u32,
    /// Index of the burst within the row.
    pub column: u32,
    /// True for a write, false for a read.
    pub write: bool,
    /// Sequence number of acceptance, or of the move to a bank queue. Smaller is older, and no two
    /// are equal.
    pub age: u64,
}

impl From<&Entry> for WaitingRequest {
    fn from(entry: &Entry) -> Self {
        Self {
            access: entry.access,
            bank: entry.bank,
            row: entry.row,
            column: entry.column,
            write: entry.write,
            age: entry.age,
        }
    }
}

/// View of a channel for policies: the requests to choose from, and the banks.
pub struct View<'a> {
    pub(crate) banks: &'a Banks,
    pub(crate) entries: &'a IdTable<Entry>,
    /// Queue to choose from, and the kind of its requests (true for writes) unless it is mixed.
    pub(crate) queue: &'a Queue,
    pub(crate) write: bool,
    /// Mask of banks with a request whose ACT has been issued.
    pub(crate) active: u64,
    /// Mask of banks in which no new request may start.
    pub(crate) barred: u64,
    /// First cycle that is not decided yet.
    pub(crate) clock: Cycle,
    /// Number of column commands of each bank since its ACT.
    pub(crate) columns: &'a [u32],
    /// Bank that received the last scheduled command.
    pub(crate) turn: u32,
}

impl View<'_> {
    /// Returns the first undecided cycle. No command is issued before it.
    pub fn now(&self) -> Cycle {
        self.clock
    }

    /// Iterates over the requests to choose from: those of the bank queues, or only reads or only
    /// writes according to the drain policy. They are ordered by bank, and oldest first within a
    /// bank. Requests whose ACT has been issued are not included.
    pub fn waiting(&self) -> impl Iterator<Item = Id> {
        bits(self.queue.banks).flat_map(|bank| {
            let oldest = self.queue.lines[bank as usize].oldest;
            std::iter::successors(oldest, |id| self.entries[*id].next)
        })
    }

    /// True if there is no request to choose from.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.banks == 0
    }

    /// Returns the request with this id, or `None` if the channel holds no such request.
    pub fn request(&self, id: Id) -> Option<WaitingRequest> {
        self.entries.get(id).map(WaitingRequest::from)
    }

    /// Returns the number of banks in the channel.
    pub fn banks(&self) -> u32 {
        self.banks.count()
    }

    /// Returns the row that is open in a bank, if any.
    ///
    /// # Panics
    /// Panics if there is no such bank.
    pub fn row(&self, bank: u32) -> Option<u32> {
        self.banks.row(bank)
    }

    /// Returns the number of column commands of a bank since its row was opened.
    ///
    /// # Panics
    /// Panics if there is no such bank.
    pub fn columns(&self, bank: u32) -> u32 {
        self.columns[bank as usize]
    }

    /// True if a request whose ACT has been issued still waits for its column command in this bank.
    /// Until then its row is not closed.
    pub fn is_active(&self, bank: u32) -> bool {
        bank < u64::BITS && self.active >> bank & 1 != 0
    }

    /// Returns the bank that received the last command of a request.
    pub fn served_last(&self) -> u32 {
        self.turn
    }

    /// Returns the first cycle, not before [`now`](Self::now), in which the next command of the
    /// request is legal. That command is ACT if its bank is closed, a read or write if its row is
    /// open, and PRE if another row is open. Returns `None` if the command must wait for a state
    /// change. This happens if a refresh blocks the bank, or if the row of an
    /// [active](Self::is_active) request would be closed.
    pub fn earliest(&self, id: Id) -> Option<Cycle> {
        let entry = self.entries.get(id)?;
        let bank = entry.bank;
        if self.barred >> bank & 1 != 0 {
            return None;
        }
        let from = match self.banks.row(bank) {
            None => self.banks.act_from(bank),
            Some(row) if row == entry.row => self.column_from(bank, id),
            Some(_) if self.is_active(bank) => return None,
            Some(_) => self.banks.precharge_from(bank),
        };
        Some(from.max(self.clock))
    }

    /// Returns the command that the request needs next.
    pub(super) fn choice(&self, id: Id) -> Candidate {
        let entry = &self.entries[id];
        match self.banks.row(entry.bank) {
            None => Candidate::Activate(id),
            Some(row) if row == entry.row => Candidate::Column(id),
            Some(_) => Candidate::Precharge(id),
        }
    }

    /// Iterates over the closed banks that have waiting requests.
    pub(super) fn closed(&self) -> impl Iterator<Item = u32> {
        bits(self.queue.banks & !self.banks.open() & !self.barred)
    }

    /// Iterates over the open banks that have waiting requests.
    pub(super) fn open(&self) -> impl Iterator<Item = u32> {
        bits(self.queue.banks & self.banks.open() & !self.barred)
    }

    #[inline(always)]
    pub(super) fn age(&self, id: Id) -> u64 {
        self.entries[id].age
    }

    /// Returns the oldest request of a bank, which must have one.
    #[inline(always)]
    pub(super) fn oldest(&self, bank: u32) -> Id {
        let oldest = self.queue.lines[bank as usize].oldest;
        oldest.expect("banks in the queue's list have requests")
    }

    /// Returns the age of the oldest request and its bank, if any request waits.
    pub(super) fn oldest_of_all(&self) -> Option<(u64, u32)> {
        let banks = bits(self.queue.banks);
        banks.map(|bank| (self.age(self.oldest(bank)), bank)).min()
    }

    /// Returns the list of requests for a bank.
    #[inline(always)]
    pub(super) fn line(&self, bank: u32) -> &Line {
        &self.queue.lines[bank as usize]
    }

    /// Iterates over the oldest read and the oldest write to the bank's open row, oldest first.
    #[inline(always)]
    pub(super) fn hits(&self, bank: u32) -> impl Iterator<Item = Id> {
        let line = &self.queue.lines[bank as usize];
        [line.hit, line.other_hit].into_iter().flatten()
    }

    /// Returns the oldest request that needs a row other than the open one. Returns `None` if a
    /// request whose ACT has been issued still needs the open row.
    #[inline(always)]
    pub(super) fn miss(&self, bank: u32) -> Option<Id> {
        let miss = self.queue.lines[bank as usize].miss;
        miss.filter(|_| self.active >> bank & 1 == 0)
    }

    #[inline(always)]
    pub(super) fn column_from(&self, bank: u32, id: Id) -> Cycle {
        let write = if self.queue.is_mixed() {
            self.entries[id].write
        } else {
            self.write
        };
        self.banks.column_from(bank, write)
    }
}
