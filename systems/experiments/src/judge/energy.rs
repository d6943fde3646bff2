//! Energy over the ranges of its coefficients: what can be said of ratios when nobody knows the joules.
//!
//! A coefficient is one factor on everything that it costs, in the variant and in the baseline alike. So
//! the ratio of two energies is a quotient of two sums that are linear in the same factors: over a box it
//! takes its extremes at corners, which a few steps of Dinkelbach's method find exactly.

use std::collections::BTreeMap;

use serde::Serialize;
use warpweave_params::{Diagnostic, Diagnostics, name_hint};
use warpweave_systems::report::RecordedEnergy;

use crate::file::ShareFit;
use crate::model::{Outcome, Point, Runs};

/// Steps after which a search is taken to have ended; each finds a better corner, and few suffice.
const STEPS: usize = 100;

/// A ratio with nominal coefficients, and its extremes over all of their ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bounds {
    /// The least.
    pub low: f64,
    /// With every coefficient as it is stated.
    pub nominal: f64,
    /// The most.
    pub high: f64,
}

impl Bounds {
    /// What can be said: `falls`, `rises`, or `unresolved` where the sign depends on the coefficients.
    pub fn word(self) -> &'static str {
        match (self.high < 1.0, self.low > 1.0) {
            (true, _) => "falls",
            (_, true) => "rises",
            _ => "unresolved",
        }
    }

    /// Times a number, which may be negative.
    pub(super) fn scaled(self, by: f64) -> Self {
        let (low, high) = (self.low * by, self.high * by);
        Self {
            low: low.min(high),
            nominal: self.nominal * by,
            high: low.max(high),
        }
    }

    /// Bounds of a sum, from outside.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            nominal: self.nominal + other.nominal,
            high: self.high + other.high,
        }
    }

    /// Bounds of the smaller of two, from outside.
    pub(super) fn least(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            nominal: self.nominal.min(other.nominal),
            high: self.high.min(other.high),
        }
    }

    /// Means of the ends and of the middles, which bound the mean from outside.
    pub(super) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Self {
            low: mean(|b| b.low),
            nominal: mean(|b| b.nominal),
            high: mean(|b| b.high),
        }
    }
}

/// Energy of the variants as ratios to the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StudiedEnergy {
    /// Variants in the order of the file, without the baseline and controls.
    pub rows: Vec<EnergyRow>,
    /// `component: event` → ratio of the number of events of each row, mean over workloads; `None` where
    /// the baseline has none.
    pub events: Vec<(String, Vec<Option<f64>>)>,
    /// What follows if the share of a component is a stated one.
    pub fit: Option<FittedEnergy>,
}

/// One variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyRow {
    /// Name of the variant at its levels.
    pub point: String,
    /// Of each workload: energy and energy-delay product; the extremes are exact.
    pub workloads: Vec<(String, Bounds, Bounds)>,
    /// Mean over workloads; the extremes are means of extremes, which bound it from outside.
    pub energy: Bounds,
    /// The same of the energy-delay product.
    pub edp: Bounds,
    /// Coefficient → mean energy ratio with it alone at the low and at the high end of its range, those
    /// that matter most first.
    pub tornado: Vec<(String, f64, f64)>,
}

/// Energies when one component's coefficients are scaled until its share is the stated one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedEnergy {
    /// The component.
    pub component: String,
    /// Its share of the baseline's energy, mean over workloads, as stated.
    pub share: f64,
    /// The same with the coefficients of the file.
    pub share_before: f64,
    /// What its coefficients are multiplied by.
    pub factor: f64,
    /// Why this share.
    pub because: String,
    /// Of each row: ratios of energy and of energy-delay product, and the part of the energy's change that
    /// follows from the share and the component's own energy alone.
    pub rows: Vec<(f64, f64, f64)>,
}

/// Joules by coefficient, and seconds, of all pairs of one workload at one point together.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    /// Runs that are added up.
    runs: u32,
    seconds: f64,
    /// Component and event → joules: as stated, at the low, at the high end.
    joules: BTreeMap<(String, String), [f64; 3]>,
    /// Component and event → events.
    counts: BTreeMap<(String, String), u64>,
}

/// One coefficient in a ratio: joules in the variant and in the baseline, and what it may be multiplied by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    pub(super) above: f64,
    pub(super) below: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// What each workload spent at each point.
pub(super) struct Spending<'r>(BTreeMap<&'r str, BTreeMap<&'r Point, Spent>>);

impl<'r> Spending<'r> {
    /// That of all runs that have energy, but those of the next size.
    pub(super) fn of_runs(runs: &'r Runs) -> Self {
        let mut spent: BTreeMap<&str, BTreeMap<&Point, Spent>> = BTreeMap::new();
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

    pub(super) fn of(&self, workload: &str, point: &Point) -> Option<&Spent> {
        self.0.get(workload)?.get(point)
    }
}

impl Spent {
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

