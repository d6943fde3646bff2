//! `warpweave bench dram`: drives the GDDR5 controller with a request trace.

use std::path::{Path, PathBuf};

use serde::Serialize;
use warpweave_framework::Environment;
use warpweave_standalone::dram::{
    CommandRow, Outcome, Setup, Summary, drive, judge, load, read_requests_within,
};
use warpweave_standalone::write_rows;

use super::REPEAT_MAX;
use crate::arguments::Format;
use crate::host::Stopwatch;
use crate::outcome::{CommandResult, Failure, ended, to_stderr, to_stdout};
use crate::validate::failed;

use super::name_outputs;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Request trace: comma-separated text, plain or gzip, with the columns arrival and rw. The
    /// location is either bg, ba, row and col (and channel, if there are several) or a byte
    /// address.
    #[arg(long, value_name = "FILE", required_unless_present = "judge")]
    trace: Option<PathBuf>,
    /// Name of a preset (A, B, D, R, ...), or a RON file that describes a `Gddr5(...)`.
    #[arg(long, value_name = "NAME|FILE.ron")]
    preset: String,
    /// Write the acceptance and completion cycle of each request.
    #[arg(long, value_name = "OUT.csv")]
    per_request: Option<PathBuf>,
    /// Write every command of the (only or first) channel.
    #[arg(long, value_name = "OUT.csv")]
    commands: Option<PathBuf>,
    /// Check a command trace, as written by `--commands`, against the timing of the preset instead
    /// of running. Exits with code 1 if a rule is broken.
    #[arg(long, value_name = "COMMANDS.csv", conflicts_with_all = ["trace", "per_request", "commands", "repeat"])]
    judge: Option<PathBuf>,
    /// Run this many times, to measure the speed.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=REPEAT_MAX))]
    repeat: u32,
    /// Output format of the report on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    requests_per_cpu_second: f64,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> CommandResult {
    if let Some(commands) = &arguments.judge {
        let setup = load(&arguments.preset).map_err(failed)?;
        return judged(&setup, commands, arguments.format);
    }
    let path = arguments.trace.as_ref();
    let path = path.expect("the command line requires a trace without --judge");
    let outputs = [
        ("--per-request", &arguments.per_request),
        ("--commands", &arguments.commands),
    ];
    name_outputs(path, &arguments.preset, &outputs)?;
    let setup = load(&arguments.preset).map_err(failed)?;
    let trace = read_requests_within(path, environment.ledger()).map_err(failed)?;
    let record = arguments.commands.is_some();
    let run = || drive(&setup, &trace.rows, record, environment);
    let watch = Stopwatch::start();
    let mut outcome = run();
    for _ in 1..arguments.repeat {
        outcome = run();
    }
    let cpu_s = watch.cpu_s();
    let outcome = outcome.map_err(|e| failed(trace.refused(e)))?;
    if let Some(beyond) = &outcome.summary.beyond_device {
        to_stderr(&format!(
            "warning: {} of {} requests have an address beyond the {} bytes of the device and wrap around; the first is at {}:{}",
            beyond.requests,
            trace.rows.len(),
            beyond.device_bytes,
            path.display(),
            trace.line(beyond.first)
        ));
    }
    let served = trace.rows.len() as f64 * f64::from(arguments.repeat);
    let rate = if cpu_s > 0.0 { served / cpu_s } else { 0.0 };
    let report = Report {
        summary: &outcome.summary,
        requests_per_cpu_second: rate,
    };
    let told = to_stdout(&match arguments.format {
        Format::Text => format!(
            "{}{:<22} {rate:.0} requests/s of CPU time\n",
            outcome.summary.text(),
            "speed"
        ),
        Format::Json => serde_json::to_string_pretty(&report).expect("plain data") + "\n",
    });
    let [served, commands] = write(arguments, &setup, &outcome);
    Ok(ended(0, [told, served, commands]))
}

fn judged(setup: &Setup, commands: &Path, format: Format) -> CommandResult {
    let verdict = judge(setup, commands).map_err(failed)?;
    let told = to_stdout(&match format {
        Format::Text => verdict.text(),
        Format::Json => serde_json::to_string_pretty(&verdict).expect("plain data") + "\n",
    });
    Ok(ended(u8::from(!verdict.holds()), [told]))
}

fn write(arguments: &Arguments, setup: &Setup, outcome: &Outcome) -> [Result<(), Failure>; 2] {
    let served = arguments.per_request.as_ref();
    let served = served.map_or(Ok(()), |path| write_rows(path, &outcome.served));
    let commands = arguments.commands.as_ref().map_or(Ok(()), |path| {
        let banks = setup.spec.geometry.banks_per_group;
        let commands = outcome.commands.first().into_iter().flatten();
        write_rows(path, commands.map(|c| CommandRow::of(c, banks)))
    });
    [served, commands].map(|written| Ok(written?))
}
