//! Execution of one run: emulate or load the trace, simulate, report.

use std::sync::Arc;

use thiserror::Error;
use tracing::warn;
use warpweave_params::Diagnostics;
use warpweave_systems::host_program::{EmulationError, ExecuteError};
use warpweave_systems::report::{Host, Report};
use warpweave_systems::{Identity, Machine, Scenario, Status};
use warpweave_trace::TraceError;

use super::traces::{Emulated, Traces};
use super::{MachineError, Runner};
use crate::plan::PlannedRun;
use crate::store::Reports;

/// Result of a run that completed.
pub(super) struct FinishedRun {
    /// Report of the run as JSON text.
    pub(super) json: String,
    /// True if all checks of the run passed.
    pub(super) passed: bool,
}

/// Reason why a run gave no result to store.
#[derive(Debug, Error)]
pub(super) enum RunFailure {
    /// The run cannot be executed; holds a one-line message.
    #[error("{0}")]
    Failed(String),
    /// The host machine failed, for example its disk.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl From<Diagnostics> for RunFailure {
    fn from(problems: Diagnostics) -> Self {
        Self::Failed(line_of(&problems))
    }
}

/// Returns the first message with its position, in one line.
pub(crate) fn line_of(problems: &Diagnostics) -> String {
    let Some(first) = problems.iter().next() else {
        return "it failed without a message".to_owned();
    };
    let place = first.place.as_ref();
    let place = place.map_or_else(String::new, |place| format!("{place}: "));
    format!("{place}{}", first.message)
}

pub(super) fn load(run: &PlannedRun, runner: &Runner<'_>) -> Result<Scenario, RunFailure> {
    Ok(Scenario::load_varied(&run.variation, runner.budget, None)?)
}

/// Returns the cached trace, or emulates the program and caches its trace.
pub(super) fn emulated(
    scenario: &Scenario,
    key: &str,
    traces: &Traces,
    runner: &Runner<'_>,
) -> Result<Emulated, RunFailure> {
    let kept = traces.get(key, runner.budget);
    if let Some(kept) = kept.map_err(|error| RunFailure::Failed(error.to_string()))? {
        return Ok(kept);
    }
    let executed = scenario.emulate().map_err(|error| {
        let text = error.to_string();
        let text = text.lines().next().unwrap_or_default().to_owned();
        if is_of_disk(&error) {
            RunFailure::Machine(MachineError(text))
        } else {
            RunFailure::Failed(text)
        }
    })?;
    traces.put(key, &executed)?;
    Ok(Emulated {
        program: executed.program,
        verified: executed.verified,
        checks: executed.checks,
        profile: Arc::default(),
        locality: Arc::default(),
    })
}

/// True if the host refused a write, for example to a full disk.
fn is_of_disk(error: &ExecuteError) -> bool {
    match error {
        ExecuteError::Launch { source, .. } => matches!(**source, EmulationError::Disk(_)),
        ExecuteError::Trace(error) => matches!(error, TraceError::Write(_)),
        _ => false,
    }
}

/// Simulates the run, from its checkpoint if it was interrupted before. Saves it and returns `None`
/// after an interrupt.
pub(super) fn simulated(
    scenario: &Scenario,
    emulated: &Emulated,
    identity: &Identity,
    traces: &Traces,
    reports: &Reports,
    runner: &Runner<'_>,
) -> Result<Option<FinishedRun>, RunFailure> {
    if scenario.needs_profile() && emulated.profile.get().is_none() {
        let profile = traces.profile(&identity.trace, &emulated.program, runner.budget)?;
        // Another worker may have been faster, with the same.
        let _ = emulated.profile.set(profile);
    }
    let profile = || emulated.profile.get().cloned().unwrap_or_default();
    if scenario.needs_locality() && emulated.locality.get().is_none() {
        let plan = traces.locality(&identity.trace, &emulated.program, runner.budget)?;
        let _ = emulated.locality.set(plan);
    }
    let locality = || emulated.locality.get().cloned().unwrap_or_default();
    let program = &emulated.program;
    let build = || Machine::with_analyses(scenario, runner.registry, program, profile, locality);
    let mut machine = build()?;
    let mut simulated = None;
    if let Some(path) = reports.checkpoint(&identity.run) {
        simulated = match machine.resume(&path, None) {
            Ok(()) => Some(machine.simulate(runner.interrupt, &mut |_| {})),
            Err(error) => {
                warn!("{}: {error}; the run starts anew", path.display());
                None
            }
        };
        // A state that no run reaches is no result of the run.
        simulated = simulated.filter(|simulated| !matches!(simulated.status, Status::Failed(_)));
        if simulated.is_none() {
            machine = build()?;
        }
    }
    let simulated = simulated.unwrap_or_else(|| machine.simulate(runner.interrupt, &mut |_| {}));
    if simulated.status == Status::Interrupted {
        save(&mut machine, &identity.run, reports);
        return Ok(None);
    }
    let results = (emulated.verified, emulated.checks.clone());
    let report = Report::of(scenario, simulated, results, Host::default());
    let passed = report.status == Status::Done;
    Ok(Some(FinishedRun {
        json: report.to_json_without_host(),
        passed,
    }))
}

/// Saves an interrupted run. One that cannot be saved starts anew next time.
fn save(machine: &mut Machine, key: &str, reports: &Reports) {
    let saved = match reports.new_checkpoint(key) {
        Ok(path) => machine
            .write_checkpoint(&path, None)
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = saved {
        warn!("an interrupted run is not saved: {error}");
    }
}
