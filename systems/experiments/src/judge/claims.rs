//! Verdicts on the claims of an experiment.

use warpweave_params::{Diagnostics, Placed};

use super::effect::{Compares, Effect, sign_of};
use super::energy_table::Bounds;
use super::energy_table::EnergyTable;
use super::gates::JudgedGate;
use super::interval::{Interval, rank_correlation};
use super::study::{JudgedClaim, Verdict};
use super::symbols::in_symbols;
use super::values::{ClaimedMetric, Repetition};
use super::{repetitions, resolution};
use crate::file::{
    Claim, ClaimFields, FindingClaim, Gate, IdentityClaim, IncrementStep, Recorded, Shape,
};
use crate::metric::{EnergyUse, Expression};
use crate::model::{Outcome, Point, Runs};
use crate::plan::headroom;
use crate::read::Experiment;

/// Minimum rank correlation at which workloads count as ordered alike at both sizes.
const SAME_ORDER: f64 = 0.8;

/// Data that claims are judged by.
pub(super) struct Claims<'e> {
    pub(super) experiment: &'e Experiment,
    pub(super) metrics: &'e [ClaimedMetric<'e>],
    pub(super) spending: &'e EnergyTable<'e>,
    pub(super) workloads: &'e [&'e str],
    pub(super) points: &'e [Point],
    pub(super) runs: &'e Runs,
}

/// A finding with its names resolved, for the variant under test or for its control.
pub(super) struct ResolvedClaim<'e> {
    pub(super) effect: Effect<'e>,
    pub(super) margin: f64,
    /// Workloads over which the mean is taken.
    pub(super) workloads: Vec<&'e str>,
    /// Dependence of the metric on energy, if any.
    pub(super) uses: Option<EnergyUse>,
    /// Minimum number of workloads, each judged on its own, for a count.
    at_least: Option<u32>,
    /// Units of a count: workloads or groups.
    counted: &'static str,
    /// True if the absolute effect must not exceed the margin.
    within: bool,
}

impl ResolvedClaim<'_> {
    fn is_correlation(&self) -> bool {
        matches!(self.effect.compares, Compares::Correlates { .. })
    }

    /// True if a control with this effect is beyond the margin on the other side of the baseline.
    fn is_far(&self, effect: Interval) -> bool {
        !self.within && self.effect.is_to_baseline() && effect.high < -self.margin
    }
}

/// Verdict from the measured numbers alone.
struct Judgement {
    verdict: Verdict,
    because: String,
    effect: Option<Interval>,
}

impl<'e> Claims<'e> {
    pub(super) fn judge(&self) -> Result<Vec<JudgedClaim>, Diagnostics> {
        let claims = self.experiment.file.claims.iter();
        claims
            .map(|claim| match claim {
                Claim::Finding {
                    name,
                    claim,
                    control,
                    control_on,
                    gates,
                } => Ok(self.finding(name, claim, (control, control_on.as_ref()), gates)),
                Claim::Identity { name, claim, on } => self.identity(name, claim, on.as_deref()),
            })
            .collect()
    }

