//! Scenario files: a system, a workload, overrides and limits.
//!
//! ```ron
//! Scenario(
//!     summary: "BFS on a real graph",
//!     system: "systems/gtx480.ron",          // relative to this file
//!     workload: "workloads/bfs.ron",
//!     seed: 1,
//!     overrides: { "unit[*].l1.ways": 8, "params.channels": 4, "workload.block": 128 },
//!     limits: (cycles: 50000000),
//!     energy: "energy/gtx480.ron",           // optional: what events and time cost
//!     checks: true,                          // protocol checkers on every wire; absent: none
//!     measure: (kernels: true, every_cycles: 10000), // optional: statistics by kernel and interval
//!     emulation: (order: Linear, ...),
//! )
//! ```
//!
//! An override path is an instance path with wildcards and a field path, `params.` and a parameter
//! of the system, `clocks.` and a clock, or `workload.` and a parameter of the workload; on the command line also
//! `seed`, `energy`, `limits.…`, `measure.…` and `emulation.…` of the scenario itself. Overrides of the command line come
//! after those of the file.
//!
//! `files.rs` reads the files that a scenario names, `composition/` puts a system together that several
//! files describe, `measure.rs` says what is measured, `overrides.rs` sorts the overrides out.

mod composition;
mod files;
mod measure;
mod overrides;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_files::{Budget, Ledger};
use warpweave_inputs::reference::standard_references;
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Files, Node, Placed, from_named, out_of_range,
};

use self::composition::compose;
use self::files::{read_named, read_scenario};
pub use self::measure::Measure;
use self::measure::StatedMeasure;
use self::overrides::{Overrides, RawOverride};
use crate::elaboration::InstanceOverride;
use crate::elaboration::system_file::SystemFile;
use crate::energy::EnergyModel;
use crate::host_program::{EmulationSpec, HostProgram};

/// A scenario with its files read and checked one by one.
pub struct Scenario {
    /// Path of the scenario file, as given.
    pub path: PathBuf,
    /// Text of the scenario file.
    pub text: String,
    /// One sentence.
    pub summary: String,
    /// Path of the system file.
    pub system_path: PathBuf,
    /// Paths of the files that the system file includes and extends, each once.
    pub system_parts: Vec<PathBuf>,
    /// Path of the workload file.
    pub workload_path: PathBuf,
    /// Path of the file of energy coefficients, if there is one.
    pub energy_path: Option<PathBuf>,
    /// Seed of everything random in the system.
    pub seed: u64,
    /// When to give up.
    pub limits: Limits,
    /// How the program is emulated.
    pub emulation: EmulationSpec,
    /// What events and time cost; `None`: energy is not reported.
    pub energy: Option<EnergyModel>,
    /// Whether protocol checkers watch every memory and launch wire.
    pub checks: bool,
    /// What is measured beyond the totals.
    pub measure: Measure,
    /// Overrides of the command line, as given.
    pub sets: Vec<String>,
    /// What is charged for the files.
    pub(crate) ledger: Ledger,
    pub(crate) system: SystemFile,
    pub(crate) workload: HostProgram,
    pub(crate) overrides: Vec<InstanceOverride>,
}

/// How large a system may be, and when to give up a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Core cycles; absent: none.
    pub cycles: Option<u64>,
    /// Core cycles without any progress, at least 1, after which the run counts as stuck; see
    /// [`RunLimits::silence`](warpweave_framework::RunLimits::silence).
    pub silent_cycles: u64,
    /// Most parts of a system, modules among them.
    pub instances: u32,
    /// Most wires of a system.
    pub wires: u32,
}

/// [`Limits`] as a file states them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedLimits {
    #[serde(default)]
    cycles: Option<u64>,
    #[serde(default = "StatedLimits::default_silence")]
    silent_cycles: Placed<u64>,
    #[serde(default = "StatedLimits::default_instances")]
    instances: u32,
    #[serde(default = "StatedLimits::default_wires")]
    wires: u32,
}

impl StatedLimits {
    fn default_silence() -> Placed<u64> {
        1_000_000.into()
    }

