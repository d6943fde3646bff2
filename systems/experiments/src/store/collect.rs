//! Collection of the stored runs into the forms that the judge and other tools read.

use warpweave_files::{Output, OutputError};
use warpweave_systems::report::{CsvTable, Record};

use super::export::{METRICS, RunLines, claims, metric_rows};
use super::sqlite;
use super::{Folder, Reports};
use crate::model::{ClaimRow, FailureCounts, MetricValue, Outcome, Provenance, Runs, Series};
use crate::plan::Plan;

/// Settings for collecting the stored runs.
pub struct Collection<'a> {
    /// All series. The runs belong to the last one.
    pub series: &'a [Series],
    /// Origin of the results, for the database.
    pub provenance: &'a Provenance,
    /// Function that computes the metrics of a run.
    pub metrics: &'a dyn Fn(&Record) -> Vec<MetricValue>,
    /// Function that removes data the judge does not need, because all runs together are large.
    pub trim: &'a dyn Fn(&mut Record),
    /// Function that judges the claims after all runs are collected.
    pub judge: &'a mut dyn FnMut(&Runs) -> Vec<ClaimRow>,
}

impl Reports {
    /// Returns the outcomes of all completed runs of a plan, reduced by `trim`. A run with an
    /// unreadable report counts as failed.
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
}

impl Folder {
    /// Rewrites the database, `runs.jsonl`, `metrics.csv` and `claims.csv`, each as a complete
    /// file, and returns the runs. Verdicts of earlier series are kept.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails.
    pub fn collect(
        &self,
        plan: &Plan,
        not_stored: &FailureCounts,
        collection: &mut Collection<'_>,
    ) -> Result<Runs, OutputError> {
        let number = collection.series.last().map_or(0, |series| series.number);
        let mut lines = RunLines::create(self)?;
        let mut metrics_csv = CsvTable::new(&METRICS);
        let mut refused = None;
        let mut runs = Runs::new();
        let mut verdicts = Vec::new();
        let earlier = self.verdicts()?;
        let path = self.path("experiment.sqlite");
        sqlite::write(&path, |base| {
            base.series(collection.series)?;
            base.provenance(collection.provenance)?;
            for (at, run) in plan.runs.iter().enumerate() {
                let Some(outcome) = self.reports().ended(plan, at, not_stored) else {
                    continue;
                };
                let metrics = match &outcome {
                    Outcome::Done(record) => (collection.metrics)(record),
                    Outcome::Failed(_) => Vec::new(),
                };
                base.run(run, number, &outcome, &metrics)?;
                metric_rows(&mut metrics_csv, &run.ids, &metrics);
                if let Err(error) = lines.add(run, &outcome, &metrics) {
                    refused.get_or_insert(error);
                }
                add(&mut runs, plan, at, outcome, collection.trim);
            }
            verdicts = (collection.judge)(&runs);
            let mut all = earlier.clone();
            if !verdicts.is_empty() {
                all.insert(number, verdicts.clone());
            }
            for (series, claims) in &all {
                let mut claims = claims.iter();
                claims.try_for_each(|claim| base.claim(*series, claim))?;
            }
            Ok(())
        })?;
        self.keep_verdicts(number, &verdicts)?;
        refused.map_or(Ok(()), Err)?;
        lines.finish()?;
        Output::write(&self.path("metrics.csv"), metrics_csv.take().as_bytes())?;
        Output::write(&self.path("claims.csv"), claims(&verdicts).as_bytes())?;
        Ok(runs)
    }
}

/// Adds an outcome under all ids of its run.
fn add(runs: &mut Runs, plan: &Plan, at: usize, mut outcome: Outcome, trim: &dyn Fn(&mut Record)) {
    if let Outcome::Done(record) = &mut outcome {
        trim(record);
    }
    let ids = plan.runs[at].ids.iter();
    runs.extend(ids.map(|id| (id.clone(), outcome.clone())));
}
