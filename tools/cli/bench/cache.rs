//! `warpweave bench cache`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;
use warpweave_components::cache::replacement::{
    BitPlru, Fifo, Lfu, Lru, PseudoLru, Random, RandomSpec, Replacement, Srrip,
};
use warpweave_framework::{Environment, Policy};
use warpweave_standalone::cache::{
    Access, Bench, Counts, Functional, GEOMETRIES, Preset, Timed, read_trace,
};
use warpweave_standalone::{StandaloneError, write_rows};

use crate::cli::Format;
use crate::host::Stopwatch;
use crate::outcome::{CommandResult, Failure, to_stdout};
use crate::validate::failed;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Trace of accesses: columns rw, addr_hex; plain or gzip.
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// Geometry of the reference table (L1_16k_4w, L1_16k_4w_l64, L1_32k_8w, L1_32k_dm, L1_48k_6w,
    /// L2_128k_16w, L2_256k_8w_l64, L1_16k_4w+L2_128k_16w): tags alone, without time; or a
    /// description file of a cache and the latency of the memory below it: the whole component.
    #[arg(long, value_name = "NAME|FILE.ron")]
    preset: String,
    /// Which line of a full set leaves (with a geometry; a description file says it itself).
    #[arg(long, value_enum)]
    policy: Option<UsualName>,
    /// Run the trace so many times, the cache keeping its content.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Write a row per access: hit or miss.
    #[arg(long, value_name = "OUT.csv")]
    per_request: Option<PathBuf>,
    /// Form of the report on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Replacement policies by their usual names.
#[derive(Clone, Copy, ValueEnum)]
enum UsualName {
    #[value(name = "LRU", alias = "lru")]
    Lru,
    #[value(name = "FIFO", alias = "fifo")]
    Fifo,
    #[value(name = "PLRU", alias = "plru")]
    PseudoLru,
    #[value(name = "BIT_PLRU", alias = "bit_plru")]
    BitPlru,
    #[value(name = "RANDOM", alias = "random")]
    Random,
    #[value(name = "SRRIP", alias = "srrip")]
    Srrip,
    #[value(name = "LFU", alias = "lfu")]
    Lfu,
}

impl From<UsualName> for Policy<Replacement> {
    fn from(name: UsualName) -> Self {
        match name {
            UsualName::Lru => Self::plain::<Lru>(),
            UsualName::Fifo => Self::plain::<Fifo>(),
            UsualName::PseudoLru => Self::plain::<PseudoLru>(),
            UsualName::BitPlru => Self::plain::<BitPlru>(),
            UsualName::Random => Self::of::<Random>(&RandomSpec { seed: 0 }),
            UsualName::Srrip => Self::plain::<Srrip>(),
            UsualName::Lfu => Self::plain::<Lfu>(),
        }
    }
}

/// What the host spent on the run, without reading and writing files.
#[derive(Serialize)]
struct Host {
    cpu_s: f64,
    accesses_per_cpu_s: f64,
}

impl Host {
    fn of(accesses: usize, clock: &Stopwatch) -> Self {
        let cpu_s = clock.cpu_s();
        Self {
            cpu_s,
            accesses_per_cpu_s: accesses as f64 / cpu_s.max(1e-9),
        }
    }
}

