//! Findings on energy over the ranges of coefficients. A verdict that depends on unknown
//! coefficients is unresolved.

use std::collections::BTreeMap;

use super::claims::{Claims, ResolvedClaim, changes_sign, combined, side};
use super::effect::{Compares, Effect};
use super::energy_table::{Bounds, EnergyTable, Factor, RunEnergy, bounds};
use super::study::Verdict;
use crate::metric::EnergyUse;
use crate::model::Point;

/// Weighted sum of points: pairs of factor and point.
type WeightedSum = Vec<(f64, Point)>;

/// Energy quantity to be bounded, and the points it is taken from.
struct Ranges<'b> {
    uses: &'b EnergyUse,
    spending: &'b EnergyTable<'b>,
    effect: &'b Effect<'b>,
}

impl Claims<'_> {
    /// Returns the effects of each comparison over all ranges of the coefficients; `None` if
    /// unknown.
    pub(super) fn over_coefficients(
        &self,
        looked: &ResolvedClaim<'_>,
        workloads: &[&str],
    ) -> Vec<Option<Bounds>> {
        let Some(uses) = looked
            .uses
            .as_ref()
            .filter(|uses| **uses != EnergyUse::Computed)
        else {
            return Vec::new();
        };
        let within = Ranges {
            uses,
            spending: self.spending,
            effect: &looked.effect,
        };
        let comparisons = sums(&looked.effect);
        let least = |sums: &Vec<WeightedSum>| {
            let all = sums.iter().map(|sum| within.mean(sum, workloads));
            let all: Vec<Bounds> = all.collect::<Option<_>>()?;
            all.into_iter().reduce(Bounds::least)
        };
        comparisons.iter().map(least).collect()
    }

    /// Returns the reason why a verdict depends on coefficients, if it does.
    pub(super) fn doubt_of_coefficients(
        &self,
        looked: &ResolvedClaim<'_>,
        verdict: Verdict,
    ) -> Option<String> {
        if *looked.uses.as_ref()? == EnergyUse::Computed {
            return Some(COMPUTED.to_owned());
        }
        let found = self.over_coefficients(looked, &looked.workloads);
        let verdicts: Vec<Verdict> = found
            .iter()
            .map(|bounds| side(*bounds, looked.margin))
            .collect();
        if combined(&looked.effect.compares, &verdicts) == verdict {
            return None;
        }
        let differs = verdicts.iter().position(|side| *side != verdict);
        let Some(bounds) = differs.and_then(|at| found[at]) else {
            return Some("its value over the coefficient ranges is unknown".to_owned());
        };
        let what = if changes_sign(bounds) {
            "its sign"
        } else {
            "its position relative to the margin"
        };
        Some(format!(
            "{what} depends on the coefficients: from {:+.4} to {:+.4} over their ranges",
            bounds.low, bounds.high
        ))
    }
}

/// Reason for an unresolved verdict on a metric that is neither energy nor energy-delay product.
const COMPUTED: &str = "the metric computes with energy, and its range over the coefficients is unknown; claim `energy` or `edp` directly";

/// Returns the sums of each comparison. The effect is the least of several sums.
fn sums(effect: &Effect<'_>) -> Vec<Vec<WeightedSum>> {
    let sign = effect.sign;
    let less = |of: &Point, than: &Point| vec![(sign, of.clone()), (-sign, than.clone())];
    match &effect.compares {
        Compares::Two { of, than } => vec![vec![less(of, than)]],
        Compares::Number { .. } | Compares::Correlates { .. } => Vec::new(),
        Compares::All { of, others } => {
            let each = others.iter().map(|other| vec![less(of, other)]);
            each.collect()
        }
        Compares::Step { step, others } => others
            .iter()
            .map(|other| vec![[less(&step[1], &step[0]), less(&other[0], &other[1])].concat()])
            .collect(),
        Compares::Steps(row) => match row.as_slice() {
            [first, second, ..] if row.len() > 2 => {
                let steps = [
                    less(second, first),
                    less(&row[row.len() - 2], &row[row.len() - 1]),
                ];
                vec![vec![steps.concat()]]
            }
            _ => vec![Vec::new()],
        },
        Compares::Inner(row) => {
            let inner = 1..row.len().saturating_sub(1);
            inner
                .map(|at| vec![less(&row[at], &row[0]), less(&row[at], &row[row.len() - 1])])
                .collect()
        }
    }
}

