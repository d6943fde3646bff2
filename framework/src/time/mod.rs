//! Exact time: ticks, cycles and clocks whose edges never drift.
//!
//! A tick is `1 / L` seconds, where `L` is the least common multiple of all clock frequencies of a
//! system. Every edge of every clock thus falls on an integer tick, even with 1.4 GHz and 924 MHz.
//! [`TimeBase::new`] computes `L` in 128-bit arithmetic and rejects sets of clocks for which 64-bit
//! ticks would not last. All other modules build on this one.

pub use warpweave_params::Frequency;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A point in time, in ticks of the system's [`TimeBase`] since the start of the run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Tick(pub u64);

/// A cycle number of one clock domain; cycle `c` has its edge at `c * period`.
pub type Cycle = u64;

/// Identifies a clock of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClockId(pub(crate) u32);

/// Ticks must last at least this many simulated seconds.
const HORIZON_SECONDS: u128 = 1_000;

/// Largest tick value a channel slot can store (one bit of the word marks a full slot).
pub(crate) const TICK_MAX: u64 = u64::MAX >> 1;

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}", self.0)
    }
}

/// Reason for which a set of clocks has no usable common tick.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClockSetError {
    /// The frequency of a clock is zero.
    #[error("clock `{clock}` has frequency zero")]
    Zero {
        /// Name of the clock with frequency zero.
        clock: String,
    },
    /// The least common multiple of the frequencies is too large for 64-bit ticks.
    #[error(
        "the clocks have no usable common tick: with `{clock}` added, 64-bit time would last less \
         than {HORIZON_SECONDS} simulated seconds; choose frequencies with a common divisor"
    )]
    TooWild {
        /// Clock at which the common multiple exceeded the range.
        clock: String,
    },
}

/// The tick of a system and the period of each clock in ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeBase {
    ticks_per_second: Ratio,
    periods: Vec<u64>,
}

/// A positive fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl TimeBase {
    /// Computes the common tick of `clocks` (name and frequency, in order).
    ///
    /// # Errors
    /// Returns an error for a zero frequency, or a set whose common tick is too short to reach 1000
    /// simulated seconds in 64 bits.
    pub fn new(clocks: &[(String, Frequency)]) -> Result<Self, ClockSetError> {
        // lcm of fractions in lowest terms = lcm(numerators) / gcd(denominators).
        let mut tick = Ratio {
            numerator: 1,
            denominator: 0,
        };
        for (clock, frequency) in clocks {
            let (n, d) = (
                u128::from(frequency.hertz().numerator()),
                u128::from(frequency.hertz().denominator()),
            );
            if n == 0 || d == 0 {
                return Err(ClockSetError::Zero {
                    clock: clock.clone(),
                });
            }
            let common = gcd(n, d);
            let (n, d) = (n / common, d / common);
            let too_wild = || ClockSetError::TooWild {
                clock: clock.clone(),
            };
            tick = Ratio {
                numerator: (tick.numerator / gcd(tick.numerator, n))
                    .checked_mul(n)
                    .filter(|l| l / d <= u128::from(TICK_MAX) / HORIZON_SECONDS)
                    .ok_or_else(too_wild)?,
                denominator: gcd(tick.denominator, d),
            };
            if tick.numerator / tick.denominator > u128::from(TICK_MAX) / HORIZON_SECONDS {
                return Err(too_wild());
            }
        }
        tick.denominator = tick.denominator.max(1);
        let periods = clocks
            .iter()
            .map(|(_, f)| {
                let ticks = tick.numerator * u128::from(f.hertz().denominator())
                    / (tick.denominator * u128::from(f.hertz().numerator()));
                u64::try_from(ticks).expect("a period is at most the horizon, which fits in u64")
            })
            .collect();
        Ok(Self {
            ticks_per_second: tick,
            periods,
        })
    }

    /// Returns the period of clock `index` (order of [`TimeBase::new`]) in ticks.
    pub fn period(&self, index: usize) -> u64 {
        self.periods[index]
    }

    /// Returns the simulated time at `tick` in seconds.
    pub fn seconds(&self, tick: Tick) -> f64 {
        tick.0 as f64 * self.ticks_per_second.denominator as f64
            / self.ticks_per_second.numerator as f64
    }

    /// Returns the number of whole units of `1 / per_second` seconds that have passed at `tick`:
    /// with 10¹² the time in picoseconds, rounded down.
    pub fn units(&self, tick: Tick, per_second: u64) -> u64 {
        let Ratio {
            numerator,
            denominator,
        } = self.ticks_per_second;
        let (whole, rest) = (
            u128::from(tick.0) / numerator,
            u128::from(tick.0) % numerator,
        );
        let scale = u128::from(per_second).saturating_mul(denominator);
        let part = match rest.checked_mul(scale) {
            Some(product) => product / numerator,
            // Only for frequencies with denominators beyond anything sensible.
            None => (rest as f64 / numerator as f64 * scale as f64) as u128,
        };
        u64::try_from(whole.saturating_mul(scale) + part).unwrap_or(u64::MAX)
    }

    /// Returns the last tick at or before `seconds`; saturates at the horizon.
    pub fn tick_at(&self, seconds: f64) -> Tick {
        let ticks = seconds * self.ticks_per_second.numerator as f64
            / self.ticks_per_second.denominator as f64;
        Tick((ticks.max(0.0) as u64).min(TICK_MAX))
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(clocks: &[(u64, u64)]) -> Result<TimeBase, ClockSetError> {
        let named: Vec<_> = clocks
            .iter()
            .enumerate()
            .map(|(i, &(n, d))| (format!("c{i}"), Frequency::new(n, d).expect("not zero")))
            .collect();
        TimeBase::new(&named)
    }

    #[test]
    fn edges_of_awkward_clocks_are_whole_ticks() {
        let time = base(&[(1_400_000_000, 1), (924_000_000, 1)]).unwrap();
        // lcm(1400, 924) MHz = 46.2 GHz.
        assert_eq!((time.period(0), time.period(1)), (33, 50));
        assert!((time.seconds(Tick(46_200_000_000)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn units_are_rounded_down_and_never_drift() {
        let time = base(&[(1_400_000_000, 1), (924_000_000, 1)]).unwrap();
        // 33 ticks of 1/46.2 ns are 714.28 ps; a billion cycles are 714285714.28 ns.
        assert_eq!(time.units(Tick(33), 1_000_000_000_000), 714);
        assert_eq!(
            time.units(Tick(33_000_000_000), 1_000_000_000_000),
            714_285_714_285
        );
    }

    #[test]
    fn ratio_clocks_are_exact() {
        // 28/15 GHz beside 1.4 GHz: 4 edges of the first take as long as 3 of the second.
        let time = base(&[(28_000_000_000, 15), (1_400_000_000, 1)]).unwrap();
        assert_eq!(time.period(0) * 4, time.period(1) * 3);
    }

    #[test]
    fn a_clock_set_without_usable_common_tick_is_refused_by_name() {
        let error = base(&[(999_999_937, 1), (999_999_929, 1), (999_999_893, 1)]).unwrap_err();
        assert!(
            matches!(&error, ClockSetError::TooWild { clock } if clock == "c1"),
            "{error}"
        );
    }

    #[test]
    fn one_clock_ticks_once_per_cycle() {
        assert_eq!(base(&[(1_500_000_000, 1)]).unwrap().period(0), 1);
    }
}
