//! Lines coming and going: the look-up core with the stages that see a line enter and leave.
//!
//! ```text
//!   reserve, install ──► Lookup ──► evicted line ──► hooks ──► victim cache ──► miss queue
//!                                                    └─────── no victim cache ──────┘
//! ```

use warpweave_framework::{Cycle, Id, State};

use super::access::{Accepted, Access};
use super::banks::BankSet;
use super::hooks::Hooks;
use super::lookup::Lookup;
use super::miss_queue::MissQueue;
use super::mshr_file::Entry;
use super::policy::{Cause, Eviction, Fill, Swap};
use super::statistics::LineCounts;
use super::tag_array::{LineState, Slot};
use super::victim_cache::{Victim, VictimCache};
use crate::memory::{MemRequest, MemResponse, RequestKind, Source, flags};

/// The core and the stages around it.
#[derive(State)]
pub(super) struct LineStore {
    #[state(flatten)]
    pub(super) lookup: Lookup,
    #[state(flatten)]
    pub(super) hooks: Hooks,
    #[state(part)]
    pub(super) victims: Option<VictimCache>,
    #[state(part)]
    pub(super) banks: Option<BankSet>,
    #[state(part)]
    pub(super) misses: MissQueue,
    pub(super) counts: LineCounts,
}

impl LineStore {
    /// Occupies the bank of a set, if there are banks.
    #[inline]
    pub(super) fn occupy_bank(&mut self, set: u32, now: Cycle) {
        if let Some(banks) = &mut self.banks {
            banks.occupy(set, now);
        }
    }

    /// The words of a line that are in the victim cache, if it is there.
    #[inline]
    pub(super) fn victim_words(&self, line: u64) -> Option<u32> {
        self.victims.as_ref()?.words(line)
    }

    /// Tells whether the victim cache holds a line.
    #[inline]
    pub(super) fn is_victim(&self, line: u64) -> bool {
        self.victims.as_ref().is_some_and(|v| v.holds(line))
    }

    /// Cycles that a hit in the victim cache takes beyond one in the cache.
    pub(super) fn victim_latency(&self) -> u32 {
        self.victims.as_ref().map_or(0, VictimCache::latency_cycles)
    }

    /// Drops a line from the victim cache.
    pub(super) fn forget_victim(&mut self, line: u64) {
        if let Some(victims) = &mut self.victims {
            victims.take(line);
        }
    }

    fn eviction(&self, slot: Slot, line: u64, cause: Cause) -> Eviction {
        let (state, owner) = (*self.lookup.tags().state(slot), self.lookup.owner(slot));
        self.hooks.eviction(slot, line, state, owner, cause)
    }

    /// Tells the hooks that the line of a slot leaves.
    pub(super) fn report_eviction(&mut self, slot: Slot, line: u64, cause: Cause, now: Cycle) {
        if !self.hooks.is_empty() {
            let eviction = self.eviction(slot, line, cause);
            self.hooks.on_evict(&eviction, now);
        }
    }

    /// The line of a slot as one that leaves.
    pub(super) fn victim(&self, slot: Slot) -> Option<Victim> {
        let line = self.lookup.tags().line(slot)?;
        Some(Victim {
            line,
            state: *self.lookup.tags().state(slot),
            hand_down: self.hand_down(slot, line),
            owner: self.lookup.owner(slot),
        })
    }

    /// Flags with which the line of a slot is sent down when it leaves clean; none if it is not.
    fn hand_down(&self, slot: Slot, line: u64) -> Option<u16> {
        if !self.hooks.hands_down() {
            return None;
        }
        let eviction = self.eviction(slot, line, Cause::Replaced);
        self.hooks.decide_evict(&eviction)
    }

    /// Evicts the line in `slot`: it moves to the victim cache or leaves.
    pub(super) fn evict(&mut self, slot: Slot, now: Cycle) {
        let Some(victim) = self.victim(slot) else {
            return;
        };
        self.counts.evictions += 1;
        self.report_eviction(slot, victim.line, Cause::Replaced, now);
        match &mut self.victims {
            Some(victims) => {
                if let Some(displaced) = victims.insert(victim) {
                    self.send_victim(&displaced, now);
                }
            }
            None => self.send_victim(&victim, now),
        }
    }

    /// Gives a slot, if there is one, to the line of a request.
    pub(super) fn reserve(&mut self, slot: Option<Slot>, accepted: &Accepted<'_>) {
        if let Some(slot) = slot {
            self.evict(slot, accepted.now);
            let (line, source) = (accepted.access.line, accepted.request.source);
            self.lookup.occupy(slot, line, source);
        }
    }

