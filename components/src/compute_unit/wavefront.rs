//! The wavefront slots: what each of them executes next, what it waits for, and how it goes from
//! record to record.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;
use warpweave_trace::{Cursor, Lanes, Record, Shape, Space};

use super::ComputeUnit;
use super::instruction::{Action, NO_PIPE};
use super::scoreboard::{Hazard, Scoreboard, Uses};
use super::wheel::Event;
use crate::memory::Level;

/// One bit per wavefront slot.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Masks {
    /// Taken by a resident work-group.
    pub(super) present: u64,
    /// The next record is known and only registers, stores or units can hold it back.
    pub(super) fetched: u64,
    /// Held back by the scoreboard; and those of them that wait for memory.
    pub(super) hazard: u64,
    pub(super) hazard_memory: u64,
    /// At a fence, waiting for stores.
    pub(super) fence: u64,
    /// Of those whose next record is known, the instruction is not in the buffer; others may have the bit.
    pub(super) starved: u64,
    /// At a barrier.
    pub(super) barrier: u64,
    /// Waiting for a time: start, branch, barrier release, exit.
    pub(super) paused: u64,
    /// No record left.
    pub(super) ended: u64,
    /// The next record needs the load/store queue, or the local memory.
    pub(super) next_load_store: u64,
    pub(super) next_local: u64,
}

impl Masks {
    /// Wavefronts that can issue as far as they are concerned.
    #[inline]
    pub(super) fn open(&self) -> u64 {
        self.fetched & !(self.hazard | self.fence | self.starved)
    }

    /// What holds back the next instruction of a wavefront.
    #[inline]
    fn note_hazard(&mut self, slot: usize, hazard: Hazard) {
        let bit = 1_u64 << slot;
        self.hazard = self.hazard & !bit | u64::from(hazard != Hazard::None) << slot;
        self.hazard_memory =
            self.hazard_memory & !bit | u64::from(hazard == Hazard::Memory) << slot;
    }
}

/// One wavefront slot.
pub(super) struct Wavefront {
    pub(super) cursor: Cursor,
    /// The record to be issued next.
    pub(super) record: Record,
    /// Index of the kernel's first decoded instruction.
    pub(super) code: u32,
    pub(super) kernel: u32,
    /// Work-group slot.
    pub(super) work_group: u8,
    /// Number in the work-group.
    pub(super) number: u8,
    /// Pipe of the next instruction.
    pub(super) pipe: u8,
    /// Registers of the next instruction.
    pub(super) uses: Uses,
    /// Launch records so far.
    pub(super) launches: u32,
    /// Results and accesses under way.
    pub(super) in_flight: u32,
    /// Of these, stores and atomics not answered yet.
    pub(super) stores: u32,
    pub(super) scoreboard: Scoreboard,
    pub(super) lanes: Lanes,
}

impl Wavefront {
    pub(super) fn new(
        cursor: Cursor,
        kernel: u32,
        code: u32,
        (work_group, number): (u8, u8),
    ) -> Self {
        Self {
            cursor,
            record: Record {
                pc: 0,
                mask: 0,
                space: Space::None,
                continues: false,
            },
            code,
            kernel,
            work_group,
            number,
            pipe: NO_PIPE,
            uses: Uses::UNKNOWN,
            launches: 0,
            in_flight: 0,
            stores: 0,
            scoreboard: Scoreboard::default(),
            lanes: Lanes::default(),
        }
    }
}

impl ComputeUnit {
    #[inline(always)]
    pub(super) fn take_events(&mut self, now: Cycle) {
        let mut due = self.wheel.take(now);
        while let Some(event) = self.wheel.next_of(&mut due) {
            match event {
                Event::Resume { slot } => {
                    self.masks.paused &= !(1 << slot);
                    self.fetch(slot as usize, now);
                }
                Event::WriteBack {
                    slot,
                    level,
                    instruction,
                } => {
                    self.write_back(slot as usize, instruction, level, now);
                }
            }
        }
    }

