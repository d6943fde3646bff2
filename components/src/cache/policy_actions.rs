//! What policies ask for when they are told something: events for the compute unit, copy-backs, and
//! values for the caches around.

use warpweave_framework::{Context, Cycle};

use super::Cache;
use super::policy::PublishedValues;
use crate::memory::{MemRequest, RequestKind, flags};

impl Cache {
    /// Tells the policies what the caches around publish, where that has changed.
    #[inline(never)]
    pub(super) fn hear_peers(&mut self, ctx: &Context<'_>) {
        if !self.peers.is_empty() {
            let mut sums = PublishedValues::default();
            for peer in self.peers.iter().filter(|peer| peer.is_connected()) {
                let values = peer.get(ctx);
                sums.0.iter_mut().zip(values.0).for_each(|(sum, value)| {
                    *sum = sum.wrapping_add(value);
                });
            }
            self.policies.hear(sums);
        }
    }

    /// Sends down the lines that policies want below, as far as there is room.
    #[inline(never)]
    pub(super) fn send_policies_copy_backs(&mut self, now: Cycle) {
        let mut wanted = std::mem::take(&mut self.policies.outbox.copy_backs);
        for (line, flags) in wanted.drain(..) {
            if self.send_while_it_stays(line, flags, now) {
                self.moves += 1;
            } else {
                self.policies.outbox.copy_backs_dropped += 1;
            }
        }
        self.policies.outbox.copy_backs = wanted;
    }

    fn send_while_it_stays(&mut self, line: u64, more_flags: u16, now: Cycle) -> bool {
        let Some(slot) = self.tags.find(line) else {
            return false;
        };
        let (state, owner) = (*self.tags.state(slot), self.owners[slot.index()]);
        let dirty = state.dirty;
        let words = if dirty == 0 { state.valid } else { dirty };
        let room = self.queue_room(0, self.pieces(words));
        if words == 0 || state.mshr().is_some() || room.is_err() {
            return false;
        }
        if dirty != 0 {
            self.tags.state_mut(slot).dirty = 0;
            self.copy_back(line, dirty, state.write_sequence, owner, now);
            return true;
        }
        self.stats.handed_down += 1;
        self.send_copy_back(
            &MemRequest {
                kind: RequestKind::CopyBack,
                flags: flags::CLEAN | more_flags,
                source: owner,
                write_sequence: state.write_sequence,
                ..MemRequest::read(0, line & !self.offset_mask, words)
            },
            now,
        );
        true
    }

    /// Publishes what policies want published, and sends what they tell the compute unit.
    #[inline(never)]
    pub(super) fn publish_and_tell(&mut self, ctx: &mut Context<'_>) {
        let outbox = &mut self.policies.outbox;
        // Of lines that an invalidation dropped.
        outbox.copy_backs_dropped += outbox.copy_backs.len() as u64;
        outbox.copy_backs.clear();
        while !outbox.events.is_empty() && self.locality.can_send(ctx) {
            if let Some(event) = outbox.events.pop_front() {
                self.locality.send(ctx, event);
            }
        }
        let values = outbox.published;
        self.published.publish(ctx, values);
        if self.peers.is_empty() && self.policies.hear(values) {
            self.moves += 1;
        }
    }
}
