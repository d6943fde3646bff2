//! Miss status holding registers: a table of lines in flight, each with the list of waiting
//! requests.
//!
//! A line may arrive in several parts. Each waiter records the words and the acknowledgement it
//! needs; the entry records those that have arrived.
//!
//! An entry is *open* while later requests for its line may join it; a store that overtakes a fill
//! closes it. Open entries are found by line through short chains hashed by line number. Closed
//! ones are found only through their id, from which the ids of the outstanding requests are
//! derived. The waiter list keeps its memory when its register is reused.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Cycle, Id, IdTable, State};
use warpweave_random::GAMMA;

use super::tag_array::Slot;
use crate::memory::{Level, MemRequest, Source, transaction};

/// Request that waits for a line in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// Request as received from the upper level.
    pub request: MemRequest,
    /// Cycle in which the request was accepted.
    pub accepted: Cycle,
    /// Highest write sequence among the stores up to and including this request.
    pub write_sequence: u32,
    /// Words that must arrive from the next level before it is answered.
    pub needs: u32,
    /// Number of the acknowledgement it waits for, counted from 1 per entry; 0 if none.
    pub needs_ack: u32,
    /// True for the request that missed (the primary miss).
    pub primary: bool,
}

impl Waiter {
    /// True if it may be answered once these words and acknowledgements have arrived.
    #[inline]
    pub fn is_ready(&self, came: &FillProgress) -> bool {
        self.needs & !came.words == 0 && self.needs_ack <= came.acks
    }
}

/// Words and acknowledgements that have arrived for a line in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillProgress {
    /// Words of the line that have arrived.
    pub words: u32,
    /// Number of acknowledgements received for merged stores that were forwarded.
    pub acks: u32,
    /// Highest write sequence that arrived with the words.
    pub write_sequence: u32,
    /// Level that supplied the most recent words; `None` until some arrive.
    pub filled_by: Option<Level>,
    /// Level that sent the most recent acknowledgement.
    pub acked_by: Option<Level>,
}

/// Words of a line requested from the next level, with the flags that policies gave the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    /// Mask of the words that were requested so far.
    pub words: u32,
    /// Flags of the line's first request, which all later ones carry too.
    pub flags: u16,
}

/// MSHR entry: one line in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Address of the line in flight.
    pub line: u64,
    /// Place reserved for the line, or in which it has been installed.
    pub slot: Option<Slot>,
    /// Words requested from the next level, with their flags.
    pub requested: Requested,
    /// Words and acknowledgements received so far.
    pub progress: FillProgress,
    /// Words written by merged requests or by hits on the part of the line already present.
    pub stored: u32,
    /// Subset of the stored words that the next level does not have yet.
    pub dirty: u32,
    /// Number of acknowledgements expected for merged stores that were forwarded.
    pub acks_expected: u32,
    /// Number of queued returns that may still release responses.
    pub replies: u32,
    /// True if the line is to be installed when it arrives.
    pub keep: bool,
    /// True if a prefetcher requested the line and no demand request has joined.
    pub prefetched: bool,
    /// Source of the request that caused the fetch.
    pub source: Source,
    /// Highest write sequence of the merged requests, or of the part of the line already present.
    pub write_sequence: u32,
    /// Earliest cycle for responses, so that they do not overtake earlier hits.
    pub ready: Cycle,
    open: bool,
    /// Next entry of the hash chain.
    #[serde(skip)]
    next: Option<Id>,
}

/// File of miss status holding registers (MSHRs), indexed by line.
#[derive(Clone, Debug, State)]
#[state(restore = Self::restore_chains)]
pub struct MshrFile {
    entries: IdTable<Entry>,
    /// Requests that wait for each entry, indexed by its place.
    #[state(array)]
    waiters: Vec<VecDeque<Waiter>>,
    #[state(skip)]
    merges: u32,
    closed: u32,
    /// First open entry for each hash value of the line.
    #[state(skip)]
    chains: Vec<Option<Id>>,
    #[state(skip)]
    chain_shift: u32,
}

const NEW: Entry = Entry {
    line: 0,
    slot: None,
    requested: Requested { words: 0, flags: 0 },
    progress: FillProgress {
        words: 0,
        acks: 0,
        write_sequence: 0,
        filled_by: None,
        acked_by: None,
    },
    stored: 0,
    dirty: 0,
    acks_expected: 0,
    replies: 0,
    keep: true,
    prefetched: false,
    source: Source {
        kernel: 0,
        work_group: 0,
        pc: 0,
        compute_unit: 0,
        wavefront_slot: 0,
        work_group_slot: 0,
    },
    write_sequence: 0,
    ready: 0,
    open: true,
    next: None,
};

impl Entry {
    /// True if later requests for the line may join.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// True if requests stored into the line while it was in flight.
    #[inline]
    pub fn has_stores(&self) -> bool {
        self.stored != 0 || self.acks_expected != 0
    }

    /// True if everything requested has arrived and no queued return can release more responses.
    #[inline]
    fn is_complete(&self) -> bool {
        self.replies == 0
            && self.progress.words == self.requested.words
            && self.progress.acks == self.acks_expected
    }
}

impl MshrFile {
    /// Creates a file of `entries` registers, each for up to `merges` requests including the first.
    pub fn new(entries: u32, merges: u32) -> Self {
        assert!(
            entries > 0 && merges > 0,
            "an MSHR file must have entries and merges"
        );
        let chains = (entries * 2).next_power_of_two();
        Self {
            entries: IdTable::with_capacity(entries as usize),
            waiters: (0..entries).map(|_| VecDeque::new()).collect(),
            merges,
            closed: 0,
            chains: vec![None; chains as usize],
            chain_shift: u64::BITS - chains.trailing_zeros(),
        }
    }

