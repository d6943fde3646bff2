//! Cache-conscious wavefront scheduling: a first-level cache policy and a wavefront scheduler that
//! work together.
//!
//! ```text
//!   first-level cache                                     compute unit
//!   line leaves ──► victim tags of the wavefront
//!                   that fetched it
//!   miss ──► found in the victim tags of ──locality──►    score of the wavefront rises
//!            the wavefront that missed                    fewer wavefronts may issue loads
//! ```
//!
//! A miss on a line that the same wavefront recently had in the cache is lost locality. With fewer
//! active wavefronts the line would still be resident. Each loss raises the wavefront's score. The
//! scores of all wavefronts share a cutoff, and wavefronts beyond it issue no loads until the
//! scores have decayed.
//!
//! `victim_tags.rs` holds the tags and `cache_policy.rs` the cache policy. `scores.rs` holds the
//! scores and `scheduler.rs` the scheduling policy of the compute unit.
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
/// recently lost.
pub const LOST_LOCALITY: u16 = 1;

/// Registers the cache policy and the wavefront scheduler of CCWS.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<Ccws>();
    registry.register_policy::<CcwsVictimTags>();
}
