//! Contribution of each of several mechanisms. The change of a metric between all axes at their
//! first level and all at their last is attributed to the axes.
//!
//! Let v(S) be the value of the machine whose axes S are at the last level. The share of axis i is
//! its Shapley value: the mean of v(S + i) − v(S) over all orders of switching the axes. Shares add
//! up to v(all) − v(none). The interaction of i and j is the mean of v(S + i + j) − v(S + i) −
//! v(S + j) + v(S) by the weights of Grabisch and Roubens. It is the effect of both together in
//! addition to their separate effects.

use serde::Serialize;
use warpweave_params::{Diagnostics, name_hint};

use super::interval::Interval;
use super::repetitions;
use super::values::{Repetition, Values};
use crate::file::{Combine, ExperimentFile};
use crate::model::Point;

/// Maximum number of axes, because each doubles the number of runs.
const AXES_MAX: usize = 8;

/// Attribution of one metric's change in one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedShares {
    pub metric: String,
    pub variant: String,
    /// Rows of the workloads, then of the mean over all.
    pub rows: Vec<SharesRow>,
}

/// Shares on one workload, or on the mean over all. Each number is the mean over the repetitions,
/// so that shares add up to the whole. The interval is the 95 % interval of that mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharesRow {
    /// Name of the workload; `None` for the mean over all.
    pub workload: Option<String>,
    /// Total change, from no axis to all axes switched.
    pub whole: Interval,
    /// Share of each axis, by axis name.
    pub shares: Vec<(String, Interval)>,
    /// Interaction of each pair of axes, by their names.
    pub interactions: Vec<(String, String, Interval)>,
}

/// Rejects shares that cannot be computed.
pub(super) fn check(file: &ExperimentFile, problems: &mut Diagnostics) {
    let Some(first) = file.shares.first() else {
        return;
    };
    let axes = file.axes.iter().count();
    if !(2..=AXES_MAX).contains(&axes) || file.combine == Combine::Zip {
        let message = format!("shares require 2 to {AXES_MAX} axes, run in all combinations");
        let hint = "list as `axes` the features to switch on or off, and omit `combine`";
        problems.push(first.error(message).hint(hint));
    }
    for (name, axis) in &file.axes {
        let levels = axis.levels().len();
        if levels != 2 {
            let message = format!(
                "the axis `{}` has {levels} levels; shares require axes with two",
                name.value
            );
            problems.push(name.error(message));
        }
    }
    for name in &file.shares {
        if file.metrics.get(&name.value).is_none() {
            let message = format!("unknown metric `{}`", name.value);
            let hint = name_hint(&name.value, "metrics", file.metrics.names());
            problems.push(name.error(message).hint(hint));
        }
    }
}

/// Computes the shares of one metric for every variant.
pub(super) fn of(
    file: &ExperimentFile,
    metric: &str,
    values: &Values,
    workloads: &[&str],
    points: &[Point],
) -> Vec<StudiedShares> {
    let axes: Vec<&str> = file.axes.names().collect();
    let of_variant = |variant: &str| {
        let machines = subsets(file, variant, points)?;
        let row = |workload: Option<&str>| {
            let measured = workload.as_ref().map_or(workloads, std::slice::from_ref);
            row(file, values, &axes, &machines, measured, workload)
        };
        let each = workloads.iter().map(|workload| Some(*workload));
        Some(StudiedShares {
            metric: metric.to_owned(),
            variant: variant.to_owned(),
            rows: each.chain([None]).filter_map(row).collect(),
        })
    };
    file.variants.names().filter_map(of_variant).collect()
}

/// Returns the points of a variant by subset: bit i of the index means axis i is at its last level.
fn subsets(file: &ExperimentFile, variant: &str, points: &[Point]) -> Option<Vec<Point>> {
    let axes: Vec<Vec<String>> = file.axes.iter().map(|(_, axis)| axis.levels()).collect();
    let point = |subset: usize| {
        let fits = |point: &&Point| {
            let mut levels = point.levels.iter().zip(&axes).enumerate();
            point.variant == variant
                && levels
                    .all(|(at, ((_, level), known))| known.get(subset >> at & 1) == Some(level))
        };
        points.iter().find(fits).cloned()
    };
    (0..1_usize << axes.len()).map(point).collect()
}

