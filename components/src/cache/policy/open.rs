//! Trait of a cache policy: decisions and events.

use warpweave_framework::{Instrumented, Stateful};

use super::{
    EventContext, EvictDecision, Eviction, Field, Fill, FillDecision, MissDecision,
    ResponseDecision, Swap, TagLookup,
};
use crate::memory::MemRequest;

/// Policy in a cache's chain; see [`policy`](super).
pub trait CachePolicy: Stateful + Instrumented + Send {
    /// Returns the decision fields that the policy owns; empty for one that only observes.
    fn owns(&self) -> &'static [Field] {
        &[]
    }

    /// Decides on allocation, extra words and flags of a miss. Of a clean copy-back whose line is
    /// absent only the allocation is used.
    fn decide_miss(&self, _miss: &TagLookup<'_>, _decision: &mut MissDecision) {}

    /// Decides whether a line that has arrived is kept.
    fn decide_fill(&self, _fill: &Fill, _decision: &mut FillDecision) {}

    /// Decides whether a clean victim is sent to the next level.
    fn decide_evict(&self, _eviction: &Eviction, _decision: &mut EvictDecision) {}

    /// Decides on flags of a hit response, and whether the line is dropped.
    fn decide_response(&self, _hit: &TagLookup<'_>, _decision: &mut ResponseDecision) {}

    /// Called when a request was accepted and looked up; `hit` if its words are present. Excludes
    /// requests reported to [`on_pass`](Self::on_pass) and [`on_ignored`](Self::on_ignored).
    fn on_access(&mut self, _access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {}

    /// Called when a line, or the missing words of a present line, are fetched.
    fn on_miss(
        &mut self,
        _miss: &TagLookup<'_>,
        _decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
    }

    /// Called when a forwarded request was accepted: a store of a write-evict cache, a forwarded
    /// atomic, or a request that bypasses this level. The slot is that of the copy it drops.
    fn on_pass(&mut self, _pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {}

    /// Called when a clean copy-back was ignored because its data are present or in flight, or
    /// because the owner of [`Field::Insert`] refused it.
    fn on_ignored(&mut self, _copy_back: &TagLookup<'_>, _context: &mut EventContext<'_>) {}

    /// Called after `on_access` when a store or copy-back from the upper level allocated a line
    /// without a fetch. `slot` is the line's place.
    fn on_new_line(&mut self, _store: &TagLookup<'_>, _context: &mut EventContext<'_>) {}

    /// Called when a line, or a part of it, arrived. The event's `slot` is its place, if it has
    /// one.
    fn on_fill(&mut self, _fill: &Fill, _context: &mut EventContext<'_>) {}

    /// Called when a line leaves its slot. It moves to the victim cache if there is one and the
    /// cause is [`Replaced`](super::Cause::Replaced).
    fn on_evict(&mut self, _eviction: &Eviction, _context: &mut EventContext<'_>) {}

    /// Called when a line returned from the victim cache, after `on_evict` of the line it
    /// displaced.
    fn on_swap(&mut self, _swap: &Swap, _context: &mut EventContext<'_>) {}

    /// Called when a request is answered from its line, with or without a preceding fetch.
    fn on_response(&mut self, _request: &MemRequest, _context: &mut EventContext<'_>) {}

    /// Returns the number of accepted requests between calls of [`CachePolicy::on_period`]; `None`
    /// for no calls.
    fn period(&self) -> Option<u64> {
        None
    }

    /// Called at the end of every period.
    fn on_period(&mut self, _context: &mut EventContext<'_>) {}

    /// Called when the values [published](EventContext::publish) by the peer caches add up to a new
    /// `sum`.
    fn on_published(&mut self, _sum: i64) {}
}
