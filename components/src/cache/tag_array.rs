//! Tag array: the lines held by a cache, their ways, and the choice of the victim.
//!
//! Supports any number of sets and ways. The set of a line is computed from its line number by a
//! [`SetHash`]. In a slice of an interleaved cache, the line number is that of the slice's own
//! dense address space. A new line takes an empty way (lowest first) before the replacement policy
//! chooses a victim. A locked line (being filled, or still answering its waiters) is never chosen.
//!
//! The array may consist of equal parts, each with its own lines (the halves of later first-level
//! caches). The part is encoded in the low bits of a line's address, which are otherwise zero. The
//! same line in two parts therefore has two different addresses.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Id, State, Statistics};

use super::replacement::{AnyReplacement, ReplacementSite};
use super::set_index::{SetHash, SetIndex};
use crate::interleave::Interleave;

/// Number of sets and ways, and the computation of the set number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of sets of one part; any positive number that the hash supports.
    pub sets: u32,
    /// Lines per set (associativity of the array).
    pub ways: u32,
    /// Bytes per line; a power of two.
    pub line_bytes: u32,
    /// Slice of an interleaved address space, if the cache is one.
    pub interleave: Option<Interleave>,
    /// Hash function that computes the set from the line number.
    pub hash: SetHash,
    /// Number of equal parts with lines of their own.
    pub partitions: u32,
}

impl Geometry {
    /// Returns the geometry as seen by the replacement policy.
    pub fn site(&self) -> ReplacementSite {
        ReplacementSite {
            sets: self.sets * self.partitions,
            ways: self.ways,
            partitions: self.partitions,
        }
    }
}

/// Place for one line: set × ways + way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot(u32);

impl Slot {
    /// Creates the place with this number, for tests of policies without a cache.
    #[cfg(test)]
    pub(super) fn at(index: u32) -> Self {
        Self(index)
    }

    /// Returns the number of the place within the whole array.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// State stored with the tag of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineState {
    /// Mask of the words present in the line.
    pub valid: u32,
    /// Mask of words newer than in the next level; a subset of the valid ones.
    pub dirty: u32,
    /// Highest write sequence known to be in the line.
    pub write_sequence: u32,
    mshr: Option<Id>,
}

impl LineState {
    /// MSHR entry that fills or still answers for the line, which locks it.
    #[inline]
    pub fn mshr(&self) -> Option<Id> {
        self.mshr
    }
}

/// Tags, replacement state and line states of a cache.
#[derive(State, Statistics)]
#[state(prepare = Self::make_places, restore = Self::restore_ways)]
pub struct TagArray {
    #[state(skip)]
    geometry: Geometry,
    #[state(skip)]
    line_shift: u32,
    #[state(skip)]
    index: SetIndex,
    #[state(part)]
    content: Content,
    #[state(part)]
    #[statistic(flatten)]
    replacement: AnyReplacement,
}

/// Mutable contents of a tag array. Tags and states are allocated with the first line: many caches
/// of a large machine never receive one.
#[derive(Clone, Debug, State)]
struct Content {
    /// Number of ways in use per set; these are the first ones.
    ways: u32,
    #[state(array)]
    tags: Vec<u64>,
    #[state(array)]
    states: Vec<LineState>,
    #[state(array)]
    sets: Vec<SetUse>,
}

/// Ways of a set that are unavailable to a new line: occupied ones, and those with a locked line.
/// Disabled ways are in both masks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct SetUse {
    occupied: u32,
    locked: u32,
}

/// Tag of an empty way: no line starts at the last byte of the address space.
const EMPTY: u64 = u64::MAX;

/// State of a place without a line.
const NO_LINE: LineState = LineState {
    valid: 0,
    dirty: 0,
    write_sequence: 0,
    mshr: None,
};

impl Content {
    /// Allocates the places for the lines.
    #[cold]
    fn make_places(&mut self, lines: usize) {
        self.tags.resize(lines, EMPTY);
        self.states.resize(lines, NO_LINE);
    }
}

