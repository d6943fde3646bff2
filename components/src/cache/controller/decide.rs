//! The decision about a request: the action to take, or what it lacks.

use warpweave_framework::{Cycle, Id};

use super::Controller;
use super::action::{Action, PassEffect, Plan, Through};
use crate::cache::access::{Access, is_clean};
use crate::cache::blocked::Blocked;
use crate::cache::lookup::Found;
use crate::cache::policy::MissDecision;
use crate::cache::tag_array::Slot;
use crate::memory::MemRequest;

impl Controller {
    /// Decides what to do with a request, or finds what it lacks. Changes nothing.
    #[inline]
    pub(in crate::cache) fn decide(
        &self,
        request: &MemRequest,
        access: Access,
        now: Cycle,
    ) -> Result<Action, Blocked> {
        let lookup = &self.store.lookup;
        if let Some(banks) = &self.store.banks
            && banks.free_from(access.set) > now
        {
            return Err(Blocked::Bank);
        }
        let found = lookup.find(access);
        let Found { slot, mshr } = found;
        let is_absent = slot.is_none() && mshr.is_none();
        if is_clean(request) && (!is_absent || lookup.overtakes(access)) {
            return Ok(Action::Ignore);
        }
        if self.rules.passes(request, || is_absent) {
            return self.decide_pass(request, access, found).map(Action::Pass);
        }
        if self.rules.goes_through(request) && !is_clean(request) {
            return self.decide_through(request, access, found);
        }
        if let Some(mshr) = mshr {
            return self.decide_join(request, access, slot, mshr);
        }
        if let Some(slot) = slot {
            let have = lookup.tags().state(slot).valid;
            let wanted = self.wanted(request, access, have);
            return if wanted == 0 {
                self.hit_room(request).map(|()| Action::Hit(slot))
            } else {
                let plan = self.plan(request, access, Some(slot), wanted, have);
                self.miss_room(access, self.store.misses.pieces(plan.words))?;
                Ok(Action::FetchRest(slot, plan))
            };
        }
        self.decide_absent(request, access)
    }

    /// Decides about a request whose line is neither present nor in flight.
    fn decide_absent(&self, request: &MemRequest, access: Access) -> Result<Action, Blocked> {
        let wanted = if is_clean(request) {
            if self.refuses(request, access) {
                return Ok(Action::Ignore);
            }
            0
        } else {
            self.wanted(request, access, 0)
        };
        if let Some(have) = self.store.victim_words(access.line) {
            let wanted = wanted & !have;
            let plan = if wanted == 0 {
                self.hit_room(request)?;
                Plan::default()
            } else {
                let plan = self.plan(request, access, None, wanted, have);
                self.miss_room(access, self.store.misses.pieces(plan.words))?;
                plan
            };
            let slot = self.victim_room(access, self.store.misses.pieces(plan.words))?;
            return Ok(Action::Restore(slot, plan));
        }
        if wanted == 0 {
            if self.store.lookup.overtakes(access) {
                return Err(Blocked::LineBusy);
            }
            let victim = self.victim_room(access, 0)?;
            return self.hit_room(request).map(|()| Action::WriteNew(victim));
        }
        let plan = self.plan(request, access, None, wanted, 0);
        let requests = self.store.misses.pieces(plan.words);
        self.miss_room(access, requests)?;
        let slot = self.fetch_room(access, &plan, requests)?;
        Ok(Action::Fetch(slot, plan))
    }

    /// Tells whether a policy refuses a clean copy-back whose line is absent.
    #[cold]
    fn refuses(&self, request: &MemRequest, access: Access) -> bool {
        let hooks = &self.store.hooks;
        let event = hooks.look_up(request, access, None);
        hooks.has_policies() && !hooks.policies.decide_miss(&event).insert
    }

    /// The slot that a fetched line reserves, if it reserves one.
    fn fetch_room(
        &self,
        access: Access,
        plan: &Plan,
        requests: u32,
    ) -> Result<Option<Slot>, Blocked> {
        if self.rules.allocates_on_fill() || !plan.decision.insert {
            return Ok(None);
        }
        self.victim_room(access, requests).map(Some)
    }

    /// Decides about a request whose line is in flight.
    fn decide_join(
        &self,
        request: &MemRequest,
        access: Access,
        slot: Option<Slot>,
        mshr: Id,
    ) -> Result<Action, Blocked> {
        let lookup = &self.store.lookup;
        let entry = lookup.entry(mshr);
        let here = slot.map_or(entry.progress.words, |slot| lookup.tags().state(slot).valid);
        let wanted = self.wanted(request, access, here | entry.stored);
        if let (0, Some(slot), false) = (wanted, slot, lookup.mshrs().has_waiters(mshr)) {
            // Only sectors that it does not need are still under way.
            return self.hit_room(request).map(|()| Action::Hit(slot));
        }
        if !lookup.mshrs().can_join(mshr) {
            return Err(Blocked::Merges);
        }
        let wanted = wanted & !entry.requested.words;
        if wanted != 0 {
            let misses = &self.store.misses;
            misses.room(misses.pieces(wanted), 0)?;
        }
        Ok(Action::Join(mshr, wanted))
    }

