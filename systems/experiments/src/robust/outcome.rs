//! Outcomes of machines, each kept as a complete file.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpweave_files::{Input, Ledger, Output, OutputError};

use warpweave_params::Diagnostics;

use crate::judge::{Interval, Study, Verdict};
use crate::run::line_of;

/// Outcome of running all of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MachineOutcome {
    /// All runs have results; holds a verdict on each claim, in the order of the experiment.
    Judged(Vec<JudgedVerdict>),
    /// The machine cannot be built; holds the reason.
    Refused(String),
    /// Some runs failed; holds the first with its reason.
    Failed(String),
}

/// Verdict on a claim on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedVerdict {
    /// Result of testing the claim on that machine.
    pub verdict: Verdict,
    /// Measured effect with its confidence interval.
    pub effect: Option<Interval>,
}

impl MachineOutcome {
    /// Returns the outcome of a machine whose runs were judged.
    pub fn of(study: &Study) -> Self {
        if let Some((run, why)) = study.failed.first() {
            return Self::Failed(format!("{run}: {why}"));
        }
        let verdict = |claim: &crate::judge::JudgedClaim| JudgedVerdict {
            verdict: claim.verdict,
            effect: claim.effect,
        };
        Self::Judged(study.claims.iter().map(verdict).collect())
    }

    /// Returns the outcome of a machine that cannot be built.
    pub fn refused(problems: &Diagnostics) -> Self {
        Self::Refused(line_of(problems))
    }

    /// Returns the verdicts, if the machine was judged.
    pub fn verdicts(&self) -> Option<&[JudgedVerdict]> {
        match self {
            Self::Judged(verdicts) => Some(verdicts),
            Self::Refused(_) | Self::Failed(_) => None,
        }
    }
}

/// Outcomes in a results folder, to which several processes may write.
#[derive(Clone, Debug)]
pub struct Outcomes {
    folder: PathBuf,
}

impl Outcomes {
    /// Names the outcomes in a results folder, which need not exist.
    pub fn of(results: &Path) -> Self {
        let folder = results.join("machines");
        Self { folder }
    }

    /// Reads the outcome of a machine, if it is stored. One that is damaged counts as missing.
    pub fn read(&self, key: &str) -> Option<MachineOutcome> {
        let input = Input::open(&self.file(key)).ok()?;
        let text = input.read_text(&Ledger::default()).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Stores the outcome of a machine, and returns it as it will be read.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails.
    pub fn store(&self, key: &str, outcome: MachineOutcome) -> Result<MachineOutcome, OutputError> {
        let refused = |error: io::Error| OutputError::of(&self.folder, error);
        std::fs::create_dir_all(&self.folder).map_err(refused)?;
        let text = serde_json::to_string(&outcome).expect("every key is text");
        Output::write(&self.file(key), text.as_bytes())?;
        // Reading may change the last bit of a number, and a resumed study must not differ.
        Ok(serde_json::from_str(&text).unwrap_or(outcome))
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}
