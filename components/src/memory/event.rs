//! What a cache tells its compute unit beside its answers.

use serde::{Deserialize, Serialize};
use warpweave_framework::Message;

/// Something that a policy of a first-level cache has seen and a scheduler of the compute unit wants
/// to know, such as a miss on a line that the same wavefront lost shortly before.
///
/// It travels on a wire of its own, from `locality` of the cache to `locality` of the compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEvent {
    /// What has happened: a number that the policy and the scheduler agree on. Several policies may
    /// share the wire.
    pub topic: u16,
    /// Wavefront slot of the compute unit that it concerns.
    pub wavefront_slot: u8,
    /// Line that it concerns.
    pub line: u64,
}

impl Message for CacheEvent {}
