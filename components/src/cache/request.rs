//! What is to be done with the request at the head of the input, or what it lacks.

use warpweave_framework::{Context, Cycle, Id};

use super::refusal::Refusal;
use super::spec::{AllocatePolicy, AtomicPolicy, PartialWrite, PartitionBy, WritePolicy};
use super::statistics::Blocked;
use super::tag_array::Slot;
use super::{Cache, LONGER_LINE, is_clean, stores};
use crate::cache::policy::{LookUp, MissDecision};
use crate::memory::{Level, MemRequest, RequestKind, flags};

/// A request in terms of this cache's lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Address of the line, with the part of the cache in its low bits.
    pub(super) line: u64,
    pub(super) set: u32,
    pub(super) words: u32,
}

/// What is to be done with a request whose resources are there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Answer from the line; a copy-back from above is just taken.
    Hit(Slot),
    /// Put the written words into a new line.
    WriteNew(Slot),
    /// Wait with others for a line in flight, asking for these words of it too.
    Join(Id, u32),
    /// Fetch missing words of a line that is present.
    FetchRest(Slot, Plan),
    /// Fetch a line, into this place if one is reserved.
    Fetch(Option<Slot>, Plan),
    /// Take the line back from the victim cache into this place and fetch what it lacks.
    Restore(Slot, Plan),
    /// Store into a line that stays, and hand the store down.
    Through(Through),
    /// Hand it down.
    Pass(PassEffect),
    /// Nothing: the data of a clean copy-back are here or on their way.
    Ignore,
}

/// Where a store finds its line when it goes through.
#[derive(Clone, Copy, Debug)]
pub(super) enum Through {
    /// In flight.
    Join(Id),
    /// Present.
    Hit(Slot),
    /// Absent; it is fetched, into this place if one is reserved.
    Fetch(Option<Slot>, Plan),
}

/// What is fetched, and what the policies said about it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    /// Words asked of the level below.
    pub(super) words: u32,
    pub(super) decision: MissDecision,
}

/// What a passing request does to the copy of its line.
#[derive(Clone, Copy, Debug)]
pub(super) enum PassEffect {
    Nothing,
    Drop(Slot),
    /// The fill of this MSHR is not installed.
    Close(Id),
}

impl Cache {
    /// Accepts the request at the head of the input unless something it needs is missing. Returns
    /// whether it did.
    pub(super) fn accept(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        let Some(request) = self.up.request.peek(ctx) else {
            return false;
        };
        if self.command_pending(ctx) {
            self.refusal = Refusal::Unknown;
            self.stats.blocked.set(now, Some(Blocked::Invalidation));
            return false;
        }
        if self.is_still_refused(request, now) {
            return false;
        }
        let mut part = None;
        let head = self.head(request, &mut part);
        let Some((request, access)) = head.and_then(|head| Some((head, self.access(head)?))) else {
            ctx.fail(format!("cache: {request:?} {LONGER_LINE}"));
            return false;
        };
        match self.decide(request, access, now) {
            Ok(action) => {
                self.refusal = Refusal::Unknown;
                self.stats.blocked.set(now, None);
                let request = self.take_head(ctx);
                self.perform(&request, access, action, now);
                true
            }
            Err(reason) => {
                self.refusal = self.refuse(request, access, reason);
                self.stats.blocked.set(now, Some(reason));
                false
            }
        }
    }

    /// The request in terms of this cache's lines, none if it leaves a line.
    #[inline]
    pub(super) fn access(&self, request: &MemRequest) -> Option<Access> {
        let address = request.line & !self.offset_mask;
        let first = (request.line - address) / 4;
        let words = u64::from(request.words) << first;
        let line = match &self.spec.halves {
            None => address,
            Some(halves) => {
                let number = match halves.by {
                    PartitionBy::WorkGroup => request.source.work_group,
                    PartitionBy::WavefrontSlots { consecutive } => {
                        u32::from(request.source.wavefront_slot) / u32::from(consecutive)
                    }
                    PartitionBy::WorkGroupSlots => u32::from(request.source.work_group_slot),
                };
                address | u64::from(number % halves.count)
            }
        };
        (words & !u64::from(self.full) == 0).then(|| Access {
            line,
            set: self.tags.set_of(line),
            words: words as u32,
        })
    }