    /// Seconds, mean over the runs.
    pub(super) fn seconds_of_a_run(&self) -> f64 {
        self.seconds / f64::from(self.runs)
    }

    /// Joules by component and event, mean over the runs: as stated, at the low, at the high end.
    pub(super) fn joules_of_a_run(&self) -> impl Iterator<Item = (&(String, String), [f64; 3])> {
        let runs = f64::from(self.runs);
        let of_a_run = move |(key, joules): (_, &[f64; 3])| (key, joules.map(|j| j / runs));
        self.joules.iter().map(of_a_run)
    }

    fn total(&self) -> f64 {
        self.joules.values().map(|[nominal, ..]| nominal).sum()
    }

    fn of(&self, component: &str) -> f64 {
        let own = self
            .joules
            .iter()
            .filter(|((name, _), _)| name == component);
        own.map(|(_, [nominal, ..])| nominal).sum()
    }
}

fn factors(variant: &Spent, baseline: &Spent) -> BTreeMap<(String, String), Factor> {
    let mut factors = BTreeMap::new();
    for (key, joules) in variant.joules.iter().chain(&baseline.joules) {
        let [nominal, low, high] = *joules;
        if nominal > 0.0 {
            let of = |spent: &Spent| spent.joules.get(key).map_or(0.0, |joules| joules[0]);
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

/// The quotient where each factor is what `chosen` says; `None` without energy in the baseline.
fn quotient<'f>(
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

/// The least and the most that the quotient can be.
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

/// Energy of all points against the baselines that `baseline` gives; `None` where no run has energy.
///
/// # Errors
/// A fit of a component that has no coefficients, or no energy in the baseline.
pub(super) fn of(
    spending: &Spending<'_>,
    workloads: &[&str],
    points: &[Point],
    baseline: impl Fn(&Point) -> Point,
    fit: Option<&ShareFit>,
) -> Result<Option<StudiedEnergy>, Diagnostics> {
    if spending.0.is_empty() {
        return Ok(None);
    }
    let compared: Vec<(&Point, Point)> = points
        .iter()
        .filter(|point| !point.control)
        .map(|point| (point, baseline(point)))
        .filter(|(point, base)| *point != base)
        .collect();
    let mut studied = StudiedEnergy::default();
    let mut events: BTreeMap<(String, String), Vec<Option<f64>>> = BTreeMap::new();
    let mut rows = Vec::new();
    for (point, base) in &compared {
        let pairs = pairs_of(spending, workloads, point, base);
        let Some(row) = row(point, &pairs) else {
            continue;
        };
        let mut ratios: BTreeMap<&(String, String), Vec<f64>> = BTreeMap::new();
        for (_, variant, base) in &pairs {
            for (key, count) in base.counts.iter().filter(|(_, count)| **count > 0) {
                let own = variant.counts.get(key).copied().unwrap_or(0);
                ratios
                    .entry(key)
                    .or_default()
                    .push(own as f64 / *count as f64);
            }
        }
        for (key, ratios) in ratios {
            let column = events.entry(key.clone()).or_default();
            column.resize(rows.len(), None);
            column.push(Some(ratios.iter().sum::<f64>() / ratios.len() as f64));
        }
        studied.rows.push(row);
        rows.push(pairs);
    }
    for column in events.values_mut() {
        column.resize(rows.len(), None);
    }
    let named = |((component, event), ratios)| (format!("{component}: {event}"), ratios);
    studied.events = events.into_iter().map(named).collect();
    if let Some(fit) = fit.filter(|_| !rows.is_empty()) {
        studied.fit = Some(fitted(fit, &rows)?);
    }
    Ok(Some(studied))
}

/// What each workload spent at a point and at its baseline.
fn pairs_of<'s>(
    spending: &'s Spending<'_>,
    workloads: &[&'s str],
    point: &Point,
    base: &Point,
) -> Vec<(&'s str, &'s Spent, &'s Spent)> {
    let each = workloads.iter().filter_map(|workload| {
        let variant = spending.of(workload, point)?;
        Some((*workload, variant, spending.of(workload, base)?))
    });
    each.collect()
}

fn row(point: &Point, pairs: &[(&str, &Spent, &Spent)]) -> Option<EnergyRow> {
    let mut workloads = Vec::new();
    let mut boxes = Vec::new();
    for (name, variant, base) in pairs {
        let factors = factors(variant, base);
        let all: Vec<Factor> = factors.values().cloned().collect();
        let energy = bounds(&all)?;
        workloads.push((
            (*name).to_owned(),
            energy,
            energy.scaled(variant.seconds / base.seconds),
        ));
        boxes.push(factors);
    }
    if workloads.is_empty() {
        return None;
    }
    let mut keys: Vec<&(String, String)> = boxes.iter().flat_map(BTreeMap::keys).collect();
    keys.sort_unstable();
    keys.dedup();
    let alone = |key: &(String, String), end: fn(&Factor) -> f64| {
        let ratios = boxes.iter().filter_map(|factors| {
            let own = factors.get(key);
            quotient(factors.values(), |factor| match own {
                Some(own) if std::ptr::eq(own, factor) => end(factor),
                _ => 1.0,
            })
        });
        ratios.sum::<f64>() / boxes.len() as f64
    };
    let mut tornado: Vec<(String, f64, f64)> = keys
        .into_iter()
        .map(|key| {
            let name = format!("{}: {}", key.0, key.1);
            (name, alone(key, |f| f.least), alone(key, |f| f.most))
        })
        .collect();
    let width = |(_, low, high): &(String, f64, f64)| (high - low).abs();
    tornado.sort_by(|a, b| width(b).total_cmp(&width(a)));
    let of = |which: fn(&(String, Bounds, Bounds)) -> Bounds| {
        Bounds::mean(&workloads.iter().map(which).collect::<Vec<_>>())
    };
    Some(EnergyRow {
        point: point.to_string(),
        energy: of(|(_, energy, _)| *energy),
        edp: of(|(_, _, edp)| *edp),
        workloads,
        tornado,
    })
}

/// One factor on the component, found on the baseline alone.
fn fitted(
    fit: &ShareFit,
    rows: &[Vec<(&str, &Spent, &Spent)>],
) -> Result<FittedEnergy, Diagnostic> {
    let name = &fit.component.value;
    let first = rows.first().map_or(&[][..], Vec::as_slice);
    let parts: Vec<(f64, f64)> = first
        .iter()
        .map(|(_, _, base)| (base.of(name), base.total() - base.of(name)))
        .collect();
    if parts.is_empty() || parts.iter().all(|(own, _)| *own == 0.0) {
        let known = first.iter().flat_map(|(_, _, base)| base.joules.keys());
        let mut known: Vec<&str> = known.map(|(component, _)| component.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        let message = format!("`{name}` takes no energy in the baseline");
        let hint = name_hint(name, "components with coefficients", known);
        return Err(fit.component.error(message).hint(hint));
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let share = |factor: f64| {
        let share = |(own, rest): &(f64, f64)| factor * own / (factor * own + rest);
        mean(parts.iter().map(share).collect())
    };
    // The share grows with the factor.
    let (mut low, mut high) = (-40.0_f64, 40.0_f64);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if share(middle.exp()) < fit.share.value {
            low = middle;
        } else {
            high = middle;
        }
    }
    let factor = f64::midpoint(low, high).exp();
    let of_row = |pairs: &Vec<(&str, &Spent, &Spent)>| {
        let scaled = |spent: &Spent| spent.total() + (factor - 1.0) * spent.of(name);
        let energy = |(_, variant, base): &(&str, &Spent, &Spent)| scaled(variant) / scaled(base);
        let follows = |(_, variant, base): &(&str, &Spent, &Spent)| {
            factor * (variant.of(name) - base.of(name)) / scaled(base)
        };
        (
            mean(pairs.iter().map(energy).collect()),
            mean(
                pairs
                    .iter()
                    .map(|pair| energy(pair) * pair.1.seconds / pair.2.seconds)
                    .collect(),
            ),
            mean(pairs.iter().map(follows).collect()),
        )
    };
    Ok(FittedEnergy {
        component: name.clone(),
        share: fit.share.value,
        share_before: share(1.0),
        factor,
        because: fit.because.clone(),
        rows: rows.iter().map(of_row).collect(),
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

    /// 10 J of one and 20 J of another coefficient against 20 J of each; the first may be half or double.
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
        /// No point of the box lies outside, and some corner lies at each end.
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

    #[test]
    fn a_fit_reaches_the_share_and_says_what_follows_from_it() {
        let spent = |network: f64, rest: f64, seconds: f64| Spent {
            runs: 1,
            seconds,
            joules: BTreeMap::from([
                (("net".to_owned(), "flits".to_owned()), [network; 3]),
                (("rest".to_owned(), "static power".to_owned()), [rest; 3]),
            ]),
            counts: BTreeMap::new(),
        };
        let (base, variant) = (spent(1.0, 99.0, 2.0), spent(0.5, 99.0, 1.0));
        let rows = vec![vec![("w", &variant, &base)]];
        let fit = ShareFit {
            component: "net".to_owned().into(),
            share: 0.25.into(),
            because: String::new(),
        };
        let fitted = fitted(&fit, &rows).unwrap();
        assert!((fitted.share_before - 0.01).abs() < 1e-12);
        assert!((fitted.factor - 33.0).abs() < 1e-6, "{}", fitted.factor);
        // Half of the network's quarter is gone, and nothing else changed.
        let (energy, edp, follows) = fitted.rows[0];
        assert!((energy - 0.875).abs() < 1e-9 && (edp - 0.4375).abs() < 1e-9);
        assert!((follows + 0.125).abs() < 1e-9);
        let fit = ShareFit {
            component: "nett".to_owned().into(),
            ..fit
        };
        let error = super::fitted(&fit, &rows).unwrap_err().to_string();
        assert!(error.contains("did you mean `net`?"), "{error}");
    }
}
