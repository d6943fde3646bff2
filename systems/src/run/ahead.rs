//! Simulation of a program concurrent with its emulation.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use warpweave_trace::Program;

use crate::host_program::{
    EmulationProgress, EmulationSpec, ExecuteError, Executed, HostProgram, StaticLaunches,
};
use crate::scenario::{Scenario, Work, logged};

/// Maximum bytes of streams kept in memory; see [`Ahead`](warpweave_trace::Ahead).
const WINDOW: u64 = 8 << 20;

/// Emulation that overlaps with its simulation. One thread runs it ([`EmulationAhead::run`]) while
/// another simulates the streams it produces. Results equal those of a program that was emulated
/// first.
///
/// Streams of a program with more than 8 MiB are dropped once simulated, so only the compute units
/// of one machine may read them. A smaller program is emulated to its end and kept.
pub struct EmulationAhead {
    program: Arc<HostProgram>,
    emulation: EmulationSpec,
    foreseen: StaticLaunches,
}

impl EmulationAhead {
    /// Returns the emulation of a scenario's program whose launches do not depend on values
    /// computed by kernels. Returns `None` for other programs and for traces. It is also `None` if
    /// all streams are needed before simulation: to choose a region, or to know the trace that an
    /// artefact belongs to.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        Self::with_window(scenario, WINDOW)
    }

    /// Like [`EmulationAhead::of`], with a limit on the bytes of streams in memory.
    fn with_window(scenario: &Scenario, window: u64) -> Option<Self> {
        let Work::Workload(program) = &scenario.work else {
            return None;
        };
        if scenario.region.is_some() || !scenario.analyses.is_empty() {
            return None;
        }
        Some(Self {
            program: Arc::clone(program),
            emulation: scenario.emulation,
            foreseen: StaticLaunches::of(program, &scenario.emulation, window)?,
        })
    }

    /// Emulates the program, and waits for the simulation if it is too far ahead.
    ///
    /// # Errors
    /// Fails like [`Scenario::emulate`]. Results simulated before the failure are invalid.
    pub fn run(&self, progress: &EmulationProgress) -> Result<Executed, ExecuteError> {
        struct Ended<'e>(&'e EmulationAhead);
        impl Drop for Ended<'_> {
            // A reader must not wait for a stream that never arrives, even if the emulation
            // panicked.
            fn drop(&mut self) {
                self.0.foreseen.ahead.end();
            }
        }
        let _ended = Ended(self);
        let (emulation, foreseen) = (&self.emulation, &self.foreseen);
        let program = &self.program;
        logged(|| program.execute_foreseen(emulation, progress, foreseen))
    }

    /// Waits until the simulation can begin and returns the program. Returns `None` if the
    /// emulation has ended before.
    pub fn begun(&self) -> Option<Arc<Program>> {
        let known = self.foreseen.ahead.begun()?;
        let mut program = self.foreseen.program.clone();
        for (kernel, known) in program.kernels.iter_mut().zip(known) {
            *kernel = known;
        }
        Some(Arc::new(program))
    }

    /// Ends the overlap with simulation: the emulation continues to its end without waiting.
    pub fn release(&self) {
        self.foreseen.ahead.release();
    }
}
