//! From the stored runs to what judges and other tools read.

use warpweave_files::{Output, OutputError};
use warpweave_systems::report::Record;

use super::Folder;
use super::export::{METRICS_HEAD, RunLines, claims, metric_lines};
use super::sqlite::{self, ClaimRow, MetricValue};
use crate::model::{Outcome, Provenance, Runs, Series};
use crate::plan::Plan;
use crate::run::FailureCounts;

/// What becomes of the stored runs.
pub struct Collection<'a> {
    /// All series; the last is that of the runs.
    pub series: &'a [Series],
    /// Where the results come from.
    pub provenance: &'a Provenance,
    /// Metrics of a run.
    pub metrics: &'a dyn Fn(&Record) -> Vec<MetricValue>,
    /// Takes out of a run what the judge does not ask for: all runs together are large.
    pub trim: &'a dyn Fn(&mut Record),
    /// Judges the claims when all runs are there.
    pub judge: &'a mut dyn FnMut(&Runs) -> Vec<ClaimRow>,
}

impl Folder {
    /// What every run of a plan gave that has ended, without what `trim` takes out; a run whose report cannot be
    /// read has failed.
    pub fn runs(
        &self,
        plan: &Plan,
        not_stored: &FailureCounts,
        trim: &dyn Fn(&mut Record),
    ) -> Runs {
        let mut runs = Runs::new();
        for at in 0..plan.runs.len() {
            if let Some(outcome) = self.ended(plan, at, not_stored) {
                add(&mut runs, plan, at, outcome, trim);
            }
        }
        runs
    }

    fn ended(&self, plan: &Plan, at: usize, not_stored: &FailureCounts) -> Option<Outcome> {
        let stored = self.outcome(&plan.runs[at].identity.run);
        stored.or_else(|| not_stored.get(&at).cloned().map(Outcome::Failed))
    }

    /// Writes the data base, `runs.jsonl`, `metrics.csv` and `claims.csv` anew, each whole, and returns the runs.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn collect(
        &self,
        plan: &Plan,
        not_stored: &FailureCounts,
        collection: &mut Collection<'_>,
    ) -> Result<Runs, OutputError> {
        let number = collection.series.last().map_or(0, |series| series.number);
        let mut lines = RunLines::create(self)?;
        let mut metrics_csv = METRICS_HEAD.to_owned();
        let mut refused = None;
        let mut runs = Runs::new();
        let mut verdicts = Vec::new();
        let path = self.path("experiment.sqlite");
        sqlite::write(&path, |base| {
            base.series(collection.series)?;
            base.provenance(collection.provenance)?;
            for (at, run) in plan.runs.iter().enumerate() {
                let Some(outcome) = self.ended(plan, at, not_stored) else {
                    continue;
                };
                let metrics = match &outcome {
                    Outcome::Done(record) => (collection.metrics)(record),
                    Outcome::Failed(_) => Vec::new(),
                };
                base.run(run, number, &outcome, &metrics)?;
                metric_lines(&mut metrics_csv, &run.ids, &metrics);
                if let Err(error) = lines.add(run, &outcome, &metrics) {
                    refused.get_or_insert(error);
                }
                add(&mut runs, plan, at, outcome, collection.trim);
            }
            verdicts = (collection.judge)(&runs);
            verdicts
                .iter()
                .try_for_each(|claim| base.claim(number, claim))
        })?;
        refused.map_or(Ok(()), Err)?;
        lines.finish()?;
        Output::write(&self.path("metrics.csv"), metrics_csv.as_bytes())?;
        Output::write(&self.path("claims.csv"), claims(&verdicts).as_bytes())?;
        Ok(runs)
    }
}

/// Adds an outcome under all names of its run.
fn add(runs: &mut Runs, plan: &Plan, at: usize, mut outcome: Outcome, trim: &dyn Fn(&mut Record)) {
    if let Outcome::Done(record) = &mut outcome {
        trim(record);
    }
    let ids = plan.runs[at].ids.iter();
    runs.extend(ids.map(|id| (id.clone(), outcome.clone())));
}
