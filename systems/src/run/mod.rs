//! Running a scenario: emulate the program, build the machine, replay the program on it.

mod checkpoint;
mod state_log;

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_components::checkers::check_protocols;
use warpweave_components::compute_unit::ComputeUnit;
use warpweave_components::host_driver::KernelTimes;
use warpweave_framework::verify::Checks;
use warpweave_framework::{
    EngineOptions, Environment, InstanceStatistics, Kind, Outcome, Reason, Registry, RunLimits,
    Simulation, Tick, Value,
};
use warpweave_params::Diagnostics;
use warpweave_trace::{FrontEnd, Program};

pub use self::checkpoint::MachineCheckpointError;
pub use self::state_log::{ReadLog, ReadLogError, StateLog};
use crate::elaboration::{ElaboratedSystem, elaborate};
use crate::energy::{EnergyModel, EnergyReport};
use crate::host_program::{ExecuteError, Executed};
use crate::scenario::{Limits, Scenario};

/// Core cycles between two looks at the progress.
const SLICE_CYCLES: u64 = 16_384;

/// Core cycles between two looks at whether to divide the work between threads anew.
const LOOK_CYCLES: u64 = 1_024;

/// Divisions of a run. Each is made when twice the work of the one before has been measured.
const DIVISIONS: u32 = 10;

/// Evaluations per instance that make the first measurement.
const FIRST_EVALUATIONS: u64 = 64;

/// Threads that evaluate the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Divide the work among so many; on a machine with fewer cores each thread takes several shares.
    Exactly(usize),
    /// As many as are worth their meetings, at most so many.
    UpTo(usize),
    /// One, which takes the shares of so many in turn: to measure a division.
    OneFor(usize),
}

/// When the work is divided anew.
#[derive(Default)]
struct DivisionPlan {
    made: u32,
    /// Core cycle of the next look.
    next_look: u64,
    /// Evaluations of which the next division takes account.
    enough: u64,
}

/// A system with its program loaded.
pub struct Machine {
    pub(crate) system: ElaboratedSystem,
    pub(crate) program: Arc<Program>,
    kernel_times: Arc<KernelTimes>,
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
    /// Ticks without a message after which a run counts as stuck, once they were extended.
    pub(crate) patience: Option<u64>,
    energy: Option<EnergyModel>,
    /// Checkers on the wires, where asked for.
    checks: Checks,
    threads: Option<Threads>,
    division: DivisionPlan,
}

/// How far a simulation has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Core cycles simulated.
    pub cycle: u64,
    /// Launches completed.
    pub kernels_done: usize,
    /// Launches of the program.
    pub kernels: usize,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// The whole program ran.
    Done,
    /// Nothing could move any more, or nothing useful did; with the report.
    Deadlock(String),
    /// A limit of the scenario was reached.
    Limit,
    /// The program computed something else than expected.
    Mismatch,
    /// A component found the model violated; with its words.
    Failed(String),
    /// Stopped from outside.
    Interrupted,
}

impl Status {
    /// Name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Deadlock(_) => "deadlock",
            Self::Limit => "limit",
            Self::Mismatch => "mismatch",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// What there is to say beyond the name.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Deadlock(text) | Self::Failed(text) => Some(text),
            _ => None,
        }
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelResult {
    /// Number of the launch.
    pub number: u32,
    /// Name of the kernel.
    pub name: String,
    /// Work-groups in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a work-group in x, y, z.
    pub block: [u32; 3],
    /// Core cycle of the launch, if it happened.
    pub launched: Option<u64>,
    /// Core cycle of the completion, if it happened.
    pub completed: Option<u64>,
    /// Wavefront instructions of the launch.
    pub wavefront_instructions: u64,
    /// Thread instructions of the launch.
    pub thread_instructions: u64,
}

impl KernelResult {
    /// Core cycles from launch to completion.
    pub fn cycles(&self) -> Option<u64> {
        Some(self.completed? - self.launched?)
    }
}

/// What a simulation gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// How it ended; [`Status::Mismatch`] is for the caller, who knows the checks.
    pub status: Status,
    /// Core cycles from the first launch to the last completion (or to the end of the run, when
    /// launches are incomplete).
    pub cycles: u64,
    /// Simulated seconds of the whole run.
    pub seconds: f64,
    /// Wavefront instructions that compute units issued.
    pub wavefront_instructions: u64,
    /// Thread instructions that compute units issued.
    pub thread_instructions: u64,
    /// Part of the machine's wavefront slots that held a wavefront, over the whole run; `None`
    /// without compute units.
    pub occupancy: Option<f64>,
    /// Every launch in order.
    pub kernels: Vec<KernelResult>,
    /// What the run cost; `None` without coefficients.
    pub energy: Option<EnergyReport>,
    /// Statistics of every instance.
    pub statistics: Vec<InstanceStatistics>,
    /// Per instance: path, kind, cycles by reason in the order of [`Reason::ALL`].
    pub activity: Vec<(String, String, [u64; Reason::ALL.len()])>,
    /// Name of the core clock.
    pub core_clock: String,
    /// Messages sent through channels.
    pub messages: u64,
}

