//! Instruction fetch: one instruction buffer per wavefront and at most one fetch per cycle.
//!
//! ```text
//!   wavefronts with room ──► one, in turn ──► request at `instructions`, or a fixed latency
//!                                                                │
//!   next instruction there? ◄── [start .. end) of each ◄─────────┘
//! ```
//!
//! A buffer holds consecutive instructions that begin with the wavefront's next one. When the
//! wavefront jumps elsewhere, its buffered instructions and its fetch in flight are discarded.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Context, Cycle, Facts, Id, IdTable, PortId, Ports, State, Stateful, Statistics, Unfit, Waits,
};

use crate::compute_unit::port_ids;
use crate::compute_unit::scheduler::next_in_turn;
use crate::compute_unit::spec::FetchSpec;
use crate::memory::{LineBytes, MemMaster, MemRequest, MemResponse, Source, word_mask};

/// Range of instruction indices of a wavefront that are ready to issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Buffer {
    start: u32,
    end: u32,
    /// Incremented with every discard; arriving fetches with another serial are dropped.
    serial: u32,
    kernel: u32,
    /// Number of instructions the next fetch returns; derived from `end`.
    #[serde(skip)]
    coming: u32,
}

/// One instruction fetch in flight for a wavefront.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fetched {
    slot: u8,
    serial: u32,
    start: u32,
    end: u32,
    /// Byte address of the line, aligned to the line size.
    line: u64,
}

/// The source of instructions.
enum Supply {
    /// A cache that never misses: what comes and when, in order.
    FixedLatency(VecDeque<(Cycle, Fetched)>),
    /// The cache at `instructions`: requests without an answer.
    Cache(IdTable<Fetched>),
}

impl Stateful for Supply {
    fn state(&mut self, state: &mut State<'_>) {
        match self {
            Self::FixedLatency(pipeline) => state.field("pipeline", pipeline),
            Self::Cache(requests) => state.field("requests", requests),
        }
    }
}

/// The fetch stage with its port, which is there without the stage as well.
#[derive(Ports, State, Statistics)]
pub(crate) struct InstructionFetch {
    #[port(optional, rename = "instructions")]
    port: MemMaster,
    /// Instruction fetch stage; `None` if instructions are always available.
    #[state(part, rename = "fetch")]
    #[statistic(flatten)]
    stage: Option<Box<FetchStage>>,
}

/// Fetch stage of a compute unit.
#[derive(State, Statistics)]
#[state(restore = FetchStage::note_all_coming)]
struct FetchStage {
    #[state(skip)]
    spec: FetchSpec,
    /// Base address and number of instructions of each kernel's code.
    #[state(skip)]
    codes: Box<[(u64, u32)]>,
    /// Instruction buffers, indexed by wavefront slot.
    #[state(array)]
    buffers: Vec<Buffer>,
    /// Wavefronts that have a fetch in flight.
    under_way: u64,
    /// Wavefronts that need instructions and have room for them; derived from the buffers.
    #[state(skip)]
    wanting: u64,
    /// Bit of the wavefront that fetched last.
    last: u64,
    #[state(flatten)]
    supply: Supply,
    /// True if the port accepted no request in the current cycle.
    is_blocked: bool,
    /// fetches of instructions, for one wavefront each
    #[statistic(unit = "requests")]
    fetches: u64,
}

