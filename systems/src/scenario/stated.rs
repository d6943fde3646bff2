//! Scenario as its user stated it: files, words of the command line, overrides.

use std::path::{Path, PathBuf};

use warpweave_params::Node;

use super::AppliedOverride;

/// Paths of the description files of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioPaths {
    /// Path of the scenario file as given, or of the trace if there is no scenario file.
    pub scenario: PathBuf,
    /// Path of the scenario's system file.
    pub system: PathBuf,
    /// Distinct paths of the files that the system file includes and extends.
    pub system_parts: Vec<PathBuf>,
    /// Path of the workload file, or of the trace that is run instead.
    pub work: PathBuf,
    /// Path of the file of energy coefficients, if there is one.
    pub energy: Option<PathBuf>,
}

impl ScenarioPaths {
    /// Returns every path, that of the scenario first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.scenario, &self.system, &self.work]
            .into_iter()
            .chain(&self.system_parts)
            .chain(&self.energy)
            .map(PathBuf::as_path)
    }
}

/// Texts and trees from which a scenario was read.
#[derive(Clone, Debug)]
pub struct StatedScenario {
    /// Text of the scenario file, as read.
    pub text: String,
    /// Command-line words that name the input: the scenario file, or a trace and a system.
    pub given: Vec<String>,
    /// Overrides of the command line, as given.
    pub sets: Vec<String>,
    /// All overrides in the order in which they apply, those of the file first.
    pub applied: Vec<AppliedOverride>,
    /// Tree of the scenario file, with the overrides of its own fields.
    pub(super) tree: Node,
    /// Tree of all files of the system, before overrides.
    pub(super) system_tree: Node,
}
