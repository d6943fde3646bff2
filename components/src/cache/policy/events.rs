//! What policies are told.

use crate::cache::tag_array::{LineState, Slot};
use crate::memory::{MemRequest, Source};

/// A request that is looked up.
#[derive(Clone, Copy, Debug)]
pub struct LookUp<'a> {
    /// The request, as received.
    pub request: &'a MemRequest,
    /// Line of this cache.
    pub line: u64,
    /// Words of that line.
    pub words: u32,
    /// Where the line is, if it is present.
    pub slot: Option<Slot>,
    /// Set of the line.
    pub set: u32,
    /// Number of the set among those of all slices: slice × sets + set.
    pub global_set: u64,
}

/// A line, or a part of it, that came from below.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Line of this cache.
    pub line: u64,
    /// Words that came.
    pub words: u32,
    /// Whether nothing of the line was present before.
    pub first: bool,
    /// Whether a prefetcher asked for it, and no request has since.
    pub prefetched: bool,
    /// Who caused the fetch: the owner of the line.
    pub source: Source,
    /// Flags of the response.
    pub flags: u16,
    /// Its place, reserved or to be taken; none if it has none.
    pub slot: Option<Slot>,
    /// The line that leaves that place for it, if it is full and was not reserved.
    pub victim: Option<u64>,
    /// Set of the line.
    pub set: u32,
    /// Number of the set among those of all slices.
    pub global_set: u64,
}

/// Why a line leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Another line takes its place.
    Replaced,
    /// A request for it was handed down.
    Passed,
    /// It answered a read and a policy dropped it.
    Dropped,
    /// An invalidation, or its way went out of use.
    Invalidated,
}

/// A line that leaves its place.
#[derive(Clone, Copy, Debug)]
pub struct Eviction {
    /// The line.
    pub line: u64,
    /// Its place.
    pub slot: Slot,
    /// What was in it.
    pub state: LineState,
    /// Why it leaves.
    pub cause: Cause,
    /// Who brought it in; see [`Source`].
    pub owner: Source,
    /// Set of the line.
    pub set: u32,
    /// Number of the set among those of all slices.
    pub global_set: u64,
}

/// A line that comes back from the victim cache.
#[derive(Clone, Copy, Debug)]
pub struct Swap {
    /// The line.
    pub line: u64,
    /// Its new place.
    pub slot: Slot,
    /// What is in it.
    pub state: LineState,
    /// Who brought it in, when it came from below.
    pub owner: Source,
    /// The line that left that place for it, if any; it was told as an [`Eviction`].
    pub displaced: Option<u64>,
    /// Set of the line.
    pub set: u32,
    /// Number of the set among those of all slices.
    pub global_set: u64,
}
