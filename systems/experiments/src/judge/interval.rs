//! Medians with their confidence intervals.

use serde::{Deserialize, Serialize};
use warpweave_random::CounterRng;

/// Number of resamples of the bootstrap.
const DRAWS: u64 = 10_000;

/// Median over repetitions (or the mean, if stated) and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Median, or mean if the interval is one of a mean.
    pub median: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Computes the percentile-bootstrap interval of the median, by resampling the values with
    /// replacement. A single value gives itself. Returns `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::of_statistic(values, median)
    }

    /// Computes the mean instead of the median, with its interval.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        let mean = |values: &mut [f64]| {
            let count = values.len() as f64;
            (count > 0.0).then(|| values.iter().sum::<f64>() / count)
        };
        Self::of_statistic(values, mean)
    }

    fn of_statistic(values: &[f64], statistic: impl Fn(&mut [f64]) -> Option<f64>) -> Option<Self> {
        let median = statistic(&mut values.to_vec())?;
        let dice = CounterRng::new(1, "bootstrap");
        let count = values.len() as u64;
        let mut drawn = vec![0.0; values.len()];
        let mut found: Vec<f64> = (0..DRAWS)
            .filter_map(|draw| {
                for (at, value) in drawn.iter_mut().enumerate() {
                    *value = values[dice.below(draw * count + at as u64, count) as usize];
                }
                statistic(&mut drawn)
            })
            .collect();
        found.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| found[(part * (found.len() - 1) as f64).round() as usize];
        Some(Self {
            low: at(0.025),
            median,
            high: at(0.975),
        })
    }

    /// Returns half of the interval's width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Returns the middle value, or the mean of the two in the middle. Sorts the values.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(values[middle - 1], upper)
    })
}

/// Computes Spearman's rank correlation. Returns `None` for fewer than three pairs, or if all
/// values are equal.
pub(super) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    correlation(&ranks(a), &ranks(b))
}

/// Computes Pearson's correlation. Returns `None` for fewer than three pairs, or if all values are
/// equal.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 3 || a.len() != b.len() {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut both, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        both += (x - mean_a) * (y - mean_b);
        of_a += (x - mean_a).powi(2);
        of_b += (y - mean_b).powi(2);
    }
    let correlation = both / (of_a * of_b).sqrt();
    correlation.is_finite().then_some(correlation)
}

/// Returns the rank of each value from 1. Equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values
            .iter()
            .filter(|other| other.total_cmp(value).is_eq())
            .count();
        below as f64 + (equal + 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_one_value_is_the_value_and_of_equal_ones_has_no_width() {
        let of = |values: &[f64]| Interval::of(values).unwrap();
        let one = Interval {
            low: 3.0,
            median: 3.0,
            high: 3.0,
        };
        assert_eq!(of(&[3.0]), one);
        assert_eq!(of(&[3.0; 10]), one);
        assert_eq!(Interval::of(&[]), None);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&mut [5.0, 1.0, 3.0, 4.0]), Some(3.5));
    }

    /// With two values, the median of a resample is one of them, or with probability 1/2 their
    /// mean.
    #[test]
    fn a_bootstrap_of_two_values_reaches_both() {
        let interval = Interval::of(&[0.0, 1.0]).unwrap();
        assert_eq!((interval.low, interval.high), (0.0, 1.0));
    }

    /// Draws ten values of a known distribution many times. The interval contains the true median
    /// about as often as stated.
    #[test]
    fn intervals_hold_the_true_median_about_as_often_as_they_say() {
        let dice = CounterRng::new(7, "coverage");
        let mut draws = 0;
        let mut uniform = || {
            draws += 1;
            dice.below(draws, 1 << 32) as f64 / (1_u64 << 32) as f64
        };
        let tries = 200;
        let held = (0..tries)
            .filter(|_| {
                let values: Vec<f64> = (0..10).map(|_| uniform()).collect();
                let interval = Interval::of(&values).unwrap();
                interval.low <= 0.5 && 0.5 <= interval.high
            })
            .count();
        // Small samples cover a little less than 95 %.
        assert!((176..=199).contains(&held), "{held} of {tries}");
    }

    #[test]
    fn ranks_correlate_as_spearman_says() {
        let correlation = |a: &[f64], b: &[f64]| rank_correlation(a, b);
        assert_eq!(
            correlation(&[1.0, 2.0, 3.0], &[10.0, 20.0, 90.0]),
            Some(1.0)
        );
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        // A textbook case: 1 - 6 * 2 / (4 * 15).
        let swapped = correlation(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).unwrap();
        assert!((swapped - 0.8).abs() < 1e-12);
        assert_eq!(correlation(&[1.0, 2.0], &[1.0, 2.0]), None);
        // Values on a line correlate fully, and ranks say nothing about how far they are apart.
        let line = super::correlation(&[1.0, 2.0, 4.0], &[-3.0, -6.0, -12.0]).unwrap();
        assert!((line + 1.0).abs() < 1e-12);
        let bent = super::correlation(&[1.0, 2.0, 3.0], &[10.0, 20.0, 90.0]).unwrap();
        assert!((bent - 0.917_662_935).abs() < 1e-6, "{bent}");
        assert_eq!(correlation(&[1.0; 3], &[1.0, 2.0, 3.0]), None);
    }
}
