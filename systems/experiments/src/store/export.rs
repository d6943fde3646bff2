//! Export of results for other tools, as lines of JSON and of CSV.

use std::io::Write as _;

use serde_json::json;
use warpweave_files::{Output, OutputError};
use warpweave_systems::report::CsvTable;

use super::{Folder, levels};
use crate::model::{ClaimRow, MetricValue, Outcome, RunId};
use crate::plan::PlannedRun;

/// Writer of `runs.jsonl`: one object per run, with parameters and metrics.
pub(crate) struct RunLines {
    out: Output,
}

impl RunLines {
    pub(crate) fn create(folder: &Folder) -> Result<Self, OutputError> {
        let out = Output::create(&folder.path("runs.jsonl"))?;
        Ok(Self { out })
    }

    pub(crate) fn add(
        &mut self,
        run: &PlannedRun,
        outcome: &Outcome,
        metrics: &[MetricValue],
    ) -> Result<(), OutputError> {
        let parameters: serde_json::Map<_, _> = run
            .parameters()
            .map(|(path, value)| (path.to_owned(), value.into()))
            .collect();
        let metrics: serde_json::Map<_, _> = metrics
            .iter()
            .map(|metric| (metric.metric.clone(), metric.value.into()))
            .collect();
        let (cycles, error) = match outcome {
            Outcome::Done(record) => (Some(record.cycles), None),
            Outcome::Failed(why) => (None, Some(why)),
        };
        for id in &run.ids {
            let line = json!({
                "key": run.identity.run,
                "workload": id.workload,
                "variant": id.point.variant,
                "control": id.point.control,
                "levels": levels(id),
                "pair": id.pair,
                "confirming": id.confirming,
                "status": if error.is_none() { "done" } else { "failed" },
                "error": error,
                "cycles": cycles,
                "trace_key": run.identity.trace,
                "parameters": parameters,
                "metrics": metrics,
            });
            let written = writeln!(self.out, "{line}");
            written.map_err(|error| OutputError::of(self.out.path(), error))?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), OutputError> {
        self.out.finish()
    }
}

/// Appends the rows of `metrics.csv` for one run.
pub(crate) fn metric_rows(table: &mut CsvTable, ids: &[RunId], metrics: &[MetricValue]) {
    for id in ids {
        for metric in metrics {
            let levels = levels(id);
            let levels = levels
                .iter()
                .map(|(axis, level)| format!("{axis}={}", level.as_str().unwrap_or_default()));
            let levels = levels.collect::<Vec<_>>().join(";");
            let value = metric
                .value
                .map_or_else(String::new, |value| value.to_string());
            table.row([
                &id.workload,
                &id.point.variant,
                &levels,
                &id.pair.to_string(),
                &u8::from(id.confirming).to_string(),
                &metric.metric,
                &value,
                &metric.unit,
            ]);
        }
    }
}

/// Columns of the file `metrics.csv`.
pub(crate) const METRICS: [&str; 8] = [
    "workload",
    "variant",
    "levels",
    "pair",
    "confirming",
    "metric",
    "value",
    "unit",
];

/// Returns the contents of the file `claims.csv`.
pub(crate) fn claims(claims: &[ClaimRow]) -> String {
    let mut table = CsvTable::new(&[
        "name",
        "kind",
        "verdict",
        "median",
        "low",
        "high",
        "margin",
        "resolution",
        "control_verdict",
        "expected",
    ]);
    for claim in claims {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        let numbers = [
            claim.median,
            claim.low,
            claim.high,
            claim.margin,
            claim.resolution,
        ];
        let numbers = numbers.map(number);
        let mut fields = vec![claim.name.as_str(), &claim.kind, &claim.verdict];
        fields.extend(numbers.iter().map(String::as_str));
        fields.push(claim.control_verdict.as_deref().unwrap_or_default());
        fields.push(claim.expected.as_deref().unwrap_or_default());
        table.row(fields);
    }
    table.take()
}
