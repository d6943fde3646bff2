//! A request in terms of the lines of a cache.

use warpweave_framework::Cycle;

use crate::memory::{MemRequest, RequestKind, flags};

/// Error text for a request that crosses a line: a neighbour broke the protocol.
pub(super) const LONGER_LINE: &str = "touches words outside one line: lines of the upper level must not be longer, unless `above_line_bytes` says so";

/// The line, set and words that a request touches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Address of the line, with the partition of the cache in its low bits.
    pub(super) line: u64,
    pub(super) set: u32,
    pub(super) words: u32,
}

/// Request that was accepted, with its context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepted<'a> {
    pub(super) request: &'a MemRequest,
    pub(super) access: Access,
    pub(super) now: Cycle,
}

/// Tells whether the request brings words to be stored.
#[inline]
pub(super) fn stores(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::Write | RequestKind::CopyBack)
}

/// Tells whether a line that serves the request is dirty afterwards.
#[inline]
pub(super) fn modifies(kind: RequestKind) -> bool {
    kind == RequestKind::Atomic || stores(kind)
}

/// Tells whether the request brings data that memory has too.
#[inline]
pub(super) fn is_clean(request: &MemRequest) -> bool {
    request.kind == RequestKind::CopyBack && request.flags & flags::CLEAN != 0
}
