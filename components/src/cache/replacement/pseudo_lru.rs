//! Pseudo-LRU by a binary tree of bits per set. Node 1 is the root, nodes `2n` and `2n + 1` are the
//! halves of node `n`; its bit is set when the upper half leaves first. A use turns the bits on its
//! path away from itself.

use serde::{Deserialize, Serialize};

use super::ReplacementPolicy;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cache) struct PseudoLru {
    ways: usize,
    /// Bit `n` of a set's word belongs to node `n`.
    trees: Vec<u64>,
}

impl PseudoLru {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self {
            ways,
            trees: vec![0; sets],
        }
    }
}

impl ReplacementPolicy for PseudoLru {
    const WAYS_MAX: u32 = 64;
    const POWER_OF_TWO: bool = true;

    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let tree = &mut self.trees[set];
        let mut node = way + self.ways;
        while node > 1 {
            let upper = node & 1 == 1;
            node /= 2;
            if upper {
                *tree &= !(1 << node);
            } else {
                *tree |= 1 << node;
            }
        }
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.used(set, way);
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let (mut node, mut first, mut width) = (1, 0, self.ways);
        while width > 1 {
            width /= 2;
            let upper = self.trees[set] >> node & 1 == 1;
            let any = |first: usize| (first..first + width).any(&may_leave);
            // The half pointed at, unless none of its ways may leave.
            let upper = if upper {
                any(first + width)
            } else {
                !any(first)
            };
            node = 2 * node + usize::from(upper);
            first += usize::from(upper) * width;
        }
        may_leave(first).then_some(first)
    }
}
