//! Scenario files: a system, a workload, overrides and limits.
//!
//! ```ron
//! Scenario(
//!     summary: "BFS on a real graph",
//!     system: "systems/gtx480.ron",          // relative to this file
//!     workload: "workloads/bfs.ron",         // or `trace` and a file of `warpweave trace record`
//!     size: "S",                             // one of the workload's; absent: its `params` as they are
//!     seed: 1,
//!     overrides: { "unit[*].l1.ways": 8, "params.channels": 4, "workload.block": 128 },
//!     limits: (cycles: 50000000),
//!     energy: "energy/gtx480.ron",           // optional: what events and time cost
//!     checks: true,                          // protocol checkers on every wire; absent: none
//!     measure: (kernels: true, every_cycles: 10000), // optional: statistics by kernel and interval
//!     taps: { "l1": Accesses(at: "unit[*].l1.up") }, // optional: analyses that listen to ports
//!     region: (kernels: "bfs_*", outside: Warm), // optional: which launches are simulated; absent: all
//!     profile: Compute,                      // optional: for policies that know who shares lines; or a file
//!     locality: Compute,                     // optional: for policies that map or group by locality; or a file
//!     work_groups: "tables/1.ron",           // optional: the unit of each work-group, for `Mapped(by: Table)`
//!     emulation: (order: Linear, ...),
//! )
//! ```
//!
//! An override path takes one of several forms. It is an instance path with wildcards and a field
//! path, or `params.` and a system parameter. Other forms are `clocks.` and a clock, and
//! `workload.` and a workload parameter. The command line also accepts `seed`, `size`, `energy`,
//! `limits.…`, `measure.…`, `region.…`, `taps.…` and `emulation.…` of the scenario itself.
//! Overrides of the command line are applied after those of the file.
//!
//! `files.rs` reads the files that a scenario names. `composition/` combines a system described by
//! several files, and `overrides.rs` sorts the overrides by target. `stated.rs` keeps what the user
//! wrote, and `identity.rs` hashes everything that affects the results. `observation.rs` holds the
//! observers of a run and `measure.rs` its measurements. `analyses.rs` names analyses of the
//! program, `region.rs` the launches to simulate, and `work.rs` the program to run.

mod analyses;
mod composition;
mod emulation;
mod files;
mod identity;
mod locality;
mod measure;
mod observation;
mod overrides;
mod profile;
mod programs;
mod region;
mod stated;
mod work;
mod work_groups;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use tracing::debug_span;
use warpweave_files::{Budget, Ledger};
use warpweave_inputs::reference::standard_references;
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Files, Kind, Node, Placed, Source, Struct, from_named, parse,
    to_node, to_ron,
};

pub(crate) use self::analyses::ProgramAnalyses;
use self::composition::compose;
pub(crate) use self::emulation::logged;
use self::files::{read_named, read_scenario};
pub use self::identity::Identity;
pub(crate) use self::locality::Locality;
pub use self::measure::Measure;
use self::measure::StatedMeasure;
pub use self::observation::Observation;
pub use self::overrides::AppliedOverride;
use self::overrides::{Overrides, RawOverride};
pub(crate) use self::profile::Profile;
pub use self::programs::SharedPrograms;
pub(crate) use self::region::Sample;
pub use self::region::{Outside, Region};
pub use self::stated::{ScenarioPaths, StatedScenario};
pub(crate) use self::work::{Recording, Work};
pub(crate) use self::work_groups::WorkGroups;
use crate::elaboration::InstanceOverride;
use crate::elaboration::system_file::SystemFile;
use crate::energy::EnergyModel;
use crate::host_program::{EmulationSpec, HostProgram};
use crate::limits::{Limits, StatedLimits};
use crate::taps::TapSpec;

