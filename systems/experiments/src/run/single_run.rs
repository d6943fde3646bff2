//! One run: emulate or take the trace, simulate, report.

use std::sync::Arc;

use thiserror::Error;
use warpweave_params::Diagnostics;
use warpweave_systems::report::{Host, Report};
use warpweave_systems::{Scenario, Status};

use super::traces::{Emulated, Traces};
use super::{MachineError, Runner};
use crate::plan::PlannedRun;

/// A run that came to an end.
pub(super) struct FinishedRun {
    /// Its report.
    pub(super) json: String,
    /// Whether it ended well.
    pub(super) passed: bool,
}

/// Why a run gave nothing to store.
#[derive(Debug, Error)]
pub(super) enum RunFailure {
    /// It cannot be made; in one line.
    #[error("{0}")]
    Failed(String),
    /// The machine refuses.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl From<Diagnostics> for RunFailure {
    fn from(problems: Diagnostics) -> Self {
        Self::Failed(line_of(&problems))
    }
}

/// The first message and its place, in one line.
fn line_of(problems: &Diagnostics) -> String {
    let Some(first) = problems.iter().next() else {
        return "it failed without a word".to_owned();
    };
    let place = first.place.as_ref();
    let place = place.map_or_else(String::new, |place| format!("{place}: "));
    format!("{place}{}", first.message)
}

pub(super) fn load(run: &PlannedRun, runner: &Runner<'_>) -> Result<Scenario, RunFailure> {
    Ok(Scenario::load_varied(&run.variation, runner.budget)?)
}

/// The trace that is kept, or a new one, which is kept then.
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
        RunFailure::Failed(text.lines().next().unwrap_or_default().to_owned())
    })?;
    traces.put(key, &executed)?;
    Ok(Emulated {
        program: executed.program,
        verified: executed.verified,
        checks: executed.checks,
        profile: Arc::default(),
    })
}

/// The run itself; `None` after an interrupt.
pub(super) fn simulated(
    scenario: &Scenario,
    emulated: &Emulated,
    key: &str,
    traces: &Traces,
    runner: &Runner<'_>,
) -> Result<Option<FinishedRun>, RunFailure> {
    if scenario.needs_profile() && emulated.profile.get().is_none() {
        let profile = traces.profile(key, &emulated.program, runner.budget)?;
        // Another worker may have been faster, with the same.
        let _ = emulated.profile.set(profile);
    }
    let profile = || emulated.profile.get().cloned().unwrap_or_default();
    let mut machine = scenario.machine_of(runner.registry, &emulated.program, profile)?;
    let simulated = machine.simulate(runner.interrupt, &mut |_| {});
    if simulated.status == Status::Interrupted {
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
