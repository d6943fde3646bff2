//! Replies: what comes from the level below, and the answers that it allows.
//!
//! ```text
//!   down.response ─► (held: no room for a victim) ─► fill, acknowledgement ─► queue ─► answers
//! ```
//!
//! Fills that would cause a copy-back wait here while every entry of the copy-back buffer is taken,
//! with all that came after them. They do not wait on their wire: the level below may be unable to
//! take a copy-back until its answers are taken.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, Id, State};

use super::access::stores;
use super::blocked::WaitTime;
use super::downstream_ids::IdOwner;
use super::line_store::LineStore;
use super::lookup::{Acknowledged, Lookup};
use super::mshr_file::FillProgress;
use super::spec::CacheSpec;
use crate::memory::{Level, MemResponse, RequestKind};

/// A reply from the level below that allows answers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Reply {
    /// Replies to waiters of this MSHR, covering only the data that had arrived when the reply was
    /// queued.
    Fill {
        mshr: Id,
        /// Earliest cycle for the first response.
        ready: Cycle,
        progress: FillProgress,
    },
    /// The answer to this request of the pass table.
    Ack(Id),
}

/// Replies that wait for room in the copy-back buffer.
#[derive(Clone, Debug, Default, State)]
struct HeldReplies {
    /// Replies in order of arrival; the oldest waits for room.
    replies: VecDeque<MemResponse>,
    /// MSHRs of lines without a slot that have everything but room for their dirty words.
    leaving: VecDeque<Id>,
    stalls: WaitTime,
}

/// Replies that are not fully answered, in order of arrival.
#[derive(State)]
pub(super) struct ReplyQueue {
    queue: VecDeque<Reply>,
    /// Present beside a copy-back buffer.
    #[state(part)]
    held: Option<HeldReplies>,
    #[state(skip)]
    level: Level,
    #[state(skip)]
    fill_latency: Cycle,
    /// Latency of an atomic executed here.
    #[state(skip)]
    atomic_latency: Cycle,
    read_miss_latency: Histogram,
}

