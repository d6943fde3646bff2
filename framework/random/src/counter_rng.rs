//! Random choices as a pure function of (seed, place, count).

use crate::{FNV_START, fnv1a, nth};

/// Random numbers for one place. The same count always gives the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRng {
    key: u64,
}

impl CounterRng {
    /// Creates the generator for `place`, such as the path of a port, in a run with `seed`.
    pub fn new(seed: u64, place: &str) -> Self {
        Self {
            key: fnv1a(seed ^ FNV_START, place.bytes()),
        }
    }

    /// Returns the number for this count, any `u64`.
    pub fn roll(&self, count: u64) -> u64 {
        nth(self.key, count)
    }

    /// Returns the number for this count, in `0..n`; 0 for `n` = 0.
    pub fn below(&self, count: u64, n: u64) -> u64 {
        ((u128::from(self.roll(count)) * u128::from(n)) >> 64) as u64
    }

    /// Returns true for about `sixteenths` of 16 counts.
    pub fn chance(&self, count: u64, sixteenths: u32) -> bool {
        self.roll(count) & 15 < u64::from(sixteenths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_repeat_and_differ_by_place() {
        let (a, b) = (CounterRng::new(1, "a.input"), CounterRng::new(1, "b.input"));
        assert_eq!(a.roll(5), CounterRng::new(1, "a.input").roll(5));
        assert_ne!(a.roll(5), b.roll(5));
        assert_ne!(a.roll(5), a.roll(6));
    }

    #[test]
    fn chances_are_about_what_they_say() {
        let dice = CounterRng::new(7, "x");
        let hits = (0..16_000).filter(|n| dice.chance(*n, 4)).count();
        assert!((3_700..4_300).contains(&hits), "{hits}");
        assert!((0..1000).all(|n| dice.below(n, 7) < 7));
        assert_eq!(dice.below(0, 0), 0);
    }
}
