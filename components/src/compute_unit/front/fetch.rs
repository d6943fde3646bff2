//! Instruction fetch: a buffer of instructions per wavefront, filled one fetch per cycle.
//!
//! ```text
//!   wavefronts with room ──► one, in turn ──► request at `instructions`, or a fixed latency
//!                                                                │
//!   next instruction there? ◄── [start .. end) of each ◄─────────┘
//! ```
//!
//! A buffer holds consecutive instructions, from the wavefront's next one on. What a wavefront does not
//! go on to is forgotten, also what is on its way.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, Id, IdTable, State, Statistics, at_most, below};

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::scheduler::next_in_turn;
use crate::compute_unit::spec::FetchSpec;
use crate::memory::{MemRequest, MemResponse, Source, word_mask};

/// The instructions of a wavefront that can be issued: their numbers in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Buffer {
    start: u32,
    end: u32,
    /// Grows with everything that is forgotten; what comes with another number is dropped.
    serial: u32,
    kernel: u32,
    /// How many instructions the next fetch brings; follows from `end`.
    #[serde(skip)]
    coming: u32,
}

/// Instructions on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fetched {
    slot: u8,
    serial: u32,
    start: u32,
    end: u32,
    /// Byte address of the line.
    line: u64,
}

/// The fetch stage of a unit.
pub(crate) struct FetchStage {
    spec: FetchSpec,
    /// By kernel, where its code lies and how many instructions it has.
    codes: Box<[(u64, u32)]>,
    /// By wavefront slot.
    buffers: Vec<Buffer>,
    /// Wavefronts for which something is on its way.
    under_way: u64,
    /// Wavefronts that want something and have room for it; derived from the buffers.
    wanting: u64,
    /// Bit of the wavefront that fetched last.
    last: u64,
    requests: IdTable<Fetched>,
    /// Without a cache, what comes and when, in order.
    pipeline: VecDeque<(Cycle, Fetched)>,
    /// The wire took nothing in the cycle under way.
    is_blocked: bool,
    fetches: u64,
}

impl FetchStage {
    /// `lengths` has, by kernel, the number of the first instruction of its code in the program and how many
    /// there are; kernels of one code have the same.
    pub(crate) fn new(spec: FetchSpec, lengths: &[(u32, u32)], wavefronts: u32) -> Self {
        let mut next = spec.base;
        let mut known = BTreeMap::new();
        let place = |&(first, length): &(u32, u32)| {
            *known.entry((first, length)).or_insert_with(|| {
                let bytes = u64::from(length) * u64::from(spec.instruction_bytes);
                let at = next;
                next += bytes.next_multiple_of(128);
                (at, length)
            })
        };
        let codes: Box<[(u64, u32)]> = lengths.iter().map(place).collect();
        Self {
            spec,
            codes,
            buffers: vec![Buffer::default(); wavefronts as usize],
            under_way: 0,
            wanting: 0,
            last: 0,
            requests: IdTable::default(),
            pipeline: VecDeque::new(),
            is_blocked: false,
            fetches: 0,
        }
    }

    pub(crate) fn line_bytes(&self) -> u32 {
        self.spec.line_bytes
    }

    /// A wavefront of a kernel begins: nothing is there for it, and nothing on its way.
    pub(crate) fn begin(&mut self, slot: usize, kernel: u32) {
        self.buffers[slot].kernel = kernel;
        self.forget(slot, 0);
    }

    fn forget(&mut self, slot: usize, next: u32) {
        let buffer = &mut self.buffers[slot];
        buffer.start = next;
        buffer.end = next;
        buffer.serial = buffer.serial.wrapping_add(1);
        self.under_way &= !(1 << slot);
        self.note_coming(slot);
    }

    /// The wavefront goes on to instruction `pc`: whether it is there.
    pub(crate) fn go_on(&mut self, slot: usize, pc: u32) -> bool {
        let buffer = &mut self.buffers[slot];
        if !(buffer.start..=buffer.end).contains(&pc) {
            self.forget(slot, pc);
            return false;
        }
        buffer.start = pc;
        let is_there = pc < buffer.end;
        self.note_wanting(slot);
        is_there
    }

