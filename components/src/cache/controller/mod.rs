//! The controller: decides about each request, carries that out, and answers.
//!
//! ```text
//!   decide.rs       a request, the core and the room in every stage ─► an action, or what it lacks
//!   perform.rs      an action ─► changes of the core and the stages
//!   sectors.rs      sectors that requests touch and find
//!   prefetch.rs     fetches of what prefetchers want
//!   functional.rs   functional accesses: the same decisions, carried out in zero time
//! ```

mod action;
mod decide;
mod functional;
mod perform;
mod prefetch;
mod rules;
mod sectors;

use warpweave_framework::{Cycle, Instrumented, State, Statistics};

use self::rules::Rules;
use crate::cache::blocked::BlockedTime;
use crate::cache::hit_pipeline::HitPipeline;
use crate::cache::line_store::LineStore;
use crate::cache::replies::ReplyQueue;
use crate::cache::spec::CacheSpec;
use crate::cache::statistics::{RequestCounts, SectorCounts};
use crate::memory::MemResponse;

/// Core and stages of a cache, between its ports.
#[derive(State)]
pub(super) struct Controller {
    #[state(flatten)]
    pub(super) store: LineStore,
    #[state(part)]
    pub(super) hits: HitPipeline,
    #[state(part)]
    pub(super) replies: ReplyQueue,
    pub(super) counts: RequestCounts,
    sectors: SectorCounts,
    #[state(skip)]
    rules: Rules,
}

/// The stage that holds the response which leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Responder {
    Hits,
    Replies,
}

impl Controller {
    pub(super) fn new(spec: &CacheSpec, store: LineStore) -> Self {
        Self {
            store,
            hits: HitPipeline::new(spec),
            replies: ReplyQueue::new(spec),
            counts: RequestCounts::default(),
            sectors: SectorCounts::default(),
            rules: Rules::new(spec),
        }
    }

    #[inline]
    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Tells whether nothing is in flight, neither up nor down.
    pub(super) fn is_drained(&self) -> bool {
        self.hits.is_empty()
            && self.store.misses.is_empty()
            && self.store.lookup.is_drained()
            && self.replies.is_empty()
    }

    /// Tells whether no response and no request waits to leave.
    #[inline]
    pub(super) fn has_nothing_to_send(&self) -> bool {
        self.store.misses.is_empty() && self.hits.is_empty() && self.replies.is_empty()
    }

    /// Takes what came from below in a cycle.
    ///
    /// # Errors
    /// A response that answers no request of this cache.
    #[inline]
    pub(super) fn take_reply(
        &mut self,
        came: Option<MemResponse>,
        now: Cycle,
    ) -> Result<(), MemResponse> {
        self.replies.take(&mut self.store, came, now)
    }

    /// The response whose turn comes first: hits before replies.
    #[inline]
    pub(super) fn next_response(&self) -> Option<(Cycle, Responder)> {
        let hit = self.hits.turn();
        let reply = self.replies.turn(&self.store.lookup);
        match (hit, reply) {
            (Some(hit), Some(reply)) if hit > reply => Some((reply, Responder::Replies)),
            (Some(hit), _) => Some((hit, Responder::Hits)),
            (None, reply) => Some((reply?, Responder::Replies)),
        }
    }

    /// Takes the response that leaves next; none if the oldest waiter wants no answer.
    #[inline]
    pub(super) fn take_response(&mut self, from: Responder, now: Cycle) -> Option<MemResponse> {
        match from {
            Responder::Hits => self.hits.pop(),
            Responder::Replies => self.replies.pop(&mut self.store, now),
        }
    }

    /// Reports everything that a cache of this specification counts.
    pub(super) fn statistics(
        &self,
        spec: &CacheSpec,
        blocked: &BlockedTime,
        out: &mut Statistics<'_>,
    ) {
        let LineStore {
            lookup,
            hooks,
            counts: lines,
            ..
        } = &self.store;
        self.counts.statistics(out);
        lines.statistics(out);
        if spec.victim_cache.is_some() {
            let meaning =
                "misses whose line was supplied by the victim cache; also counted as hits";
            out.counter("victim_hits", "requests", meaning, lines.victim_hits);
        }
        if spec.copy_back_entries.is_some() {
            let meaning = "cycles in which the oldest fill waited for room in the copy-back buffer";
            let cycles = self.replies.stall_cycles(out.cycle());
            out.counter("fill_stall_cycles", "cycles", meaning, cycles);
        }
        if spec.sector_bytes.is_some() {
            let meaning =
                "requests that joined a line in flight and requested further sectors of it";
            let requests = self.counts.sector_merges;
            out.counter("sector_merges", "requests", meaning, requests);
            self.sectors.statistics(out);
        }
        if hooks.has_policies() {
            let meaning = "missing lines that a policy bypassed";
            out.counter("bypassed", "lines", meaning, self.counts.bypassed);
            let meaning = "clean victims sent to the next level";
            out.counter(
                "clean_victims_sent",
                "lines",
                meaning,
                lines.clean_victims_sent,
            );
            let meaning = "lines that got a place: fills that were kept, and lines made by a store or copy-back";
            out.counter("lines_installed", "lines", meaning, lines.lines_installed);
            let meaning = "clean copy-backs that were refused, or whose line was present, in flight or being written";
            let ignored = self.counts.copy_backs_ignored;
            out.counter("copy_backs_ignored", "requests", meaning, ignored);
        }
        blocked.report(spec, out);
        lookup.statistics(out);
        out.histogram(
            "read_miss_latency",
            "cycles",
            "latency from acceptance to response of reads that missed",
            self.replies.read_miss_latency(),
        );
        hooks.statistics(out);
        lookup.tags().statistics(out);
    }
}
