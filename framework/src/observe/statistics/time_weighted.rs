//! Time-weighted quantities, such as the occupancy of a queue.

use serde::{Deserialize, Serialize};

use crate::time::Cycle;

/// A quantity that persists over time, such as the occupancy of a queue. Integrates the quantity
/// over time, without any work while it does not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeWeighted {
    value: u64,
    since: Cycle,
    integral: u64,
    max: u64,
}

impl TimeWeighted {
    /// Returns the current value of the quantity.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Sets the value from `cycle` on. Setting the current value again changes nothing.
    #[inline]
    pub fn set(&mut self, cycle: Cycle, value: u64) {
        if value == self.value {
            return;
        }
        self.integral += self.value * (cycle - self.since);
        self.since = cycle;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Adds to the value from `cycle` on.
    #[inline]
    pub fn add(&mut self, cycle: Cycle, amount: u64) {
        self.set(cycle, self.value + amount);
    }

    /// Subtracts from the value from `cycle` on.
    ///
    /// # Panics
    /// Panics if the value would become negative.
    #[inline]
    pub fn sub(&mut self, cycle: Cycle, amount: u64) {
        let value = self
            .value
            .checked_sub(amount)
            .expect("a level is never negative");
        self.set(cycle, value);
    }

    /// Returns the integral of value × cycles from cycle 0 up to `cycle`.
    #[inline]
    pub fn integral(&self, cycle: Cycle) -> u64 {
        self.integral + self.value * cycle.saturating_sub(self.since)
    }

    /// Returns the mean value over the cycles up to `cycle`.
    pub fn mean(&self, cycle: Cycle) -> f64 {
        if cycle == 0 {
            0.0
        } else {
            self.integral(cycle) as f64 / cycle as f64
        }
    }

    /// Returns the largest value so far.
    pub fn max(&self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_integrates_without_being_touched() {
        let mut level = TimeWeighted::default();
        level.set(10, 3);
        level.add(20, 1);
        level.sub(25, 4);
        assert_eq!(level.integral(25), 3 * 10 + 4 * 5);
        assert_eq!(level.integral(100), 50);
        assert_eq!(level.max(), 4);
    }
}
