//! Reuse distances: distinct lines between two accesses to one line, grouped by the source of the
//! first access.

use serde::{Deserialize, Serialize};

/// Number of distance bins: bin 0 holds 0, bin `i` holds `2^(i-1) <= distance < 2^i`.
pub const DISTANCE_BINS: usize = 33;

/// Histogram and sum of the reuse distances of one relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distances {
    /// Number of accesses in each distance bin.
    pub bins: Vec<u64>,
    /// Accesses whose distance is at least the capacity of a first-level cache in lines.
    pub beyond_l1: u64,
    /// Accesses whose distance is at least the capacity of the second-level cache in lines.
    pub beyond_l2: u64,
    /// Sum of all reuse distances, for the mean.
    pub sum: u64,
}

impl Distances {
    pub(crate) fn new() -> Self {
        Self {
            bins: vec![0; DISTANCE_BINS],
            beyond_l1: 0,
            beyond_l2: 0,
            sum: 0,
        }
    }

    pub(crate) fn add(&mut self, distance: u64, [l1, l2]: [u64; 2]) {
        let bin = (u64::BITS - distance.leading_zeros()) as usize;
        self.bins[bin.min(DISTANCE_BINS - 1)] += 1;
        self.beyond_l1 += u64::from(distance >= l1);
        self.beyond_l2 += u64::from(distance >= l2);
        self.sum += distance;
    }

    /// Returns the number of accesses in all bins.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Returns the upper bound of the median's bin: at least half of all distances are below it.
    pub fn median_below(&self) -> Option<u64> {
        let half = self.count().div_ceil(2);
        let mut seen = 0;
        let bin = self.bins.iter().position(|count| {
            seen += count;
            half != 0 && seen >= half
        })?;
        Some(1 << bin)
    }
}
