//! Metrics of an experiment file, and ways to combine their values.

use serde::Deserialize;
use warpweave_params::Placed;

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
    /// Variants and controls that have it; `None` for all.
    #[serde(default)]
    pub variants: Option<Vec<Placed<String>>>,
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
    /// True if a variant or control has this metric.
    pub(crate) fn is_of(&self, variant: &str) -> bool {
        let mut named = self.variants.iter().flatten();
        self.variants.is_none() || named.any(|name| name.value == variant)
    }

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
    /// Least of the values, whatever the others are.
    Least,
    /// Largest of the values, whatever the others are.
    Most,
}

/// Way in which workloads become one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Combination {
    /// Arithmetic mean over the values of workloads.
    #[default]
    Arithmetic,
    /// Harmonic mean over the values of workloads.
    Harmonic,
    /// Geometric mean over the values of workloads.
    Geometric,
    /// Value of the workload that has the least.
    Least,
    /// Value of the workload that has the largest.
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
