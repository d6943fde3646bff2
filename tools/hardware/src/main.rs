//! `warpweave-hardware` runs programs and micro-benchmarks on the GPU of this machine.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for terminals"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use warpweave_files::Output;
use warpweave_hardware::campaign::Campaign;
use warpweave_hardware::cuda::Cuda;
use warpweave_hardware::driver::{Driver as _, Properties};
use warpweave_hardware::measure::Meter;
use warpweave_hardware::micro::Effort;
use warpweave_hardware::nvml::Nvml;
use warpweave_hardware::power::Sensor;
use warpweave_hardware::program::Loaded;
use warpweave_hardware::repeat::Repetitions;
use warpweave_hardware::set::MeasurementSet;
use warpweave_hardware::table::Labels;
use warpweave_hardware::{compare, live, micro, table};

/// Run programs and micro-benchmarks on the GPU of this machine.
#[derive(Parser)]
struct Arguments {
    /// Library `libcudadevrt.a` for programs that launch kernels from the device.
    #[arg(long, value_name = "FILE", global = true)]
    device_library: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program on the GPU and compare its results with what is expected.
    Run {
        /// Path of the scenario or workload file to run.
        file: PathBuf,
        /// Set a value, as for `warpweave run`: `workload.n=256`; for a workload also `size=T`.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
        /// Emulate the program as well, and compare every output bit for bit.
        #[arg(long)]
        compare: bool,
        /// Write the time of each launch to this file.
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Repeat a program on the GPU, and measure its time, power and energy.
    Repeat {
        /// Path of the scenario or workload file to run.
        file: PathBuf,
        /// Set a value, as for `warpweave run`: `workload.n=256`; for a workload also `size=T`.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
        /// Seconds over which the program is repeated.
        #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
        seconds: f64,
        /// Number of runs to measure at least, unless one takes longer than `--seconds`.
        #[arg(long, value_name = "RUNS", default_value_t = 3)]
        at_least: u32,
        /// Number of runs before the first that is measured.
        #[arg(long, value_name = "RUNS", default_value_t = 1)]
        warm_up: u32,
        /// Run once more with the time of every launch, and write them to this file.
        #[arg(long, value_name = "FILE")]
        launches: Option<PathBuf>,
        /// Write the samples of power, clocks and temperature to this file.
        #[arg(long, value_name = "FILE")]
        power: Option<PathBuf>,
        /// Write the measurement to this file instead of standard output.
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
    /// Measure all programs of a set, and write the tables after each.
    Measure {
        /// Path of the file with the measurement set.
        set: PathBuf,
        /// Folder for the tables; it is created if it does not exist.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Measure latencies, throughputs and bandwidths of the GPU.
    Micro {
        /// Write the figures to this file.
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let Arguments {
        device_library,
        command,
    } = Arguments::parse();
    let library = device_library.as_deref();
    let done = match command {
        Command::Run {
            file,
            sets,
            compare,
            csv,
        } => run(library, &file, &sets, compare, csv.as_deref()),
        Command::Repeat {
            file,
            sets,
            seconds,
            at_least,
            warm_up,
            launches,
            power,
            csv,
        } => {
            let wanted = Repetitions {
                seconds,
                at_least,
                warm_up,
                launches: launches.is_some(),
            };
            let files = [launches, power, csv];
            repeat(library, &file, &sets, &wanted, &files)
        }
        Command::Measure { set, out } => measure_set(library, &set, &out),
        Command::Micro { csv } => micro(library, csv.as_deref()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {}", live::without_severity(&problem));
            ExitCode::from(2)
        }
    }
}

/// Opens the GPU of this machine.
fn open(device_library: Option<&Path>) -> Result<Cuda, String> {
    Cuda::open(device_library).map_err(|error| error.to_string())
}

/// Runs a program. True if its results are as expected, and equal to the emulator's if compared.
fn run(
    library: Option<&Path>,
    path: &Path,
    sets: &[String],
    with_emulator: bool,
    csv: Option<&Path>,
) -> Result<bool, String> {
    let loaded = Loaded::read(path, sets).map_err(|problems| problems.to_string())?;
    let program = loaded.program();
    let mut gpu = open(library)?;
    let ran = live::run(program, &mut gpu).map_err(|error| error.to_string())?;
    let properties = gpu.properties();
    let launches = ran.launches.len();
    println!(
        "{} on {}: {launches} launches, {} rounds of its loops",
        program.name(),
        properties.name,
        ran.rounds
    );
    for (name, graph) in program.graphs() {
        println!(
            "  graph `{name}`: {} vertices, {} arcs, hash {:016x}",
            graph.vertices(),
            graph.arcs(),
            graph.hash()
        );
    }
    let mut good = true;
    for check in &ran.checks {
        let word = if check.passed { "as" } else { "not as" };
        println!(
            "  `{}` is {word} expected by {}: {}",
            check.buffer, check.reference, check.detail
        );
        good &= check.passed;
    }
    if with_emulator {
        let emulated = loaded.emulate().map_err(|error| error.to_string())?;
        for comparison in compare::outputs(program, &emulated, &ran) {
            println!("  {comparison}");
            good &= comparison.differ == 0;
        }
    }
    let text = table::launches(properties, program.name(), &ran.launches);
    if csv.is_some() {
        write(csv, &text)?;
    }
    Ok(good)
}

/// Time over which the power of the idle device is measured, in seconds.
const IDLE_SECONDS: f64 = 5.0;

/// Starts to sample the GPU's power, if its management library is there.
fn meter(device: &Properties) -> Meter {
    let nvml = Nvml::open(&device.bus);
    if nvml.is_none() {
        eprintln!("note: NVML does not know this GPU; power, clocks and temperature are missing");
    }
    Meter::start(nvml.map(|it| Box::new(it) as Box<dyn Sensor>))
}

/// Returns the name, version and hash of this program.
fn this_program() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let bytes = std::env::current_exe().and_then(std::fs::read);
    let hash = bytes.map_or("unknown".to_owned(), |bytes| {
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    });
    format!("warpweave-hardware {version}, {hash}")
}

/// Repeats a program; `files` are for launches, power samples and the measurement. True if its
/// results are as expected.
fn repeat(
    library: Option<&Path>,
    path: &Path,
    sets: &[String],
    wanted: &Repetitions,
    files: &[Option<PathBuf>; 3],
) -> Result<bool, String> {
    let [launches, power, csv] = files;
    if !(wanted.seconds >= 0.0 && wanted.seconds <= 3600.0) {
        return Err(format!(
            "--seconds is {}, expected 0 to 3600",
            wanted.seconds
        ));
    }
    let loaded = Loaded::read(path, sets).map_err(|problems| problems.to_string())?;
    let mut gpu = open(library)?;
    let mut meter = meter(gpu.properties());
    meter.measure_idle(IDLE_SECONDS);
    let measured = meter.measure(loaded.program(), &mut gpu, wanted);
    let measured = measured.map_err(|error| error.to_string())?;
    let device = gpu.properties();
    let labels = Labels {
        algorithm: loaded.program().name(),
        strategy: "",
        graph: "",
        pass: 0,
    };
    if launches.is_some() {
        let text = table::timed_launches_head(device)
            + &table::timed_launches(labels, device, &measured.repeated.timed);
        write(launches.as_deref(), &text)?;
    }
    if power.is_some() {
        write(power.as_deref(), &table::samples(device, &meter.samples()))?;
    }
    let text = table::measurements_head(device, &this_program(), &meter.sampled())
        + &table::measurement(labels, &measured);
    write(csv.as_deref(), &text)?;
    Ok(measured.repeated.passed())
}

/// Measures a set. True if all of it was measured, with results as expected.
fn measure_set(library: Option<&Path>, path: &Path, folder: &Path) -> Result<bool, String> {
    let set = MeasurementSet::read(path).map_err(|problems| problems.to_string())?;
    let created = std::fs::create_dir_all(folder);
    created.map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let mut gpu = open(library)?;
    let mut meter = meter(gpu.properties());
    let outcome = Campaign {
        path,
        set: &set,
        folder,
        effort: Effort::default(),
        measured_by: &this_program(),
        report: &mut |line| eprintln!("{line}"),
    }
    .run(&mut gpu, &mut meter)?;
    println!(
        "{} measured, {} of them not as expected, {} failed",
        outcome.measured, outcome.wrong, outcome.failed
    );
    Ok(outcome.wrong == 0 && outcome.failed == 0)
}

fn micro(library: Option<&Path>, csv: Option<&Path>) -> Result<bool, String> {
    let mut gpu = open(library)?;
    let figures = micro::run(&mut gpu, Effort::default()).map_err(|error| error.to_string())?;
    write(csv, &table::figures(gpu.properties(), &figures))?;
    Ok(figures.iter().all(|figure| figure.refused.is_none()))
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