    /// What to do with a request, or what it lacks. Changes nothing.
    #[inline]
    pub(super) fn decide(
        &self,
        request: &MemRequest,
        access: Access,
        now: Cycle,
    ) -> Result<Action, Blocked> {
        if let Some(banks) = &self.spec.banks
            && self.bank_free[(access.set % banks.count) as usize] > now
        {
            return Err(Blocked::Bank);
        }
        let slot = self.tags.find_in(access.set, access.line);
        let entry = match slot {
            Some(slot) => self.tags.state(slot).mshr(),
            None => self.mshrs.find(access.line),
        };
        if is_clean(request) && (slot.is_some() || entry.is_some() || self.overtakes(access)) {
            return Ok(Action::Ignore);
        }
        if self.passes(request) {
            return self
                .decide_pass(request, access, slot, entry)
                .map(Action::Pass);
        }
        if self.goes_through && stores(request.kind) && !is_clean(request) {
            return self.decide_through(request, access, slot, entry);
        }
        if let Some(entry) = entry {
            return self.decide_join(request, access, slot, entry);
        }
        if let Some(slot) = slot {
            let wanted = self.wanted(request.kind, access.words, self.tags.state(slot).valid);
            return if wanted == 0 {
                self.hit_room(request).map(|()| Action::Hit(slot))
            } else {
                let have = self.tags.state(slot).valid;
                let plan = self.plan(request, access, Some(slot), wanted, have);
                self.miss_room(access, self.pieces(plan.words))?;
                Ok(Action::FetchRest(slot, plan))
            };
        }
        self.decide_absent(request, access)
    }

    /// Of a request whose line is neither present nor in flight.
    fn decide_absent(&self, request: &MemRequest, access: Access) -> Result<Action, Blocked> {
        let clean = is_clean(request);
        let wanted = if clean {
            0
        } else {
            self.wanted(request.kind, access.words, 0)
        };
        if let Some(have) = self.victims.as_ref().and_then(|v| v.words(access.line)) {
            let wanted = wanted & !have;
            let plan = if wanted == 0 {
                self.hit_room(request)?;
                Plan::default()
            } else {
                let plan = self.plan(request, access, None, wanted, have);
                self.miss_room(access, self.pieces(plan.words))?;
                plan
            };
            let slot = self.victim_room(access, self.pieces(plan.words))?;
            return Ok(Action::Restore(slot, plan));
        }
        if wanted == 0 {
            if self.overtakes(access) {
                return Err(Blocked::LineBusy);
            }
            let victim = self.victim_room(access, 0)?;
            return self.hit_room(request).map(|()| Action::WriteNew(victim));
        }
        let plan = self.plan(request, access, None, wanted, 0);
        let requests = self.pieces(plan.words);
        self.miss_room(access, requests)?;
        let place = self.fetch_room(access, &plan, requests)?;
        Ok(Action::Fetch(place, plan))
    }

    /// The place that a fetched line reserves, if it reserves one.
    fn fetch_room(
        &self,
        access: Access,
        plan: &Plan,
        requests: u32,
    ) -> Result<Option<Slot>, Blocked> {
        if self.spec.allocate == AllocatePolicy::OnFill || !plan.decision.insert {
            return Ok(None);
        }
        self.victim_room(access, requests).map(Some)
    }

    /// Of a request whose line is in flight.
    fn decide_join(
        &self,
        request: &MemRequest,
        access: Access,
        slot: Option<Slot>,
        mshr: Id,
    ) -> Result<Action, Blocked> {
        let entry = self.mshrs.get(mshr).expect("the id came from the file");
        let have =
            slot.map_or(entry.progress.words, |slot| self.tags.state(slot).valid) | entry.stored;
        let wanted = self.wanted(request.kind, access.words, have);
        if let (0, Some(slot), false) = (wanted, slot, self.mshrs.has_waiters(mshr)) {
            // Only sectors that it does not need are still under way.
            return self.hit_room(request).map(|()| Action::Hit(slot));
        }
        if !self.mshrs.can_join(mshr) {
            return Err(Blocked::Merges);
        }
        let wanted = wanted & !entry.requested;
        if wanted != 0 {
            self.queue_room(self.pieces(wanted), 0)?;
        }
        Ok(Action::Join(mshr, wanted))
    }

    /// Of a store that goes through.
    fn decide_through(
        &self,
        request: &MemRequest,
        access: Access,
        slot: Option<Slot>,
        entry: Option<Id>,
    ) -> Result<Action, Blocked> {
        let posted = !request.kind.wants_response();
        let absent = slot.is_none() && entry.is_none();
        if posted || absent && !self.spec.allocates_writes() {
            return self
                .decide_pass(request, access, slot, entry)
                .map(Action::Pass);
        }
        if self.passing.is_full() {
            return Err(Blocked::PassTable);
        }
        let down = self.pieces(access.words);
        if let Some(mshr) = entry {
            if self.in_parts {
                return Err(Blocked::LineBusy);
            }
            if !self.mshrs.can_join(mshr) {
                return Err(Blocked::Merges);
            }
            self.queue_room(down, 0)?;
            return Ok(Action::Through(Through::Join(mshr)));
        }
        if let Some(slot) = slot {
            self.miss_room(access, down)?;
            return Ok(Action::Through(Through::Hit(slot)));
        }
        if self.victims.as_ref().is_some_and(|v| v.holds(access.line)) {
            return self
                .decide_pass(request, access, None, None)
                .map(Action::Pass);
        }
        let plan = self.plan(request, access, None, self.sectors(access.words), 0);
        let requests = self.pieces(plan.words) + down;
        self.miss_room(access, requests)?;
        let place = self.fetch_room(access, &plan, requests)?;
        Ok(Action::Through(Through::Fetch(place, plan)))
    }

