//! Race detection: unordered accesses of different threads to one word.
//!
//! Each word keeps the accesses that may still conflict with a later one. An access is dropped when
//! a later, ordered access to its word covers all its conflicts. This follows Flanagan and Freund,
//! "FastTrack", PLDI 2009.

use std::collections::BTreeMap;

use super::clocks::{Clocks, Epoch};
use crate::site::SyncScope;

/// Number of memory words in a page.
const PAGE: u64 = 256;

/// Maximum number of accesses from different work-groups kept per word of global memory.
const REMEMBERED_MAX: usize = 32;

/// Scope of race detection: within or between work-groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RaceScope {
    /// Detects races between threads of one work-group.
    Threads,
    /// Detects races between threads of different work-groups.
    Groups,
}

/// An access in the history of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) who: Epoch,
    pub(super) pc: u32,
    pub(super) writes: bool,
    pub(super) strength: SyncScope,
    /// Bit set of the bytes of the word.
    pub(super) bytes: u8,
    /// Value of the word after the write, if it is one.
    pub(super) value: u32,
    /// True if the write does not change the value.
    pub(super) is_silent: bool,
}

/// An earlier access that conflicts with the current one.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessConflict {
    pub(super) other: Entry,
    /// True if the result does not depend on the order of the two accesses.
    pub(super) same_value: bool,
}

impl Entry {
    fn clashes(&self, later: &Self, between: RaceScope) -> bool {
        let apart = match between {
            RaceScope::Threads => self.who.thread != later.who.thread,
            RaceScope::Groups => self.who.group != later.who.group,
        };
        let enough = match between {
            RaceScope::Threads => SyncScope::Group,
            RaceScope::Groups => SyncScope::Device,
        };
        let both_strong = self.strength >= enough && later.strength >= enough;
        apart && self.bytes & later.bytes != 0 && (self.writes || later.writes) && !both_strong
    }

    /// True if every access that conflicts with `self` also conflicts with `later`.
    fn is_covered_by(&self, later: &Self) -> bool {
        self.bytes & !later.bytes == 0
            && (later.writes || !self.writes)
            && later.strength <= self.strength
    }

    fn same_value(&self, later: &Self) -> bool {
        match (self.writes, later.writes) {
            (true, true) => {
                let common = self.bytes & later.bytes;
                let bits = (0..4)
                    .filter(|byte| common >> byte & 1 != 0)
                    .fold(0, |bits, byte| bits | 0xff << (8 * byte));
                (self.value ^ later.value) & bits == 0
            }
            (true, false) => self.is_silent,
            _ => later.is_silent,
        }
    }

    /// True if both accesses have the same conflicts until the clocks advance.
    fn is_like(&self, other: &Self, between: RaceScope) -> bool {
        let same_place = self.who.group == other.who.group
            && self.who.wavefront() == other.who.wavefront()
            && self.who.clock == other.who.clock
            && (between == RaceScope::Groups || self.who.turn == other.who.turn);
        same_place
            && self.writes == other.writes
            && self.strength == other.strength
            && self.bytes == other.bytes
    }
}

/// Access history of the words of a memory.
#[derive(Debug, Default)]
pub(super) struct Words {
    pages: BTreeMap<u64, Vec<Vec<Entry>>>,
    /// Number of bytes that the history takes in memory.
    bytes: u64,
}

impl Words {
    /// Drops the access history of a range of words.
    pub(super) fn forget(&mut self, words: std::ops::Range<u64>) {
        for word in words {
            if let Some(page) = self.pages.get_mut(&(word / PAGE)) {
                page[(word % PAGE) as usize].clear();
            }
        }
    }

    /// Returns the number of bytes that the history takes in memory.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records an access to a word and returns a conflict, preferably one that changes the result.
    pub(super) fn note(
        &mut self,
        word: u64,
        new: Entry,
        between: RaceScope,
        clocks: &Clocks,
    ) -> Option<AccessConflict> {
        let page = self.pages.entry(word / PAGE);
        let page = page.or_insert_with(|| {
            self.bytes += PAGE * size_of::<Vec<Entry>>() as u64;
            vec![Vec::new(); PAGE as usize]
        });
        let entries = &mut page[(word % PAGE) as usize];
        let mut clash: Option<AccessConflict> = None;
        entries.retain(|old| {
            let ordered = clocks.ordered(&old.who, &new.who);
            if !ordered && old.clashes(&new, between) {
                let same_value = old.same_value(&new);
                if clash.is_none_or(|found| found.same_value && !same_value) {
                    clash = Some(AccessConflict {
                        other: *old,
                        same_value,
                    });
                }
            }
            !(ordered && old.is_covered_by(&new))
        });
        // Keeps two alike, since the next access comes from a different thread than at least one of
        // them.
        let enough = match between {
            RaceScope::Threads => 2,
            RaceScope::Groups => 1,
        };
        let alike = entries.iter().filter(|old| old.is_like(&new, between));
        if alike.count() < enough {
            if between == RaceScope::Groups && entries.len() >= REMEMBERED_MAX {
                let old = entries.iter().position(|entry| !entry.writes);
                entries.remove(old.unwrap_or(0));
            }
            let before = entries.capacity();
            entries.push(new);
            self.bytes += ((entries.capacity() - before) * size_of::<Entry>()) as u64;
        }
        clash
    }
}
