//! Experiments: variants of a machine on many programs, repeated under neutral perturbations.
//! Claims stated beforehand are tested against the results.
//!
//! ```text
//!  experiment.ron ──► ExperimentFile ──► plan: every run ──► run (all cores) ──► store
//!                                                                                  │
//!                        report ◄── judge: metrics, intervals, verdicts ◄──────────┘
//! ```
//!
//! `scale` measures the memory footprint of programs, from their traces, for the report. `robust`
//! repeats an experiment on machines with other values of its unstated parameters.

pub mod file;
pub mod judge;
pub mod metric;
pub mod model;
mod plan;
mod read;
pub mod report;
pub mod robust;
mod run;
pub mod scale;
pub mod shard;
mod store;
mod sweep;
#[cfg(test)]
mod tests;

pub use self::model::{ClaimRow, FailureCounts, MetricValue};
pub use self::plan::{MachineStatistics, Plan, PlannedRun};
pub use self::read::{Baseline, Experiment, find, find_level, level_name};
pub use self::run::{MachineError, RunEvent, Runner, keeps_trace};
pub use self::store::{Collection, Folder, Reports, SeriesError, Verdicts};
pub use self::sweep::SweepAxis;
