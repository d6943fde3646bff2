//! Checks of the names in metrics, claims and gates.

use warpweave_params::{Diagnostic, Diagnostics, Placed, name_hint};

use crate::file::{
    ClaimFields, Correlation, ExperimentFile, FindingClaim, GateBound, MetricFile, MetricKind,
};
use crate::metric::Expression;
use crate::read::{Baseline, find};

/// Checks that a metric's values can be combined as it says, and that its variants exist.
pub(super) fn metric(
    file: &ExperimentFile,
    name: &Placed<String>,
    metric: &MetricFile,
    expression: &Expression,
    problems: &mut Diagnostics,
) {
    match (&metric.over, metric.mean.is_pooled()) {
        (Some(_), false) => {
            let message = format!(
                "the metric `{}` does not say how launches are combined",
                name.value
            );
            let hint = "write `mean: Pooled(Harmonic)`, or another mean in `Pooled`";
            problems.push(name.error(message).hint(hint));
        }
        (None, true) => {
            let message = format!("the metric `{}` has no launches to pool", name.value);
            let hint = "add `over: Launches()`, or write the mean over workloads, such as `mean: Harmonic`";
            problems.push(name.error(message).hint(hint));
        }
        _ => {}
    }
    if let Some(part) = expression
        .unfit_for_launches()
        .filter(|_| metric.over.is_some())
    {
        let message = format!("a single launch has no `{part}`");
        let hint = "a metric over launches may use `cycles`, `ipc`, instructions and statistics";
        problems.push(metric.value.error(message).hint(hint));
    }
    if metric.groups.is_some() && expression.energy_use().is_some() {
        let message = "means over groups are not supported over ranges of energy coefficients";
        problems.push(metric.value.error(message).hint("leave `groups` out"));
    }
    for variant in metric.variants.iter().flatten() {
        problems.take(measured(file, variant));
    }
    let Some(variants) = &metric.variants else {
        return;
    };
    if variants.is_empty() {
        let message = format!("the metric `{}` has no variants", name.value);
        let hint = "name those that have it, or leave `variants` out";
        problems.push(name.error(message).hint(hint));
    }
    // An unknown baseline is refused itself.
    let baseline = Baseline::read(file).map(|baseline| baseline.variant);
    if let Ok(baseline) = baseline
        && metric.kind == MetricKind::Ratio
        && !metric.is_of(&baseline)
    {
        let message = format!(
            "the metric `{}` is a ratio to `{baseline}`, in which it has no value",
            name.value
        );
        let hint = "write `kind: Value`, or add the baseline";
        problems.push(name.error(message).hint(hint));
    }
}

