//! Series of amounts per interval of cycles.

use serde::{Deserialize, Serialize};

use super::without_trailing_zeros;
use crate::time::Cycle;

/// Amounts added up per interval of a fixed number of cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Length of an interval in cycles, at least 1.
    interval: u64,
    sums: Vec<u64>,
}

impl Series {
    /// Creates an empty series with this many cycles (at least 1) per interval.
    pub fn new(interval: u64) -> Self {
        Self {
            interval: interval.max(1),
            sums: Vec::new(),
        }
    }

    /// Adds `amount` to the interval of `cycle`.
    pub fn add(&mut self, cycle: Cycle, amount: u64) {
        let at = (cycle / self.interval) as usize;
        if at >= self.sums.len() {
            self.sums.resize(at + 1, 0);
        }
        self.sums[at] += amount;
    }

    /// Returns the length of an interval in cycles.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Returns the sum per interval, from cycle 0 on; trailing empty intervals are omitted.
    pub fn sums(&self) -> &[u64] {
        &self.sums
    }

    /// Creates a series with these sums per interval.
    pub(crate) fn of(interval: u64, mut sums: Vec<u64>) -> Self {
        without_trailing_zeros(&mut sums);
        Self { interval, sums }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_sums_per_interval() {
        let mut s = Series::new(10);
        s.add(0, 1);
        s.add(9, 2);
        s.add(25, 4);
        assert_eq!(s.sums(), [3, 0, 4]);
    }
}
