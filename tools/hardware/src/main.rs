//! `warpweave-hardware` runs a scenario's program and micro-benchmarks on the GPU of this machine.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for terminals"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use warpweave_files::Output;
use warpweave_hardware::cuda::Cuda;
use warpweave_hardware::driver::Driver as _;
use warpweave_hardware::replay::Replay;
use warpweave_hardware::{micro, table};
use warpweave_systems::Scenario;

/// Run programs and micro-benchmarks on the GPU of this machine and compare with the emulator.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the program of a scenario on the GPU and compare every output, bit for bit, with the
    /// emulator's.
    Run {
        /// Path of the scenario file to run.
        scenario: PathBuf,
        /// Set a value, as for `warpweave run`: `workload.n=256`.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
        /// Write the time of each launch to this file.
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Measure latencies, throughputs and bandwidths of the GPU.
    Micro {
        /// Write the figures to this file.
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run {
            scenario,
            sets,
            csv,
        } => run(&scenario, &sets, csv.as_deref()),
        Command::Micro { csv } => measure(csv.as_deref()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Runs a scenario. True if the device agrees with the emulator.
fn run(path: &Path, sets: &[String], csv: Option<&Path>) -> Result<bool, String> {
    let scenario = Scenario::load(path, sets).map_err(|problems| problems.to_string())?;
    let program = scenario.program();
    let program = program.ok_or("a trace contains no program that a GPU could run")?;
    let mut gpu = Cuda::open().map_err(|error| error.to_string())?;
    let device = gpu.device().clone();
    let modules = program.modules().iter();
    let modules = modules.map(|module| (module.module(), module.text()));
    let replay = Replay::new(&mut gpu, modules);
    let mut replay = replay.map_err(|error| error.to_string())?;
    let mut problem = None;
    let emulated = scenario.emulate_told(&mut |action| {
        if problem.is_none() {
            problem = replay.act(action).err();
        }
    });
    let emulated = emulated.map_err(|error| error.to_string())?;
    if let Some(problem) = problem {
        return Err(problem.to_string());
    }
    println!("{} on {}", program.name(), device.name);
    for comparison in &replay.comparisons {
        let said = match comparison.first {
            None => "equal".to_owned(),
            Some((word, emulator, gpu)) => format!(
                "{} words differ; the first is word {word}: {emulator:#010x} emulated, {gpu:#010x} on the GPU",
                comparison.differ
            ),
        };
        let (buffer, launches) = (&comparison.buffer, comparison.after_launches);
        println!(
            "  `{buffer}` after {launches} launches, {} bytes: {said}",
            comparison.bytes
        );
    }
    for check in &emulated.checks {
        let word = if check.passed { "as" } else { "not as" };
        println!(
            "  emulated, `{}` is {word} expected by {}",
            check.buffer, check.reference
        );
    }
    write(
        csv,
        &table::launches(&device, program.name(), &replay.launches),
    )?;
    Ok(replay.agrees())
}

fn measure(csv: Option<&Path>) -> Result<bool, String> {
    let mut gpu = Cuda::open().map_err(|error| error.to_string())?;
    let figures = micro::run(&mut gpu).map_err(|error| error.to_string())?;
    write(csv, &table::figures(gpu.device(), &figures))?;
    Ok(true)
}

/// Writes to a file, or to standard output if there is none.
fn write(csv: Option<&Path>, text: &str) -> Result<(), String> {
    let Some(path) = csv else {
        print!("{text}");
        return Ok(());
    };
    let written = Output::write(path, text.as_bytes());
    written.map_err(|error| error.to_string())
}
