//! Energy of runs by coefficient, and the bounds of its sums over the ranges of all coefficients.
//!
//! A coefficient is one factor on all its events, in the variant and in the baseline alike. The
//! ratio of two energies is therefore a quotient of two sums that are linear in the same factors.
//! Over a box it takes its extremes at corners, which a few steps of Dinkelbach's method find
//! exactly.

use std::collections::BTreeMap;

use serde::Serialize;
use warpweave_systems::report::RecordedEnergy;

use crate::model::{Outcome, Point, Runs};

/// Maximum number of search steps. Each finds a better corner, and few suffice.
const STEPS: usize = 100;

/// A ratio with nominal coefficients, and its extremes over all of their ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bounds {
    /// Smallest value over all ranges.
    pub low: f64,
    /// Value with every coefficient as stated.
    pub nominal: f64,
    /// Largest value over all ranges.
    pub high: f64,
}

impl Bounds {
    /// Returns `falls`, `rises`, or `unresolved` if the sign depends on the coefficients.
    pub fn word(self) -> &'static str {
        match (self.high < 1.0, self.low > 1.0) {
            (true, _) => "falls",
            (_, true) => "rises",
            _ => "unresolved",
        }
    }

    /// Multiplies the bounds by a number, which may be negative.
    pub(super) fn scaled(self, by: f64) -> Self {
        let (low, high) = (self.low * by, self.high * by);
        Self {
            low: low.min(high),
            nominal: self.nominal * by,
            high: low.max(high),
        }
    }

    /// Returns outer bounds of a sum.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            nominal: self.nominal + other.nominal,
            high: self.high + other.high,
        }
    }

    /// Returns outer bounds of the smaller of two.
    pub(super) fn least(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            nominal: self.nominal.min(other.nominal),
            high: self.high.min(other.high),
        }
    }

    /// Returns the means of the ends and of the nominal values, which are outer bounds of the mean.
    pub(super) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Self {
            low: mean(|b| b.low),
            nominal: mean(|b| b.nominal),
            high: mean(|b| b.high),
        }
    }
}

/// Joules by coefficient, and seconds, summed over all pairs of one workload at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct RunEnergy {
    /// Number of runs in the sums.
    pub(super) runs: u32,
    pub(super) seconds: f64,
    /// Component and event → joules: as stated, at the low end, at the high end.
    pub(super) joules: BTreeMap<(String, String), [f64; 3]>,
    /// Number of events by component and event name.
    pub(super) counts: BTreeMap<(String, String), u64>,
}

/// One coefficient of a ratio: joules in the variant and in the baseline, and the range of its
/// factor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    pub(super) above: f64,
    pub(super) below: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// Energy of each workload at each point.
pub(super) struct EnergyTable<'r>(BTreeMap<&'r str, BTreeMap<&'r Point, RunEnergy>>);

impl<'r> EnergyTable<'r> {
    /// Sums all runs that have energy, except those of the next size.
    pub(super) fn of_runs(runs: &'r Runs) -> Self {
        let mut spent: BTreeMap<&str, BTreeMap<&Point, RunEnergy>> = BTreeMap::new();
        for (id, outcome) in runs.iter().filter(|(id, _)| !id.confirming) {
            if let Outcome::Done(record) = outcome
                && let Some(energy) = &record.energy
            {
                let of_workload = spent.entry(&id.workload).or_default();
                of_workload.entry(&id.point).or_default().add(energy);
            }
        }
        Self(spent)
    }

    /// True if no run has energy.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of(&self, workload: &str, point: &Point) -> Option<&RunEnergy> {
        self.0.get(workload)?.get(point)
    }
}

impl RunEnergy {
    fn add(&mut self, energy: &RecordedEnergy) {
        self.runs += 1;
        self.seconds += energy.seconds;
        for component in &energy.components {
            // Without ends a coefficient is exact.
            let ends = |nominal: f64, low: Option<f64>, high: Option<f64>| {
                [nominal, low.unwrap_or(nominal), high.unwrap_or(nominal)]
            };
            let mut idle = ends(component.total_j, component.low_j, component.high_j);
            for event in &component.events {
                let joules = ends(event.energy_j, event.low_j, event.high_j);
                for (idle, j) in idle.iter_mut().zip(joules) {
                    *idle -= j;
                }
                let key = (component.component.clone(), event.event.clone());
                *self.counts.entry(key.clone()).or_default() += event.count;
                let sums = self.joules.entry(key).or_default();
                for (sum, j) in sums.iter_mut().zip(joules) {
                    *sum += j;
                }
            }
            if component.static_j > 0.0 {
                let key = (component.component.clone(), "static power".to_owned());
                let sums = self.joules.entry(key).or_default();
                for (sum, j) in sums.iter_mut().zip(idle) {
                    *sum += j;
                }
            }
        }
    }

    /// Returns the duration of a run in seconds, mean over the runs.
    pub(super) fn seconds_of_a_run(&self) -> f64 {
        self.seconds / f64::from(self.runs)
    }