    /// Chains the open entries anew.
    fn restore_chains(&mut self) {
        self.chains.fill(None);
        let open = self.entries.iter().filter(|(_, entry)| entry.open);
        let open: Vec<_> = open.map(|(id, entry)| (id, entry.line)).collect();
        for (id, line) in open {
            let chain = self.chain(line);
            self.entries[id].next = self.chains[chain].replace(id);
        }
    }

    /// Returns the number of entries in use.
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Shows the entries in use; `address` is that of an entry's line.
    pub(super) fn show(&self, contents: &mut Contents<'_>, address: impl Fn(u64) -> u64) {
        for (id, entry) in self.entries.iter() {
            let line = address(entry.line);
            contents
                .thing("miss", id.place() as u64)
                .flow(Some(transaction(line, &entry.source)))
                .number("line", line)
                .waits(match entry.progress.filled_by {
                    None if entry.progress.words != entry.requested.words => Some("fill"),
                    _ if entry.progress.acks != entry.acks_expected => Some("acknowledgement"),
                    _ => None,
                });
        }
    }

    /// True if no entry is in use.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that are not in use.
    pub(super) fn free(&self) -> u32 {
        (self.waiters.len() - self.entries.len()) as u32
    }

    /// True if every entry is in use.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.waiters.len()
    }

    /// Returns the open entry for this line.
    #[inline]
    pub fn find(&self, line: u64) -> Option<Id> {
        let mut at = self.chains[self.chain(line)];
        while let Some(id) = at {
            let entry = &self.entries[id];
            if entry.line == line {
                return Some(id);
            }
            at = entry.next;
        }
        None
    }

    /// Returns the entry with this id, if it is in use.
    #[inline]
    pub fn get(&self, id: Id) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// Returns the entry with this id for modification.
    ///
    /// # Panics
    /// Panics if the entry is not in use.
    #[inline]
    pub fn entry_mut(&mut self, id: Id) -> &mut Entry {
        &mut self.entries[id]
    }

    /// Allocates an open entry for a line that has none.
    ///
    /// # Panics
    /// Panics if the file is full.
    pub fn allocate(&mut self, line: u64) -> Id {
        debug_assert!(self.find(line).is_none(), "at most one open entry per line");
        assert!(!self.is_full(), "allocation was checked against is_full");
        let chain = self.chain(line);
        let next = self.chains[chain];
        let id = self.entries.insert(Entry { line, next, ..NEW });
        self.chains[chain] = Some(id);
        id
    }

    /// True if one more request may join this entry.
    #[inline]
    pub fn can_join(&self, id: Id) -> bool {
        self.waiters[id.place()].len() < self.merges as usize
    }

    /// Appends a request to the waiters of this entry.
    ///
    /// # Panics
    /// Panics if the entry already holds its maximum number of requests.
    pub fn join(&mut self, id: Id, waiter: Waiter) {
        assert!(self.can_join(id), "joining was checked with can_join");
        self.waiters[id.place()].push_back(waiter);
    }

    /// True if requests wait for the line of this entry.
    #[inline]
    pub fn has_waiters(&self, id: Id) -> bool {
        !self.waiters[id.place()].is_empty()
    }

    /// True if this entry expects no more data and has no waiters left.
    #[inline]
    pub fn is_finished(&self, id: Id) -> bool {
        !self.has_waiters(id) && self.entries[id].is_complete()
    }

    /// Returns the request of this entry that is answered next.
    #[inline]
    pub fn front(&self, id: Id) -> Option<&Waiter> {
        self.waiters[id.place()].front()
    }

    /// Removes and returns the request of this entry that is answered next.
    pub fn pop_front(&mut self, id: Id) -> Option<Waiter> {
        self.waiters[id.place()].pop_front()
    }

    /// Closes this entry to later requests; another may be allocated for its line.
    pub fn close(&mut self, id: Id) {
        let Entry {
            line, open, next, ..
        } = self.entries[id];
        if !open {
            return;
        }
        let chain = self.chain(line);
        if self.chains[chain] == Some(id) {
            self.chains[chain] = next;
        } else {
            let mut at = self.chains[chain];
            while let Some(before) = at {
                let before = &mut self.entries[before];
                at = before.next;
                if at == Some(id) {
                    before.next = next;
                }
            }
        }
        self.entries[id].open = false;
        self.closed += 1;
    }

    /// True if a closed entry for this line is in use.
    pub fn holds_closed(&self, line: u64) -> bool {
        let same = |entry: &Entry| !entry.open && entry.line == line;
        self.closed > 0 && self.entries.values().any(same)
    }

    /// Frees this entry, all of whose requests have been answered.
    ///
    /// # Panics
    /// Panics if requests are still waiting.
    pub fn release(&mut self, id: Id) {
        self.close(id);
        assert!(
            !self.has_waiters(id),
            "MSHR {} is released after its last waiter",
            id.place()
        );
        self.entries.remove(id);
        self.closed -= 1;
    }

    #[inline]
    fn chain(&self, line: u64) -> usize {
        // Fibonacci hashing: the top bits of the product depend on all bits of the line.
        (line.wrapping_mul(GAMMA) >> self.chain_shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
    fn a_closed_entry_is_reached_by_id_alone_and_its_line_may_open_another() {
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
        /// Compared with lists in ordered maps: same lines found, same order of waiters, no entry
        /// lost.
        #[test]
        fn behaves_like_a_map_of_lists(
            entries in 1u32..6, merges in 1u32..5, steps in prop::collection::vec(step(), 1..200),
        ) {
            let mut mshrs = MshrFile::new(entries, merges);
            let mut lists: BTreeMap<Id, VecDeque<u32>> = BTreeMap::new();
            let mut open: BTreeMap<u64, Id> = BTreeMap::new();
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
