//! Robustness of an experiment: its findings on plausible machines, drawn from the ranges of the
//! parameters that its source does not state.
//!
//! ```text
//!  file.rs ──► parameter.rs: drawn machines ──► plan, run, judge ──► outcome.rs: kept outcomes
//!                                                                        │
//!            report.rs, page.rs, tables.rs ◄── survey.rs: survival ◄─────┘
//! ```
//!
//! Machine 0 is the stated one.

mod file;
mod outcome;
mod page;
mod parameter;
mod proportion;
mod report;
mod survey;
mod tables;
#[cfg(test)]
mod tests;
mod words;

use std::path::{Path, PathBuf};

use warpweave_files::{Budget, Ledger};
use warpweave_framework::Registry;
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Files, Node, Placed, from_named, parse, to_ron,
};
use warpweave_systems::{Identity, Machine, Scenario, Variation};

pub use self::outcome::{JudgedVerdict, MachineOutcome, Outcomes};
pub use self::proportion::Count;
pub use self::report::{SurveyFiles, survey_text, write_survey};
pub use self::survey::{
    Counterexample, Influence, Rerun, Survey, SurveyedFinding, SurveyedMachine, SurveyedParameter,
};

use self::file::RobustnessFile;
use self::parameter::{DrawnValue, Parameter};
use crate::file::{ExperimentFile, Sets};
use crate::judge::{Interval, Verdict, check};
use crate::plan::{Plan, first_variations, pairs};
use crate::read::{Experiment, check_paths, plain};

/// Maximum number of machines, beyond which intervals are narrower than any model.
const MACHINES_MAX: u32 = 100_000;

/// Repetitions of a machine's runs: the first ones, or those of a rerun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Round {
    /// The repetitions from which survival is counted.
    First,
    /// Repetitions under other perturbations, which confirm a counterexample.
    Again,
}

/// Robustness file that was read and checked, with its experiment.
#[derive(Debug)]
pub struct Robustness {
    /// Path of the file as given.
    pub path: PathBuf,
    /// One-sentence summary from the file, for reports.
    pub summary: String,
    /// Number of drawn machines, without the stated one.
    pub machines: u32,
    /// Seed from which all machines are drawn.
    pub seed: u64,
    /// Number of counterexamples to try for each finding.
    pub attempts: u32,
    /// Experiment with the values and repetitions that were selected last.
    experiment: Experiment,
    /// Overrides that the experiment itself states for all runs.
    base: Sets,
    parameters: Vec<Parameter>,
    /// Number of pairs and perturbation seed of each round.
    rounds: [(u32, u64); 2],
    /// Memory of outcomes, released with the study.
    _charged: Ledger,
}

impl Robustness {
    /// Reads and checks the file at `path` and its experiment.
    ///
    /// # Errors
    /// Returns all errors that can be found without the machine, each with its position.
    pub fn read(path: &Path, budget: &Budget) -> Result<Self, Diagnostics> {
        let ledger = Ledger::new(budget);
        let files = Files::of("").charged_to(&ledger).of_description_at(path);
        let node = parse(&files.description(path, &["Robustness"])?)?;
        let file: RobustnessFile = from_named(&node, "Robustness")?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let named = folder.join(&file.experiment.value);
        // Errors of a file that is there are the experiment's own.
        if !named.is_file() {
            let message = format!("cannot read {}: no such file", named.display());
            let hint = "the path of the experiment is relative to this file";
            return Err(file.experiment.error(message).hint(hint).into());
        }
        let mut experiment = Experiment::read(&named, budget)?;
        check(&experiment.file)?;
        let mut problems = Diagnostics::new();
        let rounds = rounds(&file, &experiment.file, &mut problems);
        let parameters = parameters(&file.ranges, &experiment.file, &mut problems);
        let machines = file.machines.value;
        if !(1..=MACHINES_MAX).contains(&machines) {
            let message = format!("expected 1 to {MACHINES_MAX} machines, found {machines}");
            problems.push(file.machines.error(message));
        }
        problems.into_result(())?;
        let claims = experiment.file.claims.len();
        let bytes = 256 + 96 * parameters.len() + 160 * claims;
        let charged = ledger.charge(
            "the outcomes of the machines",
            u64::from(machines) * bytes as u64,
        );
        charged.map_err(Diagnostic::from)?;
        // Verdicts are those of the experiment's own size.
        experiment.file.confirm = None;
        Ok(Self {
            path: path.to_owned(),
            summary: file.summary,
            machines,
            seed: file.seed,
            attempts: file.rerun.attempts.map_or(1, |attempts| attempts.value),
            base: experiment.file.sets.iter().cloned().collect(),
            experiment,
            parameters,
            rounds,
            _charged: ledger,
        })
    }

