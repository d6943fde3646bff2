//! Memory that knows the newest write of every line.

use std::collections::BTreeMap;

use warpweave_random::CounterRng;

use warpweave_framework::Bundle;

use super::*;

/// Memory that orders requests as they arrive and answers in any order. It numbers lines by the
/// newest write it has seen.
#[derive(Statistics)]
pub(super) struct TaggedMemory {
    up: MemSlave,
    newest: BTreeMap<u64, u32>,
    answers: BTreeMap<(Cycle, u64), MemResponse>,
    count: u64,
    /// Average number of cycles out of 16 in which no request is taken.
    stalls: (CounterRng, u32),
    /// Random response delays, and their maximum.
    delays: (CounterRng, u64),
    /// True if responses reflect no write, like those of a memory below a cache that evicts.
    pub(super) forgets: bool,
}

impl TaggedMemory {
    pub(super) fn new(seed: u64, stalls: u32, slowest: u64) -> Self {
        Self {
            up: MemSlave::default(),
            newest: BTreeMap::new(),
            answers: BTreeMap::new(),
            count: 0,
            stalls: (CounterRng::new(seed, "stalls"), stalls),
            delays: (CounterRng::new(seed, "delays"), slowest),
            forgets: false,
        }
    }
}

impl Bundle for TaggedMemory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }
}

impl Component for TaggedMemory {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let mut blocked = false;
        if let Some(entry) = self.answers.first_entry().filter(|e| e.key().0 <= now) {
            blocked = self.up.response.try_send(ctx, *entry.get()).is_err();
            if !blocked {
                entry.remove();
            }
        }
        let (dice, sixteenths) = self.stalls;
        if !dice.chance(now, sixteenths)
            && let Some(request) = self.up.request.pop(ctx)
        {
            let newest = self.newest.entry(request.line).or_default();
            if request.kind.carries_data() {
                *newest = request.write_sequence.max(*newest);
            }
            if request.kind.wants_response() {
                self.count += 1;
                let (dice, slowest) = self.delays;
                let delay = dice.below(self.count, slowest);
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

impl Stateful for TaggedMemory {}
