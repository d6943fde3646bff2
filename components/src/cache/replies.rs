//! What comes from below, and the answers it allows.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, Id};

use super::copy_back_buffer::CopyBackBuffer;
use super::downstream_ids::IdOwner;
use super::mshr_file::{Entry, FillProgress};
use super::policy::Fill;
use super::tag_array::Slot;
use super::{Cache, stores};
use crate::memory::{MemResponse, RequestKind};

/// Something from below that allows answers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// Waiters of this MSHR, as far as what had come by then allows.
    Fill {
        mshr: Id,
        /// The first answer leaves no earlier.
        ready: Cycle,
        came: FillProgress,
    },
    /// This request of the table.
    Ack(Id),
}

impl Cache {
    /// Takes one fill or acknowledgement.
    pub(super) fn take_reply(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let came = self.down.response.pop(ctx);
        let next = if self.copy_backs.is_some() {
            self.next_held(came, now)
        } else {
            came
        };
        let Some(response) = next else {
            return;
        };
        let taken = match self.downstream_ids.owner(response.id) {
            IdOwner::Mshr(mshr, unit) => self.fill(mshr, unit, &response, now),
            IdOwner::Passing(passing) => self.acknowledge(passing, &response, now),
        };
        if !taken {
            ctx.fail(format!(
                "cache received a response that answers no request of its: {response:?}"
            ));
        }
    }

    /// What came first and waits for nothing, of what came from below until now.
    #[inline(never)]
    fn next_held(&mut self, came: Option<MemResponse>, now: Cycle) -> Option<MemResponse> {
        let buffer = self.copy_backs.as_mut()?;
        buffer.held.extend(came);
        let held = buffer.held.front().copied();
        let waits = held.is_some_and(|held| !self.may_take(&held));
        self.stats.fill_stalls.set(now, waits);
        if waits {
            return None;
        }
        self.copy_backs.as_mut()?.held.pop_front()
    }

    /// Whether what came from below waits for no room in the copy-back buffer.
    pub(super) fn may_take(&self, response: &MemResponse) -> bool {
        let has_room = |buffer: &CopyBackBuffer| buffer.has_room();
        self.copy_backs.as_ref().is_none_or(has_room) || !self.displaces(response)
    }

    /// Whether a fill takes the place of a line that would be copied back.
    fn displaces(&self, response: &MemResponse) -> bool {
        let IdOwner::Mshr(mshr, _) = self.downstream_ids.owner(response.id) else {
            return false;
        };
        let Some(entry) = self.mshrs.get(mshr) else {
            return false;
        };
        if entry.slot.is_some() || !entry.is_open() || !entry.keep {
            return false;
        }
        let victim = self.tags.victim_in(self.tags.set_of(entry.line));
        victim.is_some_and(|slot| {
            let leaves = self.hands_down && self.tags.line(slot).is_some();
            leaves || self.tags.state(slot).dirty != 0
        })
    }

    /// Gives back the MSHRs of lines without a place whose dirty words now have room.
    #[inline(never)]
    pub(super) fn finish_leaving(&mut self, now: Cycle) {
        while let Some(buffer) = &mut self.copy_backs
            && buffer.has_room()
            && let Some(mshr) = buffer.leaving.pop_front()
        {
            if self.mshrs.get(mshr).is_some() {
                self.finish(mshr, now);
            }
        }
    }

    /// The line of an MSHR, or a part of it, has come. False when it was not asked for.
    fn fill(&mut self, mshr: Id, unit: u32, response: &MemResponse, now: Cycle) -> bool {
        let address = response.line & !self.offset_mask;
        let words = response.words << ((response.line - address) / 4);
        let Some(&entry) = self.mshrs.get(mshr) else {
            return false;
        };
        let missing = entry.requested & !entry.progress.words;
        let came = words & missing;
        if entry.line & !self.offset_mask != address
            || came == 0
            || came.trailing_zeros() / self.unit_words != unit
            || self.whole && !self.in_parts && came != missing
        {
            return false;
        }
        self.stats.fills += 1;
        if self.spec.banks.is_some() {
            self.occupy_bank(self.tags.set_of(entry.line), now);
        }
        let slot = self.place_for(mshr, &entry, response.flags, came, now);
        let entry = self.mshrs.entry_mut(mshr);
        entry.slot = slot;
        entry.progress.words |= came;
        entry.progress.filled_by = Some(response.level);
        entry.progress.write_sequence = entry.progress.write_sequence.max(response.write_sequence);
        if let Some(slot) = slot {
            let state = self.tags.state_mut(slot);
            state.valid |= came | entry.stored;
            state.dirty |= entry.dirty;
            let sequence = entry.write_sequence.max(entry.progress.write_sequence);
            state.write_sequence = state.write_sequence.max(sequence);
        } else {
            self.stats.fills_not_installed += 1;
        }
        self.queue_fill_reply(mshr, now + Cycle::from(self.spec.fill_latency_cycles));
        self.finish(mshr, now);
        true
    }

