//! Prefetchers, which fetch lines ahead of need: the role, and the prefetchers that come with the
//! cache.
//!
//! ```text
//!   prefetcher ──PrefetchContext::fetch──► queue ──► MSHR, miss queue
//!              ◄── accesses, misses, fills, evictions
//! ```
//!
//! A prefetcher receives the same events as the cache's policies and requests lines. The cache
//! fetches at most one of them per cycle, after the cycle's demand requests and within the budget
//! of [`PrefetchSpec`]. A line is skipped if it is present, in flight, already queued, or part of
//! another slice. Whole lines are fetched by requests of kind
//! [`Prefetch`](crate::memory::RequestKind::Prefetch). Their source is that of the request, fill or
//! eviction that triggered the prefetcher. A line beyond the program's memory is fetched like any
//! other: it has an address and costs time, and a timing model holds no data.
//!
//! A new prefetcher needs a file with a specification, an `impl Prefetcher` and an
//! `impl PolicyKind`. It also needs a line in its crate's registration; `next_line.rs` is an
//! example.

mod ghb;
mod next_line;
mod queue;
mod stream;
mod stride;
#[cfg(test)]
mod tests;
mod training;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Instrumented, PolicyRole, Registry, Stateful};

pub use self::ghb::{Ghb, GhbSpec};
pub use self::next_line::{NextLine, NextLineSpec};
pub use self::queue::PrefetchContext;
pub(super) use self::queue::Prefetches;
pub use self::stream::{Stream, StreamSpec};
pub use self::stride::{Stride, StrideMode, StrideSpec};
use crate::cache::policy::{CacheSite, Eviction, Fill, MissDecision, TagLookup};

/// Role of a cache's prefetchers, any number.
pub struct Prefetching;

impl PolicyRole for Prefetching {
    const NAME: &'static str = "prefetcher";
    const SUMMARY: &'static str = "Says which lines a cache fetches ahead of need";
    type Policy = Box<dyn Prefetcher>;
    type Site = CacheSite;
}

/// Prefetcher of a cache; reacts to events by requesting lines. Accesses and misses of injected
/// requests ([`INJECTED`](crate::memory::flags::INJECTED)) are not told.
pub trait Prefetcher: Stateful + Instrumented + Send {
    /// Called when a request was accepted and looked up; `hit` if its words are present. Forwarded
    /// requests are excluded.
    fn on_access(
        &mut self,
        _access: &TagLookup<'_>,
        _hit: bool,
        _context: &mut PrefetchContext<'_>,
    ) {
    }

    /// Called when a line, or the missing words of a present line, are fetched for a request.
    fn on_miss(
        &mut self,
        _miss: &TagLookup<'_>,
        _decision: MissDecision,
        _context: &mut PrefetchContext<'_>,
    ) {
    }

    /// Called when a line, or a part of it, arrived, prefetched or not. A prefetcher that requests
    /// a new line for each one it prefetched never stops.
    fn on_fill(&mut self, _fill: &Fill, _context: &mut PrefetchContext<'_>) {}

    /// Called when a line leaves its slot.
    fn on_evict(&mut self, _eviction: &Eviction, _context: &mut PrefetchContext<'_>) {}
}

/// Resource budget shared by the prefetchers of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrefetchSpec {
    /// Capacity of the queue of lines to prefetch; further lines are dropped while it is full.
    /// Source: own choice.
    pub queue_entries: u32,
    /// Maximum number of outstanding prefetches. Source: own choice.
    pub outstanding_max: u32,
    /// MSHRs reserved for demand requests: no prefetch is issued that would leave fewer free. A
    /// cache with no more MSHRs than that prefetches nothing. Source: own choice.
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

/// Registers the prefetchers of this folder.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<Ghb>();
    registry.register_policy::<NextLine>();
    registry.register_policy::<Stream>();
    registry.register_policy::<Stride>();
}
