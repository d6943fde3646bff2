//! What an experiment came to: everything that a report prints.

use serde::Serialize;

use super::energy::StudiedEnergy;
use super::interval::Interval;
use super::shares::StudiedShares;
use crate::model::EqualPairs;
use crate::scale::Scale;
use crate::store::ClaimRow;

/// Metrics, claims and what is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The sentence of the experiment.
    pub summary: String,
    /// What ratios are ratios to, in words.
    pub baseline: String,
    /// Names of the workloads, in the order of the file.
    pub workloads: Vec<String>,
    /// Variants at their levels, in the order of the file; controls come last.
    pub points: Vec<StudiedPoint>,
    /// Repetitions.
    pub pairs: u32,
    /// Energy over the ranges of its coefficients, where runs have any.
    pub energy: Option<StudiedEnergy>,
    /// What each axis contributes, where the experiment asks.
    pub shares: Vec<StudiedShares>,
    /// Repetitions that repeat each other.
    pub equal_pairs: Vec<EqualPairs>,
    /// What was run.
    pub work: Vec<BaselineRun>,
    /// What the programs touch; `None` before they were measured.
    pub scale: Option<Scale>,
    /// Where the issue slots went, of each variant at its levels; empty where no run says so.
    pub slots: Vec<Slots>,
    /// In the order of the file.
    pub metrics: Vec<StudiedMetric>,
    /// In the order of the file.
    pub claims: Vec<JudgedClaim>,
    /// Runs without a result, and why.
    pub failed: Vec<(String, String)>,
}

/// A machine of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedPoint {
    /// `variant`, or `variant, axis=level`.
    pub name: String,
    /// Whether it is a control.
    pub control: bool,
}

/// One workload as the baseline ran it in the first pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineRun {
    /// Its name.
    pub workload: String,
    /// Names of its kernels.
    pub kernels: String,
    /// Launches.
    pub launches: usize,
    /// Work-groups of all launches.
    pub work_groups: u64,
    /// Work-groups that a compute unit gets of a launch on average; `None` where no unit says where its issue
    /// slots went, by which units are known.
    pub work_groups_per_unit: Option<f64>,
    /// Part of the issue slots whose scheduler had no wavefront, over the whole run: the end of launches, and what lies
    /// between and around them. `None` where no unit says where its issue slots went.
    pub slots_without_wavefront: Option<f64>,
    /// Instructions of wavefronts.
    pub wavefront_instructions: u64,
    /// Core cycles of the run.
    pub cycles: u64,
}

impl BaselineRun {
    /// Work-groups for each unit below which the end of a launch, when units run out of work, weighs in its cycles.
    pub const WORK_GROUPS_PER_UNIT_MIN: f64 = 8.0;

    /// Whether units get so few work-groups that the end of launches weighs.
    pub fn has_a_long_end(&self) -> bool {
        let few = |count| count < Self::WORK_GROUPS_PER_UNIT_MIN;
        self.work_groups_per_unit.is_some_and(few)
    }
}

/// Shares of the issue slots of one point, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slots {
    /// Name of the point.
    pub point: String,
    /// What became of them, and the share.
    pub shares: Vec<(String, f64)>,
}

/// A metric over all points and workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedMetric {
    /// Its name.
    pub name: String,
    /// The expression.
    pub expression: String,
    /// Unit of the value.
    pub unit: String,
    /// Whether ratios to the baseline are shown.
    pub is_ratio: bool,
    /// Half-width of the interval of the baseline's own mean over workloads, in the unit of what is shown.
    pub resolution: Option<f64>,
    /// The same of each workload.
    pub resolutions: Vec<Option<f64>>,
    /// For each point, for each workload what is shown; then the mean over workloads.
    pub rows: Vec<StudiedRow>,
    /// Runs in which it is undefined.
    pub undefined: Vec<String>,
    /// Runs in which it could not be computed, and why.
    pub problems: Vec<(String, String)>,
}

/// One point of a metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedRow {
    /// Of each workload.
    pub workloads: Vec<Option<Interval>>,
    /// Of the mean over workloads.
    pub mean: Option<Interval>,
}

/// What a claim came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// It holds beyond its margin.
    Reproduced,
    /// It falls short of its margin.
    NotReproduced,
    /// It cannot be told.
    Unresolved,
    /// Its control passes too.
    Void,
    /// An identity that holds.
    Holds,
    /// An identity that does not.
    Fails,
}

impl Verdict {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
            Self::Unresolved => "unresolved",
            Self::Void => "void",
            Self::Holds => "holds",
            Self::Fails => "fails",
        }
    }
}

/// A claim and what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// The claim, a sentence.
    pub name: String,
    /// Whether it is an identity.
    pub is_identity: bool,
    /// What was claimed, in symbols.
    pub claim: String,
    /// What came out.
    pub verdict: Verdict,
    /// Why, where the numbers alone do not say.
    pub because: String,
    /// The effect and its interval.
    pub effect: Option<Interval>,
    /// By how much at least.
    pub margin: Option<f64>,
    /// Half-width of the interval of the baseline's own metric.
    pub resolution: Option<f64>,
    /// Name of the control, what came out for it, and its effect.
    pub control: Option<(String, Verdict, Option<Interval>)>,
    /// The verdict on record and its reason.
    pub expected: Option<(Verdict, String)>,
    /// For each workload the effect on it alone.
    pub by_workload: Vec<(String, Interval)>,
}

impl JudgedClaim {
    /// Whether what came out is no reason to look: it is as recorded, where something is on record.
    pub fn is_as_expected(&self) -> bool {
        match (self.verdict, &self.expected) {
            (Verdict::Fails, _) | (Verdict::Void, None) => false,
            (_, None) => true,
            (verdict, Some((expected, _))) => verdict == *expected,
        }
    }
}

impl Study {
    /// Whether every run has a result, every identity holds, no control passes and no verdict differs from
    /// the record.
    pub fn is_as_expected(&self) -> bool {
        self.failed.is_empty() && self.claims.iter().all(JudgedClaim::is_as_expected)
    }

    /// The claims for the data base.
    pub fn claim_rows(&self) -> Vec<ClaimRow> {
        let row = |judged: &JudgedClaim| ClaimRow {
            name: judged.name.clone(),
            kind: if judged.is_identity {
                "identity"
            } else {
                "finding"
            }
            .to_owned(),
            verdict: judged.verdict.name().to_owned(),
            median: judged.effect.map(|effect| effect.median),
            low: judged.effect.map(|effect| effect.low),
            high: judged.effect.map(|effect| effect.high),
            margin: judged.margin,
            resolution: judged.resolution,
            control_verdict: judged
                .control
                .as_ref()
                .map(|(_, verdict, _)| verdict.name().to_owned()),
            expected: judged
                .expected
                .as_ref()
                .map(|(verdict, _)| verdict.name().to_owned()),
        };
        self.claims.iter().map(row).collect()
    }
}
