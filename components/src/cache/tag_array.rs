//! The tag array: which lines a cache holds, in which way, and which of them leaves next.
//!
//! Any number of sets and ways. The set of a line is its line number modulo the number of sets; in
//! a slice of an interleaved cache the line number is that of the slice's own dense address space.
//! Replacement keeps one stamp per way: an empty way has stamp 0 and is taken before any other
//! (lowest way first), otherwise the smallest stamp leaves. A locked line (being filled, or still
//! answering those who waited for it) is never chosen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interleave::Interleave;

/// Which line of a full set leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Replacement {
    /// The line whose last use is longest ago.
    Lru,
    /// The line that was installed first.
    Fifo,
}

/// Number of sets and ways, and where the set number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of sets; any positive number.
    pub sets: u32,
    /// Lines per set.
    pub ways: u32,
    /// Bytes per line; a power of two.
    pub line_bytes: u32,
    /// Slice of an interleaved address space, if the cache is one.
    pub interleave: Option<Interleave>,
}

/// A place for one line: set × ways + way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// What is kept beside the tag of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineState {
    /// Words present.
    pub valid: u32,
    /// Words newer than below; a subset of the valid ones.
    pub dirty: u32,
    /// Highest write sequence known to be in the line.
    pub write_sequence: u32,
    /// MSHR entry that fills or still answers for the line.
    pub mshr: Option<u32>,
}

/// Tags, replacement state and line states.
#[derive(Clone, Debug)]
pub struct TagArray {
    geometry: Geometry,
    replacement: Replacement,
    /// `sets - 1` when that is a mask.
    set_mask: Option<u64>,
    tags: Vec<u64>,
    /// Time of last use (or installation); the top bit locks.
    stamps: Vec<u64>,
    states: Vec<LineState>,
    clock: u64,
}

/// Tag of an empty way: no line starts at the last byte of the address space.
const EMPTY: u64 = u64::MAX;
const LOCKED: u64 = 1 << 63;

impl TagArray {
    /// An empty array. Sets, ways and line bytes must not be zero.
    pub fn new(geometry: Geometry, replacement: Replacement) -> Self {
        let lines = geometry.sets as usize * geometry.ways as usize;
        assert!(
            lines > 0 && geometry.line_bytes.is_power_of_two(),
            "a tag array has lines: {geometry:?}"
        );
        Self {
            geometry,
            replacement,
            set_mask: geometry
                .sets
                .is_power_of_two()
                .then(|| u64::from(geometry.sets) - 1),
            tags: vec![EMPTY; lines],
            stamps: vec![0; lines],
            states: vec![LineState::default(); lines],
            clock: 0,
        }
    }

    /// The set that the line at this address belongs to.
    #[inline]
    pub fn set_of(&self, line: u64) -> u32 {
        let local = match &self.geometry.interleave {
            Some(interleave) => interleave.local(line),
            None => line,
        };
        let number = local >> self.geometry.line_bytes.trailing_zeros();
        match self.set_mask {
            Some(mask) => (number & mask) as u32,
            None => (number % u64::from(self.geometry.sets)) as u32,
        }
    }

    /// Where the line at this (line-aligned) address is, if it has a place.
    #[inline]
    pub fn find(&self, line: u64) -> Option<Slot> {
        let ways = self.geometry.ways as usize;
        let base = self.set_of(line) as usize * ways;
        let way = self.tags[base..base + ways]
            .iter()
            .position(|&tag| tag == line)?;
        Some(Slot((base + way) as u32))
    }

