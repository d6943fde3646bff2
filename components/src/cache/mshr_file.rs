//! The miss status holding registers: an indexed array of lines in flight, each with the list of
//! requests that wait for it.
//!
//! A line may come in several parts. Each waiter says which words it needs from below and which
//! acknowledgement; those that have arrived are kept with the entry.
//!
//! An entry is *open* while later requests for its line may join it; a store that overtakes a fill
//! closes it. Open entries are found by line through short chains hashed by line number; closed
//! ones only through their index, which is the id of the request below. Waiters are nodes of one
//! pool, linked in order of arrival, so nothing is allocated after construction.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Cycle};

use super::tag_array::Slot;
use crate::memory::{Level, MemRequest, Source, transaction};

/// A request that waits for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The request, as received.
    pub request: MemRequest,
    /// Cycle in which it was accepted.
    pub accepted: Cycle,
    /// Highest write sequence among the stores it comes after, itself included.
    pub write_sequence: u32,
    /// Words that must come from below before it is answered.
    pub needs: u32,
    /// Number of the acknowledgement, counted from 1 per entry, that must come from below before it
    /// is answered; 0 if none.
    pub needs_ack: u32,
    /// Whether it is the one that missed.
    pub primary: bool,
}

impl Waiter {
    /// Whether it may be answered when this has come.
    #[inline]
    pub fn is_allowed(&self, came: &Came) -> bool {
        self.needs & !came.words == 0 && self.needs_ack <= came.acks
    }
}

/// What has come from below for a line in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Came {
    /// Words of the line.
    pub words: u32,
    /// Acknowledgements of stores that joined and were sent down.
    pub acks: u32,
    /// Highest write sequence that came with the words.
    pub write_sequence: u32,
    /// Who supplied the last of the words; none until some came.
    pub filled_by: Option<Level>,
    /// Who sent the last acknowledgement.
    pub acked_by: Option<Level>,
}

/// A line in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Address of the line.
    pub line: u64,
    /// Place reserved for the line, or where it has been installed.
    pub slot: Option<Slot>,
    /// Words asked of the level below.
    pub asked: u32,
    /// What came so far.
    pub came: Came,
    /// Words written by requests that joined, or hit the part of the line already present.
    pub stored: u32,
    /// Those of them that are newer than below.
    pub dirty: u32,
    /// Acknowledgements of stores that joined and were sent down.
    pub acks_asked: u32,
    /// Returns from below that may still allow answers.
    pub returns: u32,
    /// Whether the line is to be kept when it comes.
    pub keep: bool,
    /// Who caused the fetch.
    pub source: Source,
    /// Highest write sequence of those that joined, or of the part of the line already present.
    pub write_sequence: u32,
    /// Answers leave no earlier: not before hits that came before them.
    pub ready: Cycle,
    open: bool,
    in_use: bool,
    first: u32,
    last: u32,
    waiting: u32,
    /// Next entry of the chain, or of the free list.
    next: u32,
}

/// A node of the pool of waiters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Node {
    waiter: Waiter,
    next: u32,
}

/// The registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MshrFile {
    entries: Vec<Entry>,
    merges: u32,
    free: u32,
    used: u32,
    closed: u32,
    /// First open entry per hash of the line.
    chains: Vec<u32>,
    chain_shift: u32,
    nodes: Vec<Node>,
    free_node: u32,
}

const NONE: u32 = u32::MAX;

const VACANT: Entry = Entry {
    line: 0,
    slot: None,
    asked: 0,
    came: Came {
        words: 0,
        acks: 0,
        write_sequence: 0,
        filled_by: None,
        acked_by: None,
    },
    stored: 0,
    dirty: 0,
    acks_asked: 0,
    returns: 0,
    keep: true,
    source: Source {
        kernel: 0,
        work_group: 0,
        pc: 0,
        compute_unit: 0,
        wavefront_slot: 0,
    },
    write_sequence: 0,
    ready: 0,
    open: false,
    in_use: false,
    first: NONE,
    last: NONE,
    waiting: 0,
    next: NONE,
};

impl Entry {
    /// Whether later requests for the line may join.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether requests wait for the line.
    #[inline]
    pub fn has_waiters(&self) -> bool {
        self.waiting > 0
    }

    /// Whether requests stored into the line while it was in flight.
    #[inline]
    pub fn has_stores(&self) -> bool {
        self.stored != 0 || self.acks_asked != 0
    }

    /// Whether everything asked of the level below came and nothing more is to be answered.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.waiting == 0
            && self.returns == 0
            && self.came.words == self.asked
            && self.came.acks == self.acks_asked
    }
}

