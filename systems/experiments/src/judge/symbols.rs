//! Claims as formulas, for the report.

use warpweave_params::Placed;

use crate::file::{Coefficient, Comparison, ExperimentFile, FindingClaim, Sign};

/// Writes a claim as a formula.
pub(super) fn in_symbols(claim: &FindingClaim, file: &ExperimentFile) -> String {
    let than = |than: &Option<Placed<String>>, value: &Option<Placed<f64>>| match (value, than) {
        (Some(number), _) => number.value.to_string(),
        (None, Some(than)) => than.value.clone(),
        (None, None) => "the baseline".to_owned(),
    };
    let compared = |c: &Comparison, relation: &str, sign: &str| {
        let (metric, of, than) = (&c.metric.value, &c.of.value, than(&c.than, &c.value));
        format!("{metric}: {of} {relation} {than} {sign} {}", c.margin.value)
    };
    match claim {
        FindingClaim::Above(c) => compared(c, ">", "+"),
        FindingClaim::Below(c) => compared(c, "<", "-"),
        FindingClaim::Within(c) => compared(c, "=", "±"),
        FindingClaim::LargestStep(c) => format!(
            "{}: the step to {} is larger than all others of {} by {}",
            c.metric.value,
            c.of.value,
            c.row
                .iter()
                .map(|name| name.value.as_str())
                .collect::<Vec<&str>>()
                .join(" → "),
            c.margin.value
        ),
        FindingClaim::Best(c) => format!(
            "{}: {} is better than all others by {}",
            c.metric.value, c.of.value, c.margin.value
        ),
        FindingClaim::Count(c) => format!(
            "{}: {} is better than {} by {} on at least {} {}",
            c.metric.value,
            c.of.value,
            than(&c.than, &c.value),
            c.margin.value,
            c.at_least.value,
            file.metrics
                .get(&c.metric.value)
                .map_or("workloads", |(_, metric)| metric.counted())
        ),
        FindingClaim::Correlates(c) => {
            let by = match c.by {
                Coefficient::Spearman => "rank correlation",
                Coefficient::Pearson => "linear correlation",
            };
            let relation = match c.sign {
                Sign::Positive => "> ",
                Sign::Negative => "< -",
            };
            format!(
                "{} with {} of {}: {by} {relation}{}",
                c.metric.value, c.with.value, c.of.value, c.margin.value
            )
        }
        FindingClaim::Saturates(c) => format!(
            "{}: for {}, the last step of {} gains less than the first by {}",
            c.metric.value, c.of.value, c.axis.value, c.margin.value
        ),
        FindingClaim::Interior(c) => format!(
            "{}: for {}, an intermediate level of {} is better than both ends by {}",
            c.metric.value, c.of.value, c.axis.value, c.margin.value
        ),
    }
}
