//! A report read back: what comparisons and experiments know of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SCHEMA_VERSION;
use crate::scenario::AppliedOverride;

/// The statistics of a run: instance path → statistic.
pub type RecordedStatistics = BTreeMap<String, BTreeMap<String, RecordedStatistic>>;

/// What a report says of a run, without what depends on the host. Keys that a report of an older
/// program lacks are empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the JSON object.
    pub schema_version: u32,
    /// Path of the scenario as given.
    pub scenario: String,
    /// One sentence about it.
    #[serde(default)]
    pub summary: String,
    /// What was set beyond the description files.
    #[serde(default)]
    pub overrides: Vec<AppliedOverride>,
    /// How the run ended: `done`, `limit`, ….
    pub status: String,
    /// The deadlock report or the failure.
    #[serde(default)]
    pub detail: Option<String>,
    /// Whether every expected result was found; `None` where nothing was expected.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Core cycles of the run.
    pub cycles: u64,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Instructions of wavefronts.
    pub wavefront_instructions: u64,
    /// Instructions of threads.
    pub thread_instructions: u64,
    /// Wavefront instructions per core cycle.
    pub ipc: f64,
    /// Part of the wavefront slots that held a wavefront.
    #[serde(default)]
    pub occupancy: Option<f64>,
    /// Name of the clock that counts.
    pub core_clock: String,
    /// Launches, in order.
    #[serde(default)]
    pub kernels: Vec<RecordedKernel>,
    /// Energy, where the run had coefficients.
    #[serde(default)]
    pub energy: Option<RecordedEnergy>,
    /// Statistics of the whole run.
    pub stats: RecordedStatistics,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedKernel {
    /// Which launch.
    pub number: u32,
    /// Name of the kernel.
    pub name: String,
    /// Work-groups in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a work-group in x, y, z.
    pub block: [u32; 3],
    /// Core cycles from the launch to its completion.
    pub cycles: Option<u64>,
    /// Core cycles from the first work-group to the completion.
    #[serde(default)]
    pub run_cycles: Option<u64>,
    /// Instructions of wavefronts.
    pub wavefront_instructions: u64,
    /// Instructions of threads.
    pub thread_instructions: u64,
    /// What the statistics grew by during the launch, where the run measured it.
    #[serde(default)]
    pub stats: RecordedStatistics,
}

/// The energy of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedEnergy {
    /// Seconds that static power was drawn for.
    pub seconds: f64,
    /// Joules of events.
    pub dynamic_j: f64,
    /// Joules of static power.
    pub static_j: f64,
    /// Joules.
    pub total_j: f64,
    /// Joule-seconds.
    pub edp_js: f64,
    /// By component.
    pub components: Vec<RecordedComponentEnergy>,
}

/// The energy of the instances that one pattern names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedComponentEnergy {
    /// Pattern of paths.
    pub component: String,
    /// Joules.
    pub total_j: f64,
    /// Joules of static power.
    #[serde(default)]
    pub static_j: f64,
    /// Joules with every coefficient at the low end of its range.
    #[serde(default)]
    pub low_j: Option<f64>,
    /// The same at the high end.
    #[serde(default)]
    pub high_j: Option<f64>,
    /// By event.
    #[serde(default)]
    pub events: Vec<RecordedEventEnergy>,
}

/// The energy of one event of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedEventEnergy {
    /// Name of the statistic.
    pub event: String,
    /// Events.
    pub count: u64,
    /// Joules of all of them.
    pub energy_j: f64,
    /// The same at the low end of the coefficient's range.
    #[serde(default)]
    pub low_j: Option<f64>,
    /// The same at the high end.
    #[serde(default)]
    pub high_j: Option<f64>,
}

/// One statistic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedStatistic {
    /// The value, the mean of a histogram, or the sums of a series.
    pub value: RecordedValue,
    /// Unit of the value.
    pub unit: String,
    /// How the values of several instances become one, by the names of
    /// [`warpweave_framework::Combination`].
    pub combination: String,
    /// What the weight of a mean counts.
    #[serde(default)]
    pub weight: Option<String>,
    /// Part of a ratio, or total of a mean.
    #[serde(default)]
    pub part: Option<u64>,
    /// Whole of a ratio, or weight of a mean.
    #[serde(default)]
    pub whole: Option<u64>,
    /// Values in a histogram.
    #[serde(default)]
    pub count: Option<u64>,
    /// Sum of the values in a histogram.
    #[serde(default)]
    pub sum: Option<u64>,
    /// Cycles per interval of a series.
    #[serde(default)]
    pub interval_cycles: Option<u64>,
}

/// The value of a statistic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedValue {
    /// An exact number.
    Integer(u64),
    /// A measurement, ratio or mean; `None` when nothing was counted.
    Real(Option<f64>),
    /// Sums per interval.
    Series(Vec<u64>),
}

impl RecordedStatistic {
    /// The value as one number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            RecordedValue::Integer(n) => Some(n as f64),
            RecordedValue::Real(x) => x,
            RecordedValue::Series(_) => None,
        }
    }

    /// Total and weight of what is a mean or a ratio, histograms among them.
    pub fn part_and_whole(&self) -> Option<(u64, u64)> {
        self.part.zip(self.whole).or(self.sum.zip(self.count))
    }
}

impl Record {
    /// Reads a report in JSON.
    ///
    /// # Errors
    /// What is not a report, or one of another version; with line and column where they are known.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let record: Self = serde_json::from_str(text)
            .map_err(|error| format!("this is not the report of a run: {error}"))?;
        if record.schema_version != SCHEMA_VERSION {
            return Err(format!(
                "the report has version {}, and this program reads version {SCHEMA_VERSION}",
                record.schema_version
            ));
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistic(text: &str) -> RecordedStatistic {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_sort_of_statistic_is_read_back() {
        let counter = statistic(r#"{"value": 7, "unit": "requests", "combination": "sum"}"#);
        assert_eq!(counter.number(), Some(7.0));
        assert_eq!(counter.part_and_whole(), None);
        let ratio = statistic(
            r#"{"value": 0.5, "part": 2, "whole": 4, "unit": "", "combination": "weighted mean",
                "weight": "reads"}"#,
        );
        assert_eq!(ratio.number(), Some(0.5));
        assert_eq!(ratio.part_and_whole(), Some((2, 4)));
        let empty = statistic(
            r#"{"value": null, "count": 0, "sum": 0, "min": null, "max": null,
                "power_of_two_buckets": [], "unit": "cycles", "combination": "weighted mean"}"#,
        );
        assert_eq!(empty.number(), None);
        assert_eq!(empty.part_and_whole(), Some((0, 0)));
        let series = statistic(
            r#"{"value": [1, 2], "interval_cycles": 10, "unit": "B", "combination": "sum"}"#,
        );
        assert_eq!(series.value, RecordedValue::Series(vec![1, 2]));
    }

    #[test]
    fn what_is_no_report_is_named_with_its_place() {
        let error = Record::from_json("{\n  \"cycles\": 4\n}").unwrap_err();
        assert!(error.contains("line 3"), "{error}");
    }
}