impl MshrFile {
    /// `entries` registers of which each holds up to `merges` requests, the first included.
    pub fn new(entries: u32, merges: u32) -> Self {
        assert!(entries > 0 && merges > 0, "an MSHR file has entries");
        let chains = (entries * 2).next_power_of_two();
        let vacant = Waiter {
            request: MemRequest::read(0, 0, 0),
            accepted: 0,
            write_sequence: 0,
            needs: 0,
            needs_ack: 0,
            primary: false,
        };
        let nodes = entries * merges;
        Self {
            entries: (0..entries)
                .map(|i| Entry {
                    next: linked(i, entries),
                    ..VACANT
                })
                .collect(),
            merges,
            free: 0,
            used: 0,
            closed: 0,
            chains: vec![NONE; chains as usize],
            chain_shift: u64::BITS - chains.trailing_zeros(),
            nodes: (0..nodes)
                .map(|i| Node {
                    waiter: vacant,
                    next: linked(i, nodes),
                })
                .collect(),
            free_node: 0,
        }
    }

    /// Entries in use.
    pub fn len(&self) -> u32 {
        self.used
    }

    /// Shows the entries in use, of lines whose addresses are in `mask`.
    pub(super) fn show(&self, contents: &mut Contents<'_>, mask: u64) {
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, e)| e.in_use) {
            let line = entry.line & mask;
            contents
                .thing("miss", index as u64)
                .flow(Some(transaction(line, &entry.source)))
                .number("line", line)
                .waits(match entry.came.filled_by {
                    None if entry.came.words != entry.asked => Some("fill"),
                    _ if entry.came.acks != entry.acks_asked => Some("acknowledgement"),
                    _ => None,
                });
        }
    }

    /// Whether no entry is in use.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether every entry is in use.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// The open entry of this line.
    #[inline]
    pub fn find(&self, line: u64) -> Option<u32> {
        let mut at = self.chains[self.chain(line)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.line == line {
                return Some(at);
            }
            at = entry.next;
        }
        None
    }

    /// Entry `index`, if it is in use.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&Entry> {
        self.entries.get(index as usize).filter(|e| e.in_use)
    }

    /// Entry `index`, to be changed.
    ///
    /// # Panics
    /// When it is not in use.
    #[inline]
    pub fn entry_mut(&mut self, index: u32) -> &mut Entry {
        let entry = &mut self.entries[index as usize];
        assert!(entry.in_use, "MSHR {index} is in use");
        entry
    }

    /// Takes an open entry for a line that has none.
    ///
    /// # Panics
    /// When the file is full.
    pub fn allocate(&mut self, line: u64) -> u32 {
        debug_assert!(self.find(line).is_none(), "one open entry per line");
        let index = self.free;
        assert!(index != NONE, "allocation was checked against is_full");
        let chain = self.chain(line);
        let entry = &mut self.entries[index as usize];
        self.free = entry.next;
        *entry = Entry {
            line,
            open: true,
            in_use: true,
            next: self.chains[chain],
            ..VACANT
        };
        self.chains[chain] = index;
        self.used += 1;
        index
    }

    /// Whether one more request may join entry `index`.
    #[inline]
    pub fn can_join(&self, index: u32) -> bool {
        self.entries[index as usize].waiting < self.merges
    }

    /// Appends a request to the waiters of entry `index`.
    ///
    /// # Panics
    /// When the entry holds as many as it can.
    pub fn join(&mut self, index: u32, waiter: Waiter) {
        assert!(self.can_join(index), "joining was checked with can_join");
        let at = self.free_node;
        self.free_node = self.nodes[at as usize].next;
        self.nodes[at as usize] = Node { waiter, next: NONE };
        let entry = &mut self.entries[index as usize];
        if entry.waiting == 0 {
            entry.first = at;
        } else {
            self.nodes[entry.last as usize].next = at;
        }
        let entry = &mut self.entries[index as usize];
        entry.last = at;
        entry.waiting += 1;
    }

    /// The request of entry `index` that is answered next.
    #[inline]
    pub fn front(&self, index: u32) -> Option<&Waiter> {
        let entry = &self.entries[index as usize];
        (entry.waiting > 0).then(|| &self.nodes[entry.first as usize].waiter)
    }

    /// Takes the request of entry `index` that is answered next.
    pub fn pop_front(&mut self, index: u32) -> Option<Waiter> {
        let entry = &mut self.entries[index as usize];
        if entry.waiting == 0 {
            return None;
        }
        let at = entry.first;
        let node = &mut self.nodes[at as usize];
        entry.first = node.next;
        entry.waiting -= 1;
        node.next = self.free_node;
        self.free_node = at;
        Some(node.waiter)
    }

    /// No later request joins entry `index`; another may be opened for its line.
    pub fn close(&mut self, index: u32) {
        let Entry { line, open, .. } = self.entries[index as usize];
        if !open {
            return;
        }
        let next = self.entries[index as usize].next;
        let chain = self.chain(line);
        if self.chains[chain] == index {
            self.chains[chain] = next;
        } else {
            let mut at = self.chains[chain];
            while self.entries[at as usize].next != index {
                at = self.entries[at as usize].next;
            }
            self.entries[at as usize].next = next;
        }
        self.entries[index as usize].open = false;
        self.closed += 1;
    }

    /// Whether a closed entry of this line is in use.
    pub fn holds_closed(&self, line: u64) -> bool {
        let same = |entry: &Entry| entry.in_use && !entry.open && entry.line == line;
        self.closed > 0 && self.entries.iter().any(same)
    }

    /// Gives back entry `index`, all of whose requests have been answered.
    ///
    /// # Panics
    /// When requests still wait.
    pub fn release(&mut self, index: u32) {
        self.close(index);
        let entry = &mut self.entries[index as usize];
        assert!(
            entry.in_use && entry.waiting == 0,
            "MSHR {index} is released once, after its last waiter"
        );
        *entry = Entry {
            next: self.free,
            ..VACANT
        };
        self.free = index;
        self.used -= 1;
        self.closed -= 1;
    }

    #[inline]
    fn chain(&self, line: u64) -> usize {
        // Fibonacci hashing: the top bits of the product depend on all bits of the line.
        (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.chain_shift) as usize
    }
}

