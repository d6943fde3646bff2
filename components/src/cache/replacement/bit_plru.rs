//! Pseudo-LRU by one bit per way. A use marks its way; a use that would leave no way unmarked clears
//! all other marks. The lowest unmarked way leaves.

use serde::{Deserialize, Serialize};

use super::ReplacementPolicy;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cache) struct BitPlru {
    ways: usize,
    marks: Vec<u64>,
}

impl BitPlru {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self {
            ways,
            marks: vec![0; sets],
        }
    }
}

impl ReplacementPolicy for BitPlru {
    const WAYS_MAX: u32 = 64;

    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let marks = &mut self.marks[set];
        *marks |= 1 << way;
        if *marks == u64::MAX >> (64 - self.ways) {
            *marks = 1 << way;
        }
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.used(set, way);
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let unmarked = |&way: &usize| self.marks[set] >> way & 1 == 0;
        let mut free = (0..self.ways).filter(|&way| may_leave(way));
        let any = free.clone().next();
        free.find(unmarked).or(any)
    }
}