/// Scenario with its files read and individually checked.
pub struct Scenario {
    /// Paths of the scenario file and the files it names.
    pub paths: ScenarioPaths,
    /// Texts and overrides as the user gave them.
    pub stated: StatedScenario,
    /// Summary of the scenario in one sentence.
    pub summary: String,
    /// Chosen size of the workload; `None` to use its parameters unchanged.
    pub size: Option<String>,
    /// Seed for all randomness in the system.
    pub seed: u64,
    /// Limits on the system's size and on the run.
    pub limits: Limits,
    /// Settings of the program's functional emulation.
    pub emulation: EmulationSpec,
    /// Observers of a run: checkers, measurements, taps, energy.
    pub observation: Observation,
    /// Region of launches to simulate; `None` for all.
    pub region: Option<Region>,
    /// Analyses of the program that policies may use.
    pub(crate) analyses: ProgramAnalyses,
    /// Ledger that is charged for the files.
    pub(crate) ledger: Ledger,
    pub(crate) system: SystemFile,
    pub(crate) work: Work,
    pub(crate) overrides: Vec<InstanceOverride>,
}

/// Scenario to be read, with what its caller asks for.
#[derive(Clone, Copy)]
struct Request<'a> {
    path: &'a Path,
    /// Folder that the scenario's relative paths begin at.
    folder: &'a Path,
    /// Workload that replaces the scenario's own.
    workload: Option<&'a Placed<PathBuf>>,
    /// Host programs that are shared with other variations.
    programs: Option<&'a SharedPrograms>,
    /// Source of the given overrides, for reports.
    from: &'static str,
}

impl Request<'_> {
    /// Reads the program to run, with changes of its parameters. Returns it with its path.
    fn work(
        &self,
        named: Named,
        size: Option<&Placed<String>>,
        changes: &BTreeMap<String, Node>,
        files: &Files,
        problems: &mut Diagnostics,
    ) -> Option<(PathBuf, Work)> {
        match named {
            Named::Workload(name) => {
                let work_path = match self.workload {
                    None => self.folder.join(&name.value),
                    Some(_) => name.value.clone(),
                };
                let read = read_named(&work_path, &name, &["Workload"], files);
                let node = problems.take(read)?;
                let folder = beside(&work_path);
                let (files, references) = (files.at(folder), standard_references());
                let program = match self.programs {
                    None => HostProgram::from_node(&node, &files, size, changes, &references)
                        .map(Arc::new),
                    Some(programs) => {
                        let read = || {
                            let shared = Some(programs.modules());
                            HostProgram::from_node_with(
                                &node,
                                &files,
                                size,
                                changes,
                                &references,
                                shared,
                            )
                        };
                        programs.get(&work_path, size.map(|size| &size.value), changes, read)
                    }
                };
                let program = problems.take(program)?;
                Some((work_path, Work::Workload(program)))
            }
            Named::Trace(name) => {
                if let Some(set) = changes.keys().next() {
                    problems.push(name.error(format!(
                        "`workload.{set}` is set, but a trace has no parameters"
                    )));
                }
                let work_path = self.folder.join(&name.value);
                let read = Recording::open(&work_path, &name, files.ledger());
                let recording = problems.take(read.map_err(Diagnostics::from))?;
                Some((work_path, Work::Trace(recording)))
            }
        }
    }
}

/// Variation of a scenario, based on the file of another.
#[derive(Clone, Debug)]
pub struct Variation {
    /// Path of the base scenario file, and the location that names it.
    pub base: Placed<PathBuf>,
    /// Path of the workload file that replaces the scenario's own, and the location that names it.
    /// The scenario file's settings for its own workload are then ignored.
    pub workload: Option<Placed<PathBuf>>,
    /// Overrides with distinct paths and their locations; they are applied after those of the file.
    pub overrides: Vec<(Placed<String>, Node)>,
}

