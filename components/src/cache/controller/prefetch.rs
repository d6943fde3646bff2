//! Issue of the fetches that prefetchers request.

use warpweave_framework::Cycle;

use super::Controller;
use super::action::Plan;
use crate::cache::access::{Accepted, Access};
use crate::cache::policy::MissDecision;
use crate::cache::tag_array::Slot;
use crate::memory::{MemRequest, RequestKind};

/// The next step with the line that is wanted first.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It is fetched, into this slot if one is reserved.
    Fetch(Access, Option<Slot>),
    /// The line is already present or in flight.
    Skip,
    /// The line waits for a request in flight.
    Wait,
    /// The line waits until its bank is free.
    Until(Cycle),
}

impl Controller {
    /// Issues wanted prefetches within the budget per cycle while resources allow. Returns true if
    /// at least one line was fetched.
    #[inline(never)]
    pub(in crate::cache) fn prefetch(&mut self, now: Cycle) -> bool {
        let mut fetched = false;
        let mut left = self.store.hooks.prefetches.per_cycle();
        while left > 0
            && let Some(step) = self.prefetch_step(now)
        {
            match step {
                Step::Skip => self.store.hooks.prefetches.skip(),
                Step::Fetch(access, slot) => {
                    fetched |= self.fetch_ahead(access, slot, now);
                    left -= 1;
                }
                Step::Wait | Step::Until(_) => break,
            }
        }
        fetched
    }

    /// The cycle in which the line wanted first can be fetched or skipped, if nothing in flight
    /// decides.
    #[inline(never)]
    pub(in crate::cache) fn next_prefetch(&self, now: Cycle) -> Option<Cycle> {
        if self.store.hooks.prefetches.per_cycle() == 0 {
            return None;
        }
        match self.prefetch_step(now)? {
            Step::Skip | Step::Fetch(..) => Some(now + 1),
            Step::Until(cycle) => Some(cycle.max(now + 1)),
            Step::Wait => None,
        }
    }

    fn prefetch_step(&self, now: Cycle) -> Option<Step> {
        let (lookup, prefetches) = (&self.store.lookup, &self.store.hooks.prefetches);
        let line = prefetches.first()?.line;
        let access = Access {
            line,
            set: lookup.tags().set_of(line),
            words: lookup.layout().full(),
        };
        let is_here = lookup.tags().find_in(access.set, line).is_some()
            || lookup.mshrs().find(line).is_some()
            || self.store.is_victim(line)
            || lookup.overtakes(access);
        if is_here {
            return Some(Step::Skip);
        }
        let misses = &self.store.misses;
        let requests = misses.pieces(access.words);
        let free = lookup.mshrs().free();
        if !prefetches.may_issue(free) || misses.room(requests, 0).is_err() {
            return Some(Step::Wait);
        }
        if let Some(banks) = &self.store.banks {
            let turn = banks.free_from(access.set);
            if turn > now {
                return Some(Step::Until(turn));
            }
        }
        if self.rules.allocates_on_fill() {
            return Some(Step::Fetch(access, None));
        }
        match self.victim_room(access, requests) {
            Ok(slot) => Some(Step::Fetch(access, Some(slot))),
            Err(_) => Some(Step::Wait),
        }
    }

    fn fetch_ahead(&mut self, access: Access, slot: Option<Slot>, now: Cycle) -> bool {
        let Some(wanted) = self.store.hooks.prefetches.issue() else {
            return false;
        };
        let line = self.store.lookup.layout().address(access.line);
        let request = MemRequest {
            kind: RequestKind::Prefetch,
            source: wanted.source,
            ..MemRequest::read(0, line, access.words)
        };
        let accepted = Accepted {
            request: &request,
            access,
            now,
        };
        self.store.occupy_bank(access.set, now);
        self.store.reserve(slot, &accepted);
        let plan = Plan {
            words: access.words,
            decision: MissDecision::default(),
        };
        let mshr = self.open(&accepted, slot, plan);
        self.store.lookup.mark_prefetched(mshr);
        true
    }
}
