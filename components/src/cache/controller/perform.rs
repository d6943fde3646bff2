//! Execution of the action decided for a request.

use warpweave_framework::{Cycle, Id};

use super::Controller;
use super::action::{Action, PassEffect, Plan, Through};
use crate::cache::access::{Accepted, Access};
use crate::cache::lookup::JoinRole;
use crate::cache::policy::Cause;
use crate::cache::statistics::Outcome;
use crate::cache::tag_array::Slot;
use crate::memory::{MemRequest, MemResponse, RequestKind};

impl Controller {
    #[inline]
    pub(in crate::cache) fn perform(
        &mut self,
        request: &MemRequest,
        access: Access,
        action: Action,
        now: Cycle,
    ) {
        let accepted = &Accepted {
            request,
            access,
            now,
        };
        let kind = request.kind;
        self.store.occupy_bank(access.set, now);
        if !self.store.hooks.is_empty() {
            self.report_access(accepted, action);
        }
        if self.rules.has_sectors() {
            self.sectors.count(&self.store, accepted, action);
        }
        match action {
            Action::Hit(slot) => {
                self.counts.count(kind, Outcome::Hit);
                self.store.lookup.touch(slot);
                self.answer_hit(accepted, slot, 0);
            }
            Action::WriteNew(slot) => {
                self.counts.count(kind, Outcome::Miss);
                self.store.reserve(Some(slot), accepted);
                let hooks = &mut self.store.hooks;
                if !hooks.is_empty() {
                    let store = hooks.look_up(request, access, Some(slot));
                    hooks.policies.on_new_line(&store, now);
                    self.store.counts.lines_installed += 1;
                }
                self.answer_hit(accepted, slot, 0);
            }
            Action::Join(mshr, wanted) => {
                self.counts.count(kind, Outcome::HitReserved);
                if let Some(slot) = self.store.lookup.entry(mshr).slot {
                    self.store.lookup.touch(slot);
                }
                if wanted != 0 {
                    self.counts.sector_merges += 1;
                    self.request_words(mshr, request, wanted, 0, now);
                }
                self.join(mshr, accepted, JoinRole::secondary(wanted));
            }
            Action::FetchRest(slot, plan) => {
                self.counts.count(kind, Outcome::Miss);
                self.counts.partial_misses += 1;
                self.store.lookup.touch(slot);
                self.fetch(accepted, Some(slot), plan);
            }
            Action::Fetch(slot, plan) => {
                self.counts.count(kind, Outcome::Miss);
                self.store.reserve(slot, accepted);
                self.fetch(accepted, slot, plan);
            }
            Action::Restore(slot, plan) => self.restore(accepted, slot, plan),
            Action::Through(through) => self.store_through(accepted, through),
            Action::Pass(effect) => self.pass(accepted, effect),
            Action::Ignore => {
                self.counts.count(kind, Outcome::Hit);
                self.ignore(access);
            }
        }
    }

    #[inline(never)]
    fn report_access(&mut self, accepted: &Accepted<'_>, action: Action) {
        let Access { set, line, .. } = accepted.access;
        let slot = self.store.lookup.tags().find_in(set, line);
        let hooks = &mut self.store.hooks;
        let event = hooks.look_up(accepted.request, accepted.access, slot);
        let now = accepted.now;
        match action {
            Action::Pass(_) => return hooks.policies.on_pass(&event, now),
            Action::Ignore => return hooks.policies.on_ignored(&event, now),
            _ => {}
        }
        if hooks.has_prefetchers() {
            self.store.use_prefetched(slot, line);
        }
        let hit = matches!(action, Action::Hit(_));
        self.store.hooks.on_access(&event, hit, now);
        if let Action::Fetch(_, plan)
        | Action::FetchRest(_, plan)
        | Action::Through(Through::Fetch(_, plan)) = action
        {
            self.counts.bypassed += u64::from(slot.is_none() && !plan.decision.insert);
            self.store.hooks.on_miss(&event, plan.decision, now);
        }
    }

    /// Ignores a clean copy-back, which is a use of the line that it finds.
    #[inline(never)]
    fn ignore(&mut self, access: Access) {
        self.counts.copy_backs_ignored += 1;
        if let Some(slot) = self.store.lookup.find(access).slot {
            self.store.lookup.touch(slot);
        }
    }

    /// Serves a request from its line, `extra` cycles later than usual, and enters the response
    /// into the hit pipeline.
    #[inline]
    fn answer_hit(&mut self, accepted: &Accepted<'_>, slot: Slot, extra: u32) {
        let Accepted { request, now, .. } = *accepted;
        let (mshr, write_sequence) = self.store.lookup.serve(slot, accepted);
        if !request.kind.wants_response() {
            return;
        }
        let mut response = MemResponse {
            write_sequence,
            ..request.answer(self.rules.level())
        };
        if self.store.hooks.has_policies() {
            self.report_response(accepted, slot, &mut response);
        }
        let turn = self.hits.push(response, extra, now);
        if let Some(mshr) = mshr {
            // Requests that join later must not overtake this one.
            self.store.lookup.hold_answers(mshr, turn);
        }
    }

    /// Notifies policies of a hit response, which they may extend.
    fn report_response(&mut self, accepted: &Accepted<'_>, slot: Slot, response: &mut MemResponse) {
        let hooks = &mut self.store.hooks;
        let event = hooks.look_up(accepted.request, accepted.access, Some(slot));
        let decision = hooks.policies.decide_response(&event);
        response.flags |= decision.flags;
        hooks.policies.on_response(accepted.request, accepted.now);
        let state = self.store.lookup.tags().state(slot);
        if decision.drop && state.dirty == 0 && state.mshr().is_none() {
            let (line, now) = (accepted.access.line, accepted.now);
            self.store.report_eviction(slot, line, Cause::Dropped, now);
            self.store.lookup.clear(slot);
        }
    }