/// Returns an error for the name of a workload or group that does not exist.
pub(super) fn workloads(file: &ExperimentFile, name: &Placed<String>) -> Result<(), Diagnostic> {
    if !file.named_workloads(&name.value).is_empty() {
        return Ok(());
    }
    let groups = file
        .workloads
        .iter()
        .filter_map(|(_, of)| of.group.as_ref());
    let mut known: Vec<&str> = groups.map(|group| group.value.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let what = if known.is_empty() {
        "workloads"
    } else {
        "workloads and groups"
    };
    let known = file.workloads.names().chain(known);
    let message = format!("unknown workload `{}`", name.value);
    Err(name
        .error(message)
        .hint(name_hint(&name.value, what, known)))
}

/// Checks the control of a finding. On workloads of its own it may be any variant; else it must
/// differ from them.
pub(super) fn control(
    file: &ExperimentFile,
    control: &Placed<String>,
    on: Option<&Placed<String>>,
    claim: &FindingClaim,
    problems: &mut Diagnostics,
) {
    let Some(on) = on else {
        problems.take(find(control, "control", "controls", &file.controls));
        return;
    };
    problems.take(point(file, control));
    problems.take(workloads(file, on));
    if claim.fields().on.is_none() {
        let message = "`control_on` needs a claim on a workload or group";
        let hint = "write `on` in the claim, so that the control differs in its workloads alone";
        problems.push(on.error(message).hint(hint));
    }
}

/// Returns an error for a name that is no variant, control or machine for headroom.
fn measured(file: &ExperimentFile, name: &Placed<String>) -> Result<(), Diagnostic> {
    if file.compares(&name.value) {
        point(file, name)
    } else {
        Ok(())
    }
}

/// Returns an error for the name of a variant or control that does not exist.
pub(super) fn point(file: &ExperimentFile, name: &Placed<String>) -> Result<(), Diagnostic> {
    let known = file.variants.names().chain(file.controls.names());
    if known.clone().any(|known| known == name.value) {
        return Ok(());
    }
    let what = if file.controls.is_empty() {
        "variants"
    } else {
        "variants and controls"
    };
    let hint = name_hint(&name.value, what, known);
    let message = format!("unknown variant `{}`", name.value);
    Err(name.error(message).hint(hint))
}

/// Rejects a finding that compares a variant or control without its metric.
pub(super) fn compared(
    file: &ExperimentFile,
    claim: &FindingClaim,
    control: &Placed<String>,
    problems: &mut Diagnostics,
) {
    let ClaimFields { metric, of, .. } = claim.fields();
    // An unknown metric is refused itself.
    let Some((_, stated)) = file.metrics.get(&metric.value) else {
        return;
    };
    if let FindingClaim::Correlates(c) = claim
        && let Some((_, with)) = file.metrics.get(&c.with.value)
        && let Some(lacks) = [of, control].iter().find(|name| !with.is_of(&name.value))
    {
        problems.push(lacking(&c.with, &[&lacks.value]));
    }
    let (than, value) = claim.compared_with();
    let mut named: Vec<&str> = [of, control].map(|name| name.value.as_str()).to_vec();
    named.extend(than.map(|than| than.value.as_str()));
    let baseline = Baseline::read(file).map(|baseline| baseline.variant);
    match claim {
        FindingClaim::Best(_) => named.extend(file.variants.names()),
        FindingClaim::LargestStep(c) => named.extend(c.row.iter().map(|name| name.value.as_str())),
        FindingClaim::Saturates(_) | FindingClaim::Interior(_) | FindingClaim::Correlates(_) => {}
        _ if than.is_none() && value.is_none() => {
            named.extend(baseline.as_deref().ok());
        }
        _ => {}
    }
    named.retain(|name| !stated.is_of(name));
    named.sort_unstable();
    named.dedup();
    if !named.is_empty() {
        problems.push(lacking(metric, &named));
    }
}

/// Returns an error for a metric that these variants do not have.
fn lacking(metric: &Placed<String>, variants: &[&str]) -> Diagnostic {
    let message = format!(
        "the metric `{}` has no value in `{}`, which the claim needs",
        metric.value,
        variants.join("`, `")
    );
    metric
        .error(message)
        .hint("name them in `variants` of the metric")
}

/// Checks that two metrics have values to correlate. `first` is the first one, if it is known.
pub(super) fn correlation(
    file: &ExperimentFile,
    claim: &Correlation,
    first: Option<&MetricFile>,
    problems: &mut Diagnostics,
) {
    let with = problems.take(find(&claim.with, "metric", "metrics", &file.metrics));
    let (Some(first), Some(second)) = (first, with) else {
        return;
    };
    for (name, metric) in [(&claim.metric, first), (&claim.with, second)] {
        let uses_energy = |e: Expression| e.energy_use().is_some();
        if Expression::parse(&metric.value).is_ok_and(uses_energy) {
            let message = "`Correlates` is not supported over ranges of energy coefficients";
            problems.push(name.error(message));
        }
    }
    if first.over != second.over {
        let message = format!(
            "`{}` and `{}` do not measure the same launches",
            claim.metric.value, claim.with.value
        );
        let hint = "write the same `over` in both metrics, or in neither";
        problems.push(claim.with.error(message).hint(hint));
    }
    let count = match &claim.on {
        Some(on) => file.named_workloads(&on.value).len(),
        None => file.workloads.iter().count(),
    };
    if first.over.is_none() && count < 3 {
        let message = format!("a correlation needs three or more workloads, found {count}");
        problems.push(claim.metric.error(message));
    }
}

/// Checks a gate of a finding with these fields.
pub(super) fn gate(
    file: &ExperimentFile,
    gate: &GateBound,
    claim: &ClaimFields<'_>,
    problems: &mut Diagnostics,
) {
    let GateBound { metric, value, of } = gate;
    if !value.value.is_finite() {
        problems.push(value.error("the bound of a gate must be finite"));
    }
    if let Some(of) = of {
        problems.take(measured(file, of));
    }
    let of = of.as_ref().unwrap_or(claim.of);
    let stated = problems.take(find(metric, "metric", "metrics", &file.metrics));
    if stated.is_some_and(|stated| !stated.is_of(&of.value)) {
        let message = format!(
            "the metric `{}` has no value in `{}`, which the gate needs",
            metric.value, of.value
        );
        let hint = "name it in `variants` of the metric, or another variant in `of` of the gate";
        problems.push(metric.error(message).hint(hint));
    }
}
