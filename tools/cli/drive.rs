//! The simulation of a run, with what happens on its way: checkpoints and state hashes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGUSR1;
use warpweave_files::OVER_BUDGET_HINT;
use warpweave_systems::{Machine, MachineCheckpointError, Progress, StateLog, Status};

use crate::cli::CheckpointArguments;
use crate::outcome::{Failure, to_stderr};

/// Core cycles between two looks at signals and the progress.
const SLICE_CYCLES: u64 = 16_384;

/// When and where a run is saved, and how often hashed.
pub(crate) struct Drive<'a> {
    arguments: &'a CheckpointArguments,
    /// Cycles after which to save, sorted, those past left out.
    at: Vec<u64>,
    /// Set by SIGUSR1: save soon.
    wanted: Arc<AtomicBool>,
    pub(crate) log: Option<StateLog>,
    quiet: bool,
}

impl<'a> Drive<'a> {
    /// Prepares `machine`: resumes it if that is asked for, and checks that it can be saved.
    pub(crate) fn begin(
        arguments: &'a CheckpointArguments,
        machine: &mut Machine,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let mut drive = Self {
            arguments,
            at: arguments.checkpoint_at.clone(),
            wanted: Arc::default(),
            log: arguments.state_hash.map(StateLog::new),
            quiet,
        };
        if let Some(path) = &arguments.resume {
            let resumed = machine.resume(path, drive.log.as_mut());
            resumed.map_err(|error| refusal(path, &error))?;
        } else if arguments.checkpoint.is_some() {
            // Better now than after hours.
            let check = machine.check_checkpoint();
            check.map_err(|error| Failure::InputText(error.to_string()))?;
        }
        let cycle = machine.cycle();
        drive.at.sort_unstable();
        drive.at.retain(|at| *at > cycle || cycle == 0);
        if arguments.checkpoint.is_some() {
            signal_hook::flag::register(SIGUSR1, Arc::clone(&drive.wanted))
                .map_err(|error| Failure::Machine(format!("cannot listen for SIGUSR1: {error}")))?;
        }
        Ok(drive)
    }

    /// Runs the program to its end, to a limit, or to an interrupt.
    pub(crate) fn run_to_the_end(
        &mut self,
        machine: &mut Machine,
        interrupt: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Status, Failure> {
        loop {
            let status = machine.advance(self.next_stop(machine.cycle()), interrupt);
            let cycle = machine.cycle();
            let ended = status.is_some();
            if let Some(log) = &mut self.log
                && (ended || cycle > 0 && cycle.is_multiple_of(log.every()))
            {
                let recorded = log.record(machine);
                recorded.map_err(|error| Failure::InputText(error.to_string()))?;
            }
            progress(machine.progress());
            let interrupted = status == Some(Status::Interrupted);
            if self.is_due(cycle, ended) || interrupted {
                self.save(machine)?;
            }
            if let Some(status) = status {
                return Ok(status);
            }
        }
    }

    /// The core cycle at which something is to be done next.
    fn next_stop(&self, cycle: u64) -> u64 {
        let slice = (cycle / SLICE_CYCLES + 1) * SLICE_CYCLES;
        let every = self.arguments.checkpoint_every;
        let stops = [
            self.at.first().copied(),
            every.map(|every| (cycle / every + 1) * every),
            self.log.as_ref().map(|log| log.next_after(cycle)),
        ];
        stops.into_iter().flatten().fold(slice, u64::min)
    }

    /// Whether the run is to be saved after `cycle`.
    fn is_due(&mut self, cycle: u64, ended: bool) -> bool {
        let past = self.at.iter().take_while(|at| **at <= cycle).count();
        self.at.drain(..past);
        let every = self.arguments.checkpoint_every;
        let regular = every.is_some_and(|every| cycle.is_multiple_of(every)) && cycle > 0;
        (past > 0 || regular) && !ended || self.wanted.swap(false, Ordering::Relaxed)
    }

    fn save(&self, machine: &mut Machine) -> Result<(), Failure> {
        let Some(pattern) = &self.arguments.checkpoint else {
            return Ok(());
        };
        let cycle = machine.cycle();
        let path = named(pattern, cycle);
        let bytes = machine
            .write_checkpoint(&path, self.log.as_ref())
            .map_err(|error| Failure::Machine(error.to_string()))?;
        if !self.quiet {
            let path = path.display();
            to_stderr(&format!(
                "saved after core cycle {cycle}: {path} ({bytes} bytes)"
            ));
        }
        Ok(())
    }
}

/// `{cycle}` in a name stands for the cycle.
fn named(pattern: &Path, cycle: u64) -> PathBuf {
    let text = pattern.to_string_lossy();
    if text.contains("{cycle}") {
        text.replace("{cycle}", &cycle.to_string()).into()
    } else {
        pattern.to_owned()
    }
}

fn refusal(path: &Path, error: &MachineCheckpointError) -> Failure {
    let message = format!("cannot resume from {}: {error}", path.display());
    if error.is_over_budget() {
        return Failure::Machine(format!("{message}\nhint: {OVER_BUDGET_HINT}"));
    }
    Failure::InputText(message)
}
