//! Promises that every policy makes, and the tests that show a broken one.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_components::artefact::Artefacts;
use warpweave_framework::{EngineOptions, Order, Registry};
use warpweave_params::Diagnostics;
use warpweave_systems::{Machine, Scenario, Simulated, Status, profile};
use warpweave_trace::Program;

use crate::earlier::EarlierRuns;
use crate::plan::plan;

/// Cycle limit of a run: a multiple of the default policy's cycles, plus a constant number of
/// cycles.
pub(super) const STARVED_AFTER: (u64, u64) = (20, 20_000);

/// Property that every policy must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConformanceProperty {
    /// Every work-group runs exactly once, and no protocol is violated.
    Once,
    /// Nothing starves: a run ends within `STARVED_AFTER`.
    NoStarvation,
    /// The same machine gives the same results in every run.
    Repeatable,
    /// Results do not depend on the evaluation order of components or on which of them sleep.
    AnyOrder,
    /// Results do not depend on the number of threads.
    AnyThreads,
    /// A run that is checkpointed and resumed gives the results of an uninterrupted one.
    Checkpoints,
    /// The policy changes nothing when it is disabled by its specification.
    NeutralSpec,
}

impl ConformanceProperty {
    /// All promises in the order in which they are checked; later ones rely on earlier ones.
    pub const ALL: [Self; 7] = [
        Self::Once,
        Self::NoStarvation,
        Self::Repeatable,
        Self::AnyOrder,
        Self::AnyThreads,
        Self::Checkpoints,
        Self::NeutralSpec,
    ];

    /// True if protocol checkers watch the wires. Checker state cannot be saved, so they run only
    /// for promises that need them.
    pub(super) fn needs_checkers(self) -> bool {
        self == Self::Once
    }
}

impl fmt::Display for ConformanceProperty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Once => "every work-group runs exactly once and no protocol is violated",
            Self::NoStarvation => "nothing waits forever",
            Self::Repeatable => "repeated runs give the same results",
            Self::AnyOrder => "results do not depend on the order of evaluation or on sleeping",
            Self::AnyThreads => "results do not depend on the number of threads",
            Self::Checkpoints => "a saved and resumed run gives the same results",
            Self::NeutralSpec => "with its neutral settings, it changes nothing",
        })
    }
}

/// Verdict of one case: the promise is kept or broken, or the machine refuses the policy.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    Kept,
    /// The machine cannot be built with this policy.
    Refused(Diagnostics),
    Broken(String),
}

/// Name of a run that several promises compare with, and the place where it is kept.
pub(super) struct FirstRun<'a> {
    pub(super) earlier: &'a EarlierRuns,
    pub(super) case: String,
}

/// Scenario under test with its emulated program.
pub(super) struct TrialRun<'a> {
    pub(super) registry: &'a Registry,
    pub(super) scenario: Scenario,
    pub(super) program: Arc<Program>,
    /// True for a generated program, which gets every artefact that a policy may need.
    is_generated: bool,
}

impl<'a> TrialRun<'a> {
    /// Loads the scenario with these overrides and emulates it, to test `promise` in it.
    pub(super) fn load(
        registry: &'a Registry,
        promise: ConformanceProperty,
        path: &Path,
        sets: &[String],
    ) -> Result<Self, Diagnostics> {
        let mut scenario = Scenario::load(path, sets)?;
        scenario.observation.checks = promise.needs_checkers();
        let executed = scenario
            .emulate()
            .map_err(|error| warpweave_params::Diagnostic::error(error.to_string()))?;
        Ok(Self {
            registry,
            scenario,
            program: executed.program,
            is_generated: false,
        })
    }

    /// Marks the program as a generated one.
    pub(super) fn generated(self) -> Self {
        Self {
            is_generated: true,
            ..self
        }
    }

    fn machine(&self, options: EngineOptions) -> Result<Machine, Diagnostics> {
        let (scenario, registry, program) = (&self.scenario, self.registry, &self.program);
        let mut machine = if self.is_generated {
            let (trace, mut artefacts) = (program.hash(), Artefacts::of(Arc::clone(program)));
            artefacts.add(trace, profile::compute(program));
            artefacts.add(trace, plan(program));
            Machine::with_artefacts(scenario, registry, program, artefacts)?
        } else {
            Machine::of(scenario, registry, program)?
        };
        machine.set_options(options);
        Ok(machine)
    }

    /// Runs to the end, or up to a limit in core cycles.
    fn run(&self, options: EngineOptions, limit: Option<u64>) -> Result<Simulated, Diagnostics> {
        let mut machine = self.machine(options)?;
        Ok(finish(&mut machine, limit))
    }

    /// Returns the maximum core cycles of a run, from a run with the default policy.
    pub(super) fn bound(&self) -> Result<u64, Diagnostics> {
        let usual = self.run(EngineOptions::default(), None)?;
        Ok(usual.cycles * STARVED_AFTER.0 + STARVED_AFTER.1)
    }

    /// Checks one promise in this scenario. `bound` is the maximum number of core cycles of a run.
    /// `without` holds two trials: the reference without the policy, and the one with the policy
    /// disabled.
    pub(super) fn check(
        &self,
        promise: ConformanceProperty,
        bound: u64,
        first: FirstRun<'_>,
        without: Option<(&TrialRun<'_>, &TrialRun<'_>)>,
    ) -> Verdict {
        let checked = catch_unwind(AssertUnwindSafe(|| {
            self.try_check(promise, bound, &first, without)
        }));
        match checked {
            Ok(Ok(None)) => Verdict::Kept,
            Ok(Ok(Some(broken))) => Verdict::Broken(broken),
            Ok(Err(problems)) => Verdict::Refused(problems),
            Err(panic) => {
                let said = panic.downcast_ref::<String>().map(String::as_str);
                let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
                Verdict::Broken(format!(
                    "it panics: {}",
                    said.unwrap_or("without a message")
                ))
            }
        }
    }