impl Ranges<'_> {
    /// Bounds a sum of points as shown, in the mean over workloads in which all have energy.
    fn mean(&self, sum: &WeightedSum, workloads: &[&str]) -> Option<Bounds> {
        let values = self.effect.values;
        if values.is_arithmetic() {
            let all = workloads.iter().filter_map(|name| self.of(sum, name));
            let all: Vec<Bounds> = all.collect();
            return (!all.is_empty()).then(|| Bounds::mean(&all));
        }
        // Other means are of each point alone.
        let alone = |point: &Point| vec![(1.0, point.clone())];
        let rows: Vec<Vec<Bounds>> = workloads
            .iter()
            .filter_map(|name| {
                let of_points = sum.iter().map(|(_, point)| self.of(&alone(point), name));
                of_points.collect()
            })
            .collect();
        let mut total = Bounds::default();
        for (at, (by, _)) in sum.iter().enumerate() {
            let mean = |of: fn(&Bounds) -> f64| {
                let column: Vec<f64> = rows.iter().map(|row| of(&row[at])).collect();
                values.mean(&column)
            };
            let mean = Bounds {
                low: mean(|bounds| bounds.low)?,
                nominal: mean(|bounds| bounds.nominal)?,
                high: mean(|bounds| bounds.high)?,
            };
            total = total.plus(mean.scaled(*by));
        }
        (!rows.is_empty()).then_some(total)
    }

    /// Bounds a sum of points of one workload. Points with the same baseline are one quotient,
    /// whose extremes are exact.
    fn of(&self, sum: &WeightedSum, workload: &str) -> Option<Bounds> {
        let values = self.effect.values;
        let mut by_base: BTreeMap<Option<Point>, Vec<(f64, &RunEnergy)>> = BTreeMap::new();
        for (by, point) in sum {
            let spent = self.spending.of(workload, point)?;
            let base = values.is_ratio().then(|| values.baseline_of(point));
            by_base.entry(base).or_default().push((*by, spent));
        }
        let mut total = Bounds::default();
        for (base, sum) in by_base {
            let base = match &base {
                Some(base) => Some(self.spending.of(workload, base)?),
                None => None,
            };
            total = total.plus(bounds(&self.factors(&sum, base))?);
        }
        Some(total)
    }

    /// Returns the coefficients of a sum relative to a baseline, or relative to 1 without one.
    fn factors(&self, sum: &[(f64, &RunEnergy)], base: Option<&RunEnergy>) -> Vec<Factor> {
        let mut factors: BTreeMap<&(String, String), Factor> = BTreeMap::new();
        let above = sum.iter().map(|(by, spent)| (*by, 0.0, *spent));
        let below = base.map(|base| (0.0, 1.0, base));
        for (above, below, spent) in above.chain(below) {
            let weight = match self.uses {
                EnergyUse::Edp => spent.seconds_of_a_run(),
                EnergyUse::Power => spent.seconds_of_a_run().recip(),
                _ => 1.0,
            };
            for (key, [nominal, low, high]) in spent.joules_of_a_run() {
                let counts = match self.uses {
                    EnergyUse::Components(pattern) => pattern.is_path(&key.0),
                    _ => true,
                };
                if !counts || nominal <= 0.0 {
                    continue;
                }
                let factor = factors.entry(key).or_insert(Factor {
                    above: 0.0,
                    below: 0.0,
                    least: low / nominal,
                    most: high / nominal,
                });
                factor.above += above * weight * nominal;
                factor.below += below * weight * nominal;
            }
        }
        let one = base.is_none().then_some(Factor {
            above: 0.0,
            below: 1.0,
            least: 1.0,
            most: 1.0,
        });
        factors.into_values().chain(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warpweave_files::Budget;

    use super::*;
    use crate::judge::{JudgedClaim, judge};
    use crate::model::{Outcome, RunId, Runs};
    use crate::plan::points;
    use crate::read::Experiment;

    fn experiment(claim: &str, metric: &str) -> Experiment {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.ron");
        let text = format!(
            r#"Experiment(
                summary: "made up",
                base: "base.ron",
                workloads: {{ "a": (file: "w.ron"), "b": (file: "w.ron") }},
                variants: {{ "D": {{}}, "E": {{}}, "F": {{}} }},
                controls: {{ "idle": {{}} }},
                baseline: "D",
                perturb: (pairs: 10, draws: {{ "seed": [1, 2] }}),
                metrics: {{ "it": (value: {metric}, better: Smaller) }},
                claims: [Finding(name: "it", claim: {claim}, control: "idle")],
            )"#
        );
        std::fs::write(&path, text).unwrap();
        Experiment::read(&path, &Budget::unlimited()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Judges a claim with two events of 10 J each in the baseline, one costing from `low` to
    /// `high` times as much as stated. E has 6 J and 11 J of them, F 6 J and 10 J, and times are
    /// equal.
    fn judged(claim: &str, metric: &str, low: f64, high: f64) -> JudgedClaim {
        let experiment = experiment(claim, metric);
        let mut runs = Runs::new();
        for workload in ["a", "b"] {
            for point in points(&experiment.file) {
                let [open, fixed] = match point.variant.as_str() {
                    "E" => [6.0, 11.0],
                    "F" => [6.0, 10.0],
                    _ => [10.0, 10.0],
                };
                let event = |name: &str, joules: f64, low: f64, high: f64| json!({"event": name, "count": 1, "energy_j": joules, "low_j": low * joules, "high_j": high * joules});
                let total = open + fixed;
                let record = json!({
                    "schema_version": 2, "scenario": "s", "status": "done", "cycles": 100, "simulated_s": 1,
                    "wavefront_instructions": 1, "thread_instructions": 1, "ipc": 1, "core_clock": "core", "stats": {},
                    "energy": {
                        "seconds": 2.0, "dynamic_j": total, "static_j": 0.0, "total_j": total, "edp_js": 2.0 * total,
                        "components": [{
                            "component": "net", "total_j": total,
                            "low_j": low * open + fixed, "high_j": high * open + fixed,
                            "events": [event("open", open, low, high), event("fixed", fixed, 1.0, 1.0)],
                        }],
                    },
                });
                for pair in 0..10 {
                    let record = serde_json::from_value(record.clone()).unwrap();
                    let id = RunId {
                        workload: workload.to_owned(),
                        point: point.clone(),
                        pair,
                        confirming: false,
                    };
                    runs.insert(id, Outcome::Done(Box::new(record)));
                }
            }
        }
        judge(&experiment, &[], &runs).unwrap().claims.remove(0)
    }

    const BELOW: &str = r#"Below(metric: "it", of: "E", margin: 0.05)"#;
    const RATIO: [&str; 4] = [
        r#""energy", kind: Ratio"#,
        r#""edp", kind: Ratio"#,
        r#""energy(net)", kind: Ratio"#,
        r#""power", kind: Ratio"#,
    ];

    #[test]
    fn a_finding_that_holds_for_all_coefficients_has_a_verdict() {
        for metric in RATIO {
            let it = judged(BELOW, metric, 0.9, 2.0);
            assert_eq!(it.verdict, Verdict::Reproduced, "{metric}: {}", it.because);
            let it = judged(BELOW, metric, 1.0, 1.0);
            assert_eq!(it.verdict, Verdict::Reproduced, "{metric}: {}", it.because);
        }
    }

    #[test]
    fn a_sign_that_depends_on_the_coefficients_leaves_a_finding_unresolved() {
        for metric in RATIO {
            // (0.1 * 6 + 11) / (0.1 * 10 + 10) and (6 + 11) / 20 at the ends.
            let it = judged(BELOW, metric, 0.1, 1.0);
            assert_eq!(it.verdict, Verdict::Unresolved, "{metric}");
            assert_eq!(
                it.because,
                "its sign depends on the coefficients: from -0.0545 to +0.1500 over their ranges"
            );
        }
        let best = r#"Best(metric: "it", of: "E", margin: 0.01)"#;
        assert_eq!(
            judged(best, RATIO[0], 0.1, 1.0).verdict,
            Verdict::NotReproduced
        );
    }

    #[test]
    fn a_margin_that_coefficients_move_to_the_other_side_leaves_a_finding_unresolved() {
        let it = judged(BELOW, RATIO[0], 0.35, 1.0);
        assert_eq!(it.verdict, Verdict::Unresolved);
        assert!(
            it.because
                .starts_with("its position relative to the margin"),
            "{}",
            it.because
        );
        let count = r#"Count(metric: "it", of: "E", margin: 0.05, at_least: 1)"#;
        assert_eq!(
            judged(count, RATIO[0], 0.35, 1.0).verdict,
            Verdict::Unresolved
        );
        assert_eq!(
            judged(count, RATIO[0], 0.9, 1.0).verdict,
            Verdict::Reproduced
        );
    }

    #[test]
    fn two_points_share_their_coefficients() {
        // F takes 1 J less than E, of the event without a range: 1 / 20 as stated, 1 / 11 to 1 /
        // 110 over the range.
        let less = r#"Below(metric: "it", of: "F", than: "E", margin: 0.005)"#;
        let it = judged(less, RATIO[0], 0.1, 10.0);
        assert_eq!(it.verdict, Verdict::Reproduced, "{}", it.because);
        // Means of another kind take each point alone, and are wider.
        let geometric = r#""energy", kind: Ratio, mean: Geometric"#;
        assert_eq!(
            judged(less, geometric, 0.1, 10.0).verdict,
            Verdict::Unresolved
        );
    }

    #[test]
    fn joules_themselves_are_bounded_too() {
        let value = r#""energy", kind: Value"#;
        let below = r#"Below(metric: "it", of: "E", margin: 2)"#;
        assert_eq!(judged(below, value, 0.9, 2.0).verdict, Verdict::Reproduced);
        let it = judged(below, value, 0.1, 2.0);
        assert_eq!(
            it.because,
            "its sign depends on the coefficients: from -0.6000 to +7.0000 over their ranges"
        );
    }

    #[test]
    fn what_computes_with_energy_is_unresolved() {
        let it = judged(BELOW, r#""energy / cycles", kind: Ratio"#, 1.0, 1.0);
        assert_eq!(it.verdict, Verdict::Unresolved);
        assert!(
            it.because.contains("computes with energy"),
            "{}",
            it.because
        );
    }
}