    /// Results are in the registers, those of a load from `level`: whoever waits for them may go on.
    #[inline]
    pub(super) fn write_back(
        &mut self,
        slot: usize,
        instruction: u32,
        level: Option<Level>,
        now: Cycle,
    ) {
        let wavefront = &mut self.wavefronts[slot];
        let writes = &self.decoded.instructions[instruction as usize].writes;
        wavefront.scoreboard.release(writes);
        let bit = 1_u64 << slot;
        if self.masks.hazard & bit != 0 {
            let waited = self.masks.hazard_memory & bit;
            let hazard = if wavefront.uses.is_wide {
                let next = (wavefront.code + wavefront.record.pc) as usize;
                let uses = &self.decoded.instructions[next].uses;
                wavefront.scoreboard.hazard(uses)
            } else {
                wavefront.scoreboard.low_hazard(wavefront.uses.low)
            };
            self.masks.note_hazard(slot, hazard);
            if let Some(level) = level
                && waited & !self.masks.hazard_memory != 0
            {
                let scheduler = slot % self.issuers.len();
                self.accounting.memory_answered(scheduler, level, now);
            }
        }
        self.finish_one(slot, now);
    }

    /// One thing less is under way for a wavefront.
    #[inline]
    pub(super) fn finish_one(&mut self, slot: usize, now: Cycle) {
        let wavefront = &mut self.wavefronts[slot];
        wavefront.in_flight -= 1;
        if wavefront.in_flight == 0 && self.masks.ended >> slot & 1 != 0 {
            self.drain(slot, now);
        }
    }

    /// Reserves the destination registers of an instruction until `latency` cycles from now.
    #[inline(always)]
    pub(super) fn results_after(&mut self, slot: usize, index: u32, latency: u32, now: Cycle) {
        let wavefront = &mut self.wavefronts[slot];
        let writes = &self.decoded.instructions[index as usize].writes;
        wavefront.scoreboard.reserve(writes);
        wavefront.in_flight += 1;
        let event = Event::WriteBack {
            slot: slot as u8,
            level: None,
            instruction: index,
        };
        self.wheel.push(now, u64::from(latency), event);
    }

    pub(super) fn pause(&mut self, slot: usize, cycles: u32, now: Cycle) {
        self.masks.fetched &= !(1 << slot);
        self.masks.paused |= 1 << slot;
        let event = Event::Resume { slot: slot as u8 };
        self.wheel.push(now, u64::from(cycles), event);
    }

    /// Makes the wavefront's next record the one to issue; ends the wavefront when there is none.
    #[inline(always)]
    pub(super) fn fetch(&mut self, slot: usize, now: Cycle) {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let kernel = &self.program.kernels[wavefront.kernel as usize];
        let Some(record) = wavefront.cursor.next(kernel, &mut wavefront.lanes) else {
            self.end(slot, now);
            return;
        };
        wavefront.record = record;
        let decoded = &self.decoded.instructions[(wavefront.code + record.pc) as usize];
        wavefront.pipe = decoded.pipe;
        wavefront.uses = Uses::of(&decoded.uses);
        let hazard = wavefront.scoreboard.hazard(&decoded.uses);
        self.masks.note_hazard(slot, hazard);
        if decoded.pipe != NO_PIPE {
            self.next_of_pipe[usize::from(decoded.pipe)] |= bit;
        }
        match decoded.action {
            Action::Memory(_) if touches_memory(&record, &wavefront.lanes) => match record.space {
                Space::Global | Space::Local => self.masks.next_load_store |= bit,
                Space::Shared => self.masks.next_local |= bit,
                _ => {}
            },
            Action::Fence if wavefront.stores > 0 => self.masks.fence |= bit,
            _ => {}
        }
        self.masks.fetched |= bit;
        if let Some(stage) = &mut self.fetch {
            self.masks.starved &= !bit;
            if !stage.go_on(slot, record.pc) {
                self.masks.starved |= bit;
            }
        }
    }
}

/// Whether a record of a memory instruction goes to a memory.
#[inline]
pub(super) fn touches_memory(record: &Record, lanes: &Lanes) -> bool {
    record.mask != 0 && lanes.shape != Shape::None
}
