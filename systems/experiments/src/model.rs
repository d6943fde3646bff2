//! Shared data types of experiments: points, runs, their outcomes and series.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_systems::report::Record;

/// One machine: a variant, or a control, at one level of every axis.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Name of the variant or control.
    pub variant: String,
    /// True if the point is a control.
    pub control: bool,
    /// Axis → level, in the order of the file.
    pub levels: Vec<(String, String)>,
}

/// Formats as `variant`, or as `variant, axis=level`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variant)?;
        self.levels
            .iter()
            .try_for_each(|(axis, level)| write!(f, ", {axis}={level}"))
    }
}

/// Identity of a run within the experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    pub workload: String,
    /// Point (machine) that the run simulates.
    pub point: Point,
    pub pair: u32,
    /// True for a run of the next larger size, which confirms a reduced experiment.
    pub confirming: bool,
}

/// Formats as `workload/variant/levels/pair`, the levels separated by commas, `-` if there are
/// none. A confirming run has `confirm` in place of the pair.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/", self.workload, self.point.variant)?;
        let levels: Vec<&str> = self
            .point
            .levels
            .iter()
            .map(|(_, level)| level.as_str())
            .collect();
        match levels.as_slice() {
            [] => f.write_str("-")?,
            levels => f.write_str(&levels.join(","))?,
        }
        if self.confirming {
            f.write_str("/confirm")
        } else {
            write!(f, "/{}", self.pair)
        }
    }
}

/// Pairs of a workload that are identical, because the drawn values that affect it are equal. Noise
/// between pairs is underestimated on this workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EqualPairs {
    pub workload: String,
    /// Groups of pairs that are the same run.
    pub pairs: Vec<Vec<u32>>,
}

/// Formats as the workload and its groups of pairs.
impl fmt::Display for EqualPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "on `{}`, equal draws make these pairs identical: ",
            self.workload
        )?;
        for (at, group) in self.pairs.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            let group: Vec<String> = group.iter().map(ToString::to_string).collect();
            write!(f, "{separator}{}", group.join(" = "))?;
        }
        f.write_str("; its confidence intervals understate the noise")
    }
}

/// Outcome of a run: a record or a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The run completed and has a result.
    Done(Box<Record>),
    /// The run failed, with a one-line error message.
    Failed(String),
}

/// Outcomes of all runs of an experiment.
pub type Runs = BTreeMap<RunId, Outcome>;

/// Runs without a stored result, by index, with the reason.
pub type FailureCounts = BTreeMap<usize, String>;

/// Value of a metric; `None` if undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    pub metric: String,
    /// Value of the metric; `None` if undefined.
    pub value: Option<f64>,
    pub unit: String,
}

/// Claim as stored for a series. Numbers that it does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// Name of the claim, written as a sentence.
    pub name: String,
    /// Kind of claim: `finding` or `identity`.
    pub kind: String,
    /// Verdict in the words of the report.
    pub verdict: String,
    /// Median of the paired differences, in the unit shown.
    pub median: Option<f64>,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Minimum effect for the claim to hold.
    pub margin: Option<f64>,
    /// Half-width of the interval of the baseline under perturbations alone.
    pub resolution: Option<f64>,
    /// Verdict on the claim for the control.
    pub control_verdict: Option<String>,
    /// Verdict recorded for earlier runs, if any.
    pub expected: Option<String>,
    /// Reason, for a finding below a gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_gate: Option<String>,
}

/// Series of runs under one fixed state of the experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Number of the series, counted from 1.
    pub number: u32,
    /// Hash over everything that must be fixed beforehand.
    pub hash: String,
    /// Start of its first run, UTC, as RFC 3339.
    pub opened: String,
    /// Reason why the series was opened.
    pub note: String,
    /// Version of the program that opened it.
    pub program_version: String,
}

/// Origin of the results: name and value, in the order of the report.
pub type Provenance = Vec<(String, String)>;
