//! Carrying out what was decided about a request.

use warpweave_framework::{Cycle, Id};

use super::mshr_file::Waiter;
use super::policy::{Cause, Eviction, Swap};
use super::request::{Access, Action, PassEffect, Plan, Through};
use super::spec::WritePolicy;
use super::statistics::Outcome;
use super::tag_array::Slot;
use super::victim_cache::Victim;
use super::{Cache, is_clean, modifies, stores};
use crate::memory::{MemRequest, MemResponse, RequestKind, Source};

/// A request that was accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepted<'a> {
    pub(super) request: &'a MemRequest,
    pub(super) access: Access,
    pub(super) now: Cycle,
}

/// How a request joins an MSHR.
#[derive(Clone, Copy, Debug)]
struct Role {
    /// It missed.
    primary: bool,
    /// Words asked of the level below on its behalf.
    asked: u32,
    /// Number of its acknowledgement, 0 if it needs none.
    needs_ack: u32,
}

impl Role {
    fn joins(asked: u32) -> Self {
        Self {
            primary: false,
            asked,
            needs_ack: 0,
        }
    }
}

impl Cache {
    #[inline]
    pub(super) fn perform(
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
        if self.spec.banks.is_some() {
            self.occupy_bank(access.set, now);
        }
        if self.is_watched {
            self.tell_access(accepted, action);
        }
        match action {
            Action::Hit(slot) => {
                self.stats.count(kind, Outcome::Hit);
                self.tags.touch(slot);
                self.answer_hit(accepted, slot, 0);
            }
            Action::WriteNew(slot) => {
                self.stats.count(kind, Outcome::Miss);
                self.evict(slot, now);
                self.occupy(slot, access.line, request.source);
                if self.is_watched {
                    let store = self.look_up(request, access, Some(slot));
                    self.policies.on_new_line(&store, now);
                }
                self.answer_hit(accepted, slot, 0);
            }
            Action::Join(mshr, wanted) => {
                self.stats.count(kind, Outcome::HitReserved);
                if let Some(slot) = self.mshrs.entry_mut(mshr).slot {
                    self.tags.touch(slot);
                }
                if wanted != 0 {
                    self.stats.further_sectors += 1;
                    self.ask(mshr, request, wanted, 0, now);
                }
                let role = Role::joins(wanted);
                self.join(mshr, accepted, role);
            }
            Action::FetchRest(slot, plan) => {
                self.stats.count(kind, Outcome::Miss);
                self.stats.partial_misses += 1;
                self.tags.touch(slot);
                self.fetch(accepted, Some(slot), plan);
            }
            Action::Fetch(slot, plan) => {
                self.stats.count(kind, Outcome::Miss);
                self.reserve(slot, accepted);
                self.fetch(accepted, slot, plan);
            }
            Action::Restore(slot, plan) => self.restore(accepted, slot, plan),
            Action::Through(through) => self.store_through(accepted, through),
            Action::Pass(effect) => self.pass(accepted, effect),
            Action::Ignore => self.stats.count(kind, Outcome::Hit),
        }
    }

    pub(super) fn occupy_bank(&mut self, set: u32, now: Cycle) {
        if let Some(banks) = &self.spec.banks {
            let free = &mut self.bank_free[(set % banks.count) as usize];
            *free = now.max(*free) + Cycle::from(banks.busy_cycles);
        }
    }

    #[inline(never)]
    fn tell_access(&mut self, accepted: &Accepted<'_>, action: Action) {
        let Access { set, line, .. } = accepted.access;
        let slot = self.tags.find_in(set, line);
        let event = self.look_up(accepted.request, accepted.access, slot);
        let now = accepted.now;
        match action {
            Action::Pass(_) => return self.policies.on_pass(&event, now),
            Action::Ignore => return self.policies.on_ignored(&event, now),
            _ => {}
        }
        let hit = matches!(action, Action::Hit(_));
        self.policies.on_access(&event, hit, now);
        let prefetches = !self.prefetches.is_empty();
        if prefetches {
            self.use_prefetched(slot, line);
            self.prefetches.on_access(&self.site, &event, hit, now);
        }
        if let Action::Fetch(_, plan)
        | Action::FetchRest(_, plan)
        | Action::Through(Through::Fetch(_, plan)) = action
        {
            self.stats.bypassed += u64::from(slot.is_none() && !plan.decision.insert);
            self.policies.on_miss(&event, plan.decision, now);
            if prefetches {
                self.prefetches
                    .on_miss(&self.site, &event, plan.decision, now);
            }
        }
    }