/// Fields of a scenario file, as written.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    summary: String,
    system: Placed<PathBuf>,
    #[serde(default)]
    workload: Option<Placed<PathBuf>>,
    #[serde(default)]
    trace: Option<Placed<PathBuf>>,
    #[serde(default)]
    size: Option<Node>,
    #[serde(default = "File::default_seed")]
    seed: u64,
    #[serde(default)]
    overrides: Entries<Node>,
    #[serde(default)]
    limits: StatedLimits,
    #[serde(default)]
    emulation: EmulationSpec,
    #[serde(default)]
    energy: Option<Placed<PathBuf>>,
    #[serde(default)]
    checks: bool,
    #[serde(default)]
    measure: StatedMeasure,
    #[serde(default)]
    taps: Entries<Node>,
    #[serde(default)]
    region: Option<Node>,
    #[serde(default)]
    profile: Option<Node>,
    #[serde(default)]
    locality: Option<Node>,
    #[serde(default)]
    work_groups: Option<Node>,
}

impl File {
    fn default_seed() -> u64 {
        1
    }

    /// Returns the name of the chosen size, written as text or as a bare word like on the command
    /// line.
    fn size(&self) -> Result<Option<Placed<String>>, Diagnostic> {
        let Some(node) = &self.size else {
            return Ok(None);
        };
        let text = match &node.kind {
            Kind::Text(text) => text,
            Kind::Name(name) => &name.text,
            _ => {
                let message = format!(
                    "`size` must name a size of the workload, found {}",
                    node.describe()
                );
                return Err(Diagnostic::error(message).at(&node.head_span()));
            }
        };
        Ok(Some(Placed::at(text.clone(), &node.span)))
    }
}

/// File that a scenario runs: a workload or a trace.
enum Named {
    Workload(Placed<PathBuf>),
    Trace(Placed<PathBuf>),
}

impl File {
    /// Returns the workload or trace to run; exactly one must be given.
    fn work(&self, node: &Node) -> Result<Named, Diagnostic> {
        match (&self.workload, &self.trace) {
            (Some(workload), None) => Ok(Named::Workload(workload.clone())),
            (None, Some(trace)) => self.only_a_trace(trace),
            (Some(_), Some(trace)) => {
                Err(trace
                    .error("a scenario must have either a `workload` or a `trace`, found both"))
            }
            (None, None) => {
                let message =
                    "missing field `workload`: a scenario must have a `workload` or a `trace`";
                Err(Diagnostic::error(message)
                    .at(&node.head_span())
                    .hint("a workload is emulated; a trace holds an earlier emulation"))
            }
        }
    }

    /// Rejects settings that would need another emulation: a trace is the result of emulating one
    /// size.
    fn only_a_trace(&self, trace: &Placed<PathBuf>) -> Result<Named, Diagnostic> {
        let stated = [
            ("size", self.size.is_some()),
            ("emulation", self.emulation != EmulationSpec::default()),
        ];
        match stated.iter().find(|(_, stated)| *stated) {
            None => Ok(Named::Trace(trace.clone())),
            Some((name, _)) => Err(trace
                .error(format!("`{name}` cannot be combined with `trace`"))
                .hint("it is fixed when the trace is recorded")),
        }
    }
}

