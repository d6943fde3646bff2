//! Cache-conscious wavefront scheduling: a policy of the first-level cache and a wavefront scheduler
//! that go together.
//!
//! ```text
//!   first-level cache                                     compute unit
//!   line leaves ──► victim tags of the wavefront
//!                   that fetched it
//!   miss ──► found in the victim tags of ──locality──►    score of the wavefront rises
//!            the wavefront that missed                    fewer wavefronts may issue loads
//! ```
//!
//! A miss on a line that the same wavefront had in the cache shortly before is locality lost: with
//! fewer wavefronts at a time the line would still be there. Each loss raises the wavefront's score;
//! the scores of all wavefronts share a cutoff, and those that do not fit below it issue no loads
//! until the scores have decayed.
//!
//! `victim_tags.rs` holds the tags and `cache_policy.rs` is the policy of the cache; `scores.rs` holds
//! the scores and `scheduler.rs` is the policy of the compute unit.
//!
//! Source: the CCWS paper.

mod cache_policy;
mod scheduler;
mod scores;
mod victim_tags;

use warpweave_framework::Registry;

pub use self::cache_policy::{CcwsVictimTags, CcwsVictimTagsSpec};
pub use self::scheduler::{Ccws, CcwsSpec};

/// [`CacheEvent::topic`](crate::memory::CacheEvent::topic) of a miss on a line that the wavefront
/// lost shortly before.
pub const LOST_LOCALITY: u16 = 1;

/// Adds both policies.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<Ccws>();
    registry.register_policy::<CcwsVictimTags>();
}
