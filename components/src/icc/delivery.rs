//! Upstream path: responses free their entries, and lines are delivered to the units that wait for
//! them.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, Id};

use super::lookups::LookupEntry;
use super::spec::{BusPriority, Delivery, FillRule};
use super::{IccUnit, Step};
use crate::memory::{Level, MemResponse, flags};

/// Additional response to a unit that has already received the line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Repeat {
    pub(super) slot: Id,
    pub(super) line: Line,
}

/// Properties of the line that its responses carry.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) write_sequence: u32,
    pub(super) level: Option<Level>,
}

/// Line on the bus, on its way to the units.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bus {
    /// Requests that still wait for the line; the bus is free when this is empty.
    pub(super) readers: Vec<Id>,
    pub(super) line: Line,
    /// Units that have accepted the line, one bit each.
    pub(super) delivered: u64,
}

impl IccUnit {
    pub(super) fn take_reply(&mut self, ctx: &mut Context<'_>) {
        if self.replies.len() >= self.spec.reply_cycles as usize {
            return;
        }
        if let Some(reply) = self.down.response.pop(ctx) {
            let at = ctx.cycle() + u64::from(self.spec.reply_cycles) - 1;
            self.replies.push_back((at, reply));
        }
    }

    /// Delivers the line on the bus to the units that wait for it.
    pub(super) fn deliver(&mut self, ctx: &mut Context<'_>) -> Step {
        if self.bus.readers.is_empty() && !self.start_delivery(ctx) {
            return Step::Idle;
        }
        let serial = self.spec.delivery == Delivery::Serial;
        let mut readers = std::mem::take(&mut self.bus.readers);
        let line = self.bus.line;
        let (mut moved, mut stop) = (false, false);
        readers.retain(|&slot| {
            let unit = self.slots.get(slot).map_or(0, |of| 1 << of.port);
            if self.bus.delivered & unit != 0 {
                if !self.answer(ctx, slot, line) {
                    self.repeats.push_back(Repeat { slot, line });
                }
                moved = true;
                return false;
            }
            if stop {
                return true;
            }
            let sent = self.answer(ctx, slot, line);
            stop = serial;
            moved |= sent;
            self.bus.delivered |= if sent { unit } else { 0 };
            !sent
        });
        self.bus.readers = readers;
        match (self.bus.readers.is_empty(), moved) {
            (true, _) => Step::Done,
            (false, true) if serial => Step::Done,
            (false, _) => Step::Blocked,
        }
    }

    /// Answers the remaining requests of units that requested a line several times and have
    /// received it.
    pub(super) fn repeat(&mut self, ctx: &mut Context<'_>) {
        let mut repeats = std::mem::take(&mut self.repeats);
        repeats.retain(|repeat| !self.answer(ctx, repeat.slot, repeat.line));
        self.repeats = repeats;
    }

    /// Answers one request with this line. Returns false if its wire has no room.
    fn answer(&mut self, ctx: &mut Context<'_>, slot: Id, line: Line) -> bool {
        let Some(of) = self.slots.get(slot) else {
            ctx.fail(format!("down sent two responses for id {slot}"));
            return true;
        };
        let response = MemResponse {
            write_sequence: line.write_sequence,
            ..of.request
                .answer(line.level.expect("a line on the bus has a level"))
        };
        let wire = &mut self.up[of.port as usize].response;
        if wire.try_send(ctx, response).is_err() {
            return false;
        }
        let cycles = ctx.cycle() - of.taken;
        self.counters.answered(&of.request, cycles);
        self.slots.remove(slot);
        true
    }

    /// Puts the next line on the bus, if one is ready. Returns true if it did.
    fn start_delivery(&mut self, ctx: &mut Context<'_>) -> bool {
        let now = ctx.cycle();
        let reply = self.replies.front().is_some_and(|(at, _)| *at <= now);
        let hit = self.hits.front().is_some_and(|hit| hit.at <= now);
        let priority = self.spec.coalesced_cache.as_ref().map(|c| c.priority);
        if hit && (!reply || priority == Some(BusPriority::Hits)) {
            let hit = self.hits.pop_front().expect("it is ready");
            self.bus.delivered = 0;
            self.bus.readers.push(hit.slot);
            self.bus.line = Line {
                write_sequence: hit.write_sequence,
                level: Some(Level::COALESCED),
            };
            return true;
        }
        if !reply {
            return false;
        }
        let (_, reply) = self.replies.pop_front().expect("it is ready");
        self.bus.delivered = 0;
        self.bus.line = Line {
            write_sequence: reply.write_sequence,
            level: Some(reply.level),
        };
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
        let of = self.slots.get(slot);
        let waits = of.is_some_and(|of| of.request.line == reply.line);
        if waits {
            self.bus.readers.push(slot);
        }
        waits
    }

    /// Frees the entry of a tracked response and collects all its reads; the coalesced cache keeps
    /// the line if required.
    fn end_entry(&mut self, now: Cycle, reply: &MemResponse) -> bool {
        let Some(entry) = self.table.reply(now, reply.line, &mut self.bus.readers) else {
            return false;
        };
        let (units, closed, words) = (entry.units, entry.closed, entry.words);
        self.counters
            .table_occupancy
            .set(now, self.table.len() as u64);
        self.counters.replied(units.count_ones());
        let Some(spec) = &self.spec.coalesced_cache else {
            return true;
        };
        let several = units.count_ones() > 1 || spec.fill == FillRule::All;
        // A write between the two look-ups has dropped the line already and will close no entry.
        let written = |staged: &LookupEntry| {
            self.closes(&staged.request) && staged.request.line == reply.line
        };
        if several
            && !closed
            && !self.requests.iter().any(written)
            && let Some(cache) = &mut self.cache
        {
            self.counters.cache_fills += 1;
            let evicted = cache.fill(reply.line, words, reply.write_sequence);
            self.counters.cache_evicted += u64::from(evicted);
        }
        true
    }
}
