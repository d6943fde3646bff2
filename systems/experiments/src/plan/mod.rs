//! Plan of an experiment, which lists every run before the first is started.
//!
//! `size.rs` counts the runs and charges their memory. `points.rs` combines variants and levels,
//! `draws.rs` draws the perturbations, and `equal.rs` finds those that change nothing. Each run's
//! description is read in advance, so that errors show before anything costly is done. A run is
//! identified by the inputs its results depend on, and equal runs are executed once.

mod draws;
mod equal;
mod points;
mod size;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use blake3::Hasher;
use parking_lot::Mutex;
use warpweave_files::{Budget, Input, Ledger, ReadError};
use warpweave_framework::Registry;
use warpweave_params::{Diagnostic, Diagnostics, Kind, Node, Placed};
use warpweave_systems::{Identity, Scenario, SharedPrograms, Variation};
use wildmatch::WildMatch;

use self::points::{Machine, Overrides, machines};
pub(crate) use self::points::{headroom, points};
use crate::file::{ExperimentFile, StatedWorkload};
use crate::model::{EqualPairs, RunId};
use crate::read::{Experiment, level_name, plain};

/// All runs of an experiment, with their identities.
#[derive(Debug)]
pub struct Plan {
    /// Distinct runs, ordered so that those of one trace are consecutive.
    pub runs: Vec<PlannedRun>,
    /// All requested runs, in the order of the file: workloads, pairs, levels, variants, controls,
    /// headroom.
    pub ids: Vec<RunId>,
    /// Draws that do not apply to a workload: its name and the path.
    pub left_out: Vec<(String, String)>,
    /// Identical pairs of each workload that has any.
    pub equal_pairs: Vec<EqualPairs>,
    /// Hash over everything that must be fixed beforehand.
    pub hash: String,
    /// Statistics of the machine of every point, by variant. Equal ones are shared.
    pub statistics: Vec<(String, Arc<MachineStatistics>)>,
    /// All files that are read, including the experiment's own.
    pub files: BTreeSet<PathBuf>,
    /// Memory of the plan, released with it.
    _charged: Ledger,
}

/// Instance path → names of its statistics.
pub type MachineStatistics = BTreeMap<String, BTreeSet<String>>;

/// One distinct run, and all ids that refer to it.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Inputs that determine the results of the run.
    pub identity: Identity,
    /// Scenario and overrides that are run.
    pub variation: Variation,
    /// Ids that refer to this run. The first one gives its name.
    pub ids: Vec<RunId>,
}

impl PlannedRun {
    /// Iterates over the path and value of every override.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, String)> {
        let sets = self.variation.overrides.iter();
        sets.map(|(path, value)| (path.value.as_str(), level_name(value)))
    }
}

/// A requested run whose description has not been read yet.
struct RequestedRun {
    id: RunId,
    /// Name of the variant with its position in the file.
    named: Placed<String>,
    variation: Variation,
}

/// Facts about a run from reading its description.
struct ResolvedRun {
    identity: Identity,
    files: Vec<PathBuf>,
}

