//! Events that a cache sends to its compute unit, in addition to responses.

use serde::{Deserialize, Serialize};
use warpweave_framework::Message;

/// Event observed by a policy of a first-level cache for a scheduler of the compute unit. An
/// example is a miss on a line that the same wavefront lost shortly before.
///
/// It travels on a separate wire, from `locality` of the cache to `locality` of the compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEvent {
    /// Kind of event: a number agreed between the policy and the scheduler. Several policies may
    /// share the wire.
    pub topic: u16,
    /// Wavefront slot of the compute unit that the event concerns.
    pub wavefront_slot: u8,
    /// Address of the line that the event concerns.
    pub line: u64,
}

impl Message for CacheEvent {}