    /// Swaps the line of a request from the victim cache with the one in `slot`. Then answers the
    /// request from it or fetches the missing words.
    fn restore(&mut self, accepted: &Accepted<'_>, slot: Slot, plan: Plan) {
        self.store.swap(slot, accepted.access, accepted.now);
        let kind = accepted.request.kind;
        if plan.words == 0 {
            self.counts.count(kind, Outcome::Hit);
            let extra = self.store.victim_latency();
            self.answer_hit(accepted, slot, extra);
        } else {
            self.counts.count(kind, Outcome::Miss);
            self.counts.partial_misses += 1;
            self.fetch(accepted, Some(slot), plan);
        }
    }

    /// Opens an MSHR for the line and requests what is missing of it. Its answers leave no earlier
    /// than a hit accepted now would.
    pub(super) fn open(&mut self, accepted: &Accepted<'_>, slot: Option<Slot>, plan: Plan) -> Id {
        let ready = self.hits.not_before(accepted.now);
        let keep = plan.decision.insert;
        let mshr = self.store.lookup.open(accepted, slot, keep, ready);
        if plan.words != 0 {
            let Plan { words, decision } = plan;
            self.request_words(mshr, accepted.request, words, decision.flags, accepted.now);
        }
        mshr
    }

    /// Opens an MSHR for the line, requests what is missing of it, and waits for that.
    fn fetch(&mut self, accepted: &Accepted<'_>, slot: Option<Slot>, plan: Plan) {
        let mshr = self.open(accepted, slot, plan);
        let role = JoinRole {
            primary: true,
            ..JoinRole::secondary(plan.words)
        };
        self.join(mshr, accepted, role);
    }

    /// Requests words of the line of an MSHR from the level below.
    fn request_words(
        &mut self,
        mshr: Id,
        request: &MemRequest,
        words: u32,
        flags: u16,
        now: Cycle,
    ) {
        if self.rules.has_sectors() {
            let fetched = self.store.lookup.layout().sector_count(words);
            self.sectors.sectors_fetched += u64::from(fetched);
        }
        let kind = match request.kind {
            RequestKind::Prefetch => RequestKind::Prefetch,
            _ => RequestKind::Read,
        };
        let (line, flags) = self.store.lookup.request(mshr, words, flags);
        let fetch = MemRequest {
            line,
            words,
            kind,
            write_sequence: 0,
            flags: request.flags | flags,
            ..*request
        };
        self.store.misses.fetch(mshr, &fetch, now);
    }

    /// Adds a request to the waiters of a line, to be answered after the data and the earlier
    /// waiters.
    fn join(&mut self, mshr: Id, accepted: &Accepted<'_>, role: JoinRole) {
        if self.store.lookup.join(mshr, accepted, role) {
            // Everything it needs may have come, and all earlier waiters may have been answered.
            let ready = self.hits.after_latency(accepted.now);
            self.replies.queue_fill(&mut self.store.lookup, mshr, ready);
        }
    }

    /// Stores into a line that stays here, and forwards the store.
    fn store_through(&mut self, accepted: &Accepted<'_>, through: Through) {
        let (mshr, primary, outcome) = match through {
            Through::Join(mshr) => (mshr, false, Outcome::HitReserved),
            Through::Hit(slot) => {
                self.store.lookup.touch(slot);
                let mshr = self.open(accepted, Some(slot), Plan::default());
                (mshr, false, Outcome::Hit)
            }
            Through::Fetch(slot, plan) => {
                self.store.reserve(slot, accepted);
                let mshr = self.open(accepted, slot, plan);
                (mshr, true, Outcome::Miss)
            }
        };
        self.counts.count(accepted.request.kind, outcome);
        let role = JoinRole {
            primary,
            requested: 0,
            needs_ack: self.store.lookup.expect_ack(mshr),
        };
        self.join(mshr, accepted, role);
        self.hand_on(accepted, Some(mshr));
    }

    /// Forwards a request to the next level.
    fn pass(&mut self, accepted: &Accepted<'_>, effect: PassEffect) {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let outcome = match effect {
            _ if !self.rules.counts_as_write(request) => Outcome::Passed,
            PassEffect::Nothing => Outcome::Miss,
            PassEffect::Drop(_) => Outcome::Hit,
            PassEffect::Close(_) => Outcome::HitReserved,
        };
        self.counts.count(request.kind, outcome);
        let store = &mut self.store;
        match effect {
            PassEffect::Nothing => {}
            PassEffect::Drop(slot) => store.drop_copy(slot, access.line, now),
            PassEffect::Close(mshr) => store.close(mshr, now),
        }
        for other in store.lookup.layout().other_partitions(access.line) {
            if let Some(slot) = store.lookup.tags().find(other) {
                match store.lookup.tags().state(slot).mshr() {
                    Some(mshr) => store.close(mshr, now),
                    None => store.drop_copy(slot, other, now),
                }
            } else if let Some(mshr) = store.lookup.mshrs().find(other) {
                store.close(mshr, now);
            }
            store.forget_victim(other);
        }
        store.forget_victim(access.line);
        self.hand_on(accepted, None);
    }

    /// Queues a request as it is, with the id of its place in the pass table.
    fn hand_on(&mut self, accepted: &Accepted<'_>, joined: Option<Id>) {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let store = &mut self.store;
        let passing = request.kind.wants_response().then(|| {
            let ready = self.hits.not_before(now);
            store.lookup.pass(accepted, joined, ready)
        });
        let line = store.lookup.layout().address(access.line);
        store.misses.pass(accepted, line, passing);
    }
}