impl Plan {
    /// Reads every run of the experiment on `threads` threads, and builds the machine of every
    /// point. Returns `None` if `interrupt` becomes true.
    ///
    /// # Errors
    /// Returns all errors in names and overrides of the experiment, each with its position.
    pub fn of(
        experiment: &Experiment,
        registry: &Registry,
        threads: usize,
        interrupt: &AtomicBool,
        budget: &Budget,
    ) -> Result<Option<Self>, Diagnostics> {
        let ledger = Ledger::new(budget);
        size::charge(&experiment.file, &ledger)?;
        let mut problems = Problems::default();
        let mut left_out = Vec::new();
        let machines = machines(&experiment.file);
        let headroom = headroom(experiment);
        let mut wanted = Vec::new();
        for (name, workload) in &experiment.file.workloads {
            let parameters = match parameters(experiment, workload, budget) {
                Ok(parameters) => parameters,
                Err(found) => {
                    problems.add(found);
                    continue;
                }
            };
            let mut left = Vec::new();
            let runs = Runs {
                experiment,
                name: &name.value,
                workload,
                parameters: &parameters,
            };
            wanted.extend(runs.of(&machines, &headroom, &mut left));
            left_out.extend(left.into_iter().map(|path| (name.value.clone(), path)));
        }
        problems.none()?;
        // Every point, and every draw: a machine does not depend on what it is to run.
        let first = wanted.first().map(|run| run.id.clone());
        let (of_points, of_draws): (Vec<&RequestedRun>, Vec<&RequestedRun>) = wanted
            .iter()
            .filter(|run| {
                let RunId {
                    workload,
                    point,
                    pair,
                    confirming,
                } = &run.id;
                let first = first.as_ref().filter(|first| first.workload == *workload);
                first.is_some_and(|first| !confirming && (*pair == 0 || *point == first.point))
            })
            .partition(|run| run.id.pair == 0);
        let points = of_points.len();
        let built = [of_points, of_draws].concat();
        let kinds = Mutex::new(BTreeSet::new());
        let programs = SharedPrograms::default();
        let load =
            |variation: &Variation| Scenario::load_varied(variation, budget, Some(&programs));
        let machines = each(&built, threads, interrupt, |run| {
            let scenario = load(&run.variation);
            let built = scenario.and_then(|scenario| machine_statistics(&scenario, registry));
            built
                .and_then(|built| Ok(shared(built, &kinds, &ledger)?))
                .map_err(|problems| blame(run, problems))
        });
        let Some(machines) = whole(machines)? else {
            return Ok(None);
        };
        let names = built[..points]
            .iter()
            .map(|run| run.id.point.variant.clone());
        let statistics = names.zip(machines);
        let statistics = statistics.filter(|(variant, _)| experiment.file.compares(variant));
        let statistics = statistics.collect();
        let known = each(&wanted, threads, interrupt, |run| {
            read(&load(&run.variation)?)
        });
        let Some(known) = whole(known)? else {
            return Ok(None);
        };
        let mut files: BTreeSet<PathBuf> = known.iter().flat_map(|run| run.files.clone()).collect();
        let hash = hash(experiment, &files)?;
        files.insert(experiment.path.clone());
        files.extend(experiment.extended.iter().cloned());
        let ids = wanted.iter().map(|run| run.id.clone()).collect();
        let runs = merged(wanted, known);
        Ok(Some(Self {
            equal_pairs: equal::equal_pairs(&runs, experiment.file.workloads.names()),
            ids,
            runs,
            left_out,
            hash,
            statistics,
            files,
            _charged: ledger,
        }))
    }

    /// Returns the first run of each program among the runs `wanted`, which are ascending.
    pub fn programs(&self, wanted: &[usize]) -> Vec<usize> {
        let mut firsts = wanted.to_vec();
        // Runs of one trace are consecutive.
        firsts.dedup_by_key(|at| &self.runs[*at].identity.trace);
        firsts
    }

    /// Returns the indices of runs with an id that matches the pattern
    /// `workload/variant/levels/pair`. In it `*` matches anything, and omitted parts at the end
    /// match all. Levels are separated by commas, `-` if there are none.
    pub fn fitting(&self, pattern: Option<&str>) -> Vec<usize> {
        let Some(pattern) = pattern else {
            return (0..self.runs.len()).collect();
        };
        let all = format!("{pattern}/*");
        let patterns = [WildMatch::new(pattern), WildMatch::new(&all)];
        let fits = |id: &RunId| {
            let name = id.to_string();
            patterns.iter().any(|pattern| pattern.matches(&name))
        };
        let runs = self.runs.iter().enumerate();
        runs.filter(|(_, run)| run.ids.iter().any(fits))
            .map(|(at, _)| at)
            .collect()
    }
}

/// Builder for the runs of one workload.
struct Runs<'a> {
    experiment: &'a Experiment,
    name: &'a str,
    workload: &'a StatedWorkload,
    parameters: &'a [String],
}

impl Runs<'_> {
    /// Returns the runs of all machines, and one of each for headroom.
    fn of(
        &self,
        machines: &[Machine],
        headroom: &[Machine],
        left_out: &mut Vec<String>,
    ) -> Vec<RequestedRun> {
        let file = &self.experiment.file;
        let pairs = pairs(file);
        let mut runs = Vec::new();
        for pair in 0..pairs {
            let draws = self.draws(pair, left_out);
            for machine in machines {
                runs.push(self.run(machine, pair, &draws, false));
                if pair == 0 && file.confirm.is_some() && !machine.point.control {
                    runs.push(self.run(machine, pair, &draws, true));
                }
            }
            if pair == 0 {
                let of_headroom = headroom.iter();
                runs.extend(of_headroom.map(|machine| self.run(machine, pair, &draws, false)));
            }
        }
        runs
    }

    fn run(
        &self,
        machine: &Machine,
        pair: u32,
        draws: &Overrides,
        confirming: bool,
    ) -> RequestedRun {
        let confirm = self.experiment.file.confirm.as_ref().filter(|_| confirming);
        let size = confirm.map(|confirm| &confirm.size);
        let all = of_workload(self.experiment, self.workload, size)
            .into_iter()
            .chain(
                confirm
                    .iter()
                    .flat_map(|confirm| confirm.sets.iter().cloned()),
            )
            .chain(machine.sets.iter().cloned())
            .chain(draws.iter().cloned());
        RequestedRun {
            id: RunId {
                workload: self.name.to_owned(),
                point: machine.point.clone(),
                pair,
                confirming,
            },
            named: machine.named.clone(),
            variation: variation(self.experiment, self.workload, all),
        }
    }

    /// Returns the draws of a pair, without parameters that the workload does not have.
    fn draws(&self, pair: u32, left_out: &mut Vec<String>) -> Overrides {
        let mut draws = Overrides::new();
        let Some(perturb) = &self.experiment.file.perturb else {
            return draws;
        };
        for (path, values) in &perturb.draws {
            let plain = plain(&path.value);
            let parameter = plain.strip_prefix("workload.");
            if parameter.is_some_and(|name| !self.parameters.iter().any(|known| known == name)) {
                if pair == 0 {
                    left_out.push(plain);
                }
                continue;
            }
            let value = draws::value(perturb.seed, &plain, pair, values);
            draws.extend(value.map(|value| (path.clone(), value.clone())));
        }
        draws
    }
}

