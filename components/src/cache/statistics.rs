//! Counters of a cache.

use serde::{Deserialize, Serialize};
use warpweave_framework::Statistics;

use crate::memory::RequestKind;
use crate::roles;

/// Result of the tag look-up of an accepted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Hit: the words are in the line.
    Hit,
    /// The line is in flight; the request joins its waiters.
    HitReserved,
    /// The words are neither present nor in flight.
    Miss,
    /// Not looked up: forwarded atomics and bypassing requests.
    Passed,
}

/// Name, unit and description of a counter.
type Row = (&'static str, &'static str, &'static str);

const KINDS: [Row; 5] = [
    ("reads", "requests", "reads accepted"),
    ("writes", "requests", "writes accepted"),
    ("atomics", "requests", "atomics accepted"),
    ("prefetches", "requests", "prefetches accepted"),
    (
        "copy_backs_received",
        "requests",
        "copy-backs from above accepted",
    ),
];

const OUTCOMES: [Row; 4] = [
    ("hits", "requests", "requests whose words were present"),
    (
        "hits_reserved",
        "requests",
        "requests that joined a line in flight",
    ),
    (
        "misses",
        "requests",
        "requests whose words were neither present nor in flight",
    ),
    (
        "forwarded",
        "requests",
        "requests forwarded without a lookup",
    ),
];

const READS: [Row; 3] = [
    ("read_hits", "requests", "reads whose words were present"),
    (
        "read_hits_reserved",
        "requests",
        "reads that joined a line in flight",
    ),
    (
        "read_misses",
        "requests",
        "reads whose words were neither present nor in flight",
    ),
];

/// Counters of accepted requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
pub(super) struct RequestCounts {
    /// Accepted requests by kind and outcome.
    #[statistic(with = report_outcomes)]
    outcomes: Outcomes,
    /// Misses on a line present without the words.
    #[statistic(unit = "requests")]
    pub(super) partial_misses: u64,
    /// Requests that joined a line in flight and requested further sectors of it.
    pub(super) sector_merges: u64,
    /// Missed lines that a policy did not allocate.
    pub(super) bypassed: u64,
    /// Clean copy-backs that were refused, or whose line was present, in flight or being written.
    pub(super) copy_backs_ignored: u64,
}

/// Counters of sectors, of a cache that has them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
pub(super) struct SectorCounts {
    /// Sectors that accepted reads touched.
    #[statistic(unit = "sectors")]
    pub(super) read_sectors: u64,
    /// Sectors whose words were all present when a read touched them.
    #[statistic(unit = "sectors")]
    pub(super) read_sector_hits: u64,
    /// Sectors that accepted writes touched.
    #[statistic(unit = "sectors")]
    pub(super) write_sectors: u64,
    /// Sectors that accepted atomics touched.
    #[statistic(unit = "sectors")]
    pub(super) atomic_sectors: u64,
    /// Sectors requested from below.
    #[statistic(unit = "sectors")]
    pub(super) sectors_fetched: u64,
}

/// Accepted requests by kind and outcome.
type Outcomes = [[u64; 4]; RequestKind::ALL.len()];

/// Counters of lines that come and go.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
pub(super) struct LineCounts {
    /// Lines received from below.
    #[statistic(unit = "lines")]
    pub(super) fills: u64,
    /// Lines received but not kept.
    #[statistic(unit = "lines")]
    pub(super) fills_not_installed: u64,
    /// Lines evicted because another line replaced them.
    #[statistic(unit = "lines")]
    pub(super) evictions: u64,
    /// Lines dropped because a request for them was forwarded.
    #[statistic(unit = "lines")]
    pub(super) write_evictions: u64,
    /// Dirty lines sent down.
    #[statistic(unit = "requests")]
    pub(super) copy_backs: u64,
    /// Invalidations carried out.
    #[statistic(unit = "commands")]
    pub(super) invalidations: u64,
    /// Lines that left because of invalidations or with the ways that a change of the size took.
    #[statistic(unit = "lines")]
    pub(super) lines_invalidated: u64,
    /// Misses whose line was restored from the victim cache.
    pub(super) victim_hits: u64,
    /// Clean victims sent to the next level.
    pub(super) clean_victims_sent: u64,
    /// Lines that got a place: fills that were kept, and lines made by a store or copy-back.
    /// Counted beside policies.
    pub(super) lines_installed: u64,
}

impl RequestCounts {
    #[inline]
    pub(super) fn count(&mut self, kind: RequestKind, outcome: Outcome) {
        self.outcomes[kind as usize][outcome as usize] += 1;
    }
}

/// Reports requests by kind and by outcome.
fn report_outcomes(counts: &Outcomes, out: &mut Statistics<'_>) {
    let by_kind = |kind: RequestKind| counts[kind as usize].iter().sum();
    let by_outcome = |outcome: Outcome| counts.iter().map(|o| o[outcome as usize]).sum();
    let kinds = [
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Atomic,
        RequestKind::Prefetch,
        RequestKind::CopyBack,
    ];
    out.counters(&KINDS, &kinds.map(by_kind));
    let outcomes = [
        Outcome::Hit,
        Outcome::HitReserved,
        Outcome::Miss,
        Outcome::Passed,
    ];
    out.counters(&OUTCOMES, &outcomes.map(by_outcome));
    let read = |outcome| counts[RequestKind::Read as usize][outcome as usize];
    let reads = [Outcome::Hit, Outcome::HitReserved, Outcome::Miss].map(read);
    out.counters(&READS, &reads);
    out.role(roles::HIT_RATE).ratio(
        "read_hit_rate",
        "reads",
        "fraction of looked-up reads whose words were present",
        read(Outcome::Hit),
        reads.iter().sum(),
    );
}