    /// Brings up to date how much the wavefront would fetch, after the end of its buffer changed.
    fn note_coming(&mut self, slot: usize) {
        let Buffer { end, kernel, .. } = self.buffers[slot];
        let (address, line) = self.place(kernel, end);
        let unit = self.spec.instruction_bytes;
        let known = self.codes.get(kernel as usize);
        let length = known.map_or(0, |(_, length)| *length);
        let in_line = self.spec.line_bytes - (address - line) as u32;
        let coming = self.spec.bytes.min(in_line) / unit;
        self.buffers[slot].coming = coming.min(length.saturating_sub(end));
        self.note_wanting(slot);
    }

    /// Brings up to date whether the wavefront wants something, after its buffer changed: it does not without room, nor
    /// after the last instruction.
    #[inline]
    fn note_wanting(&mut self, slot: usize) {
        let Buffer {
            start, end, coming, ..
        } = self.buffers[slot];
        let wants = coming > 0 && end.saturating_sub(start) + coming <= self.spec.buffer;
        self.wanting = self.wanting & !(1 << slot) | u64::from(wants) << slot;
    }

    /// Byte addresses of an instruction and of its line.
    fn place(&self, kernel: u32, instruction: u32) -> (u64, u64) {
        let (code, _) = self.codes.get(kernel as usize).copied().unwrap_or_default();
        let address = code + u64::from(instruction) * u64::from(self.spec.instruction_bytes);
        (address, address & !u64::from(self.spec.line_bytes - 1))
    }

    /// What the wavefront, which wants something, fetches next.
    fn wanted(&self, slot: usize) -> Fetched {
        let Buffer {
            end,
            serial,
            kernel,
            coming,
            ..
        } = self.buffers[slot];
        Fetched {
            slot: slot as u8,
            serial,
            start: end,
            end: end + coming,
            line: self.place(kernel, end).1,
        }
    }

    /// Takes what has come for a wavefront: its slot, if it is what the wavefront waits for.
    fn take(&mut self, fetched: Fetched) -> Option<usize> {
        let slot = usize::from(fetched.slot);
        let buffer = &mut self.buffers[slot];
        if buffer.serial != fetched.serial {
            return None;
        }
        buffer.end = fetched.end;
        self.under_way &= !(1 << slot);
        self.note_coming(slot);
        Some(slot)
    }

    /// Takes an answer at `instructions`.
    fn receive(&mut self, response: &MemResponse) -> Result<Option<usize>, String> {
        let id = response.id;
        let Some(fetched) = self.requests.remove(Id::from_bits(id)) else {
            return Err(format!(
                "a response at `instructions` has id {id}, which no request in flight has"
            ));
        };
        if fetched.line != response.line {
            return Err(format!(
                "the response to request {id} at `instructions` names line {:#x} instead of {:#x}",
                response.line, fetched.line
            ));
        }
        Ok(self.take(fetched))
    }

    /// Whether answers are awaited.
    pub(crate) fn awaits_answers(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Whether something waits for the wire.
    pub(crate) fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    pub(crate) fn report(&self, s: &mut Statistics<'_>) {
        let meaning = "fetches of instructions, for one wavefront each";
        s.counter("fetches", "requests", meaning, self.fetches);
    }

    pub(crate) fn state(&mut self, state: &mut State<'_>) {
        state.array("buffers", &mut self.buffers);
        state.field("under_way", &mut self.under_way);
        state.field("last", &mut self.last);
        state.field("requests", &mut self.requests);
        state.field("pipeline", &mut self.pipeline);
        state.field("is_blocked", &mut self.is_blocked);
        state.field("fetches", &mut self.fetches);
        state.check("requests", || self.fits());
        (0..self.buffers.len()).for_each(|slot| self.note_coming(slot));
    }

    /// Whether what is on its way fits the buffers.
    fn fits(&self) -> Result<(), String> {
        let slots = self.buffers.len();
        let coming = self.pipeline.iter().map(|(_, fetched)| fetched);
        let mut under_way = 0_u64;
        for fetched in coming.chain(self.requests.values()) {
            below("wavefront slot", fetched.slot, slots as u64)?;
            let buffer = self.buffers[usize::from(fetched.slot)];
            if buffer.serial != fetched.serial {
                continue;
            }
            let follows = fetched.start == buffer.end && fetched.start < fetched.end;
            if under_way >> fetched.slot & 1 != 0 || !follows {
                let slot = fetched.slot;
                return Err(format!(
                    "what comes to wavefront slot {slot} does not fit it"
                ));
            }
            under_way |= 1 << fetched.slot;
        }
        for (slot, buffer) in self.buffers.iter().enumerate() {
            let last = self.codes.len().saturating_sub(1);
            at_most("kernel", buffer.kernel as usize, last)?;
            let held = buffer.end.checked_sub(buffer.start);
            let held =
                held.ok_or_else(|| format!("the buffer of slot {slot} ends before it starts"))?;
            at_most(
                "instructions in a buffer",
                held as usize,
                self.spec.buffer as usize,
            )?;
        }
        if under_way != self.under_way {
            return Err("other wavefronts have something on its way".to_owned());
        }
        Ok(())
    }
}

impl ComputeUnit {
    /// Whether instructions have come.
    #[inline]
    pub(crate) fn instructions_have_come(&self, ctx: &Context<'_>, now: Cycle) -> bool {
        let Some(stage) = &self.fetch else {
            return false;
        };
        let first = stage.pipeline.front();
        let response = &self.instructions.response;
        first.is_some_and(|(at, _)| *at <= now)
            || response.is_connected() && response.peek(ctx).is_some()
    }

