//! Seeded random numbers that never change between versions: PCG32 core output under our own
//! distributions.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng as _;
use warpweave_random::nth;

/// Stream number of keyed sequences, used for nothing else.
const KEYED_STREAM: u64 = 0x6b65_7965;

/// Stream of random numbers that depends only on `(seed, stream)`.
///
/// The generator is PCG32 (O'Neill, HMC-CS-2014-0905). Only its 32-bit output is taken from the
/// library, so no change of a library's distributions can change an input.
#[derive(Debug, Clone)]
pub struct Random(Pcg32);

impl Random {
    /// Creates a numbered stream of a seed. Streams of one seed are independent sequences. Edges
    /// and weights made from the same seed, for example, are not correlated.
    pub fn new(seed: u64, stream: u64) -> Self {
        Random(Pcg32::new(nth(seed, 0), stream))
    }

    /// Creates the stream for a numbered item, such as an edge, under a seed. Keys are mixed, so
    /// the first numbers of neighbouring keys are unrelated.
    pub fn keyed(seed: u64, key: u64) -> Self {
        Random::new(seed ^ nth(key, 0), KEYED_STREAM)
    }

    /// Draws a uniform word of 32 bits.
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Draws a uniform number in `0..bound`, without bias (Lemire, "Fast random integer generation
    /// in an interval", 2019).
    ///
    /// # Panics
    /// Panics if `bound` is zero, because there is no such number.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "the bound of a random number must be above 0");
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let word = u64::from(self.word()) << 32 | u64::from(self.word());
            let product = u128::from(word) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns the numbers below `length` in random order (Fisher and Yates).
    pub fn shuffled(&mut self, length: usize) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..length).map(|number| number as u32).collect();
        for end in (2..=length).rev() {
            numbers.swap(end - 1, self.below(end as u64) as usize);
        }
        numbers
    }

    /// Draws a uniform number in `0..bound` other than `one`.
    ///
    /// # Panics
    /// Panics if there is no such number.
    pub fn other(&mut self, one: u32, bound: u32) -> u32 {
        let nth = self.below(u64::from(bound) - 1) as u32;
        if nth < one { nth } else { nth + 1 }
    }

    /// Draws a uniform multiple of 2^-53 in [0, 1).
    pub fn unit(&mut self) -> f64 {
        let word = u64::from(self.word()) << 32 | u64::from(self.word());
        (word >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a uniform multiple of 2^-24 in [0, 1), from one word.
    pub fn unit_f32(&mut self) -> f32 {
        (self.word() >> 8) as f32 / (1_u32 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the first outputs of the reference implementation's demo program,
    /// `pcg32_srandom(42, 54)`.
    #[test]
    fn core_output_is_the_published_pcg32() {
        let mut random = Random(Pcg32::new(42, 54));
        let words: Vec<u32> = (0..6).map(|_| random.word()).collect();
        let published = [
            0xa15c_02b7,
            0x7b47_f409,
            0xba1d_3330,
            0x83d2_f293,
            0xbfa4_784b,
            0xcbed_606e,
        ];
        assert_eq!(words, published);
    }

    #[test]
    fn every_value_below_the_bound_turns_up_about_equally_often() {
        let mut random = Random::new(1, 0);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&n| (9_600..10_400).contains(&n)),
            "{counts:?}"
        );
    }

    #[test]
    fn streams_and_seeds_differ() {
        let first = |seed, stream| Random::new(seed, stream).word();
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_eq!(first(1, 0), first(1, 0));
    }

    #[test]
    fn unit_values_stay_below_one_and_fill_the_interval() {
        let mut random = Random::new(3, 0);
        let values: Vec<f32> = (0..10_000).map(|_| random.unit_f32()).collect();
        assert!(values.iter().all(|v| (0.0..1.0).contains(v)));
        let mean = values.iter().sum::<f32>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean), "{mean}");
        let wide: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
        assert!(wide.iter().all(|v| (0.0..1.0).contains(v)));
        assert!((0.48..0.52).contains(&(wide.iter().sum::<f64>() / 10_000.0)));
    }
}
