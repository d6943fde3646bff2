//! Whole numbers by a power law, equal on every machine.

use std::f64::consts::LN_2;

use crate::random::Random;

/// Distribution of whole numbers, each as likely as a power of it.
pub(super) struct PowerLaw {
    low: u32,
    /// Weights of the numbers from `low` on, added up.
    sums: Vec<f64>,
}

impl PowerLaw {
    /// Creates the distribution of the numbers from `low`, at least 1, to `high`, at least `low`.
    /// The weight of a number is its power with the exponent `-exponent`.
    pub(super) fn new(low: u32, high: u32, exponent: f64) -> Self {
        let mut sum = 0.0;
        let weights = (low..=high).map(|number| exp(-exponent * ln(f64::from(number))));
        let sums = weights.map(|weight| {
            sum += weight;
            sum
        });
        Self {
            low,
            sums: sums.collect(),
        }
    }

    /// Draws a number, with one uniform number of the stream.
    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        let last = self.sums.len() - 1;
        let at = random.unit() * self.sums[last];
        let nth = self.sums.partition_point(|sum| *sum <= at).min(last);
        self.low + nth as u32
    }
}

/// Computes the natural logarithm of a positive number. Unlike the library's, it consists of basic
/// operations only, which round alike everywhere.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let fraction = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // Series of the inverse hyperbolic tangent; its argument is at most 1/3.
    let argument = (fraction - 1.0) / (fraction + 1.0);
    let square = argument * argument;
    let mut sum = 0.0;
    for term in (0..18).rev() {
        sum = sum * square + 1.0 / f64::from(2 * term + 1);
    }
    f64::from(exponent) * LN_2 + 2.0 * argument * sum
}

/// Computes the exponential function, like [`ln`] of basic operations only.
fn exp(x: f64) -> f64 {
    let exponent = (x / LN_2).round().clamp(-1000.0, 1000.0);
    let rest = x - exponent * LN_2;
    let mut sum = 1.0;
    for term in (1..20).rev() {
        sum = 1.0 + sum * rest / f64::from(term);
    }
    let scale = f64::from_bits((1023 + exponent as i64).cast_unsigned() << 52);
    sum * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_and_powers_are_those_of_the_library() {
        for x in [1e-9, 0.3, 0.999, 1.0, 1.5, 2.0, 3.0, 500.0, 1e12] {
            assert!(
                (ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0),
                "{x}"
            );
        }
        for x in [-40.0, -1.0, -0.001, 0.0, 0.3, 1.0, 2.5, 30.0] {
            assert!((exp(x) / x.exp() - 1.0).abs() <= 1e-13, "{x}");
        }
    }

    #[test]
    fn small_numbers_are_as_much_more_likely_as_the_exponent_says() {
        for exponent in [1.0, 1.6, 2.5] {
            let law = PowerLaw::new(1, 500, exponent);
            let mut random = Random::new(1, 0);
            let mut counts = [0_u32; 501];
            for _ in 0..200_000 {
                counts[law.draw(&mut random) as usize] += 1;
            }
            assert_eq!(counts[0], 0);
            let found = f64::from(counts[2]) / f64::from(counts[8]);
            let expected = 4_f64.powf(exponent);
            assert!((found / expected - 1.0).abs() < 0.1, "{exponent}: {found}");
        }
    }

    #[test]
    fn a_single_number_is_always_drawn() {
        let law = PowerLaw::new(7, 7, 1.9);
        let mut random = Random::new(1, 0);
        assert!((0..100).all(|_| law.draw(&mut random) == 7));
    }
}
