//! What a cache counts.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, Statistics, TimeWeighted};

use super::spec::CacheSpec;
use crate::memory::RequestKind;
use crate::roles;

/// What the tag look-up of an accepted request found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The words are in the line.
    Hit,
    /// The line is in flight; the request joins those that wait for it.
    HitReserved,
    /// Neither.
    Miss,
    /// Not looked up: forwarded atomics and bypassing requests.
    Passed,
}

/// Why the request at the head of the input is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Blocked {
    /// Every MSHR is in use.
    Mshrs,
    /// The MSHR of the line holds as many requests as it can.
    Merges,
    /// Every way of the set is locked.
    Ways,
    /// The miss queue has no room for what the request would send down.
    MissQueue,
    /// The table of passing requests is full.
    PassTable,
    /// The hit pipeline is full because responses do not leave.
    Responses,
    /// The request would overtake earlier ones for its line.
    LineBusy,
    /// An invalidation waits for earlier requests.
    Invalidation,
    /// The bank of the set is busy.
    Bank,
    /// The copy-back buffer is full.
    CopyBacks,
}

impl Blocked {
    const COUNT: usize = 10;

    /// Name of the statistic and what it means, in order of the variants.
    const REPORTED: [(&'static str, &'static str); Self::COUNT] = [
        ("blocked_mshrs_full", "head request waited for a free MSHR"),
        (
            "blocked_merges_full",
            "head request waited for room in the MSHR of its line",
        ),
        (
            "blocked_no_way",
            "head request waited for an unlocked way in its set",
        ),
        (
            "blocked_miss_queue_full",
            "head request waited for room in the miss queue",
        ),
        (
            "blocked_pass_table_full",
            "head request waited for room in the table of passing requests",
        ),
        (
            "blocked_responses_full",
            "head request waited for hits to leave upward",
        ),
        (
            "blocked_line_busy",
            "head request waited for earlier ones to its line that it would overtake",
        ),
        (
            "blocked_invalidation",
            "head request waited for an invalidation",
        ),
        (
            "blocked_bank_busy",
            "head request waited for the bank of its set",
        ),
        (
            "blocked_copy_backs_full",
            "head request waited for room in the copy-back buffer",
        ),
    ];

    /// Whether a cache of this specification can be blocked for the reason of this number.
    fn is_possible(reason: usize, spec: &CacheSpec) -> bool {
        match reason {
            r if r == Self::Bank as usize => spec.banks.is_some(),
            r if r == Self::CopyBacks as usize => spec.copy_back_entries.is_some(),
            _ => true,
        }
    }

    /// In words for a deadlock report.
    pub(super) fn words(self) -> &'static str {
        Self::REPORTED[self as usize].1
    }
}

/// Cycles in which the head request was not accepted, by reason.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct BlockedTime {
    reason: Option<Blocked>,
    since: Cycle,
    cycles: [u64; Blocked::COUNT],
}

impl BlockedTime {
    /// From `cycle` on this is the reason, or nothing is blocked.
    #[inline]
    pub(super) fn set(&mut self, cycle: Cycle, reason: Option<Blocked>) {
        if self.reason == reason {
            return;
        }
        if let Some(before) = self.reason {
            self.cycles[before as usize] += cycle - self.since;
        }
        (self.reason, self.since) = (reason, cycle);
    }

    pub(super) fn reason(&self) -> Option<Blocked> {
        self.reason
    }

    fn cycles(&self, reason: usize, now: Cycle) -> u64 {
        let open = match self.reason {
            Some(r) if r as usize == reason => now.saturating_sub(self.since),
            _ => 0,
        };
        self.cycles[reason] + open
    }
}

/// Cycles in which something waited.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WaitTime {
    since: Option<Cycle>,
    cycles: u64,
}

impl WaitTime {
    /// From `cycle` on it waits, or does not.
    pub(super) fn set(&mut self, cycle: Cycle, waits: bool) {
        if let (Some(since), false) = (self.since, waits) {
            self.cycles += cycle - since;
            self.since = None;
        } else if waits {
            self.since.get_or_insert(cycle);
        }
    }

    fn cycles(&self, now: Cycle) -> u64 {
        self.cycles + self.since.map_or(0, |since| now.saturating_sub(since))
    }
}

/// Name, unit and meaning of counts.
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
        "passed",
        "requests",
        "requests handed down without a look-up",
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

const LINES: [Row; 8] = [
    (
        "partial_misses",
        "requests",
        "misses on a line present without the words",
    ),
    ("fills", "lines", "lines received from below"),
    (
        "fills_not_installed",
        "lines",
        "lines received but not kept",
    ),
    ("evictions", "lines", "lines replaced by another"),
    (
        "write_evictions",
        "lines",
        "lines dropped because a request for them was handed down",
    ),
    ("copy_backs", "requests", "dirty lines sent down"),
    ("invalidations", "commands", "invalidations carried out"),
    (
        "lines_invalidated",
        "lines",
        "lines that left because of invalidations or with the ways that a change of the size took",
    ),
];

