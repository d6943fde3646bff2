//! A memory out to break the unit.

use std::collections::VecDeque;

use super::*;
use crate::memory::MemSlave;

/// A function of (seed, count).
pub(super) fn random(seed: u64, count: u64) -> u64 {
    let mut z = (seed.rotate_left(32) ^ count).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 29
}

/// Answers each request once, after a random delay and in any order, and refuses requests for
/// some stretches of time.
pub(super) struct RandomMemory {
    up: MemSlave,
    seed: u64,
    delay_max: u64,
    waiting: VecDeque<(Cycle, MemResponse)>,
    log: Log<MemRequest>,
    received: u64,
}

impl RandomMemory {
    pub(super) fn new(seed: u64, delay_max: u64, log: Log<MemRequest>) -> Self {
        Self {
            up: MemSlave::default(),
            seed,
            delay_max,
            waiting: VecDeque::new(),
            log,
            received: 0,
        }
    }

    fn refuses(&self, cycle: Cycle) -> bool {
        random(self.seed, cycle / 8).is_multiple_of(4)
    }
}

impl Component for RandomMemory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("waiting", &mut self.waiting);
        state.field("received", &mut self.received);
        state.field(
            "log",
            &mut *self.log.lock().expect("nobody panics with the log"),
        );
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let mut next = Next::Message;
        if self.up.request.peek(ctx).is_some() && self.refuses(now) {
            next = Next::Until((now / 8 + 1) * 8);
        } else {
            while let Some(request) = self.up.request.pop(ctx) {
                let due = now + 1 + random(self.seed, self.received) % self.delay_max;
                self.received += 1;
                let place = self.waiting.partition_point(|(at, _)| *at <= due);
                self.waiting.insert(place, (due, request.answer(Level::L2)));
                let mut log = self.log.lock().expect("nobody panics with the log");
                log.push((now, request));
            }
        }
        while let Some(&(due, response)) = self.waiting.front() {
            if due > now {
                return match next {
                    Next::Until(open) => Next::Until(open.min(due)),
                    _ => Next::Until(due),
                };
            }
            if self.up.response.try_send(ctx, response).is_err() {
                break;
            }
            self.waiting.pop_front();
        }
        next
    }
}
