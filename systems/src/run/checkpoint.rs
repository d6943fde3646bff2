//! Checkpoints of a machine: the state of its system, and a description of machine and program. A
//! file of another machine or program is rejected with the name of the field that differs.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpweave_framework::{
    Checkpoint, CheckpointError, Description, Difference, Divergence, FileError, Subject, Tick,
};
use warpweave_params::{Kind, Node, to_ron};

use super::Machine;
use super::corrupt;
use super::measure::Measurement;
use super::region::RegionRun;
use super::state_log::{LogPosition, StateLog};
use crate::taps::{TapsState, described};

/// Reason why a machine could not be saved or resumed.
#[derive(Debug, Error)]
pub enum MachineCheckpointError {
    /// Saving or loading the state of the system failed.
    #[error(transparent)]
    State(#[from] CheckpointError),
    /// The file holds a state that no run reaches.
    #[error("corrupt checkpoint: {0}")]
    Corrupt(String),
    /// Reading or writing the file failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Data that a checkpoint file stores in addition to the state of the system.
#[derive(Serialize, Deserialize)]
struct MachineHeader {
    log: Option<LogPosition>,
    measurement: Arc<Measurement>,
    taps: TapsState,
}

impl MachineCheckpointError {
    /// True if the only problem is an exceeded memory budget.
    pub fn is_over_budget(&self) -> bool {
        matches!(self, Self::File(FileError::OverBudget(_)))
    }
}

impl Machine {
    /// Writes a checkpoint atomically to `path`, with everything needed to resume. Returns the size
    /// of the file.
    ///
    /// # Errors
    /// Fails if a component cannot be saved or the file cannot be written.
    pub fn write_checkpoint(
        &mut self,
        path: &Path,
        log: Option<&StateLog>,
    ) -> Result<u64, MachineCheckpointError> {
        let mut checkpoint = self.system.simulation.save()?;
        checkpoint.details = self.description();
        let beside = MachineHeader {
            log: log.map(StateLog::position),
            measurement: Arc::clone(&self.measurement),
            taps: self.taps.state(),
        };
        Ok(checkpoint.write(path, &beside)?)
    }

    /// Checks that the machine supports checkpoints.
    ///
    /// # Errors
    /// Returns the component that cannot be saved.
    pub fn check_checkpoint(&mut self) -> Result<(), CheckpointError> {
        self.system.simulation.save().map(drop)
    }

    /// Checks that another machine is built from the same program, seed and specifications.
    ///
    /// # Errors
    /// Returns the first difference, with `self` in the role of the checkpoint.
    pub fn same_description(&self, other: &Self) -> Result<(), Difference> {
        self.description().compare(&other.description())
    }

    /// Runs this machine and another of the same parts in lockstep until their states differ, at
    /// most to core cycle `last`. Returns the core cycle of the first difference, or no cycle if
    /// they already differ.
    ///
    /// # Errors
    /// Fails if a component cannot be saved, or if the machines have different parts.
    pub fn parting(
        &mut self,
        other: &mut Self,
        last: u64,
    ) -> Result<Option<(Option<u64>, Divergence)>, CheckpointError> {
        let period = self.core_period();
        let until = Tick(last.saturating_mul(period));
        let (a, b) = (&mut self.system.simulation, &mut other.system.simulation);
        let parting = Divergence::find(a, b, until)?;
        Ok(parting.map(|parting| (parting.tick.map(|tick| tick.0 / period), parting)))
    }

    /// Resumes the run from the checkpoint at `path`, together with a state log if there is one.
    ///
    /// # Errors
    /// Fails if the file is not a valid checkpoint, or is of another machine, program or seed.
    pub fn resume(
        &mut self,
        path: &Path,
        log: Option<&mut StateLog>,
    ) -> Result<(), MachineCheckpointError> {
        let (checkpoint, beside) = Checkpoint::read::<MachineHeader>(path, &self.ledger)?;
        let details = checkpoint.details.compare(&self.description());
        details.map_err(CheckpointError::OtherSystem)?;
        let simulation = &mut self.system.simulation;
        let loaded = corrupt::from_checkpoint(|| simulation.load(&checkpoint));
        loaded.map_err(MachineCheckpointError::Corrupt)??;
        self.measurement = beside.measurement;
        self.taps.load(beside.taps);
        self.resumed = true;
        if let Some(log) = log {
            log.resume(beside.log.as_ref());
        }
        Ok(())
    }

    /// Returns the inputs that define the machine: program, seed, and the specification of every
    /// part.
    fn description(&self) -> Description {
        let mut fields = vec![
            ("seed".to_owned(), self.seed.to_string()),
            ("program".to_owned(), self.program.name.clone()),
            ("trace_hash".to_owned(), self.program.hash().to_string()),
        ];
        // What was not measured from the start cannot be measured later.
        let kernels = self.observation.measure.kernels.to_string();
        fields.push(("measure.kernels".to_owned(), kernels));
        let region = self.region.as_ref();
        let region = region.map_or_else(|| "all".to_owned(), RegionRun::description);
        fields.push(("region".to_owned(), region));
        let every = self.observation.measure.every_cycles;
        let every = every.map_or_else(|| "none".to_owned(), |every| every.to_string());
        fields.push(("measure.every_cycles".to_owned(), every));
        fields.extend(described(&self.observation.taps));
        let run = Subject {
            name: "run".to_owned(),
            kind: "scenario".to_owned(),
            fields,
        };
        let parts = self.system.resolved.specifications();
        let parts = parts.map(|(name, kind, specification)| {
            let mut fields = Vec::new();
            flatten(&specification, "", &mut fields);
            Subject { name, kind, fields }
        });
        Description {
            subjects: std::iter::once(run).chain(parts).collect(),
        }
    }
}

/// Flattens a specification into single values with their paths.
fn flatten(node: &Node, path: &str, fields: &mut Vec<(String, String)>) {
    let join = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match &node.kind {
        Kind::Struct(value) => {
            if !path.is_empty()
                && let Some(name) = &value.name
            {
                fields.push((path.to_owned(), name.text.clone()));
            }
            for field in &value.fields {
                flatten(&field.value, &join(&field.name.text), fields);
            }
        }
        Kind::Map(entries) => {
            for (key, value) in entries {
                flatten(value, &join(to_ron(key).trim()), fields);
            }
        }
        _ => fields.push((path.to_owned(), to_ron(node).trim().to_owned())),
    }
}
