//! Report of a run, as a JSON object and as a readable page.

mod by_kernel;
mod check_report;
mod compare;
mod csv_table;
mod energy;
mod evidence;
mod groups;
mod html_page;
mod json;
mod limit;
mod page;
mod paint;
mod record;
mod roofline;
mod rows;
mod select;
mod text;

use serde::Serialize;

pub use self::compare::{Comparison, Side};
pub use self::csv_table::CsvTable;
pub use self::html_page::html_page;
pub use self::paint::Colour;
pub use self::record::{
    Record, RecordedComponentEnergy, RecordedEnergy, RecordedEstimate, RecordedKernel,
    RecordedKernelTime, RecordedRegion, RecordedStatistic, RecordedStatistics, RecordedValue,
};
pub use self::select::chooses_nothing;
use crate::host_program::CheckResult;
use crate::run::{Simulated, Status};
use crate::scenario::{AppliedOverride, Scenario};

/// Version of the JSON object; it increases when a key changes its meaning or is removed.
pub const SCHEMA_VERSION: u32 = 2;

/// Results of one run of a scenario.
pub struct Report {
    /// Path of the scenario as given by the user.
    pub scenario: String,
    /// Summary of the scenario in one sentence.
    pub summary: String,
    /// Overrides applied in addition to the description files.
    pub overrides: Vec<AppliedOverride>,
    /// Final status of the run, including the checks of the program.
    pub status: Status,
    /// True if every expected result was found; `None` if none was expected.
    pub verified: Option<bool>,
    /// Result of each expectation of the program.
    pub checks: Vec<CheckResult>,
    /// Results of the timing simulation of the program.
    pub simulated: Simulated,
    /// Measurements that depend on the host machine.
    pub host: Host,
}

impl Report {
    /// Creates a report of a simulation and of the results its program gave in emulation.
    pub fn of(
        scenario: &Scenario,
        simulated: Simulated,
        (verified, checks): (Option<bool>, Vec<CheckResult>),
        host: Host,
    ) -> Self {
        Self {
            scenario: scenario.paths.scenario.display().to_string(),
            summary: scenario.summary.clone(),
            overrides: scenario.stated.applied.clone(),
            status: simulated.status.given(verified),
            verified,
            checks,
            simulated,
            host,
        }
    }

    /// Explains `verified` next to a status other than success: its results come from emulation,
    /// before any timing.
    pub fn verified_note(&self) -> Option<&'static str> {
        self.verified.filter(|verified| *verified)?;
        match self.status {
            Status::Done | Status::Mismatch => None,
            Status::Failed(_) => {
                Some("the program's results were correct in emulation; the timing model failed")
            }
            Status::Deadlock(_) => {
                Some("the program's results were correct in emulation; the timing model got stuck")
            }
            Status::Limit | Status::Interrupted => Some(
                "the program's results were correct in emulation; the timing simulation did not complete",
            ),
        }
    }
}

/// Measurements of the host, the only part of a report that may differ between equal runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// Wall-clock seconds from start to end.
    pub wall_s: f64,
    /// CPU time of the whole run, in seconds.
    pub cpu_s: f64,
    /// CPU time of functional emulation, in seconds.
    pub emulation_cpu_s: f64,
    /// CPU time of timing simulation, in seconds.
    pub simulation_cpu_s: f64,
    /// Emulation speed in wavefront instructions per CPU second.
    pub emulated_wavefront_instructions_per_s: f64,
    /// Timing-simulation speed in wavefront instructions per CPU second.
    pub wavefront_instructions_per_s: f64,
    /// Timing-simulation speed in core cycles per CPU second.
    pub cycles_per_s: f64,
    /// Number of component evaluations by the engine.
    pub evaluations: u64,
    /// Peak resident memory of the process, in bytes.
    pub peak_rss_bytes: u64,
    /// Number of threads used for the simulation.
    pub threads: u32,
    /// Windows that all threads worked on together.
    pub windows_together: u64,
    /// Windows that one thread worked on alone, because that was faster or there are no others.
    pub windows_alone: u64,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::run::{EngineActivity, KernelTime, LazyMeasured};

    fn report(status: Status, verified: Option<bool>) -> Report {
        let simulated = Simulated {
            status: status.clone(),
            cycles: 7,
            seconds: 0.0,
            wavefront_instructions: 0,
            thread_instructions: 0,
            occupancy: None,
            kernel_time: KernelTime::default(),
            kernels: Vec::new(),
            energy: None,
            statistics: Arc::default(),
            region: None,
            measured: LazyMeasured::default(),
            requests_by_kernel: crate::taps::RequestsByKernel::new(),
            activity: EngineActivity::default(),
            core_clock: "core".to_owned(),
        };
        Report {
            scenario: "test.ron".to_owned(),
            summary: String::new(),
            overrides: Vec::new(),
            status,
            verified,
            checks: Vec::new(),
            simulated,
            host: Host::default(),
        }
    }

    #[test]
    fn colours_add_escapes_and_no_input_does() {
        let mut hostile = report(Status::Failed("gone \u{1b}[2J".to_owned()), None);
        hostile.summary = "\u{1b}]0;title\u{7}".to_owned();
        hostile.overrides.push(AppliedOverride {
            path: "a\u{9b}b".to_owned(),
            value: "1".to_owned(),
            from: "scenario".to_owned(),
        });
        let plain = hostile.to_text();
        assert!(
            !plain.chars().any(|c| c.is_control() && c != '\n'),
            "{plain}"
        );
        let coloured = hostile.page(Colour::On);
        let mut stripped = String::new();
        let mut pieces = coloured.split('\u{1b}');
        stripped.push_str(pieces.next().unwrap());
        for piece in pieces {
            let (escape, text) = piece.split_once('m').unwrap();
            assert!(escape[1..].chars().all(|c| c.is_ascii_digit() || c == ';'));
            stripped.push_str(text);
        }
        assert_eq!(stripped, plain);
        assert!(plain.contains("load latency not measured"), "{plain}");
    }

    #[test]
    fn verified_beside_a_failed_timing_model_explains_itself() {
        let failed = report(Status::Failed("a broken rule".to_owned()), Some(true));
        let text = failed.to_full_text();
        assert!(
            text.contains(
                "verified                yes: the program's results were correct in emulation; the \
                 timing model failed\n"
            ),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&failed.to_json()).unwrap();
        assert_eq!(json["verified"], true);
        assert!(
            json["verified_note"]
                .as_str()
                .unwrap()
                .ends_with("the timing model failed")
        );
        for (status, verified) in [
            (Status::Done, Some(true)),
            (Status::Mismatch, Some(false)),
            (Status::Failed(String::new()), Some(false)),
            (Status::Limit, None),
        ] {
            assert_eq!(report(status, verified).verified_note(), None);
        }
    }
}
