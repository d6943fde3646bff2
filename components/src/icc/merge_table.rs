//! Merge table: outstanding reads of a cluster, with the requests waiting for their lines.
//!
//! The entries model hardware: their number is that of the specification. An entry freed in a cycle
//! can serve another line from the next cycle on. Free entries are therefore queued with that
//! cycle.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id};

use super::spec::Joins;

/// Invalid line address: lines start at multiples of their size.
pub(super) const NO_LINE: u64 = u64::MAX;

/// Result of looking up a read in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The line is outstanding and the read may join.
    Merge(usize),
    /// The line is outstanding, but a later write closed its entry.
    Closed,
    /// The line is outstanding, but the read may not join its words, or comes too late.
    Partial,
    /// The line is not outstanding and an entry is free.
    Free,
    /// The line is not outstanding and no entry is free.
    Full,
}

/// Entry of the table: one outstanding line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Mask of the words that were requested.
    pub(super) words: u32,
    /// First cycle in which no read joins any more.
    until: Cycle,
    /// Units that wait, one bit each.
    pub(super) units: u64,
    /// True after a later write: further reads do not join and the line is not kept.
    pub(super) closed: bool,
    /// Reads to answer, starting with the one that was sent downstream.
    pub(super) readers: Vec<Id>,
}

/// Fully associative table of outstanding lines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MergeTable {
    /// Line of each entry, in a separate array because every look-up compares all of them.
    lines: Vec<u64>,
    entries: Vec<Entry>,
    /// Free entries with the cycle from which they can be used.
    free: VecDeque<(Cycle, u32)>,
}

impl MergeTable {
    pub(super) fn new(entries: u32) -> Self {
        Self {
            lines: vec![NO_LINE; entries as usize],
            entries: vec![Entry::default(); entries as usize],
            free: (0..entries).map(|e| (0, e)).collect(),
        }
    }

    /// Returns the number of entries in use.
    pub(super) fn len(&self) -> usize {
        self.lines.len() - self.free.len()
    }

    /// Returns the cycle from which an entry can be taken, if one is free.
    pub(super) fn free_from(&self) -> Option<Cycle> {
        self.free.front().map(|(from, _)| *from)
    }

    pub(super) fn lookup(&self, now: Cycle, read: (u64, u32), joins: Joins) -> Lookup {
        let (line, words) = read;
        match self.find(line) {
            Some(at) if self.entries[at].closed => Lookup::Closed,
            Some(at) if now >= self.entries[at].until => Lookup::Partial,
            Some(at) if !joins.allows(words, self.entries[at].words) => Lookup::Partial,
            Some(at) => Lookup::Merge(at),
            None if self.free_from().is_some_and(|from| from <= now) => Lookup::Free,
            None => Lookup::Full,
        }
    }

    /// Adds a read of `unit` to the entry returned by [`Lookup::Merge`].
    pub(super) fn merge(&mut self, at: usize, unit: u32, reader: Id) {
        let entry = &mut self.entries[at];
        entry.units |= 1 << unit;
        entry.readers.push(reader);
    }

    /// Takes a free entry, after [`Lookup::Free`], which reads join until the cycle `until`.
    pub(super) fn allocate(&mut self, read: (u64, u32), until: Cycle, unit: u32, reader: Id) {
        let (line, words) = read;
        let (_, at) = self
            .free
            .pop_front()
            .expect("the lookup found a free entry");
        self.lines[at as usize] = line;
        let entry = &mut self.entries[at as usize];
        entry.words = words;
        entry.until = until;
        entry.units = 1 << unit;
        entry.closed = false;
        entry.readers.clear();
        entry.readers.push(reader);
    }

    /// Closes the entry of `line` to further reads. Returns true if it was open.
    pub(super) fn close(&mut self, line: u64) -> bool {
        self.find(line)
            .is_some_and(|at| !std::mem::replace(&mut self.entries[at].closed, true))
    }

    /// Closes every entry to further reads.
    pub(super) fn close_all(&mut self) {
        for (entry, line) in self.entries.iter_mut().zip(&self.lines) {
            entry.closed |= *line != NO_LINE;
        }
    }

    /// Frees the entry of `line`, which can be reused from the cycle after `now` on. Its readers
    /// are moved into `readers`, which must be empty.
    pub(super) fn reply(&mut self, now: Cycle, line: u64, readers: &mut Vec<Id>) -> Option<&Entry> {
        let at = self.find(line)?;
        self.lines[at] = NO_LINE;
        self.free.push_back((now + 1, at as u32));
        // Both keep their allocation.
        std::mem::swap(&mut self.entries[at].readers, readers);
        Some(&self.entries[at])
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|l| *l == line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_free_again_in_the_cycle_after_its_reply() {
        let mut table = MergeTable::new(1);
        assert_eq!(table.lookup(5, (0, 1), Joins::Contained), Lookup::Free);
        table.allocate((0, 1), Cycle::MAX, 0, Id::from_bits(7));
        assert_eq!(table.lookup(5, (128, 1), Joins::Contained), Lookup::Full);
        let mut readers = Vec::new();
        assert_eq!(table.reply(9, 0, &mut readers).map(|e| e.units), Some(1));
        assert_eq!(readers, [Id::from_bits(7)]);
        assert_eq!(table.lookup(9, (0, 1), Joins::Contained), Lookup::Full);
        assert_eq!(table.lookup(10, (0, 1), Joins::Contained), Lookup::Free);
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_unit_is_listed_once_however_often_it_asks() {
        let mut table = MergeTable::new(2);
        table.allocate((0, 0b11), Cycle::MAX, 3, Id::from_bits(0));
        let Lookup::Merge(at) = table.lookup(0, (0, 0b10), Joins::Contained) else {
            panic!("the line is under way");
        };
        table.merge(at, 3, Id::from_bits(1));
        let mut readers = Vec::new();
        assert_eq!(table.reply(0, 0, &mut readers).map(|e| e.units), Some(8));
        assert_eq!(readers, [0, 1].map(Id::from_bits));
    }

    #[test]
    fn words_that_were_not_asked_for_cannot_be_joined() {
        let mut table = MergeTable::new(2);
        table.allocate((0, 0b01), Cycle::MAX, 0, Id::from_bits(0));
        assert_eq!(
            table.lookup(0, (0, 0b11), Joins::Contained),
            Lookup::Partial
        );
        assert!(table.close(0));
        assert_eq!(table.lookup(0, (0, 0b01), Joins::Contained), Lookup::Closed);
        assert!(!table.close(0), "closed already");
        assert!(!table.close(128), "not there");
    }

    #[test]
    fn reads_join_within_the_window_and_by_the_rule() {
        let mut table = MergeTable::new(1);
        table.allocate((0, 0b11), 9, 0, Id::from_bits(0));
        let of = |now, words, joins| table.lookup(now, (0, words), joins);
        assert_eq!(of(8, 0b11, Joins::Equal), Lookup::Merge(0));
        assert_eq!(of(8, 0b01, Joins::Contained), Lookup::Merge(0));
        assert_eq!(of(8, 0b01, Joins::Equal), Lookup::Partial);
        assert_eq!(of(9, 0b11, Joins::Equal), Lookup::Partial);
    }
}
