//! Events delivered to cache policies and prefetchers.

use crate::cache::tag_array::{LineState, Slot};
use crate::memory::{MemRequest, Source};

/// Result of the tag look-up of a request.
#[derive(Clone, Copy, Debug)]
pub struct TagLookup<'a> {
    /// Request as received from the upper level.
    pub request: &'a MemRequest,
    /// Address of the line in this cache.
    pub line: u64,
    /// Mask of the requested words in that line.
    pub words: u32,
    /// Slot of the line, if it is present.
    pub slot: Option<Slot>,
    /// Set index of the line in this cache.
    pub set: u32,
    /// Set number across all slices: slice × sets + set.
    pub global_set: u64,
}

/// A line, or a part of it, that arrived from the next level.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Address of the line in this cache.
    pub line: u64,
    /// Mask of the words that arrived.
    pub words: u32,
    /// True if no part of the line was present before.
    pub first: bool,
    /// True if a prefetcher requested the line and no demand request has joined.
    pub prefetched: bool,
    /// True if a request that was forwarded closed the line to others. It gets no place then, and
    /// may be in flight a second time.
    pub closed: bool,
    /// Source that caused the fetch: the owner of the line.
    pub source: Source,
    /// Flags carried by the fill response.
    pub flags: u16,
    /// Slot of the line, reserved or about to be taken; `None` if it gets none.
    pub slot: Option<Slot>,
    /// Line evicted from that slot to make room, if the slot was occupied and not reserved.
    pub victim: Option<u64>,
    /// Set index of the line in this cache.
    pub set: u32,
    /// Set number across the sets of all slices.
    pub global_set: u64,
}

/// Reason for which a line leaves its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Replaced by another line that takes its slot.
    Replaced,
    /// Dropped because a request for it was forwarded to the next level.
    Passed,
    /// Dropped by a policy after answering a read.
    Dropped,
    /// Dropped by an invalidation, or because its way was disabled.
    Invalidated,
}

/// Eviction of a line from its slot.
#[derive(Clone, Copy, Debug)]
pub struct Eviction {
    /// Address of the line that leaves.
    pub line: u64,
    /// Slot that the line leaves empty.
    pub slot: Slot,
    /// State of the line when it was evicted.
    pub state: LineState,
    /// Reason for which the line leaves.
    pub cause: Cause,
    /// Source that fetched the line; see [`Source`].
    pub owner: Source,
    /// Set index of the line in this cache.
    pub set: u32,
    /// Set number across the sets of all slices.
    pub global_set: u64,
}

/// Return of a line from the victim cache.
#[derive(Clone, Copy, Debug)]
pub struct Swap {
    /// Address of the line that returns.
    pub line: u64,
    /// New slot of the line in the cache.
    pub slot: Slot,
    /// State of the line when it returns.
    pub state: LineState,
    /// Source that originally fetched the line from the next level.
    pub owner: Source,
    /// Line displaced from that slot, if any; it was already reported as an [`Eviction`].
    pub displaced: Option<u64>,
    /// Set index of the line in this cache.
    pub set: u32,
    /// Set number across the sets of all slices.
    pub global_set: u64,
}
