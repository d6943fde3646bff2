//! What a run gives back: one object for machines, a page for people.

mod energy;
mod examined;
mod groups;
mod json;
mod text;

use serde::Serialize;

use crate::host_program::CheckResult;
use crate::run::{Simulated, Status};

/// Version of the JSON object; it grows when a key changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// The results of one run of one scenario.
pub struct Report {
    /// Path of the scenario as given.
    pub scenario: String,
    /// One sentence about it.
    pub summary: String,
    /// How it ended, the checks of the program included.
    pub status: Status,
    /// Whether every expected result was found; `None` where nothing was expected.
    pub verified: Option<bool>,
    /// Every expected result.
    pub checks: Vec<CheckResult>,
    /// What the simulation gave.
    pub simulated: Simulated,
    /// What depends on the machine the run was made on.
    pub host: Host,
}

/// Measurements of the host; everything in a report that may differ between equal runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// Seconds from start to end.
    pub wall_s: f64,
    /// CPU seconds of the whole run.
    pub cpu_s: f64,
    /// CPU seconds of functional emulation.
    pub emulation_cpu_s: f64,
    /// CPU seconds of timing simulation.
    pub simulation_cpu_s: f64,
    /// Wavefront instructions per CPU second of emulation.
    pub emulated_wavefront_instructions_per_s: f64,
    /// Wavefront instructions per CPU second of timing simulation.
    pub wavefront_instructions_per_s: f64,
    /// Core cycles per CPU second of timing simulation.
    pub cycles_per_s: f64,
    /// Evaluations of components by the engine.
    pub evaluations: u64,
    /// Largest resident memory.
    pub peak_rss_bytes: u64,
    /// Threads of the simulation.
    pub threads: u32,
}
