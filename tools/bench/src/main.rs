//! Benchmarks of the simulation kernel and of whole systems.
//!
//! ```text
//! cargo run --release -p warpweave-bench -- kernel                 every workload
//! cargo run --release -p warpweave-bench -- kernel ring --format json
//! cargo run --release -p warpweave-bench --features peers -- kernel --peers
//! cargo run --release -p warpweave-bench -- gate                   instructions against the table
//! cargo run --release -p warpweave-bench -- profile                where the instructions of a run go
//! cargo run --release -p warpweave-bench -- floor                  memory path, ours and by hand
//! cargo run --release -p warpweave-bench -- parallel               efficiency of dividing the work
//! cargo run --release -p warpweave-bench -- parallel instructions  the same in instructions
//! cargo run --release -p warpweave-bench -- parallel meetings      time of threads' meetings
//! cargo run --release -p warpweave-bench -- parallel pairs         whole runs on threads, and side by side
//! cargo run --release -p warpweave-bench -- system                 the two speed scenarios
//! cargo run --release -p warpweave-bench -- system scenarios/bfs_60.ron workload.block=128
//! valgrind --tool=callgrind target/release/warpweave-bench one ring 200000
//! ```
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program: figures on stdout, notes and errors on stderr"
)]

mod callgrind;
mod gate;
mod memory_path;
#[cfg(feature = "peers")]
mod nexosim_peer;
mod parallel;
mod profile;
mod report;
mod rounds;
mod system;
mod systemc;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use warpweave_bench::{Implementation, Sample, Workload, floor};

use crate::gate::Gate;

use crate::rounds::Plan;

