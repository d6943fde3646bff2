//! Emulation of the program that a scenario runs.

use tracing::{debug_span, info};
use warpweave_params::Diagnostics;

use super::Scenario;
use crate::host_program::{EmulationProgress, Examined, ExecuteError, Executed, HostProgram};

/// Emulates in a span of the log.
pub(crate) fn logged(
    emulate: impl FnOnce() -> Result<Executed, ExecuteError>,
) -> Result<Executed, ExecuteError> {
    let _span = debug_span!("emulate").entered();
    info!("emulating the program");
    let executed = emulate()?;
    info!(kernels = executed.program.kernels.len(), "program emulated");
    Ok(executed)
}

impl Scenario {
    /// Runs the program functionally, or reads a recorded trace.
    ///
    /// # Errors
    /// Fails if the program cannot be run (bad accesses, endless loops, missing inputs), or if a
    /// trace is damaged.
    pub fn emulate(&self) -> Result<Executed, ExecuteError> {
        self.emulate_watched(&EmulationProgress::default())
    }

    /// Like [`Scenario::emulate`], and also updates `progress` during the emulation.
    ///
    /// # Errors
    /// Fails like [`Scenario::emulate`].
    pub fn emulate_watched(&self, progress: &EmulationProgress) -> Result<Executed, ExecuteError> {
        logged(|| self.work.execute(&self.emulation, progress))
    }

    /// Runs the program functionally, checks the behaviour of its kernels, and updates `progress`.
    ///
    /// # Errors
    /// Fails if the description asks for something impossible, or for a trace, which contains no
    /// values.
    pub fn examine(&self, progress: &EmulationProgress) -> Result<Examined, ExecuteError> {
        self.work.examine(&self.emulation, progress)
    }

    /// Returns the program that is emulated; `None` for a trace.
    pub fn program(&self) -> Option<&HostProgram> {
        self.work.program()
    }

    /// Returns warnings about copies the program may have forgotten.
    pub fn warnings(&self) -> &Diagnostics {
        self.work.warnings()
    }
}
