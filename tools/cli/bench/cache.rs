//! `warpweave bench cache`: drives the cache with an access trace.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use warpweave_components::cache::replacement::{
    BitPlru, Fifo, Lfu, Lru, PseudoLru, Random, RandomSpec, Replacement, Srrip,
};
use warpweave_framework::{Environment, Policy};
use warpweave_params::name_hint;
use warpweave_standalone::cache::{
    Access, Bench, Counts, Functional, GEOMETRIES, Preset, Timed, read_trace_within,
};
use warpweave_standalone::{StandaloneError, write_rows};

use super::REPEAT_MAX;
use crate::arguments::Format;
use crate::host::Stopwatch;
use crate::outcome::{CommandResult, Failure, ended, to_stderr, to_stdout};
use crate::validate::failed;

use super::name_outputs;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Access trace with the columns rw, addr_hex; plain or gzip.
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// Geometry of the reference table, or a description file. Geometries (L1_16k_4w,
    /// L1_16k_4w_l64, L1_32k_8w, L1_32k_dm, L1_48k_6w, L2_128k_16w, L2_256k_8w_l64,
    /// L1_16k_4w+L2_128k_16w) simulate tags only, without timing. A description file gives a cache
    /// and the memory latency below it and simulates the whole component.
    #[arg(long, value_name = "NAME|FILE.ron")]
    preset: String,
    /// Replacement policy for a geometry; a description file gives its own.
    #[arg(long, value_enum)]
    policy: Option<UsualName>,
    /// Run the trace this many times, keeping the cache content.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=REPEAT_MAX))]
    repeat: u32,
    /// Write a row per access: hit or miss.
    #[arg(long, value_name = "OUT.csv")]
    per_request: Option<PathBuf>,
    /// Output format of the report on standard output.
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

/// Host cost of the run, without reading and writing files.
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

/// Maximum number of accesses whose results are kept individually.
const ACCESSES_KEPT_MAX: u64 = 1 << 24;

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> CommandResult {
    let outputs = [("--per-request", &arguments.per_request)];
    name_outputs(&arguments.trace, &arguments.preset, &outputs)?;
    let trace = read_trace_within(&arguments.trace, environment.ledger()).map_err(failed)?;
    let (text, hits) = match GEOMETRIES.iter().find(|p| p.name == arguments.preset) {
        Some(preset) => run_tags(arguments, &trace, preset)?,
        None => run_component(arguments, &trace, environment)?,
    };
    let told = to_stdout(&text);
    let path = arguments.per_request.as_ref();
    let written = path.map_or(Ok(()), |path| write_results(path, &hits));
    Ok(ended(0, [told, written]))
}

/// Report and, if `--per-request` is given, a hit flag for every access.
type Outcome = (String, Vec<bool>);

/// Rejects a repeat count that would keep more accesses than the limit.
fn check_kept(arguments: &Arguments, trace: &[Access]) -> Result<(), Failure> {
    let accesses = trace.len() as u64 * u64::from(arguments.repeat);
    if arguments.repeat == 1 || accesses <= ACCESSES_KEPT_MAX {
        return Ok(());
    }
    Err(failed(StandaloneError::Request(format!(
        "--repeat {}: {accesses} accesses exceed the {ACCESSES_KEPT_MAX} whose results can be recorded one by one\nhint: repeat less often, or use a geometry without --per-request",
        arguments.repeat
    ))))
}

fn run_tags(arguments: &Arguments, trace: &[Access], preset: &Preset) -> Result<Outcome, Failure> {
    let policy = arguments.policy.unwrap_or(UsualName::Lru);
    let mut cache = Functional::new(preset, &policy.into())
        .map_err(|why| failed(StandaloneError::Request(format!("--policy: {why}"))))?;
    let repeats = 0..arguments.repeat;
    let accesses = trace.len() * arguments.repeat as usize;
    let clock;
    let mut hits = Vec::new();
    if arguments.per_request.is_some() {
        check_kept(arguments, trace)?;
        hits.reserve_exact(accesses);
        clock = Stopwatch::start();
        for _ in repeats {
            hits.extend(trace.iter().map(|access| cache.access(*access)));
        }
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
    let text = match arguments.format {
        Format::Json => json(&TagsReport {
            preset: *preset,
            counts,
            host,
        }),
        Format::Text => tags_text(&counts, &host),
    };
    Ok((text, hits))
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
) -> Result<Outcome, Failure> {
    let path = Path::new(&arguments.preset);
    if !path.exists() {
        let names = GEOMETRIES.iter().map(|p| p.name);
        return Err(failed(StandaloneError::Request(format!(
            "--preset: `{}` is neither a file nor a geometry\nhint: {}",
            arguments.preset.escape_debug(),
            name_hint(&arguments.preset, "geometries", names)
        ))));
    }
    if arguments.policy.is_some() {
        return Err(failed(StandaloneError::Request(format!(
            "--policy requires a geometry; {} sets `replacement` itself",
            path.display()
        ))));
    }
    let bench = Bench::read(path).map_err(failed)?;
    check_kept(arguments, trace)?;
    let trace = trace.repeat(arguments.repeat as usize);
    let clock = Stopwatch::start();
    let mut timed = bench.run(&trace, environment).map_err(failed)?;
    let host = Host::of(trace.len(), &clock);
    if timed.cut > 0 {
        to_stderr(&format!(
            "warning: {} of {} accesses extend beyond the end of a line and are truncated",
            timed.cut,
            trace.len()
        ));
    }
    let hits = std::mem::take(&mut timed.served);
    let text = match arguments.format {
        Format::Json => json(&TimedReport { timed, host }),
        Format::Text => timed_text(&timed, &host),
    };
    Ok((text, hits))
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
    let _ = writeln!(text, "served by this level   {:>12}", timed.hits);
    let _ = writeln!(text, "served by next level   {:>12}", timed.misses);
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
    Ok(write_rows(path, rows)?)
}
