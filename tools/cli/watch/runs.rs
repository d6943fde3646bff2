//! Board for the page of an experiment.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use warpweave_experiments::judge::{RequiredStatistics, judge};
use warpweave_experiments::model::{ClaimRow, FailureCounts};
use warpweave_experiments::{Experiment, Plan, Reports};

use crate::host::Stopwatch;

/// Number of failed runs that are kept for the page.
const FAILURES: usize = 5;

/// Judging takes at most one part in this many of the time.
const JUDGED_PART: f64 = 200.0;

/// Progress of the runs of an experiment.
pub(crate) struct RunBoard {
    state: Mutex<RunState>,
    clock: Stopwatch,
}

/// Numbers of runs, and the ones in progress.
#[derive(Clone)]
pub(crate) struct RunState {
    /// Number of runs that had no result at the beginning.
    pub(crate) all: usize,
    /// Number of runs that have ended since, and of those that failed.
    pub(crate) ended: usize,
    pub(crate) failed: usize,
    /// Number of runs that can work concurrently.
    pub(crate) workers: usize,
    /// Names of the runs in progress.
    pub(crate) running: BTreeMap<usize, String>,
    /// First failed runs, with the reasons if known.
    pub(crate) failures: Vec<String>,
    /// Seconds since the first run began.
    pub(crate) seconds: f64,
}

impl RunState {
    /// Estimates the remaining seconds from the runs that have ended.
    pub(crate) fn seconds_left(&self) -> Option<f64> {
        let left = (self.all - self.ended.min(self.all)) as f64;
        (self.ended > 0).then(|| self.seconds * left / self.ended as f64)
    }
}

impl RunBoard {
    pub(crate) fn new(all: usize, workers: usize) -> Self {
        Self {
            state: Mutex::new(RunState {
                all,
                ended: 0,
                failed: 0,
                workers: workers.min(all),
                running: BTreeMap::new(),
                failures: Vec::new(),
                seconds: 0.0,
            }),
            clock: Stopwatch::start(),
        }
    }

    pub(crate) fn begun(&self, run: usize, name: String) {
        self.state.lock().running.insert(run, name);
    }

    /// Records that a run has ended, with the reason if it failed.
    pub(crate) fn ended(&self, run: usize, failure: Option<&str>) {
        let mut state = self.state.lock();
        let name = state.running.remove(&run).unwrap_or_default();
        state.ended += 1;
        if let Some(why) = failure {
            state.failed += 1;
            if state.failures.len() < FAILURES {
                state.failures.push(format!("{name}: {why}"));
            }
        }
    }

    /// Returns the state at this time.
    pub(crate) fn state(&self) -> RunState {
        let mut state = self.state.lock().clone();
        state.seconds = self.clock.wall_s();
        state
    }
}

/// Verdicts on the runs that have ended so far.
pub(crate) struct SoFar<'e> {
    experiment: &'e Experiment,
    plan: &'e Plan,
    reports: &'e Reports,
    needed: RequiredStatistics,
    clock: Stopwatch,
    judged: Mutex<Judged>,
}

#[derive(Clone, Default)]
struct Judged {
    /// Number of ended runs, and the claims.
    verdicts: Option<(usize, Vec<ClaimRow>)>,
    /// Earliest time of the next judgement, in seconds.
    not_before: f64,
}

impl<'e> SoFar<'e> {
    pub(crate) fn of(
        experiment: &'e Experiment,
        plan: &'e Plan,
        reports: &'e Reports,
    ) -> Result<Self, warpweave_params::Diagnostics> {
        Ok(Self {
            experiment,
            plan,
            reports,
            needed: RequiredStatistics::of(&experiment.file)?,
            clock: Stopwatch::start(),
            judged: Mutex::default(),
        })
    }

    /// Returns the summary of the experiment.
    pub(crate) fn summary(&self) -> &str {
        &self.experiment.file.summary
    }

    /// Returns the number of runs that were judged last, and the verdicts. Judges again only if
    /// this takes little of the time that has passed.
    pub(crate) fn verdicts(&self) -> Option<(usize, Vec<ClaimRow>)> {
        let mut judged = self.judged.lock();
        let now = self.clock.wall_s();
        if now >= judged.not_before {
            let trim = |record: &mut _| self.needed.trim(record);
            let runs = self.reports.runs(self.plan, &FailureCounts::new(), &trim);
            let study = judge(self.experiment, &self.plan.equal_pairs, &runs);
            judged.verdicts = study.ok().map(|study| (runs.len(), study.claim_rows()));
            let cost = self.clock.wall_s() - now;
            judged.not_before = now + cost * JUDGED_PART;
        }
        judged.verdicts.clone()
    }
}
