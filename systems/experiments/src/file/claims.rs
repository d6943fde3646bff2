//! Claims of an experiment file: findings with their gates, and identities.

use serde::Deserialize;
use warpweave_params::{Entries, Placed};

/// A claim stated before the runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::large_enum_variant,
    reason = "an experiment has few claims, and nearly all are findings"
)]
pub enum Claim {
    /// Empirical claim, which the results may refute.
    Finding {
        /// Name of the finding, written as a sentence.
        name: Placed<String>,
        /// Comparison that the finding claims to hold.
        claim: FindingClaim,
        /// Name of the control variant, for which the claim must fail.
        control: Placed<String>,
        /// Workload or group on which the control is judged; `None` for those of the claim.
        #[serde(default)]
        control_on: Option<Placed<String>>,
        /// Conditions without which the finding cannot be tested.
        #[serde(default)]
        gates: Vec<Gate>,
    },
    /// Invariant that follows from the mechanism itself.
    Identity {
        /// Name of the identity, written as a sentence.
        name: Placed<String>,
        /// Relation that must hold in every run.
        claim: IdentityClaim,
        /// Variants for which it must hold; `None` for all.
        #[serde(default)]
        on: Option<Vec<Placed<String>>>,
    },
}

/// Condition without which a finding cannot be tested.
#[derive(Debug, Deserialize)]
pub enum Gate {
    /// The metric is at least the value.
    AtLeast(GateBound),
    /// The metric is at most the value.
    AtMost(GateBound),
}

impl Gate {
    /// Returns the bound, with its metric and point.
    pub(crate) fn bound(&self) -> &GateBound {
        match self {
            Self::AtLeast(bound) | Self::AtMost(bound) => bound,
        }
    }
}

/// Bound that a gate sets on a metric.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateBound {
    /// Name of the metric that is bounded.
    pub metric: Placed<String>,
    /// Least or largest value that meets the gate.
    pub value: Placed<f64>,
    /// Variant or control that is measured; `None` for that of the finding.
    #[serde(default)]
    pub of: Option<Placed<String>>,
}

/// Comparison of one point with another or with a number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Name of the metric that is compared.
    pub metric: Placed<String>,
    /// Name of the variant under test.
    pub of: Placed<String>,
    /// Variant to compare with; `None` for the baseline.
    #[serde(default)]
    pub than: Option<Placed<String>>,
    /// Number to compare with, instead of a variant.
    #[serde(default)]
    pub value: Option<Placed<f64>>,
    /// Minimum effect for the claim to hold.
    pub margin: Placed<f64>,
    /// Workload to compare on; `None` for the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
    /// Level of each axis for this comparison.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// Comparison of one variant with all others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// Name of the metric that is compared.
    pub metric: Placed<String>,
    /// Name of the variant under test.
    pub of: Placed<String>,
    /// Minimum effect for the claim to hold.
    pub margin: Placed<f64>,
    /// Workload to compare on; `None` for the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
    /// Level of each axis for this comparison.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// Number of workloads on which one point is better than another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counting {
    /// Name of the metric that is compared.
    pub metric: Placed<String>,
    /// Name of the variant under test.
    pub of: Placed<String>,
    /// Variant to compare with; `None` for the baseline.
    #[serde(default)]
    pub than: Option<Placed<String>>,
    /// Number to compare with, instead of a variant.
    #[serde(default)]
    pub value: Option<Placed<f64>>,
    /// Minimum effect for a workload to count.
    pub margin: Placed<f64>,
    /// Minimum number of workloads for the claim to hold.
    pub at_least: Placed<u32>,
    /// Level of each axis for this comparison.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// Claim on the shape of a metric along an axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Name of the metric that is compared.
    pub metric: Placed<String>,
    /// Name of the variant under test.
    pub of: Placed<String>,
    /// Name of the axis along which values are compared.
    pub axis: Placed<String>,
    /// Minimum effect for the claim to hold.
    pub margin: Placed<f64>,
    /// Workload to compare on; `None` for the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
}

/// One step in a sequence of variants, each of which adds to the previous one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncrementStep {
    /// Name of the metric that is compared.
    pub metric: Placed<String>,
    /// Variant at the end of the step under test.
    pub of: Placed<String>,
    /// Names of the variants in sequence order.
    pub row: Vec<Placed<String>>,
    /// Minimum difference between this step and every other.
    pub margin: Placed<f64>,
    /// Workload to compare on; `None` for the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
    /// Level of each axis for this comparison.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// Correlation of two metrics of one variant over workloads, or over launches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correlation {
    /// Name of the metric whose values are correlated.
    pub metric: Placed<String>,
    /// Name of the metric with which they are correlated.
    pub with: Placed<String>,
    /// Name of the variant under test.
    pub of: Placed<String>,
    /// Coefficient by which the correlation is measured.
    #[serde(default)]
    pub by: Coefficient,
    /// Sign that the coefficient is claimed to have.
    #[serde(default)]
    pub sign: Sign,
    /// Minimum size of the coefficient for the claim to hold.
    pub margin: Placed<f64>,
    /// Workload or group to correlate over; `None` for all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
    /// Level of each axis for this claim.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// Measure of how two metrics rise or fall together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Coefficient {
    /// Correlation of the ranks, for any monotonic relation.
    #[default]
    Spearman,
    /// Correlation of the values, for a linear relation.
    Pearson,
}

