//! `warpweave trace`: records, converts and prints program traces.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use warpweave_accel_sim::{Quirks, export, import, inputs};
use warpweave_files::{Budget, Ledger, Paths};
use warpweave_params::Diagnostic;
use warpweave_systems::Scenario;
use warpweave_trace::{Program, TraceError};

use crate::outcome::{CommandResult, Failure, to_stderr, to_stdout};

/// Record, convert, summarise or print program traces.
#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    /// Emulate the program of a scenario and write its trace.
    Record {
        /// Scenario file whose program is emulated.
        scenario: PathBuf,
        /// Path of the trace file to write.
        file: PathBuf,
        /// Override a value, `path=value`; may be repeated.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
    },
    /// Import a trace of Accel-Sim: a list of kernels, or the trace of one kernel.
    ///
    /// Features of its instructions that are not modelled are listed.
    Import {
        /// Accel-Sim trace: `kernelslist.g`, `.traceg`, either packed with xz or zstd, or
        /// `.tracez`.
        file: PathBuf,
        /// Path of the trace file to write.
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
        /// Imitate a peculiarity of Accel-Sim's own reader; may be repeated.
        #[arg(long = "quirk", value_name = "NAME", value_enum)]
        quirks: Vec<ImportNote>,
    },
    /// Export a trace to Accel-Sim's format.
    ///
    /// Contents that this format cannot represent are listed.
    Export {
        /// Path of the trace file to export.
        file: PathBuf,
        /// New folder for `kernelslist.g` and the traces of the kernels.
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Summarise the contents of a trace file.
    Info {
        /// Path of the trace file to summarise.
        file: PathBuf,
    },
    /// Print the records of one work-group.
    Dump {
        /// Path of the trace file to read.
        file: PathBuf,
        /// Number of the kernel launch in the trace.
        #[arg(long, default_value_t = 0)]
        kernel: u32,
        /// Linear index of the work-group in its grid.
        #[arg(long, default_value_t = 0)]
        work_group: u32,
        /// Print only this wavefront of the work-group.
        #[arg(long)]
        wavefront: Option<u32>,
    },
}

/// Peculiarities of Accel-Sim's reader that can be imitated.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportNote {
    /// The n-th block of a file is work-group n, regardless of its number.
    FileOrder,
    /// The bytes per lane follow from the opcode.
    OpcodeWidth,
    /// If a window has address 0, all generic accesses are to local memory.
    GenericShared,
}

pub(crate) fn trace(command: &TraceCommand, budget: &Budget) -> CommandResult {
    match command {
        TraceCommand::Record {
            scenario,
            file,
            sets,
        } => {
            let scenario = Scenario::load_within(scenario, sets, budget)?;
            let mut paths = Paths::new();
            for input in scenario.files() {
                paths.reads(input);
            }
            paths.writes("trace record", file)?;
            let executed = scenario.emulate()?;
            let hash = executed
                .program
                .save(file)
                .map_err(|error| Failure::Machine(error.to_string()))?;
            to_stderr(&format!("{}: {hash}", file.display()));
        }
        TraceCommand::Import { file, out, quirks } => {
            let quirks = Quirks {
                file_order: quirks.contains(&ImportNote::FileOrder),
                opcode_width: quirks.contains(&ImportNote::OpcodeWidth),
                generic_shared: quirks.contains(&ImportNote::GenericShared),
            };
            let mut paths = Paths::new();
            for input in inputs(file)? {
                paths.reads(&input);
            }
            paths.writes("trace import", out)?;
            let imported = import(file, out, quirks, &Ledger::new(budget))?;
            to_stderr(&format!("{}: {}", out.display(), imported.hash));
            for unmodelled in &imported.unmodelled {
                to_stderr(&unmodelled.to_string());
            }
        }
        TraceCommand::Export { file, out } => {
            for loss in export(file, out, &Ledger::new(budget))? {
                to_stderr(&loss.to_string());
            }
        }
        TraceCommand::Info { file } => {
            let mut text = String::new();
            open(file, budget)?
                .write_summary(&mut text)
                .expect("writing to a string succeeds");
            to_stdout(&text)?;
        }
        TraceCommand::Dump {
            file,
            kernel,
            work_group,
            wavefront,
        } => {
            let program = open(file, budget)?;
            let count = program.kernels.len();
            let Some(launch) = program.kernels.get(*kernel as usize) else {
                return Err(Failure::InputText(format!(
                    "no launch {kernel}; the trace has {count}, counted from 0"
                )));
            };
            let (groups, fronts) = (launch.work_groups(), launch.wavefronts_per_work_group());
            if *work_group >= groups || wavefront.is_some_and(|w| w >= fronts) {
                return Err(Failure::InputText(format!(
                    "launch {kernel} has {groups} work-groups of {fronts} wavefronts, counted \
                     from 0"
                )));
            }
            let mut text = String::new();
            launch
                .write_dump(*work_group, *wavefront, &mut text)
                .expect("writing to a string succeeds");
            to_stdout(&text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn open(file: &std::path::Path, budget: &Budget) -> Result<Program, Failure> {
    Program::open_within(file, &Ledger::new(budget)).map_err(|error| match error {
        TraceError::OverBudget(error) => Diagnostic::from(error).into(),
        error => Failure::InputText(error.to_string()),
    })
}
