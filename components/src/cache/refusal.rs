//! Cached reason for the refusal of the head request, so that the cache need not re-evaluate it
//! after every change.
//!
//! Most refusals end with one event: an MSHR is freed, a waiter answered, a way unlocked, or a
//! request leaves the miss queue. Until then, a decision would give the same reason, as shown here
//! for each case:
//!
//! - Only accepting a request takes MSHRs, adds waiters or brings passing requests. So resources
//!   that sufficed at the refusal still suffice until the request is accepted.
//! - A line that is neither in the cache nor in an MSHR stays absent until a request for it is
//!   accepted.
//! - Fills may add copy-backs to the miss queue. A full miss queue would then be the first reason
//!   found.
//! - The miss queue must have room for the victim's copy-back. This holds while the victim remains
//!   the next line to leave its set, with the same number of words to be copied back.
//!
//! Policies, prefetchers, banks, copy-back buffers and victim caches break these rules. A cache
//! with one of them decides anew every time.

use warpweave_framework::Id;

use super::access::{Access, is_clean};
use super::blocked::Blocked;
use super::controller::Controller;
use super::lookup::Found;
use super::mshr_file::Entry;
use super::spec::CacheSpec;
use super::tag_array::Slot;
use crate::memory::MemRequest;

/// The event after which the request at the head may be accepted, or wait for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Unknown condition: the request must be decided again.
    Unknown,
    /// An MSHR must be freed first.
    Mshrs,
    /// A waiter of this MSHR, which holds the request's line, must be answered.
    Merges(Id),
    /// A line of this set is unlocked, or more requests than `misses` wait in the miss queue.
    Ways { set: u32, misses: usize },
    /// The miss queue gains room for the given number of requests. If a line of this set blocks the
    /// request, a different victim or dirty mask also ends the refusal.
    MissQueue {
        places: u32,
        set: u32,
        victim: Option<(Slot, u32)>,
    },
}

impl Refusal {
    /// Tells whether refusals of a cache end with one event.
    pub(super) fn are_simple(spec: &CacheSpec) -> bool {
        spec.policies.is_empty()
            && spec.prefetchers.is_empty()
            && spec.banks.is_none()
            && spec.copy_back_entries.is_none()
            && spec.victim_cache.is_none()
    }

    /// Tells whether the request would be refused for the same reason again.
    #[inline]
    pub(super) fn lasts(&self, controller: &Controller) -> bool {
        let (lookup, misses) = (&controller.store.lookup, &controller.store.misses);
        match *self {
            Self::Unknown => false,
            Self::Mshrs => lookup.mshrs().is_full(),
            Self::Merges(mshr) => {
                let entry = lookup.mshrs().get(mshr);
                entry.is_some_and(Entry::is_open) && !lookup.mshrs().can_join(mshr)
            }
            Self::Ways {
                set,
                misses: queued,
            } => lookup.tags().is_locked(set) && misses.len() <= queued,
            Self::MissQueue {
                places,
                set,
                victim,
            } => {
                misses.overflows_with(places)
                    && victim.is_none_or(|(slot, dirty)| {
                        lookup.tags().victim_in(set) == Some(slot)
                            && lookup.tags().state(slot).dirty == dirty
                    })
            }
        }
    }

    /// The event that a request refused for `reason` waits for, in a cache of simple refusals.
    pub(super) fn of(
        controller: &Controller,
        request: &MemRequest,
        access: Access,
        reason: Blocked,
    ) -> Self {
        let lookup = &controller.store.lookup;
        let Found { slot, mshr } = lookup.find(access);
        let is_absent = slot.is_none() && mshr.is_none();
        match (reason, mshr) {
            (Blocked::Merges, Some(mshr)) => Self::Merges(mshr),
            (Blocked::Mshrs, _) if is_absent => Self::Mshrs,
            (Blocked::Ways, _) if is_absent && lookup.tags().is_locked(access.set) => Self::Ways {
                set: access.set,
                misses: controller.store.misses.len(),
            },
            (Blocked::MissQueue, _) if is_absent => Self::of_queue(controller, request, access),
            _ => Self::Unknown,
        }
    }

    /// The event for a line that is not here, when the miss queue has no room for the request.
    fn of_queue(controller: &Controller, request: &MemRequest, access: Access) -> Self {
        let (lookup, misses) = (&controller.store.lookup, &controller.store.misses);
        let (rules, set) = (controller.rules(), access.set);
        let wanted = rules.wanted(lookup.layout(), request.kind, access.words, 0);
        let goes_down = rules.passes(request, || true) || rules.goes_through(request);
        let requests = match (goes_down, wanted) {
            // One at least.
            (true, _) => 1,
            (false, _) if is_clean(request) => return Self::Unknown,
            (false, wanted) => misses.pieces(wanted),
        };
        if goes_down || requests > 0 && misses.room(requests, 0).is_err() {
            return Self::MissQueue {
                places: requests,
                set,
                victim: None,
            };
        }
        let Some(slot) = lookup.tags().victim_in(set) else {
            return Self::Unknown;
        };
        let dirty = lookup.tags().state(slot).dirty;
        Self::MissQueue {
            places: requests + misses.pieces(dirty),
            set,
            victim: Some((slot, dirty)),
        }
    }
}
