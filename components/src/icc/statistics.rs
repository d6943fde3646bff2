//! Statistics counters of a coalescing unit.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, Statistics, TimeWeighted};

use super::merge_table::Lookup;
use crate::memory::{MemRequest, RequestKind};

/// Counters of the look-ups.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
pub(super) struct Counters {
    /// Number of requests taken, by kind.
    #[statistic(with = report_requests)]
    requests: Requests,
    #[statistic(flatten)]
    #[statistic(
        name = "read_traffic_saved",
        meaning = "Fraction of global-memory reads that were merged or served by the coalesced cache",
        ratio,
        value = self.reads.merged + self.cache.hits,
        whole = self.reads.accepted,
        of = "reads"
    )]
    pub(super) reads: ReadCounts,
    #[statistic(flatten)]
    pub(super) lines: LineCounts,
    #[statistic(flatten)]
    pub(super) cache: CacheCounts,
}

type Requests = [u64; RequestKind::ALL.len()];

/// Counters of reads of global memory, and of the merge table that they are looked up in.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
pub(super) struct ReadCounts {
    /// Reads of global memory accepted, before any lookup.
    #[statistic(name = "reads", unit = "requests")]
    accepted: u64,
    /// Reads that joined a line in flight and were not sent down.
    #[statistic(name = "reads_merged", unit = "requests")]
    #[statistic(
        name = "reads_injected",
        unit = "requests",
        meaning = "Reads of global memory sent down",
        value = self.injected()
    )]
    merged: u64,
    /// Reads sent down with a merge-table entry.
    #[statistic(name = "reads_tracked", unit = "requests")]
    tracked: u64,
    /// Reads sent down without an entry because none was free.
    #[statistic(name = "reads_untracked_full", unit = "requests")]
    untracked_full: u64,
    /// Reads sent down without an entry because a write followed the line in flight.
    #[statistic(name = "reads_untracked_closed", unit = "requests")]
    untracked_closed: u64,
    /// Reads sent down without an entry because some of their words were not in flight, or they may
    /// not join those that are.
    #[statistic(name = "reads_untracked_partial", unit = "requests")]
    #[statistic(
        name = "table_lookups",
        unit = "requests",
        meaning = "Lookups of reads in the merge table",
        value = (self.merged + self.injected())
    )]
    untracked_partial: u64,
    /// Lookups of responses in the merge table.
    #[statistic(unit = "requests")]
    pub(super) table_replies: u64,
    /// Entries of the merge table closed by a write.
    #[statistic(unit = "requests")]
    #[statistic(
        name = "merge_rate",
        meaning = "Fraction of global-memory reads that were merged",
        ratio,
        value = self.merged,
        whole = self.accepted,
        of = "reads"
    )]
    pub(super) entries_closed: u64,
}

/// Counters of tracked lines, and of the entries that track them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
pub(super) struct LineCounts {
    /// Fraction of tracked lines that more than one unit waited for.
    #[statistic(ratio, whole = self.units_per_line.count(), of = "lines")]
    coalesced_replies: u64,
    /// Units that waited for a tracked line.
    #[statistic(unit = "units")]
    units_per_line: Histogram,
    #[statistic(
        name = "table_occupancy",
        unit = "entries",
        meaning = "Mean number of entries of the merge table in use"
    )]
    #[statistic(
        name = "table_occupancy_max",
        unit = "entries",
        meaning = "Maximum number of merge-table entries in use",
        maximum,
        value = self.occupancy.max()
    )]
    pub(super) occupancy: TimeWeighted,
    /// 1 while a looked-up request is blocked downstream.
    #[statistic(
        name = "blocked_cycles",
        unit = "cycles",
        meaning = "Cycles in which a request was held after its lookup: no room below or, with `table_full: Wait`, no free entry",
        value = self.blocked.integral(statistics.cycle())
    )]
    pub(super) blocked: TimeWeighted,
}

/// Counters of the coalesced cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
pub(super) struct CacheCounts {
    /// Probes of the coalesced cache.
    #[statistic(
        name = "cache_hit_rate",
        meaning = "Hit rate of the coalesced cache, over all probes",
        ratio,
        value = self.hits,
        whole = self.probes,
        of = "probes"
    )]
    #[statistic(name = "cache_probes", unit = "lines")]
    pub(super) probes: u64,
    /// Hits in the coalesced cache.
    #[statistic(name = "cache_hits", unit = "lines")]
    pub(super) hits: u64,
    /// Lines installed in the coalesced cache.
    #[statistic(name = "cache_fills", unit = "lines")]
    pub(super) fills: u64,
    /// Lines evicted from the coalesced cache.
    #[statistic(name = "cache_evicted", unit = "lines")]
    pub(super) evicted: u64,
    /// Lines of the coalesced cache dropped by a write.
    #[statistic(name = "cache_invalidated", unit = "lines")]
    pub(super) invalidated: u64,
    /// Lines of the coalesced cache dropped at the end of a kernel.
    #[statistic(name = "cache_dropped", unit = "lines")]
    pub(super) dropped: u64,
}

impl Counters {
    #[inline]
    pub(super) fn taken(&mut self, request: &MemRequest, merges: bool) {
        self.requests[request.kind as usize] += 1;
        self.reads.accepted += u64::from(merges);
    }

    /// Counts a tracked line that this number of units waited for.
    #[inline]
    pub(super) fn replied(&mut self, now: Cycle, units: u32, entries: usize) {
        self.reads.table_replies += 1;
        self.lines.coalesced_replies += u64::from(units > 1);
        self.lines.units_per_line.record(u64::from(units));
        self.lines.occupancy.set(now, entries as u64);
    }
}

impl ReadCounts {
    #[inline]
    pub(super) fn looked_up(&mut self, found: Lookup) {
        match found {
            Lookup::Merge(_) => self.merged += 1,
            Lookup::Free => self.tracked += 1,
            Lookup::Full => self.untracked_full += 1,
            Lookup::Closed => self.untracked_closed += 1,
            Lookup::Partial => self.untracked_partial += 1,
        }
    }

    fn injected(&self) -> u64 {
        self.tracked + self.untracked_full + self.untracked_closed + self.untracked_partial
    }
}

fn report_requests(requests: &Requests, statistics: &mut Statistics<'_>) {
    statistics.under("requests", |statistics| {
        for kind in RequestKind::ALL {
            let meaning = "Requests of this kind accepted from the units";
            statistics.counter(kind.name(), "requests", meaning, requests[kind as usize]);
        }
    });
}