    /// The place of a line that came: reserved, taken now, or none.
    fn place_for(
        &mut self,
        mshr: Id,
        entry: &Entry,
        flags: u16,
        came: u32,
        now: Cycle,
    ) -> Option<Slot> {
        let mut slot = entry.slot;
        if slot.is_none() && entry.is_open() && entry.keep {
            slot = self.tags.victim_in(self.tags.set_of(entry.line));
        }
        if self.is_watched {
            let set = self.tags.set_of(entry.line);
            let mut event = Fill {
                prefetched: entry.prefetched,
                set,
                global_set: self.site.global_set(entry.line, set),
                line: entry.line,
                words: came,
                first: entry.progress.words == 0
                    && entry
                        .slot
                        .is_none_or(|slot| self.tags.state(slot).valid == 0),
                source: entry.source,
                flags,
                slot,
                victim: match (entry.slot, slot) {
                    (None, Some(slot)) => self.tags.line(slot),
                    _ => None,
                },
            };
            let dirty = entry
                .slot
                .is_some_and(|slot| self.tags.state(slot).dirty != 0);
            let bound = dirty || entry.has_stores();
            if slot.is_some() && !bound && !self.policies.keeps(&event) {
                self.mshrs.entry_mut(mshr).keep = false;
                if let Some(slot) = entry.slot {
                    self.tags.clear(slot);
                }
                slot = None;
                event.slot = None;
            }
            self.take_place(mshr, entry, slot, now);
            self.policies.on_fill(&event, now);
            if !self.prefetches.is_empty() {
                self.prefetches.on_fill(&self.site, &event, now);
            }
            return slot;
        }
        self.take_place(mshr, entry, slot, now);
        slot
    }

    /// Puts a line into its place unless it has it already.
    fn take_place(&mut self, mshr: Id, entry: &Entry, slot: Option<Slot>, now: Cycle) {
        if let (None, Some(slot)) = (entry.slot, slot) {
            self.evict(slot, now);
            self.occupy(slot, entry.line, entry.source);
            self.tags.lock(slot, mshr);
        }
    }

    /// A request that was handed down, or a piece of it, is answered. False when it was not asked.
    fn acknowledge(&mut self, id: Id, response: &MemResponse, now: Cycle) -> bool {
        let ready = now + Cycle::from(self.spec.fill_latency_cycles);
        let address = response.line & !self.offset_mask;
        let words = response.words << ((response.line - address) / 4);
        let Some(passed) = self.passing.get_mut(id).filter(|passed| {
            passed.answer.is_none()
                && passed.request.line & !self.offset_mask == address
                && words & !passed.awaited == 0
        }) else {
            return false;
        };
        passed.awaited &= !words;
        passed.write_sequence = passed.write_sequence.max(response.write_sequence);
        if passed.awaited != 0 {
            return true;
        }
        passed.ready = passed.ready.max(ready);
        passed.answer = Some(MemResponse {
            write_sequence: passed.write_sequence,
            ..passed.request.answer(response.level)
        });
        if let Some(mshr) = passed.joined {
            self.passing.remove(id);
            let entry = self.mshrs.entry_mut(mshr);
            entry.progress.acks += 1;
            entry.progress.acked_by = Some(response.level);
            self.queue_fill_reply(mshr, ready);
            self.finish(mshr, now);
        } else {
            self.replies.push_back(Reply::Ack(id));
        }
        true
    }

    /// Queues a return that allows the answers of an MSHR as far as everything came by now, if it
    /// allows any.
    pub(super) fn queue_fill_reply(&mut self, mshr: Id, ready: Cycle) {
        let came = self.mshrs.entry_mut(mshr).progress;
        let front = self.mshrs.front(mshr);
        if front.is_some_and(|waiter| waiter.is_ready(&came)) {
            self.mshrs.entry_mut(mshr).replies += 1;
            self.replies.push_back(Reply::Fill { mshr, ready, came });
        }
    }

