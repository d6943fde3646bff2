//! The place in a cache that a replacement policy fills.

use warpweave_framework::{PolicyRole, SpecError};

use super::AnyReplacement;

/// The replacement policy of a cache.
pub struct Replacement;

impl PolicyRole for Replacement {
    const NAME: &'static str = "replacement";
    const SUMMARY: &'static str = "Chooses the line of a full set that leaves a cache";
    type Policy = AnyReplacement;
    type Site = ReplacementSite;
}

/// What a cache tells its replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacementSite {
    /// Sets that the policy orders, those of all parts of the cache.
    pub sets: u32,
    /// Lines per set.
    pub ways: u32,
    /// Equal parts of the cache; the sets of a part are consecutive.
    pub partitions: u32,
}

impl ReplacementSite {
    /// Of a cache whose lines are one set.
    pub fn of_one_set(ways: u32) -> Self {
        Self {
            sets: 1,
            ways,
            partitions: 1,
        }
    }

    /// Lines of all sets.
    pub(super) fn lines(&self) -> usize {
        self.sets as usize * self.ways as usize
    }

    /// Refuses more ways than `policy` orders.
    pub(super) fn at_most(&self, most: u32, policy: &str) -> Result<(), SpecError> {
        SpecError::require(self.ways <= most, "", || {
            format!("{policy} orders at most {most} ways, not {}", self.ways)
        })
    }
}