    /// Of a request that is handed down.
    fn decide_pass(
        &self,
        request: &MemRequest,
        access: Access,
        slot: Option<Slot>,
        entry: Option<Id>,
    ) -> Result<PassEffect, Blocked> {
        if request.kind.wants_response() && self.passing.is_full() {
            return Err(Blocked::PassTable);
        }
        let dirty = slot.map_or(0, |slot| self.tags.state(slot).dirty);
        if let Some(mshr) = entry {
            let entry = self.mshrs.get(mshr).expect("the id came from the file");
            if entry.has_stores() || dirty != 0 || self.in_parts {
                return Err(Blocked::LineBusy);
            }
        }
        if self.in_parts
            && (self.mixes_parts(request, access)
                || self
                    .other_partitions(access.line)
                    .any(|l| self.mshrs.find(l).is_some()))
        {
            return Err(Blocked::LineBusy);
        }
        let copy_back = if dirty == 0 { 0 } else { self.pieces(dirty) };
        self.queue_room(self.pieces(access.words), copy_back)?;
        // Reads too: a copy left in place could answer a later request first.
        Ok(match (entry, slot) {
            (Some(entry), _) => PassEffect::Close(entry),
            (None, Some(slot)) => PassEffect::Drop(slot),
            (None, None) => PassEffect::Nothing,
        })
    }

    /// Whether the request is handed down instead of being served here.
    #[inline]
    pub(super) fn passes(&self, request: &MemRequest) -> bool {
        if self.bypasses(request) {
            return true;
        }
        match request.kind {
            RequestKind::Read | RequestKind::Prefetch => false,
            RequestKind::Atomic => self.spec.atomics == AtomicPolicy::Forward,
            RequestKind::CopyBack if is_clean(request) => false,
            RequestKind::Write | RequestKind::CopyBack => match self.spec.write {
                WritePolicy::WriteEvict => true,
                WritePolicy::WriteThrough => false,
                WritePolicy::WriteBack { .. } => self.passes_absent(request),
            },
        }
    }

    /// Whether the request asked not to be served here.
    #[inline]
    pub(super) fn bypasses(&self, request: &MemRequest) -> bool {
        request.flags & flags::BYPASS_L1 != 0 && self.level == Level::L1
    }

    /// Whether a store is handed down by a write-back cache because its line is absent.
    fn passes_absent(&self, request: &MemRequest) -> bool {
        !self.allocates_writes
            && self.access(request).is_some_and(|access| {
                self.tags.find_in(access.set, access.line).is_none()
                    && self.mshrs.find(access.line).is_none()
            })
    }

    /// The words to fetch for a request, of those that the line does not have.
    #[inline]
    pub(super) fn wanted(&self, kind: RequestKind, words: u32, have: u32) -> u32 {
        if !stores(kind) {
            let missing = words & !have;
            return if missing == 0 {
                0
            } else {
                self.sectors(missing) & !have
            };
        }
        match self.spec.write {
            WritePolicy::WriteBack {
                partial: PartialWrite::Fetch,
            } => {
                // Sectors that the request covers need no fetch.
                let after = words | have;
                let cut_off = self.sectors(words) & !after;
                self.sectors(cut_off) & !have
            }
            _ => 0,
        }
    }

    /// The words of every sector that one of these words is in.
    #[inline]
    pub(super) fn sectors(&self, words: u32) -> u32 {
        if words == 0 || self.sector_words == self.full {
            return if words == 0 { 0 } else { self.full };
        }
        let step = self.sector_words.count_ones();
        let mut all = 0;
        let mut rest = words;
        while rest != 0 {
            let sector = self.sector_words << (rest.trailing_zeros() / step * step);
            all |= sector;
            rest &= !sector;
        }
        all
    }

