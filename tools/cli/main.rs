//! The `warpweave` program.

mod bench;
mod check;
mod describe;
mod diff;
mod drive;
mod host;
mod list;
mod outcome;
mod progress;
mod recordings;
mod results;
mod run;
mod trace;
mod validate;

use std::path::PathBuf;
use std::process::ExitCode;

use warpweave_systems::Threads;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};

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
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario: emulate its program, replay it on its system, verify, report.
    Run(RunArguments),
    /// Find the first cycle and component at which two runs part.
    Diff {
        /// Results folder of a run with `--state-hash`.
        a: PathBuf,
        /// Results folder of another.
        b: PathBuf,
    },
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
        what: list::What,
        /// Folder of description files.
        #[arg(long, default_value = "scenarios")]
        folder: PathBuf,
    },
    /// Explain a component kind: what it is and what its description may set.
    Describe {
        /// Name of the kind.
        kind: String,
    },
    /// Record, summarise or print program traces.
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Drive one component with a request trace and report what it did.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Compare a component with the reference data of trusted simulators.
    Validate(validate::Arguments),
}

#[derive(clap::Args)]
struct RunArguments {
    /// Scenario file.
    scenario: PathBuf,
    /// Override, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Write report, manifest and the resolved system into this folder, which must not hold
    /// results yet.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Watch every memory and launch wire with protocol checkers; a violation fails the run.
    #[arg(long)]
    check: bool,
    /// Form of the report on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Shares of the work, each on a thread as far as there are cores: a number, or `auto` for as
    /// many of the machine's cores as pay.
    /// Results do not depend on it.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = threads)]
    threads: Threads,
    #[command(flatten)]
    checkpoints: CheckpointArguments,
    #[command(flatten)]
    recordings: recordings::Arguments,
}

/// Saving, resuming and hashing a run.
#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints and state hashes")]
struct CheckpointArguments {
    /// Save the run to this file when asked to: at the cycles below, on SIGUSR1, and on Ctrl-C.
    /// `{cycle}` in the name stands for the core cycle; without it the last one stays.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Save after these core cycles.
    #[arg(
        long,
        value_name = "CYCLE",
        value_delimiter = ',',
        requires = "checkpoint"
    )]
    checkpoint_at: Vec<u64>,
    /// Save every so many core cycles.
    #[arg(long, value_name = "CYCLES", requires = "checkpoint",
          value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: Option<u64>,
    /// Go on from this checkpoint of the same scenario.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Hash the state of every component every so many core cycles, for `warpweave diff`.
    #[arg(long, value_name = "CYCLES", requires = "out",
          value_parser = clap::value_parser!(u64).range(1..))]
    state_hash: Option<u64>,
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
enum Format {
    /// A page for people.
    Text,
    /// One object for machines.
    Json,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log_to_stderr(&arguments);
    let result = match &arguments.command {
        Command::Run(run) => run::run(run, arguments.quiet),
        Command::Diff { a, b } => diff::diff(a, b, arguments.quiet),
        Command::Check {
            scenario,
            sets,
            resolved,
            threads,
        } => check::check(
            scenario,
            sets,
            *resolved,
            (*threads).into(),
            arguments.quiet,
        ),
        Command::List { what, folder } => list::list(*what, folder),
        Command::Describe { kind } => describe::describe(kind),
        Command::Trace(command) => trace::trace(command),
        Command::Bench(command) => bench::bench(command),
        Command::Validate(arguments) => validate::validate(arguments),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn log_to_stderr(arguments: &Arguments) {
    let level = match (arguments.quiet, arguments.verbose) {
        (true, _) => "error",
        (_, 0) => "warn",
        (_, 1) => "info",
        _ => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("WARPWEAVE_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .init();
}
