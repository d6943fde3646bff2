//! The `warpweave` program.

mod bench;
mod check;
mod describe;
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
    /// Form of the report on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    recordings: recordings::Arguments,
}

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
        Command::Check {
            scenario,
            sets,
            resolved,
        } => check::check(scenario, sets, *resolved, arguments.quiet),
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
