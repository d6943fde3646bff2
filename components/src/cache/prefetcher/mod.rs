//! Prefetchers: what a cache fetches ahead of need. The role, and the prefetchers that come with the
//! cache.
//!
//! ```text
//!   prefetcher ──Wanted::fetch──► queue ──► MSHR, miss queue
//!              ◄── accesses, misses, fills, evictions
//! ```
//!
//! A prefetcher is told what the policies of the cache are told, and says which lines it wants. The
//! cache fetches them, one at most per cycle and after the requests of the cycle, within the budget of
//! [`PrefetchSpec`]. A line that is present, under way or wanted already is not fetched, nor is one
//! that belongs to another slice. Whole lines are fetched, by requests of kind
//! [`Prefetch`](crate::memory::RequestKind::Prefetch) whose source is that of the request, fill or
//! eviction that the prefetcher was told of. A line beyond the memory that the program has is fetched
//! like any other: it has an address and costs time, and a timing model holds no data.
//!
//! A new prefetcher is a file with a specification, an `impl Prefetcher` and an `impl PolicyKind`, and
//! a line in its crate's registration; `next_line.rs` is one.

mod next_line;
mod queue;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyRole, Registry, State, Statistics};

pub use self::next_line::{NextLine, NextLineSpec};
pub(super) use self::queue::Prefetches;
pub use self::queue::Wanted;
use crate::cache::policy::{CacheSite, Eviction, Fill, LookUp, MissDecision};

/// The prefetchers of a cache, any number.
pub struct Prefetching;

impl PolicyRole for Prefetching {
    const NAME: &'static str = "prefetcher";
    const SUMMARY: &'static str = "Says which lines a cache fetches ahead of need";
    type Policy = Box<dyn Prefetcher>;
    type Site = CacheSite;
}

/// A prefetcher; see the module.
pub trait Prefetcher: Send {
    /// A request was accepted and looked up; `hit` if its words are present. Requests that are handed
    /// down are not among them.
    fn on_access(&mut self, _access: &LookUp<'_>, _hit: bool, _wanted: &mut Wanted<'_>) {}

    /// A line is fetched for a request, or missing words of one that is present.
    fn on_miss(&mut self, _miss: &LookUp<'_>, _decision: MissDecision, _wanted: &mut Wanted<'_>) {}

    /// A line, or a part of it, came, prefetched or not. One that wants another line for each that it
    /// prefetched never stops.
    fn on_fill(&mut self, _fill: &Fill, _wanted: &mut Wanted<'_>) {}

    /// A line leaves its place.
    fn on_evict(&mut self, _eviction: &Eviction, _wanted: &mut Wanted<'_>) {}

    /// Names the state for checkpoints: all that it was told and remembers. A prefetcher without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the prefetcher does not name its state");
    }

    /// Reports what the prefetcher counted.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// What the prefetchers of a cache may use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrefetchSpec {
    /// Lines that wait to be fetched; what is wanted while so many wait is dropped. Source: own
    /// choice.
    pub queue_entries: u32,
    /// Prefetches under way at a time. Source: own choice.
    pub outstanding_max: u32,
    /// MSHRs that prefetches leave to requests: none is issued that would leave fewer free. A cache
    /// with no more MSHRs than that prefetches nothing. Source: own choice.
    pub mshrs_left: u32,
    /// Prefetches issued per cycle. Source: own choice.
    pub per_cycle: u32,
}

impl Default for PrefetchSpec {
    fn default() -> Self {
        Self {
            queue_entries: 8,
            outstanding_max: 4,
            mshrs_left: 1,
            per_cycle: 1,
        }
    }
}

/// Adds the prefetchers of this folder.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<NextLine>();
}
