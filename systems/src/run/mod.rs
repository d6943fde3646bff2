//! Runs of a scenario: emulate the program, build the machine, replay the program on it.
//!
//! A [`Machine`] is a system with its program loaded. `ahead.rs` overlaps emulation with
//! simulation, and `division.rs` partitions the machine between threads. `measure/` samples its
//! statistics, `region/` runs a part of its program, and `pauses.rs` does what takes no time.
//! `results.rs` collects its results, `checkpoint.rs` saves it, and `state_log.rs` hashes its state
//! during the run.

mod ahead;
mod checkpoint;
mod corrupt;
mod division;
mod held_launches;
mod measure;
mod pauses;
mod region;
mod results;
mod state_log;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tracing::debug_span;
use warpweave_accesses::Head;
use warpweave_components::artefact::Artefacts;
use warpweave_components::checkers::{check_protocols, check_stale_reads};
use warpweave_components::compute_unit::DecodedPrograms;
use warpweave_components::kernel_times::{KernelTimes, Moment};
use warpweave_components::launch_plan::LaunchPlan;
use warpweave_components::launch_unit::LaunchUnit;
use warpweave_components::locality_plan::LocalityPlan;
use warpweave_components::reuse_profile::ReuseProfile;
use warpweave_components::roles;
use warpweave_components::work_group_table::WorkGroupTable;
use warpweave_files::{Ledger, OutputError};
use warpweave_framework::verify::Checks;
use warpweave_framework::{
    EngineOptions, Environment, InstanceStatistics, Kind as _, Outcome, Registry, RunLimits,
    Simulation, Tick, Value,
};
use warpweave_params::{Diagnostic, Diagnostics};
use warpweave_trace::{KernelTrace, Program};

pub use self::ahead::EmulationAhead;
pub use self::checkpoint::MachineCheckpointError;
use self::division::DivisionPlan;
pub use self::division::Threads;
use self::held_launches::held_launches;
use self::measure::{Clockwork, Measurement};
pub use self::measure::{Interval, LazyMeasured, Measured};
use self::pauses::HostPauses;
use self::region::RegionRun;
pub use self::region::{Estimate, Part, RegionResult};
pub use self::results::{EngineActivity, KernelResult, KernelTime, Simulated, Status};
pub use self::state_log::{ReadLog, ReadLogError, StateLog};
use crate::elaboration::{ElaboratedSystem, elaborate};
use crate::host_program::ProgramDemands;
use crate::limits::Limits;
use crate::scenario::{Observation, Scenario};
use crate::taps::{StartLogError, Taps};

/// Core cycles between two progress updates.
const SLICE_CYCLES: u64 = 16_384;

/// System with its program loaded, ready to simulate.
pub struct Machine {
    pub(crate) system: ElaboratedSystem,
    pub(crate) program: Arc<Program>,
    kernel_times: Arc<KernelTimes>,
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
    /// Observers that the scenario asks for.
    pub(crate) observation: Observation,
    /// Protocol checkers on the wires, if enabled.
    checks: Checks,
    threads: Option<Threads>,
    division: DivisionPlan,
    /// Measurements so far, shared with results that are computed from it later.
    measurement: Arc<Measurement>,
    /// Analyses that are attached to ports.
    taps: Taps,
    /// Work that the host pauses for.
    pauses: HostPauses,
    /// Simulated region of the program; `None` for all of it.
    region: Option<RegionRun>,
    /// True if the state came from a checkpoint, which may hold a state that no run can reach.
    pub(crate) resumed: bool,
    /// Ledger that is charged for the machine's memory.
    pub(crate) ledger: Ledger,
}

/// Progress of a simulation, for display.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Core cycles that were simulated so far.
    pub cycle: u64,
    /// Number of kernel launches that have completed.
    pub kernels_done: usize,
    /// Number of launches to be simulated in total.
    pub kernels: usize,
}

