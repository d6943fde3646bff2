//! The wavefront slots, and one bit per slot for what its wavefront does or waits for.
//!
//! ```text
//!   place ──► paused ──► fetched ──► (issue) ──► fetched with the next record, paused, barrier or ended
//!                          │ of these: hazard, fence, starved hold a wavefront back; the others are open
//! ```

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};
use warpweave_trace::{Class, Space};

use super::scoreboard::{Hazard, UNKNOWN};
use super::wavefront::Wavefront;
use crate::compute_unit::accounting::IssueSlot;
use crate::compute_unit::config::UnitConfig;
use crate::compute_unit::decoded::{Action, DecodedProgram, NO_PIPE};
use crate::compute_unit::issue_variant::Variant;
use crate::compute_unit::memory_path::readonly_ports::ReadonlyPorts;
use crate::compute_unit::pipes::wheel::{Event, Wheel};
use crate::compute_unit::scheduler::{AgeMatrix, SchedulerView};

/// Wavefront states as masks, with one bit per wavefront slot.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Masks {
    /// Slots in use by a resident work-group.
    pub(crate) present: u64,
    /// Next record is known; only registers, stores or units can block it.
    pub(crate) fetched: u64,
    /// Blocked by the scoreboard; `hazard_memory` has those that wait for memory.
    pub(crate) hazard: u64,
    pub(crate) hazard_memory: u64,
    /// Blocked at a fence until stores are answered.
    pub(crate) fence: u64,
    /// Instruction of the next record is not buffered. Valid only for wavefronts whose next record
    /// is known.
    pub(crate) starved: u64,
    /// Waiting at a barrier of their work-group.
    pub(crate) barrier: u64,
    /// Waiting for a fixed time: start, branch, barrier release or exit.
    pub(crate) paused: u64,
    /// Wavefronts with no records left to issue.
    pub(crate) ended: u64,
    /// Next record needs the load/store queue; `next_local` has those that need the local memory.
    pub(crate) next_load_store: u64,
    pub(crate) next_local: u64,
    /// The next record needs a pipe; by class, those whose next record needs its pipe.
    pub(crate) next_pipe: u64,
    pub(crate) next_of_pipe: [u64; Class::COUNT],
}

impl Masks {
    /// Returns the wavefronts whose own state allows them to issue.
    #[inline]
    pub(crate) fn open(&self) -> u64 {
        self.fetched & !(self.hazard | self.fence | self.starved)
    }

    /// An instruction of a wavefront, given by its bit, goes to a pipe.
    #[inline(always)]
    pub(crate) fn enter_pipe(&mut self, bit: u64, pipe: usize) {
        self.next_of_pipe[pipe] &= !bit;
        self.next_pipe &= !bit;
    }

    /// Returns true if the wavefront of `bit`, which issues, accesses local memory.
    #[inline(always)]
    pub(crate) fn takes_local_memory(&mut self, bit: u64) -> bool {
        let takes = self.next_local & bit != 0;
        self.next_local &= !bit;
        takes
    }

    /// Returns true if the wavefront of `bit`, which issues, goes to the load/store queue.
    #[inline(always)]
    pub(crate) fn takes_load_store(&mut self, bit: u64) -> bool {
        let takes = self.next_load_store & bit != 0;
        self.next_load_store &= !bit;
        takes
    }

    /// Records the hazard of a wavefront's next instruction; the wavefront is given by its bit and
    /// has no recorded hazard.
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

    /// Returns the stall reason, of those in `mine`, that is closest to issue. All of `mine` are
    /// present, none is throttled, and each waits for a condition of its own.
    #[inline]
    pub(crate) fn stall<V: Variant>(&self, mine: u64) -> IssueSlot {
        if mine == 0 {
            IssueSlot::NoWavefront
        } else if V::FETCH && mine & self.fetched & self.starved & !(self.hazard | self.fence) != 0
        {
            IssueSlot::Fetch
        } else if mine & self.hazard & !self.hazard_memory != 0 {
            IssueSlot::Scoreboard
        } else if mine & (self.hazard | self.fence) != 0 {
            IssueSlot::Memory
        } else if mine & self.paused != 0 {
            IssueSlot::Control
        } else if mine & self.barrier != 0 {
            IssueSlot::Barrier
        } else {
            IssueSlot::Ended
        }
    }

    /// Names the reason for which a wavefront cannot issue by itself. One that competes for a
    /// scheduler or a pipe waits for nothing of its own.
    pub(crate) fn wait_reason(&self, slot: u32) -> Option<&'static str> {
        let reasons = [
            (self.ended, "drains"),
            (self.barrier, "barrier"),
            (self.paused, "fixed latency"),
            (self.fence, "fence"),
            (self.hazard & self.hazard_memory, "memory"),
            (self.hazard, "scoreboard"),
            (self.fetched & self.starved, "fetch"),
        ];
        let mut reasons = reasons.into_iter();
        let found = reasons.find(|(mask, _)| mask >> slot & 1 != 0);
        found.map(|(_, reason)| reason)
    }
}