/// Returns the run of every point in the first pair of the first workload.
pub(crate) fn first_variations(
    experiment: &Experiment,
    budget: &Budget,
) -> Result<Vec<Variation>, Diagnostics> {
    let Some((name, workload)) = experiment.file.workloads.iter().next() else {
        return Ok(Vec::new());
    };
    let runs = Runs {
        experiment,
        name: &name.value,
        workload,
        parameters: &parameters(experiment, workload, budget)?,
    };
    let draws = runs.draws(0, &mut Vec::new());
    let all = machines(&experiment.file);
    let all = all
        .iter()
        .map(|machine| runs.run(machine, 0, &draws, false).variation);
    Ok(all.collect())
}

/// Returns the number of repetitions of an experiment.
pub(crate) fn pairs(file: &ExperimentFile) -> u32 {
    file.perturb
        .as_ref()
        .map_or(1, |perturb| perturb.pairs.value)
}

/// Returns the overrides common to all runs of a workload, including its size.
fn of_workload(
    experiment: &Experiment,
    workload: &StatedWorkload,
    size: Option<&Placed<String>>,
) -> Overrides {
    let size = size.or(workload.size.as_ref());
    let size = size.or(experiment.file.size.as_ref());
    let own = size.and_then(|size| workload.sizes.get(&size.value));
    let size = own.map_or(size, |(_, own)| Some(own)).and_then(|size| {
        let place = size.place.as_ref()?;
        let value = Node::new(Kind::Text(size.value.clone()), place.clone());
        Some((Placed::at("size".to_owned(), place), value))
    });
    let sets = experiment.file.sets.iter().chain(&workload.sets).cloned();
    size.into_iter().chain(sets).collect()
}

/// Merges overrides. A later one of the same path replaces an earlier one.
fn variation(
    experiment: &Experiment,
    workload: &StatedWorkload,
    all: impl IntoIterator<Item = (Placed<String>, Node)>,
) -> Variation {
    let mut overrides = Overrides::new();
    for (path, value) in all {
        let name = plain(&path.value);
        overrides.retain(|(earlier, _)| plain(&earlier.value) != name);
        overrides.push((path, value));
    }
    Variation {
        base: experiment.place_of(&experiment.file.base),
        workload: (!experiment.own_workload).then(|| experiment.place_of(&workload.file)),
        overrides,
    }
}

fn parameters(
    experiment: &Experiment,
    workload: &StatedWorkload,
    budget: &Budget,
) -> Result<Vec<String>, Diagnostics> {
    let sets = of_workload(experiment, workload, None);
    let scenario = Scenario::load_varied(&variation(experiment, workload, sets), budget, None)?;
    Ok(scenario.workload_parameters().to_vec())
}

fn machine_statistics(
    scenario: &Scenario,
    registry: &Registry,
) -> Result<MachineStatistics, Diagnostics> {
    let machine = warpweave_systems::Machine::without_program(scenario, registry)?;
    let statistics = machine.statistics().into_iter();
    Ok(statistics
        .map(|instance| {
            let names = instance.values.iter().map(|value| value.name.to_string());
            (instance.path.clone(), names.collect())
        })
        .collect())
}