    fn finding(
        &self,
        name: &Placed<String>,
        claim: &FindingClaim,
        (control, control_on): (&Placed<String>, Option<&Placed<String>>),
        gates: &[Gate],
    ) -> JudgedClaim {
        let recorded = self.experiment.file.record.get(&name.value);
        let mut judged = JudgedClaim {
            name: name.value.clone(),
            is_identity: false,
            claim: in_symbols(claim, &self.experiment.file),
            verdict: Verdict::Unresolved,
            because: "the claim uses unknown names".to_owned(),
            effect: None,
            margin: None,
            resolution: None,
            control: None,
            control_is_far: false,
            gates: Vec::new(),
            expected: recorded.map(|(_, recorded)| match recorded {
                Recorded::Reproduced => (Verdict::Reproduced, String::new()),
                Recorded::NotReproduced { because } => (Verdict::NotReproduced, because.clone()),
                Recorded::Unresolved { because } => (Verdict::Unresolved, because.clone()),
                Recorded::Void { because } => (Verdict::Void, because.clone()),
            }),
            by_workload: Vec::new(),
        };
        let Some(looked) = self.look_up(claim, None) else {
            return judged;
        };
        let file = &self.experiment.file;
        // A coefficient has no unit that a resolution could be compared with.
        let resolution = (!looked.is_correlation())
            .then(|| resolution(looked.effect.values, file, &looked.workloads, self.points))
            .flatten();
        judged.margin = Some(looked.margin);
        judged.resolution = resolution;
        judged.by_workload = self.by_workload(&looked);
        let outcome = self.outcome(&looked);
        judged.effect = outcome.effect;
        (judged.verdict, judged.because) = (outcome.verdict, outcome.because);
        let is_coarse = resolution.is_some_and(|resolution| looked.margin < resolution);
        if is_coarse && looked.at_least.is_none() {
            judged.verdict = Verdict::Unresolved;
            "the margin is less than the resolution".clone_into(&mut judged.because);
        } else if file.confirm.is_some()
            && let Some(doubt) = self.doubt_of_next_size(&looked)
        {
            judged.verdict = Verdict::Unresolved;
            judged.because = doubt;
        } else if looked.at_least.is_none()
            && judged.verdict != Verdict::Unresolved
            && let Some(doubt) = self.doubt_of_coefficients(&looked, judged.verdict)
        {
            judged.verdict = Verdict::Unresolved;
            judged.because = doubt;
        }
        if let Some(mut looked) = self.look_up(claim, Some(&control.value)) {
            let mut name = control.value.clone();
            if let Some(on) = control_on {
                looked.workloads = file.named_workloads(&on.value);
                name = format!("{name} on {}", on.value);
            }
            let outcome = self.outcome(&looked);
            if outcome.verdict == Verdict::Reproduced {
                judged.verdict = Verdict::Void;
                judged.because = format!("the control `{name}` passes too");
            }
            judged.control_is_far = outcome.effect.is_some_and(|effect| looked.is_far(effect));
            judged.control = Some((name, outcome.verdict, outcome.effect));
        }
        let (of, levels) = (&claim.fields().of.value, self.levels(claim));
        let gate = |gate: &Gate| {
            let of = gate.bound().of.as_ref().map_or(of, |of| &of.value);
            let point = self.point(of, &levels).or_else(|| self.headroom(of))?;
            JudgedGate::of(gate, self.metrics, file, &point, &looked.workloads)
        };
        judged.gates = gates.iter().filter_map(gate).collect();
        if judged.is_below_a_gate() {
            let unmet = judged.gates.iter().filter(|gate| !gate.is_met());
            let reasons: Vec<String> = unmet.map(ToString::to_string).collect();
            judged.verdict = Verdict::Void;
            judged.because = format!("a gate is not met: {}", reasons.join("; "));
        }
        judged
    }