    /// Serves a request from its line, `extra` cycles later than usual, and puts the answer into the
    /// hit pipeline.
    #[inline]
    fn answer_hit(&mut self, accepted: &Accepted<'_>, slot: Slot, extra: u32) {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let state = self.tags.state_mut(slot);
        if modifies(request.kind) {
            state.valid |= access.words;
            state.write_sequence = state.write_sequence.max(request.write_sequence);
            if !is_clean(request) {
                state.dirty |= access.words;
            }
        }
        let (mshr, write_sequence) = (state.mshr(), state.write_sequence);
        if let (Some(mshr), true) = (mshr, modifies(request.kind)) {
            self.store_in_flight(mshr, request, access.words);
        }
        if !request.kind.wants_response() {
            return;
        }
        let mut response = MemResponse {
            write_sequence,
            ..request.answer(self.level)
        };
        if !self.policies.is_empty() {
            self.tell_response(accepted, slot, &mut response);
        }
        let turn = now + Cycle::from(self.latency(request.kind) + extra);
        self.last_hit = self.last_hit.max(turn);
        self.hits.push_back((self.last_hit, response));
        if let Some(mshr) = mshr {
            // Requests that join later must not overtake this one.
            self.mshrs.entry_mut(mshr).ready = self.last_hit;
        }
    }

    /// Tells an MSHR what a hit stores into the part of its line that is present.
    fn store_in_flight(&mut self, mshr: Id, request: &MemRequest, words: u32) {
        let entry = self.mshrs.entry_mut(mshr);
        entry.stored |= words;
        entry.dirty |= words;
        entry.write_sequence = entry.write_sequence.max(request.write_sequence);
    }

    /// Lets the policies see, and add to, the answer of a hit.
    fn tell_response(&mut self, accepted: &Accepted<'_>, slot: Slot, response: &mut MemResponse) {
        let event = self.look_up(accepted.request, accepted.access, Some(slot));
        let decision = self.policies.decide_response(&event);
        response.flags |= decision.flags;
        self.policies.on_response(accepted.request, accepted.now);
        let state = *self.tags.state(slot);
        if decision.drop && state.dirty == 0 && state.mshr().is_none() {
            self.tell_eviction(slot, accepted.access.line, Cause::Dropped, accepted.now);
            self.tags.clear(slot);
        }
    }

    pub(super) fn tell_eviction(&mut self, slot: Slot, line: u64, cause: Cause, now: Cycle) {
        if self.is_watched {
            let eviction = self.eviction(slot, line, cause);
            self.policies.on_evict(&eviction, now);
            self.prefetches.on_evict(&self.site, &eviction, now);
        }
    }

    /// What policies hear of a line that leaves.
    fn eviction(&self, slot: Slot, line: u64, cause: Cause) -> Eviction {
        let set = slot.index() as u32 / self.site.ways;
        Eviction {
            line,
            slot,
            state: *self.tags.state(slot),
            cause,
            owner: self.owners[slot.index()],
            set,
            global_set: self.site.global_set(line, set),
        }
    }

    /// Cycles from acceptance to answer of a hit of this kind.
    #[inline]
    fn latency(&self, kind: RequestKind) -> u32 {
        self.spec.hit_latency_cycles
            + if kind == RequestKind::Atomic {
                self.spec.atomic_latency_cycles()
            } else {
                0
            }
    }

    /// Makes room in `slot`: its line goes into the victim cache, or leaves.
    pub(super) fn evict(&mut self, slot: Slot, now: Cycle) {
        let Some(line) = self.tags.line(slot) else {
            return;
        };
        self.stats.evictions += 1;
        let victim = Victim {
            line,
            state: *self.tags.state(slot),
            hand_down: self.hand_down(slot, line),
            owner: self.owners[slot.index()],
        };
        self.tell_eviction(slot, line, Cause::Replaced, now);
        match &mut self.victims {
            Some(victims) => {
                if let Some(displaced) = victims.insert(victim) {
                    self.send_victim(&displaced, now);
                }
            }
            None => self.send_victim(&victim, now),
        }
    }

    /// Flags with which a clean victim is sent down, if it is.
    pub(super) fn hand_down(&self, slot: Slot, line: u64) -> Option<u16> {
        if !self.hands_down {
            return None;
        }
        let eviction = self.eviction(slot, line, Cause::Replaced);
        let decision = self.policies.decide_evict(&eviction);
        decision.hand_down.then_some(decision.flags)
    }

