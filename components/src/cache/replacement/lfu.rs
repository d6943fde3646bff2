//! Least frequently used: a count per way, one when its line is installed.

use serde::{Deserialize, Serialize};

use super::ReplacementPolicy;
use super::lru::oldest;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cache) struct Lfu {
    ways: usize,
    counts: Vec<u64>,
}

impl Lfu {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self {
            ways,
            counts: vec![0; sets * ways],
        }
    }
}

impl ReplacementPolicy for Lfu {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        self.counts[set * self.ways + way] += 1;
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.counts[set * self.ways + way] = 1;
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        oldest(&self.counts[set * self.ways..][..self.ways], may_leave)
    }
}