    /// Number of requests into which these words are cut for the level below.
    #[inline]
    pub(super) fn pieces(&self, words: u32) -> u32 {
        if !self.cut {
            return u32::from(words != 0);
        }
        let step = self.spec.below_line() / 4;
        let piece = u32::MAX >> (32 - step);
        (0..32 / step)
            .filter(|n| words >> (n * step) & piece != 0)
            .count() as u32
    }

    /// What policies hear of a request.
    #[inline]
    pub(super) fn look_up<'a>(
        &self,
        request: &'a MemRequest,
        access: Access,
        slot: Option<Slot>,
    ) -> LookUp<'a> {
        let Access { line, set, words } = access;
        LookUp {
            request,
            line,
            words,
            slot,
            set,
            global_set: self.site.global_set(line, set),
        }
    }

    /// What is fetched for a miss that lacks these words of a line that has others.
    #[inline]
    fn plan(
        &self,
        request: &MemRequest,
        access: Access,
        slot: Option<Slot>,
        wanted: u32,
        have: u32,
    ) -> Plan {
        if self.policies.is_empty() {
            return Plan {
                words: wanted,
                decision: MissDecision::default(),
            };
        }
        let decision = self
            .policies
            .decide_miss(&self.look_up(request, access, slot));
        Plan {
            words: wanted | self.sectors(decision.fetch & self.full) & !have,
            decision,
        }
    }

    /// The same line in the other parts of the cache.
    pub(super) fn other_partitions(&self, line: u64) -> impl Iterator<Item = u64> + use<> {
        let (address, parts) = (line & !self.offset_mask, u64::from(self.spec.partitions()));
        (address..address + parts).filter(move |other| *other != line)
    }

    /// Whether an answer given now would overtake requests for the line that were handed down, or
    /// readers that those overtook.
    pub(super) fn overtakes(&self, access: Access) -> bool {
        self.passing
            .holds(access.line & !self.offset_mask, self.spec.line_bytes)
            || self.mshrs.holds_closed(access.line)
    }

    /// Whether the answer to a request that is handed down may come before that to one for its line that was: parts of a
    /// line are answered in any order, but requests for one part in theirs.
    fn mixes_parts(&self, request: &MemRequest, access: Access) -> bool {
        let part = self.only_part(request);
        let (line, bytes) = (access.line & !self.offset_mask, self.spec.line_bytes);
        let mut passing = self.passing.of_line(line, bytes);
        passing.any(|passed| part.is_none() || self.only_part(&passed.request) != part)
            || self.mshrs.holds_closed(access.line)
    }

    /// Address of the part that answers a request, if that is one part.
    fn only_part(&self, request: &MemRequest) -> Option<u64> {
        let part_words = self.spec.answer_bytes() / 4;
        let first = request.words.trailing_zeros() / part_words * part_words;
        let is_one = u64::from(request.words) >> first >> part_words == 0;
        is_one.then(|| request.line + u64::from(first * 4))
    }

    #[inline]
    fn hit_room(&self, request: &MemRequest) -> Result<(), Blocked> {
        if self.hits.len() < self.hits_max || !request.kind.wants_response() {
            Ok(())
        } else {
            Err(Blocked::Responses)
        }
    }

    /// Whether the miss queue has room for so many requests and for the pieces of a copy-back.
    #[inline]
    pub(super) fn queue_room(&self, requests: u32, copy_back: u32) -> Result<(), Blocked> {
        let entries = self.spec.miss_queue_entries as usize;
        let used = match &self.copy_backs {
            None => self.misses.len() + copy_back as usize,
            Some(buffer) if copy_back != 0 && !buffer.has_room() => return Err(Blocked::CopyBacks),
            Some(buffer) => self.misses.len() - buffer.requests(),
        };
        if used + requests as usize <= entries {
            Ok(())
        } else {
            Err(Blocked::MissQueue)
        }
    }

    fn miss_room(&self, access: Access, requests: u32) -> Result<(), Blocked> {
        if self.mshrs.is_full() {
            return Err(Blocked::Mshrs);
        }
        // Pieces of a line come in any order, so what was handed down before must be answered.
        if self.in_parts && self.overtakes(access) {
            return Err(Blocked::LineBusy);
        }
        self.queue_room(requests, 0)
    }

    /// The way a new line would take, if the miss queue has room for its copy-back and `requests`
    /// more.
    pub(super) fn victim_room(&self, access: Access, requests: u32) -> Result<Slot, Blocked> {
        let slot = self.tags.victim_in(access.set).ok_or(Blocked::Ways)?;
        let dirty = self.tags.state(slot).dirty;
        let copy_back = if self.hands_down && self.tags.line(slot).is_some() {
            self.spec.cuts()
        } else {
            self.pieces(dirty)
        };
        self.queue_room(requests, copy_back)?;
        Ok(slot)
    }
}
