//! Victim tags: the lines that each wavefront lost most recently.

use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, State};

use crate::memory::Source;

/// One small set-associative tag array per wavefront slot, without data, replaced in order of loss.
/// A wavefront that takes over a slot starts with an empty array.
#[derive(State)]
pub(super) struct VictimTags {
    #[state(skip)]
    sets: usize,
    #[state(skip)]
    ways: usize,
    #[state(skip)]
    line_bytes: u64,
    /// Tag arrays by wavefront slot; grows to the highest slot seen.
    slots: Vec<Lost>,
}

/// Tag array of the wavefront in one slot.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Lost {
    /// Owner of the tags, as kernel and work-group; no two wavefronts of one work-group use a slot
    /// in succession.
    wavefront: Option<(u32, u32)>,
    /// Tags by set; the line lost last comes first.
    sets: Vec<Vec<u64>>,
}

impl VictimTags {
    /// Creates arrays of `entries` tags for lines of `line_bytes`, in sets of `ways`.
    ///
    /// # Errors
    /// Returns an error if `entries` or `ways` is out of range, or `entries` is not a whole number
    /// of sets.
    pub(super) fn new(entries: u32, ways: u32, line_bytes: u32) -> Result<Self, SpecError> {
        SpecError::in_range("entries", entries, 1..=1024)?;
        SpecError::in_range("ways", ways, 1..=entries)?;
        SpecError::require(entries.is_multiple_of(ways), "ways", || {
            format!("{entries} entries cannot be divided evenly into sets of {ways}")
        })?;
        Ok(Self {
            sets: (entries / ways) as usize,
            ways: ways as usize,
            line_bytes: u64::from(line_bytes.max(1)),
            slots: Vec::new(),
        })
    }

    fn set_of(&self, line: u64) -> usize {
        (line / self.line_bytes % self.sets as u64) as usize
    }

    /// Returns the owner's set for this line. `None` if the wavefront has left its slot, and can
    /// thus lose nothing, or has never missed.
    fn set_of_owner(&mut self, owner: &Source, line: u64) -> Option<&mut Vec<u64>> {
        let set = self.set_of(line);
        let lost = self.slots.get_mut(usize::from(owner.wavefront_slot))?;
        (lost.wavefront == Some(wavefront(owner))).then(|| &mut lost.sets[set])
    }

    /// Records the eviction of a line that this wavefront had fetched.
    pub(super) fn lose(&mut self, owner: &Source, line: u64) {
        let ways = self.ways;
        if let Some(set) = self.set_of_owner(owner, line) {
            set.retain(|known| *known != line);
            set.insert(0, line);
            set.truncate(ways);
        }
    }

    /// Removes the tag of an evicted line that has returned to the cache for this wavefront.
    pub(super) fn regain(&mut self, owner: &Source, line: u64) {
        if let Some(set) = self.set_of_owner(owner, line) {
            set.retain(|known| *known != line);
        }
    }

    /// Looks up a line on which a wavefront misses and removes its tag. Returns true if the
    /// wavefront had lost the line.
    pub(super) fn take(&mut self, reader: &Source, line: u64) -> bool {
        let (set, slot) = (self.set_of(line), usize::from(reader.wavefront_slot));
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Lost::default());
        }
        let lost = &mut self.slots[slot];
        if lost.wavefront != Some(wavefront(reader)) {
            *lost = Lost {
                wavefront: Some(wavefront(reader)),
                sets: vec![Vec::new(); self.sets],
            };
        }
        let set = &mut lost.sets[set];
        let place = set.iter().position(|known| *known == line);
        place.map(|place| set.remove(place)).is_some()
    }
}

fn wavefront(source: &Source) -> (u32, u32) {
    (source.kernel, source.work_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags() -> VictimTags {
        VictimTags::new(16, 8, 128).expect("in range")
    }

    fn of(wavefront_slot: u8, work_group: u32) -> Source {
        Source {
            work_group,
            wavefront_slot,
            ..Source::default()
        }
    }

    #[test]
    fn bas_m13_a_line_is_found_once_and_only_by_the_wavefront_that_lost_it() {
        let (mut tags, first, second) = (tags(), of(0, 7), of(1, 7));
        // Both have had it.
        assert!(!tags.take(&first, 0x1000) && !tags.take(&second, 0x1000));
        tags.lose(&second, 0x1000);
        assert!(!tags.take(&first, 0x1000));
        assert!(tags.take(&second, 0x1000));
        assert!(!tags.take(&second, 0x1000));
        tags.lose(&second, 0x1000);
        tags.regain(&second, 0x1000);
        assert!(!tags.take(&second, 0x1000));
    }

    #[test]
    fn bas_m13_a_set_keeps_the_eight_lines_lost_last() {
        let (mut tags, owner) = (tags(), of(2, 7));
        assert!(!tags.take(&owner, 0));
        // Nine lines of set 0, the first of them lost again after the second; one of set 1.
        for line in [0, 128, 256, 0] {
            tags.lose(&owner, line);
        }
        for n in 2..9 {
            tags.lose(&owner, 256 * n);
        }
        assert!(!tags.take(&owner, 256));
        assert_eq!((0..9).filter(|n| tags.take(&owner, 256 * n)).count(), 8);
        assert!(tags.take(&owner, 128));
    }

    #[test]
    fn bas_m13_an_end_clears_the_tags_of_its_wavefront_alone() {
        let (mut tags, stays, goes, comes) = (tags(), of(0, 7), of(1, 7), of(1, 8));
        assert!(!tags.take(&stays, 0) && !tags.take(&goes, 0));
        for line in [128, 256] {
            tags.lose(&stays, line);
            tags.lose(&goes, line);
        }
        // Its successor in the slot has lost nothing, then or later.
        assert!(!tags.take(&comes, 128));
        tags.lose(&goes, 512);
        assert!(!tags.take(&comes, 256) && !tags.take(&comes, 512));
        assert!(tags.take(&stays, 128) && tags.take(&stays, 256));
    }

    #[test]
    fn entries_that_make_no_whole_sets_are_refused() {
        let refused = |entries, ways| {
            let refused = VictimTags::new(entries, ways, 128).map(|_| "accepted");
            refused.expect_err("wrong").field
        };
        assert_eq!(refused(16, 5), "ways");
        assert_eq!(refused(0, 1), "entries");
    }
}
