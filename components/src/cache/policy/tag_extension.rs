//! Tag extension of a second level: the compute unit that each line belongs to (INC-M4). It also
//! has whether this or another unit came back for the line, and whether it was copied back.
//!
//! Building block for policies of a level that several compute units share. The policy passes it
//! the events of the cache. A hit of the line's own unit is private reuse, one of another unit
//! shared reuse; the response carries both. A line that was copied back leaves with a read of its
//! unit. A request of another unit that joins a line in flight is shared reuse of that line.
//!
//! The thesis has 4 bits for the unit and 3 for the rest, 5,376 bytes for 768 KiB of lines.

use serde::{Deserialize, Serialize};
use warpweave_framework::State;

use super::exclusive::moves_up;
use super::request_bits::{PRIVATE_REUSE, SHARED_REUSE};
use super::{Fill, ResponseDecision, TagLookup};
use crate::memory::{RequestKind, flags};

/// Extension of the tag of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Tag {
    core: u16,
    shared: bool,
    private: bool,
    copied_back: bool,
}

/// A line in flight that has no place yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InFlight {
    line: u64,
    core: u16,
    shared: bool,
}

/// Tags of all lines, and what is known of lines in flight.
#[derive(Clone, Debug, State)]
pub struct TagExtension {
    #[state(array)]
    tags: Vec<Tag>,
    /// Lines in flight, the oldest one first.
    in_flight: Vec<InFlight>,
}

impl TagExtension {
    /// Creates the tags of a cache with this many lines.
    pub fn new(lines: u32) -> Self {
        Self {
            tags: vec![Tag::default(); lines as usize],
            in_flight: Vec::new(),
        }
    }

    /// Takes the event of a request that was looked up.
    pub fn on_access(&mut self, access: &TagLookup<'_>, hit: bool) {
        if access.request.kind == RequestKind::CopyBack {
            return;
        }
        let core = access.request.source.compute_unit;
        match access.slot {
            Some(slot) if hit => {
                let tag = &mut self.tags[slot.index()];
                if core == tag.core {
                    tag.private = true;
                } else {
                    tag.shared = true;
                }
            }
            _ => {
                let mut newest = self.in_flight.iter_mut().rev();
                if let Some(joined) = newest.find(|it| it.line == access.line) {
                    joined.shared |= joined.core != core;
                }
            }
        }
    }

    /// Takes the event of a line that is fetched.
    pub fn on_miss(&mut self, miss: &TagLookup<'_>) {
        if miss.slot.is_none() {
            self.in_flight.push(InFlight {
                line: miss.line,
                core: miss.request.source.compute_unit,
                shared: false,
            });
        }
    }

    /// Takes the event of a line that arrived.
    pub fn on_fill(&mut self, fill: &Fill) {
        if !fill.first {
            return;
        }
        let oldest = self.in_flight.iter().position(|it| it.line == fill.line);
        let shared = oldest.is_some_and(|oldest| self.in_flight.remove(oldest).shared);
        if let Some(slot) = fill.slot {
            self.tags[slot.index()] = Tag {
                core: fill.source.compute_unit,
                shared,
                ..Tag::default()
            };
        }
    }

    /// Takes the event of a line that a store or copy-back made.
    pub fn on_new_line(&mut self, store: &TagLookup<'_>) {
        if let Some(slot) = store.slot {
            self.tags[slot.index()] = Tag {
                core: store.request.source.compute_unit,
                copied_back: is_clean_copy_back(store),
                ..Tag::default()
            };
        }
    }

    /// Takes the event of a copy-back that was ignored: a line that is present changes its unit.
    pub fn on_ignored(&mut self, copy_back: &TagLookup<'_>) {
        if let Some(slot) = copy_back.slot {
            let tag = &mut self.tags[slot.index()];
            *tag = Tag {
                core: copy_back.request.source.compute_unit,
                shared: tag.shared,
                private: false,
                copied_back: true,
            };
        }
    }

    /// Returns the flags of the response of a hit, and whether its line leaves.
    pub fn response(&self, hit: &TagLookup<'_>) -> ResponseDecision {
        let Some(slot) = hit.slot else {
            return ResponseDecision::default();
        };
        let tag = self.tags[slot.index()];
        let bit = |set, bit| if set { bit } else { 0 };
        ResponseDecision {
            flags: bit(tag.shared, SHARED_REUSE) | bit(tag.private, PRIVATE_REUSE),
            drop: tag.copied_back
                && tag.core == hit.request.source.compute_unit
                && moves_up(hit.request),
        }
    }
}

fn is_clean_copy_back(store: &TagLookup<'_>) -> bool {
    store.request.kind == RequestKind::CopyBack && store.request.flags & flags::CLEAN != 0
}
