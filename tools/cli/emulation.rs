//! Emulation of a run, and the work done with it afterwards or concurrently.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};

use crossbeam::channel::{Receiver, bounded};
use tracing::Span;
use warpweave_systems::host_program::{EmulationProgress, ExecuteError, Executed};
use warpweave_systems::{EmulationAhead, Scenario};
use warpweave_trace::Program;

use crate::host::{Stopwatch, ThreadStopwatch};
use crate::outcome::{CommandResult, Failure};

/// Stack size of the simulation thread; equal to the usual size of the main thread.
const STACK_BYTES: usize = 8 << 20;

/// Result of an emulation, and its CPU time in seconds.
type EmulationEnd = (Result<Executed, ExecuteError>, f64);

/// Emulation that has succeeded, or that runs concurrently with the simulation.
pub(crate) struct Emulation<'a> {
    /// Program trace that the machine simulates.
    pub(crate) program: Arc<Program>,
    state: State<'a>,
}

enum State<'a> {
    EmulationEnd(Box<Executed>, f64),
    Ahead {
        ahead: Released<'a>,
        progress: &'a EmulationProgress,
        ended: Receiver<EmulationEnd>,
        /// Stopwatch started when emulation and simulation began.
        both: Stopwatch,
    },
}

impl Emulation<'_> {
    fn ended(executed: Executed, cpu_s: f64) -> Self {
        Self {
            program: Arc::clone(&executed.program),
            state: State::EmulationEnd(Box::new(executed), cpu_s),
        }
    }

    /// Returns the computed results, or `None` while the emulation is running.
    pub(crate) fn executed(&self) -> Option<&Executed> {
        match &self.state {
            State::EmulationEnd(executed, _) => Some(executed),
            State::Ahead { .. } => None,
        }
    }

    /// Waits for the end of the emulation, after the simulation has ended. Returns its results and
    /// the CPU times of emulation and simulation. For a sequential run the latter is
    /// `simulation_cpu_s`. If the simulation was `interrupted`, the emulation ends at once, and the
    /// results lack what it had not computed.
    ///
    /// # Errors
    /// Returns an error if the emulation failed.
    pub(crate) fn finish(
        self,
        simulation_cpu_s: f64,
        interrupted: bool,
    ) -> Result<(Executed, [f64; 2]), Failure> {
        match self.state {
            State::EmulationEnd(executed, cpu_s) => Ok((*executed, [cpu_s, simulation_cpu_s])),
            State::Ahead {
                ahead,
                progress,
                ended,
                both,
            } => {
                if interrupted {
                    progress.abandon();
                }
                drop(ahead);
                let Ok((executed, cpu_s)) = ended.recv() else {
                    return Err(Failure::Machine(
                        "the emulation thread ended unexpectedly".to_owned(),
                    ));
                };
                let executed = match executed {
                    Err(ExecuteError::Abandoned) => Executed::abandoned(&self.program),
                    ended => ended?,
                };
                Ok((executed, [cpu_s, (both.cpu_s() - cpu_s).max(0.0)]))
            }
        }
    }
}

/// Emulates the program of a scenario and runs `work` on it and on `using`. If `ahead` is set and
/// the program is large, `work` runs concurrently on a second thread. If the emulation then fails,
/// `end` becomes true to stop the simulation.
///
/// # Errors
/// Returns an error if the emulation or `work` fails.
pub(crate) fn emulate<U: Send>(
    scenario: &Scenario,
    progress: &EmulationProgress,
    (ahead, end): (bool, &AtomicBool),
    using: U,
    work: impl Fn(Emulation<'_>, U) -> CommandResult + Sync,
) -> CommandResult {
    let both = Stopwatch::start();
    let clock = ThreadStopwatch::start();
    let Some(ahead) = ahead.then(|| EmulationAhead::of(scenario)).flatten() else {
        let executed = scenario.emulate_watched(progress)?;
        return work(Emulation::ended(executed, clock.cpu_s()), using);
    };
    let (tell, ended) = bounded::<EmulationEnd>(1);
    let span = Span::current();
    let beside = || {
        let _span = span.enter();
        let Some(program) = ahead.begun() else {
            return Err((using, ended));
        };
        let state = State::Ahead {
            ahead: Released(&ahead),
            progress,
            ended,
            both,
        };
        Ok(work(Emulation { program, state }, using))
    };
    scope(|scope| {
        let thread = Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, beside);
        let thread = thread.map_err(|error| {
            Failure::Machine(format!("cannot start the simulation thread: {error}"))
        })?;
        let executed = ahead.run(progress);
        let cpu_s = clock.cpu_s();
        if executed.is_err() {
            end.store(true, Ordering::Relaxed);
        }
        // The receiver is gone if the simulation panicked, which is reported below.
        let _ = tell.send((executed, cpu_s));
        match thread.join().unwrap_or_else(|panic| resume_unwind(panic)) {
            Ok(done) => done,
            Err((using, ended)) => match ended.recv() {
                Ok((executed, cpu_s)) => work(Emulation::ended(executed?, cpu_s), using),
                Err(_) => Err(Failure::Machine(
                    "the emulation thread ended unexpectedly".to_owned(),
                )),
            },
        }
    })
}

/// Guard that lets an emulation continue to its end once its simulation has ended for any reason.
struct Released<'a>(&'a EmulationAhead);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}
