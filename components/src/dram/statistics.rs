//! Statistics that a memory controller reports.

use warpweave_framework::{Statistics, TimeWeighted};

use super::{ChannelStats, Checker, Controller, GddrController};
use crate::roles;

pub(super) fn report(dram: &GddrController, s: &mut Statistics<'_>) {
    let cycle = s.cycle();
    // What was slept through is made up for here as it would be on waking.
    let last = cycle.saturating_sub(1);
    let channels = dram.channels.iter().map(|channel| channel.as_of(last));
    let channels: Vec<_> = channels.collect();
    requests(dram, s);
    accesses(dram, &channels, s);
    if dram.check {
        checks(&channels, s);
    }
    for (number, channel) in dram.channels.iter().enumerate() {
        match dram.channels.len() {
            1 => channel.order().statistics(s),
            _ => s.under(&format!("channel{number}"), |s| {
                channel.order().statistics(s);
            }),
        }
    }
}

/// Reports the summed counters of all channels.
fn accesses(dram: &GddrController, channels: &[Controller], s: &mut Statistics<'_>) {
    let cycle = s.cycle();
    let sum = |of: fn(&ChannelStats) -> u64| channels.iter().map(|c| of(c.stats())).sum::<u64>();
    let accesses = sum(|c| c.reads) + sum(|c| c.writes);
    s.counter(
        "reads",
        "accesses",
        "read bursts served by the devices",
        sum(|c| c.reads),
    );
    s.counter(
        "writes",
        "accesses",
        "write bursts served by the devices",
        sum(|c| c.writes),
    );
    s.counter(
        "reads_forwarded",
        "accesses",
        "reads served from a queued write",
        sum(|c| c.forwarded),
    );
    s.counter(
        "writes_merged",
        "accesses",
        "writes that replaced a queued write of the same access",
        sum(|c| c.merged),
    );
    s.counter(
        "bytes",
        "bytes",
        "data moved over the data bus",
        accesses * u64::from(dram.access_bytes),
    );
    s.ratio(
        "row_hits",
        "accesses",
        "accesses that found their row open (row hits)",
        sum(|c| c.row_hits),
        accesses,
    );
    s.ratio(
        "row_misses",
        "accesses",
        "accesses that found their bank closed",
        sum(|c| c.row_misses),
        accesses,
    );
    s.ratio(
        "row_conflicts",
        "accesses",
        "accesses that had to close another row (row conflicts)",
        sum(|c| c.row_conflicts),
        accesses,
    );
    let commands = [
        ("activates", "ACT commands", sum(|c| c.activates)),
        (
            "precharges",
            "PRE commands to a single bank",
            sum(|c| c.precharges),
        ),
        ("precharges_all", "PREA commands", sum(|c| c.precharges_all)),
        ("refreshes", "all-bank REF commands", sum(|c| c.refreshes)),
        (
            "refreshes_bank",
            "per-bank REFpb commands",
            sum(|c| c.refreshes_bank),
        ),
    ];
    for (name, meaning, value) in commands {
        s.counter(name, "commands", meaning, value);
    }
    s.counter(
        "auto_precharges",
        "accesses",
        "accesses whose command also closed the bank (RDA, WRA)",
        sum(|c| c.auto_precharges),
    );
    let paired = sum(|c| c.paired);
    if dram.column_pairs {
        let meaning = "accesses served by the other half of another access's burst";
        s.counter("paired_accesses", "accesses", meaning, paired);
    }
    let bursts = accesses - paired;
    let total = bursts + commands.iter().map(|(_, _, value)| value).sum::<u64>();
    s.counter("commands", "commands", "commands of all kinds", total);
    s.role(roles::UTILISATION).ratio(
        "data_bus_utilisation",
        "cycles",
        "data-bus cycles of all column commands issued, per cycle",
        bursts * dram.burst_cycles,
        cycle * channels.len() as u64,
    );
    let mean = "mean number of waiting accesses, excluding those whose row is being opened";
    let total = |of: fn(&ChannelStats) -> &TimeWeighted| {
        let totals = channels.iter().map(|c| of(c.stats()).integral(cycle));
        totals.sum::<u64>()
    };
    let (reads, writes) = (total(|c| &c.read_queue), total(|c| &c.write_queue));
    s.mean(
        "read_queue_mean",
        "accesses",
        "cycles",
        mean,
        (reads, cycle),
    );
    s.mean(
        "write_queue_mean",
        "accesses",
        "cycles",
        mean,
        (writes, cycle),
    );
    let max = "maximum number of accesses waiting in a channel";
    let max_of = |of: fn(&ChannelStats) -> &TimeWeighted| {
        channels
            .iter()
            .map(|c| of(c.stats()).max())
            .max()
            .unwrap_or(0)
    };
    s.maximum("read_queue_max", "accesses", max, max_of(|c| &c.read_queue));
    s.maximum(
        "write_queue_max",
        "accesses",
        max,
        max_of(|c| &c.write_queue),
    );
}

/// Reports the results of the timing checkers.
fn checks(channels: &[Controller], s: &mut Statistics<'_>) {
    let judges = || channels.iter().filter_map(Controller::judge);
    s.counter(
        "commands_checked",
        "commands",
        "commands checked by the timing checker",
        judges().map(Checker::commands).sum(),
    );
    s.counter(
        "timing_violations",
        "commands",
        "commands that were issued too early or in the wrong bank state",
        judges().map(|judge| judge.violations().len() as u64).sum(),
    );
    let reports: Vec<_> = judges().map(Checker::report).collect();
    let exercised = (0..reports.first().map_or(0, |r| r.rules.len()))
        .filter(|rule| reports.iter().any(|r| r.rules[*rule].slack_min == Some(0)));
    s.maximum(
        "timing_rules_exercised",
        "rules",
        "timing rules that at least one command met exactly",
        exercised.count() as u64,
    );
}

/// Reports the component's own request counters.
fn requests(dram: &GddrController, s: &mut Statistics<'_>) {
    let g = &dram.stats;
    let counters = [
        (
            "read_requests",
            "reads and prefetches accepted",
            g.read_requests,
        ),
        ("write_requests", "writes accepted", g.write_requests),
        ("copy_backs", "copy-backs accepted", g.copy_backs),
        (
            "wrapped_requests",
            "requests beyond the last row, wrapped modulo the number of rows",
            g.wrapped,
        ),
    ];
    for (name, meaning, value) in counters {
        s.counter(name, "requests", meaning, value);
    }
    s.histogram(
        "read_latency",
        "cycles",
        "latency from acceptance of a read until its response is ready",
        &g.latency,
    );
}
