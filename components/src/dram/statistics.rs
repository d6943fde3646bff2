//! Statistics that a memory controller reports.

use warpweave_framework::{Histogram, Instrumented, State, Statistics};

use super::controller::{AccessCounts, CommandCounts, RowCounts};
use super::{Checker, Config, Controller, GddrController};
use crate::roles;

/// Counters of the component, in addition to those of its channels.
#[derive(Default, State, Statistics)]
pub(super) struct RequestCounts {
    #[statistic(unit = "requests", meaning = "reads and prefetches accepted")]
    pub(super) read_requests: u64,
    #[statistic(unit = "requests", meaning = "writes accepted")]
    pub(super) write_requests: u64,
    #[statistic(unit = "requests", meaning = "copy-backs accepted")]
    pub(super) copy_backs: u64,
    #[statistic(
        unit = "requests",
        meaning = "requests beyond the last row, wrapped modulo the number of rows"
    )]
    pub(super) wrapped_requests: u64,
    #[statistic(
        unit = "cycles",
        meaning = "latency from acceptance of a read until its response is ready"
    )]
    pub(super) read_latency: Histogram,
}

/// Sums over all channels, up to the cycle of a report.
#[derive(Default, Statistics)]
struct Totals {
    #[statistic(flatten)]
    accesses: AccessCounts,
    #[statistic(unit = "bytes", meaning = "data moved over the data bus")]
    bytes: u64,
    #[statistic(flatten)]
    rows: RowCounts,
    #[statistic(flatten)]
    commands: CommandCounts,
    #[statistic(
        unit = "accesses",
        meaning = "accesses whose command also closed the bank (RDA, WRA)"
    )]
    auto_precharges: u64,
    /// Number for a device with column pairs.
    #[statistic(
        unit = "accesses",
        meaning = "accesses served by the other half of another access's burst"
    )]
    paired_accesses: Option<u64>,
    #[statistic(
        name = "commands",
        unit = "commands",
        meaning = "commands of all kinds"
    )]
    all_commands: u64,
    #[statistic(
        ratio,
        name = "data_bus_utilisation",
        role = roles::UTILISATION,
        meaning = "data-bus cycles of all column commands issued, per cycle",
        whole = self.cycles * self.channels,
        of = "cycles"
    )]
    data_cycles: u64,
    #[statistic(
        mean,
        name = "read_queue_mean",
        unit = "accesses",
        meaning = "mean number of waiting accesses, excluding those whose row is being opened",
        weight = self.cycles,
        by = "cycles"
    )]
    read_waiting: u64,
    #[statistic(
        mean,
        name = "write_queue_mean",
        unit = "accesses",
        meaning = "mean number of waiting accesses, excluding those whose row is being opened",
        weight = self.cycles,
        by = "cycles"
    )]
    write_waiting: u64,
    #[statistic(
        maximum,
        unit = "accesses",
        meaning = "maximum number of accesses waiting in a channel"
    )]
    read_queue_max: u64,
    #[statistic(
        maximum,
        unit = "accesses",
        meaning = "maximum number of accesses waiting in a channel"
    )]
    write_queue_max: u64,
    cycles: u64,
    channels: u64,
}

/// Results of the timing checkers.
#[derive(Statistics)]
struct Checks {
    #[statistic(unit = "commands", meaning = "commands checked by the timing checker")]
    commands_checked: u64,
    #[statistic(
        unit = "commands",
        meaning = "commands that were issued too early or in the wrong bank state"
    )]
    timing_violations: u64,
    #[statistic(
        maximum,
        unit = "rules",
        meaning = "timing rules that at least one command met exactly"
    )]
    timing_rules_exercised: u64,
}

impl Totals {
    fn new(channels: &[Controller], access_bytes: u32, cycle: u64) -> Self {
        let mut totals = Self {
            cycles: cycle,
            channels: channels.len() as u64,
            ..Self::default()
        };
        let mut paired = 0;
        for stats in channels.iter().map(Controller::stats) {
            totals.accesses += &stats.accesses;
            totals.rows += &stats.rows;
            totals.commands += &stats.commands;
            totals.auto_precharges += stats.auto_precharges;
            paired += stats.paired;
            let (reads, writes) = (&stats.read_queue, &stats.write_queue);
            totals.read_waiting += reads.integral(cycle);
            totals.write_waiting += writes.integral(cycle);
            totals.read_queue_max = totals.read_queue_max.max(reads.max());
            totals.write_queue_max = totals.write_queue_max.max(writes.max());
        }
        let accesses = totals.rows.all();
        let bursts = accesses - paired;
        totals.bytes = accesses * u64::from(access_bytes);
        if let Some(Config {
            column_pairs,
            timing,
            ..
        }) = channels.first().map(Controller::config)
        {
            totals.paired_accesses = column_pairs.then_some(paired);
            totals.data_cycles = bursts * u64::from(timing.burst_cycles);
        }
        totals.all_commands = bursts + totals.commands.all();
        totals
    }
}

impl Checks {
    fn new(channels: &[Controller]) -> Self {
        let judges = || channels.iter().filter_map(Controller::judge);
        let reports: Vec<_> = judges().map(Checker::report).collect();
        let exercised = (0..reports.first().map_or(0, |r| r.rules.len()))
            .filter(|rule| reports.iter().any(|r| r.rules[*rule].slack_min == Some(0)));
        Self {
            commands_checked: judges().map(Checker::commands).sum(),
            timing_violations: judges().map(|judge| judge.violations().len() as u64).sum(),
            timing_rules_exercised: exercised.count() as u64,
        }
    }
}

/// Reports the statistics of the channels.
pub(super) fn report_channels(dram: &GddrController, s: &mut Statistics<'_>) {
    // What was slept through is made up for here as it would be on waking.
    let last = s.cycle().saturating_sub(1);
    let channels = &dram.channels.list;
    let now: Vec<_> = channels.iter().map(|channel| channel.as_of(last)).collect();
    let access_bytes = dram.admission.addresses().access_bytes;
    Totals::new(&now, access_bytes, s.cycle()).statistics(s);
    if dram.channels.is_checked() {
        Checks::new(&now).statistics(s);
    }
    for (number, channel) in channels.iter().enumerate() {
        match channels.len() {
            1 => channel.order().statistics(s),
            _ => s.under(&format!("channel{number}"), |s| {
                channel.order().statistics(s);
            }),
        }
    }
}
