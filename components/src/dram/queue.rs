//! Requests waiting for commands, sorted by bank.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Id, IdTable};

/// A waiting access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) access: u64,
    /// Order of acceptance, or into the bank queues.
    pub(crate) age: u64,
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) bank: u32,
    pub(crate) tag: u32,
    pub(crate) write: bool,
    /// An ACT was issued for the request.
    pub(crate) activated: bool,
    /// The request closed another row.
    pub(crate) conflicted: bool,
    /// The next younger entry of the same queue and bank.
    pub(crate) next: Option<Id>,
}

/// The requests of one queue for one bank, and those of them that can be next. The latter are kept
/// while the bank is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) oldest: Option<Id>,
    pub(crate) youngest: Option<Id>,
    /// The oldest that needs the open row.
    pub(crate) hit: Option<Id>,
    /// The oldest that needs the open row and is a write where `hit` is a read, or the reverse.
    pub(crate) other_hit: Option<Id>,
    /// The oldest that needs another row than the open one.
    pub(crate) miss: Option<Id>,
    pub(crate) len: u32,
}

/// A queue; entries lie in an array shared with others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) lines: Vec<Line>,
    /// Banks with requests.
    pub(crate) banks: u64,
    /// Holds reads and writes.
    mixed: bool,
}

impl Queue {
    pub(crate) fn new(banks: usize, mixed: bool) -> Self {
        Self {
            lines: vec![Line::default(); banks],
            banks: 0,
            mixed,
        }
    }

    pub(crate) fn push(&mut self, entries: &mut IdTable<Entry>, id: Id, open: Option<u32>) {
        let entry = &mut entries[id];
        entry.next = None;
        let Entry {
            bank, row, write, ..
        } = *entry;
        let line = &mut self.lines[bank as usize];
        match line.youngest {
            Some(youngest) => entries[youngest].next = Some(id),
            None => {
                *line = Line {
                    oldest: Some(id),
                    ..Line::default()
                };
            }
        }
        line.youngest = Some(id);
        line.len += 1;
        self.banks |= 1 << bank;
        let Some(open) = open else {
            return;
        };
        if open != row {
            line.miss.get_or_insert(id);
        } else if let Some(hit) = line.hit {
            if line.other_hit.is_none() && entries[hit].write != write {
                line.other_hit = Some(id);
            }
        } else {
            line.hit = Some(id);
        }
    }

    pub(crate) fn remove(&mut self, entries: &mut IdTable<Entry>, id: Id, open: Option<u32>) {
        let Entry { bank, next, .. } = entries[id];
        let line = &mut self.lines[bank as usize];
        let before = before(entries, line.oldest, id);
        match before {
            Some(before) => entries[before].next = next,
            None => line.oldest = next,
        }
        if next.is_none() {
            line.youngest = before;
        }
        if line.oldest.is_none() {
            self.banks &= !(1 << bank);
        }
        line.len -= 1;
        if let Some(row) = open {
            self.sort_out(entries, bank, row);
        }
    }

    /// Finds the candidates of a bank with this row open.
    pub(crate) fn sort_out(&mut self, entries: &IdTable<Entry>, bank: u32, open: u32) {
        let line = &mut self.lines[bank as usize];
        (line.hit, line.other_hit, line.miss) = (None, None, None);
        let mut next = line.oldest;
        while let Some(id) = next
            && (line.hit.is_none() || line.miss.is_none() || self.mixed)
        {
            let entry = &entries[id];
            if entry.row != open {
                line.miss.get_or_insert(id);
            } else if let Some(hit) = line.hit {
                if line.other_hit.is_none() && entries[hit].write != entry.write {
                    line.other_hit = Some(id);
                }
            } else {
                line.hit = Some(id);
            }
            next = entry.next;
        }
    }

    /// Whether a write to this access waits in the bank.
    pub(crate) fn holds_write(&self, entries: &IdTable<Entry>, bank: usize, access: u64) -> bool {
        let mut next = self.lines[bank].oldest;
        while let Some(id) = next {
            let entry = &entries[id];
            if entry.write && entry.access == access {
                return true;
            }
            next = entry.next;
        }
        false
    }
}

/// The entry before this one in a list that begins with `oldest`.
fn before(entries: &IdTable<Entry>, oldest: Option<Id>, id: Id) -> Option<Id> {
    let mut before = None;
    let mut next = oldest;
    while let Some(here) = next
        && here != id
    {
        before = Some(here);
        next = entries[here].next;
    }
    before
}
