//! A memory designed to stress the unit.

use std::collections::VecDeque;

use warpweave_random::CounterRng;

use super::*;
use crate::memory::MemSlave;

/// Answers each request once, after a random delay and in any order. Refuses requests during random
/// intervals.
#[derive(Statistics)]
pub(super) struct RandomMemory {
    up: MemSlave,
    /// Random source for the intervals in which no request is accepted.
    refusals: CounterRng,
    delays: CounterRng,
    delay_max: u64,
    waiting: VecDeque<(Cycle, MemResponse)>,
    log: Log<MemRequest>,
    received: u64,
}

impl RandomMemory {
    pub(super) fn new(seed: u64, delay_max: u64, log: Log<MemRequest>) -> Self {
        Self {
            up: MemSlave::default(),
            refusals: CounterRng::new(seed, "refusals"),
            delays: CounterRng::new(seed, "delays"),
            delay_max,
            waiting: VecDeque::new(),
            log,
            received: 0,
        }
    }

    fn refuses(&self, cycle: Cycle) -> bool {
        self.refusals.chance(cycle / 8, 4)
    }
}

impl Bundle for RandomMemory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }
}

impl Component for RandomMemory {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let mut next = Next::Message;
        if self.up.request.peek(ctx).is_some() && self.refuses(now) {
            next = Next::Until((now / 8 + 1) * 8);
        } else {
            while let Some(request) = self.up.request.pop(ctx) {
                let due = now + 1 + self.delays.below(self.received, self.delay_max);
                self.received += 1;
                let place = self.waiting.partition_point(|(at, _)| *at <= due);
                let level = [Level::L1, Level::L2, Level::DRAM][self.received as usize % 3];
                self.waiting.insert(place, (due, request.answer(level)));
                let mut log = self.log.lock();
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

impl Stateful for RandomMemory {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("waiting", &mut self.waiting);
        state.field("received", &mut self.received);
        state.field("log", &mut *self.log.lock());
    }
}
