//! Contents of an experiment file. `docs/experiments.md` is the reference.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;
use warpweave_params::{Entries, Kind, Node, Placed, Source};

/// Overrides of description parameters: path → value.
pub type Sets = Entries<Node>;

/// An experiment as written in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    // Carried out before the file is read; here for the list of fields.
    #[serde(default, rename = "extends")]
    _extends: IgnoredAny,
    /// One-sentence summary shown at the top of reports.
    pub summary: String,
    /// Base scenario of all runs, before overrides.
    pub base: Placed<PathBuf>,
    /// Size of the workloads that do not specify one.
    #[serde(default)]
    pub size: Option<Placed<String>>,
    /// Overrides that apply to all runs.
    #[serde(default)]
    pub sets: Sets,
    /// Workloads to run, by name.
    pub workloads: Entries<StatedWorkload>,
    /// Variants to compare, in the order of the report.
    pub variants: Entries<Sets>,
    /// Control variants for claims only, in which the mechanism is inactive.
    #[serde(default)]
    pub controls: Entries<Sets>,
    /// Parameters varied in addition to the variants, by axis name.
    #[serde(default)]
    pub axes: Entries<Axis>,
    /// Combination of the levels of several axes.
    #[serde(default)]
    pub combine: Combine,
    /// Baseline of all ratios: the name of a variant, or names of a variant and of levels.
    pub baseline: Node,
    /// Neutral perturbations that give the noise between repetitions, if any.
    #[serde(default)]
    pub perturb: Option<Perturbations>,
    /// Metrics that are measured, by name.
    pub metrics: Entries<MetricFile>,
    /// Metrics whose change is attributed to the axes.
    #[serde(default)]
    pub shares: Vec<Placed<String>>,
    /// Claims to test, stated before the runs.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Earlier verdict of each finding, by name.
    #[serde(default)]
    pub record: Entries<Recorded>,
    /// File of published values for comparison.
    #[serde(default)]
    pub published: Option<Placed<PathBuf>>,
    /// Next larger size, for an experiment at reduced size.
    #[serde(default)]
    pub confirm: Option<Confirmation>,
    /// Energy analysis in addition to the ratios.
    #[serde(default)]
    pub energy: Option<EnergyFile>,
}

impl ExperimentFile {
    /// Creates an experiment without workloads, variants or claims.
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

    /// Returns the group of each workload, in the order of the file. A workload without one is
    /// named itself.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&str, &str)> {
        self.workloads.iter().map(|(name, workload)| {
            let group = workload.group.as_ref().unwrap_or(name);
            (name.value.as_str(), group.value.as_str())
        })
    }

    /// Returns the workloads that a claim or a gate names: those of a group, or one.
    pub(crate) fn named_workloads(&self, name: &str) -> Vec<&str> {
        let of_name = |(workload, group): (&'_ str, &'_ str)| workload == name || group == name;
        let all = self.groups().filter(|pair| of_name(*pair));
        all.map(|(workload, _)| workload).collect()
    }
}

/// One workload program of the experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "a workload")]
pub struct StatedWorkload {
    /// Path of the workload's description file.
    pub file: Placed<PathBuf>,
    /// Name of one of its sizes; `None` for its default parameters.
    #[serde(default)]
    pub size: Option<Placed<String>>,
    /// Workload-specific size for each size of the experiment.
    #[serde(default)]
    pub sizes: Entries<Placed<String>>,
    /// Overrides that apply to this workload's runs.
    #[serde(default)]
    pub sets: Sets,
    /// Group that the workload belongs to; `None` for a group of its own.
    #[serde(default)]
    pub group: Option<Placed<String>>,
}

/// Parameter axis that is varied in addition to the variants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Axis {
    /// Values of one path; each level is named by its value.
    Values {
        /// Path of the parameter that is set.
        path: Placed<String>,
        /// Values of the parameter, one for each level.
        values: Vec<Node>,
    },
    /// Named levels, each with several overrides.
    Sets(Entries<Sets>),
}

/// Combination of the levels of several axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Combine {
    /// Every level of an axis with every level of the others.
    #[default]
    Product,
    /// The first levels of all axes, then the second of all, and so on.
    Zip,
}

