//! Checks of metrics and claims before anything is run.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpweave_params::{Diagnostics, Placed, name_hint};

use super::{names, shares};
use crate::file::{Claim, ClaimFields, ExperimentFile, FindingClaim, MetricFile};
use crate::metric::Expression;
use crate::plan::{MachineStatistics, pairs};
use crate::read::{find, find_level};

/// Minimum number of repetitions for an experiment with findings.
const PAIRS_MIN: u32 = 10;

/// Checks the metrics and claims of an experiment.
///
/// # Errors
/// Returns all errors, each with its position and the nearest valid name.
pub fn check(file: &ExperimentFile) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    for (name, metric) in &file.metrics {
        if let Some(expression) = problems.take(Expression::parse(&metric.value)) {
            names::metric(file, name, metric, &expression, &mut problems);
        }
    }
    if let Some(energy) = &file.energy
        && !(energy.fit.share.value > 0.0 && energy.fit.share.value < 1.0)
    {
        let message = format!("{} is not a share", energy.fit.share.value);
        let hint = "a share must be between 0 and 1";
        problems.push(energy.fit.share.error(message).hint(hint));
    }
    shares::check(file, &mut problems);
    for name in &file.headroom.show {
        problems.take(find(name, "metric", "metrics", &file.metrics));
    }
    for claim in &file.claims {
        match claim {
            Claim::Finding {
                name,
                claim,
                control,
                control_on,
                gates,
            } => {
                names::control(file, control, control_on.as_ref(), claim, &mut problems);
                if pairs(file) < PAIRS_MIN {
                    let message = format!(
                        "a finding needs at least {PAIRS_MIN} pairs, and this experiment has {}",
                        pairs(file)
                    );
                    let hint = "write `perturb: (pairs: 10, draws: { .. })`";
                    problems.push(name.error(message).hint(hint));
                }
                finding(file, claim, &mut problems);
                names::compared(file, claim, control, &mut problems);
                for gate in gates {
                    names::gate(file, gate.bound(), &claim.fields(), &mut problems);
                }
            }
            Claim::Identity { claim, on, .. } => {
                for text in claim.expressions() {
                    problems.take(Expression::parse(text));
                }
                for variant in on.iter().flatten() {
                    problems.take(names::point(file, variant));
                }
            }
        }
    }
    let findings = file.claims.iter().filter_map(|claim| match claim {
        Claim::Finding { name, .. } => Some(name.value.as_str()),
        Claim::Identity { .. } => None,
    });
    for (name, _) in &file.record {
        if !findings.clone().any(|finding| finding == name.value) {
            let message = format!("unknown finding `{}`", name.value);
            let hint = name_hint(&name.value, "findings", findings.clone());
            problems.push(name.error(message).hint(hint));
        }
    }
    problems.into_result(())
}

/// Rejects patterns of metrics and identities that match no statistic of a machine they are
/// computed for. `machines` has the statistics of each by variant.
///
/// # Errors
/// Returns every such pattern, with the nearest name or the variants that lack the part.
pub fn check_patterns(
    file: &ExperimentFile,
    machines: &[(String, Arc<MachineStatistics>)],
) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    for (_, metric) in &file.metrics {
        problems.take(check_on(&metric.value, machines, |variant| {
            metric.is_of(variant)
        }));
    }
    for claim in &file.claims {
        let Claim::Identity { claim, on, .. } = claim else {
            continue;
        };
        let is_meant = |variant: &str| {
            let mut named = on.iter().flatten();
            on.is_none() || named.any(|name| name.value == variant)
        };
        for text in claim.expressions() {
            problems.take(check_on(text, machines, is_meant));
        }
    }
    problems.into_result(())
}

/// Checks the patterns of an expression on the machines of the variants that are meant.
fn check_on(
    text: &Placed<String>,
    machines: &[(String, Arc<MachineStatistics>)],
    is_meant: impl Fn(&str) -> bool,
) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let expression = Expression::parse(text)?;
    for pattern in expression.patterns() {
        let has = |statistics: &MachineStatistics| {
            let mut of_path = statistics.iter().filter(|(path, _)| pattern.is_of(path));
            of_path.any(|(_, names)| names.iter().any(|name| pattern.is_called(name)))
        };
        if !machines.iter().any(|(_, statistics)| has(statistics)) {
            let all = machines.iter().flat_map(|(_, of)| of.iter());
            let known: BTreeSet<String> = all
                .flat_map(|(path, names)| names.iter().map(move |name| format!("{path}.{name}")))
                .collect();
            let message = pattern.names_no(known.iter().map(String::as_str));
            problems.push(text.error(message));
            continue;
        }
        let meant = machines.iter().filter(|(variant, _)| is_meant(variant));
        let mut without: Vec<String> = meant
            .filter(|(_, statistics)| !has(statistics))
            .map(|(variant, _)| format!("`{variant}`"))
            .collect();
        without.dedup();
        if !without.is_empty() {
            let message = format!("{pattern} names nothing in {}", without.join(", "));
            let hint = "name the variants and controls that have the part: `variants` of a metric, `on` of an identity";
            problems.push(text.error(message).hint(hint));
        }
    }
    problems.into_result(())
}

