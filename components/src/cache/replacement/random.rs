//! Random replacement. The choice is a function of the seed, the set and the number of lines
//! installed so far, so that it does not depend on how often it is asked for.

use serde::{Deserialize, Serialize};
use warpweave_random::{GAMMA, mix};

use super::ReplacementPolicy;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cache) struct Random {
    ways: usize,
    seed: u64,
    installed: u64,
}

impl Random {
    pub(super) fn new(_sets: usize, ways: usize, seed: u64) -> Self {
        Self {
            ways,
            seed,
            installed: 0,
        }
    }
}

impl ReplacementPolicy for Random {
    #[inline]
    fn used(&mut self, _set: usize, _way: usize) {}

    #[inline]
    fn installed(&mut self, _set: usize, _way: usize) {
        self.installed += 1;
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let count = (self.installed + 1).wrapping_mul(GAMMA);
        let draw = mix(self.seed ^ (set as u64) << 32 ^ count);
        let ways = self.ways as u64;
        // The high half of a product maps the draw evenly onto the ways.
        let at = |ways: u64| ((u128::from(draw) * u128::from(ways)) >> 64) as usize;
        let first = at(ways);
        if may_leave(first) {
            return Some(first);
        }
        let free = (0..self.ways).filter(|&way| may_leave(way)).count();
        let chosen = at(free as u64);
        (0..self.ways).filter(|&way| may_leave(way)).nth(chosen)
    }
}
