//! `warpweave trace`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use warpweave_accel_sim::{Quirks, export, import, inputs};
use warpweave_files::{Budget, Ledger, Paths};
use warpweave_params::Diagnostic;
use warpweave_systems::Scenario;
use warpweave_trace::{Program, TraceError};

use crate::outcome::{CommandResult, Failure, to_stderr, to_stdout};

/// What to do with traces.
#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    /// Emulate the program of a scenario and write its trace.
    Record {
        /// Scenario file.
        scenario: PathBuf,
        /// Trace file to write.
        file: PathBuf,
        /// Override, `path=value`; may be repeated.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
    },
    /// Make a trace of one of Accel-Sim's: a list of kernels, or the trace of one kernel.
    ///
    /// What is not modelled of its instructions is listed.
    Import {
        /// `kernelslist.g`, `.traceg`, either packed with xz or zstd, or `.tracez`.
        file: PathBuf,
        /// Trace file to write.
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
        /// Do as Accel-Sim's own reader does; may be repeated.
        #[arg(long = "quirk", value_name = "NAME", value_enum)]
        quirks: Vec<ImportNote>,
    },
    /// Write a trace as one of Accel-Sim's.
    ///
    /// What such a trace cannot say is listed.
    Export {
        /// Trace file.
        file: PathBuf,
        /// New folder for `kernelslist.g` and the traces of the kernels.
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Summarise a trace file.
    Info {
        /// Trace file.
        file: PathBuf,
    },
    /// Print the records of one work-group.
    Dump {
        /// Trace file.
        file: PathBuf,
        /// Number of the launch.
        #[arg(long, default_value_t = 0)]
        kernel: u32,
        /// Linear index of the work-group.
        #[arg(long, default_value_t = 0)]
        work_group: u32,
        /// Only this wavefront of the work-group.
        #[arg(long)]
        wavefront: Option<u32>,
    },
}

/// What the reader of Accel-Sim does otherwise.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportNote {
    /// The n-th block of a file is work-group n, whatever its number says.
    FileOrder,
    /// Bytes of each lane follow from the opcode.
    OpcodeWidth,
    /// Where a window has address 0, all generic accesses are to local memory.
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
                    "there is no launch {kernel}; the trace has {count}, counted from 0"
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
