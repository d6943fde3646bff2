//! Coalesced cache: a few lines that several units of the cluster have requested.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, Statistics};

use super::merge_table::NO_LINE;
use super::spec::{BusPriority, CoalescedCacheSpec, FillRule};
use crate::building_blocks::DelayLine;
use crate::cache::replacement::AnyReplacement;
use crate::memory::{Level, MemRequest, MemResponse, flags};

/// Fully associative lines with the newest known write of each, and the queue of hits.
#[derive(State, Statistics)]
pub(super) struct CoalescedCache {
    /// Line in each place, in a separate array because every probe compares all of them.
    #[state(array)]
    lines: Vec<u64>,
    #[state(array)]
    places: Vec<Place>,
    /// Replacement policy of the places, treated as the ways of one set.
    #[state(part)]
    #[statistic(flatten)]
    replacement: AnyReplacement,
    /// Responses to hits, which wait for the bus.
    hits: DelayLine<MemResponse>,
    #[state(skip)]
    spec: CoalescedCacheSpec,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Place {
    words: u32,
    write_sequence: u32,
}

impl CoalescedCache {
    /// Creates an empty cache; the policy must have been built for one set of its lines.
    pub(super) fn new(spec: CoalescedCacheSpec, replacement: AnyReplacement) -> Self {
        Self {
            lines: vec![NO_LINE; spec.lines as usize],
            places: vec![Place::default(); spec.lines as usize],
            replacement,
            hits: DelayLine::default(),
            spec,
        }
    }

    /// True if a read with these flags may be answered from here.
    pub(super) fn serves(&self, request: &MemRequest) -> bool {
        self.spec.serve_bypassing || request.flags & flags::BYPASS_L1 == 0
    }

    /// Looks for the words of a read. On a hit, returns true and queues the response for the bus.
    pub(super) fn look_up(&mut self, now: Cycle, request: &MemRequest) -> bool {
        let Some(write_sequence) = self.read(request.line, request.words) else {
            return false;
        };
        let response = MemResponse {
            write_sequence,
            ..request.answer(Level::COALESCED)
        };
        let at = now + Cycle::from(self.spec.access_cycles);
        self.hits.push(at, response);
        true
    }

    pub(super) fn hits(&self) -> &DelayLine<MemResponse> {
        &self.hits
    }

    /// True if no further hit can be queued.
    pub(super) fn is_full(&self) -> bool {
        self.hits.len() >= self.spec.hit_queue as usize
    }

    /// Takes the next hit that the bus can carry in this cycle. `reply_waits` is true if a response
    /// from the network waits for the bus, too.
    pub(super) fn take_hit(&mut self, now: Cycle, reply_waits: bool) -> Option<MemResponse> {
        if reply_waits && self.spec.priority == BusPriority::Replies {
            return None;
        }
        self.hits.take(now)
    }

    /// True if a line is kept for which this number of units waited.
    pub(super) fn keeps(&self, units: u32) -> bool {
        units > 1 || self.spec.fill == FillRule::All
    }

    /// Reads these words of `line`, if they are present. Returns the newest write that the line
    /// contains.
    fn read(&mut self, line: u64, words: u32) -> Option<u32> {
        let at = self.find(line)?;
        if words & !self.places[at].words != 0 {
            return None;
        }
        self.replacement.used(0, at);
        Some(self.places[at].write_sequence)
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
        self.find(line).is_some_and(|at| self.remove(at))
    }

    /// Drops every line and returns their number.
    pub(super) fn clear(&mut self) -> u64 {
        let places = 0..self.lines.len();
        places.filter(|at| self.remove(*at)).count() as u64
    }

    /// Drops the line in a place. Returns true if there was one.
    fn remove(&mut self, at: usize) -> bool {
        let held = self.lines[at] != NO_LINE;
        if held {
            self.lines[at] = NO_LINE;
            self.replacement.removed(0, at);
        }
        held
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
    use crate::icc::tests;

    fn cache(policy: fn(&ReplacementSite) -> AnyReplacement) -> CoalescedCache {
        let spec = CoalescedCacheSpec {
            lines: 2,
            ..tests::cache()
        };
        CoalescedCache::new(spec, policy(&ReplacementSite::of_one_set(2)))
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
        cache.read(0, 1).expect("just filled");
        assert!(cache.fill(256, 1, 0), "one must leave");
        [0, 128, 256].map(|line| cache.read(line, 1).is_some())
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
        assert_eq!(cache.read(0, 0b10), Some(5));
        assert_eq!(cache.read(0, 0b101), None);
        assert!(cache.invalidate(0));
        assert_eq!(cache.read(0, 0b01), None);
        assert_eq!(cache.clear(), 0);
    }
}
