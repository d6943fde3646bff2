//! Results of an experiment: all data that a report prints.

use serde::{Deserialize, Serialize};

use super::energy::StudiedEnergy;
use super::gates::JudgedGate;
use super::groups::{StudiedGroup, StudiedLaunches};
use super::headroom::HeadroomRow;
use super::interval::Interval;
use super::shares::StudiedShares;
use crate::model::{ClaimRow, EqualPairs};
use crate::scale::Scale;

/// Results of an experiment: metrics, verdicts on claims and missing runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// One-sentence summary from the experiment's file.
    pub summary: String,
    /// Description of the baseline of all ratios.
    pub baseline: String,
    /// Names of the workloads, in the order of the file.
    pub workloads: Vec<String>,
    /// Variants at their levels, in the order of the file, then controls.
    pub points: Vec<StudiedPoint>,
    /// Number of repetitions of each run.
    pub pairs: u32,
    /// Energy over the ranges of its coefficients, if runs have any.
    pub energy: Option<StudiedEnergy>,
    /// Contribution of each axis, if requested by the experiment.
    pub shares: Vec<StudiedShares>,
    /// Repetitions that are identical on a workload.
    pub equal_pairs: Vec<EqualPairs>,
    /// Facts about the workloads that were run.
    pub work: Vec<BaselineRun>,
    /// Memory footprints of the programs; `None` before they are measured.
    pub scale: Option<Scale>,
    /// Issue-slot breakdown of each variant at its levels; empty if no run reports it.
    pub slots: Vec<Slots>,
    /// Metrics in the order of the file.
    pub metrics: Vec<StudiedMetric>,
    /// Judged claims in the order of the file.
    pub claims: Vec<JudgedClaim>,
    /// Runs without a result, with the reasons.
    pub failed: Vec<(String, String)>,
    /// Number of each earlier series that was judged, with its verdicts.
    pub earlier: Vec<(u32, Vec<ClaimRow>)>,
}

/// A machine (variant or control) of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedPoint {
    /// Display name: `variant`, or `variant, axis=level`.
    pub name: String,
    /// True if the machine is a control.
    pub control: bool,
}

/// Facts about one workload, from the baseline's run in the first pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineRun {
    pub workload: String,
    /// Names of the workload's kernels as one text.
    pub kernels: String,
    /// Number of kernel launches in the run.
    pub launches: usize,
    /// Total number of work-groups over all launches.
    pub work_groups: u64,
    /// Mean number of work-groups per compute unit and launch. `None` if no unit reports issue
    /// slots, by which units are recognised.
    pub work_groups_per_unit: Option<f64>,
    /// Fraction of issue slots whose scheduler had no wavefront, over the whole run. This covers
    /// the ends of launches and the time between them. `None` if no unit reports issue slots.
    pub slots_without_wavefront: Option<f64>,
    /// Number of wavefront instructions in the run.
    pub wavefront_instructions: u64,
    /// Duration of the run in core cycles.
    pub cycles: u64,
    /// Gain of the program on machines for headroom; empty without such.
    pub headroom: Vec<HeadroomRow>,
}

impl BaselineRun {
    /// Minimum number of work-groups per unit for the tail of a launch, when units run out of work,
    /// to be negligible.
    pub const WORK_GROUPS_PER_UNIT_MIN: f64 = 8.0;

    /// True if units get so few work-groups that the launch tail matters.
    pub fn has_a_long_end(&self) -> bool {
        let few = |count| count < Self::WORK_GROUPS_PER_UNIT_MIN;
        self.work_groups_per_unit.is_some_and(few)
    }
}

/// Issue-slot breakdown of one point while kernels ran, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slots {
    pub point: String,
    /// Outcome of the slots and its share.
    pub shares: Vec<(String, f64)>,
    /// Workload and its own breakdown, in the order of the file.
    pub workloads: Vec<(String, Vec<(String, f64)>)>,
}

/// Results of a metric over all points and workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedMetric {
    pub name: String,
    /// Expression from which the metric is computed.
    pub expression: String,
    /// Unit of the metric's value, for display.
    pub unit: String,
    /// True if ratios to the baseline are shown.
    pub is_ratio: bool,
    /// Combination over all workloads, in words.
    pub mean: String,
    /// Half-width of the interval of the baseline's own mean over workloads, in the unit shown.
    pub resolution: Option<f64>,
    /// Resolution of each workload, in the order of the file.
    pub resolutions: Vec<Option<f64>>,
    /// Rows for each point: the shown value of each workload, then the mean over workloads.
    pub rows: Vec<StudiedRow>,
    /// Groups of workloads, for a metric over launches or groups.
    pub groups: Vec<StudiedGroup>,
    /// Launches that are measured and left out; `None` for a metric over whole runs.
    pub launches: Option<StudiedLaunches>,
    /// Runs in which the metric is undefined.
    pub undefined: Vec<String>,
    /// Runs in which the metric could not be computed, with the reasons.
    pub problems: Vec<(String, String)>,
}