/// Measure the speed of the simulation kernel and of whole systems.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Time the kernel workloads, and count their instructions if valgrind is installed.
    Kernel {
        /// Workloads to run; all by default.
        workloads: Vec<Workload>,
        /// Also run the peers: SystemC, if it is installed, and simulators available as crates.
        #[arg(long)]
        peers: bool,
        /// Output format of the figures: text or JSON.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Number of rounds in which every implementation runs once.
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
        pairs: u16,
        /// Make all runs this many times shorter.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        shorter: u64,
    },
    /// Run one workload once and print CPU nanoseconds, units, checksum and bytes.
    One {
        workload: Workload,
        /// Number of hops, items, events, changes or components.
        units: u64,
        /// Implementation that runs the workload, such as `warpweave`.
        #[arg(long, value_parser = implementation, default_value = "warpweave")]
        by: Implementation,
        /// Sizes of the workload, in order; the usual ones by default.
        #[arg(long = "size", value_name = "SIZE")]
        sizes: Vec<u64>,
    },
    /// Count instructions per unit (for scenarios, per wavefront instruction) and fail if a count
    /// exceeds the table's limit.
    Gate {
        /// Path of the table with the stored counts.
        #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.csv"))]
        table: PathBuf,
        /// Write the table instead of comparing with it.
        #[arg(long, conflicts_with = "shorter")]
        write: bool,
        /// Path of the `warpweave` that runs the table's scenarios; by default the one next to this
        /// program.
        #[arg(long, value_name = "PATH")]
        program: Option<PathBuf>,
        /// Make the kernel workload runs this many times shorter. The counts are less exact.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        shorter: u64,
    },
    /// Profile the instructions of the two speed scenarios by module and by component kind.
    Profile {
        /// Write the tables into this page, between its marks, instead of printing them.
        #[arg(long, value_name = "PAGE")]
        page: Option<PathBuf>,
        /// Path of the `warpweave` to run; by default the one next to this program.
        #[arg(long, value_name = "PATH")]
        program: Option<PathBuf>,
    },
    /// Compare the memory path with one written by hand: instructions a sector and a packet.
    Floor {
        /// Write the tables into this page, between its marks, instead of printing them.
        #[arg(long, value_name = "PAGE")]
        page: Option<PathBuf>,
        /// Path of the `warpweave` to run; by default the one next to this program.
        #[arg(long, value_name = "PATH")]
        program: Option<PathBuf>,
        /// Run the hand-written path alone, once, with this many units and elements.
        #[arg(long, num_args = 2, value_names = ["UNITS", "ELEMENTS"], conflicts_with_all = ["page", "program"])]
        once: Option<Vec<u32>>,
    },
    /// Measure how evenly partitioning spreads the work of a scenario.
    Parallel {
        /// `[REPEATS SCENARIO [PATH=VALUE ...]]` by time,
        /// `instructions [EVERY SCENARIO [PATH=VALUE ...]]` by instructions,
        /// `pairs [ROUNDS SCENARIO [PATH=VALUE ...]]` whole runs; by default two scenarios of the
        /// repository.
        #[arg(value_name = "WORD", trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// Measure the simulation speed of whole systems.
    System {
        /// Scenario file; by default two of the repository.
        scenario: Option<String>,
        /// Overrides of scenario values, each as `path=value`.
        #[arg(value_name = "PATH=VALUE")]
        sets: Vec<String>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Kernel {
            workloads,
            peers,
            format,
            pairs,
            shorter,
        } => {
            let plan = Plan {
                workloads: some_or_all(workloads),
                peers,
                pairs: usize::from(pairs),
                shorter,
            };
            let figures = plan.measure(&mut |note| eprintln!("{note}"))?;
            match format {
                Format::Text => print!("{}", report::text(&figures)),
                Format::Json => print!("{}", report::json(&figures)),
            }
        }
        Command::One {
            workload,
            units,
            by,
            sizes,
        } => {
            let usual = workload.sizes();
            let sizes = if sizes.is_empty() { usual } else { &sizes };
            println!("{}", one(workload, by, sizes, units)?.line());
        }
        Command::Gate {
            table,
            write,
            program,
            shorter,
        } => {
            let program = program.map_or_else(Gate::program_beside, Ok)?;
            let gate = Gate { program, shorter };
            if write {
                print!("{}", gate.write(&table)?);
                return Ok(ExitCode::SUCCESS);
            }
            let (text, holds) = gate.check(&table)?;
            print!("{text}");
            if !holds {
                eprintln!(
                    "error: more instructions than {} allows\nhint: if they are worth it, write \
                     the table anew with gate --write and say why",
                    table.display()
                );
                return Ok(ExitCode::FAILURE);
            }
        }
        Command::Profile { page, program } => {
            let program = program.map_or_else(Gate::program_beside, Ok)?;
            let tables = profile::tables(&program)?;
            match page {
                Some(page) => profile::write(&page, profile::MARKS, &tables)?,
                None => print!("{tables}"),
            }
        }
        Command::Floor {
            page,
            program,
            once,
        } => {
            if let Some(once) = once {
                println!("{:?}", floor::run(once[0] as usize, once[1]));
                return Ok(ExitCode::SUCCESS);
            }
            let program = program.map_or_else(Gate::program_beside, Ok)?;
            let tables = memory_path::tables(&program, &gate::own_path()?)?;
            match page {
                Some(page) => profile::write(&page, memory_path::MARKS, &tables)?,
                None => print!("{tables}"),
            }
        }
        Command::Parallel { words } => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            for table in parallel::command(&words)? {
                println!("{table}");
            }
        }
        Command::System { scenario, sets } => match scenario {
            Some(path) => println!("{}", system::measure(&path, &sets)?),
            None => {
                for path in system::SCENARIOS {
                    println!("{}", system::measure(path, &[])?);
                }
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one workload once in this process.
fn one(
    workload: Workload,
    by: Implementation,
    sizes: &[u64],
    units: u64,
) -> Result<Sample, String> {
    match by {
        #[cfg(feature = "peers")]
        Implementation::Nexosim => nexosim_peer::run(workload, sizes, units),
        #[cfg(not(feature = "peers"))]
        Implementation::Nexosim => Err(format!(
            "this program is built without NeXosim\n{}",
            rounds::PEERS_HINT
        )),
        _ => warpweave_bench::run(workload, by, sizes, units),
    }
}

/// Parses an implementation name as in reports, with underscores.
fn implementation(name: &str) -> Result<Implementation, String> {
    let all = Implementation::value_variants();
    all.iter()
        .copied()
        .find(|by| by.name() == name)
        .ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|by| by.name()).collect();
            format!(
                "no implementation is called {name}\nhint: {}",
                known.join(", ")
            )
        })
}

fn some_or_all(workloads: Vec<Workload>) -> Vec<Workload> {
    if workloads.is_empty() {
        Workload::ALL.to_vec()
    } else {
        workloads
    }
}
