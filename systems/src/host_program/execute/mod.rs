//! Executes a host program on the emulator and records its actions.
//!
//! `host.rs` executes the commands, `transfers.rs` copies, and `launching.rs` launches kernels with
//! the dimensions that `launch.rs` computes. `device_buffers.rs` holds the addresses of buffers and
//! `recorded.rs` the actions so far. `static_launches.rs` lists launches before emulation.
//! The commands are parsed and checked earlier (`../description/`, `../check/`).

mod action;
mod device_buffers;
mod foresight;
mod host;
mod launch;
mod launching;
mod parts;
mod progress;
mod recorded;
mod static_launches;
mod transfers;

use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_params::Diagnostic;
use warpweave_ptx::{EmulationError, Printed};
use warpweave_trace::{Program, TraceError};

pub use self::action::{DeviceAction, Listener};
use self::foresight::Foresight;
pub(crate) use self::foresight::StaticLaunches;
pub(super) use self::host::Host;
pub(super) use self::launch::{
    Shape, asked_place, check_declared, check_place, checked_offset, checked_variable_offset,
    fields, kernel_argument, scalar, shape, size_and_alignment, size_of_fields,
};
pub(super) use self::parts::{checked_index, checked_part};
pub use self::progress::EmulationProgress;
use crate::host_program::HostProgram;
use crate::host_program::emulation::EmulationSpec;

/// Result of executing a host program.
#[derive(Clone, Debug)]
pub struct Executed {
    /// Trace of the actions of the program.
    pub program: Arc<Program>,
    /// Results of the expectations, in their order.
    pub checks: Vec<CheckResult>,
    /// True if all expectations were met; `None` if there are none.
    pub verified: Option<bool>,
    /// Distinct names of the launched kernels, in the order of their first launch.
    pub kernels: Vec<String>,
    /// Output that the kernels printed with `printf`.
    pub printed: Printed,
    /// Number of device launches that were refused, with an error code for the program.
    pub refused_launches: u64,
    /// Memory words of the buffers copied to the host, by name, as of the last copy.
    pub outputs: BTreeMap<String, Vec<u32>>,
}

/// Comparison of a buffer with a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// Name of the compared buffer, or of its field.
    pub buffer: String,
    /// Name of the reference or property.
    pub reference: String,
    /// True if the buffer is as expected.
    pub passed: bool,
    /// Accuracy of the result, or the first differences.
    pub detail: String,
}

/// Reason why a host program could not be executed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The description asks for something impossible.
    #[error("{0}")]
    Description(Box<Diagnostic>),
    /// A launch failed; the message gives the location of the launch and of the instruction.
    #[error("{message}")]
    Launch {
        /// Message that includes the locations involved.
        message: Box<Diagnostic>,
        /// Error that was reported by the emulator.
        source: Box<EmulationError>,
    },
    /// The emulation was ended before the program ([`EmulationProgress::abandon`]).
    #[error("the emulation was ended before the program")]
    Abandoned,
    /// The trace is not consistent with itself.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl Executed {
    /// Returns the part that is known of a program whose emulation was ended early.
    pub fn abandoned(program: &Arc<Program>) -> Self {
        Self {
            program: Arc::clone(program),
            checks: Vec::new(),
            verified: None,
            kernels: Vec::new(),
            printed: Printed::default(),
            refused_launches: 0,
            outputs: BTreeMap::new(),
        }
    }
}

impl ExecuteError {
    /// True if the only problem is an exceeded memory budget.
    pub fn is_over_budget(&self) -> bool {
        match self {
            Self::Description(problem) => problem.over_budget,
            Self::Abandoned => false,
            Self::Launch { source, .. } => matches!(**source, EmulationError::OverBudget(_)),
            Self::Trace(error) => matches!(error, TraceError::OverBudget(_)),
        }
    }
}

impl From<Diagnostic> for ExecuteError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Description(Box::new(diagnostic))
    }
}

impl HostProgram {
    /// Executes the program from freshly initialised memory.
    ///
    /// # Errors
    /// Returns [`ExecuteError`]. An unmet expectation is not an error but part of the result.
    pub fn execute(&self, emulation: &EmulationSpec) -> Result<Executed, ExecuteError> {
        self.execute_watched(emulation, &EmulationProgress::default())
    }

    /// Like [`HostProgram::execute`], and also updates `progress` during the emulation.
    ///
    /// # Errors
    /// Fails like [`HostProgram::execute`].
    pub fn execute_watched(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
    ) -> Result<Executed, ExecuteError> {
        self.execute_by(emulation, progress, None, Foresight::None)
    }

    /// Like [`HostProgram::execute_watched`], for a program with known launches. Its streams may
    /// already be in simulation.
    pub(crate) fn execute_foreseen(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
        foreseen: &StaticLaunches,
    ) -> Result<Executed, ExecuteError> {
        self.execute_by(emulation, progress, None, Foresight::Known(foreseen))
    }

    /// Like [`HostProgram::execute`], and also reports every device action of the host to
    /// `listener`.
    ///
    /// # Errors
    /// Fails like [`HostProgram::execute`].
    pub fn execute_told(
        &self,
        emulation: &EmulationSpec,
        listener: Listener<'_>,
    ) -> Result<Executed, ExecuteError> {
        let progress = EmulationProgress::default();
        self.execute_by(emulation, &progress, Some(listener), Foresight::None)
    }

    fn execute_by(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
        listener: Option<Listener<'_>>,
        foresight: Foresight<'_>,
    ) -> Result<Executed, ExecuteError> {
        let mut host = Host::new(self, emulation, progress)?;
        host.listen(listener);
        host.foresight = foresight;
        host.run()?;
        let checks = self
            .expectations
            .iter()
            .map(|expectation| {
                if progress.is_abandoned() {
                    return Err(ExecuteError::Abandoned);
                }
                Ok(host.check(expectation)?)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut kernels: Vec<String> = Vec::new();
        for kernel in &host.recorded.kernels {
            if !kernels.contains(&kernel.code.name) {
                kernels.push(kernel.code.name.clone());
            }
        }
        let allocations = host.allocations();
        let outputs = host.buffers.images.into_iter();
        let outputs = outputs
            .map(|(at, words)| (self.buffers[at].name.value.clone(), words))
            .collect();
        let program = Program {
            name: self.name.clone(),
            allocations,
            commands: host.recorded.commands,
            kernels: host.recorded.kernels,
            front_end: emulation.front_end(),
        };
        program.check()?;
        let verified = (!checks.is_empty()).then(|| checks.iter().all(|check| check.passed));
        Ok(Executed {
            program: Arc::new(program),
            checks,
            verified,
            kernels,
            printed: host.recorded.printed,
            refused_launches: host.recorded.refused_launches,
            outputs,
        })
    }
}