    /// Iterates over joules by component and event, mean over the runs: as stated, at the low end,
    /// at the high end.
    pub(super) fn joules_of_a_run(&self) -> impl Iterator<Item = (&(String, String), [f64; 3])> {
        let runs = f64::from(self.runs);
        let of_a_run = move |(key, joules): (_, &[f64; 3])| (key, joules.map(|j| j / runs));
        self.joules.iter().map(of_a_run)
    }

    pub(super) fn total(&self) -> f64 {
        self.joules.values().map(|[nominal, ..]| nominal).sum()
    }

    pub(super) fn of(&self, component: &str) -> f64 {
        let own = self
            .joules
            .iter()
            .filter(|((name, _), _)| name == component);
        own.map(|(_, [nominal, ..])| nominal).sum()
    }
}

pub(super) fn factors(
    variant: &RunEnergy,
    baseline: &RunEnergy,
) -> BTreeMap<(String, String), Factor> {
    let mut factors = BTreeMap::new();
    for (key, joules) in variant.joules.iter().chain(&baseline.joules) {
        let [nominal, low, high] = *joules;
        if nominal > 0.0 {
            let of = |spent: &RunEnergy| spent.joules.get(key).map_or(0.0, |joules| joules[0]);
            factors.entry(key.clone()).or_insert_with(|| Factor {
                above: of(variant),
                below: of(baseline),
                least: low / nominal,
                most: high / nominal,
            });
        }
    }
    factors
}

/// Computes the quotient for the factors that `chosen` selects. Returns `None` without energy in
/// the baseline.
pub(super) fn quotient<'f>(
    factors: impl Iterator<Item = &'f Factor>,
    chosen: impl Fn(&Factor) -> f64,
) -> Option<f64> {
    let (mut above, mut below) = (0.0, 0.0);
    for factor in factors {
        let by = chosen(factor);
        above += by * factor.above;
        below += by * factor.below;
    }
    (below > 0.0).then(|| above / below)
}

/// Returns the minimum and maximum of the quotient.
pub(super) fn bounds(factors: &[Factor]) -> Option<Bounds> {
    let nominal = quotient(factors.iter(), |_| 1.0)?;
    let extreme = |sign: f64| {
        let mut at = nominal;
        for _ in 0..STEPS {
            let better = quotient(factors.iter(), |factor| {
                if sign * (factor.above - at * factor.below) > 0.0 {
                    factor.most
                } else {
                    factor.least
                }
            });
            match better {
                Some(better) if sign * (better - at) > 0.0 => at = better,
                _ => break,
            }
        }
        at
    };
    Some(Bounds {
        low: extreme(-1.0),
        nominal,
        high: extreme(1.0),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn factor(above: f64, below: f64, least: f64, most: f64) -> Factor {
        Factor {
            above,
            below,
            least,
            most,
        }
    }

    /// Compares 10 J of one and 20 J of another coefficient with 20 J of each. The first may be
    /// half or double.
    #[test]
    fn two_coefficients_give_what_is_computed_by_hand() {
        let both = [factor(10.0, 20.0, 0.5, 2.0), factor(20.0, 20.0, 1.0, 1.0)];
        let found = bounds(&both).unwrap();
        assert!((found.nominal - 30.0 / 40.0).abs() < 1e-12);
        assert!((found.low - 40.0 / 60.0).abs() < 1e-12);
        assert!((found.high - 25.0 / 30.0).abs() < 1e-12);
        assert_eq!(found.word(), "falls");
    }

    #[test]
    fn what_scales_everything_alike_changes_no_ratio() {
        let found = bounds(&[factor(3.0, 4.0, 0.1, 10.0)]).unwrap();
        assert!((found.low - 0.75).abs() < 1e-12 && (found.high - 0.75).abs() < 1e-12);
    }

    #[test]
    fn a_sign_that_depends_on_the_coefficients_is_unresolved() {
        let both = [factor(10.0, 20.0, 1.0, 1.0), factor(20.0, 15.0, 0.5, 4.0)];
        assert_eq!(bounds(&both).unwrap().word(), "unresolved");
    }

    proptest! {
        /// Checks that no point of the box exceeds the bounds, and that some corner reaches each.
        #[test]
        fn the_extremes_are_those_of_the_corners(
            parts in prop::collection::vec((0.0..10.0f64, 0.1..10.0f64, 0.1..1.0f64, 1.0..9.0f64), 1..9),
            inside in prop::collection::vec(0.0..1.0f64, 9),
        ) {
            let all: Vec<Factor> = parts.iter().map(|&(a, b, l, m)| factor(a, b, l, m)).collect();
            let found = bounds(&all).unwrap();
            let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
            for corner in 0..1_u32 << all.len() {
                let (mut above, mut below) = (0.0, 0.0);
                for (at, f) in all.iter().enumerate() {
                    let by = if corner >> at & 1 == 1 { f.most } else { f.least };
                    above += by * f.above;
                    below += by * f.below;
                }
                low = low.min(above / below);
                high = high.max(above / below);
            }
            prop_assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9);
            let (mut above, mut below) = (0.0, 0.0);
            for (f, part) in all.iter().zip(inside) {
                let by = f.least + part * (f.most - f.least);
                above += by * f.above;
                below += by * f.below;
            }
            let ratio = above / below;
            prop_assert!(found.low - 1e-9 <= ratio && ratio <= found.high + 1e-9);
        }
    }
}
