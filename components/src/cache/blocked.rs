//! Reasons for which the request at the head of the input waits, and for how long it did.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Statistics};

use super::spec::CacheSpec;

/// Reason why the request at the input head is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Blocked {
    Mshrs,
    /// The MSHR of the line holds its maximum number of requests.
    Merges,
    /// Every way of the set is locked.
    Ways,
    /// The miss queue has no room for the requests to be sent downstream.
    MissQueue,
    /// The table of passing requests is full.
    PassTable,
    /// The hit pipeline is full because responses are blocked.
    Responses,
    /// The request would overtake earlier ones for its line.
    LineBusy,
    /// An invalidation waits for earlier requests.
    Invalidation,
    /// The bank of the set is busy.
    Bank,
    CopyBacks,
}

impl Blocked {
    const COUNT: usize = 10;

    /// Names and descriptions of the statistics, in order of the variants.
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
            "head request waited for room in the table of bypassing requests",
        ),
        (
            "blocked_responses_full",
            "head request waited for hits to leave upward",
        ),
        (
            "blocked_line_busy",
            "head request waited for earlier requests to its line",
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

    /// Tells whether a cache of this specification can be blocked for the reason of this number.
    fn is_possible(reason: usize, spec: &CacheSpec) -> bool {
        match reason {
            r if r == Self::Bank as usize => spec.banks.is_some(),
            r if r == Self::CopyBacks as usize => spec.copy_back_entries.is_some(),
            _ => true,
        }
    }

    /// Returns the reason in words for a deadlock report.
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
    /// Sets the blocking reason from `cycle` on; `None` if nothing is blocked.
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

    /// Reports the cycles of every reason that a cache of this specification can have.
    pub(super) fn report(&self, spec: &CacheSpec, out: &mut Statistics<'_>) {
        let now = out.cycle();
        let reasons = Blocked::REPORTED.into_iter().enumerate();
        for (i, (name, meaning)) in reasons.filter(|(i, _)| Blocked::is_possible(*i, spec)) {
            out.counter(name, "cycles", meaning, self.cycles(i, now));
        }
    }

    fn cycles(&self, reason: usize, now: Cycle) -> u64 {
        let open = match self.reason {
            Some(r) if r as usize == reason => now.saturating_sub(self.since),
            _ => 0,
        };
        self.cycles[reason] + open
    }
}

/// Counter of the cycles in which something waited.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WaitTime {
    since: Option<Cycle>,
    cycles: u64,
}

impl WaitTime {
    /// Sets the waiting state from `cycle` on.
    pub(super) fn set(&mut self, cycle: Cycle, waits: bool) {
        if let (Some(since), false) = (self.since, waits) {
            self.cycles += cycle - since;
            self.since = None;
        } else if waits {
            self.since.get_or_insert(cycle);
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    pub(super) fn cycles(&self, now: Cycle) -> u64 {
        self.cycles + self.since.map_or(0, |since| now.saturating_sub(since))
    }
}
