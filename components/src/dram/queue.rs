//! Requests waiting for commands, sorted by bank.

use serde::{Deserialize, Serialize};

/// No entry.
pub(crate) const NONE: u16 = u16::MAX;

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
    pub(crate) next: u16,
}

/// The requests of one queue for one bank, and those of them that can be next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) oldest: u16,
    pub(crate) youngest: u16,
    /// The oldest that needs the open row.
    pub(crate) hit: u16,
    /// The oldest that needs the open row and is a write where `hit` is a read, or the reverse.
    pub(crate) other_hit: u16,
    /// The oldest that needs another row than the open one.
    pub(crate) miss: u16,
    pub(crate) len: u16,
}

const EMPTY: Line = Line {
    oldest: NONE,
    youngest: NONE,
    hit: NONE,
    other_hit: NONE,
    miss: NONE,
    len: 0,
};

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
            lines: vec![EMPTY; banks],
            banks: 0,
            mixed,
        }
    }

    pub(crate) fn push(&mut self, entries: &mut [Entry], index: u16, open: Option<u32>) {
        let Entry {
            bank, row, write, ..
        } = entries[index as usize];
        entries[index as usize].next = NONE;
        let line = &mut self.lines[bank as usize];
        if line.oldest == NONE {
            *line = Line {
                oldest: index,
                youngest: index,
                ..EMPTY
            };
        } else {
            entries[line.youngest as usize].next = index;
            line.youngest = index;
        }
        line.len += 1;
        self.banks |= 1 << bank;
        let Some(open) = open else {
            return;
        };
        if open != row {
            if line.miss == NONE {
                line.miss = index;
            }
        } else if line.hit == NONE {
            line.hit = index;
        } else if line.other_hit == NONE && entries[line.hit as usize].write != write {
            line.other_hit = index;
        }
    }

    pub(crate) fn remove(&mut self, entries: &mut [Entry], index: u16, open: Option<u32>) {
        let Entry { bank, next, .. } = entries[index as usize];
        let line = &mut self.lines[bank as usize];
        if line.oldest == index {
            line.oldest = next;
            if next == NONE {
                line.youngest = NONE;
                self.banks &= !(1 << bank);
            }
        } else {
            let mut before = line.oldest;
            while entries[before as usize].next != index {
                before = entries[before as usize].next;
            }
            entries[before as usize].next = next;
            if next == NONE {
                line.youngest = before;
            }
        }
        line.len -= 1;
        if let Some(row) = open {
            self.sort_out(entries, bank, row);
        }
    }

    /// Finds the candidates of a bank with this row open.
    pub(crate) fn sort_out(&mut self, entries: &[Entry], bank: u32, open: u32) {
        let line = &mut self.lines[bank as usize];
        (line.hit, line.other_hit, line.miss) = (NONE, NONE, NONE);
        let mut index = line.oldest;
        while index != NONE && (line.hit == NONE || line.miss == NONE || self.mixed) {
            let entry = &entries[index as usize];
            if entry.row != open {
                if line.miss == NONE {
                    line.miss = index;
                }
            } else if line.hit == NONE {
                line.hit = index;
            } else if line.other_hit == NONE && entries[line.hit as usize].write != entry.write {
                line.other_hit = index;
            }
            index = entry.next;
        }
    }

    /// Whether a write to this access waits in the bank.
    pub(crate) fn holds_write(&self, entries: &[Entry], bank: usize, access: u64) -> bool {
        let mut index = self.lines[bank].oldest;
        while index != NONE {
            let entry = &entries[index as usize];
            if entry.write && entry.access == access {
                return true;
            }
            index = entry.next;
        }
        false
    }
}