    fn try_check(
        &self,
        promise: ConformanceProperty,
        bound: u64,
        first: &FirstRun<'_>,
        without: Option<(&TrialRun<'_>, &TrialRun<'_>)>,
    ) -> Result<Option<String>, Diagnostics> {
        let plain = EngineOptions::default();
        let run = || self.run(plain, Some(bound));
        let first = first.earlier.first(&first.case, run)?;
        let ended = match (&first.status, promise) {
            (Status::Done, _) => true,
            (Status::Limit | Status::Deadlock(_), ConformanceProperty::NoStarvation) => {
                return Ok(Some(format!(
                    "{}; the limit was {bound} cycles",
                    told(&first)
                )));
            }
            (Status::Limit | Status::Deadlock(_), _) => false,
            (_, ConformanceProperty::Once) => return Ok(Some(told(&first))),
            _ => false,
        };
        if !ended {
            // Another promise says so.
            return Ok(None);
        }
        let differs = |how: &str, other: &Simulated| difference(&first, other, how);
        Ok(match promise {
            ConformanceProperty::Once | ConformanceProperty::NoStarvation => None,
            ConformanceProperty::Repeatable => differs("run again", &self.run(plain, Some(bound))?),
            ConformanceProperty::AnyOrder => {
                let mut found = None;
                for seed in [1, 2, 3] {
                    let order = Order::Shuffled { seed };
                    let other = self.run(EngineOptions { order, ..plain }, Some(bound))?;
                    found = found.or_else(|| differs("evaluated in another order", &other));
                }
                let awake = EngineOptions {
                    sleeping: false,
                    ..plain
                };
                let awake = self.run(awake, Some(bound))?;
                found.or_else(|| differs("kept awake", &awake))
            }
            ConformanceProperty::AnyThreads => {
                let mut found = None;
                for threads in [2, 3, 5, 8] {
                    let divided = plain.divided_for(threads);
                    let other = self.run(EngineOptions { threads, ..divided }, Some(bound))?;
                    let how = format!("on {threads} threads");
                    found = found.or_else(|| differs(&how, &other));
                }
                found
            }
            ConformanceProperty::Checkpoints => self.parted_by_checkpoint(&first, bound)?,
            ConformanceProperty::NeutralSpec => match without {
                None => None,
                Some((usual, without)) => {
                    let usual = usual.run(plain, None)?;
                    let without = without.run(plain, Some(bound))?;
                    let times = |run: &Simulated| run.kernels.clone();
                    (times(&usual) != times(&without)).then(|| {
                        format!(
                            "with neutral settings it takes {} cycles, without the policy {}",
                            without.cycles, usual.cycles
                        )
                    })
                }
            },
        })
    }

    /// Saves at one, two and three quarters of the run. Resumes each checkpoint in a fresh machine.
    fn parted_by_checkpoint(
        &self,
        first: &Simulated,
        bound: u64,
    ) -> Result<Option<String>, Diagnostics> {
        let mut before = self.machine(EngineOptions::default())?;
        let end = first.kernels.iter().filter_map(|k| k.completed).max();
        let end = end.unwrap_or(first.cycles);
        for quarter in 1..=3 {
            let cycle = end * quarter / 4;
            let never = Arc::new(AtomicBool::new(false));
            before.advance(cycle, &never);
            let simulation = before.simulation_mut();
            let saved = match simulation.save() {
                Ok(saved) => saved,
                Err(error) => return Ok(Some(error.to_string())),
            };
            let mut resumed = self.machine(EngineOptions::default())?;
            if let Err(error) = resumed.simulation_mut().load(&saved) {
                return Ok(Some(format!(
                    "saved after cycle {cycle}, but loading failed: {error}"
                )));
            }
            let resumed = finish(&mut resumed, Some(bound));
            let how = format!("resumed after cycle {cycle}");
            if let Some(found) = difference(first, &resumed, &how) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

fn finish(machine: &mut Machine, limit: Option<u64>) -> Simulated {
    let never = Arc::new(AtomicBool::new(false));
    let status = machine.advance(limit.unwrap_or(u64::MAX), &never);
    machine.results(status.unwrap_or(Status::Limit))
}

fn told(run: &Simulated) -> String {
    match run.status.detail() {
        Some(detail) => format!("the run ended with status {}: {detail}", run.status.name()),
        None => format!(
            "the run ended with status {} after {} cycles",
            run.status.name(),
            run.cycles
        ),
    }
}

/// Describes the first difference between two runs, if there is one.
fn difference(first: &Simulated, other: &Simulated, how: &str) -> Option<String> {
    if first == other {
        return None;
    }
    if first.status != other.status {
        return Some(format!("{how}, {}", told(other)));
    }
    if first.cycles != other.cycles {
        return Some(format!(
            "{how}, it takes {} cycles instead of {}",
            other.cycles, first.cycles
        ));
    }
    let pairs = first.statistics.iter().zip(other.statistics.iter());
    for (a, b) in pairs {
        for (x, y) in a.values.iter().zip(&b.values) {
            if x != y {
                return Some(format!(
                    "{how}, the statistic {}.{} differs",
                    a.path, x.name
                ));
            }
        }
    }
    Some(format!("{how}, the results differ"))
}
