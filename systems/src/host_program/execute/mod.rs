//! Executes a host program on a device: on the emulator, which records its actions, or on another.
//!
//! `host.rs` executes the commands, `transfers.rs` copies, and `launching.rs` launches kernels with
//! the dimensions that `launch.rs` computes. They ask a `Device` (`device.rs`) for everything.
//! `emulated.rs` is the emulator, with the actions so far in `recorded.rs`. `live.rs` runs a
//! program in stages on another device. `device_buffers.rs` holds the addresses of buffers, and
//! `static_launches.rs` lists launches before emulation.
//! The commands are parsed and checked earlier (`../description/`, `../check/`).

mod device;
mod device_buffers;
mod emulated;
mod foresight;
mod host;
mod launch;
mod launching;
mod live;
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

pub use self::device::{Device, DeviceAllocation, DeviceError, DeviceLaunch};
pub(super) use self::emulated::Emulated;
use self::foresight::Foresight;
pub(crate) use self::foresight::StaticLaunches;
use self::host::HOST_COPIES;
pub(super) use self::host::Host;
pub(super) use self::launch::{
    Shape, asked_place, check_declared, check_place, checked_offset, checked_variable_offset,
    fields, kernel_argument, scalar, shape, size_and_alignment, size_of_fields,
};
pub use self::live::LiveRun;
pub(super) use self::parts::{checked_index, checked_part};
pub use self::progress::EmulationProgress;
use crate::host_program::HostProgram;
use crate::host_program::emulation::EmulationSpec;

/// Number of copies of a buffer during emulation: one is on the device.
pub(super) const EMULATED_COPIES: u64 = HOST_COPIES + 1;

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
        self.execute_by(emulation, progress, Foresight::None)
    }

    /// Like [`HostProgram::execute_watched`], for a program with known launches. Its streams may
    /// already be in simulation.
    pub(crate) fn execute_foreseen(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
        foreseen: &StaticLaunches,
    ) -> Result<Executed, ExecuteError> {
        self.execute_by(emulation, progress, Foresight::Known(foreseen))
    }

    fn execute_by(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
        foresight: Foresight<'_>,
    ) -> Result<Executed, ExecuteError> {
        let mut device = Emulated::new(self, emulation, progress)?;
        device.foresight = foresight;
        let mut host = Host::new(self, &mut device, EMULATED_COPIES)?;
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
        let outputs = host.into_outputs();
        device.recorded.wait();
        let mut kernels: Vec<String> = Vec::new();
        for kernel in &device.recorded.kernels {
            if !kernels.contains(&kernel.code.name) {
                kernels.push(kernel.code.name.clone());
            }
        }
        let program = Program {
            name: self.name.clone(),
            allocations: device.allocations(),
            commands: device.recorded.commands,
            kernels: device.recorded.kernels,
            front_end: emulation.front_end(),
        };
        program.check()?;
        let verified = (!checks.is_empty()).then(|| checks.iter().all(|check| check.passed));
        Ok(Executed {
            program: Arc::new(program),
            checks,
            verified,
            kernels,
            printed: device.recorded.printed,
            refused_launches: device.recorded.refused_launches,
            outputs,
        })
    }
}
