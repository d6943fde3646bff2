//! The machine under measurement, and runs of a program on it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use thiserror::Error;
use warpweave_components::roles;
use warpweave_files::{Budget, Ledger};
use warpweave_framework::{InstanceStatistics, Registry, Value};
use warpweave_params::Diagnostics;
use warpweave_systems::{KernelResult, Machine, Scenario, Simulated, Status};
use warpweave_trace::{KernelTrace, Program, TraceError};

use crate::programs::{Grid, kernel, program};

/// Name of the statistic whose suffix is the level that supplied a load's data.
const LATENCY_BY_LEVEL: &str = "load_latency_";

/// Accesses of each wavefront in the shorter run of a bandwidth, at least.
pub(crate) const ACCESSES: u64 = 32;

/// Accesses of each wavefront with which the search on a large machine begins.
const FIRST_TRIED: u64 = 4;

/// Work of a run in times of the dispatch of its work-groups. Source: own choice.
const OUTLASTED: u64 = 2;

/// Error of a measurement.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The machine cannot be described or built.
    #[error("{0}")]
    Machine(Diagnostics),
    /// A program cannot be kept.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A temporary file cannot be made.
    #[error("cannot create a file in the folder for temporary files: {0}")]
    Temporary(#[from] io::Error),
    /// A run did not end as it should; holds the reason.
    #[error("{0}")]
    Run(String),
}

impl From<Diagnostics> for ProbeError {
    fn from(problems: Diagnostics) -> Self {
        Self::Machine(problems)
    }
}

/// Machine of a system file on which programs run.
pub struct Bench<'a> {
    scenario: Scenario,
    registry: &'a Registry,
    budget: Budget,
    /// Number of compute units.
    units: u32,
}

/// Outcome of a run: the time of the last kernel, and the loads of all.
pub(crate) struct Run {
    /// Core cycles from the last kernel's launch to its completion.
    pub(crate) cycles: u64,
    /// Core cycles from the first launch to the last completion.
    pub(crate) whole: u64,
    /// Number of loads and the sum of their latencies in core cycles, by level.
    pub(crate) loads: BTreeMap<String, (u64, u64)>,
}

impl<'a> Bench<'a> {
    /// Reads the system file at `system`, with the overrides `sets` (`path=value`). Memory is
    /// charged to `budget`.
    ///
    /// # Errors
    /// Returns an error if the system has mistakes or a temporary file cannot be made.
    pub fn new(
        system: &Path,
        sets: &[String],
        registry: &'a Registry,
        budget: &Budget,
    ) -> Result<Self, ProbeError> {
        let folder = tempfile::Builder::new().prefix("warpweave-").tempdir()?;
        let nothing = program(vec![kernel(&Ledger::new(budget), Grid::SINGLE, |_| [])?]);
        let path: PathBuf = folder.path().join("probe.trace");
        nothing.save(&path)?;
        let scenario = Scenario::of_trace(&path, system, sets, budget)?;
        let mut bench = Self {
            scenario,
            registry,
            budget: budget.clone(),
            units: 0,
        };
        let machine = bench.machine(&nothing)?;
        // The dispatcher counts work-groups, units count instructions.
        let unit = roles::WAVEFRONT_INSTRUCTIONS;
        let reports = |s: &InstanceStatistics| s.playing(unit).next().is_some();
        let statistics = machine.statistics();
        bench.units = statistics.iter().filter(|s| reports(s)).count().max(1) as u32;
        Ok(bench)
    }

    /// Returns the number of compute units.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Returns how often wavefronts of all units repeat what they do, `least` times at least. On
    /// large machines their work outlasts the dispatch of their work-groups in any case.
    pub(crate) fn repeats(&self, least: u64) -> u64 {
        least.max(2 * u64::from(self.units))
    }

    /// Returns the problems of the machine that do not prevent its use.
    pub fn warnings(&self) -> &Diagnostics {
        self.scenario.warnings()
    }

    /// Returns the core cycles in a second.
    ///
    /// # Errors
    /// Returns an error if the machine cannot be built.
    pub(crate) fn clock_hz(&self) -> Result<f64, ProbeError> {
        let machine = self.machine(&program(Vec::new()))?;
        let time = machine.system().simulation.time();
        let period = warpweave_framework::Tick(machine.core_period());
        Ok(1.0 / time.seconds(period))
    }

    fn machine(&self, program: &Arc<Program>) -> Result<Machine, ProbeError> {
        Ok(Machine::of(&self.scenario, self.registry, program)?)
    }

