//! The trait of a cache policy.

use warpweave_framework::{State, Statistics};

use super::{
    EvictDecision, Eviction, Field, Fill, FillDecision, LookUp, MissDecision, Moment,
    ResponseDecision, Swap,
};
use crate::memory::MemRequest;

/// A policy in a chain; see [`policy`](super).
pub trait CachePolicy: Send {
    /// The fields that it decides; none for one that only watches.
    fn owns(&self) -> &'static [Field] {
        &[]
    }

    /// What becomes of this miss.
    fn decide_miss(&self, _miss: &LookUp<'_>, _decision: &mut MissDecision) {}

    /// What becomes of a line that came.
    fn decide_fill(&self, _fill: &Fill, _decision: &mut FillDecision) {}

    /// What becomes of a clean victim.
    fn decide_evict(&self, _eviction: &Eviction, _decision: &mut EvictDecision) {}

    /// What goes with the answer of a hit.
    fn decide_response(&self, _hit: &LookUp<'_>, _decision: &mut ResponseDecision) {}

    /// A request was accepted and looked up; `hit` if its words are present. Requests of
    /// [`on_pass`](Self::on_pass) and [`on_ignored`](Self::on_ignored) are not among them.
    fn on_access(&mut self, _access: &LookUp<'_>, _hit: bool, _moment: &mut Moment<'_>) {}

    /// A line is fetched, or missing words of one that is present.
    fn on_miss(&mut self, _miss: &LookUp<'_>, _decision: MissDecision, _moment: &mut Moment<'_>) {}

    /// A request was accepted that is handed down: a store of a write-evict cache, a forwarded atomic,
    /// a request that bypasses this level. The slot is that of the copy it drops.
    fn on_pass(&mut self, _pass: &LookUp<'_>, _moment: &mut Moment<'_>) {}

    /// A clean copy-back was accepted whose data are here or on their way, and nothing was done.
    fn on_ignored(&mut self, _copy_back: &LookUp<'_>, _moment: &mut Moment<'_>) {}

    /// A store or copy-back from above made a new line without a fetch; `slot` is its place. Told
    /// after `on_access`.
    fn on_new_line(&mut self, _store: &LookUp<'_>, _moment: &mut Moment<'_>) {}

    /// A line, or a part of it, came and is in `slot` of the event, or nowhere.
    fn on_fill(&mut self, _fill: &Fill, _moment: &mut Moment<'_>) {}

    /// A line leaves its place, for the victim cache if there is one and the cause is
    /// [`Replaced`](super::Cause::Replaced).
    fn on_evict(&mut self, _eviction: &Eviction, _moment: &mut Moment<'_>) {}

    /// A line came back from the victim cache, after `on_evict` of the line it displaced.
    fn on_swap(&mut self, _swap: &Swap, _moment: &mut Moment<'_>) {}

    /// A request is answered from its line, without or after a fetch.
    fn on_response(&mut self, _request: &MemRequest, _moment: &mut Moment<'_>) {}

    /// Accepted requests between two calls of [`CachePolicy::on_period`]; none for no calls.
    fn period(&self) -> Option<u64> {
        None
    }

    /// Another period is over.
    fn on_period(&mut self, _moment: &mut Moment<'_>) {}

    /// What the caches around [publish](Moment::publish) adds up to `sum` from now on.
    fn on_published(&mut self, _sum: i64) {}

    /// Names the state for checkpoints: all that it was told and remembers. A policy without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}
