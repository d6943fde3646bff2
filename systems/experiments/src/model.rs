//! What passes between the parts: points and runs, what they gave, and what is made of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use warpweave_systems::report::Record;

/// One machine: a variant, or a control, at one level of every axis.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Name of the variant or of the control.
    pub variant: String,
    /// Whether it is a control.
    pub control: bool,
    /// Axis → level, in the order of the file.
    pub levels: Vec<(String, String)>,
}

/// `variant`, or `variant, axis=level`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variant)?;
        self.levels
            .iter()
            .try_for_each(|(axis, level)| write!(f, ", {axis}={level}"))
    }
}

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// Name of the workload.
    pub workload: String,
    /// The machine.
    pub point: Point,
    /// Number of the repetition.
    pub pair: u32,
    /// Whether it is one of the next size, with which a reduced experiment is confirmed.
    pub confirming: bool,
}

/// `workload/variant/levels/pair`, the levels separated by commas, `-` where there are none; of a confirming
/// run `confirm` in place of the pair.
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

/// Pairs of a workload that repeat each other, because their draws come out equal where it has them: noise between
/// pairs is understated on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EqualPairs {
    /// Name of the workload.
    pub workload: String,
    /// Each group of pairs that are one run.
    pub pairs: Vec<Vec<u32>>,
}

/// Workload and pairs.
impl fmt::Display for EqualPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "on `{}` equal draws make pairs ", self.workload)?;
        for (at, group) in self.pairs.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            let group: Vec<String> = group.iter().map(ToString::to_string).collect();
            write!(f, "{separator}{}", group.join(" = "))?;
        }
        f.write_str(": its intervals are narrower than noise is")
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It has a result.
    Done(Box<Record>),
    /// It has none: what went wrong, in one line.
    Failed(String),
}

/// All runs of an experiment.
pub type Runs = BTreeMap<RunId, Outcome>;

/// One state of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// From 1.
    pub number: u32,
    /// Over all that has to be fixed beforehand.
    pub hash: String,
    /// When its first run began, UTC, as RFC 3339.
    pub opened: String,
    /// Why it was opened.
    pub note: String,
    /// Version of the program that opened it.
    pub program_version: String,
}

/// Where the results come from: name and value, in the order of the report.
pub type Provenance = Vec<(String, String)>;
