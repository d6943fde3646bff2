//! Drives a trace through the bare memory controller, as the reference tools were driven.

use serde::Serialize;
use thiserror::Error;
use warpweave_components::dram::{ChannelStats, Controller, Issued, Offer};
use warpweave_framework::{Environment, SpecError};

use super::presets::Setup;
use super::traces::{Arrival, Arrivals, BeyondDevice, RequestRow, ServedRow, arrivals};
use crate::{Distribution, RowProblem, StandaloneError, Table};

/// Maximum number of idle-channel refreshes that are recorded or judged one by one.
const REFRESHES_KEPT_MAX: u64 = 1 << 24;

/// Reasons that a trace cannot be driven through a controller.
#[derive(Debug, Error)]
pub enum DriveError {
    /// A request has an invalid location or an invalid arrival cycle.
    #[error("{}", .0.problem)]
    Request(RowProblem),
    /// The controller broke a DRAM timing rule, given as text.
    #[error("{0}")]
    Controller(String),
    /// The controller cannot be built from its description.
    #[error("{0}")]
    Setup(#[from] Box<StandaloneError>),
}

impl From<RowProblem> for DriveError {
    fn from(problem: RowProblem) -> Self {
        Self::Request(problem)
    }
}

impl Table<RequestRow> {
    /// Converts a drive error into one that names its position in this trace.
    pub fn refused(&self, error: DriveError) -> StandaloneError {
        match error {
            DriveError::Request(problem) => self.wrong(&problem),
            DriveError::Controller(problem) => StandaloneError::Request(problem),
            DriveError::Setup(error) => *error,
        }
    }
}

/// Result of driving one trace through a controller.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One row per request, in trace order.
    pub served: Vec<ServedRow>,
    /// Commands of each channel, if recording was requested.
    pub commands: Vec<Vec<Issued>>,
    /// Totals over all requests and channels.
    pub summary: Summary,
}

/// Totals of a run. Cycles are CK cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of read requests in the trace.
    pub reads: u64,
    /// Number of write requests in the trace.
    pub writes: u64,
    /// Number of reads answered from a waiting write.
    pub reads_forwarded: u64,
    /// Number of writes merged into a waiting write.
    pub writes_merged: u64,
    /// Number of writes still waiting because the drain policy never serves them.
    pub writes_left: u64,
    /// Cycle after the last data beat of the run.
    pub end_cycle: u64,
    /// Data-bus utilisation over all channels, from the first arrival to the end.
    pub bus_utilisation: f64,
    /// Bytes per cycle, from the first arrival to the end.
    pub bytes_per_cycle: f64,
    /// Bandwidth in gigabytes per second, if the clock is known.
    pub gigabytes_per_second: Option<f64>,
    /// Fraction of requests to the banks that needed no row to be opened or closed.
    pub row_hit_rate: f64,
    /// Number of commands issued, by command name.
    pub commands: Vec<(&'static str, u64)>,
    /// Read latency, from acceptance to the end of data.
    pub read_latency: Option<Distribution>,
    /// Number of cycles in which the controller was evaluated.
    pub evaluations: u64,
    /// Requests with an address past the end of the device, if any.
    pub beyond_device: Option<BeyondDevice>,
}

/// Offers each request from its arrival on, one per cycle and in order, and runs until all are
/// served. Cycles in which nothing can happen are skipped. Policy names are looked up in the
/// environment.
///
/// # Errors
/// Returns an error if a request has an invalid location, time or order, or if a timing rule is
/// broken.
pub fn drive(
    setup: &Setup,
    rows: &[RequestRow],
    record: bool,
    environment: &Environment,
) -> Result<Outcome, DriveError> {
    let Arrivals {
        requests: trace,
        beyond,
    } = arrivals(rows, setup)?;
    if record || setup.spec.check {
        check_refreshes(&trace, setup)?;
    }
    let refused = DriveError::Controller;
    let channel = |number| {
        let order = setup.spec.order(number, environment)?;
        let mut channel = Controller::new(&setup.spec.config(), order);
        if record {
            channel.record_commands();
        }
        if setup.spec.check {
            channel.judge_commands();
        }
        Ok(channel)
    };
    let channels: Result<Vec<_>, SpecError> = (0..setup.spec.channels).map(channel).collect();
    let mut channels = channels.map_err(|e| Box::new(setup.refused(e)))?;
    let mut served: Vec<_> = (0..trace.len() as u64)
        .map(|idx| ServedRow {
            idx,
            accept: 0,
            done: -1,
        })
        .collect();
    let (last, evaluations) = run(&mut channels, &trace, &mut served);
    for channel in &channels {
        if let Some(broken) = channel.order().broken() {
            return Err(refused(format!("the request order {broken}")));
        }
        if let Some(broken) = channel.judge().and_then(|j| j.violations().first()) {
            return Err(refused(broken.to_string()));
        }
    }
    let commands = channels.iter().map(|c| c.commands().to_vec()).collect();
    let mut summary = summarise(setup, &trace, &served, &channels, last, evaluations);
    summary.beyond_device = beyond;
    Ok(Outcome {
        served,
        commands,
        summary,
    })
}

