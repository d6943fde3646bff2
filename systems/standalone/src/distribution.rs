//! Latency distribution summarised by mean and percentiles.

use serde::Serialize;

/// Summary of a set of latencies; percentiles are the values at rank `ceil(p·n)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    pub count: usize,
    /// Arithmetic mean of all values in the set.
    pub mean: f64,
    pub min: u64,
    /// Median: the value at rank `ceil(0.5·n)`.
    pub p50: u64,
    /// 90th percentile: the value at rank `ceil(0.9·n)`.
    pub p90: u64,
    /// 95th percentile: the value at rank `ceil(0.95·n)`.
    pub p95: u64,
    /// 99th percentile: the value at rank `ceil(0.99·n)`.
    pub p99: u64,
    pub max: u64,
}

impl Distribution {
    /// Summarises `values`. Returns `None` if there are none.
    pub fn of(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        let (min, max) = (*values.first()?, *values.last()?);
        let count = values.len();
        let rank = |percent: usize| values[(count * percent).div_ceil(100) - 1];
        let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
        Some(Self {
            count,
            mean: sum as f64 / count as f64,
            min,
            p50: rank(50),
            p90: rank(90),
            p95: rank(95),
            p99: rank(99),
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_by_rank() {
        let d = Distribution::of((1..=200).rev().collect()).expect("not empty");
        assert_eq!(
            (d.count, d.min, d.p50, d.p90, d.p95, d.p99, d.max),
            (200, 1, 100, 180, 190, 198, 200)
        );
        assert!((d.mean - 100.5).abs() < 1e-12);
    }

    #[test]
    fn one_value_is_every_percentile_and_none_is_nothing() {
        let d = Distribution::of(vec![7]).expect("one value");
        assert_eq!((d.min, d.p50, d.p99, d.max), (7, 7, 7, 7));
        assert_eq!(Distribution::of(Vec::new()), None);
    }
}