/// Neutral perturbations, which vary runs without changing their meaning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perturbations {
    /// Number of repetitions, each with its own draws.
    pub pairs: Placed<u32>,
    /// Seed from which all values are drawn.
    #[serde(default = "one")]
    pub seed: u64,
    /// Values to draw from, by parameter path.
    pub draws: Entries<Vec<Node>>,
}

fn one() -> u64 {
    1
}

/// Definition of one metric of the experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "a metric")]
pub struct MetricFile {
    /// Expression over the results of a run.
    pub value: Placed<String>,
    /// Form in which the metric is shown.
    pub kind: MetricKind,
    /// Better direction of the metric, if any.
    #[serde(default)]
    pub better: Option<Direction>,
    /// Launches that are measured one by one; `None` for the run as a whole.
    #[serde(default)]
    pub over: Option<Over>,
    /// Type of mean taken over workloads, or over the launches of all of them.
    #[serde(default)]
    pub mean: Combination,
    /// Type of mean taken over groups; `None` if all workloads are one.
    #[serde(default)]
    pub groups: Option<Mean>,
    /// Unit of the value, shown in reports.
    #[serde(default)]
    pub unit: String,
}

/// Form in which a metric is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum MetricKind {
    /// Ratio of the value to that of the baseline.
    Ratio,
    /// Value as it is, in its own unit.
    Value,
}

/// Direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Direction {
    /// Larger values are better, as for speed.
    Larger,
    /// Smaller values are better, as for time.
    Smaller,
}

impl MetricFile {
    /// Returns what a count of this metric counts.
    pub(crate) fn counted(&self) -> &'static str {
        match self.groups {
            Some(_) => "groups",
            None => "workloads",
        }
    }
}

/// Parts of a run that a metric measures one by one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Over {
    /// Launches of some kernels that execute enough instructions.
    Launches {
        /// Name of the kernels, in which `*` matches anything.
        #[serde(default = "any")]
        kernel: String,
        /// Minimum number of wavefront instructions in the trace of the launch.
        #[serde(default)]
        at_least: u64,
    },
}

fn any() -> String {
    "*".to_owned()
}

/// Way in which several values become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Mean {
    /// Arithmetic mean: the sum divided by the count.
    #[default]
    Arithmetic,
    /// Harmonic mean: the count divided by the sum of inverses.
    Harmonic,
    /// Geometric mean: the n-th root of the product.
    Geometric,
    /// Least of the values.
    Least,
    /// Largest of the values.
    Most,
}

/// Way in which workloads become one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Combination {
    /// Arithmetic mean over workloads.
    #[default]
    Arithmetic,
    /// Harmonic mean over workloads.
    Harmonic,
    /// Geometric mean over workloads.
    Geometric,
    /// Workload with the least value.
    Least,
    /// Workload with the largest value.
    Most,
    /// Launches of all workloads together, each with the same weight.
    Pooled(Mean),
}

impl Combination {
    /// Returns the type of mean, over workloads or over launches.
    pub(crate) fn mean(self) -> Mean {
        match self {
            Self::Arithmetic => Mean::Arithmetic,
            Self::Harmonic => Mean::Harmonic,
            Self::Geometric => Mean::Geometric,
            Self::Least => Mean::Least,
            Self::Most => Mean::Most,
            Self::Pooled(mean) => mean,
        }
    }

    /// True if launches, and not workloads, have equal weights.
    pub(crate) fn is_pooled(self) -> bool {
        matches!(self, Self::Pooled(_))
    }
}

/// A claim stated before the runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Claim {
    /// Empirical claim, which the results may refute.
    Finding {
        /// Name of the finding, written as a sentence.
        name: Placed<String>,
        /// Comparison that the finding claims to hold.
        claim: FindingClaim,
        /// Name of the control variant, for which the claim must fail.
        control: Placed<String>,
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

/// Energy analysis requested in an experiment file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyFile {
    /// Component's share of energy, known from another source.
    pub fit: ShareFit,
}

/// Component's share of the baseline's energy, to which its coefficients are scaled.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareFit {
    /// Component name as used by its coefficients.
    pub component: Placed<String>,
    /// Share of the component, between 0 and 1, mean over workloads.
    pub share: Placed<f64>,
    /// Source or justification of the stated share.
    pub because: String,
}

/// Next larger size of an experiment at reduced size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// Name of the larger workload size.
    pub size: Placed<String>,
    /// Overrides that apply to the confirmation runs.
    #[serde(default)]
    pub sets: Sets,
}
