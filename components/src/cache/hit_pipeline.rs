//! The hit pipeline: responses to hits on their way up, in order.

use std::collections::VecDeque;

use warpweave_framework::{Cycle, State};

use super::spec::CacheSpec;
use crate::memory::{MemResponse, RequestKind};

/// Responses in order, each with the cycle in which its turn comes.
#[derive(Clone, Debug, State)]
pub(super) struct HitPipeline {
    responses: VecDeque<(Cycle, MemResponse)>,
    /// Most responses that it holds.
    #[state(skip)]
    capacity: usize,
    #[state(skip)]
    latency: u32,
    /// Latency of an atomic executed here, beyond that of a hit.
    #[state(skip)]
    atomic_latency: u32,
    /// Response cycle of the hit accepted last.
    last_turn: Cycle,
}

impl HitPipeline {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        // As many as are accepted until the first of them leaves.
        let latency = spec.hit_latency_cycles + spec.atomic_latency_cycles();
        let latency = latency + spec.victim_latency_cycles() + 1;
        let per_cycle = spec.banks.map_or(1, |banks| banks.requests_per_cycle);
        let capacity = latency as usize * per_cycle as usize;
        Self {
            responses: VecDeque::with_capacity(capacity.min(1 << 12)),
            capacity,
            latency: spec.hit_latency_cycles,
            atomic_latency: spec.atomic_latency_cycles(),
            last_turn: 0,
        }
    }

    /// Tells whether another response fits.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.responses.len() < self.capacity
    }

    /// Tells whether no response is on its way.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }

    /// The earliest cycle in which a response may leave that must not overtake hits accepted until
    /// now.
    #[inline]
    pub(super) fn not_before(&self, now: Cycle) -> Cycle {
        self.last_turn.max(self.after_latency(now))
    }

    /// When a hit accepted now would leave an empty pipeline.
    #[inline]
    pub(super) fn after_latency(&self, now: Cycle) -> Cycle {
        now + Cycle::from(self.latency)
    }

    /// Adds the response of a hit accepted now that takes `extra` cycles more than usual, and
    /// returns its turn.
    #[inline]
    pub(super) fn push(&mut self, response: MemResponse, extra: u32, now: Cycle) -> Cycle {
        let atomic = match response.kind {
            RequestKind::Atomic => self.atomic_latency,
            _ => 0,
        };
        let turn = now + Cycle::from(self.latency + atomic + extra);
        self.last_turn = self.last_turn.max(turn);
        self.responses.push_back((self.last_turn, response));
        self.last_turn
    }

    /// Turn of the oldest response.
    #[inline]
    pub(super) fn turn(&self) -> Option<Cycle> {
        self.responses.front().map(|&(turn, _)| turn)
    }

    /// Takes the oldest response.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<MemResponse> {
        self.responses.pop_front().map(|(_, response)| response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Level, MemRequest};

    #[test]
    fn hits_behind_an_atomic_wait_for_it_and_fill_the_pipeline() {
        let mut hits = HitPipeline {
            responses: VecDeque::new(),
            capacity: 2,
            latency: 5,
            atomic_latency: 4,
            last_turn: 0,
        };
        let read = MemRequest::read(1, 0, 1);
        let atomic = MemRequest {
            kind: RequestKind::Atomic,
            ..read
        };
        assert_eq!(hits.push(atomic.answer(Level::L1), 0, 10), 19);
        assert!(hits.has_room());
        assert_eq!(hits.push(read.answer(Level::L1), 2, 11), 19);
        assert!(!hits.has_room());
        assert_eq!((hits.not_before(12), hits.not_before(20)), (19, 25));
        assert_eq!(hits.pop().map(|r| r.kind), Some(RequestKind::Atomic));
        assert_eq!(hits.turn(), Some(19));
    }
}
