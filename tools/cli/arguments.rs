//! Arguments of a run, and output formats that several commands share.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use warpweave_files::Budget;
use warpweave_params::Diagnostics;
use warpweave_systems::{Scenario, Threads};

use crate::recordings;

/// Name of this repository's program. Other programs show its version next to their own name.
pub(crate) const OWN_NAME: &str = "warpweave";

/// Returns the name with which this program was started, without folder and ending.
pub(crate) fn program_name() -> String {
    let started_as = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&started_as).file_stem().unwrap_or_default();
    if name.is_empty() {
        OWN_NAME.to_owned()
    } else {
        name.to_string_lossy().into_owned()
    }
}

/// Reads the size of a cache line in bytes.
pub(crate) fn power_of_two(text: &str) -> Result<u64, String> {
    let bytes: u64 = text.parse().map_err(|_| "a whole number".to_owned())?;
    if (4..=4096).contains(&bytes) && bytes.is_power_of_two() {
        return Ok(bytes);
    }
    Err("a power of two from 4 to 4096".to_owned())
}

#[derive(clap::Args)]
pub(crate) struct RunArguments {
    /// Scenario file that describes the run.
    #[arg(required_unless_present = "trace", conflicts_with = "trace")]
    pub(crate) scenario: Option<PathBuf>,
    /// Trace to run instead of a scenario, from `warpweave trace record` or Accel-Sim; needs
    /// --system.
    #[arg(long, value_name = "FILE", requires = "system")]
    pub(crate) trace: Option<PathBuf>,
    /// System file on which to run the trace.
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub(crate) system: Option<PathBuf>,
    /// Override a value, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Write report, manifest and the resolved system into this folder, which must not hold results
    /// yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the buffers that the workload marks as results into this new folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) results: Option<PathBuf>,
    /// Check every memory and launch wire for protocol violations; a violation fails the run.
    #[arg(long)]
    pub(crate) check: bool,
    /// Emulate the program and report its errors: reads of unwritten values, races, barriers
    /// reached by only part of a work-group, accesses outside their allocation. Nothing is
    /// simulated.
    #[arg(long, conflicts_with_all = ["check", "out", "results", "checkpoint", "resume", "files", "accesses", "full", "stats"])]
    pub(crate) check_program: bool,
    /// Output format of the report on standard output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// Print every statistic as text instead of one screen.
    #[arg(long, conflicts_with = "stats")]
    pub(crate) full: bool,
    /// Print the statistics of matching instances, or of a matching `INSTANCE.STATISTIC`, instead
    /// of one screen. Patterns are such as `cluster[0].*`; may be repeated. They also select the
    /// rows of `--format csv`.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) stats: Vec<String>,
    /// Split the work into this many shares, each on its own thread if there are enough cores.
    /// `auto` takes as many of the machine's cores as pay off. Results do not depend on it.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = threads)]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArguments,
    #[command(flatten)]
    pub(crate) recordings: recordings::Arguments,
    /// Log every request seen by the scenario's access taps to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) accesses: Option<PathBuf>,
}

/// Arguments for saving, resuming and hashing a run.
#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints and state hashes")]
pub(crate) struct CheckpointArguments {
    /// Save checkpoints to this file: at the cycles below, on SIGUSR1, and on Ctrl-C. `{cycle}` in
    /// the name is replaced by the core cycle; without it only the last checkpoint is kept.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Save a checkpoint after each of these core cycles.
    #[arg(
        long,
        value_name = "CYCLE",
        value_delimiter = ',',
        requires = "checkpoint"
    )]
    pub(crate) checkpoint_at: Vec<u64>,
    /// Save a checkpoint every this many core cycles.
    #[arg(long, value_name = "CYCLES", requires = "checkpoint",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint_every: Option<u64>,
    /// Resume from this checkpoint of the same scenario.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Hash the state of every component every this many core cycles, for `warpweave diff`.
    #[arg(long, value_name = "CYCLES", requires = "out",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) state_hash: Option<u64>,
}

impl RunArguments {
    /// True if the run produces only the report, so the program is not needed after its simulation.
    pub(crate) fn keeps_nothing(&self) -> bool {
        let saved = &self.checkpoints;
        let files = [
            &self.out,
            &self.results,
            &self.accesses,
            &saved.checkpoint,
            &saved.resume,
        ];
        files.iter().all(|file| file.is_none()) && self.recordings.is_empty()
    }

    /// Loads the scenario, or the trace with its system.
    pub(crate) fn load(&self, budget: &Budget) -> Result<Scenario, Diagnostics> {
        match (&self.scenario, &self.trace, &self.system) {
            (Some(scenario), ..) => Scenario::load_within(scenario, &self.sets, budget),
            (None, Some(trace), Some(system)) => {
                Scenario::of_trace(trace, system, &self.sets, budget)
            }
            (None, ..) => unreachable!("the command line has a scenario, or a trace and a system"),
        }
    }
}

fn threads(text: &str) -> Result<Threads, String> {
    if text == "auto" {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        return Ok(Threads::UpTo(cores));
    }
    match text.parse() {
        Ok(threads @ 1..=THREADS_MAX) => Ok(Threads::Exactly(threads)),
        _ => Err(format!(
            "expected `auto` or a number from 1 to {THREADS_MAX}"
        )),
    }
}

/// Maximum number of threads, above the core count of any intended host.
const THREADS_MAX: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Human-readable text page for the terminal.
    Text,
    /// Single JSON object for other programs.
    Json,
}

/// Output format of a run's report.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Human-readable text page for the terminal.
    Text,
    /// Single JSON object for other programs.
    Json,
    /// Table with the columns instance, statistic, value.
    Csv,
}
