//! What an experiment file says. `docs/experiments.md` is the reference.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;
use warpweave_params::{Entries, Kind, Node, Placed, Source};

/// Overrides: path → value.
pub type Sets = Entries<Node>;

/// An experiment as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    // Carried out before the file is read; here for the list of fields.
    #[serde(default, rename = "extends")]
    _extends: IgnoredAny,
    /// One sentence.
    pub summary: String,
    /// Scenario that every run begins with.
    pub base: Placed<PathBuf>,
    /// Size of the workloads that state none.
    #[serde(default)]
    pub size: Option<Placed<String>>,
    /// Overrides of all runs.
    #[serde(default)]
    pub sets: Sets,
    /// What is run.
    pub workloads: Entries<StatedWorkload>,
    /// What is compared, in the order of the report.
    pub variants: Entries<Sets>,
    /// Variants for claims only, in which the mechanism does nothing.
    #[serde(default)]
    pub controls: Entries<Sets>,
    /// What else is varied.
    #[serde(default)]
    pub axes: Entries<Axis>,
    /// How the levels of several axes meet.
    #[serde(default)]
    pub combine: Combine,
    /// What ratios are ratios to: the name of a variant, or names of a variant and of levels.
    pub baseline: Node,
    /// What varies without meaning.
    #[serde(default)]
    pub perturb: Option<Perturbations>,
    /// What is measured.
    pub metrics: Entries<MetricFile>,
    /// Metrics whose change is dealt out among the axes.
    #[serde(default)]
    pub shares: Vec<Placed<String>>,
    /// What is claimed.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Name of a finding → what came out earlier.
    #[serde(default)]
    pub record: Entries<Recorded>,
    /// File of published values.
    #[serde(default)]
    pub published: Option<Placed<PathBuf>>,
    /// The next size, for an experiment at reduced size.
    #[serde(default)]
    pub confirm: Option<Confirmation>,
    /// What is said of energy beyond its ratios.
    #[serde(default)]
    pub energy: Option<EnergyFile>,
}

impl ExperimentFile {
    /// An experiment that runs nothing yet: no workloads, no variants, no claims.
    pub(crate) fn of(base: Placed<PathBuf>, axes: Entries<Axis>) -> Self {
        Self {
            _extends: IgnoredAny,
            summary: String::new(),
            base,
            size: None,
            sets: Sets::default(),
            workloads: Entries::default(),
            variants: Entries::default(),
            controls: Entries::default(),
            axes,
            combine: Combine::default(),
            baseline: Node::new(Kind::Unit, Source::new("", "").span(0, 0)),
            perturb: None,
            metrics: Entries::default(),
            shares: Vec::new(),
            claims: Vec::new(),
            record: Entries::default(),
            published: None,
            confirm: None,
            energy: None,
        }
    }
}

/// One program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "a workload")]
pub struct StatedWorkload {
    /// Workload file.
    pub file: Placed<PathBuf>,
    /// One of its sizes; `None`: its own parameters.
    #[serde(default)]
    pub size: Option<Placed<String>>,
    /// Its own size in place of a size of the experiment.
    #[serde(default)]
    pub sizes: Entries<Placed<String>>,
    /// Overrides of its runs.
    #[serde(default)]
    pub sets: Sets,
}

/// What is varied beside the variants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Axis {
    /// One path; each level is named by its value.
    Values {
        /// What is set.
        path: Placed<String>,
        /// To what.
        values: Vec<Node>,
    },
    /// Levels with several overrides.
    Sets(Entries<Sets>),
}

/// How the levels of several axes meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Combine {
    /// Every one with every other.
    #[default]
    Product,
    /// The first of all, the second of all, ….
    Zip,
}

/// What varies without meaning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perturbations {
    /// Repetitions, each with draws of its own.
    pub pairs: Placed<u32>,
    /// Seed of the draws.
    #[serde(default = "one")]
    pub seed: u64,
    /// Path → values.
    pub draws: Entries<Vec<Node>>,
}

fn one() -> u64 {
    1
}

/// One metric.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "a metric")]
pub struct MetricFile {
    /// Expression over the results of a run.
    pub value: Placed<String>,
    /// What is shown of it.
    pub kind: MetricKind,
    /// Which direction is the better one, if any.
    #[serde(default)]
    pub better: Option<Direction>,
    /// Mean over workloads.
    #[serde(default)]
    pub mean: Mean,
    /// Unit of the value.
    #[serde(default)]
    pub unit: String,
}

/// What is shown of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum MetricKind {
    /// Its ratio to the baseline's.
    Ratio,
    /// Itself.
    Value,
}

/// The better direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Direction {
    /// More is better.
    Larger,
    /// Less is better.
    Smaller,
}

/// A mean over workloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Mean {
    /// Sum over count.
    #[default]
    Arithmetic,
    /// Count over the sum of inverses.
    Harmonic,
    /// Root of the product.
    Geometric,
}