impl Simulated {
    /// Wavefront instructions per core cycle.
    pub fn ipc(&self) -> f64 {
        if self.cycles == 0 {
            0.0
        } else {
            self.wavefront_instructions as f64 / self.cycles as f64
        }
    }
}

impl Scenario {
    /// Runs the program functionally.
    ///
    /// # Errors
    /// A program that cannot be run: bad accesses, endless loops, missing inputs.
    pub fn emulate(&self) -> Result<Executed, ExecuteError> {
        self.workload.execute(&self.emulation)
    }

    /// Builds the system and loads `program`.
    ///
    /// # Errors
    /// Everything wrong with the system, each with its place.
    pub fn machine(
        &self,
        registry: &Registry,
        program: &Arc<Program>,
    ) -> Result<Machine, Diagnostics> {
        let kernel_times = Arc::new(KernelTimes::default());
        let mut environment = Environment::new("", self.seed);
        environment.provide(Arc::clone(program));
        environment.provide(Arc::clone(&kernel_times));
        let system = elaborate(&self.system, registry, &environment, &self.overrides)?;
        if let Some(energy) = &self.energy {
            energy.check(&system.simulation.statistics())?;
        }
        let mut machine = Machine {
            system,
            program: Arc::clone(program),
            kernel_times,
            limits: self.limits,
            seed: self.seed,
            patience: None,
            energy: self.energy.clone(),
            checks: Checks::new(),
            threads: None,
            division: DivisionPlan::default(),
        };
        if self.checks {
            machine.check_protocols();
        }
        Ok(machine)
    }

    /// Builds the system without a program, to see whether it can be built.
    ///
    /// # Errors
    /// As [`Scenario::machine`].
    pub fn check(&self, registry: &Registry) -> Result<Machine, Diagnostics> {
        let program = Program {
            name: String::new(),
            allocations: Vec::new(),
            commands: Vec::new(),
            kernels: Vec::new(),
            front_end: FrontEnd::default(),
        };
        self.machine(registry, &Arc::new(program))
    }
}

impl Machine {
    /// The system as built.
    pub fn system(&self) -> &ElaboratedSystem {
        &self.system
    }

    /// Puts checkers on every memory and launch wire; returns how many. A violation fails the run.
    pub fn check_protocols(&mut self) -> usize {
        if self.checks.is_empty() {
            self.checks = check_protocols(&mut self.system.simulation)
                .expect("ports of the protocols come in bundles");
        }
        self.checks.len()
    }

    /// Messages that checkers have seen.
    pub fn messages_checked(&self) -> u64 {
        self.checks.seen()
    }

    /// Chooses how the engine works; results do not depend on it.
    pub fn set_options(&mut self, options: EngineOptions) {
        self.system.simulation.set_options(options);
    }