/// The successor of `i` in a free list of `n`.
fn linked(i: u32, n: u32) -> u32 {
    if i + 1 < n { i + 1 } else { NONE }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use proptest::prelude::*;

    use super::*;

    fn waiter(id: u32) -> Waiter {
        Waiter {
            request: MemRequest::read(id, 0, 1),
            accepted: 0,
            write_sequence: 0,
            needs: 0,
            needs_ack: 0,
            primary: false,
        }
    }

    #[test]
    fn a_full_file_and_a_full_entry_refuse() {
        let mut mshrs = MshrFile::new(2, 2);
        let a = mshrs.allocate(128);
        mshrs.join(a, waiter(0));
        assert!(mshrs.can_join(a));
        mshrs.join(a, waiter(1));
        assert!(!mshrs.can_join(a));
        assert!(!mshrs.is_full());
        mshrs.allocate(256);
        assert!(mshrs.is_full());
    }

    #[test]
    fn a_closed_entry_is_reached_by_index_alone_and_its_line_may_open_another() {
        let mut mshrs = MshrFile::new(2, 2);
        let old = mshrs.allocate(128);
        mshrs.join(old, waiter(7));
        mshrs.close(old);
        assert_eq!(mshrs.find(128), None);
        assert!(mshrs.holds_closed(128) && !mshrs.holds_closed(0));
        let new = mshrs.allocate(128);
        assert_eq!(mshrs.find(128), Some(new));
        assert_eq!(mshrs.pop_front(old).map(|w| w.request.id), Some(7));
        mshrs.release(old);
        assert_eq!(mshrs.find(128), Some(new));
        assert!(mshrs.get(old).is_none() && !mshrs.holds_closed(128));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Miss(u64),
        Close(u64),
        Answer(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let line = (0u64..9).prop_map(|n| n * 128);
        prop_oneof![
            3 => line.clone().prop_map(Step::Miss),
            1 => line.clone().prop_map(Step::Close),
            2 => line.prop_map(Step::Answer),
        ]
    }

    proptest! {
        /// Against lists in ordered maps: same lines found, same order of waiters, no node lost.
        #[test]
        fn behaves_like_a_map_of_lists(
            entries in 1u32..6, merges in 1u32..5, steps in prop::collection::vec(step(), 1..200),
        ) {
            let mut mshrs = MshrFile::new(entries, merges);
            let mut lists: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
            let mut open: BTreeMap<u64, u32> = BTreeMap::new();
            for (id, step) in (0u32..).zip(steps) {
                match step {
                    Step::Miss(line) => {
                        prop_assert_eq!(mshrs.find(line), open.get(&line).copied());
                        prop_assert_eq!(mshrs.is_full(), lists.len() == entries as usize);
                        if !open.contains_key(&line) && !mshrs.is_full() {
                            let index = mshrs.allocate(line);
                            open.insert(line, index);
                            prop_assert!(lists.insert(index, VecDeque::new()).is_none());
                        }
                        if let Some(&index) = open.get(&line) {
                            let list = lists.get_mut(&index).unwrap();
                            prop_assert_eq!(mshrs.can_join(index), list.len() < merges as usize);
                            if mshrs.can_join(index) {
                                mshrs.join(index, waiter(id));
                                list.push_back(id);
                            }
                        }
                    }
                    Step::Close(line) => {
                        if let Some(index) = open.remove(&line) {
                            mshrs.close(index);
                        }
                    }
                    Step::Answer(line) => {
                        let Some(&index) = open.get(&line).or_else(|| lists.keys().next()) else {
                            continue;
                        };
                        let expected = lists.get_mut(&index).unwrap().pop_front();
                        let front = mshrs.front(index).map(|w| w.request.id);
                        prop_assert_eq!(front, expected);
                        prop_assert_eq!(mshrs.pop_front(index).map(|w| w.request.id), expected);
                        if lists[&index].is_empty() {
                            mshrs.release(index);
                            lists.remove(&index);
                            open.retain(|_, i| *i != index);
                        }
                    }
                }
                prop_assert_eq!(mshrs.len() as usize, lists.len());
            }
        }
    }
}
