//! A program that is simulated while it is still emulated.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use warpweave_trace::Program;

use crate::host_program::{
    EmulationProgress, EmulationSpec, ExecuteError, Executed, HostProgram, StaticLaunches,
};
use crate::scenario::{Scenario, Work};

/// Bytes of streams in memory at most; see [`Ahead`](warpweave_trace::Ahead).
const WINDOW: u64 = 8 << 20;

/// An emulation whose simulation may begin before it ends: one thread runs it ([`EmulationAhead::run`]), another one
/// simulates what comes. Results are those of a program that was emulated first.
///
/// The streams of a program of more than 8 MiB are dropped as they are simulated: nothing but the compute units of one
/// machine may read them. A program of fewer is emulated to its end and kept.
pub struct EmulationAhead {
    program: Arc<HostProgram>,
    emulation: EmulationSpec,
    foreseen: StaticLaunches,
}

impl Scenario {
    /// The emulation of a program of which all is known but what its wavefronts do: no launch depends on what kernels
    /// compute. None for other programs, for a trace, and where something needs all streams before the simulation
    /// begins: a part of the program is chosen by them, or a profile made of them.
    pub fn emulation_ahead(&self) -> Option<EmulationAhead> {
        self.emulation_ahead_of(WINDOW)
    }

    /// As [`Scenario::emulation_ahead`], with so many bytes of streams in memory.
    fn emulation_ahead_of(&self, window: u64) -> Option<EmulationAhead> {
        let Work::Workload(program) = &self.work else {
            return None;
        };
        if self.region.is_some() || self.profile.is_some() {
            return None;
        }
        Some(EmulationAhead {
            program: Arc::clone(program),
            emulation: self.emulation,
            foreseen: program.foresee(&self.emulation, window)?,
        })
    }
}

impl EmulationAhead {
    /// Emulates the program, and waits for the simulation where it is too far ahead.
    ///
    /// # Errors
    /// As [`Scenario::emulate`]. What was simulated until then is worth nothing.
    pub fn run(&self, progress: &EmulationProgress) -> Result<Executed, ExecuteError> {
        struct Ended<'e>(&'e EmulationAhead);
        impl Drop for Ended<'_> {
            // Whoever waits for a stream must not wait for one that never comes, even if the emulation panicked.
            fn drop(&mut self) {
                self.0.foreseen.ahead.end();
            }
        }
        let _ended = Ended(self);
        let (emulation, foreseen) = (&self.emulation, &self.foreseen);
        self.program.execute_foreseen(emulation, progress, foreseen)
    }

    /// Waits until the simulation can begin, and gives the program; none: the emulation has ended before.
    pub fn begun(&self) -> Option<Arc<Program>> {
        let known = self.foreseen.ahead.begun()?;
        let mut program = self.foreseen.program.clone();
        for (kernel, known) in program.kernels.iter_mut().zip(known) {
            *kernel = known;
        }
        Some(Arc::new(program))
    }

    /// Nothing is simulated any more: the emulation goes on to its end without waiting.
    pub fn release(&self) {
        self.foreseen.ahead.release();
    }
}
