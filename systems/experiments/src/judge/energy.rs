//! Energy over the ranges of its coefficients: bounds on ratios when absolute energies are unknown.

use std::collections::BTreeMap;

use serde::Serialize;
use warpweave_params::{Diagnostic, Diagnostics, name_hint};

use super::energy_table::{Bounds, EnergyTable, Factor, RunEnergy, bounds, factors, quotient};
use crate::file::ShareFit;
use crate::model::Point;

/// Energy of the variants relative to the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StudiedEnergy {
    /// Variants in the order of the file, without the baseline and controls.
    pub rows: Vec<EnergyRow>,
    /// `component: event` → ratio of the number of events of each row, mean over workloads; `None`
    /// if the baseline has none.
    pub events: Vec<(String, Vec<Option<f64>>)>,
    /// Results if the share of a component is fitted to a stated one.
    pub fit: Option<FittedEnergy>,
}

/// Energy results of one variant at its levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyRow {
    /// Name of the variant at its levels.
    pub point: String,
    /// Energy and energy-delay product of each workload. The extremes are exact.
    pub workloads: Vec<(String, Bounds, Bounds)>,
    /// Mean over workloads. The extremes are means of extremes, which are outer bounds.
    pub energy: Bounds,
    /// Energy-delay product, bounded like `energy`.
    pub edp: Bounds,
    /// Coefficient → mean energy ratio with it alone at the low and at the high end of its range,
    /// most influential first.
    pub tornado: Vec<(String, f64, f64)>,
}

/// Energies after scaling one component's coefficients until it has the stated share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedEnergy {
    pub component: String,
    /// Stated share of the baseline's energy, mean over workloads.
    pub share: f64,
    /// Share before scaling, with the coefficients of the file.
    pub share_before: f64,
    /// Factor applied to the component's coefficients.
    pub factor: f64,
    /// Source or justification of the stated share.
    pub because: String,
    /// Ratios of energy and of energy-delay product for each row. The third number is the part of
    /// the energy's change that follows from the share and the component's own energy alone.
    pub rows: Vec<(f64, f64, f64)>,
}

/// Computes the energy of all points relative to the baselines that `baseline` returns. Returns
/// `None` if no run has energy.
///
/// # Errors
/// Returns an error for a fit of a component without coefficients, or without energy in the
/// baseline.
pub(super) fn of(
    spending: &EnergyTable<'_>,
    workloads: &[&str],
    points: &[Point],
    baseline: impl Fn(&Point) -> Point,
    fit: Option<&ShareFit>,
) -> Result<Option<StudiedEnergy>, Diagnostics> {
    if spending.is_empty() {
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

/// Returns the energy of each workload at a point and at its baseline.
fn pairs_of<'s>(
    spending: &'s EnergyTable<'_>,
    workloads: &[&'s str],
    point: &Point,
    base: &Point,
) -> Vec<(&'s str, &'s RunEnergy, &'s RunEnergy)> {
    let each = workloads.iter().filter_map(|workload| {
        let variant = spending.of(workload, point)?;
        Some((*workload, variant, spending.of(workload, base)?))
    });
    each.collect()
}

fn row(point: &Point, pairs: &[(&str, &RunEnergy, &RunEnergy)]) -> Option<EnergyRow> {
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

/// Fits one factor for the component, using the baseline alone.
fn fitted(
    fit: &ShareFit,
    rows: &[Vec<(&str, &RunEnergy, &RunEnergy)>],
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
        let message = format!("`{name}` consumes no energy in the baseline");
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
    let of_row = |pairs: &Vec<(&str, &RunEnergy, &RunEnergy)>| {
        let scaled = |spent: &RunEnergy| spent.total() + (factor - 1.0) * spent.of(name);
        let energy =
            |(_, variant, base): &(&str, &RunEnergy, &RunEnergy)| scaled(variant) / scaled(base);
        let follows = |(_, variant, base): &(&str, &RunEnergy, &RunEnergy)| {
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
    use super::*;

    #[test]
    fn a_fit_reaches_the_share_and_says_what_follows_from_it() {
        let spent = |network: f64, rest: f64, seconds: f64| RunEnergy {
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