    /// Runs kernels one after the other.
    ///
    /// # Errors
    /// Returns an error if the run does not complete.
    pub(crate) fn run(&self, kernels: Vec<KernelTrace>) -> Result<Run, ProbeError> {
        let program = program(kernels);
        // The machine was built without these kernels, so that it refuses them, not itself.
        let mut machine = self.machine(&program).map_err(|error| match error {
            ProbeError::Machine(problems) if !problems.is_of_host() => {
                let first = problems.iter().next();
                ProbeError::Run(first.map_or_else(String::new, |first| first.message.clone()))
            }
            other => other,
        })?;
        let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
        match &simulated.status {
            Status::Done => Ok(Run::of(&simulated)),
            other => {
                let detail = other.detail().unwrap_or(other.name());
                let first = detail.lines().next().unwrap_or_default();
                Err(ProbeError::Run(first.to_owned()))
            }
        }
    }

    /// Runs the kernels of an amount of work on a grid, and those of twice the amount. Returns the
    /// amount, that of [`repeats`](Self::repeats). On large machines it is the first one from
    /// `floor` on by which the run outlasts dispatch.
    ///
    /// # Errors
    /// Returns an error if a run does not complete.
    pub(crate) fn steady(
        &self,
        grid: Grid,
        floor: u64,
        kernels: impl Fn(&Ledger, u64) -> Result<Vec<KernelTrace>, TraceError>,
    ) -> Result<(u64, Pair), ProbeError> {
        let repeats = self.repeats(ACCESSES);
        let most = repeats.max(floor);
        if repeats == ACCESSES || floor >= most {
            return Ok((most, self.pair(most, &kernels)?));
        }
        let starting = |grid| {
            let ledger = Ledger::new(&self.budget);
            self.run(vec![kernel(&ledger, grid, |_| [])?])
        };
        let (all, one) = (starting(grid)?.cycles, starting(Grid::SINGLE)?.cycles);
        let enough = all + OUTLASTED * all.saturating_sub(one);
        let working = |amount| {
            let ledger = Ledger::new(&self.budget);
            self.run(kernels(&ledger, amount)?)
        };
        let mut amount = floor.max(FIRST_TRIED);
        let mut less = working(amount)?;
        while less.cycles < enough && amount < most {
            amount = (2 * amount).min(most);
            less = working(amount)?;
        }
        let more = working(2 * amount)?;
        Ok((amount, Pair { less, more }))
    }

    /// Runs the kernels of an amount of work, and those of twice the amount. They are charged to
    /// the ledger that they are given.
    ///
    /// # Errors
    /// Returns an error if a run does not complete.
    pub(crate) fn pair(
        &self,
        amount: u64,
        kernels: impl Fn(&Ledger, u64) -> Result<Vec<KernelTrace>, TraceError>,
    ) -> Result<Pair, ProbeError> {
        let run = |amount| {
            let ledger = Ledger::new(&self.budget);
            self.run(kernels(&ledger, amount)?)
        };
        Ok(Pair {
            less: run(amount)?,
            more: run(2 * amount)?,
        })
    }
}

impl Run {
    fn of(simulated: &Simulated) -> Self {
        let last = simulated.kernels.last();
        let mut loads = BTreeMap::<String, (u64, u64)>::new();
        for statistic in simulated.statistics.iter().flat_map(|s| &s.values) {
            let level = statistic.name.strip_prefix(LATENCY_BY_LEVEL);
            if let (Some(level), Value::Ratio { part, whole }) = (level, &statistic.value) {
                let entry = loads.entry(level.to_owned()).or_default();
                entry.0 += whole;
                entry.1 += part;
            }
        }
        Self {
            cycles: last.and_then(KernelResult::cycles).unwrap_or(0),
            whole: simulated.cycles,
            loads,
        }
    }
}

/// Runs that differ in the amount of work only.
pub(crate) struct Pair {
    pub(crate) less: Run,
    pub(crate) more: Run,
}

impl Pair {
    /// Returns the core cycles that the additional work took.
    pub(crate) fn cycles(&self) -> f64 {
        self.more.cycles as f64 - self.less.cycles as f64
    }

    /// Returns the levels that supplied the additional loads, with their shares in percent, the
    /// largest first.
    pub(crate) fn levels(&self) -> Vec<(String, f64)> {
        let before = |level: &str| self.less.loads.get(level).map_or(0, |loads| loads.0);
        let loads = self.more.loads.iter();
        let counts = loads.map(|(level, loads)| (level, loads.0.saturating_sub(before(level))));
        let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let share = |count: u64| 100.0 * count as f64 / all as f64;
        let mut levels: Vec<_> = counts
            .into_iter()
            .map(|(level, count)| (level.clone(), share(count)))
            .collect();
        levels.sort_by(|a, b| b.1.total_cmp(&a.1));
        levels
    }
}
