//! A memory that knows the newest write of every line.

use std::collections::BTreeMap;

use super::*;

/// A memory that orders requests as they come, answers in any order, and numbers lines by the
/// newest write it has seen.
pub(super) struct TaggedMemory {
    up: MemSlave,
    newest: BTreeMap<u64, u32>,
    answers: BTreeMap<(Cycle, u64), MemResponse>,
    count: u64,
    seed: u64,
    /// Of 16 cycles, how many take no request.
    stalls: u64,
    /// Longest time to answer.
    slowest: u64,
    /// Answers know of no write, as those of a memory below a cache that evicts.
    pub(super) forgets: bool,
}

pub(super) fn scramble(n: u64) -> u64 {
    let n = (n ^ n >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n ^ n >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

impl TaggedMemory {
    pub(super) fn new(seed: u64, stalls: u64, slowest: u64) -> Self {
        Self {
            up: MemSlave::default(),
            newest: BTreeMap::new(),
            answers: BTreeMap::new(),
            count: 0,
            seed,
            stalls,
            slowest,
            forgets: false,
        }
    }
}

impl Component for TaggedMemory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let mut blocked = false;
        if let Some(entry) = self.answers.first_entry().filter(|e| e.key().0 <= now) {
            blocked = self.up.response.try_send(ctx, *entry.get()).is_err();
            if !blocked {
                entry.remove();
            }
        }
        if scramble(now + (self.seed << 20)) & 15 >= self.stalls
            && let Some(request) = self.up.request.pop(ctx)
        {
            let newest = self.newest.entry(request.line).or_default();
            if request.kind.carries_data() {
                *newest = request.write_sequence.max(*newest);
            }
            if request.kind.wants_response() {
                self.count += 1;
                let delay = scramble(self.count ^ self.seed << 32) % self.slowest;
                let write_sequence = if self.forgets { 0 } else { *newest };
                let answer = MemResponse {
                    write_sequence,
                    ..request.answer(Level::L2)
                };
                self.answers.insert((now + 1 + delay, self.count), answer);
            }
        }
        if self.up.request.peek(ctx).is_some() {
            return Next::Busy;
        }
        match self.answers.first_key_value() {
            Some(_) if blocked => Next::Credit,
            Some(((at, _), _)) => Next::Until((*at).max(now + 1)),
            None => Next::Message,
        }
    }
}
