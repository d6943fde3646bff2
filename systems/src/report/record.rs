//! Reports read back from JSON, for comparisons and experiments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SCHEMA_VERSION;
use crate::scenario::AppliedOverride;

/// Statistics of a run, as a map from instance path to statistic.
pub type RecordedStatistics = BTreeMap<String, BTreeMap<String, RecordedStatistic>>;

/// Contents of a report without host measurements. Keys missing in reports of older versions are
/// empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the JSON object's schema.
    pub schema_version: u32,
    /// Path of the scenario as given by the user.
    pub scenario: String,
    /// Summary of the scenario in one sentence.
    #[serde(default)]
    pub summary: String,
    /// Overrides applied in addition to the description files.
    #[serde(default)]
    pub overrides: Vec<AppliedOverride>,
    /// Final status of the run: `done`, `limit`, ….
    pub status: String,
    /// Deadlock report or failure message, if any.
    #[serde(default)]
    pub detail: Option<String>,
    /// True if every expected result was found; `None` if none was expected.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Number of core cycles of the run.
    pub cycles: u64,
    /// Simulated time of the run, in seconds.
    pub simulated_s: f64,
    /// Number of wavefront instructions that were issued.
    pub wavefront_instructions: u64,
    /// Number of thread instructions that were issued.
    pub thread_instructions: u64,
    /// Wavefront instructions issued per core cycle.
    pub ipc: f64,
    /// Fraction of the wavefront slots that were occupied, over the run.
    #[serde(default)]
    pub occupancy: Option<f64>,
    /// Time in which kernels ran; `None` in reports of older programs.
    #[serde(default)]
    pub kernel_time: Option<RecordedKernelTime>,
    /// Simulated part of the program; `None` if it is the whole.
    #[serde(default)]
    pub region: Option<RecordedRegion>,
    /// Name of the clock whose cycles are reported.
    pub core_clock: String,
    /// Results of all kernel launches, in order.
    #[serde(default)]
    pub kernels: Vec<RecordedKernel>,
    /// Energy of the run, if it had coefficients.
    #[serde(default)]
    pub energy: Option<RecordedEnergy>,
    /// Statistics of the whole run, by instance.
    pub stats: RecordedStatistics,
}

/// Time in which kernels ran, read from a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedKernelTime {
    /// Core cycles in which at least one kernel ran.
    pub cycles: u64,
    /// Core cycles of the whole run.
    pub run_cycles: u64,
    /// Fraction of the wavefront slots that were occupied while kernels ran.
    pub occupancy: Option<f64>,
    /// Issue slots of all compute units while kernels ran, by outcome.
    pub slots: BTreeMap<String, u64>,
}

/// Simulated part of a program, read from a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRegion {
    /// Estimated duration of the sampled launches, if they were sampled.
    #[serde(default)]
    pub estimate: Option<RecordedEstimate>,
}

/// Duration of a program that was estimated from a sample, read from a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedEstimate {
    /// Estimated number of core cycles.
    pub cycles: u64,
    /// True if the estimate covers the whole program.
    pub whole: bool,
}

/// Results of one kernel launch, read from a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedKernel {
    /// Number of the launch within the program.
    pub number: u32,
    /// Name of the kernel that was launched.
    pub name: String,
    /// Number of work-groups in x, y, z.
    pub grid: [u32; 3],
    /// Threads per work-group in x, y, z.
    pub block: [u32; 3],
    /// Core cycles from the launch to its completion.
    pub cycles: Option<u64>,
    /// Core cycles from the first work-group to the completion.
    #[serde(default)]
    pub run_cycles: Option<u64>,
    /// Wavefront instructions issued by the launch.
    pub wavefront_instructions: u64,
    /// Thread instructions issued by the launch.
    pub thread_instructions: u64,
    /// Increase of each statistic during the launch, if the run measured it.
    #[serde(default)]
    pub stats: RecordedStatistics,
}

/// Energy of a run, read from a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedEnergy {
    /// Time in seconds for which static power was charged.
    pub seconds: f64,
    /// Dynamic energy of all events, in joules.
    pub dynamic_j: f64,
    /// Energy of static power, in joules.
    pub static_j: f64,
    /// Total energy of the run, in joules.
    pub total_j: f64,
    /// Energy-delay product of the run, in joule-seconds.
    pub edp_js: f64,
    /// Energy of each component pattern, in report order.
    pub components: Vec<RecordedComponentEnergy>,
}

/// Energy of the instances that one pattern names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedComponentEnergy {
    /// Pattern of the paths of its instances.
    pub component: String,
    /// Total energy of these instances, in joules.
    pub total_j: f64,
    /// Energy of their static power, in joules.
    #[serde(default)]
    pub static_j: f64,
    /// Energy in joules with every coefficient at the low end of its range.
    #[serde(default)]
    pub low_j: Option<f64>,
    /// Energy in joules with every coefficient at the high end of its range.
    #[serde(default)]
    pub high_j: Option<f64>,
    /// Energy of each kind of event.
    #[serde(default)]
    pub events: Vec<RecordedEventEnergy>,
}

/// Energy of one event of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedEventEnergy {
    /// Name of the statistic that counts the event.
    pub event: String,
    /// Number of events that were counted.
    pub count: u64,
    /// Energy of all these events, in joules.
    pub energy_j: f64,
    /// Energy in joules at the low end of the coefficient's range.
    #[serde(default)]
    pub low_j: Option<f64>,
    /// Energy in joules at the high end of the coefficient's range.
    #[serde(default)]
    pub high_j: Option<f64>,
}

/// Statistic of an instance, read from a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedStatistic {
    /// Value, mean of a histogram, or sums of a series.
    pub value: RecordedValue,
    /// Unit in which the value is counted.
    pub unit: String,
    /// Rule for combining several instances, by the names of [`warpweave_framework::Combination`].
    pub combination: String,
    /// Unit of the weights of a mean.
    #[serde(default)]
    pub weight: Option<String>,
    /// Numerator of a ratio, or total of a mean.
    #[serde(default)]
    pub part: Option<u64>,
    /// Denominator of a ratio, or weight of a mean.
    #[serde(default)]
    pub whole: Option<u64>,
    /// Number of values in a histogram.
    #[serde(default)]
    pub count: Option<u64>,
    /// Sum of the values in a histogram.
    #[serde(default)]
    pub sum: Option<u64>,
    /// Length of a series interval in cycles.
    #[serde(default)]
    pub interval_cycles: Option<u64>,
}

/// Value of a statistic as stored in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedValue {
    /// Exact integer, such as a counter.
    Integer(u64),
    /// Measurement, ratio or mean; `None` if nothing was counted.
    Real(Option<f64>),
    /// Sums of a series, one per interval.
    Series(Vec<u64>),
}

impl RecordedStatistic {
    /// Returns the value as one number, unless it is a series or missing.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            RecordedValue::Integer(n) => Some(n as f64),
            RecordedValue::Real(x) => x,
            RecordedValue::Series(_) => None,
        }
    }

    /// Returns total and weight of a mean, ratio or histogram.
    pub fn part_and_whole(&self) -> Option<(u64, u64)> {
        self.part.zip(self.whole).or(self.sum.zip(self.count))
    }
}

impl Record {
    /// Parses a report in JSON format.
    ///
    /// # Errors
    /// Fails if the text is not a report or has another version. The message has line and column if
    /// known.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let record: Self = serde_json::from_str(text)
            .map_err(|error| format!("this is not a run report: {error}"))?;
        if record.schema_version != SCHEMA_VERSION {
            return Err(format!(
                "the report has version {}, but this program reads version {SCHEMA_VERSION}",
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
