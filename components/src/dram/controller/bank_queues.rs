//! Transfer of requests to the per-bank queues, and the choice between reads and writes.

use warpweave_framework::Id;

use super::Controller;
use crate::dram::drain::Drain;

impl Controller {
    /// Returns the request that moves to its bank's queue next, as its kind and its position in the
    /// front queue.
    fn movable(&self) -> Option<(usize, usize)> {
        let depth = self.config.bank_queue?;
        let kind = usize::from(self.draining.on());
        let room = |id: &Id| {
            let bank = self.entries[*id].bank as usize;
            self.queues[0].lines[bank].len < depth
        };
        let at = self.fronts[kind].iter().position(room)?;
        Some((kind, at))
    }

    #[inline]
    pub(super) fn can_move(&mut self) -> bool {
        self.config.bank_queue.is_some() && {
            self.update_draining();
            self.movable().is_some()
        }
    }

    /// Moves one request to its bank's queue, if one has room.
    pub(super) fn move_to_bank(&mut self) {
        self.update_draining();
        let Some((kind, at)) = self.movable() else {
            return;
        };
        let id = self.fronts[kind].remove(at).expect("just found");
        if kind == 1 {
            self.draining.served();
        }
        // From here on the order is that of the bank queues.
        self.age += 1;
        self.entries[id].age = self.age;
        let open = self.banks.row(self.entries[id].bank);
        self.queues[0].push(&mut self.entries, id, open);
        self.planned = None;
    }

    #[inline]
    pub(super) fn update_draining(&mut self) {
        let drain = self.config.drain;
        if self.config.bank_queue.is_none() {
            let [reads, writes] = self.waiting;
            let full = writes >= self.config.writes;
            self.draining.update(drain, writes, full, reads);
            return;
        }
        let writes = self.fronts[1].len() as u32;
        let against = match drain {
            Drain::Watermarks { .. } => self.fronts[0].len() as u32,
            Drain::Batches { .. } => u32::from(self.queues[0].banks != 0),
        };
        let full = writes >= self.config.writes;
        self.draining.update(drain, writes, full, against);
    }
}