    /// Swaps a line that is in the victim cache with the one in `slot`.
    pub(super) fn swap(&mut self, slot: Slot, access: Access, now: Cycle) {
        let victims = self
            .victims
            .as_mut()
            .expect("a lookup found the line in the victim cache");
        let back = victims
            .take(access.line)
            .expect("a lookup found the line in the victim cache");
        let displaced = self.lookup.tags().line(slot);
        self.evict(slot, now);
        self.lookup
            .restore(slot, access.line, back.owner, back.state);
        if self.hooks.has_policies() {
            let swap = Swap {
                line: access.line,
                slot,
                state: back.state,
                owner: back.owner,
                displaced,
                set: access.set,
                global_set: self.hooks.site().global_set(access.line, access.set),
            };
            self.hooks.policies.on_swap(&swap, now);
        }
        self.counts.victim_hits += 1;
    }

    /// Most pieces of the copy-back that evicting the line of a slot causes.
    pub(super) fn copy_back_pieces(&self, slot: Slot) -> u32 {
        if self.hooks.hands_down() && self.lookup.tags().line(slot).is_some() {
            self.misses.cutter().pieces_max()
        } else {
            self.misses.pieces(self.lookup.tags().state(slot).dirty)
        }
    }

    /// Drops the copy of a line, after sending its dirty words downstream.
    pub(super) fn drop_copy(&mut self, slot: Slot, line: u64, now: Cycle) {
        let state = *self.lookup.tags().state(slot);
        self.counts.write_evictions += 1;
        self.report_eviction(slot, line, Cause::Passed, now);
        let owner = self.lookup.owner(slot);
        self.copy_back(line, state.dirty, state.write_sequence, owner, now);
        self.lookup.clear(slot);
    }

    /// Closes an MSHR: its line is not installed and accepts no further requests.
    pub(super) fn close(&mut self, mshr: Id, now: Cycle) {
        if let Some((slot, line)) = self.lookup.close(mshr) {
            self.counts.write_evictions += 1;
            self.report_eviction(slot, line, Cause::Passed, now);
            self.lookup.clear(slot);
        }
    }

    /// Takes a line out of a slot whose way goes out of use.
    pub(super) fn take_out(&mut self, slot: Slot, line: u64, now: Cycle) {
        self.report_eviction(slot, line, Cause::Invalidated, now);
        self.lookup.clear(slot);
        self.counts.lines_invalidated += 1;
    }

    pub(super) fn invalidate(&mut self, now: Cycle) {
        self.counts.invalidations += 1;
        let mut dropped = self.victims.as_mut().map_or(0, VictimCache::clear);
        let hooks = &mut self.hooks;
        self.lookup.drop_clean(|slot, line, state, owner| {
            dropped += 1;
            if !hooks.is_empty() {
                let eviction = hooks.eviction(slot, line, state, owner, Cause::Invalidated);
                hooks.on_evict(&eviction, now);
            }
        });
        self.counts.lines_invalidated += dropped;
    }

    /// Settles where a line that came has its place, and puts it there.
    pub(super) fn place_fill(
        &mut self,
        mshr: Id,
        entry: &Entry,
        words: u32,
        response: &MemResponse,
        now: Cycle,
    ) -> Option<Slot> {
        let mut slot = entry.slot;
        if slot.is_none() && entry.is_open() && entry.keep {
            slot = self.lookup.victim_for(entry.line);
        }
        if self.hooks.is_empty() {
            self.install(mshr, entry, slot, now);
            return slot;
        }
        let mut event = self.fill_event(entry, slot);
        event.words = words;
        event.flags = response.flags;
        let state = entry.slot.map(|slot| self.lookup.tags().state(slot));
        let bound = state.is_some_and(|state| state.dirty != 0) || entry.has_stores();
        if slot.is_some() && !bound && !self.hooks.policies.keeps(&event) {
            self.lookup.uninstall(mshr, entry.slot);
            slot = None;
            event.slot = None;
        }
        if slot.is_some() && (entry.slot.is_none() || event.first) {
            self.counts.lines_installed += 1;
        }
        self.install(mshr, entry, slot, now);
        self.hooks.on_fill(&event, now);
        slot
    }

