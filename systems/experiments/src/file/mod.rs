//! Contents of an experiment file. `docs/experiments.md` is the reference.

mod claims;
mod metrics;

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;
use warpweave_params::{Entries, Kind, Node, Placed, Source};

pub(crate) use self::claims::ClaimFields;
pub use self::claims::{
    Claim, Coefficient, Comparison, Correlation, Counting, FindingClaim, Gate, GateBound,
    IdentityClaim, IncrementStep, Ranking, Recorded, Shape, Sign,
};
pub use self::metrics::{Combination, Direction, Mean, MetricFile, MetricKind, Over};

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
    /// Machines that show what the programs could gain.
    #[serde(default)]
    pub headroom: Headroom,
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
            headroom: Headroom::default(),
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

    /// True if a variant or control is compared, and not a machine for headroom.
    pub(crate) fn compares(&self, variant: &str) -> bool {
        self.headroom.machines.get(variant).is_none()
    }

    /// Returns the workloads that a claim or a gate names: those of a group, or one.
    pub(crate) fn named_workloads(&self, name: &str) -> Vec<&str> {
        let of_name = |(workload, group): (&'_ str, &'_ str)| workload == name || group == name;
        let all = self.groups().filter(|pair| of_name(*pair));
        all.map(|(workload, _)| workload).collect()
    }
}

/// Machines that show what the programs could gain, outside all comparisons.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Headroom {
    /// Overrides of the baseline, by the name of the machine.
    pub machines: Entries<Sets>,
    /// Metrics that are shown of each machine and of the baseline.
    pub show: Vec<Placed<String>>,
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