impl StudiedMetric {
    /// Returns the names of what is shown side by side: the groups of a metric with several, or the
    /// workloads.
    pub fn parts(&self, study: &Study) -> Vec<String> {
        match &self.groups[..] {
            [] | [_] => study.workloads.clone(),
            groups => groups.iter().map(|group| group.name.clone()).collect(),
        }
    }

    /// Returns the intervals of those parts at one point.
    pub fn values(&self, point: usize) -> Vec<Option<Interval>> {
        match &self.groups[..] {
            [] | [_] => self.rows[point].workloads.clone(),
            groups => groups.iter().map(|group| group.rows[point].mean).collect(),
        }
    }
}

/// Results of a metric at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiedRow {
    /// True if the point is among the metric's variants.
    pub is_measured: bool,
    /// Interval of the value for each workload.
    pub workloads: Vec<Option<Interval>>,
    /// Interval of the mean over workloads.
    pub mean: Option<Interval>,
}

/// Result of testing a claim against the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The finding holds beyond its margin.
    Reproduced,
    /// The finding does not reach its margin.
    NotReproduced,
    /// The results do not permit a verdict.
    Unresolved,
    /// The claim also holds for its control, or a gate is not met, so the test is void.
    Void,
    /// The identity holds in every run.
    Holds,
    /// The identity is violated in some run.
    Fails,
}

impl Verdict {
    /// Returns the name shown in reports.
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

/// Claim with its verdict and the numbers behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// Name of the claim, written as a sentence.
    pub name: String,
    /// True if the claim is an identity.
    pub is_identity: bool,
    /// Claim written as a formula for display.
    pub claim: String,
    /// Result of testing the claim.
    pub verdict: Verdict,
    /// Reason for the verdict, if the numbers alone do not explain it.
    pub because: String,
    /// Measured effect with its confidence interval.
    pub effect: Option<Interval>,
    /// Minimum effect for the claim to hold.
    pub margin: Option<f64>,
    /// Half-width of the interval of the baseline's own metric.
    pub resolution: Option<f64>,
    /// Name of the control, its verdict, and its effect.
    pub control: Option<(String, Verdict, Option<Interval>)>,
    /// True if the control is beyond the margin on the other side of the baseline. It then does
    /// more than switch the mechanism off.
    pub control_is_far: bool,
    /// Conditions without which the finding cannot be tested.
    pub gates: Vec<JudgedGate>,
    /// Recorded earlier verdict and its reason.
    pub expected: Option<(Verdict, String)>,
    /// Effect on each workload alone.
    pub by_workload: Vec<(String, Interval)>,
}

impl JudgedClaim {
    /// True if a gate is not met, so that the finding is not tested.
    pub fn is_below_a_gate(&self) -> bool {
        self.gates.iter().any(|gate| !gate.is_met())
    }

    /// True if the verdict needs no attention: it equals the recorded one, if there is one.
    pub fn is_as_expected(&self) -> bool {
        match (self.verdict, &self.expected) {
            (Verdict::Fails, _) => false,
            (Verdict::Void, None) => self.is_below_a_gate(),
            (_, None) => true,
            (verdict, Some((expected, _))) => verdict == *expected,
        }
    }
}

impl Study {
    /// True if every run has a result, every identity holds, no control passes and no verdict
    /// differs from the record.
    pub fn is_as_expected(&self) -> bool {
        self.failed.is_empty() && self.claims.iter().all(JudgedClaim::is_as_expected)
    }

    /// Returns the number of findings below a gate and of findings that have gates.
    pub fn below_gates(&self) -> (usize, usize) {
        let gated = self.claims.iter().filter(|claim| !claim.gates.is_empty());
        let below = gated.clone().filter(|claim| claim.is_below_a_gate());
        (below.count(), gated.count())
    }

    /// Returns the claims as rows for the database.
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
            below_gate: judged.is_below_a_gate().then(|| judged.because.clone()),
        };
        self.claims.iter().map(row).collect()
    }
}