impl TagArray {
    /// Creates an empty array. Sets, ways, parts and line bytes must not be zero, and the hash must
    /// support them. The policy must have been built for the [site](Geometry::site).
    pub fn new(geometry: Geometry, replacement: AnyReplacement) -> Self {
        let sets = geometry.sets as usize * geometry.partitions as usize;
        let lines = sets * geometry.ways as usize;
        assert!(
            lines > 0 && geometry.line_bytes.is_power_of_two(),
            "a tag array must have lines: {geometry:?}"
        );
        Self {
            line_shift: geometry.line_bytes.trailing_zeros(),
            index: SetIndex::new(geometry.hash, geometry.sets, geometry.line_bytes),
            content: Content {
                ways: geometry.ways,
                tags: Vec::new(),
                states: Vec::new(),
                sets: vec![SetUse::default(); sets],
            },
            replacement,
            geometry,
        }
    }

    #[cold]
    fn make_places(&mut self) {
        self.content.make_places(self.lines());
    }

    fn restore_ways(&mut self) {
        self.replacement.use_ways(self.content.ways as usize);
    }

    /// Places for lines.
    pub(super) fn lines(&self) -> usize {
        self.content.sets.len() * self.geometry.ways as usize
    }

    /// Returns the geometry of the array.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Iterates over the lines in ways from `first` on, with their slots and states.
    pub fn lines_from(&self, first: u32) -> impl Iterator<Item = (Slot, u64, LineState)> {
        let ways = self.geometry.ways;
        let lines = self.content.tags.iter().zip(&self.content.states);
        let lines = (0..).zip(lines);
        lines
            .filter(move |(slot, (tag, _))| slot % ways >= first && **tag != EMPTY)
            .map(|(slot, (tag, state))| (Slot(slot), *tag, *state))
    }

    /// Sets the number of ways in use per set, at least one; these are the first ones. Ways beyond
    /// must hold no lines.
    pub fn use_ways(&mut self, ways: u32) {
        let all = self.geometry.ways;
        assert!(
            (1..=all).contains(&ways) && self.lines_from(ways).next().is_none(),
            "{ways} of {all} ways are used, and others are empty"
        );
        let content = &mut self.content;
        for set in &mut content.sets {
            for count in [&mut set.occupied, &mut set.locked] {
                *count = *count + content.ways - ways;
            }
        }
        content.ways = ways;
        self.replacement.use_ways(ways as usize);
    }

    /// Returns the contract violation of the replacement policy, which ends the run, if there was
    /// one.
    #[inline]
    pub fn broken(&self) -> Option<&str> {
        self.replacement.broken()
    }

    /// Returns the set to which the line at this address belongs.
    #[inline]
    pub fn set_of(&self, line: u64) -> u32 {
        let local = match &self.geometry.interleave {
            Some(interleave) => interleave.local(line),
            None => line,
        };
        let set = self.index.of(local >> self.line_shift);
        if self.geometry.partitions == 1 {
            return set;
        }
        let part = line & u64::from(self.geometry.line_bytes - 1);
        set + part as u32 * self.geometry.sets
    }

    /// Returns the slot of the line at this address, if it is present.
    #[inline]
    pub fn find(&self, line: u64) -> Option<Slot> {
        self.find_in(self.set_of(line), line)
    }

    /// Returns the slot of a line whose set is known, if it is present.
    #[inline]
    pub fn find_in(&self, set: u32, line: u64) -> Option<Slot> {
        let ways = self.geometry.ways as usize;
        let base = set as usize * ways;
        let tags = self.content.tags.get(base..base + ways)?;
        let way = tags.iter().position(|&tag| tag == line)?;
        Some(Slot((base + way) as u32))
    }