#[derive(Serialize)]
struct Row {
    result: &'static str,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> CommandResult {
    let trace = read_trace(&arguments.trace, environment.ledger()).map_err(failed)?;
    let text = match GEOMETRIES.iter().find(|p| p.name == arguments.preset) {
        Some(preset) => run_tags(arguments, &trace, preset)?,
        None => run_component(arguments, &trace, environment)?,
    };
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn run_tags(arguments: &Arguments, trace: &[Access], preset: &Preset) -> Result<String, Failure> {
    let policy = arguments.policy.unwrap_or(UsualName::Lru);
    let mut cache = Functional::new(preset, &policy.into())
        .map_err(|why| failed(StandaloneError::Request(format!("--policy: {why}"))))?;
    let repeats = 0..arguments.repeat;
    let accesses = trace.len() * arguments.repeat as usize;
    let clock;
    if let Some(path) = &arguments.per_request {
        let mut hits = Vec::with_capacity(accesses);
        clock = Stopwatch::start();
        for _ in repeats {
            hits.extend(trace.iter().map(|access| cache.access(*access)));
        }
        write_results(path, &hits)?;
    } else {
        clock = Stopwatch::start();
        for _ in repeats {
            for access in trace {
                cache.access(*access);
            }
        }
    }
    let host = Host::of(accesses, &clock);
    let counts = cache.counts();
    Ok(match arguments.format {
        Format::Json => json(&TagsReport {
            preset: *preset,
            counts,
            host,
        }),
        Format::Text => tags_text(&counts, &host),
    })
}

#[derive(Serialize)]
struct TagsReport {
    preset: Preset,
    counts: Counts,
    host: Host,
}

fn tags_text(counts: &Counts, host: &Host) -> String {
    let mut text = String::new();
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64 * 100.0;
    let _ = writeln!(text, "accesses   {:>12}", counts.accesses);
    let mut line = |name: &str, count: u64, whole: u64| {
        let _ = writeln!(
            text,
            "{name:<10} {count:>12}  {:6.2} %",
            share(count, whole)
        );
    };
    line("hits", counts.hits, counts.accesses);
    line("misses", counts.misses, counts.accesses);
    if let (Some(hits), Some(misses)) = (counts.l2_hits, counts.l2_misses) {
        line("L2 hits", hits, counts.misses);
        line("L2 misses", misses, counts.misses);
    }
    text + &host_text(host)
}

fn run_component(
    arguments: &Arguments,
    trace: &[Access],
    environment: &Environment,
) -> Result<String, Failure> {
    let path = Path::new(&arguments.preset);
    if !path.exists() {
        let names: Vec<_> = GEOMETRIES.iter().map(|p| p.name).collect();
        return Err(failed(StandaloneError::Request(format!(
            "--preset: `{}` is neither a file nor one of {}",
            arguments.preset,
            names.join(", ")
        ))));
    }
    if arguments.policy.is_some() {
        return Err(failed(StandaloneError::Request(format!(
            "--policy goes with a geometry; {} says `replacement` itself",
            path.display()
        ))));
    }
    let bench = Bench::read(path).map_err(failed)?;
    let trace = trace.repeat(arguments.repeat as usize);
    let clock = Stopwatch::start();
    let timed = bench.run(&trace, environment).map_err(failed)?;
    let host = Host::of(trace.len(), &clock);
    if let Some(path) = &arguments.per_request {
        write_results(path, &timed.served)?;
    }
    Ok(match arguments.format {
        Format::Json => json(&TimedReport { timed, host }),
        Format::Text => timed_text(&timed, &host),
    })
}

#[derive(Serialize)]
struct TimedReport {
    #[serde(flatten)]
    timed: Timed,
    host: Host,
}

fn timed_text(timed: &Timed, host: &Host) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "cycles                 {:>12}", timed.cycles);
    let _ = writeln!(
        text,
        "accesses per cycle     {:>12.4}",
        timed.accesses_per_cycle
    );
    let _ = writeln!(text, "served here            {:>12}", timed.hits);
    let _ = writeln!(text, "served from below      {:>12}", timed.misses);
    if let Some(d) = &timed.latency {
        let _ = writeln!(
            text,
            "latency in cycles      mean {:.2}, min {}, p50 {}, p90 {}, p95 {}, p99 {}, max {}",
            d.mean, d.min, d.p50, d.p90, d.p95, d.p99, d.max
        );
    }
    for (name, count) in timed.counters.iter().filter(|(_, count)| *count > 0) {
        let _ = writeln!(text, "{name:<22} {count:>12}");
    }
    text + &host_text(host)
}

fn host_text(host: &Host) -> String {
    format!(
        "host: {:.4} s of CPU time, {:.1} million accesses/s\n",
        host.cpu_s,
        host.accesses_per_cpu_s / 1e6
    )
}

fn json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report).expect("plain data") + "\n"
}

fn write_results(path: &Path, hits: &[bool]) -> Result<(), Failure> {
    let rows = hits.iter().map(|hit| Row {
        result: if *hit { "hit" } else { "miss" },
    });
    write_rows(path, rows).map_err(failed)
}
