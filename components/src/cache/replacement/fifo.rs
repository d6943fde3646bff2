//! First in, first out: a stamp per way, set when its line is installed.

use serde::{Deserialize, Serialize};

use super::ReplacementPolicy;
use super::lru::oldest;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cache) struct Fifo {
    ways: usize,
    clock: u64,
    /// Time of installation.
    stamps: Vec<u64>,
}

impl Fifo {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self {
            ways,
            clock: 0,
            stamps: vec![0; sets * ways],
        }
    }
}

impl ReplacementPolicy for Fifo {
    #[inline]
    fn used(&mut self, _set: usize, _way: usize) {}

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.clock += 1;
        self.stamps[set * self.ways + way] = self.clock;
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        oldest(&self.stamps[set * self.ways..][..self.ways], may_leave)
    }
}