    /// Puts a line into a place that was made free.
    #[inline]
    pub(super) fn occupy(&mut self, slot: Slot, line: u64, owner: Source) {
        self.tags.occupy(slot, line);
        if self.owners.is_empty() {
            self.make_owners();
        }
        self.owners[slot.index()] = owner;
    }

    /// Gives a place, if there is one, to the line of a request.
    pub(super) fn reserve(&mut self, slot: Option<Slot>, accepted: &Accepted<'_>) {
        if let Some(slot) = slot {
            self.evict(slot, accepted.now);
            self.occupy(slot, accepted.access.line, accepted.request.source);
        }
    }

    /// Swaps the line of a request with the one in `slot`, and answers from it or fetches the rest.
    fn restore(&mut self, accepted: &Accepted<'_>, slot: Slot, plan: Plan) {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let victims = self.victims.as_mut().expect("the line was seen there");
        let back = victims.take(access.line).expect("the line was seen there");
        let displaced = self.tags.line(slot);
        self.evict(slot, now);
        self.occupy(slot, access.line, back.owner);
        *self.tags.state_mut(slot) = back.state;
        if !self.policies.is_empty() {
            let swap = Swap {
                line: access.line,
                slot,
                state: back.state,
                owner: back.owner,
                displaced,
                set: access.set,
                global_set: self.site.global_set(access.line, access.set),
            };
            self.policies.on_swap(&swap, now);
        }
        self.stats.victim_hits += 1;
        if plan.words == 0 {
            self.stats.count(request.kind, Outcome::Hit);
            self.answer_hit(accepted, slot, self.spec.victim_latency_cycles());
        } else {
            self.stats.count(request.kind, Outcome::Miss);
            self.stats.partial_misses += 1;
            self.fetch(accepted, Some(slot), plan);
        }
    }

    /// Opens an MSHR for the line. Its answers leave no earlier than a hit accepted now would.
    pub(super) fn open(&mut self, accepted: &Accepted<'_>, slot: Option<Slot>, plan: Plan) -> Id {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let mshr = self.mshrs.allocate(access.line);
        self.stats.mshrs.add(now, 1);
        let ready = self
            .last_hit
            .max(now + Cycle::from(self.spec.hit_latency_cycles));
        let entry = self.mshrs.entry_mut(mshr);
        entry.slot = slot;
        entry.keep = slot.is_some() || plan.decision.insert;
        entry.source = request.source;
        entry.ready = ready;
        if let Some(slot) = slot {
            self.tags.lock(slot, mshr);
            entry.write_sequence = self.tags.state(slot).write_sequence;
        }
        if plan.words != 0 {
            self.ask(mshr, request, plan.words, plan.decision.flags, now);
        }
        mshr
    }

    /// Opens an MSHR for the line and asks for what is missing of it.
    fn fetch(&mut self, accepted: &Accepted<'_>, slot: Option<Slot>, plan: Plan) {
        let mshr = self.open(accepted, slot, plan);
        let role = Role {
            primary: true,
            ..Role::joins(plan.words)
        };
        self.join(mshr, accepted, role);
    }

    /// Asks the level below for words of the line of an MSHR.
    fn ask(&mut self, mshr: Id, request: &MemRequest, words: u32, flags: u16, now: Cycle) {
        let kind = match request.kind {
            RequestKind::Prefetch => RequestKind::Prefetch,
            _ => RequestKind::Read,
        };
        let entry = self.mshrs.entry_mut(mshr);
        entry.requested |= words;
        let fetch = MemRequest {
            line: entry.line & !self.offset_mask,
            words,
            kind,
            write_sequence: 0,
            flags: request.flags | flags,
            ..*request
        };
        let (ids, unit_words) = (self.downstream_ids, self.unit_words);
        self.send_cut(&fetch, |word| ids.for_mshr(mshr, word / unit_words), now);
    }

