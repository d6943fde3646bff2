//! What an order of memory requests sees.

use warpweave_framework::{Cycle, Id, IdTable};

use super::{Candidate, bits};
use crate::dram::banks::Banks;
use crate::dram::queue::{Entry, Line, Queue};

/// A request that waits for its next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRequest {
    /// What names the bytes among all of the channel.
    pub access: u64,
    /// Bank of the channel.
    pub bank: u32,
    /// Row of the bank.
    pub row: u32,
    /// Burst within the row.
    pub column: u32,
    /// Write or read.
    pub write: bool,
    /// Order of acceptance, or into the bank queues: smaller is older. No two are equal.
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

/// What a policy sees of its channel: the requests it chooses from, and the banks.
pub struct View<'a> {
    pub(crate) banks: &'a Banks,
    pub(crate) entries: &'a IdTable<Entry>,
    /// The queue to choose from, and whether its requests are writes if they are of one kind.
    pub(crate) queue: &'a Queue,
    pub(crate) write: bool,
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
    /// The first cycle to be decided; no command is given before it.
    pub fn now(&self) -> Cycle {
        self.clock
    }

    /// The requests to choose from: those of the bank queues, or reads or writes alone, as the write
    /// policy says; bank by bank, those of a bank from the oldest on. Requests whose ACT has been
    /// issued are not among them.
    pub fn waiting(&self) -> impl Iterator<Item = Id> {
        bits(self.queue.banks).flat_map(|bank| {
            let oldest = self.queue.lines[bank as usize].oldest;
            std::iter::successors(oldest, |id| self.entries[*id].next)
        })
    }

    /// Whether there is nothing to choose from.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.banks == 0
    }

    /// What a request wants; nothing for the id of none that the channel holds.
    pub fn request(&self, id: Id) -> Option<WaitingRequest> {
        self.entries.get(id).map(WaitingRequest::from)
    }

    /// Banks of the channel.
    pub fn banks(&self) -> u32 {
        self.banks.count()
    }

    /// The row that is open in a bank, if one is.
    ///
    /// # Panics
    /// When there is no such bank.
    pub fn row(&self, bank: u32) -> Option<u32> {
        self.banks.row(bank)
    }

    /// Column commands of a bank since its row was opened.
    ///
    /// # Panics
    /// When there is no such bank.
    pub fn columns(&self, bank: u32) -> u32 {
        self.columns[bank as usize]
    }

    /// Whether a request whose ACT has been issued still waits for its column command in this bank; its
    /// row is not closed before.
    pub fn is_active(&self, bank: u32) -> bool {
        bank < u64::BITS && self.active >> bank & 1 != 0
    }

    /// The bank that got the last command of a request.
    pub fn served_last(&self) -> u32 {
        self.turn
    }

    /// The first cycle, not before [`now`](Self::now), in which the command that the request needs next
    /// may be given: ACT where its bank is closed, a read or write where its row is open, PRE where
    /// another one is. Nothing where the command may not be given before something else has happened:
    /// in a bank in which nothing new may start because of a refresh, and where the row of an
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

    /// The command that the request needs next.
    pub(super) fn choice(&self, id: Id) -> Candidate {
        let entry = &self.entries[id];
        match self.banks.row(entry.bank) {
            None => Candidate::Activate(id),
            Some(row) if row == entry.row => Candidate::Column(id),
            Some(_) => Candidate::Precharge(id),
        }
    }

    /// Closed banks with requests.
    pub(super) fn closed(&self) -> impl Iterator<Item = u32> {
        bits(self.queue.banks & !self.banks.open() & !self.barred)
    }

    /// Open banks with requests.
    pub(super) fn open(&self) -> impl Iterator<Item = u32> {
        bits(self.queue.banks & self.banks.open() & !self.barred)
    }

    #[inline(always)]
    pub(super) fn age(&self, id: Id) -> u64 {
        self.entries[id].age
    }

    /// The oldest request for a bank that has any.
    #[inline(always)]
    pub(super) fn oldest(&self, bank: u32) -> Id {
        let oldest = self.queue.lines[bank as usize].oldest;
        oldest.expect("the queue's banks have requests")
    }

    /// The age of the oldest request and its bank, if any waits.
    pub(super) fn oldest_of_all(&self) -> Option<(u64, u32)> {
        let banks = bits(self.queue.banks);
        banks.map(|bank| (self.age(self.oldest(bank)), bank)).min()
    }

    /// The requests for a bank.
    #[inline(always)]
    pub(super) fn line(&self, bank: u32) -> &Line {
        &self.queue.lines[bank as usize]
    }

    /// Requests for a bank's open row that are the oldest of their kind; the first is the oldest.
    #[inline(always)]
    pub(super) fn hits(&self, bank: u32) -> impl Iterator<Item = Id> {
        let line = &self.queue.lines[bank as usize];
        [line.hit, line.other_hit].into_iter().flatten()
    }

    /// The oldest request that needs another row than the open one, unless that one is needed by a
    /// request whose ACT has been issued.
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
