//! What goes down: copy-backs, fetches and requests that pass, in the order of the miss queue.

use warpweave_framework::{Context, Cycle, Id};

use super::Cache;
use super::pass_table::Passed;
use super::perform::Accepted;
use super::tag_array::LineState;
use super::victim_cache::Victim;
use crate::memory::{MemRequest, RequestKind, Source, flags};

impl Cache {
    /// Sends the oldest request down whose time has come. Returns when to try again, if time
    /// decides.
    pub(super) fn send_down(&mut self, ctx: &mut Context<'_>, now: Cycle) -> Option<Cycle> {
        let &(turn, _) = self.misses.front()?;
        if turn > now {
            return Some(turn);
        }
        if !self.down.request.can_send(ctx) {
            return None;
        }
        let (_, request) = self.misses.pop_front()?;
        self.down.request.send(ctx, request);
        if let Some(buffer) = &mut self.copy_backs {
            buffer.sent_one();
        }
        self.moves += 1;
        let &(turn, _) = self.misses.front()?;
        Some(turn.max(now + 1))
    }

    /// Sends down what a line that leaves holds for the level below.
    pub(super) fn send_victim(&mut self, victim: &Victim, now: Cycle) {
        let LineState {
            valid,
            dirty,
            write_sequence,
            ..
        } = victim.state;
        self.copy_back(victim.line, dirty, write_sequence, victim.owner, now);
        if let (Some(more_flags), 0, 1..) = (victim.hand_down, dirty, valid) {
            self.stats.handed_down += 1;
            let request = MemRequest {
                kind: RequestKind::CopyBack,
                flags: flags::CLEAN | more_flags,
                source: victim.owner,
                write_sequence,
                ..MemRequest::read(0, victim.line & !self.offset_mask, valid)
            };
            self.send_copy_back(&request, now);
        }
    }

    pub(super) fn copy_back(
        &mut self,
        line: u64,
        words: u32,
        write_sequence: u32,
        owner: Source,
        now: Cycle,
    ) {
        if words != 0 {
            self.stats.copy_backs += 1;
            let request = MemRequest {
                kind: RequestKind::CopyBack,
                source: owner,
                write_sequence,
                ..MemRequest::read(0, line & !self.offset_mask, words)
            };
            self.send_copy_back(&request, now);
        }
    }

    /// Queues a copy-back.
    pub(super) fn send_copy_back(&mut self, request: &MemRequest, now: Cycle) {
        let first = self.misses.len();
        self.send_cut(request, |_| 0, now);
        if let Some(buffer) = &mut self.copy_backs {
            buffer.enter(first, self.misses.len());
        }
    }

    /// Queues a request for a line of this cache, cut for the level below; `id` gives each piece its
    /// id from its first word.
    pub(super) fn send_cut(&mut self, request: &MemRequest, id: impl Fn(u32) -> u32, now: Cycle) {
        let turn = now + Cycle::from(self.spec.miss_latency_cycles);
        if !self.cut {
            let id = id(request.words.trailing_zeros());
            self.misses.push_back((turn, MemRequest { id, ..*request }));
            return;
        }
        let bytes = self.spec.below_line();
        let piece = u32::MAX >> (32 - bytes / 4);
        for number in 0..self.spec.line_bytes / bytes {
            let words = request.words >> (number * bytes / 4) & piece;
            if words != 0 {
                let line = request.line + u64::from(number * bytes);
                let id = id(number * bytes / 4 + words.trailing_zeros());
                let request = MemRequest {
                    line,
                    id,
                    words,
                    ..*request
                };
                self.misses.push_back((turn, request));
            }
        }
    }

    /// Queues a request as it is, with the id of its place among the passing ones.
    pub(super) fn hand_on(&mut self, accepted: &Accepted<'_>, joined: Option<Id>) {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let id = if request.kind.wants_response() {
            let ready = self
                .last_hit
                .max(now + Cycle::from(self.spec.hit_latency_cycles));
            let passed = Passed {
                request: *request,
                ready,
                awaited: access.words,
                write_sequence: 0,
                joined,
                answer: None,
            };
            Some(self.passing.insert(passed))
        } else {
            None
        };
        let (ids, step) = (self.downstream_ids, self.spec.below_line() / 4);
        let below = |word| id.map_or(0, |id| ids.for_passing(id, word / step));
        if !self.in_parts {
            let turn = now + Cycle::from(self.spec.miss_latency_cycles);
            let id = below(0);
            self.misses.push_back((turn, MemRequest { id, ..*request }));
            return;
        }
        let whole = MemRequest {
            line: access.line & !self.offset_mask,
            words: access.words,
            ..*request
        };
        self.send_cut(&whole, below, now);
    }
}
