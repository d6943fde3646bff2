//! Traces of programs, each emulated once for all experiments that share a trace folder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use warpweave_components::locality_plan::LocalityPlan;
use warpweave_components::reuse_profile::ReuseProfile;
use warpweave_files::{Budget, Input, Ledger, Output, OutputError};
use warpweave_systems::host_program::{CheckResult, Executed};
use warpweave_systems::{locality, profile};
use warpweave_trace::{Program, TraceError};

use super::MachineError;

/// An emulated program with its check results.
#[derive(Clone, Debug)]
pub(super) struct Emulated {
    pub(super) program: Arc<Program>,
    /// True if all expected results were found; `None` if nothing was expected.
    pub(super) verified: Option<bool>,
    /// Comparison with every expected result of the program.
    pub(super) checks: Vec<CheckResult>,
    /// Reuse profile, computed when a run first needs it.
    pub(super) profile: Arc<OnceLock<ReuseProfile>>,
    /// Locality plan, computed when a run first needs it.
    pub(super) locality: Arc<OnceLock<LocalityPlan>>,
}

/// Comparison results, which the trace itself does not contain.
#[derive(Serialize, Deserialize)]
struct Compared {
    verified: Option<bool>,
    checks: Vec<Check>,
}

#[derive(Serialize, Deserialize)]
struct Check {
    buffer: String,
    reference: String,
    passed: bool,
    detail: String,
}

/// True if a folder of traces has the trace with this name. Its bytes are not examined.
pub fn keeps_trace(folder: &Path, key: &str) -> bool {
    paths(folder, key).iter().all(|path| path.is_file())
}

/// Returns the files of a trace: its records, and the comparison of its results.
fn paths(folder: &Path, key: &str) -> [PathBuf; 2] {
    ["trace", "checks.json"].map(|ending| folder.join(format!("{key}.{ending}")))
}

/// Folder of traces, named by the inputs they depend on. Several processes may write to it
/// concurrently. Files get their name only when complete, and the name determines every byte of
/// their contents.
#[derive(Debug)]
pub(super) struct Traces {
    folder: PathBuf,
}

impl Traces {
    /// Opens the traces in a folder, which is created if it does not exist.
    pub(super) fn in_folder(folder: &Path) -> Result<Self, OutputError> {
        std::fs::create_dir_all(folder).map_err(|error| OutputError::of(folder, error))?;
        Output::test(&folder.join("new.trace"))?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Returns the reuse profile of the program with this name. It is cached next to the trace
    /// after the first computation.
    pub(super) fn profile(
        &self,
        key: &str,
        program: &Program,
        budget: &Budget,
    ) -> Result<ReuseProfile, MachineError> {
        let path = self.folder.join(format!("{key}.reuse"));
        let hash = program.hash();
        // A profile that cannot be read, or is of an earlier trace of this name, is made again.
        if let Ok((trace, profile)) = profile::read(&path, &Ledger::new(budget))
            && trace == hash
        {
            return Ok(profile);
        }
        let profile = profile::compute(program);
        profile::write(&path, hash, &profile)?;
        Ok(profile)
    }

    /// Returns the locality plan of the program with this name, kept like its profile.
    pub(super) fn locality(
        &self,
        key: &str,
        program: &Program,
        budget: &Budget,
    ) -> Result<LocalityPlan, MachineError> {
        let path = self.folder.join(format!("{key}.local"));
        let hash = program.hash();
        if let Ok((trace, plan)) = locality::read(&path, &Ledger::new(budget))
            && trace == hash
        {
            return Ok(plan);
        }
        let plan = locality::compute(program);
        locality::write(&path, hash, &plan)?;
        Ok(plan)
    }

    /// Returns the program with this name, if it exists and is complete.
    pub(super) fn get(&self, key: &str, budget: &Budget) -> Result<Option<Emulated>, TraceError> {
        let [trace, checks] = paths(&self.folder, key);
        let ledger = Ledger::new(budget);
        let compared = Input::open(&checks).ok();
        let compared = compared.and_then(|input| input.read_text(&ledger).ok());
        let compared = compared.and_then(|text| serde_json::from_str::<Compared>(&text).ok());
        let Some(Compared { verified, checks }) = compared else {
            return Ok(None);
        };
        match Program::open_within(&trace, &ledger) {
            Ok(program) => Ok(Some(Emulated {
                program: Arc::new(program),
                verified,
                checks: checks.into_iter().map(Check::into_result).collect(),
                profile: Arc::default(),
                locality: Arc::default(),
            })),
            Err(error @ TraceError::OverBudget(_)) => Err(error),
            // A trace that cannot be read is made again.
            Err(_) => Ok(None),
        }
    }

    /// Stores the results of an emulation.
    pub(super) fn put(&self, key: &str, executed: &Executed) -> Result<(), MachineError> {
        let [trace, checks] = paths(&self.folder, key);
        let saved = executed.program.save(&trace);
        saved.map_err(|error| MachineError(error.to_string()))?;
        let compared = Compared {
            verified: executed.verified,
            checks: executed.checks.iter().map(Check::of).collect(),
        };
        let text = serde_json::to_string(&compared).expect("every key is text");
        Ok(Output::write(&checks, text.as_bytes())?)
    }
}

impl Check {
    fn of(check: &CheckResult) -> Self {
        Self {
            buffer: check.buffer.clone(),
            reference: check.reference.clone(),
            passed: check.passed,
            detail: check.detail.clone(),
        }
    }

    fn into_result(self) -> CheckResult {
        CheckResult {
            buffer: self.buffer,
            reference: self.reference,
            passed: self.passed,
            detail: self.detail,
        }
    }
}
