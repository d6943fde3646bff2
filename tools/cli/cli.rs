//! Command-line arguments, and dispatch to the commands.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;
use warpweave_framework::Registry;

use crate::arguments::{OWN_NAME, program_name};
use crate::outcome::{leave_with, wants_colour};
use crate::{
    accesses, analyze, bench, check, compare, conform, correlate, describe, diff, experiment, list,
    memory, new, probe, ptx, robust, run, sweep, system, timeline, trace, validate,
};

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
    Run(Box<run::RunCommand>),
    /// Run variants of a machine on many programs, and judge the claims made beforehand.
    ///
    /// Every run is repeated under neutral perturbations. A stopped experiment resumes where it was
    /// stopped. The exit code is 1 if a run fails or the outcome differs from the one recorded in
    /// the file.
    Experiment(experiment::Arguments),
    /// Repeat an experiment on plausible machines and count where its findings survive.
    ///
    /// The machines are drawn from ranges of the parameters that the experiment's source does not
    /// state. The nearest machine on which a finding has another verdict is run again.
    Robust(robust::Arguments),
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
    /// Compare runs with a profile of a real GPU: errors, ratios, stalls.
    Correlate(correlate::Arguments),
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
    /// Analyse memory reuse, in recorded accesses or in the code of kernels.
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
    /// Measure a machine: latencies, bandwidths and rates.
    ///
    /// Small programs run on the machine of a system file. Differences between runs give each
    /// figure, so that launch and cold caches cancel.
    Probe(probe::Arguments),
    /// Drive one component with a request trace and report its performance.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Compare a component with the reference data of trusted simulators.
    Validate(validate::Arguments),
    /// Create a component, a policy or a program from a template.
    #[command(subcommand)]
    New(new::NewCommand),
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
        Command::Robust(arguments) => robust::robust(&registry, arguments, quiet, &budget),
        Command::Sweep(arguments) => sweep::sweep(&registry, arguments, quiet, &budget),
        Command::Diff { a, b } => diff::diff(&registry, a, b, quiet, &budget),
        Command::Compare(arguments) => compare::compare(arguments, &budget),
        Command::Correlate(arguments) => correlate::correlate(arguments, &budget),
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
        Command::Probe(arguments) => probe::probe(&registry, arguments, quiet, &budget),
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

/// Sends the log to standard error: events, and the time that each span took. `WARPWEAVE_LOG`
/// selects them (`info`, `warpweave_systems=debug`); otherwise the arguments set the level.
fn log_to_stderr(arguments: &Arguments) {
    let level = match (arguments.quiet, arguments.verbose) {
        (true, _) => LevelFilter::ERROR,
        (_, 0) => LevelFilter::WARN,
        (_, 1) => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let wanted = std::env::var("WARPWEAVE_LOG").ok();
    let filter = wanted.and_then(|wanted| wanted.parse().ok());
    // `without_time` of the layer would drop the durations of spans as well.
    let format = tracing_subscriber::fmt::format()
        .without_time()
        .with_target(false);
    let lines = tracing_subscriber::fmt::layer()
        .event_format(format)
        .with_writer(std::io::stderr)
        .with_ansi(wants_colour(&std::io::stderr()))
        .with_span_events(FmtSpan::CLOSE);
    tracing_subscriber::registry()
        .with(filter.unwrap_or_else(|| Targets::new().with_default(level)))
        .with(lines)
        .init();
}