impl FetchStage {
    /// Creates the stage for `wavefronts` slots. `lengths` has, for each kernel, the index of its
    /// first instruction in the program and the number of instructions. Kernels that share code
    /// have equal entries.
    fn new(spec: FetchSpec, lengths: &[(u32, u32)], wavefronts: u32) -> Self {
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
            supply: Supply::FixedLatency(VecDeque::new()),
            is_blocked: false,
            fetches: 0,
        }
    }

    /// Starts a wavefront of a kernel with an empty buffer and no fetch in flight.
    fn begin(&mut self, slot: usize, kernel: u32) {
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

    /// Advances the wavefront to instruction `pc`. Returns true if that instruction is in its
    /// buffer.
    fn advance(&mut self, slot: usize, pc: u32) -> bool {
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

    /// Updates the size of the wavefront's next fetch after the end of its buffer changed.
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

    /// Updates the `wanting` bit after the buffer changed. The bit is clear without room in the
    /// buffer or after the last instruction.
    #[inline]
    fn note_wanting(&mut self, slot: usize) {
        let Buffer {
            start, end, coming, ..
        } = self.buffers[slot];
        let wants = coming > 0 && end.saturating_sub(start) + coming <= self.spec.buffer;
        self.wanting = self.wanting & !(1 << slot) | u64::from(wants) << slot;
    }

    /// Returns the byte addresses of an instruction and of its line.
    fn place(&self, kernel: u32, instruction: u32) -> (u64, u64) {
        let (code, _) = self.codes.get(kernel as usize).copied().unwrap_or_default();
        let address = code + u64::from(instruction) * u64::from(self.spec.instruction_bytes);
        (address, address & !u64::from(self.spec.line_bytes - 1))
    }

    /// Returns the next fetch of a wavefront in `wanting`.
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

    /// Adds an arrived fetch to its wavefront's buffer. Returns the slot, or `None` if the fetch
    /// was discarded.
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

    /// Takes an answer at `instructions`: the slot of the wavefront that waits for it.
    fn receive(&mut self, response: &MemResponse) -> Result<Option<usize>, String> {
        let id = response.id;
        let fetched = match &mut self.supply {
            Supply::Cache(requests) => requests.remove(Id::from_bits(id)),
            Supply::FixedLatency(_) => None,
        };
        let Some(fetched) = fetched else {
            return Err(format!(
                "a response at `instructions` has id {id}, which matches no request in flight"
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

    /// Returns those of the wavefronts `known` that would fetch: nothing is on its way for them,
    /// and their buffer has room.
    #[inline]
    fn fetching(&self, known: u64) -> u64 {
        known & self.wanting & !self.under_way
    }

    /// Chooses one of the wavefronts that would fetch.
    fn choose(&mut self, fetching: u64) -> Fetched {
        let slot = next_in_turn(fetching, self.last);
        self.last = 1 << slot;
        self.under_way |= 1 << slot;
        self.fetches += 1;
        self.wanted(slot)
    }

    /// Words of its line that a fetch reads.
    fn words(&self, fetched: Fetched) -> u32 {
        let unit = self.spec.instruction_bytes;
        let kernel = self.buffers[usize::from(fetched.slot)].kernel;
        let (address, line) = self.place(kernel, fetched.start);
        word_mask(
            (address - line) as u32,
            (fetched.end - fetched.start) * unit,
        )
    }

    fn note_all_coming(&mut self) {
        (0..self.buffers.len()).for_each(|slot| self.note_coming(slot));
    }
}

impl InstructionFetch {
    /// Creates the fetch stage, if `spec` is given. `codes` holds, per kernel, the index of its
    /// first instruction in the program and the instruction count. Kernels that share code have
    /// equal entries.
    pub(crate) fn new(spec: Option<FetchSpec>, codes: &[(u32, u32)], wavefronts: u32) -> Self {
        let stage = spec.map(|spec| Box::new(FetchStage::new(spec, codes, wavefronts)));
        Self {
            port: MemMaster::default(),
            stage,
        }
    }

    pub(crate) fn facts(&self, port: PortId, facts: &mut Facts) {
        if port == port_ids::INSTRUCTIONS
            && let Some(stage) = &self.stage
        {
            facts.publish_from("fetch.line_bytes", LineBytes(stage.spec.line_bytes));
        }
    }

    /// Takes instructions from the cache, if one is wired.
    ///
    /// # Errors
    /// A cache is wired and nothing fetched.
    pub(crate) fn elaborated(&mut self) -> Result<(), Unfit> {
        if !self.port.request.is_connected() {
            return Ok(());
        }
        let Some(stage) = &mut self.stage else {
            let message = "the port `instructions` is connected, but the unit fetches no instructions; set `fetch`, or remove the wire";
            return Err(Unfit::at("fetch", message));
        };
        stage.supply = Supply::Cache(IdTable::default());
        Ok(())
    }

    pub(crate) fn is_there(&self) -> bool {
        self.stage.is_some()
    }

    /// Starts a wavefront of a kernel with an empty buffer and no fetch in flight.
    pub(crate) fn begin(&mut self, slot: usize, kernel: u32) {
        if let Some(stage) = &mut self.stage {
            stage.begin(slot, kernel);
        }
    }

    /// Advances a wavefront to instruction `pc`. Returns true if that is in its buffer, or `None`
    /// without instruction buffers.
    #[inline]
    pub(crate) fn advance(&mut self, slot: usize, pc: u32) -> Option<bool> {
        let stage = self.stage.as_mut()?;
        Some(stage.advance(slot, pc))
    }

    /// True if fetched instructions arrive in this cycle.
    #[inline]
    pub(crate) fn has_instructions(&self, ctx: &Context<'_>, now: Cycle) -> bool {
        let Some(stage) = &self.stage else {
            return false;
        };
        match &stage.supply {
            Supply::FixedLatency(pipeline) => pipeline.front().is_some_and(|(at, _)| *at <= now),
            Supply::Cache(_) => {
                let response = &self.port.response;
                response.is_connected() && response.peek(ctx).is_some()
            }
        }
    }

    /// Receives arrived instructions, if any. Returns the slot of the wavefront that waits for
    /// them.
    ///
    /// # Errors
    /// Fails if the response matches no outstanding request.
    pub(crate) fn receive(
        &mut self,
        ctx: &mut Context<'_>,
        now: Cycle,
    ) -> Option<Result<Option<usize>, String>> {
        let stage = self.stage.as_mut()?;
        match &mut stage.supply {
            Supply::FixedLatency(pipeline) => {
                let (_, fetched) = pipeline.pop_front_if(|(at, _)| *at <= now)?;
                Some(Ok(stage.take(fetched)))
            }
            Supply::Cache(_) if !self.port.response.is_connected() => None,
            Supply::Cache(_) => {
                let response = self.port.response.pop(ctx)?;
                Some(stage.receive(&response))
            }
        }
    }

    /// Returns true if one of the wavefronts `known` would fetch.
    #[inline]
    pub(crate) fn wants(&mut self, known: u64) -> bool {
        let Some(stage) = &mut self.stage else {
            return false;
        };
        stage.is_blocked = false;
        stage.fetching(known) != 0
    }

    /// Fetches for one of the wavefronts in `known`, at least one of which must want to fetch.
    /// `source` creates the request tag for a slot and an instruction.
    pub(crate) fn fetch(
        &mut self,
        ctx: &mut Context<'_>,
        known: u64,
        source: impl FnOnce(usize, u32) -> Source,
    ) {
        let Some(stage) = &mut self.stage else { return };
        let fetching = stage.fetching(known);
        if matches!(stage.supply, Supply::Cache(_)) && !self.port.request.can_send(ctx) {
            stage.is_blocked = true;
            return;
        }
        let fetched = stage.choose(fetching);
        if let Supply::FixedLatency(pipeline) = &mut stage.supply {
            let at = ctx.cycle() + u64::from(stage.spec.latency);
            pipeline.push_back((at, fetched));
            return;
        }
        let words = stage.words(fetched);
        if let Supply::Cache(requests) = &mut stage.supply {
            let id = requests.insert(fetched).bits();
            let request = MemRequest {
                source: source(usize::from(fetched.slot), fetched.start),
                ..MemRequest::read(id, fetched.line, words)
            };
            self.port.request.send(ctx, request);
        }
    }

    /// Returns the first cycle after `now` in which the stage has work without external events.
    /// `known` are the wavefronts whose next instruction is known.
    #[inline]
    pub(crate) fn next(&self, now: Cycle, known: u64) -> Option<Cycle> {
        let stage = self.stage.as_deref()?;
        if !stage.is_blocked && stage.fetching(known) != 0 {
            return Some(now + 1);
        }
        match &stage.supply {
            Supply::FixedLatency(pipeline) => pipeline.front().map(|(at, _)| *at),
            Supply::Cache(_) => None,
        }
    }

    /// True if requests at `instructions` are outstanding.
    pub(crate) fn awaits_answers(&self) -> bool {
        let supply = self.stage.as_ref().map(|stage| &stage.supply);
        matches!(supply, Some(Supply::Cache(requests)) if !requests.is_empty())
    }

    /// True if a fetch is stalled by back-pressure of the port.
    pub(crate) fn is_blocked(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.is_blocked)
    }

    pub(crate) fn waits(&self, waits: &mut Waits<'_>) {
        if self.awaits_answers() {
            waits.on_port(
                "instructions.response",
                "instruction fetches wait for responses",
            );
        }
    }
}