    /// Returns intervals of the effects over some workloads, one for each comparison of the claim.
    fn intervals(&self, looked: &ResolvedClaim<'_>, workloads: &[&str]) -> Vec<Option<Interval>> {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for repetition in repetitions(&self.experiment.file) {
            let effects = looked.effect.in_repetition(workloads, repetition);
            columns.resize(effects.len(), Vec::new());
            for (column, effect) in columns.iter_mut().zip(effects) {
                column.extend(effect);
            }
        }
        columns.iter().map(|column| Interval::of(column)).collect()
    }

    fn outcome(&self, looked: &ResolvedClaim<'_>) -> Judgement {
        if let Some(at_least) = looked.at_least {
            return self.counted(looked, at_least);
        }
        let intervals = self.intervals(looked, &looked.workloads);
        if looked.within {
            return lies_within(intervals.first().copied().flatten(), looked.margin);
        }
        summed_up(&looked.effect.compares, &intervals, looked.margin)
    }

    fn counted(&self, looked: &ResolvedClaim<'_>, at_least: u32) -> Judgement {
        let (mut certain, mut possible) = (0, 0);
        let file = &self.experiment.file;
        let units = looked.effect.values.units(&looked.workloads);
        for unit in &units {
            let resolution = resolution(looked.effect.values, file, unit, self.points);
            let is_coarse = resolution.is_some_and(|resolution| looked.margin < resolution);
            let depends = looked.uses.is_some().then(|| {
                let found = self.over_coefficients(looked, unit);
                side(found.first().copied().flatten(), looked.margin)
            });
            match self.intervals(looked, unit)[..] {
                // An effect below the resolution of a workload, or one that depends on
                // coefficients, may go either way.
                _ if is_coarse || depends == Some(Verdict::Unresolved) => possible += 1,
                [Some(interval)] => {
                    certain += u32::from(interval.low > looked.margin);
                    possible += u32::from(interval.high >= looked.margin);
                }
                _ => possible += 1,
            }
        }
        let verdict = if certain >= at_least {
            Verdict::Reproduced
        } else if possible < at_least {
            Verdict::NotReproduced
        } else {
            Verdict::Unresolved
        };
        let all = units.len();
        let counted = looked.counted;
        Judgement {
            verdict,
            because: format!(
                "holds on at least {certain} and at most {possible} of {all} {counted}; the claim requires {at_least}"
            ),
            effect: None,
        }
    }

    fn by_workload(&self, looked: &ResolvedClaim<'_>) -> Vec<(String, Interval)> {
        let of = |workload: &&str| {
            let intervals = self.intervals(looked, &[workload]);
            let shown = shown(&looked.effect.compares, &intervals)?;
            Some(((*workload).to_owned(), shown))
        };
        looked.workloads.iter().filter_map(of).collect()
    }

    /// Returns the reason why the next size disagrees, if it does.
    fn doubt_of_next_size(&self, looked: &ResolvedClaim<'_>) -> Option<String> {
        let next = Repetition {
            pair: 0,
            confirming: true,
        };
        let (mut here, mut there) = (Vec::new(), Vec::new());
        // A correlation is one number for all workloads.
        let units: Vec<Vec<&str>> = if looked.is_correlation() {
            vec![looked.workloads.clone()]
        } else {
            let workloads = looked.workloads.iter();
            workloads.map(|workload| vec![*workload]).collect()
        };
        for unit in &units {
            let effects = looked.effect.in_repetition(unit, next);
            let effects: Vec<Option<Interval>> = effects
                .iter()
                .map(|effect| Interval::of(&[(*effect)?]))
                .collect();
            let now = shown(&looked.effect.compares, &self.intervals(looked, unit));
            let then = shown(&looked.effect.compares, &effects);
            if let (Some(now), Some(then)) = (now, then) {
                here.push(now.median);
                there.push(then.median);
            }
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        if here.is_empty() {
            return Some("the next size has no result".to_owned());
        }
        let (now, then) = (mean(&here), mean(&there));
        if looked.within {
            let is_within = |effect: f64| effect.abs() <= looked.margin;
            return (is_within(now) != is_within(then)).then(|| {
                format!("the next size is on the other side of the margin: {now:+.4} here, {then:+.4} there")
            });
        }
        if (now > 0.0) != (then > 0.0) {
            return Some(format!(
                "the next size has the opposite sign: {now:+.4} here, {then:+.4} there"
            ));
        }
        if units.len() < 3 {
            return None;
        }
        match rank_correlation(&here, &there) {
            Some(correlation) if correlation >= SAME_ORDER => None,
            Some(correlation) => Some(format!(
                "the workloads are in a different order at the next size: rank correlation {correlation:.2}"
            )),
            None => Some("the order of the workloads at the next size is undefined".to_owned()),
        }
    }

    /// Resolves the names of a claim. `control` replaces the variant under test.
    fn look_up(&self, claim: &FindingClaim, control: Option<&str>) -> Option<ResolvedClaim<'e>> {
        let ClaimFields {
            metric,
            of,
            margin,
            on,
            ..
        } = claim.fields();
        let mut metrics = self.metrics.iter();
        let claimed = metrics.find(|known| known.name == metric.value)?;
        let values = &claimed.values;
        let speaks_of = control.unwrap_or(&of.value);
        let levels = self.levels(claim);
        let point = |variant: &str| self.point(variant, &levels);
        let (mut at_least, mut with) = (None, None);
        if let FindingClaim::Correlates(correlation) = claim {
            let mut metrics = self.metrics.iter();
            let other = metrics.find(|known| known.name == correlation.with.value)?;
            with = Some(&other.values);
        }
        if let FindingClaim::Count(count) = claim {
            at_least = Some(count.at_least.value);
        }
        let compares = match claim {
            FindingClaim::Above(_)
            | FindingClaim::Below(_)
            | FindingClaim::Within(_)
            | FindingClaim::Count(_) => {
                let of = point(speaks_of)?;
                match claim.compared_with() {
                    (_, Some(number)) => Compares::Number {
                        of,
                        number: number.value,
                    },
                    (Some(than), None) => Compares::Two {
                        than: point(&than.value)?,
                        of,
                    },
                    (None, None) => Compares::Two {
                        than: values.baseline_of(&of),
                        of,
                    },
                }
            }
            FindingClaim::Correlates(correlation) => Compares::Correlates {
                of: point(speaks_of)?,
                by: correlation.by,
            },
            FindingClaim::Best(_) => {
                let variants = self.experiment.file.variants.names();
                let others = variants.filter(|variant| *variant != of.value);
                Compares::All {
                    of: point(speaks_of)?,
                    others: others.map(point).collect::<Option<_>>()?,
                }
            }
            FindingClaim::LargestStep(IncrementStep { row, .. }) => {
                let row: Vec<&str> = row.iter().map(|name| name.value.as_str()).collect();
                let is_ours = |step: &&[&str]| step[1] == of.value;
                let points = |from: &str, to: &str| Some([point(from)?, point(to)?]);
                let step = row.windows(2).find(is_ours)?;
                let others = row.windows(2).filter(|step| !is_ours(step));
                let others = others.map(|step| points(step[0], step[1]));
                Compares::Step {
                    step: points(step[0], speaks_of)?,
                    others: others.collect::<Option<_>>()?,
                }
            }
            FindingClaim::Saturates(Shape { axis, .. })
            | FindingClaim::Interior(Shape { axis, .. }) => {
                let (_, known) = self.experiment.file.axes.get(&axis.value)?;
                let row = known.levels().into_iter().map(|level| {
                    let mut levels = levels.clone();
                    levels.retain(|(name, _)| *name != axis.value);
                    levels.push((axis.value.clone(), level));
                    self.point(speaks_of, &levels)
                });
                let row = row.collect::<Option<_>>()?;
                match claim {
                    FindingClaim::Saturates(_) => Compares::Steps(row),
                    _ => Compares::Inner(row),
                }
            }
        };
        let workloads = match on {
            Some(on) => self.experiment.file.named_workloads(&on.value),
            None => self.workloads.to_vec(),
        };
        if workloads.is_empty() {
            return None;
        }
        Some(ResolvedClaim {
            effect: Effect {
                values,
                with,
                compares,
                sign: sign_of(claim, claimed.file),
            },
            margin: margin.value,
            uses: claimed.energy.clone(),
            workloads,
            at_least,
            counted: claimed.file.counted(),
            within: matches!(claim, FindingClaim::Within(_)),
        })
    }

    /// Returns the levels of a claim: its own, and those of the baseline.
    fn levels(&self, claim: &FindingClaim) -> Vec<(String, String)> {
        let mut levels = self.experiment.baseline.levels.clone();
        for (axis, level) in claim.fields().at.into_iter().flatten() {
            levels.retain(|(known, _)| *known != axis.value);
            levels.push((axis.value.clone(), level.value.clone()));
        }
        levels
    }

    /// Returns the point of a variant or control at these levels. An axis without a level is at its
    /// first.
    fn point(&self, variant: &str, levels: &[(String, String)]) -> Option<Point> {
        let fits = |point: &&Point| {
            let mut wanted = levels.iter();
            point.variant == variant && wanted.all(|level| point.levels.contains(level))
        };
        self.points.iter().find(fits).cloned()
    }

    /// Returns the point of a machine for headroom.
    fn headroom(&self, name: &str) -> Option<Point> {
        let mut machines = headroom(self.experiment).into_iter();
        let found = machines.find(|machine| machine.point.variant == name);
        found.map(|machine| machine.point)
    }

    fn identity(
        &self,
        name: &Placed<String>,
        claim: &IdentityClaim,
        on: Option<&[Placed<String>]>,
    ) -> Result<JudgedClaim, Diagnostics> {
        let texts = claim.expressions();
        let symbol = match claim {
            IdentityClaim::Equal(..) => " = ",
            IdentityClaim::AtMost(..) | IdentityClaim::Ascending(_) => " <= ",
        };
        let mut expressions = Vec::new();
        for text in &texts {
            expressions.push(Expression::parse(text)?);
        }
        let (mut checked, mut broken) = (0_usize, None);
        for (id, outcome) in self.runs {
            let variant = &id.point.variant;
            let applies = on.is_none_or(|on| on.iter().any(|v| v.value == *variant))
                && self.experiment.file.compares(variant);
            let Outcome::Done(record) = outcome else {
                continue;
            };
            if !applies || broken.is_some() {
                continue;
            }
            let values: Result<Vec<Option<f64>>, String> =
                expressions.iter().map(|e| e.evaluate(record)).collect();
            match values {
                Err(problem) => broken = Some(format!("{id}: {problem}")),
                Ok(values) => {
                    // What is undefined says nothing.
                    let Some(values) = values.into_iter().collect::<Option<Vec<f64>>>() else {
                        continue;
                    };
                    checked += 1;
                    let holds = values.windows(2).all(|pair| match claim {
                        #[expect(clippy::float_cmp, reason = "the claim is exact equality")]
                        IdentityClaim::Equal(..) => pair[0] == pair[1],
                        _ => pair[0] <= pair[1],
                    });
                    if !holds {
                        broken = Some(format!("{id}: {values:?}"));
                    }
                }
            }
        }
        let (verdict, because) = match broken {
            Some(broken) => (Verdict::Fails, broken),
            None if checked == 0 => (Verdict::Unresolved, "no run could be checked".to_owned()),
            None => (Verdict::Holds, format!("in {checked} runs")),
        };
        let texts: Vec<&str> = texts.iter().map(|text| text.value.as_str()).collect();
        Ok(JudgedClaim {
            name: name.value.clone(),
            is_identity: true,
            claim: texts.join(symbol),
            verdict,
            because,
            effect: None,
            margin: None,
            resolution: None,
            control: None,
            control_is_far: false,
            gates: Vec::new(),
            expected: None,
            by_workload: Vec::new(),
        })
    }
}