/// Returns the statistics of a machine, shared with equal machines. New ones are charged.
fn shared(
    statistics: MachineStatistics,
    kinds: &Mutex<BTreeSet<Arc<MachineStatistics>>>,
    ledger: &Ledger,
) -> Result<Arc<MachineStatistics>, Diagnostic> {
    let mut kinds = kinds.lock();
    if let Some(known) = kinds.get(&statistics) {
        return Ok(Arc::clone(known));
    }
    let names = |names: &BTreeSet<String>| names.iter().map(|name| 48 + name.len()).sum::<usize>();
    let bytes = statistics
        .iter()
        .map(|(path, of_path)| 96 + path.len() + names(of_path));
    ledger.charge("the list of statistics", bytes.sum::<usize>() as u64)?;
    let statistics = Arc::new(statistics);
    kinds.insert(Arc::clone(&statistics));
    Ok(statistics)
}

fn read(scenario: &Scenario) -> Result<ResolvedRun, Diagnostics> {
    Ok(ResolvedRun {
        identity: scenario.identity()?,
        files: scenario.files().map(PathBuf::from).collect(),
    })
}

/// Applies `work` to each item, on several threads. Items after an interrupt give `None`.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    interrupt: &AtomicBool,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while !interrupt.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else {
                        break;
                    };
                    let result = work(item);
                    results.lock()[at] = Some(result);
                }
            });
        }
    });
    results.into_inner()
}

/// Deduplicated errors, because most are found in many runs.
#[derive(Default)]
struct Problems(Vec<Diagnostic>);

impl Problems {
    fn add(&mut self, found: Diagnostics) {
        for problem in &found {
            let is_same = |known: &&Diagnostic| {
                known.message == problem.message && known.place == problem.place
            };
            if self.0.iter().find(is_same).is_none() {
                self.0.push(problem.clone());
            }
        }
    }

    fn none(self) -> Result<(), Diagnostics> {
        self.0.into_iter().collect::<Diagnostics>().into_result(())
    }
}

/// Adds the name of the responsible variant to errors that are reported outside an override.
fn blame(run: &RequestedRun, problems: Diagnostics) -> Diagnostics {
    let Some(named) = &run.named.place else {
        return problems;
    };
    let overrides = &run.variation.overrides;
    let files = || overrides.iter().filter_map(|(path, _)| path.place.as_ref());
    let stands_in = |name: &str| {
        files()
            .chain([named])
            .any(|place| place.source.name() == name)
    };
    let blamed = problems
        .iter()
        .cloned()
        .map(|problem| match &problem.place {
            Some(place) if stands_in(place.source.name()) => problem,
            _ => problem.related("it is so with this variant, and with others perhaps", named),
        });
    blamed.collect()
}

/// Returns all results, or all errors.
fn whole<R>(results: Vec<Option<Result<R, Diagnostics>>>) -> Result<Option<Vec<R>>, Diagnostics> {
    let mut problems = Problems::default();
    let mut all = Some(Vec::new());
    for result in results {
        match (result, &mut all) {
            (Some(Ok(result)), Some(all)) => all.push(result),
            (Some(Ok(_)), None) => {}
            (Some(Err(found)), _) => problems.add(found),
            (None, _) => all = None,
        }
    }
    problems.none()?;
    Ok(all)
}

/// Merges equal runs, with those of one trace consecutive.
fn merged(wanted: Vec<RequestedRun>, known: Vec<ResolvedRun>) -> Vec<PlannedRun> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut traces: BTreeMap<String, usize> = BTreeMap::new();
    let mut runs: Vec<PlannedRun> = Vec::new();
    for (RequestedRun { id, variation, .. }, ResolvedRun { identity, .. }) in
        wanted.into_iter().zip(known)
    {
        let count = traces.len();
        traces.entry(identity.trace.clone()).or_insert(count);
        if let Some(&at) = places.get(&identity.run) {
            runs[at].ids.push(id);
            continue;
        }
        places.insert(identity.run.clone(), runs.len());
        runs.push(PlannedRun {
            identity,
            variation,
            ids: vec![id],
        });
    }
    runs.sort_by_key(|run| traces[&run.identity.trace]);
    runs
}

/// Computes the hash over the experiment's text and the bytes of all files.
fn hash(experiment: &Experiment, files: &BTreeSet<PathBuf>) -> Result<String, Diagnostics> {
    let mut contents = BTreeSet::new();
    for path in files {
        let read = Input::open(path).map_err(ReadError::from);
        let read = read.and_then(|input| input.read(&Ledger::default()));
        let bytes = read.map_err(|error| {
            Diagnostic::error(format!("cannot read {} again: {error}", path.display()))
        })?;
        contents.insert(*blake3::hash(&bytes).as_bytes());
    }
    let mut hasher = Hasher::new_derive_key("warpweave series of an experiment");
    hasher.update(experiment.frozen.as_bytes());
    for content in contents {
        hasher.update(&content);
    }
    Ok(hasher.finalize().to_hex().to_string())
}
