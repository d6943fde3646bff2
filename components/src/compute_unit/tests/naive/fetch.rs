//! Fetch stage of the naive unit.

use super::super::*;
use super::Naive;
use crate::memory::word_mask;

/// Instructions that a wavefront can issue, and its fetch in flight.
#[derive(Default)]
pub(super) struct Buffer {
    held: Vec<u32>,
    after: u32,
    coming: Option<Coming>,
}

struct Coming {
    pcs: Vec<u32>,
    id: u32,
    due: Option<Cycle>,
}

impl Buffer {
    pub(super) fn has(&self, pc: u32) -> bool {
        self.held.contains(&pc)
    }

    /// Advances the wavefront to an instruction.
    pub(super) fn go_on(&mut self, pc: u32) {
        if self.has(pc) {
            self.held.retain(|held| *held >= pc);
        } else if pc == self.after {
            self.held.clear();
        } else {
            *self = Self {
                after: pc,
                ..Self::default()
            };
        }
    }

    fn takes(&mut self) {
        let coming = self.coming.take().expect("something comes");
        self.after = coming.pcs[coming.pcs.len() - 1] + 1;
        self.held.extend(coming.pcs);
    }
}

impl Naive {
    pub(super) fn take_instructions(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        for wavefront in self.wavefronts.iter_mut().flatten() {
            let coming = wavefront.buffer.coming.as_ref();
            if coming.is_some_and(|coming| coming.due == Some(now)) {
                wavefront.buffer.takes();
            }
        }
        if !self.instructions.response.is_connected() {
            return;
        }
        while let Some(response) = self.instructions.response.pop(ctx) {
            for wavefront in self.wavefronts.iter_mut().flatten() {
                let coming = wavefront.buffer.coming.as_ref();
                if coming.is_some_and(|coming| coming.due.is_none() && coming.id == response.id) {
                    wavefront.buffer.takes();
                }
            }
        }
    }

    /// Returns the line and the instructions that a wavefront would fetch.
    fn wanted(&self, slot: usize) -> Option<(u64, Vec<u32>)> {
        let fetch = self.spec.fetch.expect("the unit fetches");
        let wavefront = self.wavefronts[slot].as_ref()?;
        if !wavefront.is_ready() || wavefront.buffer.coming.is_some() {
            return None;
        }
        let at = |pc: u32| fetch.base + u64::from(pc) * u64::from(fetch.instruction_bytes);
        let from = wavefront.buffer.after;
        let line = at(from) - at(from) % u64::from(fetch.line_bytes);
        let length = self.kernel.code.instructions.len() as u32;
        let end = (at(from) + u64::from(fetch.bytes)).min(line + u64::from(fetch.line_bytes));
        let pcs: Vec<u32> = (from..length).take_while(|pc| at(*pc) < end).collect();
        let fits = wavefront.buffer.held.len() + pcs.len() <= fetch.buffer as usize;
        (fits && !pcs.is_empty()).then_some((line, pcs))
    }

    pub(super) fn fetch(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let slots = self.wavefronts.len();
        let mut turn = (0..slots).map(|step| (self.fetched_last + 1 + step) % slots);
        let Some(slot) = turn.find(|slot| self.wanted(*slot).is_some()) else {
            return;
        };
        let (line, pcs) = self.wanted(slot).expect("it was found");
        let fetch = self.spec.fetch.expect("the unit fetches");
        let mut coming = Coming {
            pcs,
            id: 0,
            due: Some(now + u64::from(fetch.latency)),
        };
        if self.instructions.request.is_connected() {
            if !self.instructions.request.can_send(ctx) {
                return;
            }
            self.fetches += 1;
            coming.id = self.fetches;
            coming.due = None;
            let bytes = fetch.instruction_bytes;
            let offset = fetch.base + u64::from(coming.pcs[0]) * u64::from(bytes) - line;
            let words = word_mask(offset as u32, coming.pcs.len() as u32 * bytes);
            let mut request = MemRequest::read(coming.id, line, words);
            request.source = self.source(slot, coming.pcs[0]);
            self.instructions.request.send(ctx, request);
        }
        self.fetched_last = slot;
        let wavefront = self.wavefronts[slot].as_mut().expect("it fetches");
        wavefront.buffer.coming = Some(coming);
    }
}
