//! Least recently used: a stamp per way, renewed by every use.

use serde::{Deserialize, Serialize};

use super::ReplacementPolicy;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cache) struct Lru {
    ways: usize,
    clock: u64,
    /// Time of last use.
    stamps: Vec<u64>,
}

impl Lru {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self {
            ways,
            clock: 0,
            stamps: vec![0; sets * ways],
        }
    }
}

impl ReplacementPolicy for Lru {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        self.clock += 1;
        self.stamps[set * self.ways + way] = self.clock;
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.used(set, way);
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        oldest(&self.stamps[set * self.ways..][..self.ways], may_leave)
    }
}

/// The way with the smallest stamp among those that may leave.
#[inline]
pub(super) fn oldest(stamps: &[u64], may_leave: impl Fn(usize) -> bool) -> Option<usize> {
    let mut oldest = None;
    let mut least = u64::MAX;
    for (way, &stamp) in stamps.iter().enumerate() {
        if stamp < least && may_leave(way) {
            (oldest, least) = (Some(way), stamp);
        }
    }
    oldest
}
