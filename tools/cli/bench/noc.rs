//! `warpweave bench noc`: drives a network with a packet trace.

use std::path::PathBuf;

use serde::Serialize;
use warpweave_framework::Environment;
use warpweave_standalone::noc;

use crate::arguments::Format;
use crate::host::Stopwatch;
use crate::outcome::{CommandResult, ended, to_stdout};
use crate::validate::failed;

use super::name_outputs;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Packet trace: comma-separated `create,src,dst,flits`, plain or gzip.
    #[arg(long)]
    trace: PathBuf,
    /// Network: gpgpusim_s2, fifo_s1, fifo_isp2, vc4_s1, vc4_s2, voq_i1, voq_i4, voqdeep_i1,
    /// voqdeep_i4, voqdeep_s2, or a RON file with `Router(…)` or `Switch(…)`.
    #[arg(long, value_name = "NAME|FILE.ron")]
    preset: String,
    /// Number of input ports; by default as many as the trace uses.
    #[arg(long)]
    inputs: Option<usize>,
    /// Number of output ports; by default as many as the trace uses.
    #[arg(long)]
    outputs: Option<usize>,
    /// Write the trace with the `inject` and `arrive` cycles of every packet.
    #[arg(long, value_name = "OUT.csv")]
    per_request: Option<PathBuf>,
    /// Output format of the report on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Report of a run with its host cost.
#[derive(Serialize)]
struct Timed {
    #[serde(flatten)]
    bench: noc::Bench,
    cpu_s: f64,
    flits_per_cpu_s: f64,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> CommandResult {
    let outputs = [("--per-request", &arguments.per_request)];
    name_outputs(&arguments.trace, &arguments.preset, &outputs)?;
    let trace = &arguments.trace;
    let packets = noc::read_packets_within(trace, environment.ledger()).map_err(failed)?;
    let watch = Stopwatch::start();
    let (bench, run) = noc::bench(
        &arguments.preset,
        &packets,
        arguments.inputs,
        arguments.outputs,
        environment,
    )
    .map_err(failed)?;
    let cpu_s = watch.cpu_s();
    let flits_per_cpu_s = bench.flits as f64 / cpu_s.max(1e-9);
    let text = match arguments.format {
        Format::Text => format!(
            "{}simulated in {cpu_s:.3} s of CPU time: {:.2} million flits per second\n",
            bench.text(),
            flits_per_cpu_s / 1e6
        ),
        Format::Json => {
            let timed = Timed {
                bench,
                cpu_s,
                flits_per_cpu_s,
            };
            serde_json::to_string_pretty(&timed).expect("plain data") + "\n"
        }
    };
    let told = to_stdout(&text);
    let written = arguments.per_request.as_ref().map_or(Ok(()), |path| {
        Ok(noc::write_passages(path, &packets, &run)?)
    });
    Ok(ended(0, [told, written]))
}