    /// Sends up what is due, oldest turn first. Returns when to try again, if time decides.
    pub(super) fn respond(&mut self, ctx: &mut Context<'_>, now: Cycle) -> Option<Cycle> {
        let mut left = self.spec.responses_per_cycle;
        loop {
            let hit = self.hits.front().map(|&(turn, _)| turn);
            let returned = self.reply_turn();
            let turn = match (hit, returned) {
                (Some(hit), Some(returned)) => hit.min(returned),
                (hit, returned) => hit.or(returned)?,
            };
            if turn > now || left == 0 {
                return Some(turn.max(now + 1));
            }
            if !self.up.response.can_send(ctx) {
                return None;
            }
            self.moves += 1;
            if hit == Some(turn) {
                let (_, mut response) = self.hits.pop_front().expect("its turn was just seen");
                self.name_above(&mut response);
                self.up.response.send(ctx, response);
                left -= 1;
            } else if let Some(mut response) = self.take_answer(now) {
                self.name_above(&mut response);
                self.up.response.send(ctx, response);
                left -= 1;
            }
        }
    }

    /// When the oldest return allows its next answer.
    #[inline]
    fn reply_turn(&self) -> Option<Cycle> {
        match *self.replies.front()? {
            Reply::Ack(id) => self.passing.get(id).map(|passed| passed.ready),
            Reply::Fill { mshr, ready, .. } => {
                let front = self.mshrs.front(mshr);
                let atomic = front.is_some_and(|w| w.request.kind == RequestKind::Atomic);
                let extra = if atomic {
                    self.spec.atomic_latency_cycles()
                } else {
                    0
                };
                // Hits may have come between this return and the request that it answers.
                let ready = self.mshrs.get(mshr).map_or(ready, |e| ready.max(e.ready));
                Some(ready + Cycle::from(extra))
            }
        }
    }

    /// Takes the next answer of the oldest return; none if that was a copy-back from above.
    fn take_answer(&mut self, now: Cycle) -> Option<MemResponse> {
        let (mshr, came) = match *self.replies.front()? {
            Reply::Fill { mshr, came, .. } => (mshr, came),
            Reply::Ack(id) => {
                self.replies.pop_front();
                self.settle(now);
                return self.passing.remove(id)?.answer;
            }
        };
        let waiter = self.mshrs.pop_front(mshr)?;
        let request = &waiter.request;
        if waiter.primary && request.kind == RequestKind::Read {
            self.stats.read_miss_latency.record(now - waiter.accepted);
        }
        let level = if stores(request.kind) {
            came.acked_by.filter(|_| waiter.needs_ack != 0)
        } else {
            came.filled_by
        };
        if !self.policies.is_empty() {
            self.policies.on_response(request, now);
        }
        self.settle(now);
        request.kind.wants_response().then(|| MemResponse {
            write_sequence: waiter.write_sequence.max(came.write_sequence),
            ..request.answer(level.unwrap_or(self.level))
        })
    }

    /// Removes the oldest returns as long as they allow no answer.
    fn settle(&mut self, now: Cycle) {
        while let Some(&Reply::Fill { mshr, came, .. }) = self.replies.front() {
            let front = self.mshrs.front(mshr);
            if front.is_some_and(|waiter| waiter.is_ready(&came)) {
                return;
            }
            self.replies.pop_front();
            let entry = self.mshrs.entry_mut(mshr);
            entry.replies -= 1;
            if entry.replies == 0 {
                // More may have come while nobody waited for it.
                self.queue_fill_reply(mshr, now);
            }
            self.finish(mshr, now);
        }
    }

    /// Gives back an MSHR when nothing more is to come or to be answered.
    fn finish(&mut self, mshr: Id, now: Cycle) {
        if !self.mshrs.is_finished(mshr) {
            return;
        }
        let entry = *self.mshrs.entry_mut(mshr);
        if entry.slot.is_none()
            && entry.dirty != 0
            && let Some(buffer) = &mut self.copy_backs
            && !buffer.has_room()
        {
            if !buffer.leaving.contains(&mshr) {
                buffer.leaving.push_back(mshr);
            }
            return;
        }
        if entry.prefetched {
            self.prefetches.is_over(entry.slot);
        }
        self.mshrs.release(mshr);
        self.stats.mshrs.sub(now, 1);
        if let Some(slot) = entry.slot {
            self.tags.unlock(slot);
        } else {
            let sequence = entry.write_sequence.max(entry.progress.write_sequence);
            self.copy_back(entry.line, entry.dirty, sequence, entry.source, now);
        }
    }
}
