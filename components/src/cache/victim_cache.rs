//! Victim cache: a few fully associative lines that were replaced in the main cache. A line is in
//! the cache, in the victim cache, or in neither, never in both.

use warpweave_framework::State;

use super::replacement::{AnyReplacement, Lru};
use super::set_index::SetHash;
use super::spec::VictimCacheSpec;
use super::tag_array::{Geometry, LineState, Slot, TagArray};
use crate::memory::Source;

/// Fully associative victim cache with LRU replacement.
#[derive(State)]
pub struct VictimCache {
    #[state(part)]
    tags: TagArray,
    /// For each place: the flags for sending the line down when it leaves (`None` if it is
    /// dropped), and the source that fetched it.
    #[state(array)]
    kept: Vec<(Option<u16>, Source)>,
    #[state(skip)]
    latency_cycles: u32,
}

/// Evicted line with its state and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Address of the evicted line, in bytes.
    pub line: u64,
    /// State of the line, which is clean.
    pub state: LineState,
    /// Flags for sending the line down when it leaves; `None` if it is dropped.
    pub hand_down: Option<u16>,
    /// Source that fetched the line from the next level.
    pub owner: Source,
}

impl VictimCache {
    /// An empty victim cache.
    pub fn new(spec: &VictimCacheSpec) -> Self {
        let lines = spec.lines;
        let geometry = Geometry {
            sets: 1,
            ways: lines,
            line_bytes: 1,
            interleave: None,
            hash: SetHash::Modulo,
            partitions: 1,
        };
        Self {
            tags: TagArray::new(geometry, AnyReplacement::Lru(Lru::new(&geometry.site()))),
            kept: vec![(None, Source::default()); lines as usize],
            latency_cycles: spec.latency_cycles,
        }
    }

    /// Additional cycles of a victim-cache hit over a hit in the cache itself.
    pub(super) fn latency_cycles(&self) -> u32 {
        self.latency_cycles
    }

    /// True if the line is present in the victim cache.
    pub fn holds(&self, line: u64) -> bool {
        self.tags.find(line).is_some()
    }

    /// Returns the valid words of the line, if it is present.
    pub fn words(&self, line: u64) -> Option<u32> {
        self.tags.find(line).map(|slot| self.tags.state(slot).valid)
    }

    /// Removes and returns the line, if it is present.
    pub fn take(&mut self, line: u64) -> Option<Victim> {
        let slot = self.tags.find(line)?;
        let victim = self.victim(slot, line);
        self.tags.clear(slot);
        Some(victim)
    }

    /// Inserts a line that is not present and returns the one it evicts, if any.
    pub fn insert(&mut self, victim: Victim) -> Option<Victim> {
        let slot = self
            .tags
            .victim_in(0)
            .expect("no line of a victim cache is locked");
        let displaced = self.tags.line(slot).map(|line| self.victim(slot, line));
        self.tags.occupy(slot, victim.line);
        *self.tags.state_mut(slot) = victim.state;
        self.kept[slot.index()] = (victim.hand_down, victim.owner);
        displaced
    }

    fn victim(&self, slot: Slot, line: u64) -> Victim {
        let (hand_down, owner) = self.kept[slot.index()];
        Victim {
            line,
            state: *self.tags.state(slot),
            hand_down,
            owner,
        }
    }

    /// Drops all lines and returns their number.
    pub fn clear(&mut self) -> u64 {
        let mut dropped = 0;
        self.tags.drop_clean(|_, _, _| dropped += 1);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn victim(line: u64) -> Victim {
        Victim {
            line,
            state: LineState::default(),
            hand_down: (line == 256).then_some(4),
            owner: Source {
                pc: line as u32,
                ..Source::default()
            },
        }
    }

    #[test]
    fn the_line_that_came_first_leaves_first_and_a_line_taken_makes_room() {
        let mut victims = VictimCache::new(&VictimCacheSpec {
            lines: 2,
            latency_cycles: 0,
        });
        assert_eq!(victims.insert(victim(128)), None);
        assert_eq!(victims.insert(victim(256)), None);
        assert_eq!(victims.take(128), Some(victim(128)));
        assert!(!victims.holds(128) && victims.holds(256));
        assert_eq!(victims.insert(victim(384)), None);
        assert_eq!(victims.insert(victim(512)), Some(victim(256)));
        assert_eq!(victims.clear(), 2);
        assert_eq!(victims.take(384), None);
    }
}