/// Counters of a cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct CacheStats {
    /// Accepted requests by kind and outcome.
    pub(super) outcomes: [[u64; 4]; RequestKind::ALL.len()],
    /// Read misses on a line that is present without the words.
    pub(super) partial_misses: u64,
    pub(super) fills: u64,
    /// Fills whose line was not kept.
    pub(super) fills_not_installed: u64,
    /// Lines replaced by another.
    pub(super) evictions: u64,
    /// Lines dropped because a request for them was handed down.
    pub(super) write_evictions: u64,
    pub(super) copy_backs: u64,
    pub(super) invalidations: u64,
    pub(super) lines_invalidated: u64,
    /// Misses whose line came back from the victim cache.
    pub(super) victim_hits: u64,
    /// Requests that joined a line in flight and asked for further sectors of it.
    pub(super) further_sectors: u64,
    /// Lines missed that a policy did not let in.
    pub(super) bypassed: u64,
    /// Clean victims sent down.
    pub(super) handed_down: u64,
    pub(super) blocked: BlockedTime,
    /// The oldest fill waited for room in the copy-back buffer.
    pub(super) fill_stalls: WaitTime,
    pub(super) mshrs: TimeWeighted,
    pub(super) read_miss_latency: Histogram,
}

impl CacheStats {
    #[inline]
    pub(super) fn count(&mut self, kind: RequestKind, outcome: Outcome) {
        self.outcomes[kind as usize][outcome as usize] += 1;
    }

    fn by_kind(&self, kind: RequestKind) -> u64 {
        self.outcomes[kind as usize].iter().sum()
    }

    fn by_outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes.iter().map(|o| o[outcome as usize]).sum()
    }

    /// Reports everything that a cache of this specification can count.
    pub(super) fn report(&self, spec: &CacheSpec, out: &mut Statistics<'_>) {
        self.report_requests(out);
        self.report_lines(out);
        self.report_features(spec, out);
        let now = out.cycle();
        let reasons = Blocked::REPORTED.into_iter().enumerate();
        for (i, (name, meaning)) in reasons.filter(|(i, _)| Blocked::is_possible(*i, spec)) {
            out.counter(name, "cycles", meaning, self.blocked.cycles(i, now));
        }
        let busy = self.mshrs.integral(now);
        out.counter(
            "mshr_cycles",
            "MSHR cycles",
            "MSHRs in use, added up over all cycles",
            busy,
        );
        out.level(
            "mshrs_mean",
            "MSHRs",
            "MSHRs in use, mean over all cycles",
            &self.mshrs,
        );
        out.maximum(
            "mshrs_max",
            "MSHRs",
            "most MSHRs in use at once",
            self.mshrs.max(),
        );
        out.histogram(
            "read_miss_latency",
            "cycles",
            "from acceptance to answer of the reads that missed",
            &self.read_miss_latency,
        );
    }

    fn report_requests(&self, out: &mut Statistics<'_>) {
        let kinds = [
            RequestKind::Read,
            RequestKind::Write,
            RequestKind::Atomic,
            RequestKind::Prefetch,
            RequestKind::CopyBack,
        ];
        out.counters(&KINDS, &kinds.map(|kind| self.by_kind(kind)));
        let outcomes = [
            Outcome::Hit,
            Outcome::HitReserved,
            Outcome::Miss,
            Outcome::Passed,
        ];
        out.counters(&OUTCOMES, &outcomes.map(|outcome| self.by_outcome(outcome)));
        let read = |outcome| self.outcomes[RequestKind::Read as usize][outcome as usize];
        let reads = [Outcome::Hit, Outcome::HitReserved, Outcome::Miss].map(read);
        out.counters(&READS, &reads);
        out.role(roles::HIT_RATE).ratio(
            "read_hit_rate",
            "reads",
            "reads whose words were present, of those looked up",
            read(Outcome::Hit),
            reads.iter().sum(),
        );
    }

    fn report_features(&self, spec: &CacheSpec, out: &mut Statistics<'_>) {
        if spec.victim_cache.is_some() {
            let meaning = "misses whose line came back from the victim cache; counted as hits too";
            out.counter("victim_hits", "requests", meaning, self.victim_hits);
        }
        if spec.copy_back_entries.is_some() {
            let meaning = "cycles in which the oldest fill waited for room in the copy-back buffer";
            let cycles = self.fill_stalls.cycles(out.cycle());
            out.counter("fill_stall_cycles", "cycles", meaning, cycles);
        }
        if spec.sector_bytes.is_some() {
            let meaning =
                "requests that joined a line in flight and asked for further sectors of it";
            out.counter("further_sectors", "requests", meaning, self.further_sectors);
        }
        if !spec.policies.is_empty() {
            let meaning = "lines missed that a policy did not let in";
            out.counter("bypassed", "lines", meaning, self.bypassed);
            let meaning = "clean victims sent down";
            out.counter("handed_down", "lines", meaning, self.handed_down);
        }
    }

    fn report_lines(&self, out: &mut Statistics<'_>) {
        let lines = [
            self.partial_misses,
            self.fills,
            self.fills_not_installed,
            self.evictions,
            self.write_evictions,
            self.copy_backs,
            self.invalidations,
            self.lines_invalidated,
        ];
        out.counters(&LINES, &lines);
    }
}
