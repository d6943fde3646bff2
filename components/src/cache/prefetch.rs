//! Fetching what prefetchers want.

use warpweave_framework::{Context, Cycle};

use super::Cache;
use super::perform::Accepted;
use super::policy::MissDecision;
use super::request::{Access, Plan};
use super::spec::AllocatePolicy;
use super::tag_array::Slot;
use crate::memory::{MemRequest, RequestKind};

/// What becomes of the line that is wanted first.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// It is fetched, into this place if one is reserved.
    Fetch(Access, Option<Slot>),
    /// It is here or under way.
    Skip,
    /// It waits for something that is in flight.
    Wait,
    /// It waits for its bank.
    Until(Cycle),
}

impl Cache {
    /// Fetches what is wanted, as far as the budget and the resources allow.
    #[inline(never)]
    pub(super) fn prefetch(&mut self, ctx: &Context<'_>, now: Cycle) {
        let mut left = if self.command_pending(ctx) {
            0
        } else {
            self.prefetches.per_cycle()
        };
        while left > 0
            && let Some(turn) = self.prefetch_turn(now)
        {
            match turn {
                Turn::Skip => self.prefetches.skip(),
                Turn::Fetch(access, place) => {
                    self.fetch_ahead(access, place, now);
                    left -= 1;
                }
                Turn::Wait | Turn::Until(_) => return,
            }
        }
    }

    /// When the line wanted first can be fetched or skipped, if nothing in flight decides.
    #[inline(never)]
    pub(super) fn next_prefetch(&self, ctx: &Context<'_>, now: Cycle) -> Option<Cycle> {
        if self.prefetches.per_cycle() == 0 || self.command_pending(ctx) {
            return None;
        }
        match self.prefetch_turn(now)? {
            Turn::Skip | Turn::Fetch(..) => Some(now + 1),
            Turn::Until(cycle) => Some(cycle.max(now + 1)),
            Turn::Wait => None,
        }
    }

    fn prefetch_turn(&self, now: Cycle) -> Option<Turn> {
        let line = self.prefetches.first()?.line;
        let access = Access {
            line,
            set: self.tags.set_of(line),
            words: self.full,
        };
        let is_here = self.tags.find_in(access.set, line).is_some()
            || self.mshrs.find(line).is_some()
            || self.victims.as_ref().is_some_and(|v| v.holds(line))
            || self.overtakes(access);
        if is_here {
            return Some(Turn::Skip);
        }
        let free = self.spec.mshr_entries - self.mshrs.len();
        let requests = self.pieces(self.full);
        if !self.prefetches.may_issue(free) || self.queue_room(requests, 0).is_err() {
            return Some(Turn::Wait);
        }
        if let Some(banks) = &self.spec.banks {
            let turn = self.bank_free[(access.set % banks.count) as usize];
            if turn > now {
                return Some(Turn::Until(turn));
            }
        }
        if self.spec.allocate == AllocatePolicy::OnFill {
            return Some(Turn::Fetch(access, None));
        }
        match self.victim_room(access, requests) {
            Ok(slot) => Some(Turn::Fetch(access, Some(slot))),
            Err(_) => Some(Turn::Wait),
        }
    }

    fn fetch_ahead(&mut self, access: Access, place: Option<Slot>, now: Cycle) {
        let Some(wanted) = self.prefetches.issue() else {
            return;
        };
        let request = MemRequest {
            kind: RequestKind::Prefetch,
            source: wanted.source,
            ..MemRequest::read(0, access.line & !self.offset_mask, self.full)
        };
        let accepted = Accepted {
            request: &request,
            access,
            now,
        };
        self.moves += 1;
        self.occupy_bank(access.set, now);
        self.reserve(place, &accepted);
        let plan = Plan {
            words: self.full,
            decision: MissDecision::default(),
        };
        let mshr = self.open(&accepted, place, plan);
        self.mshrs.entry_mut(mshr).prefetched = true;
    }

    /// A request wants a line: what was prefetched of it was worth it.
    pub(super) fn use_prefetched(&mut self, slot: Option<Slot>, line: u64) {
        let mshr = match slot {
            Some(slot) => self.tags.state(slot).mshr(),
            None => self.mshrs.find(line),
        };
        if let Some(mshr) = mshr {
            let entry = self.mshrs.entry_mut(mshr);
            if std::mem::take(&mut entry.prefetched) {
                self.prefetches.is_late();
            }
        }
        if let Some(slot) = slot {
            self.prefetches.is_used(slot);
        }
    }
}
