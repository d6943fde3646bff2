//! Drives the simulation of a run and handles its checkpoints and state hashes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{debug_span, info};
use warpweave_files::{OVER_BUDGET_HINT, numbered};
use warpweave_systems::{Machine, MachineCheckpointError, StateLog, Status};

use crate::arguments::CheckpointArguments;
use crate::outcome::{Failure, to_stderr};

/// Number of core cycles between two checks of signals and progress.
const SLICE_CYCLES: u64 = 16_384;

/// Schedule of a run's checkpoints and state hashes.
pub(crate) struct Drive<'a> {
    arguments: &'a CheckpointArguments,
    /// Cycles after which to save, sorted. Past ones are removed.
    at: Vec<u64>,
    /// Flag set by SIGUSR1 to request a checkpoint soon.
    wanted: Arc<AtomicBool>,
    pub(crate) log: Option<StateLog>,
    /// Reasons that checkpoints or the state hashes are missing.
    lost: Vec<String>,
    quiet: bool,
}

impl<'a> Drive<'a> {
    /// Prepares `machine`: resumes it if requested, and checks that it can be saved. `wanted`
    /// becomes true when a checkpoint is requested.
    pub(crate) fn begin(
        arguments: &'a CheckpointArguments,
        machine: &mut Machine,
        wanted: Arc<AtomicBool>,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let mut drive = Self {
            arguments,
            at: arguments.checkpoint_at.clone(),
            wanted,
            log: arguments.state_hash.map(StateLog::new),
            lost: Vec::new(),
            quiet,
        };
        if let Some(path) = &arguments.resume {
            let resumed = machine.resume(path, drive.log.as_mut());
            resumed.map_err(|error| refusal(path, &error))?;
        } else if arguments.checkpoint.is_some() || drive.log.is_some() {
            // Better now than after hours.
            let check = machine.check_checkpoint();
            check.map_err(|error| Failure::InputText(error.to_string()))?;
        }
        let cycle = machine.cycle();
        drive.at.sort_unstable();
        drive.at.retain(|at| *at > cycle || cycle == 0);
        Ok(drive)
    }

    /// Runs the program until it ends, reaches a limit, or is interrupted. A failed save does not
    /// end it.
    pub(crate) fn run_to_the_end(
        &mut self,
        machine: &mut Machine,
        interrupt: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(&Machine),
    ) -> Status {
        let _span = debug_span!("simulate").entered();
        info!("simulating");
        loop {
            let stop = self.next_stop(machine.cycle());
            let status = if self.arguments.resume.is_some() {
                quietly(|| machine.advance(stop, interrupt))
            } else {
                machine.advance(stop, interrupt)
            };
            let cycle = machine.cycle();
            let ended = status.is_some();
            if let Some(log) = &mut self.log
                && (ended || cycle > 0 && cycle.is_multiple_of(log.every()))
                && let Err(error) = log.record(machine)
            {
                self.log = None;
                self.lose(&format!(
                    "state hashes stopped after core cycle {cycle}: {error}"
                ));
            }
            progress(machine);
            let interrupted = status == Some(Status::Interrupted);
            let asked = self.wanted.swap(false, Ordering::Relaxed);
            if asked && self.arguments.checkpoint.is_none() {
                to_stderr(
                    "SIGUSR1: nothing saved, because the run was started without `--checkpoint FILE`",
                );
            }
            if self.is_due(cycle, ended) || asked || interrupted {
                self.save(machine);
            }
            if let Some(status) = status {
                return status;
            }
        }
    }

    /// Returns the core cycle of the next scheduled action.
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

    /// True if a checkpoint is due after `cycle`.
    fn is_due(&mut self, cycle: u64, ended: bool) -> bool {
        let past = self.at.iter().take_while(|at| **at <= cycle).count();
        self.at.drain(..past);
        let every = self.arguments.checkpoint_every;
        let regular = every.is_some_and(|every| cycle.is_multiple_of(every)) && cycle > 0;
        (past > 0 || regular) && !ended
    }

    fn save(&mut self, machine: &mut Machine) {
        let Some(pattern) = &self.arguments.checkpoint else {
            return;
        };
        let cycle = machine.cycle();
        let path = numbered(pattern, cycle);
        match machine.write_checkpoint(&path, self.log.as_ref()) {
            Ok(bytes) if !self.quiet => {
                let path = path.display();
                to_stderr(&format!(
                    "saved after core cycle {cycle}: {path} ({bytes} bytes)"
                ));
            }
            Ok(_) => {}
            Err(error) => self.lose(&format!("not saved after core cycle {cycle}: {error}")),
        }
    }

    /// Records that something could not be saved. The run continues.
    fn lose(&mut self, what: &str) {
        // Once in a while is enough for a disk that stays full.
        if self.lost.len().is_power_of_two() || self.lost.is_empty() {
            to_stderr(&format!("warning: {what}"));
        }
        self.lost.push(what.to_owned());
    }

    /// Returns an error if any checkpoint or state hash could not be saved.
    pub(crate) fn saved(&self) -> Result<(), Failure> {
        match &self.lost[..] {
            [] => Ok(()),
            [only] => Err(Failure::Machine(only.clone())),
            [.., last] => Err(Failure::Machine(format!(
                "{} writes failed, the last one: {last}",
                self.lost.len()
            ))),
        }
    }
}

/// Runs code whose panics are caught, without printing the panic message to standard error.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = work();
    std::panic::set_hook(usual);
    done
}

fn refusal(path: &Path, error: &MachineCheckpointError) -> Failure {
    let message = format!("cannot resume from {}: {error}", path.display());
    if error.is_over_budget() {
        return Failure::Machine(format!("{message}\nhint: {OVER_BUDGET_HINT}"));
    }
    Failure::InputText(message)
}
