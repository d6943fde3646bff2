//! Reuse distances: distinct lines between two accesses to one line, by who made the first.

use serde::{Deserialize, Serialize};

/// Bins of distances: bin 0 holds 0, bin `i` holds `2^(i-1) <= distance < 2^i`.
pub const DISTANCE_BINS: usize = 33;

/// Distances of one relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distances {
    /// Accesses in each bin.
    pub bins: Vec<u64>,
    /// Accesses whose distance is at least the lines of a first-level cache.
    pub beyond_l1: u64,
    /// The same of the second level.
    pub beyond_l2: u64,
    /// Sum of all distances.
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

    /// Accesses.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Upper end of the bin in which the middle access lies: a distance below which at least half of all are.
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