/// Sign that a coefficient of correlation is claimed to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Sign {
    /// The metrics rise together and fall together.
    #[default]
    Positive,
    /// One metric falls as the other rises.
    Negative,
}

/// Comparison that a finding claims to hold.
#[derive(Debug, Deserialize)]
pub enum FindingClaim {
    /// One point exceeds another by the margin.
    Above(Comparison),
    /// One point is below another by the margin.
    Below(Comparison),
    /// Two points differ by at most the margin.
    Within(Comparison),
    /// The step to one variant is the largest of a sequence.
    LargestStep(IncrementStep),
    /// One variant is better than all others.
    Best(Ranking),
    /// One point is better than another on at least a number of workloads.
    Count(Counting),
    /// The last step gains less than the first.
    Saturates(Shape),
    /// An inner level of the axis is better than both ends.
    Interior(Shape),
    /// Two metrics rise together, or one falls as the other rises.
    Correlates(Correlation),
}

/// Level of each axis for a claim.
type Levels = Entries<Placed<String>>;

/// Fields that every finding has, and those that most have.
pub(crate) struct ClaimFields<'c> {
    pub(crate) metric: &'c Placed<String>,
    /// Name of the variant under test.
    pub(crate) of: &'c Placed<String>,
    pub(crate) margin: &'c Placed<f64>,
    /// Workload or group; `None` for all.
    pub(crate) on: Option<&'c Placed<String>>,
    /// Levels that differ from the baseline's; `None` for a claim along an axis.
    pub(crate) at: Option<&'c Levels>,
}

impl FindingClaim {
    /// Returns the fields that it has in common with others.
    pub(crate) fn fields(&self) -> ClaimFields<'_> {
        let (metric, of, margin, on, at) = match self {
            Self::Above(c) | Self::Below(c) | Self::Within(c) => {
                (&c.metric, &c.of, &c.margin, c.on.as_ref(), Some(&c.at))
            }
            Self::LargestStep(c) => (&c.metric, &c.of, &c.margin, c.on.as_ref(), Some(&c.at)),
            Self::Best(c) => (&c.metric, &c.of, &c.margin, c.on.as_ref(), Some(&c.at)),
            Self::Correlates(c) => (&c.metric, &c.of, &c.margin, c.on.as_ref(), Some(&c.at)),
            Self::Count(c) => (&c.metric, &c.of, &c.margin, None, Some(&c.at)),
            Self::Saturates(c) | Self::Interior(c) => {
                (&c.metric, &c.of, &c.margin, c.on.as_ref(), None)
            }
        };
        ClaimFields {
            metric,
            of,
            margin,
            on,
            at,
        }
    }

    /// Returns the variant and the number to compare with, if stated.
    pub(crate) fn compared_with(&self) -> (Option<&Placed<String>>, Option<&Placed<f64>>) {
        match self {
            Self::Above(c) | Self::Below(c) | Self::Within(c) => {
                (c.than.as_ref(), c.value.as_ref())
            }
            Self::Count(c) => (c.than.as_ref(), c.value.as_ref()),
            _ => (None, None),
        }
    }
}

/// Relation that must hold in every run.
#[derive(Debug, Deserialize)]
pub enum IdentityClaim {
    /// Both expressions have the same value.
    Equal(Placed<String>, Placed<String>),
    /// The first expression is not larger than the second.
    AtMost(Placed<String>, Placed<String>),
    /// No expression is smaller than the previous one.
    Ascending(Vec<Placed<String>>),
}

impl IdentityClaim {
    /// Returns all expressions of the identity in order.
    pub(crate) fn expressions(&self) -> Vec<&Placed<String>> {
        match self {
            Self::Equal(a, b) | Self::AtMost(a, b) => vec![a, b],
            Self::Ascending(all) => all.iter().collect(),
        }
    }
}

/// Verdict recorded for an earlier run of the experiment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum Recorded {
    /// The finding was reproduced by the experiment.
    Reproduced,
    /// The finding was not reproduced by the experiment.
    NotReproduced { because: String },
    /// The results did not permit a verdict.
    Unresolved { because: String },
    /// The claim also held for the control, so the test is void.
    Void { because: String },
}