    /// The simulation itself, to be watched or stepped from outside.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.system.simulation
    }

    /// Chooses how many threads evaluate; results do not depend on it.
    pub fn set_threads(&mut self, threads: Threads) {
        self.threads = Some(threads);
    }

    /// Divides the system between threads by the work that each part has done so far, if enough was
    /// done since the last time.
    fn divide_when_due(&mut self) {
        let now = self.cycle();
        if now < self.division.next_look {
            return;
        }
        let simulation = &mut self.system.simulation;
        let threads = match self.threads {
            None => {
                self.division.next_look = u64::MAX;
                return;
            }
            Some(Threads::Exactly(threads) | Threads::OneFor(threads)) => threads,
            Some(Threads::UpTo(threads)) => simulation.worthwhile_threads(threads),
        };
        self.division.next_look = now + LOOK_CYCLES;
        let evaluations = simulation.evaluations();
        if evaluations < self.division.enough {
            return;
        }
        let first = FIRST_EVALUATIONS * simulation.instances().len() as u64;
        self.division.enough = first.max(2 * evaluations);
        self.division.made += 1;
        if self.division.made == DIVISIONS {
            self.division.next_look = u64::MAX;
        }
        // Threads that wait for each other's processor at every meeting only lose time.
        let cores = match self.threads {
            Some(Threads::OneFor(_)) => 1,
            _ => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        let options = EngineOptions {
            threads: threads.min(cores),
            ..simulation.options()
        };
        simulation.set_options(options.divided_for(threads));
    }

    /// Runs the program to its end, or to a limit. `progress` is called now and then; `interrupt`
    /// stops the run when it becomes true.
    pub fn simulate(
        &mut self,
        interrupt: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(Progress),
    ) -> Simulated {
        loop {
            let slice = self.cycle().saturating_add(SLICE_CYCLES);
            let status = self.advance(slice, interrupt);
            progress(self.progress());
            if let Some(status) = status {
                return self.results(status);
            }
        }
    }

    /// Core cycles evaluated so far, or 0 before the first.
    pub fn cycle(&self) -> u64 {
        self.system.simulation.now().0 / self.core_period()
    }

    /// How far the simulation has come.
    pub fn progress(&self) -> Progress {
        Progress {
            cycle: self.cycle(),
            kernels_done: self.kernel_times.to_vec().len(),
            kernels: self.program.kernels.len(),
        }
    }

    /// Runs on until core cycle `cycle` has been evaluated; returns how the run ended if it ended
    /// before. In how many pieces a run advances never changes its results.
    pub fn advance(&mut self, cycle: u64, interrupt: &Arc<AtomicBool>) -> Option<Status> {
        let period = self.core_period();
        let ticks = |cycles: u64| cycles.saturating_mul(period);
        let last = self.limits.cycles.map_or(u64::MAX, ticks);
        let target = last.min(ticks(cycle));
        loop {
            self.divide_when_due();
            let patience = self.patience.unwrap_or(ticks(self.limits.silent_cycles));
            let until = target.min(ticks(self.division.next_look));
            let outcome = self.system.simulation.run(&RunLimits {
                until: Some(Tick(until)),
                silence: Some(patience),
                interrupt: Some(Arc::clone(interrupt)),
            });
            return match outcome {
                Outcome::Limit if until == last => Some(Status::Limit),
                Outcome::Limit if until < target => continue,
                Outcome::Limit => None,
                Outcome::Done => {
                    let checked = self.checks.finish();
                    Some(checked.map_or_else(Status::Failed, |()| Status::Done))
                }
                // Nobody waits for anybody: a long copy or computation, not a standstill.
                Outcome::Livelock(report)
                    if report.waits.is_empty() && report.occupied.is_empty() =>
                {
                    self.patience = Some(patience.saturating_mul(2));
                    continue;
                }
                Outcome::Deadlock(report) | Outcome::Livelock(report) => {
                    Some(Status::Deadlock(report.to_string()))
                }
                Outcome::Failed(message) => Some(Status::Failed(message)),
                Outcome::Interrupted => Some(Status::Interrupted),
            };
        }
    }

    /// Ticks per cycle of the core clock.
    pub fn core_period(&self) -> u64 {
        let core = self.system.simulation.clock(&self.system.core_clock);
        let core = core.expect("elaboration checked the core clock");
        self.system.simulation.time().period(core)
    }

    /// What the simulation gave up to now, if it ended with `status`.
    pub fn results(&self, status: Status) -> Simulated {
        self.collect(status, self.core_period())
    }

    fn collect(&self, status: Status, period: u64) -> Simulated {
        let simulation = &self.system.simulation;
        let now_cycle = simulation.now().0 / period;
        let times = self.kernel_times.to_vec();
        let kernels: Vec<_> = self
            .program
            .kernels
            .iter()
            .enumerate()
            .map(|(number, kernel)| {
                let time = times.iter().find(|t| t.kernel as usize == number);
                let counts = kernel.counts();
                KernelResult {
                    number: number as u32,
                    name: kernel.code.name.clone(),
                    grid: kernel.grid,
                    block: kernel.block,
                    launched: time.map(|t| t.launched),
                    completed: time.map(|t| t.completed),
                    wavefront_instructions: counts.instructions,
                    thread_instructions: counts.thread_instructions,
                }
            })
            .collect();
        let first = kernels.iter().filter_map(|k| k.launched).min();
        let incomplete = kernels.iter().any(|k| k.completed.is_none());
        let end = kernels
            .iter()
            .filter_map(|k| k.completed)
            .max()
            .filter(|_| !incomplete);
        let statistics = simulation.statistics();
        let sum = |name: &str| {
            statistics
                .iter()
                .filter(|s| s.kind == ComputeUnit::NAME)
                .filter_map(|s| s.counter(name))
                .sum()
        };
        let (held, slots) = statistics
            .iter()
            .filter(|s| s.kind == ComputeUnit::NAME)
            .filter_map(|s| match s.get("occupancy") {
                Some(Value::Ratio { part, whole }) => Some((*part, *whole)),
                _ => None,
            })
            .fold((0, 0), |(p, w), (part, whole)| (p + part, w + whole));
        let wavefront_instructions: u64 = sum("wavefront_instructions");
        let expected = self
            .program
            .kernels
            .iter()
            .map(|k| k.wavefront_instructions())
            .sum::<u64>();
        let status = if status == Status::Done && wavefront_instructions != expected {
            Status::Failed(format!(
                "the compute units issued {wavefront_instructions} wavefront instructions, the \
                 program has {expected}: every work-group must run exactly once"
            ))
        } else {
            status
        };
        let activity = simulation
            .instances()
            .enumerate()
            .map(|(i, (path, kind))| (path.to_owned(), kind.to_owned(), simulation.activity(i)))
            .collect();
        let cycles = first.map_or(0, |f| end.unwrap_or(now_cycle) - f);
        let energy = self.energy.as_ref().map(|energy| {
            let seconds = simulation.time().seconds(Tick(cycles * period));
            energy.report(&statistics, seconds)
        });
        Simulated {
            status,
            cycles,
            energy,
            seconds: simulation.time().seconds(simulation.now()),
            wavefront_instructions,
            thread_instructions: sum("thread_instructions"),
            occupancy: (slots > 0).then(|| held as f64 / slots as f64),
            kernels,
            statistics,
            activity,
            core_clock: self.system.core_clock.clone(),
            messages: simulation.messages(),
        }
    }
}
