//! Victim tags: which lines each wavefront lost last.

use warpweave_framework::{SpecError, State};

/// Per wavefront a small set-associative array of tags without data; least recently lost first out.
#[derive(Clone, Debug)]
pub struct VictimTags {
    sets: usize,
    ways: usize,
    line_bytes: u64,
    /// Lines per set, wavefront after wavefront; the one lost last stands first.
    lost: Vec<Vec<u64>>,
}

impl VictimTags {
    /// Tags of `entries` lines of `line_bytes` for each of `wavefronts`, in sets of `ways`.
    ///
    /// # Errors
    /// `entries` or `ways` out of range, or not a whole number of sets.
    pub fn new(
        wavefronts: usize,
        entries: u32,
        ways: u32,
        line_bytes: u32,
    ) -> Result<Self, SpecError> {
        SpecError::in_range("entries", entries, 1..=1024)?;
        SpecError::in_range("ways", ways, 1..=entries)?;
        SpecError::require(entries.is_multiple_of(ways), "ways", || {
            format!("{entries} entries do not divide into sets of {ways}")
        })?;
        let sets = (entries / ways) as usize;
        Ok(Self {
            sets,
            ways: ways as usize,
            line_bytes: u64::from(line_bytes.max(1)),
            lost: vec![Vec::new(); sets * wavefronts],
        })
    }

    fn set(&mut self, wavefront: usize, line: u64) -> &mut Vec<u64> {
        let set = (line / self.line_bytes % self.sets as u64) as usize;
        &mut self.lost[wavefront * self.sets + set]
    }

    /// The wavefront has lost a line.
    pub fn insert(&mut self, wavefront: usize, line: u64) {
        let ways = self.ways;
        let set = self.set(wavefront, line);
        set.retain(|known| *known != line);
        set.insert(0, line);
        set.truncate(ways);
    }

    /// The wavefront gets a line: whether it had lost it. The tag goes.
    pub fn take(&mut self, wavefront: usize, line: u64) -> bool {
        let set = self.set(wavefront, line);
        let place = set.iter().position(|known| *known == line);
        place.map(|place| set.remove(place)).is_some()
    }

    /// The wavefront has ended.
    pub fn clear(&mut self, wavefront: usize) {
        let sets = wavefront * self.sets..(wavefront + 1) * self.sets;
        self.lost[sets].iter_mut().for_each(Vec::clear);
    }

    /// Names the tags.
    pub fn state(&mut self, state: &mut State<'_>) {
        state.array("lost", &mut self.lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags() -> VictimTags {
        VictimTags::new(4, 16, 8, 128).expect("in range")
    }

    #[test]
    fn a_line_is_found_once_and_only_by_the_wavefront_that_lost_it() {
        let mut tags = tags();
        tags.insert(1, 0x1000);
        assert!(!tags.take(0, 0x1000));
        assert!(tags.take(1, 0x1000));
        assert!(!tags.take(1, 0x1000));
    }

    #[test]
    fn a_set_keeps_the_eight_lines_lost_last() {
        let mut tags = tags();
        // Nine lines of set 0, the first of them lost again after the second; one of set 1.
        tags.insert(2, 0);
        tags.insert(2, 128);
        tags.insert(2, 256);
        tags.insert(2, 0);
        for n in 2..9 {
            tags.insert(2, 256 * n);
        }
        assert!(!tags.take(2, 256));
        assert!((0..9).filter(|n| tags.take(2, 256 * n)).count() == 8);
        assert!(tags.take(2, 128));
    }

    #[test]
    fn an_end_clears_the_tags_of_its_wavefront_alone() {
        let mut tags = tags();
        for wavefront in [0, 1] {
            tags.insert(wavefront, 128);
            tags.insert(wavefront, 256);
        }
        tags.clear(0);
        assert!(!tags.take(0, 128) && !tags.take(0, 256));
        assert!(tags.take(1, 128) && tags.take(1, 256));
    }

    #[test]
    fn entries_that_make_no_whole_sets_are_refused() {
        let refused = |entries, ways| VictimTags::new(1, entries, ways, 128).expect_err("wrong");
        assert_eq!(refused(16, 5).field, "ways");
        assert_eq!(refused(0, 1).field, "entries");
    }
}
