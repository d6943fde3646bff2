//! SQLite database with all results in one file for other tools, regenerated from the stored runs.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use warpweave_files::{Output, OutputError};
use warpweave_systems::report::{Record, RecordedStatistics, RecordedValue};

use crate::model::{ClaimRow, MetricValue, Outcome, Provenance, RunId, Series};
use crate::plan::PlannedRun;

/// Definitions of tables and views. `docs/experiments.md` lists the public ones.
const SCHEMA: &str = include_str!("schema.sql");

/// Database that is being filled with results.
pub(crate) struct DataBase<'c> {
    connection: &'c Connection,
    names: BTreeMap<String, i64>,
}

/// Writes the database `path` as a complete file. `fill` adds the contents.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut DataBase<'_>) -> rusqlite::Result<()>,
) -> Result<(), OutputError> {
    Output::write_by_name(path, |partial| {
        let make = || {
            let connection = Connection::open(partial)?;
            // An incomplete file is discarded, so no journal is needed for its repair.
            connection
                .execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")?;
            connection.execute_batch(SCHEMA)?;
            let mut base = DataBase {
                connection: &connection,
                names: BTreeMap::new(),
            };
            fill(&mut base)?;
            connection.execute_batch("COMMIT;")?;
            connection.close().map_err(|(_, error)| error)
        };
        make().map_err(|error: rusqlite::Error| io::Error::other(error.to_string()))
    })
}

impl DataBase<'_> {
    pub(crate) fn series(&self, all: &[Series]) -> rusqlite::Result<()> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO series VALUES (?, ?, ?, ?, ?)")?;
        for series in all {
            insert.execute(params![
                series.number,
                series.hash,
                series.opened,
                series.note,
                series.program_version
            ])?;
        }
        Ok(())
    }

    pub(crate) fn provenance(&self, provenance: &Provenance) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO provenance VALUES (?, ?)";
        let mut insert = self.connection.prepare_cached(sql)?;
        for (name, value) in provenance {
            insert.execute(params![name, value])?;
        }
        Ok(())
    }

    /// Adds a run with all its measurements.
    pub(crate) fn run(
        &mut self,
        run: &PlannedRun,
        series: u32,
        outcome: &Outcome,
        metrics: &[MetricValue],
    ) -> rusqlite::Result<()> {
        let key = &run.identity.run;
        for id in &run.ids {
            self.run_row(id, run, series, outcome)?;
        }
        let sql = "INSERT INTO parameters VALUES (?, ?, ?)";
        let mut insert = self.connection.prepare_cached(sql)?;
        for (path, value) in run.parameters() {
            insert.execute(params![key, path, value])?;
        }
        let sql = "INSERT INTO metrics VALUES (?, ?, ?, ?)";
        let mut insert = self.connection.prepare_cached(sql)?;
        for metric in metrics {
            insert.execute(params![key, metric.metric, metric.value, metric.unit])?;
        }
        if let Outcome::Done(record) = outcome {
            self.record(key, record)?;
        }
        Ok(())
    }

    fn run_row(
        &self,
        id: &RunId,
        run: &PlannedRun,
        series: u32,
        outcome: &Outcome,
    ) -> rusqlite::Result<()> {
        let (status, error, cycles) = match outcome {
            Outcome::Done(record) => ("done", None, Some(record.cycles as i64)),
            Outcome::Failed(why) => ("failed", Some(why), None),
        };
        let sql = "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let mut insert = self.connection.prepare_cached(sql)?;
        insert.execute(params![
            run.identity.run,
            series,
            id.workload,
            id.point.variant,
            id.point.control,
            serde_json::Value::from(super::levels(id)).to_string(),
            id.pair,
            id.confirming,
            status,
            error,
            cycles,
            run.identity.trace,
        ])?;
        Ok(())
    }

    fn record(&mut self, key: &str, record: &Record) -> rusqlite::Result<()> {
        self.measured(key, "", &record.stats)?;
        for kernel in &record.kernels {
            let name = format!("{} {}", kernel.number, kernel.name);
            self.measured(key, &name, &kernel.stats)?;
        }
        Ok(())
    }

    fn measured(
        &mut self,
        key: &str,
        kernel: &str,
        statistics: &RecordedStatistics,
    ) -> rusqlite::Result<()> {
        if statistics.is_empty() {
            return Ok(());
        }
        let is_of_launch = !kernel.is_empty();
        let (run, kernel) = (self.name(key)?, self.name(kernel)?);
        for (path, values) in statistics {
            let path = self.name(path)?;
            for (name, statistic) in values {
                // Most parts do nothing during a launch, and a program may have many.
                if is_of_launch && statistic.number() == Some(0.0) {
                    continue;
                }
                let (name, unit) = (self.name(name)?, self.name(&statistic.unit)?);
                let value = match statistic.value {
                    RecordedValue::Integer(number) => whole_number(number),
                    RecordedValue::Real(number) => number.map_or(Value::Null, Value::Real),
                    RecordedValue::Series(_) => continue,
                };
                let both = statistic.part_and_whole();
                let part = both.map(|(part, _)| whole_number(part));
                let whole = both.map(|(_, whole)| whole_number(whole));
                let sql = "INSERT INTO measured VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
                let mut insert = self.connection.prepare_cached(sql)?;
                insert.execute(params![run, kernel, path, name, value, unit, part, whole])?;
            }
        }
        Ok(())
    }

    /// Returns the number that encodes a name.
    fn name(&mut self, name: &str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.names.get(name) {
            return Ok(id);
        }
        let id = self.names.len() as i64;
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO names VALUES (?, ?)")?;
        insert.execute(params![id, name])?;
        self.names.insert(name.to_owned(), id);
        Ok(id)
    }

    pub(crate) fn claim(&self, series: u32, claim: &ClaimRow) -> rusqlite::Result<()> {
        let sql = "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let mut insert = self.connection.prepare_cached(sql)?;
        insert.execute(params![
            series,
            claim.name,
            claim.kind,
            claim.verdict,
            claim.median,
            claim.low,
            claim.high,
            claim.margin,
            claim.resolution,
            claim.control_verdict,
            claim.expected
        ])?;
        Ok(())
    }
}

/// Converts an unsigned number, because SQLite has only signed integers.
fn whole_number(number: u64) -> Value {
    i64::try_from(number).map_or(Value::Real(number as f64), Value::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_the_documented_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("experiment.sqlite");
        write(&path, |_| Ok(())).unwrap();
        let connection = Connection::open(&path).unwrap();
        let mut tables = connection
            .prepare("SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view') ORDER BY m.name, c.cid")
            .unwrap();
        let rows = tables.query_map([], |row| {
            let text = |at| row.get::<_, String>(at);
            Ok(format!("{}.{} {}", text(0)?, text(1)?, text(2)?))
        });
        let rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
        insta::assert_snapshot!(rows.join("\n"));
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
        let page = std::fs::read_to_string(page).unwrap();
        for row in rows {
            let (table, column) = row.split_once('.').unwrap();
            let column = column.split(' ').next().unwrap();
            if ["names", "measured"].contains(&table) {
                continue;
            }
            let start = format!("| `{table}` |");
            let line = page.lines().filter(|line| line.starts_with(&start));
            let named = line
                .filter(|line| line.contains(&format!("`{column}`")))
                .count();
            assert_eq!(named, 1, "{table}.{column}");
        }
    }
}