impl ReplyQueue {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        Self {
            queue: VecDeque::with_capacity((spec.mshr_entries + spec.pass_entries) as usize),
            held: spec.copy_back_entries.map(|_| HeldReplies::default()),
            level: (&spec.level).into(),
            fill_latency: Cycle::from(spec.fill_latency_cycles),
            atomic_latency: Cycle::from(spec.atomic_latency_cycles()),
            read_miss_latency: Histogram::default(),
        }
    }

    /// Tells whether every reply is fully answered.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Tells whether fills wait for room in the copy-back buffer.
    pub(super) fn holds_fills(&self) -> bool {
        self.held
            .as_ref()
            .is_some_and(|held| !held.replies.is_empty())
    }

    /// Cycles in which the oldest fill waited for room in the copy-back buffer.
    pub(super) fn stall_cycles(&self, now: Cycle) -> u64 {
        self.held.as_ref().map_or(0, |held| held.stalls.cycles(now))
    }

    /// Latency of the reads that missed, from acceptance to answer.
    pub(super) fn read_miss_latency(&self) -> &Histogram {
        &self.read_miss_latency
    }

    /// Takes what came in a cycle, or what was held and has room now.
    ///
    /// # Errors
    /// A response that answers no request of this cache.
    #[inline]
    pub(super) fn take(
        &mut self,
        store: &mut LineStore,
        came: Option<MemResponse>,
        now: Cycle,
    ) -> Result<(), MemResponse> {
        let next = if self.held.is_some() {
            self.finish_leaving(store, now);
            self.next_held(store, came, now)
        } else {
            came
        };
        let Some(response) = next else {
            return Ok(());
        };
        let expected = match store.misses.owner(response.id) {
            IdOwner::Mshr(mshr, unit) => self.fill(store, mshr, unit, &response, now),
            IdOwner::Passing(passing) => self.acknowledge(store, passing, &response, now),
        };
        if expected { Ok(()) } else { Err(response) }
    }

    /// Takes the oldest reply that has room for the line that it displaces.
    #[inline(never)]
    fn next_held(
        &mut self,
        store: &LineStore,
        came: Option<MemResponse>,
        now: Cycle,
    ) -> Option<MemResponse> {
        let held = self.held.as_mut()?;
        held.replies.extend(came);
        let oldest = held.replies.front();
        let waits = oldest.is_some_and(|oldest| !has_room(store, oldest));
        held.stalls.set(now, waits);
        if waits {
            return None;
        }
        held.replies.pop_front()
    }

    /// Tells whether something that was held can go on, or has become the oldest, whose waiting is
    /// counted from the next cycle on.
    pub(super) fn has_released(&self, store: &LineStore) -> bool {
        self.held.as_ref().is_some_and(|held| {
            let goes_on = |oldest| !held.stalls.is_waiting() || has_room(store, oldest);
            !held.leaving.is_empty() && store.misses.takes_copy_back()
                || held.replies.front().is_some_and(goes_on)
        })
    }

    /// Gives back the MSHRs of lines without a slot whose dirty words have room now.
    #[inline(never)]
    fn finish_leaving(&mut self, store: &mut LineStore, now: Cycle) {
        while let Some(held) = &mut self.held
            && store.misses.takes_copy_back()
            && let Some(mshr) = held.leaving.pop_front()
        {
            if store.lookup.mshrs().get(mshr).is_some() {
                self.finish(store, mshr, now);
            }
        }
    }

    /// Brings words to the line of an MSHR. False when they were not requested.
    fn fill(
        &mut self,
        store: &mut LineStore,
        mshr: Id,
        unit: u32,
        response: &MemResponse,
        now: Cycle,
    ) -> bool {
        let layout = store.lookup.layout();
        let address = layout.address(response.line);
        let words = layout.words_from(response.line, response.words);
        let Some(&entry) = store.lookup.mshrs().get(mshr) else {
            return false;
        };
        let missing = entry.requested.words & !entry.progress.words;
        let came = words & missing;
        if layout.address(entry.line) != address
            || !store.misses.cutter().is_reply(unit, came, missing)
        {
            return false;
        }
        store.counts.fills += 1;
        if store.banks.is_some() {
            let set = store.lookup.tags().set_of(entry.line);
            store.occupy_bank(set, now);
        }
        let slot = store.place_fill(mshr, &entry, came, response, now);
        store.lookup.fill(mshr, slot, came, response);
        store.counts.fills_not_installed += u64::from(slot.is_none());
        self.queue_fill(&mut store.lookup, mshr, now + self.fill_latency);
        self.finish(store, mshr, now);
        true
    }

    /// Answers a request that was handed down, or a piece of it. False when it was not outstanding.
    fn acknowledge(
        &mut self,
        store: &mut LineStore,
        id: Id,
        response: &MemResponse,
        now: Cycle,
    ) -> bool {
        let ready = now + self.fill_latency;
        match store.lookup.acknowledge(id, response, ready) {
            Acknowledged::Unexpected => return false,
            Acknowledged::Partly => {}
            Acknowledged::Passed => self.queue.push_back(Reply::Ack(id)),
            Acknowledged::Joined(mshr) => {
                self.queue_fill(&mut store.lookup, mshr, ready);
                self.finish(store, mshr, now);
            }
        }
        true
    }

    /// Queues a reply for those waiters of an MSHR that the data received so far can answer.
    pub(super) fn queue_fill(&mut self, lookup: &mut Lookup, mshr: Id, ready: Cycle) {
        if let Some(progress) = lookup.enter_reply(mshr) {
            self.queue.push_back(Reply::Fill {
                mshr,
                ready,
                progress,
            });
        }
    }

    /// The cycle in which the oldest reply allows its next answer.
    #[inline]
    pub(super) fn turn(&self, lookup: &Lookup) -> Option<Cycle> {
        match *self.queue.front()? {
            Reply::Ack(id) => lookup.passing().get(id).map(|passed| passed.ready),
            Reply::Fill { mshr, ready, .. } => {
                let front = lookup.mshrs().front(mshr);
                let atomic = front.is_some_and(|w| w.request.kind == RequestKind::Atomic);
                let extra = if atomic { self.atomic_latency } else { 0 };
                // Hits may have come between this reply and the request that it answers.
                let entry = lookup.mshrs().get(mshr);
                Some(entry.map_or(ready, |e| ready.max(e.ready)) + extra)
            }
        }
    }

    /// Takes the next answer of the oldest reply; none if that was a copy-back from above.
    pub(super) fn pop(&mut self, store: &mut LineStore, now: Cycle) -> Option<MemResponse> {
        let (mshr, progress) = match *self.queue.front()? {
            Reply::Fill { mshr, progress, .. } => (mshr, progress),
            Reply::Ack(id) => {
                self.queue.pop_front();
                self.settle(store, now);
                return store.lookup.take_passed(id);
            }
        };
        let Some(waiter) = store.lookup.take_waiter(mshr) else {
            self.settle(store, now);
            return None;
        };
        let request = &waiter.request;
        if waiter.primary && request.kind == RequestKind::Read {
            self.read_miss_latency.record(now - waiter.accepted);
        }
        let level = if stores(request.kind) {
            progress.acked_by.filter(|_| waiter.needs_ack != 0)
        } else {
            progress.filled_by
        };
        if store.hooks.has_policies() {
            store.hooks.policies.on_response(request, now);
        }
        self.settle(store, now);
        request.kind.wants_response().then(|| MemResponse {
            write_sequence: waiter.write_sequence.max(progress.write_sequence),
            ..request.answer(level.unwrap_or(self.level))
        })
    }

    /// Removes the oldest replies as long as they allow no answer.
    fn settle(&mut self, store: &mut LineStore, now: Cycle) {
        while let Some(&Reply::Fill { mshr, progress, .. }) = self.queue.front() {
            let front = store.lookup.mshrs().front(mshr);
            if front.is_some_and(|waiter| waiter.is_ready(&progress)) {
                return;
            }
            self.queue.pop_front();
            if store.lookup.leave_reply(mshr) {
                // More data may have arrived while there were no waiters.
                self.queue_fill(&mut store.lookup, mshr, now);
            }
            self.finish(store, mshr, now);
        }
    }

    /// Frees an MSHR that expects no more data and has no waiters.
    fn finish(&mut self, store: &mut LineStore, mshr: Id, now: Cycle) {
        if !store.lookup.mshrs().is_finished(mshr) {
            return;
        }
        let entry = *store.lookup.entry(mshr);
        if entry.slot.is_none()
            && entry.dirty != 0
            && let Some(held) = &mut self.held
            && !store.misses.takes_copy_back()
        {
            if !held.leaving.contains(&mshr) {
                held.leaving.push_back(mshr);
            }
            return;
        }
        if entry.prefetched {
            store.hooks.prefetches.is_over(entry.slot);
        }
        store.lookup.release(mshr, entry.slot, now);
        if entry.slot.is_none() {
            let sequence = entry.write_sequence.max(entry.progress.write_sequence);
            store.copy_back(entry.line, entry.dirty, sequence, entry.source, now);
        }
    }
}

/// Tells whether a reply needs no room in the copy-back buffer, or has it.
fn has_room(store: &LineStore, response: &MemResponse) -> bool {
    store.misses.takes_copy_back() || !displaces(store, response)
}

/// Tells whether a fill takes the slot of a line that would be copied back.
fn displaces(store: &LineStore, response: &MemResponse) -> bool {
    let IdOwner::Mshr(mshr, _) = store.misses.owner(response.id) else {
        return false;
    };
    let Some(entry) = store.lookup.mshrs().get(mshr) else {
        return false;
    };
    if entry.slot.is_some() || !entry.is_open() || !entry.keep {
        return false;
    }
    let victim = store.lookup.victim_for(entry.line);
    victim.is_some_and(|slot| store.copy_back_pieces(slot) != 0)
}