    /// Compares the stated values with the machines that the experiment builds, and tries every
    /// path on each.
    ///
    /// # Errors
    /// Returns an error for a path that some machine lacks, or another value than the stated one.
    pub fn check(&mut self, registry: &Registry, budget: &Budget) -> Result<(), Diagnostics> {
        let built = |experiment: &Experiment| -> Result<Vec<_>, Diagnostics> {
            let variations = first_variations(experiment, budget)?;
            let all = variations.iter().map(|v| built(v, registry, budget));
            all.collect()
        };
        self.set(|_, _| None);
        let expected = built(&self.experiment)?;
        let mut problems = Diagnostics::new();
        for at in 0..self.parameters.len() {
            self.set(|number, parameter| (number == at).then(|| parameter.stated.clone()));
            let Some(found) = problems.take(built(&self.experiment)) else {
                continue;
            };
            if found != expected {
                let Parameter { path, stated, .. } = &self.parameters[at];
                let message = format!("`{}` has another value in the experiment", path.value);
                let hint = "state the value that the experiment's machine has without the range";
                let place = Placed::at((), &stated.span);
                problems.push(place.error(message).hint(hint));
            }
        }
        problems.into_result(())
    }

    /// Returns the experiment with the values of a machine, and the repetitions of a round.
    pub fn select(&mut self, machine: u32, round: Round) -> &Experiment {
        let (seed, stated) = (self.seed, machine == 0);
        let drawn: Vec<_> = self
            .parameters
            .iter()
            .map(|p| p.drawn(seed, machine))
            .collect();
        self.set(|at, _| (!stated).then(|| drawn[at].value.clone()));
        if let Some(perturb) = &mut self.experiment.file.perturb {
            (perturb.pairs.value, perturb.seed) = self.rounds[round as usize];
        }
        &self.experiment
    }

    /// Returns the values of a machine as texts, in the order of the parameters.
    pub fn values(&self, machine: u32) -> Vec<String> {
        let drawn = self.drawn(machine);
        drawn
            .iter()
            .map(|drawn| crate::read::level_name(&drawn.value))
            .collect()
    }

