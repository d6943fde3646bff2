//! The command line: its arguments, and which command they are for.

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

/// The program of this repository; others carry its version beside their name.
const OWN_NAME: &str = "warpweave";

/// Full GPU systems from description files, on a deterministic event kernel.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Say less: no progress, no notes.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say more; twice for details.
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Memory that may be used, such as `2 GiB` [default: 80 % of what the machine grants].
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory::size())]
    memory_limit: Option<u64>,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario: emulate its program, replay it on its system, verify, report.
    Run(Box<RunArguments>),
    /// Run variants of a machine on many programs, and judge what was claimed before.
    ///
    /// Every run is repeated under neutral perturbations. The experiment goes on where it was stopped. The exit code is 1 when a run failed, or what came out differs from what
    /// the file records.
    Experiment(experiment::Arguments),
    /// Run a scenario at the levels of one or more axes and compare.
    Sweep(sweep::Arguments),
    /// Find the first cycle and component at which two runs part.
    Diff {
        /// Results folder of a run with `--state-hash`.
        a: PathBuf,
        /// Results folder of another.
        b: PathBuf,
    },
    /// Compare runs: cycles, what was set, statistics by relative change.
    Compare(compare::Arguments),
    /// Read and build everything a scenario names, without running it.
    Check {
        /// Scenario file.
        scenario: PathBuf,
        /// Override, `path=value`; may be repeated.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
        /// Print the system as built instead of a summary.
        #[arg(long)]
        resolved: bool,
        /// Threads between which to show how the system would be divided.
        #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: u16,
    },
    /// List what there is.
    List {
        /// What to list.
        what: list::Listing,
        /// Folder of description files.
        #[arg(long, default_value = "scenarios")]
        folder: PathBuf,
    },
    /// Explain a component kind or a policy: what it is and what its description may set.
    Describe {
        /// Name of the kind; of a policy `ROLE/NAME`, or `NAME` where one role alone has it.
        kind: String,
    },
    /// Say of a timeline who waited longest, and for what.
    Timeline(timeline::Arguments),
    /// Say of a log of accesses what was asked for where, or write it as a table.
    Accesses(accesses::Arguments),
    /// List the kernels of a PTX file: parameters, resources, what is unsupported.
    Ptx(ptx::Arguments),
    /// Say of a trace or a log of accesses what its accesses have in common.
    #[command(subcommand)]
    Analyze(analyze::AnalyzeCommand),
    /// Check on generated machines that a policy keeps what every policy promises.
    ///
    /// Every promise that is broken leaves the simplest scenario that shows it; the exit code is then 1.
    Conform(conform::Arguments),
    /// Record, summarise or print program traces.
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Make system files of option files.
    #[command(subcommand)]
    System(system::SystemCommand),
    /// Drive one component with a request trace and report what it did.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Compare a component with the reference data of trusted simulators.
    Validate(validate::Arguments),
    /// Write a component, a policy, or a program with kinds of its own, to start from.
    #[command(subcommand)]
    New(new::NewCommand),
}

#[derive(clap::Args)]
pub(crate) struct RunArguments {
    /// Scenario file.
    #[arg(required_unless_present = "trace", conflicts_with = "trace")]
    pub(crate) scenario: Option<PathBuf>,
    /// Instead of a scenario: run this trace, which `warpweave trace record` wrote, or one of Accel-Sim's, ...
    #[arg(long, value_name = "FILE", requires = "system")]
    pub(crate) trace: Option<PathBuf>,
    /// ... on the system of this file.
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub(crate) system: Option<PathBuf>,
    /// Override, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Write report, manifest and the resolved system into this folder, which must not hold
    /// results yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the buffers that the workload calls its results into this new folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) results: Option<PathBuf>,
    /// Watch every memory and launch wire with protocol checkers; a violation fails the run.
    #[arg(long)]
    pub(crate) check: bool,
    /// Emulate the program and report what it does wrong: values that were never written, races,
    /// barriers that a part of a work-group reaches, accesses outside their allocation. Nothing is
    /// simulated.
    #[arg(long, conflicts_with_all = ["check", "out", "results", "checkpoint", "resume", "files", "accesses", "full", "stats"])]
    pub(crate) check_program: bool,
    /// Form of the report on standard output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// Every statistic as text instead of one screen.
    #[arg(long, conflicts_with = "stats")]
    pub(crate) full: bool,
    /// Instead of one screen the statistics of the instances, or the `INSTANCE.STATISTIC`, that this
    /// matches, such as `cluster[0].*`; may be repeated. Also what `--format csv` is to hold.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) stats: Vec<String>,
    /// Shares of the work, each on a thread as far as there are cores: a number, or `auto` for as
    /// many of the machine's cores as pay.
    /// Results do not depend on it.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = threads)]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArguments,
    #[command(flatten)]
    pub(crate) recordings: recordings::Arguments,
    /// Log every request that the scenario's taps for accesses hear to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) accesses: Option<PathBuf>,
}

/// Saving, resuming and hashing a run.
#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints and state hashes")]
pub(crate) struct CheckpointArguments {
    /// Save the run to this file when asked to: at the cycles below, on SIGUSR1, and on Ctrl-C.
    /// `{cycle}` in the name stands for the core cycle; without it the last one stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Save after these core cycles.
    #[arg(
        long,
        value_name = "CYCLE",
        value_delimiter = ',',
        requires = "checkpoint"
    )]
    pub(crate) checkpoint_at: Vec<u64>,
    /// Save every so many core cycles.
    #[arg(long, value_name = "CYCLES", requires = "checkpoint",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint_every: Option<u64>,
    /// Go on from this checkpoint of the same scenario.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Hash the state of every component every so many core cycles, for `warpweave diff`.
    #[arg(long, value_name = "CYCLES", requires = "out",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) state_hash: Option<u64>,
}

impl RunArguments {
    /// Whether nothing but the report comes of the run: then nobody asks for the program once it was simulated.
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

    /// Reads what is to be run.
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

/// More threads than any machine this is for has cores.
const THREADS_MAX: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A page for people.
    Text,
    /// One object for machines.
    Json,
}

/// Form of the report of a run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A page for people.
    Text,
    /// One object for machines.
    Json,
    /// A table: instance, statistic, value.
    Csv,
}

/// Does what the command line asks for, with the component kinds of `registry`, and returns the
/// program's exit code. `docs/commands.md` lists commands and exit codes.
///
/// It is all that the `main` of a program with component kinds of its own has to call:
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
    /// The arguments of this process; ends it if they ask for help or cannot be understood.
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

/// The name by which this program was started, without folder and ending.
pub(crate) fn program_name() -> String {
    let started_as = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&started_as).file_stem().unwrap_or_default();
    if name.is_empty() {
        OWN_NAME.to_owned()
    } else {
        name.to_string_lossy().into_owned()
    }
}

/// Writes the log to standard error: what `WARPWEAVE_LOG` asks for (`info`,
/// `warpweave_systems=debug`), or else as much as the arguments say.
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
