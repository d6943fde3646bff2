//! Distribution of values in power-of-two buckets.

use serde::{Deserialize, Serialize};

use super::without_trailing_zeros;

/// A distribution in power-of-two buckets with exact count, sum, minimum and maximum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    /// Bucket 0 counts zeros, bucket `b` values in `2^(b-1) .. 2^b`; trailing empty buckets are
    /// omitted.
    buckets: Vec<u64>,
}

impl Histogram {
    /// Adds one value to the distribution.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += value;
        let bucket = (u64::BITS - value.leading_zeros()) as usize;
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
    }

    /// Returns the number of values recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all values recorded.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the smallest value, if any; unknown for a difference of distributions.
    pub fn min(&self) -> Option<u64> {
        self.knows_extremes().then_some(self.min)
    }

    /// Returns the largest value, if any; unknown for a difference of distributions.
    pub fn max(&self) -> Option<u64> {
        self.knows_extremes().then_some(self.max)
    }

    /// True unless this is a difference of distributions, whose extremes are unknown.
    fn knows_extremes(&self) -> bool {
        self.count > 0 && self.min <= self.max
    }

    fn forget_extremes(&mut self) {
        (self.min, self.max) = (1, 0);
    }

    /// Returns the mean, if any value was recorded.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the counts per bucket; see the type.
    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            (self.min, self.max) = (other.min, other.max);
        } else if self.knows_extremes() && other.knows_extremes() {
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
        } else {
            self.forget_extremes();
        }
        self.count += other.count;
        self.sum += other.sum;
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    /// Creates part of `whole` from its count, sum and buckets. Extremes are known only if the part
    /// is the whole.
    pub(crate) fn part(whole: &Self, count: u64, sum: u64, mut buckets: Vec<u64>) -> Self {
        if count == 0 {
            return Self::default();
        }
        without_trailing_zeros(&mut buckets);
        let mut part = Self {
            count,
            sum,
            min: whole.min,
            max: whole.max,
            buckets,
        };
        if count != whole.count {
            part.forget_extremes();
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_keeps_exact_extremes_and_mean() {
        let mut h = Histogram::default();
        for v in [0, 1, 2, 3, 4, 1000] {
            h.record(v);
        }
        assert_eq!(
            (h.min(), h.max(), h.count(), h.sum()),
            (Some(0), Some(1000), 6, 1010)
        );
        assert_eq!(h.buckets()[..4], [1, 1, 2, 1]);
        let mut twice = h.clone();
        twice.merge(&h);
        assert_eq!(twice.mean(), h.mean());
    }

    #[test]
    fn an_empty_histogram_has_no_extremes() {
        assert_eq!(Histogram::default().min(), None);
        assert_eq!(Histogram::default().mean(), None);
    }
}