    /// Records a use of the line in `slot`.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        let (set, way) = self.place(slot);
        self.replacement.used(set, way);
    }

    /// Returns the place for a new line of this set: an empty way, or else the victim's way.
    /// Returns `None` if every way of the set is locked.
    #[inline]
    pub fn victim_in(&self, set: u32) -> Option<Slot> {
        let ways = self.geometry.ways;
        let set = set as usize;
        let base = set * ways as usize;
        let SetUse { occupied, locked } = self.content.sets[set];
        let way = if occupied < ways {
            let tags = self.content.tags.get(base..base + ways as usize);
            tags.map_or(Some(0), |tags| tags.iter().position(|&tag| tag == EMPTY))
        } else if locked == 0 {
            self.replacement.victim(set, |_| true)
        } else if locked == ways {
            None
        } else {
            let states = &self.content.states[base..];
            let used = self.content.ways as usize;
            self.replacement
                .victim(set, |way| way < used && states[way].mshr.is_none())
        };
        way.map(|way| Slot((base + way) as u32))
    }

    /// True if every way of the set is locked.
    #[inline]
    pub(super) fn is_locked(&self, set: u32) -> bool {
        self.content.sets[set as usize].locked == self.geometry.ways
    }

    /// Returns the address of the line in `slot`, if there is one.
    #[inline]
    pub fn line(&self, slot: Slot) -> Option<u64> {
        let tag = *self.content.tags.get(slot.index())?;
        (tag != EMPTY).then_some(tag)
    }

    /// Returns the state of the line in `slot`.
    #[inline]
    pub fn state(&self, slot: Slot) -> &LineState {
        self.content.states.get(slot.index()).unwrap_or(&NO_LINE)
    }

    /// Returns the state of the line in `slot` for modification.
    #[inline]
    pub fn state_mut(&mut self, slot: Slot) -> &mut LineState {
        &mut self.content.states[slot.index()]
    }

    /// Installs a line in `slot`, unlocked and marked as just used, replacing the previous content.
    #[inline]
    pub fn occupy(&mut self, slot: Slot, line: u64) {
        let at = slot.index();
        let (set, way) = self.place(slot);
        if self.content.tags.is_empty() {
            self.make_places();
        }
        let content = &mut self.content;
        if content.tags[at] == EMPTY {
            content.sets[set].occupied += 1;
        }
        content.tags[at] = line;
        content.states[at] = LineState::default();
        self.replacement.installed(set, way);
    }

    /// Locks the line in `slot` against replacement on behalf of this MSHR.
    #[inline]
    pub fn lock(&mut self, slot: Slot, mshr: Id) {
        let (set, _) = self.place(slot);
        let before = self.content.states[slot.index()].mshr.replace(mshr);
        if before.is_none() {
            self.content.sets[set].locked += 1;
        }
    }

    /// Unlocks the line in `slot`, so that it can be replaced again.
    #[inline]
    pub fn unlock(&mut self, slot: Slot) {
        let (set, _) = self.place(slot);
        let before = self.content.states[slot.index()].mshr.take();
        if before.is_some() {
            self.content.sets[set].locked -= 1;
        }
    }

    /// Removes the line from `slot`, leaving it empty.
    #[inline]
    pub fn clear(&mut self, slot: Slot) {
        self.unlock(slot);
        let (set, way) = self.place(slot);
        let tag = &mut self.content.tags[slot.index()];
        if *tag != EMPTY {
            *tag = EMPTY;
            self.content.sets[set].occupied -= 1;
            self.replacement.removed(set, way);
        }
        self.content.states[slot.index()] = LineState::default();
    }

    /// Drops every unlocked line without dirty words and calls `dropped` for each.
    pub fn drop_clean(&mut self, mut dropped: impl FnMut(Slot, u64, LineState)) {
        let ways = self.geometry.ways as usize;
        if self.content.tags.is_empty() {
            return;
        }
        for set in 0..self.content.sets.len() {
            if self.content.sets[set].occupied == 0 {
                continue;
            }
            for at in set * ways..(set + 1) * ways {
                let (tag, state) = (self.content.tags[at], self.content.states[at]);
                if tag != EMPTY && state.dirty == 0 && state.mshr.is_none() {
                    let slot = Slot(at as u32);
                    self.clear(slot);
                    dropped(slot, tag, state);
                }
            }
        }
    }

    /// Performs one access of a functional cache that allocates on every miss. Returns true on a
    /// hit.
    #[inline]
    pub fn access(&mut self, line: u64) -> bool {
        let set = self.set_of(line);
        if let Some(slot) = self.find_in(set, line) {
            self.touch(slot);
            return true;
        }
        if let Some(slot) = self.victim_in(set) {
            self.occupy(slot, line);
        }
        false
    }

    #[inline]
    fn place(&self, slot: Slot) -> (usize, usize) {
        let (at, ways) = (slot.0, self.geometry.ways);
        // Most arrays have a power of two of ways; a division costs as much as the look-up.
        if ways.is_power_of_two() {
            let shift = ways.trailing_zeros();
            ((at >> shift) as usize, (at & (ways - 1)) as usize)
        } else {
            ((at / ways) as usize, (at % ways) as usize)
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
