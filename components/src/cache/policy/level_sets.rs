//! Sets of another level, so that a policy finds where a line lies there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use crate::cache::set_index::{SetHash, SetIndex};
use crate::interleave::Interleave;

/// Slices and sets of the level below, as set in descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelSetsSpec {
    /// Interleaving of lines over the slices of that level; one cache if absent.
    #[serde(default)]
    pub interleave: Option<Interleave>,
    /// Number of sets of each slice.
    pub sets: u32,
    /// Set hash of that level. Source: modulo, the default of caches.
    #[serde(default)]
    pub set_hash: SetHash,
}

/// Sets of another level with lines of the same length.
#[derive(Clone, Debug)]
pub struct LevelSets {
    interleave: Option<Interleave>,
    sets: u64,
    index: SetIndex,
    line_shift: u32,
}

impl LevelSets {
    /// Creates the sets of a level whose lines have `line_bytes`, a power of two. `field` is the
    /// name of the parameters within the specification.
    ///
    /// # Errors
    /// Fails if the interleaving or the number of sets is impossible.
    pub fn new(spec: &LevelSetsSpec, line_bytes: u32, field: &str) -> Result<Self, SpecError> {
        let name = |part: &str| format!("{field}.{part}");
        SpecError::in_range(&name("sets"), spec.sets, 1..)?;
        if let Some(interleave) = spec.interleave {
            interleave.check(&name("interleave"))?;
        }
        let fits = spec.set_hash.check(spec.sets, line_bytes);
        fits.map_err(|why| SpecError::at(name("set_hash"), why))?;
        Ok(Self {
            interleave: spec.interleave,
            sets: u64::from(spec.sets),
            index: SetIndex::new(spec.set_hash, spec.sets, line_bytes),
            line_shift: line_bytes.trailing_zeros(),
        })
    }

    /// Returns the number of sets of all slices.
    pub fn count(&self) -> u64 {
        self.interleave.map_or(1, |it| u64::from(it.slices)) * self.sets
    }

    /// Returns the set number of a line across all slices of that level: slice × sets + set.
    pub fn global_set(&self, line: u64) -> u64 {
        let (slice, local) = match &self.interleave {
            Some(interleave) => (interleave.slice(line), interleave.local(line)),
            None => (0, line),
        };
        u64::from(slice) * self.sets + u64::from(self.index.of(local >> self.line_shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::replacement::{AnyReplacement, Lru};
    use crate::cache::tag_array::{Geometry, TagArray};

    #[test]
    fn a_line_has_the_set_that_a_slice_of_that_level_gives_it() {
        for (sets, set_hash) in [
            (128, SetHash::Modulo),
            (96, SetHash::Modulo),
            (64, SetHash::Xor),
        ] {
            let interleave = Interleave::in_turn(256, 6);
            let spec = LevelSetsSpec {
                interleave: Some(interleave),
                sets,
                set_hash,
            };
            let below = LevelSets::new(&spec, 128, "below").unwrap();
            let geometry = Geometry {
                sets,
                ways: 8,
                line_bytes: 128,
                interleave: Some(interleave),
                hash: set_hash,
                partitions: 1,
            };
            let lru = AnyReplacement::Lru(Lru::new(&geometry.site()));
            let slice = TagArray::new(geometry, lru);
            for line in (0..10_000).map(|number| number * 128) {
                let number = u64::from(interleave.slice(line)) * u64::from(sets);
                let expected = number + u64::from(slice.set_of(line));
                assert_eq!(below.global_set(line), expected, "{line:#x}");
            }
        }
    }

    #[test]
    fn sets_that_cannot_be_are_refused_by_name() {
        let refused = |sets, set_hash| {
            let spec = LevelSetsSpec {
                interleave: None,
                sets,
                set_hash,
            };
            LevelSets::new(&spec, 128, "below").err().map(|e| e.field)
        };
        assert_eq!(refused(0, SetHash::Modulo).as_deref(), Some("below.sets"));
        let hash = refused(96, SetHash::Xor);
        assert_eq!(hash.as_deref(), Some("below.set_hash"));
        assert_eq!(refused(96, SetHash::Modulo), None);
    }
}
