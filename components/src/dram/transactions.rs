//! Requests between acceptance and response, and the order among reads.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id, IdTable, State};
use warpweave_random::GAMMA;

use crate::memory::{LINE_BYTES_MAX, MemRequest};

/// A request that is accepted but not yet answered.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Transaction {
    pub(super) request: MemRequest,
    pub(super) port: u32,
    pub(super) accepted: Cycle,
    /// Number of accesses whose data have not arrived yet.
    pub(super) missing: u32,
    /// Write sequence visible to the request when it was ordered.
    pub(super) write_sequence: u32,
    /// True for a read whose data are incomplete, or that waits for an older read.
    is_open: bool,
    /// True if an older read of the same source, port and line is unanswered.
    waits_for_older: bool,
    /// Younger read that waits for this one.
    younger: Option<Id>,
}

/// Bits of a line hash, chosen so that few outstanding reads collide.
const LINE_HASH_BITS: u32 = 12;

/// Table of the controller's outstanding transactions.
#[derive(State)]
pub(super) struct Transactions {
    #[state(skip)]
    limit: usize,
    #[state(rename = "transactions")]
    table: IdTable<Transaction>,
    /// Number of open reads per line hash.
    #[state(array)]
    reads_by_line: Box<[u16]>,
}

impl Transactions {
    /// Creates a table for up to `limit` transactions.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            table: IdTable::default(),
            reads_by_line: vec![0; 1 << LINE_HASH_BITS].into(),
        }
    }

    /// True if another transaction can begin.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.table.len() < self.limit
    }

    /// Begins a transaction for a request with this number of accesses.
    pub(super) fn begin(
        &mut self,
        now: Cycle,
        port: usize,
        request: MemRequest,
        accesses: u32,
    ) -> Id {
        self.table.insert(Transaction {
            request,
            port: port as u32,
            accepted: now,
            missing: accesses,
            write_sequence: request.write_sequence,
            is_open: false,
            waits_for_older: false,
            younger: None,
        })
    }

    /// Returns a transaction that has begun and not ended.
    #[inline]
    pub(super) fn get(&self, id: Id) -> &Transaction {
        &self.table[id]
    }

    /// Ends a transaction whose response was sent or that needs none.
    #[inline]
    pub(super) fn end(&mut self, id: Id) {
        self.table.remove(id).expect("a transaction ends only once");
    }

    /// Fixes the write sequence a read will see, and orders it behind older reads of its source,
    /// port and line.
    pub(super) fn order_read(&mut self, id: Id, write_sequence: u32) {
        let Transaction { request, port, .. } = self.table[id];
        let hash = line_hash(request.line);
        let is_older = |t: &Transaction| {
            t.is_open
                && t.younger.is_none()
                && t.port == port
                && t.request.line == request.line
                && t.request.source == request.source
        };
        let older = if self.reads_by_line[hash] == 0 {
            None
        } else {
            self.table.iter().find(|(_, t)| is_older(t))
        };
        let older = older.map(|(older, _)| older);
        if let Some(older) = older {
            self.table[older].younger = Some(id);
        }
        self.reads_by_line[hash] += 1;
        let read = &mut self.table[id];
        read.waits_for_older = older.is_some();
        read.is_open = true;
        read.write_sequence = write_sequence;
    }

    /// True if an open read needs this line.
    pub(super) fn is_read(&self, line: u64) -> bool {
        self.reads_by_line[line_hash(line)] > 0
            && self.open_reads().any(|(_, t)| t.request.line == line)
    }

    /// Iterates over the reads whose data are incomplete, or that wait for older reads.
    pub(super) fn open_reads(&self) -> impl Iterator<Item = (Id, &Transaction)> {
        self.table.iter().filter(|(_, t)| t.is_open)
    }

    /// Records the data of one access of a read. Passes the reads that can be answered now to
    /// `complete`, in order. These are this read, if it is complete and waits for none, and
    /// complete reads behind it.
    pub(super) fn data_arrived(&mut self, id: Id, mut complete: impl FnMut(Id, &Transaction)) {
        let read = &mut self.table[id];
        read.missing -= 1;
        let mut next = (!read.waits_for_older).then_some(id);
        while let Some(id) = next {
            let read = &mut self.table[id];
            read.waits_for_older = false;
            if read.missing > 0 {
                return;
            }
            read.is_open = false;
            next = read.younger.take();
            self.reads_by_line[line_hash(read.request.line)] -= 1;
            complete(id, read);
        }
    }
}

/// Computes a small hash of a line's address.
#[inline]
fn line_hash(line: u64) -> usize {
    const SHIFT: u32 = LINE_BYTES_MAX.trailing_zeros() - 2;
    ((line >> SHIFT).wrapping_mul(GAMMA) >> (u64::BITS - LINE_HASH_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &mut Transactions, line: u64, accesses: u32) -> Id {
        let id = table.begin(10, 0, MemRequest::read(0, line, u32::MAX), accesses);
        table.order_read(id, 0);
        id
    }

    fn arrive(table: &mut Transactions, id: Id) -> Vec<Id> {
        let mut complete = Vec::new();
        table.data_arrived(id, |id, _| complete.push(id));
        complete
    }

    #[test]
    fn a_read_is_complete_with_its_last_access() {
        let mut table = Transactions::new(2);
        let id = read(&mut table, 0, 2);
        assert_eq!(arrive(&mut table, id), []);
        assert!(table.is_read(0) && !table.is_read(128));
        assert_eq!(arrive(&mut table, id), [id]);
        assert!(!table.is_read(0));
    }

    #[test]
    fn reads_of_one_line_complete_in_order_and_others_do_not_wait() {
        let mut table = Transactions::new(8);
        let [first, second, third] = [(); 3].map(|()| read(&mut table, 0, 1));
        let other = read(&mut table, 128, 1);
        assert_eq!(arrive(&mut table, second), []);
        assert_eq!(arrive(&mut table, other), [other]);
        assert_eq!(arrive(&mut table, first), [first, second]);
        assert_eq!(arrive(&mut table, third), [third]);
    }

    #[test]
    fn a_limited_number_is_under_way() {
        let mut table = Transactions::new(1);
        let id = read(&mut table, 0, 1);
        assert!(!table.has_room());
        arrive(&mut table, id);
        assert!(!table.has_room(), "the response has not been sent");
        table.end(id);
        assert!(table.has_room());
    }
}
