//! Policy slot of a cache that a replacement policy fills.

use warpweave_framework::{PolicyRole, SpecError};

use super::AnyReplacement;

/// Role of the replacement policy of a cache.
pub struct Replacement;

impl PolicyRole for Replacement {
    const NAME: &'static str = "replacement";
    const SUMMARY: &'static str = "Chooses the victim in a full set of a cache";
    type Policy = AnyReplacement;
    type Site = ReplacementSite;
}

/// Geometry of a cache, as seen by its replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacementSite {
    /// Number of sets that the policy orders, in all parts of the cache.
    pub sets: u32,
    /// Lines per set (associativity of the cache).
    pub ways: u32,
    /// Equal parts of the cache; the sets of a part are consecutive.
    pub partitions: u32,
}

impl ReplacementSite {
    /// Creates the site of a fully associative cache with a single set.
    pub fn of_one_set(ways: u32) -> Self {
        Self {
            sets: 1,
            ways,
            partitions: 1,
        }
    }

    /// Returns the number of lines of all sets.
    pub(super) fn lines(&self) -> usize {
        self.sets as usize * self.ways as usize
    }

    /// Fails if the cache has more than the `most` ways that `policy` supports.
    pub(super) fn at_most(&self, most: u32, policy: &str) -> Result<(), SpecError> {
        SpecError::require(self.ways <= most, "", || {
            format!("{policy} supports at most {most} ways, not {}", self.ways)
        })
    }
}
