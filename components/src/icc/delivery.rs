//! Upstream path: responses free their entries, and lines are delivered to the units that wait for
//! them.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, Id, State};

use super::lookups::LookupEntry;
use super::outstanding::Line;
use super::spec::Delivery;
use super::{IccUnit, Step};
use crate::building_blocks::DelayLine;
use crate::memory::{MemResponse, flags};

/// Responses on their way to the units.
#[derive(Default, State)]
pub(super) struct Upstream {
    /// Responses before their look-up.
    pub(super) replies: DelayLine<MemResponse>,
    pub(super) bus: Bus,
    /// Additional responses to units that have their copy of a line, oldest first.
    pub(super) repeats: Vec<Repeat>,
}

/// Additional response to a unit that has already received the line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Repeat {
    slot: Id,
    line: Line,
}

/// Line on the bus, on its way to the units.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bus {
    /// Requests that still wait for the line; the bus is free when this is empty.
    pub(super) readers: Vec<Id>,
    /// The line, from the first delivery on.
    line: Option<Line>,
    /// Units that have accepted the line, one bit each.
    delivered: u64,
}

impl IccUnit {
    pub(super) fn take_reply(&mut self, ctx: &mut Context<'_>) {
        if !self.has_room_for_reply() {
            return;
        }
        if let Some(reply) = self.down.response.pop(ctx) {
            let at = ctx.cycle() + Cycle::from(self.spec.reply_cycles) - 1;
            self.upstream.replies.push(at, reply);
        }
    }

    pub(super) fn has_room_for_reply(&self) -> bool {
        self.upstream.replies.len() < self.spec.reply_cycles as usize
    }

    /// Delivers the line on the bus to the units that wait for it.
    pub(super) fn deliver(&mut self, ctx: &mut Context<'_>) -> Step {
        if self.upstream.bus.readers.is_empty() && !self.start_delivery(ctx) {
            return Step::Idle;
        }
        let serial = self.spec.delivery == Delivery::Serial;
        let (outstanding, up) = (&mut self.outstanding, &mut self.up);
        let Upstream { bus, repeats, .. } = &mut self.upstream;
        let Some(line) = bus.line else {
            return Step::Idle;
        };
        let (mut moved, mut stop) = (false, false);
        bus.readers.retain(|&slot| {
            let unit = outstanding.slots.get(slot).map_or(0, |of| 1 << of.port);
            if bus.delivered & unit != 0 {
                if !outstanding.answer(ctx, up, slot, line) {
                    repeats.push(Repeat { slot, line });
                }
                moved = true;
                return false;
            }
            if stop {
                return true;
            }
            let sent = outstanding.answer(ctx, up, slot, line);
            stop = serial;
            moved |= sent;
            bus.delivered |= if sent { unit } else { 0 };
            !sent
        });
        if bus.readers.is_empty() || serial && moved {
            Step::Done
        } else {
            Step::Blocked
        }
    }

    /// Answers the remaining requests of units that requested a line several times and have
    /// received it.
    pub(super) fn repeat(&mut self, ctx: &mut Context<'_>) {
        let (outstanding, up) = (&mut self.outstanding, &mut self.up);
        let repeats = &mut self.upstream.repeats;
        repeats.retain(|repeat| !outstanding.answer(ctx, up, repeat.slot, repeat.line));
    }

    /// Puts the next line on the bus, if one is ready. Returns true if it did.
    fn start_delivery(&mut self, ctx: &mut Context<'_>) -> bool {
        let now = ctx.cycle();
        let Upstream { replies, bus, .. } = &mut self.upstream;
        let reply_waits = replies.ready(now).is_some();
        let cache = self.cache.as_mut();
        let hit = cache.and_then(|cache| cache.take_hit(now, reply_waits));
        let Some(reply) = hit.or_else(|| replies.take(now)) else {
            return false;
        };
        bus.delivered = 0;
        bus.line = Some(Line {
            write_sequence: reply.write_sequence,
            level: reply.level,
        });
        let known = if reply.flags & flags::TRACKED == 0 {
            self.find_reader(&reply)
        } else {
            self.end_entry(now, &reply)
        };
        if !known {
            ctx.fail(format!(
                "down sent a response that matches no outstanding request: {reply:?}; {} lines are in flight",
                self.table.len()
            ));
        }
        known
    }

    /// Finds the single request to which an untracked response belongs.
    fn find_reader(&mut self, reply: &MemResponse) -> bool {
        let slot = Id::from_bits(reply.id);
        let of = self.outstanding.slots.get(slot);
        let waits = of.is_some_and(|of| of.request.line == reply.line);
        if waits {
            self.upstream.bus.readers.push(slot);
        }
        waits
    }

    /// Frees the entry of a tracked response and collects all its reads; the coalesced cache keeps
    /// the line if required.
    fn end_entry(&mut self, now: Cycle, reply: &MemResponse) -> bool {
        let readers = &mut self.upstream.bus.readers;
        let Some(entry) = self.table.reply(now, reply.line, readers) else {
            return false;
        };
        let (units, closed, words) = (entry.units.count_ones(), entry.closed, entry.words);
        self.counters.replied(now, units, self.table.len());
        // A write between the two look-ups has dropped the line already and will close no entry.
        let written = |staged: &LookupEntry| {
            self.closes(&staged.request) && staged.request.line == reply.line
        };
        if self.cache.as_ref().is_some_and(|cache| cache.keeps(units))
            && !closed
            && !self.requests.entries().any(written)
            && let Some(cache) = &mut self.cache
        {
            let evicted = cache.fill(reply.line, words, reply.write_sequence);
            self.counters.cache.fills += 1;
            self.counters.cache.evicted += u64::from(evicted);
        }
        true
    }
}
