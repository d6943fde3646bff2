//! Random replacement. The choice is a function of the seed, the set and the number of lines
//! installed so far, so that it does not depend on how often it is asked for.

use serde::{Deserialize, Serialize};

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

/// A well-mixed function of its arguments (the finaliser of SplitMix64).
fn mix(seed: u64, count: u64) -> u64 {
    let mut z = seed ^ count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
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
        let draw = mix(self.seed ^ (set as u64) << 32, self.installed + 1);
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
