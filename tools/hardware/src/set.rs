//! Measurement sets: files that list programs to measure, in blocks that share a graph.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_params::{Diagnostic, Diagnostics, Entries, Files, Node, Placed, from_named, parse};
use warpweave_random::{FNV_START, fnv1a};
use warpweave_systems::host_program::HostProgram;

use crate::program::workload;
use crate::repeat::Repetitions;

/// Most passes over the steps of a block.
const PASSES_MAX: u32 = 100;

/// Longest time over which a program is repeated, in seconds.
const SECONDS_MAX: f64 = 3600.0;

/// Measurement set as its file states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasurementSet {
    /// Summary of the set in one sentence.
    #[serde(default)]
    pub summary: String,
    /// Time over which the power of the idle device is measured before each block, in seconds.
    #[serde(default = "idle_seconds")]
    pub idle_seconds: f64,
    /// Number of times that the steps of a block are measured: first in order, then shuffled.
    #[serde(default = "one_pass")]
    pub passes: u32,
    /// True to measure the micro-benchmarks as well, first of all.
    #[serde(default)]
    pub micro: bool,
    /// Programs to measure in every block, before the block's own.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Blocks of steps by name; the programs of a block are read in parallel before its first step.
    pub blocks: Entries<Block>,
}

/// Steps that share parameters, such as a graph.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Parameters of every workload of the block.
    #[serde(default)]
    pub sets: Entries<Node>,
    #[serde(default)]
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name of the algorithm, for the table.
    pub algorithm: String,
    /// Name of the strategy or form, for the table.
    #[serde(default)]
    pub strategy: String,
    /// Path of the workload file, relative to the set.
    pub workload: Placed<PathBuf>,
    /// Size of the workload; absent: its parameters as they are.
    #[serde(default)]
    pub size: Option<Placed<String>>,
    /// Parameters of the workload, which replace those of the block.
    #[serde(default)]
    pub sets: Entries<Node>,
    /// Time over which the program is repeated, in seconds.
    #[serde(default = "seconds")]
    pub seconds: Placed<f64>,
    /// Number of runs that are measured at least, unless one takes longer.
    #[serde(default = "at_least")]
    pub at_least: u32,
    /// Number of runs before the first that is measured.
    #[serde(default = "warm_up")]
    pub warm_up: u32,
    /// True to run once more with the time of every launch.
    #[serde(default)]
    pub launches: bool,
}

fn idle_seconds() -> f64 {
    5.0
}

fn one_pass() -> u32 {
    1
}

fn seconds() -> Placed<f64> {
    Repetitions::default().seconds.into()
}

fn at_least() -> u32 {
    Repetitions::default().at_least
}

fn warm_up() -> u32 {
    Repetitions::default().warm_up
}

impl Step {
    /// Returns how often the program is to be run.
    pub fn repetitions(&self) -> Repetitions {
        Repetitions {
            seconds: self.seconds.value,
            at_least: self.at_least,
            warm_up: self.warm_up,
            launches: self.launches,
        }
    }

    /// Reads the step's program, with the parameters of its block and its own.
    fn read(&self, block: &Block, folder: &Path) -> Result<HostProgram, Diagnostics> {
        let path = folder.join(&self.workload.value);
        let files = Files::default().of_description_at(&path);
        let source = files.description(&path, &["Workload"]);
        let source = source.map_err(|problem| self.workload.blame(problem))?;
        let mut values = BTreeMap::new();
        for (name, value) in block.sets.iter().chain(self.sets.iter()) {
            values.insert(name.value.clone(), value.clone());
        }
        workload(&source, &path, self.size.as_ref(), &values)
    }
}

impl MeasurementSet {
    /// Reads a set, and checks that its numbers make sense and that its workloads are there.
    ///
    /// # Errors
    /// Returns all problems of the file, each with its place.
    pub fn read(path: &Path) -> Result<Self, Diagnostics> {
        let files = Files::default().of_description_at(path);
        let source = files.description(path, &["MeasurementSet"])?;
        let mut set: Self = from_named(&parse(&source)?, "MeasurementSet")?;
        let mut problems = Diagnostics::new();
        if !(0.0..=SECONDS_MAX).contains(&set.idle_seconds) {
            let message = format!(
                "`idle_seconds` is {}, expected 0 to {SECONDS_MAX}",
                set.idle_seconds
            );
            problems.push(Diagnostic::error(message));
        }
        if !(1..=PASSES_MAX).contains(&set.passes) {
            let message = format!("`passes` is {}, expected 1 to {PASSES_MAX}", set.passes);
            problems.push(Diagnostic::error(message));
        }
        let folder = folder_of(path);
        let own = set.blocks.iter().flat_map(|(_, block)| &block.steps);
        for step in set.steps.iter().chain(own) {
            if !(0.0..=SECONDS_MAX).contains(&step.seconds.value) {
                let message = format!(
                    "`seconds` is {}, expected 0 to {SECONDS_MAX}",
                    step.seconds.value
                );
                problems.push(step.seconds.error(message));
            }
            if !folder.join(&step.workload.value).is_file() {
                let message = format!("there is no file {}", step.workload.value.display());
                problems.push(
                    step.workload
                        .error(message)
                        .hint("the path is relative to the set"),
                );
            }
        }
        set.blocks = set
            .blocks
            .iter()
            .map(|(name, block)| {
                let steps = set.steps.iter().chain(&block.steps).cloned().collect();
                let sets = block.sets.clone();
                (name.clone(), Block { sets, steps })
            })
            .collect();
        problems.into_result(set)
    }
}

/// Returns the folder that a set's paths begin at.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

impl Block {
    /// Reads the programs of all steps in parallel; `set` is the path of the set.
    pub fn read(&self, set: &Path) -> Vec<Result<HostProgram, Diagnostics>> {
        let folder = folder_of(set);
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .steps
                .iter()
                .map(|step| scope.spawn(move || step.read(self, folder)))
                .collect();
            threads
                .into_iter()
                .map(|thread| match thread.join() {
                    Ok(read) => read,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        })
    }

    /// Returns the steps in the order of a pass: as they are in the first, shuffled in others.
    pub fn order(&self, pass: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        if pass > 0 {
            let key = |step: &usize| {
                let bytes = [u64::from(pass), *step as u64].map(u64::to_le_bytes);
                fnv1a(FNV_START, bytes.concat())
            };
            order.sort_by_key(key);
        }
        order
    }
}