fn finding(file: &ExperimentFile, claim: &FindingClaim, problems: &mut Diagnostics) {
    let ClaimFields {
        metric,
        of,
        margin,
        on,
        at,
    } = claim.fields();
    let stated = problems.take(find(metric, "metric", "metrics", &file.metrics));
    problems.take(find(of, "variant", "variants", &file.variants));
    if !margin.value.is_finite() || margin.value <= 0.0 {
        let hint =
            "state the smallest difference that matters, at least the resolution of the baseline";
        problems.push(margin.error("a margin must be greater than 0").hint(hint));
    }
    if let Some(on) = on {
        problems.take(names::workloads(file, on));
    }
    for (axis, level) in at.into_iter().flatten() {
        let known = problems.take(find(axis, "axis", "axes", &file.axes));
        if let Some(known) = known {
            problems.take(find_level(level, &axis.value, &known.levels()));
        }
    }
    let (than, value) = claim.compared_with();
    if let (Some(_), Some(value)) = (than, value) {
        let message = "a claim must compare either with a variant, `than`, or with a number, `value`; found both";
        problems.push(value.error(message));
    }
    if let Some(value) = value.filter(|value| !value.value.is_finite()) {
        problems.push(value.error("a number to compare with must be finite"));
    }
    if let Some(than) = than {
        problems.take(find(than, "variant", "variants", &file.variants));
    }
    match claim {
        FindingClaim::Above(_) | FindingClaim::Below(_) => {}
        FindingClaim::Within(_) => {
            let uses_energy = stated.is_some_and(|metric| {
                Expression::parse(&metric.value).is_ok_and(|e| e.energy_use().is_some())
            });
            if uses_energy {
                let message = "`Within` is not supported over ranges of energy coefficients";
                let hint = "claim both `Above` and `Below`";
                problems.push(metric.error(message).hint(hint));
            }
        }
        FindingClaim::LargestStep(c) => {
            needs_direction(metric, stated, problems);
            for name in &c.row {
                problems.take(find(name, "variant", "variants", &file.variants));
            }
            if c.row.len() < 3 {
                let message = format!(
                    "a row of {} variants has fewer than two steps to compare",
                    c.row.len()
                );
                let hint = "list three or more variants, each of which adds to the previous one";
                problems.push(metric.error(message).hint(hint));
            } else if !c.row[1..].iter().any(|name| name.value == of.value) {
                let steps = c.row[1..].iter().map(|name| name.value.as_str());
                let message = format!("no step of the row leads to `{}`", of.value);
                let hint = name_hint(&of.value, "variants at the end of a step", steps);
                problems.push(of.error(message).hint(hint));
            }
        }
        FindingClaim::Best(_) => needs_direction(metric, stated, problems),
        FindingClaim::Correlates(c) => names::correlation(file, c, stated, problems),
        FindingClaim::Count(c) => {
            needs_direction(metric, stated, problems);
            let counted = stated.map_or("workloads", MetricFile::counted);
            let all = match stated.and_then(|metric| metric.groups) {
                Some(_) => file
                    .groups()
                    .map(|(_, group)| group)
                    .collect::<BTreeSet<_>>()
                    .len(),
                None => file.workloads.iter().count(),
            };
            if c.at_least.value == 0 || c.at_least.value as usize > all {
                let message = format!("expected 1 to {all} {counted}, found {}", c.at_least.value);
                problems.push(c.at_least.error(message));
            }
        }
        FindingClaim::Saturates(c) | FindingClaim::Interior(c) => {
            needs_direction(metric, stated, problems);
            let axis = problems.take(find(&c.axis, "axis", "axes", &file.axes));
            if axis.is_some_and(|axis| axis.levels().len() < 3) {
                let message = format!("the axis `{}` has fewer than three levels", c.axis.value);
                problems.push(c.axis.error(message));
            }
        }
    }
}

fn needs_direction(name: &Placed<String>, metric: Option<&MetricFile>, problems: &mut Diagnostics) {
    if metric.is_some_and(|metric| metric.better.is_none()) {
        let message = format!(
            "the metric `{}` does not state which direction is better",
            name.value
        );
        let hint = "add `better: Larger` or `better: Smaller` to it";
        problems.push(name.error(message).hint(hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_a_variant_lacks_is_named_with_the_variant_and_a_misspelt_one_with_the_nearest() {
        let machine = |statistics: &[(&str, &str)]| {
            let mut all = MachineStatistics::new();
            for (path, name) in statistics {
                let names = all.entry((*path).to_owned()).or_default();
                names.insert((*name).to_owned());
            }
            Arc::new(all)
        };
        let both = [("l1[0]", "reads"), ("l2[0]", "write_hits")];
        let more = [&both[..], &[("icc[0]", "merges")]].concat();
        let machines = [
            ("D".to_owned(), machine(&both)),
            ("E".to_owned(), machine(&more)),
        ];
        let check = |text: &str, on: &[&str]| {
            let checked = check_on(&text.to_owned().into(), &machines, |v| on.contains(&v));
            checked.map_err(|problems| problems.to_string())
        };
        let all = ["D", "E"];
        assert_eq!(check("sum(l1[*].reads)", &all), Ok(()));
        assert_eq!(check("sum(icc[*].merges)", &["E"]), Ok(()));
        let lacking = check("sum(icc[*].merges)", &all).unwrap_err();
        assert!(
            lacking.contains("`icc[*].merges` names nothing in `D`"),
            "{lacking}"
        );
        for (wrong, near) in [
            ("sum(icc[*].mergse)", "icc[*].merges"),
            ("sum(ic[*].merges)", "icc[*].merges"),
            ("sum(ik[*].merges)", "icc[*].merges"),
            ("sum(l2[*].wrihits)", "l2[*].write_hits"),
        ] {
            let told = check(wrong, &all).unwrap_err();
            assert!(told.contains(&format!("did you mean `{near}`")), "{told}");
        }
    }
}
