//! Fuzz driver that tries mutated inputs and keeps those that break a promise.
//!
//! Run `cargo run --release -p warpweave-fuzz -- library-targets --count 10000` against the
//! libraries, `cargo run --release -p warpweave-fuzz -- through --count 1000` through the program.
#![expect(clippy::print_stdout, reason = "its table goes to standard output")]

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use warpweave_fuzz::{
    BrokenPromise, Campaign, Case, Folder, Kind, Limits, Mode, Program, Tally, work,
};

/// Fuzz the libraries and the program with mutated inputs of every kind.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Try inputs against the libraries, in worker processes.
    LibraryTargets(Inputs),
    /// Try inputs through the program, one process each.
    Through {
        #[command(flatten)]
        inputs: Inputs,
        /// Path of the program to test; by default the one next to this driver.
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Write one input, and all the files it needs, into a folder.
    Show {
        /// Kind of the input to write.
        kind: Kind,
        /// Seed from which the input is derived.
        seed: u64,
        /// Number of the input within its seed.
        number: u64,
        /// Folder to create and fill with the files.
        folder: PathBuf,
    },
    #[command(hide = true)]
    Worker {
        kind: Kind,
        seed: u64,
        from: u64,
        until: u64,
        step: usize,
    },
}

#[derive(Args)]
struct Inputs {
    /// Kinds of input to try; all by default.
    #[arg(long = "kind", value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// Seed from which the inputs are derived.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first input to try.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of inputs to try of each kind.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Number of inputs to try concurrently.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Time limit for one input, in seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Address-space limit for one input, in mebibytes.
    #[arg(long, default_value_t = 4096)]
    mebibytes: u64,
    /// Folder in which to save inputs that break a promise.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Maximum number of attempts to shrink a failing input.
    #[arg(long, default_value_t = 300)]
    shrink: usize,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(3)
        }
    }
}

fn run(arguments: &Arguments) -> io::Result<bool> {
    let this = std::env::current_exe()?;
    match &arguments.command {
        Command::LibraryTargets(inputs) => try_all(inputs, &Mode::LibraryTargets(this)),
        Command::Through { inputs, program } => {
            let beside = this.with_file_name("warpweave");
            let program = program.clone().unwrap_or(beside);
            try_all(inputs, &Mode::Through(program.canonicalize()?))
        }
        Command::Show {
            kind,
            seed,
            number,
            folder,
        } => {
            let source = Folder::new()?;
            let case = Case::new(*kind, *seed, *number, &source)?;
            for (name, bytes) in source.originals() {
                write(&folder.join(name), bytes)?;
            }
            write(&folder.join(case.file), &case.bytes)?;
            let program = Program::new(Path::new("warpweave"), source, Limits::default());
            println!("{}: {}", case.file, program.shown(&case).trim_end());
            Ok(true)
        }
        Command::Worker {
            kind,
            seed,
            from,
            until,
            step,
        } => {
            work(*kind, *seed, (*from, *until, *step), &mut io::stdout())?;
            Ok(true)
        }
    }
}

/// Tries the inputs of all kinds. True if none broke a promise.
fn try_all(inputs: &Inputs, mode: &Mode) -> io::Result<bool> {
    let through = matches!(mode, Mode::Through(_));
    let kinds = if inputs.kinds.is_empty() {
        Kind::value_variants()
    } else {
        &inputs.kinds[..]
    };
    let mut all = 0;
    let mut faults = 0;
    println!(
        "{:<11} {:>9} {:>9} {:>9} {:>7}",
        "kind", "inputs", "accepted", "refused", "broken"
    );
    for &kind in kinds
        .iter()
        .filter(|kind| through || kind.is_for_libraries())
    {
        let campaign = Campaign {
            kind,
            seed: inputs.seed,
            from: inputs.from,
            count: inputs.count,
            mode: mode.clone(),
            limits: Limits {
                time: Duration::from_secs(inputs.seconds),
                memory_bytes: inputs.mebibytes << 20,
            },
            jobs: inputs.jobs.into(),
        };
        let tally = campaign.run()?;
        println!(
            "{:<11} {:>9} {:>9} {:>9} {:>7}",
            kind.name(),
            tally.inputs(),
            tally.accepted,
            tally.refused,
            tally.found.len()
        );
        report(&campaign, &tally, inputs)?;
        all += tally.inputs();
        faults += tally.found.len();
    }
    println!(
        "{all} inputs of seed {}, {faults} broke a promise",
        inputs.seed
    );
    Ok(faults == 0)
}

fn report(campaign: &Campaign, tally: &Tally, inputs: &Inputs) -> io::Result<()> {
    for (found, count) in tally.causes() {
        println!(
            "  {count} x, first number {}: {}",
            found.number, found.fault
        );
        if let Some(out) = &inputs.out {
            keep(campaign, found, inputs.shrink, out)?;
        }
    }
    Ok(())
}

/// Writes a failing input, original and shrunk, with the observed fault.
fn keep(campaign: &Campaign, found: &BrokenPromise, tries: usize, out: &Path) -> io::Result<()> {
    let name = format!(
        "{}-{}-{}",
        campaign.kind.name(),
        campaign.seed,
        found.number
    );
    let folder = out.join(name);
    let source = Folder::new()?;
    let whole = Case::new(campaign.kind, campaign.seed, found.number, &source)?;
    write(&folder.join("whole"), &whole.bytes)?;
    let (small, line) = campaign.shrink(found, tries)?;
    write(&folder.join("shrunk"), &small.bytes)?;
    let what = format!("{}\n{}\n{}\n", small.file, line.trim_end(), found.fault);
    write(&folder.join("what.txt"), what.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}
