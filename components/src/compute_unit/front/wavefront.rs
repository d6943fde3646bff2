//! The wavefront slots: what each of them executes next, what it waits for, and how it goes from
//! record to record.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;
use warpweave_trace::{Cursor, Lanes, Record, Shape, Space};

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::decoded::{Action, NO_PIPE};
use crate::compute_unit::front::issue_variant::{PLAIN, is_plain};
use crate::compute_unit::front::scoreboard::{Hazard, Scoreboard, UNKNOWN};
use crate::compute_unit::pipes::wheel::{Event, Stamp, Wheel};
use crate::compute_unit::registers::Writes;
use crate::memory::Level;

/// One bit per wavefront slot.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Masks {
    /// Taken by a resident work-group.
    pub(crate) present: u64,
    /// The next record is known and only registers, stores or units can hold it back.
    pub(crate) fetched: u64,
    /// Held back by the scoreboard; and those of them that wait for memory.
    pub(crate) hazard: u64,
    pub(crate) hazard_memory: u64,
    /// At a fence, waiting for stores.
    pub(crate) fence: u64,
    /// Of those whose next record is known, the instruction is not in the buffer; others may have the bit.
    pub(crate) starved: u64,
    /// At a barrier.
    pub(crate) barrier: u64,
    /// Waiting for a time: start, branch, barrier release, exit.
    pub(crate) paused: u64,
    /// No record left.
    pub(crate) ended: u64,
    /// The next record needs the load/store queue, or the local memory.
    pub(crate) next_load_store: u64,
    pub(crate) next_local: u64,
    /// The next record needs a pipe.
    pub(crate) next_pipe: u64,
}

impl Masks {
    /// Wavefronts that can issue as far as they are concerned.
    #[inline]
    pub(crate) fn open(&self) -> u64 {
        self.fetched & !(self.hazard | self.fence | self.starved)
    }
}

impl Masks {
    /// Notes what holds back the next instruction of a wavefront, given by its bit, of which nothing is noted.
    #[inline(always)]
    fn note_hazard(&mut self, hazard: Hazard, bit: u64, wheel: &mut Wheel) {
        match hazard {
            Hazard::None => {}
            Hazard::Pipeline(at) => {
                self.hazard |= bit;
                if at != UNKNOWN {
                    wheel.wait(at, bit);
                }
            }
            Hazard::Memory => {
                self.hazard |= bit;
                self.hazard_memory |= bit;
            }
        }
    }
}

/// One wavefront slot.
pub(crate) struct Wavefront {
    pub(crate) cursor: Cursor,
    /// The record to be issued next.
    pub(crate) record: Record,
    /// Index of the kernel's first decoded instruction, and of the one to be issued next.
    pub(crate) code: u32,
    pub(crate) next: u32,
    pub(crate) kernel: u32,
    /// Work-group slot.
    pub(crate) work_group: u8,
    /// Number in the work-group.
    pub(crate) number: u8,
    /// Launch records so far.
    pub(crate) launches: u32,
    /// Accesses under way whose results are not known to come in a certain cycle.
    pub(crate) in_flight: u32,
    /// Of these, stores and atomics not answered yet.
    pub(crate) stores: u32,
    pub(crate) scoreboard: Scoreboard,
    /// The cycle of the last of the other results, and when the first of that cycle was filed.
    pub(crate) last_result: (Cycle, Stamp),
    pub(crate) lanes: Lanes,
}

impl Wavefront {
    pub(crate) fn new(
        cursor: Cursor,
        kernel: u32,
        code: u32,
        (work_group, number): (u8, u8),
        scoreboard: Scoreboard,
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
            next: code,
            kernel,
            work_group,
            number,
            launches: 0,
            in_flight: 0,
            stores: 0,
            scoreboard,
            last_result: Default::default(),
            lanes: Lanes::default(),
        }
    }
}

impl Wavefront {
    /// The destination registers of an instruction are written in cycle `at`.
    #[inline(always)]
    pub(crate) fn results_at(&mut self, at: Cycle, writes: &Writes, wheel: &mut Wheel) {
        self.scoreboard.reserve(writes, at);
        let stamp = wheel.result(at);
        if at > self.last_result.0 {
            self.last_result = (at, stamp);
        }
    }
}

impl ComputeUnit {
    /// What happens in this cycle by itself; whether something changed.
    #[inline(always)]
    pub(crate) fn take_events<const WAY: u8>(&mut self, now: Cycle) -> bool {
        if !self.wheel.is_due(now) {
            return false;
        }
        let ready = self.wheel.take(now);
        self.masks.hazard &= !ready;
        let mut changed = ready != 0;
        while let Some(event) = self.wheel.next_event() {
            changed = true;
            match event {
                Event::Resume { slot } => self.resume::<WAY>(slot as usize, now),
                Event::WriteBack {
                    slot,
                    level,
                    instruction,
                } => self.write_back(slot as usize, instruction, level, now),
                Event::Drain { slot } => self.drain(slot as usize, now),
            }
        }
        changed
    }