    /// A line that comes, as policies see it, before its words and flags are known.
    fn fill_event(&self, entry: &Entry, slot: Option<Slot>) -> Fill {
        let tags = self.lookup.tags();
        let set = tags.set_of(entry.line);
        Fill {
            prefetched: entry.prefetched,
            closed: !entry.is_open(),
            set,
            global_set: self.hooks.site().global_set(entry.line, set),
            line: entry.line,
            words: 0,
            first: entry.progress.words == 0
                && entry.slot.is_none_or(|slot| tags.state(slot).valid == 0),
            source: entry.source,
            flags: 0,
            slot,
            victim: match (entry.slot, slot) {
                (None, Some(slot)) => tags.line(slot),
                _ => None,
            },
        }
    }

    /// Puts a line into its slot unless it has one already.
    fn install(&mut self, mshr: Id, entry: &Entry, slot: Option<Slot>, now: Cycle) {
        if let (None, Some(slot)) = (entry.slot, slot) {
            self.evict(slot, now);
            self.lookup.install(mshr, slot, entry.line, entry.source);
        }
    }

    /// Counts what was prefetched of a line that a request wants as used.
    pub(super) fn use_prefetched(&mut self, slot: Option<Slot>, line: u64) {
        let mshr = match slot {
            Some(slot) => self.lookup.tags().state(slot).mshr(),
            None => self.lookup.mshrs().find(line),
        };
        if let Some(mshr) = mshr
            && self.lookup.take_prefetched(mshr)
        {
            self.hooks.prefetches.is_late();
        }
        if let Some(slot) = slot {
            self.hooks.prefetches.is_used(slot);
        }
    }

    /// Sends the words of an evicted line that the next level must receive.
    fn send_victim(&mut self, victim: &Victim, now: Cycle) {
        let Victim {
            line, state, owner, ..
        } = *victim;
        self.copy_back(line, state.dirty, state.write_sequence, owner, now);
        if let (Some(more_flags), 0, 1..) = (victim.hand_down, state.dirty, state.valid) {
            self.hand_line_down(line, &state, owner, more_flags, now);
        }
    }

    /// Queues the clean words of a line for the level below.
    fn hand_line_down(
        &mut self,
        line: u64,
        state: &LineState,
        owner: Source,
        more_flags: u16,
        now: Cycle,
    ) {
        self.counts.clean_victims_sent += 1;
        let line = self.lookup.layout().address(line);
        let request = MemRequest {
            kind: RequestKind::CopyBack,
            flags: flags::CLEAN | more_flags,
            source: owner,
            write_sequence: state.write_sequence,
            ..MemRequest::read(0, line, state.valid)
        };
        self.misses.copy_back(&request, now);
    }

    /// Queues words of a line, if there are some, that are newer than below.
    pub(super) fn copy_back(
        &mut self,
        line: u64,
        words: u32,
        write_sequence: u32,
        owner: Source,
        now: Cycle,
    ) {
        if words != 0 {
            self.counts.copy_backs += 1;
            let line = self.lookup.layout().address(line);
            let request = MemRequest {
                kind: RequestKind::CopyBack,
                source: owner,
                write_sequence,
                ..MemRequest::read(0, line, words)
            };
            self.misses.copy_back(&request, now);
        }
    }

    /// Copies lines requested by policies back to the next level while there is room. Returns true
    /// if at least one was sent.
    #[inline(never)]
    pub(super) fn send_policy_copy_backs(&mut self, now: Cycle) -> bool {
        let mut sent = false;
        let mut requested = std::mem::take(&mut self.hooks.policies.outbox.copy_backs);
        for (line, flags) in requested.drain(..) {
            if self.send_while_it_stays(line, flags, now) {
                sent = true;
            } else {
                self.hooks.policies.outbox.copy_backs_dropped += 1;
            }
        }
        self.hooks.policies.outbox.copy_backs = requested;
        sent
    }

    /// Sends the dirty words of a line, or the clean ones if there are flags for them.
    fn send_while_it_stays(&mut self, line: u64, clean_flags: Option<u16>, now: Cycle) -> bool {
        let Some(slot) = self.lookup.tags().find(line) else {
            return false;
        };
        let (state, owner) = (*self.lookup.tags().state(slot), self.lookup.owner(slot));
        let words = match (state.dirty, clean_flags) {
            (0, Some(_)) => state.valid,
            (dirty, _) => dirty,
        };
        let room = self.misses.room(0, self.misses.pieces(words));
        if words == 0 || state.mshr().is_some() || room.is_err() {
            return false;
        }
        if state.dirty != 0 {
            self.lookup.clean(slot);
            self.copy_back(line, state.dirty, state.write_sequence, owner, now);
        } else if let Some(flags) = clean_flags {
            self.hand_line_down(line, &state, owner, flags, now);
        }
        true
    }
}
