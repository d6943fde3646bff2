//! Intervals of proportions and of their differences.

use crate::judge::Interval;

/// Number of machines with a property, and of all that were asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Count {
    /// Number of machines that have the property.
    pub with: u32,
    /// Number of machines that were counted in total.
    pub of: u32,
}

impl Count {
    pub(super) fn add(&mut self, has: bool) {
        self.with += u32::from(has);
        self.of += 1;
    }

    /// Returns the share with its interval (Wilson, 1927) at the error probability `error`, for
    /// both sides together. Returns `None` if nothing was counted.
    pub(super) fn share(self, error: f64) -> Option<Interval> {
        if self.of == 0 {
            return None;
        }
        let n = f64::from(self.of);
        let share = f64::from(self.with) / n;
        let z2 = normal_quantile(error / 2.0).powi(2);
        let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let root = (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        let half = z2.sqrt() * root / (1.0 + z2 / n);
        // The exact ends are 0 and 1 there, and rounding must not miss them.
        let low = if self.with == 0 { 0.0 } else { centre - half };
        let high = if self.with == self.of {
            1.0
        } else {
            centre + half
        };
        Some(Interval {
            low,
            median: share,
            high,
        })
    }

    /// Returns this share less another with its interval: Newcombe's hybrid score interval (1998).
    pub(super) fn less(self, other: Self, error: f64) -> Option<Interval> {
        let (a, b) = (self.share(error)?, other.share(error)?);
        let difference = a.median - b.median;
        let down = (a.median - a.low).hypot(b.high - b.median);
        let up = (a.high - a.median).hypot(b.median - b.low);
        Some(Interval {
            low: difference - down,
            median: difference,
            high: difference + up,
        })
    }
}

/// Returns the standard normal quantile with `tail` above it, for `tail` up to 0.5. The error is
/// below 0.00045 (Abramowitz and Stegun, 26.2.23).
fn normal_quantile(tail: f64) -> f64 {
    let t = (-2.0 * tail.max(f64::MIN_POSITIVE).ln()).sqrt();
    let above = 2.515517 + 0.802853 * t + 0.010328 * t * t;
    let below = 1.0 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t;
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.0006, "{found}, not {expected}");
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (tail, z) in [
            (0.025, 1.95996),
            (0.005, 2.57583),
            (0.0005, 3.29053),
            (0.5, 0.0),
        ] {
            close(normal_quantile(tail), z);
        }
    }

    #[test]
    fn intervals_are_those_of_the_published_examples() {
        // Newcombe 1998, "Two-sided confidence intervals for the single proportion", table 1.
        for (with, of, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let share = Count { with, of }.share(0.05).unwrap();
            close(share.low, low);
            close(share.high, high);
        }
        // Newcombe 1998, "Interval estimation for the difference", table 2, method 10.
        for (a, b, low, high) in [
            ((56, 70), (48, 80), 0.0524, 0.3339),
            ((9, 10), (3, 10), 0.1705, 0.8090),
            ((5, 56), (0, 29), -0.0381, 0.1926),
        ] {
            let [a, b] = [a, b].map(|(with, of)| Count { with, of });
            let difference = a.less(b, 0.05).unwrap();
            close(difference.low, low);
            close(difference.high, high);
        }
    }

    #[test]
    fn of_nothing_there_is_no_share_and_a_smaller_error_is_a_wider_interval() {
        let count = Count { with: 3, of: 8 };
        assert!(Count::default().share(0.05).is_none());
        assert!(count.less(Count::default(), 0.05).is_none());
        let [wide, narrow] = [0.001, 0.05].map(|error| count.share(error).unwrap());
        assert!(wide.low < narrow.low && narrow.high < wide.high);
    }
}