    /// Decides about a store that goes through.
    fn decide_through(
        &self,
        request: &MemRequest,
        access: Access,
        found: Found,
    ) -> Result<Action, Blocked> {
        let (lookup, misses) = (&self.store.lookup, &self.store.misses);
        let Found { slot, mshr } = found;
        let posted = !request.kind.wants_response();
        let absent = slot.is_none() && mshr.is_none();
        if posted || absent && !self.rules.allocates_writes() {
            return self.decide_pass(request, access, found).map(Action::Pass);
        }
        if lookup.passing().is_full() {
            return Err(Blocked::PassTable);
        }
        let down = misses.pieces(access.words);
        if let Some(mshr) = mshr {
            if misses.cutter().splits_replies() {
                return Err(Blocked::LineBusy);
            }
            if !lookup.mshrs().can_join(mshr) {
                return Err(Blocked::Merges);
            }
            misses.room(down, 0)?;
            return Ok(Action::Through(Through::Join(mshr)));
        }
        if let Some(slot) = slot {
            self.miss_room(access, down)?;
            return Ok(Action::Through(Through::Hit(slot)));
        }
        if self.store.is_victim(access.line) {
            return self.decide_pass(request, access, found).map(Action::Pass);
        }
        let sectors = lookup.layout().sectors(access.words);
        let plan = self.plan(request, access, None, sectors, 0);
        let requests = misses.pieces(plan.words) + down;
        self.miss_room(access, requests)?;
        let slot = self.fetch_room(access, &plan, requests)?;
        Ok(Action::Through(Through::Fetch(slot, plan)))
    }

    /// Decides about a request that is handed down.
    fn decide_pass(
        &self,
        request: &MemRequest,
        access: Access,
        found: Found,
    ) -> Result<PassEffect, Blocked> {
        let (lookup, misses) = (&self.store.lookup, &self.store.misses);
        let Found { slot, mshr } = found;
        if request.kind.wants_response() && lookup.passing().is_full() {
            return Err(Blocked::PassTable);
        }
        let dirty = slot.map_or(0, |slot| lookup.tags().state(slot).dirty);
        let splits_replies = misses.cutter().splits_replies();
        if let Some(mshr) = mshr
            && (lookup.entry(mshr).has_stores() || dirty != 0 || splits_replies)
        {
            return Err(Blocked::LineBusy);
        }
        if splits_replies {
            let mut others = lookup.layout().other_partitions(access.line);
            if self.mixes_replies(request, access)
                || others.any(|other| lookup.mshrs().find(other).is_some())
            {
                return Err(Blocked::LineBusy);
            }
        }
        let copy_back = if dirty == 0 { 0 } else { misses.pieces(dirty) };
        misses.room(misses.pieces(access.words), copy_back)?;
        // Reads too: a copy left in place could answer a later request first.
        Ok(match (mshr, slot) {
            (Some(mshr), _) => PassEffect::Close(mshr),
            (None, Some(slot)) => PassEffect::Drop(slot),
            (None, None) => PassEffect::Nothing,
        })
    }

    /// Returns true if the reply to a passed-on request could overtake that of an earlier request
    /// for its line. Different parts of a line are answered in any order. Requests for the same
    /// part are answered in order.
    fn mixes_replies(&self, request: &MemRequest, access: Access) -> bool {
        let cutter = self.store.misses.cutter();
        let part = cutter.only_reply(request);
        let mut passing = self.store.lookup.passing_of(access.line);
        passing.any(|passed| part.is_none() || cutter.only_reply(&passed.request) != part)
            || self.store.lookup.mshrs().holds_closed(access.line)
    }

    /// Returns the words to fetch for a request, given the words that the line already has.
    #[inline]
    fn wanted(&self, request: &MemRequest, access: Access, have: u32) -> u32 {
        let layout = self.store.lookup.layout();
        self.rules.wanted(layout, request.kind, access.words, have)
    }

    /// The fetch for a miss that lacks `wanted` words of a line that has others.
    #[inline]
    fn plan(
        &self,
        request: &MemRequest,
        access: Access,
        slot: Option<Slot>,
        wanted: u32,
        have: u32,
    ) -> Plan {
        let hooks = &self.store.hooks;
        if !hooks.has_policies() {
            return Plan {
                words: wanted,
                decision: MissDecision::default(),
            };
        }
        let decision = hooks
            .policies
            .decide_miss(&hooks.look_up(request, access, slot));
        let layout = self.store.lookup.layout();
        Plan {
            words: wanted | layout.sectors(decision.fetch & layout.full()) & !have,
            decision,
        }
    }

    #[inline]
    fn hit_room(&self, request: &MemRequest) -> Result<(), Blocked> {
        if self.hits.has_room() || !request.kind.wants_response() {
            Ok(())
        } else {
            Err(Blocked::Responses)
        }
    }

    #[inline]
    fn miss_room(&self, access: Access, requests: u32) -> Result<(), Blocked> {
        let lookup = &self.store.lookup;
        if lookup.mshrs().is_full() {
            return Err(Blocked::Mshrs);
        }
        let misses = &self.store.misses;
        // Pieces of a line come in any order, so what was handed down before must be answered.
        if misses.cutter().splits_replies() && lookup.overtakes(access) {
            return Err(Blocked::LineBusy);
        }
        misses.room(requests, 0)
    }

    /// The slot that a new line would take, if the miss queue has room for its copy-back and
    /// `requests` more.
    pub(super) fn victim_room(&self, access: Access, requests: u32) -> Result<Slot, Blocked> {
        let slot = self.store.lookup.tags().victim_in(access.set);
        let slot = slot.ok_or(Blocked::Ways)?;
        let copy_back = self.store.copy_back_pieces(slot);
        self.store.misses.room(requests, copy_back)?;
        Ok(slot)
    }
}
