//! Command-line arguments, and dispatch to the commands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;
use warpweave_files::Budget;
use warpweave_framework::Registry;
use warpweave_params::Diagnostics;
use warpweave_systems::{Scenario, Threads};

use crate::outcome::leave_with;
use crate::{
    accesses, analyze, bench, check, compare, conform, describe, diff, experiment, list, memory,
    new, ptx, recordings, run, sweep, system, timeline, trace, validate,
};

/// Name of this repository's program. Other programs show its version next to their own name.
const OWN_NAME: &str = "warpweave";

/// Simulate full GPU systems from description files, on a deterministic event kernel.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print less: no progress, no notes.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print more; give it twice for details.
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Limit the memory in use, such as `2 GiB` [default: 80 % of what the machine grants].
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory::size())]
    memory_limit: Option<u64>,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario: emulate its program, replay it on its system, verify, report.
    Run(Box<RunArguments>),
    /// Run variants of a machine on many programs, and judge the claims made beforehand.
    ///
    /// Every run is repeated under neutral perturbations. A stopped experiment resumes where it was
    /// stopped. The exit code is 1 if a run fails or the outcome differs from the one recorded in
    /// the file.
    Experiment(experiment::Arguments),
    /// Run a scenario at the levels of one or more axes and compare.
    Sweep(sweep::Arguments),
    /// Find the first cycle and component at which two runs differ.
    Diff {
        /// Results folder of a run with `--state-hash`.
        a: PathBuf,
        /// Results folder of the run to compare with.
        b: PathBuf,
    },
    /// Compare runs: cycles, settings, statistics by relative change.
    Compare(compare::Arguments),
    /// Load and build everything a scenario names, without running it.
    Check {
        /// Scenario file to load and check.
        scenario: PathBuf,
        /// Override a value, `path=value`; may be repeated.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
        /// Print the system as built instead of a summary.
        #[arg(long)]
        resolved: bool,
        /// Show the partition of the system for this many threads.
        #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: u16,
    },
    /// List components, policies, statistics, systems or workloads.
    List {
        /// Kind of things to list, such as components.
        what: list::Listing,
        /// Folder to search for description files.
        #[arg(long, default_value = "scenarios")]
        folder: PathBuf,
    },
    /// Describe a component kind or a policy: its purpose and its fields.
    Describe {
        /// Name of the component kind; for a policy `ROLE/NAME`, or `NAME` if only one role has it.
        kind: String,
    },
    /// Show the longest waits in a recorded timeline, with their reasons.
    Timeline(timeline::Arguments),
    /// Summarise an access log by kind and place of access, or write it as a table.
    Accesses(accesses::Arguments),
    /// List the kernels of a PTX file: parameters, resources, unsupported features.
    Ptx(ptx::Arguments),
    /// Analyse the memory reuse in a trace or an access log.
    #[command(subcommand)]
    Analyze(analyze::AnalyzeCommand),
    /// Check on generated machines that a policy keeps the promises of every policy.
    ///
    /// For each broken promise, the simplest scenario that shows it is saved, and the exit code is
    /// 1.
    Conform(conform::Arguments),
    /// Record, convert, summarise or print program traces.
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Convert option files to system files.
    #[command(subcommand)]
    System(system::SystemCommand),
    /// Drive one component with a request trace and report its performance.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Compare a component with the reference data of trusted simulators.
    Validate(validate::Arguments),
    /// Create a component, a policy, or a program with its own component kinds from a template.
    #[command(subcommand)]
    New(new::NewCommand),
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

/// Does what the command line asks for, with the component kinds of `registry`, and returns the
/// program's exit code. `docs/commands.md` lists commands and exit codes.
///
/// The `main` of a program with its own component kinds has to call nothing else:
///
/// ```text
#[doc = include_str!("templates/program/src/main.rs")]
/// ```
///
/// The process ends at once after `--help` and `--version`, and after a command line that cannot
/// be understood.
pub fn main(registry: Registry) -> ExitCode {
    let arguments = Arguments::read(&program_name());
    log_to_stderr(&arguments);
    let quiet = arguments.quiet;
    let budget = memory::budget(arguments.memory_limit);
    let result = match &arguments.command {
        Command::Run(run) => run::run(&registry, run, quiet, &budget),
        Command::Experiment(arguments) => {
            experiment::experiment(&registry, arguments, quiet, &budget)
        }
        Command::Sweep(arguments) => sweep::sweep(&registry, arguments, quiet, &budget),
        Command::Diff { a, b } => diff::diff(&registry, a, b, quiet, &budget),
        Command::Compare(arguments) => compare::compare(arguments, &budget),
        Command::Check {
            scenario,
            sets,
            resolved,
            threads,
        } => {
            let threads = (*threads).into();
            let options = check::Options {
                resolved: *resolved,
                threads,
                quiet,
            };
            check::check(&registry, scenario, sets, options, &budget)
        }
        Command::List { what, folder } => list::list(&registry, *what, folder, &budget),
        Command::Describe { kind } => describe::describe(&registry, kind),
        Command::Timeline(arguments) => timeline::timeline(arguments),
        Command::Accesses(arguments) => accesses::accesses(arguments, &budget),
        Command::Conform(arguments) => conform::conform(&registry, arguments),
        Command::Analyze(command) => analyze::analyze(command, &budget),
        Command::Ptx(arguments) => ptx::ptx(arguments, &budget),
        Command::Trace(command) => trace::trace(command, &budget),
        Command::System(command) => system::system(command),
        Command::Bench(command) => bench::bench(&registry, command, &budget),
        Command::Validate(arguments) => validate::validate(&registry, arguments),
        Command::New(command) => new::new(&registry, command),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

impl Arguments {
    /// Parses the arguments of this process. Exits if they ask for help or are invalid.
    fn read(program: &str) -> Self {
        let mut command = Self::command();
        if program != OWN_NAME {
            command = command.display_name(program).version(concat!(
                "(warpweave ",
                env!("CARGO_PKG_VERSION"),
                ")"
            ));
        }
        let read = command.try_get_matches();
        let read = read.and_then(|matches| Self::from_arg_matches(&matches));
        read.unwrap_or_else(|error| leave_with(&error))
    }
}

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

/// Sends the log to standard error. `WARPWEAVE_LOG` selects it (`info`, `warpweave_systems=debug`);
/// otherwise the arguments set its level.
fn log_to_stderr(arguments: &Arguments) {
    let level = match (arguments.quiet, arguments.verbose) {
        (true, _) => LevelFilter::ERROR,
        (_, 0) => LevelFilter::WARN,
        (_, 1) => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let wanted = std::env::var("WARPWEAVE_LOG").ok();
    let filter = wanted.and_then(|wanted| wanted.parse().ok());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false);
    tracing_subscriber::registry()
        .with(filter.unwrap_or_else(|| Targets::new().with_default(level)))
        .with(lines)
        .init();
}