/// The wavefront slots of a unit.
#[derive(State)]
pub(crate) struct WavefrontTable {
    /// Wavefronts by slot; grows to the highest slot used.
    slots: Vec<Wavefront>,
    masks: Masks,
    #[state(part)]
    ages: AgeMatrix,
}

impl WavefrontTable {
    pub(crate) fn new(slots: u32) -> Self {
        Self {
            slots: Vec::with_capacity(slots as usize),
            masks: Masks::default(),
            ages: AgeMatrix::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn masks(&self) -> &Masks {
        &self.masks
    }

    #[inline(always)]
    pub(crate) fn ages(&self) -> &AgeMatrix {
        &self.ages
    }

    #[inline(always)]
    pub(crate) fn slot(&self, slot: usize) -> &Wavefront {
        &self.slots[slot]
    }

    #[inline(always)]
    pub(crate) fn slot_mut(&mut self, slot: usize) -> &mut Wavefront {
        &mut self.slots[slot]
    }

    /// A wavefront that issues, and the masks.
    #[inline(always)]
    pub(crate) fn issuing(&mut self, slot: usize) -> (&mut Wavefront, &mut Masks) {
        (&mut self.slots[slot], &mut self.masks)
    }

    /// Puts a wavefront, which is paused, into the lowest free slot, of which there is one.
    pub(crate) fn place(&mut self, wavefront: Wavefront) -> usize {
        let free = (!self.masks.present).trailing_zeros() as usize;
        self.ages.arrive(free, self.masks.present);
        self.masks.present |= 1 << free;
        self.masks.paused |= 1 << free;
        // The lowest free slot is either used again or the first one never used.
        if free < self.slots.len() {
            self.slots[free] = wavefront;
        } else {
            self.slots.push(wavefront);
        }
        free
    }

    /// Frees the slots of a work-group.
    pub(crate) fn remove(&mut self, slots: u64) {
        self.masks.present &= !slots;
        self.masks.ended &= !slots;
    }

    /// Lets a wavefront do nothing for so many cycles.
    pub(crate) fn pause(&mut self, slot: usize, cycles: u32, wheel: &mut Wheel, now: Cycle) {
        self.suspend(slot);
        let event = Event::Resume { slot: slot as u8 };
        wheel.push(now, u64::from(cycles), event);
    }

    /// Lets a wavefront do nothing until it is resumed.
    pub(crate) fn suspend(&mut self, slot: usize) {
        self.masks.fetched &= !(1 << slot);
        self.masks.paused |= 1 << slot;
    }

    /// Resumes a paused wavefront, so that it requests its next record.
    pub(crate) fn resume(&mut self, slot: usize) {
        self.masks.paused &= !(1 << slot);
        self.masks.fetched |= 1 << slot;
    }

    /// A wavefront waits at a barrier.
    pub(crate) fn wait_at_barrier(&mut self, slot: usize) {
        self.masks.fetched &= !(1 << slot);
        self.masks.barrier |= 1 << slot;
    }

    /// Lets those of `slots` that wait at a barrier go on after so many cycles.
    pub(crate) fn release_barrier(
        &mut self,
        slots: u64,
        cycles: u32,
        wheel: &mut Wheel,
        now: Cycle,
    ) {
        let mut waiting = self.masks.barrier & slots;
        self.masks.barrier &= !waiting;
        while waiting != 0 {
            let slot = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            self.pause(slot, cycles, wheel, now);
        }
    }

    /// Ends a wavefront that has no records left.
    pub(crate) fn end(&mut self, slot: usize) {
        let bit = 1_u64 << slot;
        self.masks.fetched &= !bit;
        self.masks.ended |= bit;
    }

    /// Advances a wavefront to its next record for issue, which `next` finds. The wavefront must be
    /// marked as fetched and carry no other mark. Returns false if no record is left.
    #[inline(always)]
    pub(crate) fn advance<V: Variant>(
        &mut self,
        slot: usize,
        config: &UnitConfig,
        readonly: &mut ReadonlyPorts,
        next: impl FnOnce(&mut Wavefront) -> bool,
        wheel: &mut Wheel,
        now: Cycle,
    ) -> bool {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.slots[slot];
        if !next(wavefront) {
            return false;
        }
        let decoded = &config.decoded.instructions[wavefront.next as usize];
        if !decoded.is_free {
            if decoded.pipe != NO_PIPE {
                self.masks.next_of_pipe[usize::from(decoded.pipe)] |= bit;
                self.masks.next_pipe |= bit;
            }
            match decoded.action {
                Action::Memory if wavefront.touches_memory() => match wavefront.record.space {
                    space
                        if V::LIMITED
                            && let Some(access) = decoded.access
                            && readonly.note_next(bit, access, space) => {}
                    Space::Global | Space::Local => self.masks.next_load_store |= bit,
                    Space::Shared => self.masks.next_local |= bit,
                    _ => {}
                },
                Action::Fence if wavefront.has_stores() => self.masks.fence |= bit,
                _ => {}
            }
        }
        let hazard = wavefront.scoreboard.hazard(&decoded.uses, now);
        self.masks.note_hazard(hazard, bit, wheel);
        true
    }

    /// Notes whether the next instruction of a wavefront is in its buffer.
    #[inline]
    pub(crate) fn note_instruction(&mut self, slot: usize, is_there: bool) {
        self.masks.starved = self.masks.starved & !(1 << slot) | u64::from(!is_there) << slot;
    }

    /// The operands of these wavefronts are there.
    #[inline(always)]
    pub(crate) fn operands_came(&mut self, ready: u64) {
        self.masks.hazard &= !ready;
    }

    /// Returns the cycle from which the next instruction of a wavefront waits for memory alone, if
    /// it waits for what memory writes for an instruction.
    pub(crate) fn others_of_wait(
        &self,
        slot: usize,
        instruction: u32,
        decoded: &DecodedProgram,
    ) -> Option<Cycle> {
        let waits = self.masks.hazard & self.masks.hazard_memory;
        let wavefront = &self.slots[slot];
        let uses = &decoded.instructions[wavefront.next as usize].uses;
        let writes = &decoded.instructions[instruction as usize].writes.registers;
        let is_for_it = waits >> slot & 1 != 0 && uses.intersects(writes);
        is_for_it.then(|| wavefront.scoreboard.last_result(uses))
    }

    /// Memory has written the registers of an instruction; whether the wavefront waited for memory
    /// and does not any more.
    pub(crate) fn write_back(
        &mut self,
        slot: usize,
        instruction: u32,
        decoded: &DecodedProgram,
        wheel: &mut Wheel,
        now: Cycle,
    ) -> bool {
        let writes = &decoded.instructions[instruction as usize].writes;
        self.slots[slot].scoreboard.release(&writes.registers);
        self.look_again(slot, decoded, wheel, now)
    }

    /// Re-evaluates the hazard of a wavefront after a change. Returns true if a wait for memory has
    /// ended.
    pub(crate) fn look_again(
        &mut self,
        slot: usize,
        decoded: &DecodedProgram,
        wheel: &mut Wheel,
        now: Cycle,
    ) -> bool {
        let bit = 1_u64 << slot;
        if self.masks.hazard & bit == 0 {
            return false;
        }
        let waited = self.masks.hazard_memory & bit;
        self.masks.hazard &= !bit;
        self.masks.hazard_memory &= !bit;
        let wavefront = &mut self.slots[slot];
        let uses = &decoded.instructions[wavefront.next as usize].uses;
        let hazard = wavefront.scoreboard.hazard(uses, now);
        self.masks.note_hazard(hazard, bit, wheel);
        waited & !self.masks.hazard_memory != 0
    }

    /// One access less is under way for a wavefront; whether it has ended and that was the last.
    #[inline]
    pub(crate) fn end_access(&mut self, slot: usize) -> bool {
        self.slots[slot].end_access() && self.masks.ended >> slot & 1 != 0
    }

    /// Records the response to a store of a wavefront. Returns true if that releases a fence.
    pub(crate) fn answer_store(&mut self, slot: usize) -> bool {
        let goes_on = self.slots[slot].answer_store() && self.masks.fence >> slot & 1 != 0;
        if goes_on {
            self.masks.fence &= !(1 << slot);
        }
        goes_on
    }

    /// Shows the wavefronts to a scheduler's policy, in a cycle that is under way or about to come.
    pub(crate) fn view(
        &self,
        now: Cycle,
        load_store_is_full: bool,
        instructions: u64,
    ) -> SchedulerView<'_> {
        let masks = &self.masks;
        SchedulerView {
            now,
            present: masks.present,
            open: masks.open(),
            waits_for_memory: masks.hazard & masks.hazard_memory | masks.fence,
            waits_for_result: masks.hazard & !masks.hazard_memory,
            waits_for_control: masks.paused
                | masks.fetched & masks.starved & !(masks.hazard | masks.fence),
            at_barrier: masks.barrier,
            ended: masks.ended,
            next_is_access: masks.next_load_store,
            load_store_is_full,
            instructions,
            ages: &self.ages,
        }
    }
}
