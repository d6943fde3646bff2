//! A memory for tests: answers every request after a fixed time, in order, and stalls at will.

use std::sync::{Arc, Mutex};

use warpweave_framework::{Component, Context, Cycle, Next, Ports};

use super::DelayLine;
use crate::memory::{Level, MemRequest, MemResponse, MemSlave};

/// What arrived, with the cycle.
pub(crate) type Arrivals = Arc<Mutex<Vec<(Cycle, MemRequest)>>>;

/// The memory; takes and answers one request per cycle.
pub(crate) struct EchoMemory {
    up: MemSlave,
    latency: Cycle,
    /// Of 16 cycles, how many take no request.
    stalls: u64,
    seed: u64,
    answers: DelayLine<MemResponse>,
    arrivals: Arrivals,
}

impl EchoMemory {
    pub(crate) fn new(latency: Cycle, stalls: u64, seed: u64) -> (Self, Arrivals) {
        let arrivals = Arrivals::default();
        let memory = Self {
            up: MemSlave::default(),
            latency,
            stalls,
            seed,
            answers: DelayLine::default(),
            arrivals: arrivals.clone(),
        };
        (memory, arrivals)
    }

    fn stalled(&self, cycle: Cycle) -> bool {
        let bits = (cycle + self.seed * 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        bits < self.stalls
    }
}

impl Component for EchoMemory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let mut blocked = false;
        if let Some(answer) = self.answers.ready(now) {
            blocked = self.up.response.try_send(ctx, *answer).is_err();
            if !blocked {
                self.answers.take(now);
            }
        }
        if !self.stalled(now)
            && let Some(request) = self.up.request.pop(ctx)
        {
            self.arrivals.lock().unwrap().push((now, request));
            if request.kind.wants_response() {
                self.answers
                    .push(now + self.latency, request.answer(Level::L2));
            }
        }
        if self.up.request.peek(ctx).is_some() {
            return Next::Busy;
        }
        match self.answers.next() {
            Some(_) if blocked => Next::Credit,
            Some(at) => Next::Until(at.max(now + 1)),
            None => Next::Message,
        }
    }
}
