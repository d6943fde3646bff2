//! Requests that wait for their commands, and the choice between reads and writes.

use std::collections::VecDeque;

use warpweave_framework::{Id, IdTable, State};

use super::config::Config;
use super::request::Request;
use crate::dram::banks::Banks;
use crate::dram::drain::{Drain, Draining};
use crate::dram::mapping::Location;
use crate::dram::queue::{Entry, Queue};

/// Requests of a channel, waiting or active, with the queues in which they wait.
#[derive(Clone, State)]
pub(super) struct RequestQueues {
    pub(super) entries: IdTable<Entry>,
    /// Waiting requests by kind (reads, writes). With bank queues, all are in the first and the
    /// second is empty.
    pub(super) queues: [Queue; 2],
    /// Reads and writes that have not yet moved to a bank queue; empty without bank queues.
    fronts: [VecDeque<Id>; 2],
    /// Number of waiting reads and writes over all queues.
    waiting: [u32; 2],
    draining: Draining,
    age: u64,
}

impl RequestQueues {
    pub(super) fn new(config: &Config) -> Self {
        let banks = config.geometry.banks() as usize;
        let own = config.bank_queue.unwrap_or(0) as usize * banks;
        let capacity = config.reads as usize + config.writes as usize + banks + own;
        let mixed = config.bank_queue.is_some();
        Self {
            entries: IdTable::with_capacity(capacity),
            queues: [Queue::new(banks, mixed), Queue::new(banks, false)],
            fronts: [VecDeque::new(), VecDeque::new()],
            waiting: [0; 2],
            draining: Draining::default(),
            age: 0,
        }
    }

    /// Returns the number of waiting reads and writes.
    #[inline]
    pub(super) fn waiting(&self) -> [u32; 2] {
        self.waiting
    }

    /// Changes the number of waiting requests of a kind and returns it.
    #[inline]
    pub(super) fn count(&mut self, write: bool, change: i32) -> u32 {
        let waiting = &mut self.waiting[usize::from(write)];
        *waiting = waiting.wrapping_add_signed(change);
        *waiting
    }

    /// True if the queue has room for a read or write to an access that is not waiting yet.
    #[inline]
    pub(super) fn has_room(&self, config: &Config, write: bool) -> bool {
        let kind = usize::from(write);
        let depth = [config.reads, config.writes][kind];
        if config.bank_queue.is_some() {
            (self.fronts[kind].len() as u32) < depth
        } else {
            self.waiting[kind] < depth
        }
    }

    /// True if a waiting request will be served without the arrival of another one.
    #[inline]
    pub(super) fn has_work(&self, config: &Config) -> bool {
        if self.waiting[0] > 0 {
            return true;
        }
        if config.bank_queue.is_none() {
            return config.drain.serves(self.waiting[1], self.draining);
        }
        let writes = self.fronts[1].len() as u32;
        self.queues[0].banks != 0 || config.drain.serves(writes, self.draining)
    }

    /// True if a write to this access waits.
    #[inline]
    pub(super) fn holds_write(&self, config: &Config, bank: u32, access: u64) -> bool {
        if self.waiting[1] == 0 {
            return false;
        }
        if config.bank_queue.is_none() {
            return self.queues[1].holds_write(&self.entries, bank as usize, access);
        }
        let mut front = self.fronts[1].iter();
        front.any(|id| self.entries[*id].access == access)
            || self.queues[0].holds_write(&self.entries, bank as usize, access)
    }

    /// Adds a request to its queue, which must have room.
    #[inline]
    pub(super) fn push(&mut self, config: &Config, request: &Request, banks: &Banks) {
        self.age += 1;
        let Location { bank, row, column } = request.location;
        let id = self.entries.insert(Entry {
            access: request.access,
            age: self.age,
            row,
            column,
            bank,
            tag: request.tag,
            write: request.write,
            activated: false,
            conflicted: false,
            previous: None,
            next: None,
        });
        let kind = usize::from(request.write);
        if config.bank_queue.is_some() {
            self.fronts[kind].push_back(id);
        } else {
            self.queues[kind].push(&mut self.entries, id, banks.row(bank));
        }
    }

    /// Removes a request from its queue; its entry remains. Returns true for a write.
    #[inline]
    pub(super) fn leave(&mut self, config: &Config, id: Id, banks: &Banks) -> bool {
        let Entry { bank, write, .. } = self.entries[id];
        let kind = if config.bank_queue.is_some() {
            0
        } else {
            if write {
                self.draining.served();
            }
            usize::from(write)
        };
        self.queues[kind].remove(&mut self.entries, id, banks.row(bank));
        write
    }

    /// Recomputes the scheduling candidates of a bank whose open row has changed.
    #[inline]
    pub(super) fn sort_out(&mut self, bank: u32, banks: &Banks) {
        if let Some(row) = banks.row(bank) {
            for queue in &mut self.queues {
                queue.sort_out(&self.entries, bank, row);
            }
        }
    }

    /// Returns the index of the queue whose requests are scheduled.
    #[inline]
    pub(super) fn served(&self, config: &Config) -> usize {
        if config.bank_queue.is_some() {
            0
        } else {
            usize::from(self.draining.on())
        }
    }

    /// Returns the request that moves to its bank's queue next, as its kind and its position in the
    /// front queue.
    fn movable(&self, depth: u32) -> Option<(usize, usize)> {
        let kind = usize::from(self.draining.on());
        let room = |id: &Id| {
            let bank = self.entries[*id].bank as usize;
            self.queues[0].lines[bank].len < depth
        };
        let at = self.fronts[kind].iter().position(room)?;
        Some((kind, at))
    }

    /// True if a request can move to its bank's queue.
    #[inline]
    pub(super) fn can_move(&mut self, config: &Config) -> bool {
        let Some(depth) = config.bank_queue else {
            return false;
        };
        self.update_draining(config);
        self.movable(depth).is_some()
    }

    /// Moves one request to its bank's queue, if one has room. Returns true if it did.
    pub(super) fn move_to_bank(&mut self, config: &Config, depth: u32, banks: &Banks) -> bool {
        self.update_draining(config);
        let Some((kind, at)) = self.movable(depth) else {
            return false;
        };
        let id = self.fronts[kind].remove(at).expect("just found");
        if kind == 1 {
            self.draining.served();
        }
        // From here on the order is that of the bank queues.
        self.age += 1;
        self.entries[id].age = self.age;
        let open = banks.row(self.entries[id].bank);
        self.queues[0].push(&mut self.entries, id, open);
        true
    }

    /// Selects reads or writes for the requests that wait now.
    #[inline]
    pub(super) fn update_draining(&mut self, config: &Config) {
        let drain = config.drain;
        if config.bank_queue.is_none() {
            let [reads, writes] = self.waiting;
            let full = writes >= config.writes;
            self.draining.update(drain, writes, full, reads);
            return;
        }
        let writes = self.fronts[1].len() as u32;
        let against = match drain {
            Drain::Watermarks { .. } => self.fronts[0].len() as u32,
            Drain::Batches { .. } => u32::from(self.queues[0].banks != 0),
        };
        let full = writes >= config.writes;
        self.draining.update(drain, writes, full, against);
    }
}
