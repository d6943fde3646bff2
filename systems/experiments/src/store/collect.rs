//! From the stored runs to what judges and other tools read.

use warpweave_files::{Output, OutputError};
use warpweave_systems::report::Record;

use super::Folder;
use super::export::{METRICS_HEAD, RunLines, claims, metric_lines};
use super::sqlite::{self, ClaimRow, MetricValue};
use crate::model::{Outcome, Provenance, Runs, Series};
use crate::plan::Plan;
use crate::run::NotStored;

/// What is written beside the runs themselves.
pub struct Collection<'a> {
    /// All series; the last is that of the runs.
    pub series: &'a [Series],
    /// Where the results come from.
    pub provenance: &'a Provenance,
    /// Metrics of a run.
    pub metrics: &'a dyn Fn(&Record) -> Vec<MetricValue>,
}

impl Folder {
    /// What every run of a plan gave that has ended; a run whose report cannot be read has failed.
    pub fn runs(&self, plan: &Plan, not_stored: &NotStored) -> Runs {
        let mut runs = Runs::new();
        for (at, run) in plan.runs.iter().enumerate() {
            if let Some(outcome) = self.ended(plan, at, not_stored) {
                runs.extend(run.ids.iter().map(|id| (id.clone(), outcome.clone())));
            }
        }
        runs
    }

    fn ended(&self, plan: &Plan, at: usize, not_stored: &NotStored) -> Option<Outcome> {
        let stored = self.outcome(&plan.runs[at].identity.run);
        stored.or_else(|| not_stored.get(&at).cloned().map(Outcome::Failed))
    }

    /// Writes the data base, `runs.jsonl`, `metrics.csv` and `claims.csv` anew, each whole.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn collect(
        &self,
        plan: &Plan,
        not_stored: &NotStored,
        collection: &Collection<'_>,
        verdicts: &[ClaimRow],
    ) -> Result<(), OutputError> {
        let number = collection.series.last().map_or(0, |series| series.number);
        let mut lines = RunLines::create(self)?;
        let mut metrics_csv = METRICS_HEAD.to_owned();
        let mut refused = None;
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
            }
            verdicts
                .iter()
                .try_for_each(|claim| base.claim(number, claim))
        })?;
        refused.map_or(Ok(()), Err)?;
        lines.finish()?;
        Output::write(&self.path("metrics.csv"), metrics_csv.as_bytes())?;
        Output::write(&self.path("claims.csv"), claims(verdicts).as_bytes())
    }
}
