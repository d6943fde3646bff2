//! Randomly delayed memory as the next level.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_framework::{Bundle, Stateful};
use warpweave_random::CounterRng;

use super::place;
use crate::cache::*;
use crate::memory::{Level, MemResponse, RequestKind};

/// State of a line in the next level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineBelow {
    /// Words that arrived with writes, atomics and copy-backs.
    pub(super) written: u32,
    pub(super) write_sequence: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) lines: BTreeMap<u64, LineBelow>,
    pub(super) kinds: [u64; RequestKind::ALL.len()],
    /// Due time of the last response, by the line address of the request.
    pub(super) answered: BTreeMap<u64, Cycle>,
}

/// Memory as the next level: takes requests in order, reads the line immediately, and answers after
/// a random delay. Responses for one line stay in order; others may overtake.
#[derive(Statistics)]
pub(super) struct Memory {
    pub(super) line_bytes: u32,
    /// Size in bytes of the lines within which responses stay in order.
    pub(super) order_bytes: u32,
    /// True if each of these lines of a request is answered separately.
    pub(super) parts: bool,
    /// Random response delays, below `delay_max` cycles.
    pub(super) delays: CounterRng,
    pub(super) delay_max: u64,
    /// Random cycles in which no request is taken: one of three.
    pub(super) stalls: CounterRng,
    pub(super) record: Arc<Mutex<Record>>,
    pub(super) pending: Vec<(Cycle, MemResponse)>,
    pub(super) up: MemSlave,
}

impl Memory {
    fn take(&mut self, request: &MemRequest, now: Cycle) {
        let mut record = self.record.lock();
        record.kinds[request.kind as usize] += 1;
        let count: u64 = record.kinds.iter().sum();
        let (line, words) = place(request, self.line_bytes);
        let line = record.lines.entry(line).or_default();
        if request.kind.carries_data() {
            line.written |= words;
            line.write_sequence = line.write_sequence.max(request.write_sequence);
        }
        if !request.kind.wants_response() {
            return;
        }
        let answer = MemResponse {
            write_sequence: line.write_sequence,
            ..request.answer(Level::DRAM)
        };
        for (number, part) in (0u64..).zip(self.parts_of(&answer)) {
            let due = now + 1 + self.delays.below(count << 8 | number, self.delay_max);
            // Requests for one line of this level are answered in order, others in any.
            let first = u64::from(part.words.trailing_zeros() % 32 * 4);
            let ordered = (request.line + first) & !u64::from(self.order_bytes - 1);
            let last = record.answered.entry(ordered).or_default();
            *last = due.max(*last + 1);
            let due = *last;
            let at = self.pending.partition_point(|&(other, _)| other <= due);
            self.pending.insert(at, (due, part));
        }
    }

    /// Splits a response into the parts in which it is sent.
    fn parts_of(&self, answer: &MemResponse) -> Vec<MemResponse> {
        if !self.parts {
            return vec![*answer];
        }
        let step = self.order_bytes / 4;
        let pieces =
            (0..32 / step).map(|n| crate::memory::full_line(self.order_bytes) << (n * step));
        let words = pieces.map(|piece| answer.words & piece);
        let parts = words.filter(|words| *words != 0);
        parts
            .map(|words| MemResponse { words, ..*answer })
            .collect()
    }
}

impl Bundle for Memory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }
}

impl Component for Memory {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        while let Some(&(due, response)) = self.pending.first() {
            if due > now || self.up.response.try_send(ctx, response).is_err() {
                break;
            }
            self.pending.remove(0);
        }
        if self.stalls.below(now, 3) != 0
            && let Some(request) = self.up.request.pop(ctx)
        {
            self.take(&request, now);
        }
        if self.pending.is_empty() && self.up.request.peek(ctx).is_none() {
            Next::Idle
        } else {
            Next::Until(now + 1)
        }
    }
}

impl Stateful for Memory {}
