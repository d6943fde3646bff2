//! Victim tags: which lines each wavefront lost last.

use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, State};

use crate::memory::Source;

/// Per wavefront slot a small set-associative array of tags without data; least recently lost first
/// out. A wavefront that takes over a slot begins with none.
pub(super) struct VictimTags {
    sets: usize,
    ways: usize,
    line_bytes: u64,
    /// By wavefront slot; grows to the slots that were ever seen.
    slots: Vec<Lost>,
}

/// What the wavefront in a slot has lost.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Lost {
    /// The wavefront, by kernel and work-group: no other one of them is in the slot after it.
    wavefront: Option<(u32, u32)>,
    /// By set; the line lost last stands first.
    sets: Vec<Vec<u64>>,
}

impl VictimTags {
    /// Tags of `entries` lines of `line_bytes` for each wavefront, in sets of `ways`.
    ///
    /// # Errors
    /// `entries` or `ways` out of range, or not a whole number of sets.
    pub(super) fn new(entries: u32, ways: u32, line_bytes: u32) -> Result<Self, SpecError> {
        SpecError::in_range("entries", entries, 1..=1024)?;
        SpecError::in_range("ways", ways, 1..=entries)?;
        SpecError::require(entries.is_multiple_of(ways), "ways", || {
            format!("{entries} entries do not divide into sets of {ways}")
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

    /// The set of the line among those of the wavefront that brought it in. None for a wavefront that
    /// has left its slot, which loses nothing, and one that never missed.
    fn set_of_owner(&mut self, owner: &Source, line: u64) -> Option<&mut Vec<u64>> {
        let set = self.set_of(line);
        let lost = self.slots.get_mut(usize::from(owner.wavefront_slot))?;
        (lost.wavefront == Some(wavefront(owner))).then(|| &mut lost.sets[set])
    }

    /// A line leaves that this wavefront brought in.
    pub(super) fn lose(&mut self, owner: &Source, line: u64) {
        let ways = self.ways;
        if let Some(set) = self.set_of_owner(owner, line) {
            set.retain(|known| *known != line);
            set.insert(0, line);
            set.truncate(ways);
        }
    }

    /// A line comes back that this wavefront brought in and that had left.
    pub(super) fn regain(&mut self, owner: &Source, line: u64) {
        if let Some(set) = self.set_of_owner(owner, line) {
            set.retain(|known| *known != line);
        }
    }

    /// A wavefront misses on a line: whether it had lost it. The tag goes.
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

    /// Names the tags.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field("slots", &mut self.slots);
    }
}

fn wavefront(source: &Source) -> (u32, u32) {
    (source.kernel, source.work_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sets of eight ways.
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
