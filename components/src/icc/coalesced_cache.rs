//! The coalesced cache: a few lines that several units of the cluster have asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No line: lines start at multiples of their size.
const NO_LINE: u64 = u64::MAX;

/// Which line leaves a full coalesced cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CoalescedReplacement {
    /// The one used longest ago.
    Lru,
    /// The one filled longest ago.
    Fifo,
}

/// Fully associative lines with the newest write known to each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CoalescedCache {
    /// Per place the line, in an array of its own because every probe compares all of them.
    lines: Vec<u64>,
    places: Vec<Place>,
    /// Fills and, for LRU, hits so far: what ages are counted in.
    time: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Place {
    words: u32,
    write_sequence: u32,
    used: u64,
}

impl CoalescedCache {
    pub(super) fn new(lines: u32) -> Self {
        Self {
            lines: vec![NO_LINE; lines as usize],
            places: vec![Place::default(); lines as usize],
            time: 0,
        }
    }

    /// The place that holds these words of `line`.
    pub(super) fn probe(&self, line: u64, words: u32) -> Option<usize> {
        self.find(line)
            .filter(|at| words & !self.places[*at].words == 0)
    }

    /// Reads a place that [`CoalescedCache::probe`] named: the newest write its line has seen.
    pub(super) fn read(&mut self, at: usize, replacement: CoalescedReplacement) -> u32 {
        if replacement == CoalescedReplacement::Lru {
            self.time += 1;
            self.places[at].used = self.time;
        }
        self.places[at].write_sequence
    }

    /// Stores these words of `line`, in its own place if it has one; says whether another line
    /// had to leave.
    pub(super) fn fill(&mut self, line: u64, words: u32, write_sequence: u32) -> bool {
        let oldest = || {
            let places = self.places.iter().enumerate();
            let oldest = places.min_by_key(|(_, place)| place.used);
            oldest.expect("a coalesced cache has lines").0
        };
        let at = self.find(line).or_else(|| self.find(NO_LINE));
        let at = at.unwrap_or_else(oldest);
        let evicted = ![NO_LINE, line].contains(&self.lines[at]);
        self.time += 1;
        self.lines[at] = line;
        self.places[at] = Place {
            words,
            write_sequence,
            used: self.time,
        };
        evicted
    }

    /// Drops `line`; says whether it was there.
    pub(super) fn invalidate(&mut self, line: u64) -> bool {
        let found = self.find(line);
        if let Some(at) = found {
            self.lines[at] = NO_LINE;
        }
        found.is_some()
    }

    /// Drops every line; says how many there were.
    pub(super) fn clear(&mut self) -> u64 {
        let held = self.lines.iter().filter(|l| **l != NO_LINE).count();
        self.lines.fill(NO_LINE);
        held as u64
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|l| *l == line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(replacement: CoalescedReplacement) -> [bool; 3] {
        let mut cache = CoalescedCache::new(2);
        assert!(!cache.fill(0, 1, 0));
        assert!(!cache.fill(128, 1, 0));
        let at = cache.probe(0, 1).expect("just filled");
        cache.read(at, replacement);
        assert!(cache.fill(256, 1, 0), "one must leave");
        [0, 128, 256].map(|line| cache.probe(line, 1).is_some())
    }

    #[test]
    fn the_line_used_or_filled_longest_ago_leaves() {
        assert_eq!(after(CoalescedReplacement::Lru), [true, false, true]);
        assert_eq!(after(CoalescedReplacement::Fifo), [false, true, true]);
    }

    #[test]
    fn a_line_is_held_once_with_its_newest_words() {
        let mut cache = CoalescedCache::new(2);
        cache.fill(0, 0b01, 3);
        cache.fill(0, 0b11, 5);
        let at = cache.probe(0, 0b10).expect("filled with both words");
        assert_eq!(cache.read(at, CoalescedReplacement::Lru), 5);
        assert!(cache.invalidate(0));
        assert_eq!(cache.probe(0, 0b01), None);
        assert_eq!(cache.clear(), 0);
    }
}