    /// Returns the paths of the parameters.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .iter()
            .map(|parameter| parameter.path.value.as_str())
    }

    /// Returns a machine's key, which determines its outcome. `stated` is the plan of machine 0 in
    /// the first round.
    pub fn key(&self, stated: &Plan, machine: u32, round: Round) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("warpweave outcome of a machine");
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        add(&stated.hash);
        stated.runs.iter().for_each(|run| add(&run.identity.run));
        add(&format!("{:?}", self.rounds[round as usize]));
        if machine > 0 {
            for (parameter, drawn) in self.parameters.iter().zip(self.drawn(machine)) {
                add(&plain(&parameter.path.value));
                add(&to_ron(&drawn.value));
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    fn drawn(&self, machine: u32) -> Vec<DrawnValue> {
        let value = |parameter: &Parameter| match machine {
            0 => DrawnValue {
                value: parameter.stated.clone(),
                position: parameter.stated_position,
            },
            _ => parameter.drawn(self.seed, machine),
        };
        self.parameters.iter().map(value).collect()
    }

    /// Sets each parameter to a value; `None` leaves it to the experiment.
    fn set(&mut self, value: impl Fn(usize, &Parameter) -> Option<Node>) {
        let set = self.parameters.iter().enumerate();
        let set = set.filter_map(|(at, parameter)| {
            let value = value(at, parameter)?;
            Some((parameter.path.clone(), value))
        });
        let set: Vec<_> = set.collect();
        self.experiment.file.sets = self.base.iter().cloned().chain(set).collect();
    }
}

/// Builds the machine of a variation. Returns its system as text, with every default, and the key
/// of its trace.
fn built(
    variation: &Variation,
    registry: &Registry,
    budget: &Budget,
) -> Result<(String, String), Diagnostics> {
    let scenario = Scenario::load_varied(variation, budget, None)?;
    let machine = Machine::without_program(&scenario, registry)?;
    let Identity { trace, .. } = scenario.identity()?;
    Ok((to_ron(&machine.system().resolved.to_node()), trace))
}

/// Returns the number of pairs and the perturbation seed of each round.
fn rounds(
    file: &RobustnessFile,
    experiment: &ExperimentFile,
    problems: &mut Diagnostics,
) -> [(u32, u64); 2] {
    let all = pairs(experiment);
    let seed = experiment
        .perturb
        .as_ref()
        .map_or(1, |perturb| perturb.seed);
    let mut checked = |stated: &Option<Placed<u32>>, usual: u32| {
        let Some(pairs) = stated else { return usual };
        if !(1..=all).contains(&pairs.value) {
            let message = format!("expected 1 to {all} pairs, found {}", pairs.value);
            problems.push(pairs.error(message).hint("the experiment has no more"));
        }
        pairs.value
    };
    let first = checked(&file.pairs, all);
    let again = checked(&file.rerun.pairs, first);
    let other = match &file.rerun.seed {
        Some(stated) => {
            if stated.value == seed {
                let message =
                    format!("the experiment's perturbations already have the seed {seed}");
                let hint = "a rerun shows something new only with another one";
                problems.push(stated.error(message).hint(hint));
            }
            stated.value
        }
        None => seed.wrapping_add(1),
    };
    [(first, seed), (again, other)]
}

/// Checks the ranges, alone and against what the experiment sets itself.
fn parameters(
    ranges: &Entries<file::Range>,
    experiment: &ExperimentFile,
    problems: &mut Diagnostics,
) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for (path, range) in ranges {
        if let Some((what, place)) = set_elsewhere(path, experiment) {
            let message = format!(
                "a range of `{}` has no effect, because {what} it",
                path.value
            );
            let error = path.error(message).hint("remove the range");
            problems.push(match &place.place {
                Some(place) => error.related("it is set here", place),
                None => error,
            });
        }
        parameters.extend(problems.take(Parameter::of(path, range)));
    }
    let as_sets: Sets = parameters
        .iter()
        .map(|p| (p.path.clone(), p.stated.clone()))
        .collect();
    check_paths(&as_sets, problems);
    if ranges.is_empty() {
        let message = "no parameter has a range, so all machines would be the stated one";
        let hint = "add `ranges: { \"path\": Between(low: .., high: .., stated: ..) }`";
        problems.push(Diagnostic::error(message).hint(hint));
    }
    parameters
}

/// Returns what in the experiment overrides a path on every machine, and where.
fn set_elsewhere<'e>(
    path: &Placed<String>,
    experiment: &'e ExperimentFile,
) -> Option<(&'static str, &'e Placed<String>)> {
    let own = plain(&path.value);
    let is_own = |known: &&Placed<String>| plain(&known.value) == own;
    let find = |sets: &'e Sets| sets.iter().map(|(path, _)| path).find(is_own);
    let mut draws = experiment
        .perturb
        .iter()
        .flat_map(|perturb| perturb.draws.iter());
    if let Some(drawn) = draws.find_map(|(path, _)| Some(path).filter(is_own)) {
        return Some(("the perturbations of the experiment draw", drawn));
    }
    for (_, axis) in &experiment.axes {
        let found = match axis {
            crate::file::Axis::Values { path, .. } => Some(path).filter(is_own),
            crate::file::Axis::Sets(levels) => levels.iter().find_map(|(_, sets)| find(sets)),
        };
        if let Some(found) = found {
            return Some(("an axis of the experiment sets", found));
        }
    }
    if let Some(found) = experiment
        .workloads
        .iter()
        .find_map(|(_, of)| find(&of.sets))
    {
        return Some(("a workload of the experiment sets", found));
    }
    let mut compared = experiment.variants.iter().chain(&experiment.controls);
    let places: Option<Vec<_>> = compared.by_ref().map(|(_, sets)| find(sets)).collect();
    let first = places?.into_iter().next()?;
    Some(("every variant and control of the experiment sets", first))
}