    /// Whether a wavefront would fetch.
    #[inline]
    pub(crate) fn may_fetch(&mut self) -> bool {
        let Some(stage) = &mut self.fetch else {
            return false;
        };
        stage.is_blocked = false;
        self.masks.fetched & stage.wanting & !stage.under_way != 0
    }

    /// Takes the instructions that have come.
    pub(crate) fn take_instructions(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let Some(stage) = &mut self.fetch else { return };
        while let Some((_, fetched)) = stage.pipeline.pop_front_if(|(at, _)| *at <= now) {
            if let Some(slot) = stage.take(fetched) {
                self.masks.starved &= !(1 << slot);
            }
        }
        if !self.instructions.response.is_connected() {
            return;
        }
        while self.instructions.response.peek(ctx).is_some()
            && let Some(response) = self.instructions.response.pop(ctx)
        {
            match stage.receive(&response) {
                Ok(Some(slot)) => self.masks.starved &= !(1 << slot),
                Ok(None) => {}
                Err(message) => {
                    self.failure.get_or_insert(message);
                }
            }
        }
    }

    /// Wavefronts that would fetch: their next instruction is known, nothing is on its way for them, and
    /// what they would fetch has room.
    #[inline]
    fn fetching(&self, stage: &FetchStage) -> u64 {
        self.masks.fetched & stage.wanting & !stage.under_way
    }

    /// Fetches for one wavefront, of which there are some that would.
    pub(crate) fn fetch_instructions(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let Some(stage) = &self.fetch else { return };
        let fetching = self.fetching(stage);
        let Some(stage) = &mut self.fetch else { return };
        let port = &mut self.instructions.request;
        if port.is_connected() && !port.can_send(ctx) {
            stage.is_blocked = true;
            return;
        }
        let slot = next_in_turn(fetching, stage.last);
        let fetched = stage.wanted(slot);
        let wavefront = &self.wavefronts[slot];
        stage.last = 1 << slot;
        stage.under_way |= 1 << slot;
        stage.fetches += 1;
        if !port.is_connected() {
            let at = now + u64::from(stage.spec.latency);
            stage.pipeline.push_back((at, fetched));
            return;
        }
        let unit = stage.spec.instruction_bytes;
        let (code, _) = stage.codes[wavefront.kernel as usize];
        let address = code + u64::from(fetched.start) * u64::from(unit);
        let words = word_mask(
            (address - fetched.line) as u32,
            (fetched.end - fetched.start) * unit,
        );
        let id = stage.requests.insert(fetched).bits();
        let source = Source {
            kernel: wavefront.kernel,
            work_group: self.work_groups[usize::from(wavefront.work_group)].work_group,
            pc: fetched.start,
            compute_unit: self.spec.index,
            wavefront_slot: slot as u8,
            work_group_slot: wavefront.work_group,
        };
        let request = MemRequest {
            source,
            ..MemRequest::read(id, fetched.line, words)
        };
        port.send(ctx, request);
    }

    /// The first cycle after `now` in which the fetch stage has something to do by itself.
    pub(crate) fn next_fetch(&self, now: Cycle) -> Option<Cycle> {
        let stage = self.fetch.as_deref()?;
        let comes = stage.pipeline.front().map(|(at, _)| *at);
        if !stage.is_blocked && self.fetching(stage) != 0 {
            return Some(now + 1);
        }
        comes
    }
}