/// Rejects a program with device-side launches if no component of the system accepts them.
fn takes_launches(program: &Program, system: &ElaboratedSystem) -> Result<(), Diagnostic> {
    let mut launched = program.kernels.iter().zip(0..);
    let Some((kernel, number)) = launched.find(|(kernel, _)| kernel.parent.is_some()) else {
        return Ok(());
    };
    let mut kinds = system.simulation.instances().map(|(_, kind)| kind);
    if kinds.any(|kind| kind == LaunchUnit::NAME) {
        return Ok(());
    }
    let message = format!(
        "kernel {number}, `{}`, is launched from the device, but no component of the system accepts such launches",
        kernel.code.name
    );
    Err(Diagnostic::error(message).hint(
        "add a `LaunchUnit`, wired from `launches` of every compute unit and to `device` of the `Gmu`, as in systems/laser.ron",
    ))
}

/// Returns an environment for building a component without a program, for inspection.
pub fn empty_environment() -> Environment {
    let program = Arc::new(Program::default());
    let mut artefacts = Artefacts::of(Arc::clone(&program));
    artefacts.add(program.hash(), ReuseProfile::default());
    artefacts.add(program.hash(), LocalityPlan::default());
    artefacts.add(program.hash(), WorkGroupTable::default());
    environment(0, &program, artefacts, &Arc::default())
}

fn environment(
    seed: u64,
    program: &Arc<Program>,
    artefacts: Artefacts,
    kernel_times: &Arc<KernelTimes>,
) -> Environment {
    let mut environment = Environment::new("", seed);
    environment.provide(Arc::new(artefacts));
    environment.provide(Arc::clone(program));
    environment.provide(Arc::new(DecodedPrograms::default()));
    environment.provide(Arc::clone(kernel_times));
    environment
}

impl Machine {
    /// Builds the system of a scenario and loads `program` on it.
    ///
    /// # Errors
    /// Returns every problem of the system, each with its location.
    pub fn of(
        scenario: &Scenario,
        registry: &Registry,
        program: &Arc<Program>,
    ) -> Result<Self, Diagnostics> {
        let profile = || crate::profile::compute(program);
        let locality = || crate::locality::compute(program);
        Self::with_analyses(scenario, registry, program, profile, locality)
    }

    /// Like [`Machine::of`], for many runs of one program. `profile` and `locality` supply its
    /// reuse profile and its locality plan if the scenario asks for computed ones.
    ///
    /// # Errors
    /// Fails like [`Machine::of`].
    pub fn with_analyses(
        scenario: &Scenario,
        registry: &Registry,
        program: &Arc<Program>,
        profile: impl FnOnce() -> ReuseProfile,
        locality: impl FnOnce() -> LocalityPlan,
    ) -> Result<Self, Diagnostics> {
        let mut artefacts = Artefacts::of(Arc::clone(program));
        if let Some(known) = &scenario.analyses.profile {
            known.add_to(&mut artefacts, program, profile);
        }
        if let Some(known) = &scenario.analyses.locality {
            known.add_to(&mut artefacts, program, locality);
        }
        if let Some(known) = &scenario.analyses.work_groups {
            artefacts.add(program.hash(), known.table.clone());
        }
        Self::with_artefacts(scenario, registry, program, artefacts)
    }