    fn check(&self) -> Result<Limits, Diagnostic> {
        let silent_cycles = self.silent_cycles.value;
        if let Some(problem) = out_of_range(&silent_cycles, &(1..)) {
            let error = self
                .silent_cycles
                .error(format!("silent_cycles: {problem}"));
            return Err(error.hint("leave it out for the default of 1000000 core cycles"));
        }
        Ok(Limits {
            cycles: self.cycles,
            silent_cycles,
            instances: self.instances,
            wires: self.wires,
        })
    }

    fn default_instances() -> u32 {
        1 << 16
    }

    fn default_wires() -> u32 {
        1 << 20
    }
}

impl Default for StatedLimits {
    fn default() -> Self {
        Self {
            cycles: None,
            silent_cycles: Self::default_silence(),
            instances: Self::default_instances(),
            wires: Self::default_wires(),
        }
    }
}

/// A scenario file.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    summary: String,
    system: Placed<PathBuf>,
    workload: Placed<PathBuf>,
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
}

impl File {
    fn default_seed() -> u64 {
        1
    }
}

impl Scenario {
    /// Reads the scenario at `path`, the files it names, and the overrides `sets` (`path=value`).
    ///
    /// # Errors
    /// Everything wrong with any of them, each with its place.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, Diagnostics> {
        Self::load_within(path, sets, &Budget::unlimited())
    }

    /// As [`Scenario::load`]. What is read, and what becomes of it, the program's trace and the machines
    /// included, is charged to `budget`.
    ///
    /// # Errors
    /// As [`Scenario::load`]; also what would take more memory than there may be.
    pub fn load_within(path: &Path, sets: &[String], budget: &Budget) -> Result<Self, Diagnostics> {
        let ledger = Ledger::new(budget);
        let files = Files::of("").charged_to(&ledger).of_description_at(path);
        let (source, mut node) = read_scenario(path, &files)?;
        let mut problems = Diagnostics::new();
        let from_sets = overrides::of_command_line(sets, &mut node, &mut problems);
        let file = problems.take(from_named::<File>(&node, "Scenario"));
        let Some(file) = file else {
            return Err(problems);
        };
        let from_file = file.overrides.into_iter().map(RawOverride::of_entry);
        let overrides = Overrides::sort_out(from_file.chain(from_sets));

        let limits = problems.take(file.limits.check());
        let measure = problems.take(file.measure.check());
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut part = |name: &Placed<PathBuf>, kind: &str| {
            let path = folder.join(&name.value);
            let read = read_named(&path, name, &[kind], &files);
            (path, problems.take(read))
        };
        let (system_path, system) = part(&file.system, "System");
        let (workload_path, workload) = part(&file.workload, "Workload");
        let energy = file.energy.as_ref().map(|name| part(name, "Energy"));
        let (energy_path, energy) = energy.unzip();

        let system = system.and_then(|node| {
            let (node, parts) = problems.take(compose(&system_path, node, &files))?;
            let mut system = problems.take(SystemFile::read(&node))?;
            overrides.globals.set(&mut system, &mut problems);
            Some((system, parts))
        });
        let workload = workload.and_then(|node| {
            let folder = workload_path.parent().unwrap_or(Path::new(""));
            let references = standard_references();
            let read =
                HostProgram::from_node(&node, &files.at(folder), &overrides.workload, &references);
            problems.take(read)
        });
        let energy = energy
            .flatten()
            .and_then(|node| problems.take(EnergyModel::read(&node)));
        match (system, workload, limits, measure) {
            (Some((system, system_parts)), Some(workload), Some(limits), Some(measure))
                if !problems.has_errors() =>
            {
                Ok(Self {
                    path: path.to_owned(),
                    text: source.text().to_owned(),
                    summary: file.summary,
                    system_path,
                    system_parts,
                    workload_path,
                    energy_path,
                    seed: file.seed,
                    limits,
                    emulation: file.emulation,
                    energy,
                    checks: file.checks,
                    measure,
                    sets: sets.to_vec(),
                    ledger,
                    system,
                    workload,
                    overrides: overrides.instances,
                })
            }
            _ => Err(problems),
        }
    }

    /// Every file that was read: the scenario, what it names, and what those name.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.path, &self.system_path, &self.workload_path]
            .into_iter()
            .chain(&self.system_parts)
            .chain(&self.energy_path)
            .chain(self.workload.files_read())
            .map(PathBuf::as_path)
    }
}
