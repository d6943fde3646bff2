//! Contents of a robustness file. `docs/robust.md` is the reference.

use std::path::PathBuf;

use serde::Deserialize;
use warpweave_params::{Entries, Node, Placed};

/// A robustness study as written in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RobustnessFile {
    /// One-sentence summary shown at the top of reports.
    pub(super) summary: String,
    /// Path of the experiment whose findings are tested.
    pub(super) experiment: Placed<PathBuf>,
    /// Number of machines to draw, without the stated one.
    pub(super) machines: Placed<u32>,
    /// Seed from which all machines are drawn.
    #[serde(default = "one")]
    pub(super) seed: u64,
    /// Number of pairs that each machine runs; `None` for all of the experiment.
    #[serde(default)]
    pub(super) pairs: Option<Placed<u32>>,
    /// Possible values of each parameter, by path.
    pub(super) ranges: Entries<Range>,
    /// Settings of the reruns that confirm counterexamples.
    #[serde(default)]
    pub(super) rerun: RerunFile,
}

fn one() -> u64 {
    1
}

/// Possible values of a parameter, and its value in the experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Range {
    /// Numbers between two ends, which are included.
    Between {
        low: Node,
        high: Node,
        stated: Node,
        #[serde(default)]
        scale: Scale,
    },
    /// Listed values, in a meaningful order.
    Values { values: Vec<Node>, stated: Node },
}

/// Scale on which numbers are drawn and distances are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum Scale {
    #[default]
    Linear,
    /// Evenly in the logarithm of the number.
    Log,
}

/// Reruns of counterexamples, as requested in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "a rerun")]
pub(super) struct RerunFile {
    pub(super) seed: Option<Placed<u64>>,
    pub(super) pairs: Option<Placed<u32>>,
    /// Number of counterexamples to try for each finding.
    pub(super) attempts: Option<Placed<u32>>,
}