    /// Notes a use of the line in `slot`.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        if self.replacement == Replacement::Lru {
            self.clock += 1;
            let stamp = &mut self.stamps[slot.0 as usize];
            *stamp = *stamp & LOCKED | self.clock;
        }
    }

    /// The place that a new line at this address would take: an empty way, else the way whose
    /// turn it is, none when every way of the set is locked.
    #[inline]
    pub fn victim(&self, line: u64) -> Option<Slot> {
        let ways = self.geometry.ways as usize;
        let base = self.set_of(line) as usize * ways;
        let (way, stamp) = self.stamps[base..base + ways]
            .iter()
            .enumerate()
            .min_by_key(|&(_, stamp)| *stamp)?;
        (stamp & LOCKED == 0).then_some(Slot((base + way) as u32))
    }

    /// Address of the line in `slot`, if there is one.
    #[inline]
    pub fn line(&self, slot: Slot) -> Option<u64> {
        let tag = self.tags[slot.0 as usize];
        (tag != EMPTY).then_some(tag)
    }

    /// State of the line in `slot`.
    #[inline]
    pub fn state(&self, slot: Slot) -> &LineState {
        &self.states[slot.0 as usize]
    }

    /// State of the line in `slot`, to be changed.
    #[inline]
    pub fn state_mut(&mut self, slot: Slot) -> &mut LineState {
        &mut self.states[slot.0 as usize]
    }

    /// Puts a line into `slot`, unlocked and as used now, in place of what was there.
    #[inline]
    pub fn occupy(&mut self, slot: Slot, line: u64) {
        let at = slot.0 as usize;
        self.clock += 1;
        self.tags[at] = line;
        self.stamps[at] = self.clock;
        self.states[at] = LineState::default();
    }

    /// Keeps the line in `slot` from being chosen as victim.
    #[inline]
    pub fn lock(&mut self, slot: Slot) {
        self.stamps[slot.0 as usize] |= LOCKED;
    }

    /// Lets the line in `slot` be chosen as victim again.
    #[inline]
    pub fn unlock(&mut self, slot: Slot) {
        self.stamps[slot.0 as usize] &= !LOCKED;
    }

    /// Empties `slot`.
    #[inline]
    pub fn clear(&mut self, slot: Slot) {
        let at = slot.0 as usize;
        self.tags[at] = EMPTY;
        self.stamps[at] = 0;
        self.states[at] = LineState::default();
    }

    /// Drops every unlocked line without dirty words and returns how many.
    pub fn drop_clean(&mut self) -> u64 {
        let mut dropped = 0;
        for at in 0..self.tags.len() {
            let clean = self.states[at].dirty == 0 && self.stamps[at] & LOCKED == 0;
            if clean && self.tags[at] != EMPTY {
                self.clear(Slot(at as u32));
                dropped += 1;
            }
        }
        dropped
    }

    /// One access of a functional cache that allocates on every miss: whether it hits.
    pub fn access(&mut self, line: u64) -> bool {
        if let Some(slot) = self.find(line) {
            self.touch(slot);
            return true;
        }
        if let Some(slot) = self.victim(line) {
            self.occupy(slot, line);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn array(sets: u32, ways: u32, replacement: Replacement) -> TagArray {
        let geometry = Geometry {
            sets,
            ways,
            line_bytes: 128,
            interleave: None,
        };
        TagArray::new(geometry, replacement)
    }

    /// A cache as a list per set, first to leave first.
    struct Naive {
        sets: Vec<Vec<u64>>,
        ways: usize,
        replacement: Replacement,
    }

    impl Naive {
        fn access(&mut self, number: u64) -> bool {
            let sets = self.sets.len() as u64;
            let set = &mut self.sets[(number % sets) as usize];
            let found = set.iter().position(|&n| n == number);
            match found {
                Some(at) if self.replacement == Replacement::Lru => {
                    set.remove(at);
                    set.push(number);
                }
                Some(_) => {}
                None => {
                    if set.len() == self.ways {
                        set.remove(0);
                    }
                    set.push(number);
                }
            }
            found.is_some()
        }
    }

    #[test]
    fn a_loop_one_line_larger_than_the_cache_misses_always_under_lru() {
        for (sets, ways) in [(1, 1), (1, 24), (3, 5), (32, 4), (7, 6)] {
            let mut tags = array(sets, ways, Replacement::Lru);
            let lines = u64::from(sets) * u64::from(ways + 1);
            for n in (0..3).flat_map(|_| 0..lines) {
                assert!(!tags.access(n * 128), "{sets} sets, {ways} ways, line {n}");
            }
        }
    }

    #[test]
    fn a_loop_that_fits_misses_once_per_line() {
        for replacement in [Replacement::Lru, Replacement::Fifo] {
            let mut tags = array(6, 4, replacement);
            let misses = (0..5)
                .flat_map(|_| 0..24u64)
                .filter(|n| !tags.access(n * 128))
                .count();
            assert_eq!(misses, 24);
        }
    }

    /// First 500 accesses of synthetic traces through a 16 KiB 4-way cache of 128-byte lines, with
    /// the hit bits of an independent simulator.
    #[test]
    fn hit_bits_equal_those_of_an_independent_simulator() {
        let table = include_str!("testdata/hit_bits_16k_4w.csv");
        let mut accesses = 0;
        for row in table.lines().skip(1) {
            let fields: Vec<_> = row.split(',').collect();
            for (replacement, bits) in [
                (Replacement::Lru, fields[1]),
                (Replacement::Fifo, fields[2]),
            ] {
                let mut tags = array(32, 4, replacement);
                let hits: String = fields[3]
                    .split(' ')
                    .map(|number| u64::from_str_radix(number, 16).unwrap())
                    .map(|number| if tags.access(number * 128) { '1' } else { '0' })
                    .collect();
                assert_eq!(hits, bits, "{} under {replacement:?}", fields[0]);
                accesses += hits.len();
            }
        }
        assert_eq!(accesses, 6 * 2 * 500);
    }

    #[test]
    fn locked_lines_stay_and_a_set_of_them_offers_no_way() {
        let mut tags = array(1, 2, Replacement::Lru);
        tags.access(0);
        tags.access(128);
        let first = tags.find(0).unwrap();
        let second = tags.find(128).unwrap();
        tags.lock(first);
        assert_eq!(tags.victim(256), Some(second));
        tags.lock(second);
        assert_eq!(tags.victim(256), None);
        // The lock does not touch the order.
        tags.unlock(first);
        tags.unlock(second);
        assert_eq!(tags.victim(256), Some(first));
    }

    #[test]
    fn a_slice_uses_all_its_sets() {
        let interleave = Interleave {
            granule_bytes: 256,
            slices: 6,
        };
        let geometry = Geometry {
            sets: 64,
            ways: 1,
            line_bytes: 128,
            interleave: Some(interleave),
        };
        let tags = TagArray::new(geometry, Replacement::Lru);
        let sets: Vec<_> = (0..64)
            .map(|n| tags.set_of(interleave.address(2, n * 128)))
            .collect();
        assert_eq!(sets, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn only_clean_lines_are_dropped() {
        let mut tags = array(2, 2, Replacement::Lru);
        for n in 0..3 {
            tags.access(n * 128);
        }
        let dirty = tags.find(128).unwrap();
        tags.state_mut(dirty).dirty = 1;
        assert_eq!(tags.drop_clean(), 2);
        assert_eq!(tags.find(128), Some(dirty));
        assert_eq!((tags.find(0), tags.find(256)), (None, None));
    }

    proptest! {
        #[test]
        fn hits_equal_those_of_a_list_per_set(
            sets in 1u32..10,
            ways in 1u32..7,
            fifo: bool,
            numbers in prop::collection::vec(0u64..80, 1..400),
        ) {
            let replacement = if fifo { Replacement::Fifo } else { Replacement::Lru };
            let mut tags = array(sets, ways, replacement);
            let mut naive =
                Naive { sets: vec![Vec::new(); sets as usize], ways: ways as usize, replacement };
            for number in numbers {
                prop_assert_eq!(tags.access(number * 128), naive.access(number));
            }
        }
    }
}