    #[inline(never)]
    fn resume<const WAY: u8>(&mut self, slot: usize, now: Cycle) {
        self.masks.paused &= !(1 << slot);
        self.masks.fetched |= 1 << slot;
        self.fetch::<WAY>(slot, now);
    }

    /// What a load from outside the unit brings, the last of it from `level`, is in the registers.
    pub(crate) fn write_back(&mut self, slot: usize, instruction: u32, level: Level, now: Cycle) {
        let writes = &self.decoded.instructions[instruction as usize].writes;
        self.wavefronts[slot].scoreboard.release(&writes.registers);
        if self.waits_no_longer_for_memory(slot, now) {
            let scheduler = slot % self.issuers.len();
            self.accounting.memory_answered(scheduler, level, now);
        }
        self.finish_one(slot, now);
    }

    /// Looks again at what holds back a wavefront, after that changed; whether that was memory and is not any more.
    pub(crate) fn waits_no_longer_for_memory(&mut self, slot: usize, now: Cycle) -> bool {
        let bit = 1_u64 << slot;
        if self.masks.hazard & bit == 0 {
            return false;
        }
        let waited = self.masks.hazard_memory & bit;
        self.masks.hazard &= !bit;
        self.masks.hazard_memory &= !bit;
        let wavefront = &mut self.wavefronts[slot];
        let uses = &self.decoded.instructions[wavefront.next as usize].uses;
        let hazard = wavefront.scoreboard.hazard(uses, now);
        self.masks.note_hazard(hazard, bit, &mut self.wheel);
        waited & !self.masks.hazard_memory != 0
    }

    /// One access less is under way for a wavefront.
    #[inline]
    pub(crate) fn finish_one(&mut self, slot: usize, now: Cycle) {
        let wavefront = &mut self.wavefronts[slot];
        wavefront.in_flight -= 1;
        if wavefront.in_flight == 0 && self.masks.ended >> slot & 1 != 0 {
            self.drain_in_time(slot, now);
        }
    }

    /// An ended wavefront without accesses under way drains, now or with its last result.
    pub(crate) fn drain_in_time(&mut self, slot: usize, now: Cycle) {
        let (at, stamp) = self.wavefronts[slot].last_result;
        if self.wheel.is_past(at, stamp, now) {
            self.drain(slot, now);
        } else {
            self.wheel.push_drain(slot as u8, at, stamp, now);
        }
    }

    pub(crate) fn pause(&mut self, slot: usize, cycles: u32, now: Cycle) {
        self.masks.fetched &= !(1 << slot);
        self.masks.paused |= 1 << slot;
        let event = Event::Resume { slot: slot as u8 };
        self.wheel.push(now, u64::from(cycles), event);
    }

    /// Makes the next record of a wavefront, which is among those fetched and of which nothing else is noted, the one to
    /// issue; ends the wavefront when there is none.
    #[inline(always)]
    pub(crate) fn fetch<const WAY: u8>(&mut self, slot: usize, now: Cycle) {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let kernel = || &*self.program.kernels[wavefront.kernel as usize];
        let (record, lanes) = (&mut wavefront.record, &mut wavefront.lanes);
        if !wavefront.cursor.advance(kernel, record, lanes) {
            self.end(slot, now);
            return;
        }
        wavefront.next = wavefront.code + record.pc;
        let decoded = &self.decoded.instructions[wavefront.next as usize];
        if !decoded.is_free {
            if decoded.pipe != NO_PIPE {
                self.next_of_pipe[usize::from(decoded.pipe)] |= bit;
                self.masks.next_pipe |= bit;
            }
            match decoded.action {
                Action::Memory(_) if touches_memory(record, lanes) => match record.space {
                    space if !is_plain(WAY) && self.read_paths.take(bit, decoded, space) => {}
                    Space::Global | Space::Local => self.masks.next_load_store |= bit,
                    Space::Shared => self.masks.next_local |= bit,
                    _ => {}
                },
                Action::Fence if wavefront.stores > 0 => self.masks.fence |= bit,
                _ => {}
            }
        }
        let hazard = wavefront.scoreboard.hazard(&decoded.uses, now);
        self.masks.note_hazard(hazard, bit, &mut self.wheel);
        if WAY != PLAIN
            && let Some(stage) = &mut self.fetch
        {
            self.masks.starved &= !bit;
            if !stage.go_on(slot, wavefront.record.pc) {
                self.masks.starved |= bit;
            }
        }
    }
}

/// Whether a record of a memory instruction goes to a memory.
#[inline]
pub(crate) fn touches_memory(record: &Record, lanes: &Lanes) -> bool {
    record.mask != 0 && lanes.shape != Shape::None
}