/// Returns the cycle after the last data beat and the number of channel evaluations.
fn run(channels: &mut [Controller], trace: &[Arrival], served: &mut [ServedRow]) -> (u64, u64) {
    let mut cycle = 0;
    let mut next = 0;
    let mut evaluations = 0;
    loop {
        evaluations += 1;
        for channel in channels.iter_mut() {
            channel.advance(cycle);
            while let Some((done, tag)) = channel.take_completion(cycle) {
                served[tag as usize].done = done as i64;
            }
        }
        let mut refused = false;
        if let Some(arrival) = trace.get(next).filter(|a| a.cycle <= cycle) {
            let offer = channels[arrival.channel].offer(cycle, arrival.request);
            refused = offer == Offer::Refused;
            if !refused {
                served[next].accept = cycle;
                next += 1;
            }
        }
        // What was refused fits at the earliest when a command has been issued.
        let arrival = trace.get(next).filter(|_| !refused);
        let mut until = arrival.map_or(u64::MAX, |a| a.cycle.max(cycle + 1));
        for channel in channels.iter_mut() {
            until = until.min(channel.next_command().unwrap_or(u64::MAX));
            until = until.min(channel.next_completion().unwrap_or(u64::MAX));
        }
        if until == u64::MAX {
            let written = channels.iter().filter_map(Controller::last_written).max();
            return (written.unwrap_or(0), evaluations);
        }
        cycle = until.max(cycle + 1);
    }
}

fn summarise(
    setup: &Setup,
    trace: &[Arrival],
    served: &[ServedRow],
    channels: &[Controller],
    written: u64,
    evaluations: u64,
) -> Summary {
    let sum = |of: fn(&ChannelStats) -> u64| channels.iter().map(|c| of(c.stats())).sum::<u64>();
    let read = served.iter().filter(|s| s.done >= 0);
    let latencies = read.clone().map(|s| s.done as u64 - s.accept).collect();
    let end = read.map(|s| s.done as u64).max().unwrap_or(0).max(written);
    let first = trace.first().map_or(0, |a| a.cycle);
    let accesses = sum(|s| s.accesses.reads + s.accesses.writes);
    let cycles = (end - first).max(1) as f64;
    let busy = accesses * u64::from(setup.spec.timing.burst_cycles);
    let bytes = (accesses * u64::from(setup.spec.access_bytes())) as f64 / cycles;
    let auto = sum(|s| s.auto_precharges);
    let writes = trace.iter().filter(|a| a.request.write).count() as u64;
    Summary {
        reads: trace.len() as u64 - writes,
        writes,
        reads_forwarded: sum(|s| s.accesses.reads_forwarded),
        writes_merged: sum(|s| s.accesses.writes_merged),
        writes_left: channels.iter().map(|c| u64::from(c.pending().1)).sum(),
        end_cycle: end,
        bus_utilisation: busy as f64 / cycles / channels.len() as f64,
        bytes_per_cycle: bytes,
        gigabytes_per_second: setup.clock_mhz.map(|mhz| bytes * mhz / 1000.0),
        row_hit_rate: sum(|s| s.rows.hits) as f64 / accesses.max(1) as f64,
        commands: vec![
            ("ACT", sum(|s| s.commands.activates)),
            ("PRE", sum(|s| s.commands.precharges)),
            ("PREA", sum(|s| s.commands.precharges_all)),
            ("RD", sum(|s| s.accesses.reads)),
            ("WR", sum(|s| s.accesses.writes)),
            ("including RDA and WRA", auto),
            ("REF", sum(|s| s.commands.refreshes)),
            ("REFpb", sum(|s| s.commands.refreshes_bank)),
        ],
        read_latency: Distribution::of(latencies),
        evaluations,
        beyond_device: None,
    }
}

/// Rejects a trace that would need too many refreshes, each of which is recorded or judged.
fn check_refreshes(trace: &[Arrival], setup: &Setup) -> Result<(), RowProblem> {
    let Some(interval) = setup.spec.timing.refresh_interval(setup.spec.refresh) else {
        return Ok(());
    };
    let most = REFRESHES_KEPT_MAX.saturating_mul(interval.into());
    match trace.iter().position(|arrival| arrival.cycle > most) {
        None => Ok(()),
        Some(row) => Err(RowProblem {
            row,
            column: "arrival",
            problem: format!(
                "more than {REFRESHES_KEPT_MAX} refreshes are due before cycle {}, and each is recorded or checked",
                trace[row].cycle
            ),
            hint: "leave out `--commands` and `check: true`, or shorten the trace".to_owned(),
        }),
    }
}

impl Summary {
    /// Formats the summary as human-readable text.
    pub fn text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<22} {value}");
        };
        line("reads", self.reads.to_string());
        line("writes", self.writes.to_string());
        line("reads forwarded", self.reads_forwarded.to_string());
        line("writes merged", self.writes_merged.to_string());
        line("writes left waiting", self.writes_left.to_string());
        if let Some(beyond) = &self.beyond_device {
            line("beyond the device", beyond.requests.to_string());
        }
        line("end cycle", self.end_cycle.to_string());
        line("bus utilisation", format!("{:.5}", self.bus_utilisation));
        line("bytes per cycle", format!("{:.3}", self.bytes_per_cycle));
        if let Some(rate) = self.gigabytes_per_second {
            line("GB/s", format!("{rate:.4}"));
        }
        line("row hit rate", format!("{:.5}", self.row_hit_rate));
        for (name, count) in &self.commands {
            line(name, count.to_string());
        }
        if let Some(l) = &self.read_latency {
            line("read latency mean", format!("{:.3} cycles", l.mean));
            let ranks = [
                ("min", l.min),
                ("p50", l.p50),
                ("p90", l.p90),
                ("p95", l.p95),
                ("p99", l.p99),
                ("max", l.max),
            ];
            for (name, value) in ranks {
                line(&format!("read latency {name}"), format!("{value} cycles"));
            }
        }
        text
    }
}