    /// Like [`Machine::of`], with artefacts of program analyses for the policies that request
    /// them.
    ///
    /// # Errors
    /// Fails like [`Machine::of`], and if a policy's artefact is missing or belongs to
    /// another program.
    pub fn with_artefacts(
        scenario: &Scenario,
        registry: &Registry,
        program: &Arc<Program>,
        artefacts: Artefacts,
    ) -> Result<Self, Diagnostics> {
        let _span = debug_span!("elaborate").entered();
        let kernel_times = Arc::new(KernelTimes::default());
        let region = scenario
            .region
            .as_ref()
            .filter(|_| !program.commands.is_empty());
        let region = region.map(|region| RegionRun::new(region, program));
        let region = region.transpose()?;
        let ledger = Ledger::new(&scenario.ledger.budget());
        let environment = environment(scenario.seed, program, artefacts, &kernel_times);
        let mut environment = environment.charged_to(&ledger);
        let ProgramDemands {
            mut demands,
            places,
            ..
        } = scenario.work.demands(program, &scenario.emulation);
        demands.launches = held_launches(
            demands.launches,
            program,
            region.as_ref().map(|region| &*region.plan),
            scenario.region.as_ref(),
        );
        environment.provide(Arc::new(demands));
        let plan = region.as_ref().map_or_else(
            || Arc::new(LaunchPlan::new(Vec::new())),
            |region| Arc::clone(&region.plan),
        );
        environment.provide(Arc::clone(&plan));
        let system = elaborate(
            &scenario.system,
            registry,
            &environment,
            &scenario.overrides,
            &scenario.limits,
            places,
        )?;
        takes_launches(program, &system)?;
        if let Some(energy) = &scenario.observation.energy {
            energy.check(&system.simulation.statistics())?;
        }
        let mut machine = Self {
            system,
            program: Arc::clone(program),
            kernel_times,
            limits: scenario.limits,
            seed: scenario.seed,
            observation: scenario.observation.clone(),
            checks: Checks::new(),
            threads: None,
            division: DivisionPlan::default(),
            measurement: Arc::default(),
            taps: Taps::default(),
            pauses: HostPauses::new(plan),
            region,
            resumed: false,
            ledger,
        };
        let period = machine.core_period();
        let simulation = &mut machine.system.simulation;
        machine.pauses.prepare(simulation)?;
        machine.taps = Taps::attach(
            &scenario.observation.taps,
            simulation,
            period,
            &machine.program,
        )?;
        if scenario.observation.measure.kernels {
            machine.kernel_times.pause_at_kernels();
            let counted = &machine.ledger;
            machine
                .taps
                .count_by_kernel(simulation, &machine.program, counted);
        }
        if scenario.observation.checks {
            machine.check_protocols();
        }
        Ok(machine)
    }

    /// Builds the system without a program, to check that it can be built.
    ///
    /// # Errors
    /// Fails like [`Machine::of`].
    pub fn without_program(scenario: &Scenario, registry: &Registry) -> Result<Self, Diagnostics> {
        let program = Arc::new(Program::default());
        let mut artefacts = Artefacts::of(Arc::clone(&program));
        if scenario.analyses.profile.is_some() {
            artefacts.add(program.hash(), ReuseProfile::default());
        }
        if scenario.analyses.locality.is_some() {
            artefacts.add(program.hash(), LocalityPlan::default());
        }
        if let Some(known) = &scenario.analyses.work_groups {
            artefacts.add(program.hash(), known.table.clone());
        }
        Self::with_artefacts(scenario, registry, &program, artefacts)
    }

    /// Returns the elaborated system of the machine.
    pub fn system(&self) -> &ElaboratedSystem {
        &self.system
    }

    /// Attaches checkers to every memory and launch wire and returns their number. A violation
    /// fails the run, and so does a read of data older than an earlier kernel left them.
    pub fn check_protocols(&mut self) -> usize {
        if self.checks.is_empty() {
            // Accesses that warm the caches, or empty them, write without messages.
            let replays = self.region.as_ref().is_some_and(RegionRun::replays);
            if !replays && !self.pauses.flush_caches() {
                let simulation = &mut self.system.simulation;
                check_stale_reads(simulation, &self.program, &self.ledger)
                    .expect("ports of the protocols come in bundles");
            }
            self.checks = check_protocols(&mut self.system.simulation)
                .expect("ports of the protocols come in bundles");
        }
        self.checks.len()
    }

    /// Returns the number of messages the checkers have seen.
    pub fn messages_checked(&self) -> u64 {
        self.checks.seen()
    }

    /// Sets the engine options, which do not affect results.
    pub fn set_options(&mut self, options: EngineOptions) {
        self.system.simulation.set_options(options);
    }