    /// Adds a request to those that wait for a line, or for its earlier waiters to be answered.
    fn join(&mut self, mshr: Id, accepted: &Accepted<'_>, role: Role) {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let through = role.needs_ack != 0;
        let entry = self.mshrs.entry_mut(mshr);
        let present = entry.slot.map_or(0, |slot| self.tags.state(slot).valid) | entry.stored;
        let needs = if stores(request.kind) {
            role.asked
        } else {
            let more = if self.waits_for_lines {
                entry.requested
            } else {
                0
            };
            // Words that came are part of a fill whose latency may not be over.
            (access.words | more) & (!present | entry.progress.words)
        };
        if modifies(request.kind) {
            entry.stored |= access.words;
            entry.write_sequence = entry.write_sequence.max(request.write_sequence);
            if !through {
                entry.dirty |= access.words;
            }
            // What came before is answered from the fill; the line has been brought up to date.
            if let (Some(slot), true) = (
                entry.slot,
                entry.progress.words != 0 || entry.requested == 0,
            ) {
                let state = self.tags.state_mut(slot);
                state.valid |= access.words;
                if !through {
                    state.dirty |= access.words;
                }
                state.write_sequence = state.write_sequence.max(request.write_sequence);
            }
        }
        let waiter = Waiter {
            request: *request,
            accepted: now,
            write_sequence: entry.write_sequence,
            needs,
            needs_ack: role.needs_ack,
            primary: role.primary,
        };
        self.mshrs.join(mshr, waiter);
        if self.mshrs.entry_mut(mshr).replies == 0 {
            // Everything it needs may have come, and all earlier waiters may have been answered.
            let ready = now + Cycle::from(self.spec.hit_latency_cycles);
            self.queue_fill_reply(mshr, ready);
        }
    }

    /// Stores into a line that stays here, and hands the store down.
    fn store_through(&mut self, accepted: &Accepted<'_>, through: Through) {
        let (mshr, primary, outcome) = match through {
            Through::Join(mshr) => (mshr, false, Outcome::HitReserved),
            Through::Hit(slot) => {
                self.tags.touch(slot);
                let mshr = self.open(accepted, Some(slot), Plan::default());
                (mshr, false, Outcome::Hit)
            }
            Through::Fetch(slot, plan) => {
                self.reserve(slot, accepted);
                let mshr = self.open(accepted, slot, plan);
                (mshr, true, Outcome::Miss)
            }
        };
        self.stats.count(accepted.request.kind, outcome);
        let entry = self.mshrs.entry_mut(mshr);
        entry.acks_expected += 1;
        let role = Role {
            primary,
            asked: 0,
            needs_ack: entry.acks_expected,
        };
        self.join(mshr, accepted, role);
        self.hand_on(accepted, Some(mshr));
    }

    /// Hands a request down.
    fn pass(&mut self, accepted: &Accepted<'_>, effect: PassEffect) {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let writes = stores(request.kind)
            && (self.spec.write == WritePolicy::WriteEvict || !self.bypasses(request));
        let outcome = match effect {
            _ if !writes => Outcome::Passed,
            PassEffect::Nothing => Outcome::Miss,
            PassEffect::Drop(_) => Outcome::Hit,
            PassEffect::Close(_) => Outcome::HitReserved,
        };
        self.stats.count(request.kind, outcome);
        match effect {
            PassEffect::Nothing => {}
            PassEffect::Drop(slot) => self.drop_copy(slot, access.line, now),
            PassEffect::Close(mshr) => self.close(mshr, now),
        }
        for other in self.other_partitions(access.line) {
            if let Some(slot) = self.tags.find(other) {
                match self.tags.state(slot).mshr() {
                    Some(mshr) => self.close(mshr, now),
                    None => self.drop_copy(slot, other, now),
                }
            } else if let Some(mshr) = self.mshrs.find(other) {
                self.close(mshr, now);
            }
            if let Some(victims) = &mut self.victims {
                victims.take(other);
            }
        }
        if let Some(victims) = &mut self.victims {
            victims.take(access.line);
        }
        self.hand_on(accepted, None);
    }

    /// Drops the copy of a line; what is newer than below goes there first.
    fn drop_copy(&mut self, slot: Slot, line: u64, now: Cycle) {
        let state = *self.tags.state(slot);
        self.stats.write_evictions += 1;
        self.tell_eviction(slot, line, Cause::Passed, now);
        let owner = self.owners[slot.index()];
        self.copy_back(line, state.dirty, state.write_sequence, owner, now);
        self.tags.clear(slot);
    }

    /// Keeps the line of an MSHR from being installed and from being joined.
    fn close(&mut self, mshr: Id, now: Cycle) {
        self.mshrs.close(mshr);
        let entry = self.mshrs.entry_mut(mshr);
        if let Some(slot) = entry.slot.take() {
            let line = entry.line;
            self.stats.write_evictions += 1;
            self.tell_eviction(slot, line, Cause::Passed, now);
            self.tags.clear(slot);
        }
    }
}
