//! Statistics counters of a coalescing unit.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, Statistics, TimeWeighted};

use super::merge_table::Lookup;
use super::spec::Cost;
use crate::memory::{MemRequest, RequestKind};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counters {
    /// Number of requests taken, by kind.
    requests: [u64; RequestKind::ALL.len()],
    /// Number of reads handled by the merge table.
    reads: u64,
    merged: u64,
    tracked: u64,
    untracked_full: u64,
    untracked_closed: u64,
    untracked_partial: u64,
    pub(super) entries_closed: u64,
    replies: u64,
    coalesced_replies: u64,
    units_per_line: Histogram,
    pub(super) cache_probes: u64,
    pub(super) cache_hits: u64,
    pub(super) cache_fills: u64,
    pub(super) cache_evicted: u64,
    pub(super) cache_invalidated: u64,
    pub(super) cache_dropped: u64,
    pub(super) invalidations: u64,
    pub(super) entries_at_invalidation: u64,
    responses: u64,
    read_latency: Histogram,
    pub(super) table_occupancy: TimeWeighted,
    /// 1 while a looked-up request is blocked downstream.
    pub(super) held: Held,
}

/// Duration of a condition in cycles, independent of the number of evaluations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Held(TimeWeighted);

impl Held {
    /// Sets the condition from `cycle` on; repeating the same value has no effect.
    #[inline]
    pub(super) fn set(&mut self, cycle: Cycle, value: u64) {
        if self.0.value() != value {
            self.0.set(cycle, value);
        }
    }
}

impl Counters {
    #[inline]
    pub(super) fn taken(&mut self, request: &MemRequest, merges: bool) {
        self.requests[request.kind as usize] += 1;
        self.reads += u64::from(merges);
    }

    #[inline]
    pub(super) fn looked_up(&mut self, found: Option<Lookup>) {
        match found {
            None => {}
            Some(Lookup::Merge(_)) => self.merged += 1,
            Some(Lookup::Free) => self.tracked += 1,
            Some(Lookup::Full) => self.untracked_full += 1,
            Some(Lookup::Closed) => self.untracked_closed += 1,
            Some(Lookup::Partial) => self.untracked_partial += 1,
        }
    }

    #[inline]
    pub(super) fn replied(&mut self, units: u32) {
        self.replies += 1;
        self.coalesced_replies += u64::from(units > 1);
        self.units_per_line.record(u64::from(units));
    }

    #[inline]
    pub(super) fn answered(&mut self, request: &MemRequest, cycles: Cycle) {
        self.responses += 1;
        if request.kind == RequestKind::Read {
            self.read_latency.record(cycles);
        }
    }

    pub(super) fn report(&self, cost: &Cost, statistics: &mut Statistics<'_>) {
        statistics.under("requests", |statistics| {
            for kind in RequestKind::ALL {
                statistics.counter(
                    kind.name(),
                    "requests",
                    "Requests of this kind accepted from the units",
                    self.requests[kind as usize],
                );
            }
        });
        self.report_merging(statistics);
        self.report_cache(statistics);
        statistics.counter(
            "responses",
            "responses",
            "Responses sent to the units",
            self.responses,
        );
        statistics.histogram(
            "read_latency",
            "cycles",
            "Latency from acceptance of a read until its response is sent up",
            &self.read_latency,
        );
        let invalidations = [
            (
                "invalidations",
                "commands",
                "Invalidations forwarded to first-level caches",
                self.invalidations,
            ),
            (
                "entries_at_invalidation",
                "entries",
                "Entries of the merge table in use when an invalidation was forwarded; 0 when kernels run one at a time",
                self.entries_at_invalidation,
            ),
            (
                "table_bits",
                "bits",
                "Storage of the merge table, excluding valid bits",
                cost.table_bits(),
            ),
            (
                "cache_bits",
                "bits",
                "Storage of the coalesced cache",
                cost.cache_bits(),
            ),
        ];
        for (name, unit, meaning, value) in invalidations {
            statistics.counter(name, unit, meaning, value);
        }
    }