    /// Returns the simulation itself, to be observed or stepped from outside.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.system.simulation
    }

    /// Runs the program to its end, or to a limit. `progress` is called periodically; `interrupt`
    /// stops the run when it becomes true.
    pub fn simulate(
        &mut self,
        interrupt: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(Progress),
    ) -> Simulated {
        let _span = debug_span!("simulate").entered();
        loop {
            let slice = self.cycle().saturating_add(SLICE_CYCLES);
            let status = self.advance(slice, interrupt);
            progress(self.progress());
            if let Some(status) = status {
                return self.results(status);
            }
        }
    }

    /// Returns the core cycles evaluated so far, or 0 before the first.
    pub fn cycle(&self) -> u64 {
        self.system.simulation.now().0 / self.core_period()
    }

    /// Returns the progress of the simulation.
    pub fn progress(&self) -> Progress {
        Progress {
            cycle: self.cycle(),
            kernels_done: self.kernel_times.count(Moment::Completed),
            kernels: self.simulated_kernels().count(),
        }
    }

    /// Returns the launches to be simulated, with their numbers.
    fn simulated_kernels(&self) -> impl Iterator<Item = (u32, &Arc<KernelTrace>)> {
        let kernels = (0_u32..).zip(&self.program.kernels);
        kernels.filter(|(number, _)| {
            let region = self.region.as_ref();
            region.is_none_or(|region| region.simulates(*number))
        })
    }

    /// Returns the completed and total simulated work-groups, or `None` if no part counts them
    /// ([`roles::WORK_GROUPS`]). Collects statistics from every part.
    pub fn work_groups(&self) -> Option<(u64, u64)> {
        let statistics = self.system.simulation.statistics();
        let mut counts = statistics
            .iter()
            .flat_map(|instance| instance.playing(roles::WORK_GROUPS))
            .filter_map(|value| match value {
                Value::Counter(count) => Some(*count),
                _ => None,
            })
            .peekable();
        counts.peek()?;
        let grids = self.simulated_kernels().map(|(_, kernel)| kernel.grid);
        let all = grids.map(|grid| grid.iter().map(|axis| u64::from(*axis)).product::<u64>());
        Some((counts.sum(), all.sum()))
    }

    /// Runs until core cycle `cycle` has been evaluated. Returns the final status if the run ends
    /// before. Dividing a run into slices never changes its results.
    ///
    /// A failed assertion in a component fails the run, rather than panicking, if the state came
    /// from a checkpoint, whose contents are not validated.
    pub fn advance(&mut self, cycle: u64, interrupt: &Arc<AtomicBool>) -> Option<Status> {
        if !self.resumed {
            return self.run_on(cycle, interrupt);
        }
        let run = corrupt::from_checkpoint(|| self.run_on(cycle, interrupt));
        run.unwrap_or_else(|problem| Some(Status::Failed(format!("corrupt checkpoint: {problem}"))))
    }

    fn run_on(&mut self, cycle: u64, interrupt: &Arc<AtomicBool>) -> Option<Status> {
        let period = self.core_period();
        let ticks = |cycles: u64| cycles.saturating_mul(period);
        let last = self.limits.cycles.map_or(u64::MAX, ticks);
        let target = last.min(ticks(cycle));
        loop {
            self.divide_when_due();
            let cut = self
                .measurement
                .next_cut(&self.clockwork())
                .unwrap_or(u64::MAX);
            let mut until = target.min(ticks(self.division.next_look)).min(cut);
            if let Some(pause) = self.pauses.due() {
                until = until.min(pause.0);
            }
            if !self.taps.is_empty() {
                // What is heard is kept until then.
                until = until.min(ticks(self.cycle().saturating_add(SLICE_CYCLES)));
            }
            let outcome = self.system.simulation.run(&RunLimits {
                until: Some(Tick(until)),
                silence: Some(ticks(self.limits.silent_cycles)),
                interrupt: Some(Arc::clone(interrupt)),
            });
            if let Err(error) = self.taps.hear() {
                return Some(Status::Failed(error.to_string()));
            }
            self.look();
            if let Err(error) = self
                .pauses
                .serve(&mut self.system.simulation, self.region.as_ref())
            {
                return Some(Status::Failed(error));
            }
            if !matches!(
                outcome,
                Outcome::Paused | Outcome::Limit | Outcome::Interrupted
            ) && let Some(failure) = self.unread()
            {
                return Some(Status::Failed(failure));
            }
            return match outcome {
                Outcome::Paused => continue,
                Outcome::Limit if until == last => Some(Status::Limit),
                Outcome::Limit if until < target => continue,
                Outcome::Limit => None,
                Outcome::Done => {
                    let checked = self.checks.finish();
                    Some(checked.map_or_else(Status::Failed, |()| Status::Done))
                }
                Outcome::Deadlock(report) | Outcome::Livelock(report) => {
                    Some(Status::Deadlock(report.to_string()))
                }
                Outcome::Failed(message) => Some(Status::Failed(message)),
                Outcome::Interrupted => Some(Status::Interrupted),
            };
        }
    }

    /// Returns the reason why a stream of the program could not be read to its end.
    fn unread(&self) -> Option<String> {
        let mut kernels = self.program.kernels.iter();
        let failure = kernels.find_map(|kernel| kernel.failure());
        failure.map(str::to_owned)
    }

    /// Samples the statistics if a measured interval or kernel ends now.
    fn look(&mut self) {
        let mut measurement = std::mem::take(&mut self.measurement);
        let now = self.system.simulation.now().0;
        let simulation = &self.system.simulation;
        let (taps, cycle) = (&self.taps, self.cycle());
        Arc::make_mut(&mut measurement).look(now, &self.clockwork(), |look| {
            simulation.growing(look);
            taps.growing(cycle, Tick(now), look);
        });
        self.measurement = measurement;
    }

    fn clockwork(&self) -> Clockwork<'_> {
        Clockwork {
            measure: &self.observation.measure,
            times: &self.kernel_times,
            launches: self.program.kernels.len() as u32,
            period: self.core_period(),
            delay: self.system.simulation.stop_delay(),
        }
    }

    /// Starts logging every request at the `Accesses` taps to a file at `path`.
    ///
    /// # Errors
    /// Fails if the scenario has no such tap, or if the file cannot be written.
    pub fn log_accesses(&mut self, path: &Path) -> Result<(), StartLogError> {
        let core_period = self.core_period();
        let kernels = self.program.kernels.iter();
        let head = Head {
            program: self.program.name.clone(),
            trace_hash: self.program.hash().to_string(),
            core_period,
            core_cycle_s: self.system.simulation.time().seconds(Tick(core_period)),
            kernels: kernels.map(|kernel| kernel.code.name.clone()).collect(),
            parents: self
                .program
                .kernels
                .iter()
                .map(|kernel| kernel.parent)
                .collect(),
            ports: Vec::new(),
        };
        self.taps.start_log(path, head)
    }

    /// Completes the log of accesses, if there is one.
    ///
    /// # Errors
    /// Returns any write error, including those that occurred earlier.
    pub fn finish_log(&mut self) -> Result<(), OutputError> {
        self.taps.finish_log()
    }

    /// Returns the statistics of every instance and every tap.
    pub fn statistics(&self) -> Vec<InstanceStatistics> {
        let simulation = &self.system.simulation;
        let mut statistics = simulation.statistics();
        statistics.extend(self.taps.statistics(self.cycle(), simulation.now()));
        statistics
    }

    /// Returns the ticks per cycle of the core clock.
    pub fn core_period(&self) -> u64 {
        let core = self.system.simulation.clock(&self.system.core_clock);
        let core = core.expect("elaboration checked the core clock");
        self.system.simulation.time().period(core)
    }
}