fn row(
    file: &ExperimentFile,
    values: &Values,
    axes: &[&str],
    machines: &[Point],
    workloads: &[&str],
    workload: Option<&str>,
) -> Option<SharesRow> {
    let in_repetition = |repetition: Repetition| values.means(workloads, machines, repetition);
    let measured: Vec<Vec<f64>> = repetitions(file).filter_map(in_repetition).collect();
    let interval = |value: &dyn Fn(&[f64]) -> f64| {
        let each: Vec<f64> = measured.iter().map(|row| value(row)).collect();
        Interval::of_mean(&each)
    };
    let mut shares = Vec::new();
    let mut interactions = Vec::new();
    for (i, axis) in axes.iter().enumerate() {
        shares.push(((*axis).to_owned(), interval(&|row| share(row, i))?));
        for (j, other) in axes.iter().enumerate().skip(i + 1) {
            let both = interval(&|row| interaction(row, i, j))?;
            interactions.push(((*axis).to_owned(), (*other).to_owned(), both));
        }
    }
    Some(SharesRow {
        workload: workload.map(str::to_owned),
        whole: interval(&|row| row[row.len() - 1] - row[0])?,
        shares,
        interactions,
    })
}

/// Computes the Shapley value of player `i`. `values` has the value of each set of players, indexed
/// by bit mask.
fn share(values: &[f64], i: usize) -> f64 {
    let players = values.len().ilog2();
    let without = (0..values.len()).filter(|set| set >> i & 1 == 0);
    let gains =
        without.map(|set| weight(set.count_ones(), players) * (values[set | 1 << i] - values[set]));
    gains.sum()
}

/// Computes the interaction index of players `i` and `j`.
fn interaction(values: &[f64], i: usize, j: usize) -> f64 {
    let players = values.len().ilog2();
    let both = 1 << i | 1 << j;
    let without = (0..values.len()).filter(|set| set & both == 0);
    let gains = without.map(|set| {
        let beyond = values[set | both] - values[set | 1 << i] - values[set | 1 << j] + values[set];
        weight(set.count_ones(), players - 1) * beyond
    });
    gains.sum()
}

/// Returns the fraction of all orders of `players` in which exactly a given set of `before`
/// precedes a given player: s! (n − s − 1)! / n!.
fn weight(before: u32, players: u32) -> f64 {
    let choose = (0..before).fold(1.0, |product, at| {
        product * f64::from(players - 1 - at) / f64::from(at + 1)
    });
    1.0 / (f64::from(players) * choose)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes the definition: the mean over all orders.
    fn over_orders(values: &[f64], player: usize) -> f64 {
        let players = values.len().ilog2() as usize;
        let mut orders = vec![Vec::new()];
        for _ in 0..players {
            let longer = orders.iter().flat_map(|order: &Vec<usize>| {
                let rest = (0..players).filter(|p| !order.contains(p));
                rest.map(|p| [order.as_slice(), &[p]].concat())
                    .collect::<Vec<_>>()
            });
            orders = longer.collect();
        }
        let gain = |order: &Vec<usize>| {
            let before = order.iter().take_while(|p| **p != player);
            let set = before.fold(0, |set, p| set | 1 << p);
            values[set | 1 << player] - values[set]
        };
        orders.iter().map(gain).sum::<f64>() / orders.len() as f64
    }

    proptest! {
        #[test]
        fn shares_are_means_over_orders_and_add_up(values in prop::collection::vec(-10.0..10.0_f64, 16)) {
            let shares: Vec<f64> = (0..4).map(|i| share(&values, i)).collect();
            for (i, share) in shares.iter().enumerate() {
                prop_assert!((share - over_orders(&values, i)).abs() < 1e-9);
            }
            prop_assert!((shares.iter().sum::<f64>() - (values[15] - values[0])).abs() < 1e-9);
        }

        #[test]
        fn what_adds_up_does_not_interact(gains in prop::collection::vec(-10.0..10.0_f64, 4)) {
            let value = |set: usize| (0..4).filter(|i| set >> i & 1 == 1).map(|i| gains[i]).sum();
            let values: Vec<f64> = (0..16).map(value).collect();
            for (i, gain) in gains.iter().enumerate() {
                prop_assert!((share(&values, i) - gain).abs() < 1e-9);
                for j in i + 1..4 {
                    prop_assert!(interaction(&values, i, j).abs() < 1e-9);
                }
            }
        }
    }

    /// Two that only work together share the gain, all of which is their interaction.
    #[test]
    fn what_works_only_together_is_shared() {
        let values = [0.0, 0.0, 0.0, 6.0];
        assert!((share(&values, 0) - 3.0).abs() < 1e-12 && (share(&values, 1) - 3.0).abs() < 1e-12);
        assert!((interaction(&values, 0, 1) - 6.0).abs() < 1e-12);
    }
}