    fn report_merging(&self, statistics: &mut Statistics<'_>) {
        let injected =
            self.tracked + self.untracked_full + self.untracked_closed + self.untracked_partial;
        let counts = [
            (
                "reads",
                "Reads of global memory accepted, before any lookup",
                self.reads,
            ),
            (
                "reads_merged",
                "Reads that joined a line in flight and were not sent down",
                self.merged,
            ),
            (
                "reads_injected",
                "Reads of global memory sent down",
                injected,
            ),
            (
                "reads_tracked",
                "Reads sent down with a merge-table entry",
                self.tracked,
            ),
            (
                "reads_untracked_full",
                "Reads sent down without an entry because none was free",
                self.untracked_full,
            ),
            (
                "reads_untracked_closed",
                "Reads sent down without an entry because a write followed the line in flight",
                self.untracked_closed,
            ),
            (
                "reads_untracked_partial",
                "Reads sent down without an entry because some of their words were not in flight",
                self.untracked_partial,
            ),
            (
                "table_lookups",
                "Lookups of reads in the merge table",
                self.merged + injected,
            ),
            (
                "table_replies",
                "Lookups of responses in the merge table",
                self.replies,
            ),
            (
                "entries_closed",
                "Entries of the merge table closed by a write",
                self.entries_closed,
            ),
        ];
        for (name, meaning, value) in counts {
            statistics.counter(name, "requests", meaning, value);
        }
        statistics.ratio(
            "merge_rate",
            "reads",
            "Fraction of global-memory reads that were merged",
            self.merged,
            self.reads,
        );
        statistics.ratio(
            "read_traffic_saved",
            "reads",
            "Fraction of global-memory reads that were merged or served by the coalesced cache",
            self.merged + self.cache_hits,
            self.reads,
        );
        statistics.ratio(
            "coalesced_replies",
            "lines",
            "Fraction of tracked lines that more than one unit waited for",
            self.coalesced_replies,
            self.replies,
        );
        statistics.histogram(
            "units_per_line",
            "units",
            "Units that waited for a tracked line",
            &self.units_per_line,
        );
        let cycle = statistics.cycle();
        statistics.level(
            "table_occupancy",
            "entries",
            "Mean number of entries of the merge table in use",
            &self.table_occupancy,
        );
        statistics.maximum(
            "table_occupancy_max",
            "entries",
            "Maximum number of merge-table entries in use",
            self.table_occupancy.max(),
        );
        statistics.counter(
            "blocked_cycles",
            "cycles",
            "Cycles in which a request was held after its lookup: no room below or, with `table_full: Wait`, no free entry",
            self.held.0.integral(cycle),
        );
    }

    fn report_cache(&self, statistics: &mut Statistics<'_>) {
        statistics.ratio(
            "cache_hit_rate",
            "probes",
            "Hit rate of the coalesced cache, over all probes",
            self.cache_hits,
            self.cache_probes,
        );
        let counts = [
            (
                "cache_probes",
                "Probes of the coalesced cache",
                self.cache_probes,
            ),
            ("cache_hits", "Hits in the coalesced cache", self.cache_hits),
            (
                "cache_fills",
                "Lines installed in the coalesced cache",
                self.cache_fills,
            ),
            (
                "cache_evicted",
                "Lines evicted from the coalesced cache",
                self.cache_evicted,
            ),
            (
                "cache_invalidated",
                "Lines of the coalesced cache dropped by a write",
                self.cache_invalidated,
            ),
            (
                "cache_dropped",
                "Lines of the coalesced cache dropped at the end of a kernel",
                self.cache_dropped,
            ),
        ];
        for (name, meaning, value) in counts {
            statistics.counter(name, "lines", meaning, value);
        }
    }
}