/// Returns the interval shown for several comparisons: that with the nearest rival, or of the best
/// inner level.
fn shown(compares: &Compares, intervals: &[Option<Interval>]) -> Option<Interval> {
    let known = intervals.iter().flatten().copied();
    let by_median = |a: &Interval, b: &Interval| a.median.total_cmp(&b.median);
    match compares {
        Compares::Inner(_) => known.max_by(by_median),
        _ => known.min_by(by_median),
    }
}

/// Combines all comparisons of a claim into one verdict.
fn summed_up(compares: &Compares, intervals: &[Option<Interval>], margin: f64) -> Judgement {
    let verdicts: Vec<Verdict> = intervals
        .iter()
        .map(|interval| match interval {
            Some(interval) if interval.low > margin => Verdict::Reproduced,
            Some(interval) if interval.high < margin => Verdict::NotReproduced,
            _ => Verdict::Unresolved,
        })
        .collect();
    Judgement {
        verdict: combined(compares, &verdicts),
        because: String::new(),
        effect: shown(compares, intervals),
    }
}

/// Judges an effect that must be smaller than the margin.
fn lies_within(interval: Option<Interval>, margin: f64) -> Judgement {
    let verdict = match interval {
        Some(interval) if interval.low >= -margin && interval.high <= margin => Verdict::Reproduced,
        Some(interval) if interval.low > margin || interval.high < -margin => {
            Verdict::NotReproduced
        }
        _ => Verdict::Unresolved,
    };
    Judgement {
        verdict,
        because: String::new(),
        effect: interval,
    }
}

/// Combines the verdicts of a claim's comparisons. One unbeaten rival fails the claim, and one best
/// inner level satisfies it.
pub(super) fn combined(compares: &Compares, verdicts: &[Verdict]) -> Verdict {
    let (decides, otherwise) = match compares {
        Compares::Inner(_) => (Verdict::Reproduced, Verdict::NotReproduced),
        _ => (Verdict::NotReproduced, Verdict::Reproduced),
    };
    if verdicts.contains(&decides) {
        decides
    } else if !verdicts.is_empty() && verdicts.iter().all(|verdict| *verdict == otherwise) {
        otherwise
    } else {
        Verdict::Unresolved
    }
}

pub(super) fn changes_sign(bounds: Bounds) -> bool {
    bounds.low < 0.0 && bounds.high > 0.0
}

/// Returns the verdict on an effect for all coefficients in their ranges.
pub(super) fn side(bounds: Option<Bounds>, margin: f64) -> Verdict {
    match bounds {
        Some(bounds) if bounds.low > margin => Verdict::Reproduced,
        Some(bounds) if bounds.high < margin && !changes_sign(bounds) => Verdict::NotReproduced,
        _ => Verdict::Unresolved,
    }
}
