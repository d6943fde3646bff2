//! What keeps the refused request at the head of the input waiting, so that the cache need not decide
//! about it again whenever something moves.
//!
//! Most refusals end with one event: an MSHR is given back, a waiter answered, a way unlocked, a place
//! of the miss queue left. Until that event a decision would come to the same reason, which is shown
//! here for each:
//!
//! - Nothing but the acceptance of a request takes MSHRs, adds waiters or brings requests that pass.
//!   So what had room for the request at the refusal has room until the request is accepted.
//! - A line that is neither in the cache nor in an MSHR stays so until a request for it is accepted.
//! - Fills may add copy-backs to the miss queue, which would be the reason that comes first.
//! - Room in the miss queue for the copy-back of the line that leaves is needed as long as that line is
//!   the next to leave its set and has so many words to be copied back.
//!
//! Policies, prefetchers, banks, copy-back buffers and victim caches break these rules; a cache with
//! one of them decides every time.

use warpweave_framework::{Cycle, Id};

use super::request::Access;
use super::statistics::Blocked;
use super::tag_array::Slot;
use super::{Cache, Entry, is_clean, stores};
use crate::memory::MemRequest;

/// What must change before the request at the head can be accepted or waits for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Anything may: it is to be decided.
    Unknown,
    /// An MSHR is given back.
    Mshrs,
    /// A waiter of this MSHR, which is for the line of the request, is answered.
    Merges(Id),
    /// A line of this set is unlocked, or more requests than these wait in the miss queue.
    Ways { set: u32, misses: usize },
    /// The miss queue has places for so many requests more; or, if a line of this set is in the way,
    /// another one would leave, or another part of it.
    MissQueue {
        places: u32,
        set: u32,
        victim: Option<(Slot, u32)>,
    },
}

impl Cache {
    /// Whether the request at the head is refused for the reason for which it was refused before.
    #[inline]
    pub(super) fn is_still_refused(&self, request: &MemRequest, now: Cycle) -> bool {
        let still = self.refusal_lasts();
        debug_assert!(
            !still || self.reason_to_wait(request, now) == self.stats.blocked.reason(),
            "{:?} hides that {request:?} waits for {:?}",
            self.refusal,
            self.reason_to_wait(request, now)
        );
        still
    }

    /// Why the request cannot be accepted, if it cannot.
    pub(super) fn reason_to_wait(&self, request: &MemRequest, now: Cycle) -> Option<Blocked> {
        let mut part = None;
        let request = self.head(request, &mut part)?;
        let access = self.access(request)?;
        self.decide(request, access, now).err()
    }

    #[inline]
    fn refusal_lasts(&self) -> bool {
        match self.refusal {
            Refusal::Unknown => false,
            Refusal::Mshrs => self.mshrs.is_full(),
            Refusal::Merges(mshr) => {
                let entry = self.mshrs.get(mshr);
                entry.is_some_and(Entry::is_open) && !self.mshrs.can_join(mshr)
            }
            Refusal::Ways { set, misses } => {
                self.tags.is_locked(set) && self.misses.len() <= misses
            }
            Refusal::MissQueue {
                places,
                set,
                victim,
            } => {
                let entries = self.spec.miss_queue_entries as usize;
                self.misses.len() + places as usize > entries
                    && victim.is_none_or(|(slot, dirty)| {
                        self.tags.victim_in(set) == Some(slot)
                            && self.tags.state(slot).dirty == dirty
                    })
            }
        }
    }

    /// What has to change now that the request is refused for `reason`.
    pub(super) fn refuse(&self, request: &MemRequest, access: Access, reason: Blocked) -> Refusal {
        if !self.refuses_simply {
            return Refusal::Unknown;
        }
        let slot = self.tags.find_in(access.set, access.line);
        let entry = match slot {
            Some(slot) => self.tags.state(slot).mshr(),
            None => self.mshrs.find(access.line),
        };
        let is_absent = slot.is_none() && entry.is_none();
        match (reason, entry) {
            (Blocked::Merges, Some(mshr)) => Refusal::Merges(mshr),
            (Blocked::Mshrs, _) if is_absent => Refusal::Mshrs,
            (Blocked::Ways, _) if is_absent && self.tags.is_locked(access.set) => Refusal::Ways {
                set: access.set,
                misses: self.misses.len(),
            },
            (Blocked::MissQueue, _) if is_absent => self.refuse_for_queue(request, access),
            _ => Refusal::Unknown,
        }
    }

    /// Of a request for a line that is not here, which the miss queue has no room for.
    fn refuse_for_queue(&self, request: &MemRequest, access: Access) -> Refusal {
        let set = access.set;
        let wanted = self.wanted(request.kind, access.words, 0);
        let goes_down = self.passes(request) || self.goes_through && stores(request.kind);
        let requests = match (goes_down, wanted) {
            // One at least.
            (true, _) => 1,
            (false, _) if is_clean(request) => return Refusal::Unknown,
            (false, wanted) => self.pieces(wanted),
        };
        if goes_down || requests > 0 && self.queue_room(requests, 0).is_err() {
            return Refusal::MissQueue {
                places: requests,
                set,
                victim: None,
            };
        }
        let Some(slot) = self.tags.victim_in(set) else {
            return Refusal::Unknown;
        };
        let dirty = self.tags.state(slot).dirty;
        Refusal::MissQueue {
            places: requests + self.pieces(dirty),
            set,
            victim: Some((slot, dirty)),
        }
    }
}
