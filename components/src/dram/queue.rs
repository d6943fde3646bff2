//! Queues of requests waiting for commands, organised by bank.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Id, IdTable};

/// An access that waits for its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) access: u64,
    /// Sequence number of acceptance, or of the move to a bank queue.
    pub(crate) age: u64,
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) bank: u32,
    pub(crate) tag: u32,
    pub(crate) write: bool,
    /// True if an ACT was issued for this request.
    pub(crate) activated: bool,
    /// True if the request had to close another row.
    pub(crate) conflicted: bool,
    /// Next older and next younger entry of the same queue and bank.
    pub(crate) previous: Option<Id>,
    pub(crate) next: Option<Id>,
}

/// List of a queue's requests to one bank, with the scheduling candidates. The candidates are kept
/// up to date while the bank is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) oldest: Option<Id>,
    pub(crate) youngest: Option<Id>,
    /// Oldest request that needs the open row.
    pub(crate) hit: Option<Id>,
    /// Oldest request to the open row that is a write where `hit` is a read, or the reverse.
    pub(crate) other_hit: Option<Id>,
    /// Oldest request that needs a row other than the open one.
    pub(crate) miss: Option<Id>,
    pub(crate) len: u32,
}

impl Line {
    /// Replaces a candidate that has left the line. Candidates are the oldest of their kind, so the
    /// replacement is younger.
    fn replace(&mut self, entries: &IdTable<Entry>, left: Id, open: u32) {
        let after = entries[left].next;
        let hit = |entry: &Entry| entry.row == open;
        if self.miss == Some(left) {
            self.miss = first_from(entries, after, |entry| !hit(entry));
        } else if self.hit == Some(left) {
            self.hit = first_from(entries, after, hit);
            // Where that is the other kind, the kinds change places.
            if let Some(other) = self.other_hit
                && self.hit == Some(other)
            {
                self.other_hit = other_kind(entries, other, open);
            }
        } else if self.other_hit == Some(left) {
            let write = entries[left].write;
            self.other_hit = first_from(entries, after, |entry| hit(entry) && entry.write == write);
        }
    }
}

/// Returns the first younger entry that needs the open row and is of the other kind (read or
/// write).
fn other_kind(entries: &IdTable<Entry>, hit: Id, open: u32) -> Option<Id> {
    let Entry { next, write, .. } = entries[hit];
    first_from(entries, next, |entry| {
        entry.row == open && entry.write != write
    })
}

/// Returns the first matching entry of a line, searching from this one on.
#[inline]
fn first_from(
    entries: &IdTable<Entry>,
    mut next: Option<Id>,
    fits: impl Fn(&Entry) -> bool,
) -> Option<Id> {
    while let Some(id) = next
        && let entry = &entries[id]
        && !fits(entry)
    {
        next = entry.next;
    }
    next
}

/// Request queue of a channel. Its entries are stored in a table shared with other queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) lines: Vec<Line>,
    /// Mask of banks that have requests in this queue.
    pub(crate) banks: u64,
    /// True if the queue holds both reads and writes.
    mixed: bool,
}

impl Queue {
    /// True if the queue holds both reads and writes.
    #[inline(always)]
    pub(crate) fn is_mixed(&self) -> bool {
        self.mixed
    }

    pub(crate) fn new(banks: usize, mixed: bool) -> Self {
        Self {
            lines: vec![Line::default(); banks],
            banks: 0,
            mixed,
        }
    }

    pub(crate) fn push(&mut self, entries: &mut IdTable<Entry>, id: Id, open: Option<u32>) {
        let Entry {
            bank, row, write, ..
        } = entries[id];
        let line = &mut self.lines[bank as usize];
        let entry = &mut entries[id];
        (entry.previous, entry.next) = (line.youngest, None);
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
        let Entry {
            bank,
            previous,
            next,
            ..
        } = entries[id];
        let line = &mut self.lines[bank as usize];
        match previous {
            Some(previous) => entries[previous].next = next,
            None => line.oldest = next,
        }
        match next {
            Some(next) => entries[next].previous = previous,
            None => line.youngest = previous,
        }
        if line.oldest.is_none() {
            self.banks &= !(1 << bank);
        }
        line.len -= 1;
        if let Some(open) = open {
            line.replace(entries, id, open);
        }
    }

    /// Recomputes the candidates of a bank with this row open.
    pub(crate) fn sort_out(&mut self, entries: &IdTable<Entry>, bank: u32, open: u32) {
        let line = &mut self.lines[bank as usize];
        line.hit = first_from(entries, line.oldest, |entry| entry.row == open);
        line.miss = first_from(entries, line.oldest, |entry| entry.row != open);
        line.other_hit = match line.hit {
            Some(hit) if self.mixed => other_kind(entries, hit, open),
            _ => None,
        };
    }

    /// Returns the oldest matching request of a bank.
    pub(crate) fn oldest_that(
        &self,
        entries: &IdTable<Entry>,
        bank: u32,
        fits: impl Fn(&Entry) -> bool,
    ) -> Option<Id> {
        first_from(entries, self.lines[bank as usize].oldest, fits)
    }

    /// True if a write to this access waits in the bank.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Recomputes the candidates of a line by a search through all its entries.
    fn expected(queue: &Queue, entries: &IdTable<Entry>, open: u32) -> [Option<Id>; 3] {
        let oldest = queue.lines[0].oldest;
        let line = || std::iter::successors(oldest, |id| entries[*id].next);
        let is_hit = |id: &Id| entries[*id].row == open;
        let hit = line().find(is_hit);
        let kind = hit.map(|hit| entries[hit].write);
        let is_other = |id: &Id| is_hit(id) && Some(entries[*id].write) != kind;
        [hit, line().find(is_other), line().find(|id| !is_hit(id))]
    }

    proptest! {
        #[test]
        fn candidates_are_the_oldest_of_their_kind_whatever_comes_and_goes(
            mixed: bool,
            steps in prop::collection::vec((0u32..4, 0u32..4, any::<prop::sample::Index>()), 1..60),
        ) {
            let (mut queue, mut entries) = (Queue::new(1, mixed), IdTable::default());
            let (mut waiting, mut open) = (Vec::new(), 0);
            for (age, (choice, row, index)) in (0..).zip(steps) {
                let write = mixed && index.index(2) == 0;
                if choice < 2 {
                    let id = entries.insert(Entry {
                        access: 0, age, row, column: 0, bank: 0, tag: 0, write,
                        activated: false, conflicted: false, previous: None, next: None,
                    });
                    queue.push(&mut entries, id, Some(open));
                    waiting.push(id);
                } else if choice == 2 {
                    open = row;
                    queue.sort_out(&entries, 0, open);
                } else if !waiting.is_empty() {
                    let id = waiting.remove(index.index(waiting.len()));
                    queue.remove(&mut entries, id, Some(open));
                    entries.remove(id);
                }
                if !waiting.is_empty() {
                    let line = queue.lines[0];
                    let found = [line.hit, line.other_hit, line.miss];
                    prop_assert_eq!(found, expected(&queue, &entries, open));
                }
                let line = queue.lines[0];
                let next = |id: &Id| entries[*id].next;
                let forward: Vec<Id> = std::iter::successors(line.oldest, next).collect();
                prop_assert_eq!(&forward, &waiting);
                let previous = |id: &Id| entries[*id].previous;
                let back = std::iter::successors(line.youngest, previous);
                prop_assert!(back.eq(forward.iter().rev().copied()));
                prop_assert_eq!(line.len as usize, waiting.len());
                prop_assert_eq!(queue.banks, u64::from(!waiting.is_empty()));
            }
        }
    }
}