/// Something claimed before the runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Claim {
    /// May turn out otherwise.
    Finding {
        /// A sentence.
        name: Placed<String>,
        /// What is claimed.
        claim: FindingClaim,
        /// Control that must fail.
        control: Placed<String>,
    },
    /// Follows from the mechanism.
    Identity {
        /// A sentence.
        name: Placed<String>,
        /// What holds in every run.
        claim: IdentityClaim,
        /// Variants in which it holds; `None`: in all.
        #[serde(default)]
        on: Option<Vec<Placed<String>>>,
    },
}

/// One point against another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Name of the metric.
    pub metric: Placed<String>,
    /// Variant spoken of.
    pub of: Placed<String>,
    /// Variant it is compared with; `None`: the baseline.
    #[serde(default)]
    pub than: Option<Placed<String>>,
    /// Number that it is compared with in place of a variant.
    #[serde(default)]
    pub value: Option<Placed<f64>>,
    /// By how much at least.
    pub margin: Placed<f64>,
    /// One workload; `None`: the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
    /// Levels of axes.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// One variant against all others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// Name of the metric.
    pub metric: Placed<String>,
    /// Variant spoken of.
    pub of: Placed<String>,
    /// By how much at least.
    pub margin: Placed<f64>,
    /// One workload; `None`: the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
    /// Levels of axes.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// On how many workloads one point is ahead of another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counting {
    /// Name of the metric.
    pub metric: Placed<String>,
    /// Variant spoken of.
    pub of: Placed<String>,
    /// Variant it is compared with; `None`: the baseline.
    #[serde(default)]
    pub than: Option<Placed<String>>,
    /// Number that it is compared with in place of a variant.
    #[serde(default)]
    pub value: Option<Placed<f64>>,
    /// By how much at least.
    pub margin: Placed<f64>,
    /// Workloads.
    pub at_least: Placed<u32>,
    /// Levels of axes.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// A shape along an axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Name of the metric.
    pub metric: Placed<String>,
    /// Variant spoken of.
    pub of: Placed<String>,
    /// Name of the axis.
    pub axis: Placed<String>,
    /// By how much at least.
    pub margin: Placed<f64>,
    /// One workload; `None`: the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
}

/// One step along a row of variants, each of which adds to the one before.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncrementStep {
    /// Name of the metric.
    pub metric: Placed<String>,
    /// Variant spoken of: the step that leads to it.
    pub of: Placed<String>,
    /// Variants in order.
    pub row: Vec<Placed<String>>,
    /// By how much at least the step is larger than every other.
    pub margin: Placed<f64>,
    /// One workload; `None`: the mean over all.
    #[serde(default)]
    pub on: Option<Placed<String>>,
    /// Levels of axes.
    #[serde(default)]
    pub at: Entries<Placed<String>>,
}

/// What a finding claims.
#[derive(Debug, Deserialize)]
pub enum FindingClaim {
    /// One exceeds another.
    Above(Comparison),
    /// One falls below another.
    Below(Comparison),
    /// One differs from another by no more.
    Within(Comparison),
    /// The step to one is the largest of a row.
    LargestStep(IncrementStep),
    /// One is better than all others.
    Best(Ranking),
    /// One is better than another on so many workloads.
    Count(Counting),
    /// The last step gains less than the first.
    Saturates(Shape),
    /// A level between the ends is the best.
    Interior(Shape),
}

/// What an identity claims of every run.
#[derive(Debug, Deserialize)]
pub enum IdentityClaim {
    /// Both are equal.
    Equal(Placed<String>, Placed<String>),
    /// The first is not larger.
    AtMost(Placed<String>, Placed<String>),
    /// None is smaller than the one before.
    Ascending(Vec<Placed<String>>),
}

impl IdentityClaim {
    /// Its expressions, in order.
    pub(crate) fn expressions(&self) -> Vec<&Placed<String>> {
        match self {
            Self::Equal(a, b) | Self::AtMost(a, b) => vec![a, b],
            Self::Ascending(all) => all.iter().collect(),
        }
    }
}

/// A verdict of an earlier time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum Recorded {
    /// It held.
    Reproduced,
    /// It did not.
    NotReproduced {
        /// Why.
        because: String,
    },
    /// It could not be told.
    Unresolved {
        /// Why.
        because: String,
    },
    /// The control passed too.
    Void {
        /// Why.
        because: String,
    },
}

/// What is said of energy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyFile {
    /// The share of a component, as known from elsewhere.
    pub fit: ShareFit,
}

/// A component's share of the baseline's energy, which its coefficients are scaled to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareFit {
    /// The component, as its coefficients name it.
    pub component: Placed<String>,
    /// Its share, between 0 and 1, mean over workloads.
    pub share: Placed<f64>,
    /// Where the share comes from.
    pub because: String,
}

/// The next size of an experiment at reduced size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// Size of the workloads.
    pub size: Placed<String>,
    /// Overrides of its runs.
    #[serde(default)]
    pub sets: Sets,
}
