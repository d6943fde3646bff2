//! Coalesced cache: a few lines that several units of the cluster have requested.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Instrumented, State, Stateful, Statistics};

use crate::cache::replacement::AnyReplacement;

/// Invalid line address: lines start at multiples of their size.
const NO_LINE: u64 = u64::MAX;

/// Fully associative lines with the newest known write of each.
pub(super) struct CoalescedCache {
    /// Line in each place, in a separate array because every probe compares all of them.
    lines: Vec<u64>,
    places: Vec<Place>,
    /// Replacement policy of the places, treated as the ways of one set.
    replacement: AnyReplacement,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Place {
    words: u32,
    write_sequence: u32,
}

impl CoalescedCache {
    /// Creates an empty cache; the policy must have been built for one set of `lines` ways.
    pub(super) fn new(lines: u32, replacement: AnyReplacement) -> Self {
        Self {
            lines: vec![NO_LINE; lines as usize],
            places: vec![Place::default(); lines as usize],
            replacement,
        }
    }

    /// Returns the place that holds these words of `line`.
    pub(super) fn probe(&self, line: u64, words: u32) -> Option<usize> {
        self.find(line)
            .filter(|at| words & !self.places[*at].words == 0)
    }

    /// Reads a place returned by [`CoalescedCache::probe`]. Returns the newest write that its line
    /// contains.
    pub(super) fn read(&mut self, at: usize) -> u32 {
        self.replacement.used(0, at);
        self.places[at].write_sequence
    }

    /// Stores these words of `line`, in its existing place if it has one. Returns true if another
    /// line was evicted.
    pub(super) fn fill(&mut self, line: u64, words: u32, write_sequence: u32) -> bool {
        let victim = || self.replacement.victim(0, |_| true).unwrap_or(0);
        let at = self.find(line).or_else(|| self.find(NO_LINE));
        let at = at.unwrap_or_else(victim);
        let evicted = ![NO_LINE, line].contains(&self.lines[at]);
        self.replacement.installed(0, at);
        self.lines[at] = line;
        self.places[at] = Place {
            words,
            write_sequence,
        };
        evicted
    }

    /// Drops `line`. Returns true if it was present.
    pub(super) fn invalidate(&mut self, line: u64) -> bool {
        let found = self.find(line);
        if let Some(at) = found {
            self.lines[at] = NO_LINE;
            self.replacement.removed(0, at);
        }
        found.is_some()
    }

    /// Drops every line and returns their number.
    pub(super) fn clear(&mut self) -> u64 {
        let mut held = 0;
        for (at, line) in self.lines.iter_mut().enumerate() {
            if *line != NO_LINE {
                *line = NO_LINE;
                self.replacement.removed(0, at);
                held += 1;
            }
        }
        held
    }

    /// Registers the state of the cache for checkpoints.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.array("lines", &mut self.lines);
        state.array("places", &mut self.places);
        state.part("replacement", |state| self.replacement.state(state));
    }

    /// Reports statistics of an open replacement policy.
    pub(super) fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.replacement.statistics(statistics);
    }

    /// Returns the contract violation of the replacement policy, if there was one.
    pub(super) fn broken(&self) -> Option<&str> {
        self.replacement.broken()
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|l| *l == line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::replacement::{Fifo, Lru, ReplacementSite};

    fn cache(policy: fn(&ReplacementSite) -> AnyReplacement) -> CoalescedCache {
        CoalescedCache::new(2, policy(&ReplacementSite::of_one_set(2)))
    }

    fn lru(site: &ReplacementSite) -> AnyReplacement {
        AnyReplacement::Lru(Lru::new(site))
    }

    fn fifo(site: &ReplacementSite) -> AnyReplacement {
        AnyReplacement::Fifo(Fifo::new(site))
    }

    fn after(policy: fn(&ReplacementSite) -> AnyReplacement) -> [bool; 3] {
        let mut cache = cache(policy);
        assert!(!cache.fill(0, 1, 0));
        assert!(!cache.fill(128, 1, 0));
        let at = cache.probe(0, 1).expect("just filled");
        cache.read(at);
        assert!(cache.fill(256, 1, 0), "one must leave");
        [0, 128, 256].map(|line| cache.probe(line, 1).is_some())
    }

    #[test]
    fn the_line_used_or_filled_longest_ago_leaves() {
        assert_eq!(after(lru), [true, false, true]);
        assert_eq!(after(fifo), [false, true, true]);
    }

    #[test]
    fn a_line_is_held_once_with_its_newest_words() {
        let mut cache = cache(lru);
        cache.fill(0, 0b01, 3);
        cache.fill(0, 0b11, 5);
        let at = cache.probe(0, 0b10).expect("filled with both words");
        assert_eq!(cache.read(at), 5);
        assert!(cache.invalidate(0));
        assert_eq!(cache.probe(0, 0b01), None);
        assert_eq!(cache.clear(), 0);
    }
}