impl Scenario {
    /// Reads the scenario at `path`, the files it names, and the overrides `sets` (`path=value`).
    ///
    /// # Errors
    /// Returns all problems in any of them, each with its location.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, Diagnostics> {
        Self::load_within(path, sets, &Budget::unlimited())
    }

    /// Like [`Scenario::load`], with memory charged to `budget`. This includes the files, the
    /// program's trace and the machines built from them.
    ///
    /// # Errors
    /// Fails like [`Scenario::load`], and if the memory budget would be exceeded.
    pub fn load_within(path: &Path, sets: &[String], budget: &Budget) -> Result<Self, Diagnostics> {
        let _span = debug_span!("load", ?path).entered();
        let ledger = Ledger::new(budget);
        let files = Files::of("").charged_to(&ledger).of_description_at(path);
        let node = read_scenario(path, &files)?;
        let mut problems = Diagnostics::new();
        let request = Request {
            path,
            folder: beside(path),
            workload: None,
            programs: None,
            from: "command line",
        };
        let given = overrides::of_command_line(sets, &mut problems);
        let mut loaded = Self::of_tree(request, node, given, &files, problems)?;
        loaded.stated.sets = sets.to_vec();
        Ok(loaded)
    }

    /// Creates a scenario that runs the trace at `trace` on the system of the file at `system`.
    ///
    /// # Errors
    /// Fails like [`Scenario::load_within`].
    pub fn of_trace(
        trace: &Path,
        system: &Path,
        sets: &[String],
        budget: &Budget,
    ) -> Result<Self, Diagnostics> {
        let _span = debug_span!("load", path = ?trace).entered();
        let ledger = Ledger::new(budget);
        let files = Files::of("").charged_to(&ledger).of_description_at(system);
        let given = [Path::new("--trace"), trace, Path::new("--system"), system];
        let given = given.map(|word| word.display().to_string());
        let stated = format!(
            "Scenario(\n    trace: {},\n    system: {},\n)\n",
            to_ron(&to_node(&trace)?).trim_end(),
            to_ron(&to_node(&system)?).trim_end()
        );
        let node = parse(&Source::new("(command line)", stated))?;
        let mut problems = Diagnostics::new();
        let request = Request {
            path: trace,
            folder: Path::new(""),
            workload: None,
            programs: None,
            from: "command line",
        };
        let changes = overrides::of_command_line(sets, &mut problems);
        let mut loaded = Self::of_tree(request, node, changes, &files, problems)?;
        loaded.stated.given = given.to_vec();
        loaded.stated.sets = sets.to_vec();
        Ok(loaded)
    }

    /// Reads the base scenario of a [`Variation`] and applies its changes. Errors in a change are
    /// reported at the change's location.
    ///
    /// With `programs`, its host program is shared with other variations.
    ///
    /// # Errors
    /// Fails like [`Scenario::load_within`].
    pub fn load_varied(
        variation: &Variation,
        budget: &Budget,
        programs: Option<&SharedPrograms>,
    ) -> Result<Self, Diagnostics> {
        let _span = debug_span!("load", path = ?variation.base.value).entered();
        let ledger = Ledger::new(budget);
        let path = &variation.base.value;
        let files = Files::of("").charged_to(&ledger).of_description_at(path);
        let node = read_named(path, &variation.base, &["Scenario"], &files)?;
        let changes = variation.overrides.iter().cloned();
        let request = Request {
            path,
            folder: beside(path),
            workload: variation.workload.as_ref(),
            programs,
            from: "experiment",
        };
        let given = changes.map(RawOverride::of_entry).collect();
        Self::of_tree(request, node, given, &files, Diagnostics::new())
    }

    /// Creates the requested scenario from its tree `node` and the given overrides.
    fn of_tree(
        request: Request<'_>,
        mut node: Node,
        given: Vec<RawOverride>,
        files: &Files,
        mut problems: Diagnostics,
    ) -> Result<Self, Diagnostics> {
        let Request {
            path,
            folder,
            workload,
            from,
            ..
        } = request;
        let text = node.span.source.text().to_owned();
        if let (Some(_), Kind::Struct(Struct { fields, .. })) = (workload, &mut node.kind) {
            // The size of a workload that is not used, or a trace that is not.
            fields.retain(|field| !["size", "trace"].contains(&field.name.text.as_str()));
        }
        let shown = given.iter().map(|raw| AppliedOverride::of(raw, from));
        let shown: Vec<_> = shown.collect();
        let given = overrides::apply_own(given, &mut node, &mut problems);
        let file = problems.take(from_named::<File>(&node, "Scenario"));
        let Some(file) = file else {
            return Err(problems);
        };
        let size = problems.take(file.size()).flatten();
        let named = match workload {
            None => problems.take(file.work(&node)),
            // Beside the file that names it, which is another one.
            Some(other) => Some(Named::Workload(other.clone())),
        };
        let from_file = file.overrides.into_iter().map(RawOverride::of_entry);
        // Parameters of a workload that is not used fit no other.
        let from_file = from_file.filter(|o| workload.is_none() || !o.is_of_workload());
        let from_file: Vec<_> = from_file.collect();
        let mut applied = AppliedOverride::of_file(&from_file);
        applied.extend(shown);
        let overrides = Overrides::sort_out(from_file.into_iter().chain(given));

        let limits = problems.take(file.limits.check());
        let measure = problems.take(file.measure.check());
        let taps = problems.take(TapSpec::read_all(file.taps));
        let region = file.region.as_ref();
        let region = region.and_then(|node| problems.take(Region::read(node)));
        let profile = file.profile.as_ref();
        let profile = profile.map(|node| Profile::read(node, folder, files.ledger()));
        let profile = profile.and_then(|read| problems.take(read));
        let locality = file.locality.as_ref();
        let locality = locality.map(|node| Locality::read(node, folder, files.ledger()));
        let locality = locality.and_then(|read| problems.take(read));
        let work_groups = file.work_groups.as_ref();
        let work_groups = work_groups.map(|node| WorkGroups::read(node, folder, files));
        let work_groups = work_groups.and_then(|read| problems.take(read));
        let part = |name: &Placed<PathBuf>, kind: &str, problems: &mut Diagnostics| {
            let path = folder.join(&name.value);
            let read = read_named(&path, name, &[kind], files);
            (path, problems.take(read))
        };
        let (system_path, system) = part(&file.system, "System", &mut problems);
        let energy = file.energy.as_ref();
        let energy = energy.map(|name| part(name, "Energy", &mut problems));
        let (energy_path, energy) = energy.unzip();

        let system = system.and_then(|node| {
            let (node, parts) = problems.take(compose(&system_path, node, files))?;
            let mut system = problems.take(SystemFile::read(&node))?;
            overrides.globals.set(&mut system, &mut problems);
            Some((node, system, parts))
        });
        let work = named.and_then(|named| {
            request.work(
                named,
                size.as_ref(),
                &overrides.workload,
                files,
                &mut problems,
            )
        });
        if let (Some(region), Some((_, work))) = (&region, &work) {
            region.check_names(&work.kernel_names(&file.emulation), &mut problems);
        }
        let energy = energy
            .flatten()
            .and_then(|node| problems.take(EnergyModel::read(&node)));
        match (system, work, limits, measure, taps) {
            (
                Some((system_tree, system, system_parts)),
                Some((work_path, work)),
                Some(limits),
                Some(measure),
                Some(taps),
            ) if !problems.has_errors() => Ok(Self {
                paths: ScenarioPaths {
                    scenario: path.to_owned(),
                    system: system_path,
                    system_parts,
                    work: work_path,
                    energy: energy_path,
                },
                stated: StatedScenario {
                    text,
                    given: vec![path.display().to_string()],
                    sets: Vec::new(),
                    applied,
                    tree: node,
                    system_tree,
                },
                summary: file.summary,
                size: size.map(|size| size.value),
                seed: file.seed,
                limits,
                emulation: file.emulation,
                observation: Observation {
                    checks: file.checks,
                    measure,
                    taps,
                    energy,
                },
                region,
                analyses: ProgramAnalyses {
                    profile,
                    locality,
                    work_groups,
                },
                ledger: files.ledger().clone(),
                system,
                work,
                overrides: overrides.instances,
            }),
            _ => Err(problems),
        }
    }

    /// True if its runs need the reuse profile of their program.
    pub fn needs_profile(&self) -> bool {
        self.analyses.needs_profile()
    }

    /// True if its runs need the locality plan of their program.
    pub fn needs_locality(&self) -> bool {
        self.analyses.needs_locality()
    }

    /// Returns every file that was read: the scenario, the files it names, and the files those
    /// name.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let of_work = self.work.files_read().iter().map(PathBuf::as_path);
        self.paths.all().chain(self.analyses.files()).chain(of_work)
    }
}

/// Returns the folder of the file at `path`.
fn beside(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
