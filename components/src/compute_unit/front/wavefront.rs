//! One wavefront: its place in the instruction stream, its next record and its scoreboard.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;
use warpweave_trace::{Cursor, KernelTrace, Lanes, Record, Shape, Space};

use super::scoreboard::Scoreboard;
use crate::compute_unit::pipes::wheel::{Stamp, Wheel};
use crate::compute_unit::registers::Writes;
use crate::memory::Source;

/// State of the wavefront in one slot.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Wavefront {
    pub(crate) place: Placement,
    cursor: Cursor,
    /// Trace record that the wavefront issues next.
    pub(crate) record: Record,
    pub(crate) lanes: Lanes,
    /// Index of the kernel's first decoded instruction; `next` is that of the instruction to be
    /// issued next.
    code: u32,
    pub(crate) next: u32,
    /// Number of launch records issued so far.
    pub(crate) launches: u32,
    /// Number of accesses in flight whose result cycle is not known.
    in_flight: u32,
    /// Number of stores and atomics in flight.
    stores: u32,
    pub(crate) scoreboard: Scoreboard,
    /// Cycle of the latest result with a known time, and the stamp of the first such result in that
    /// cycle.
    last_result: (Cycle, Stamp),
}

/// Identity of a wavefront.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placement {
    pub(crate) kernel: u32,
    pub(crate) work_group: u32,
    /// Slot of the work-group.
    pub(crate) group_slot: u8,
    /// Index of the wavefront in its work-group.
    pub(crate) number: u8,
}

impl Placement {
    /// Tags requests of instruction `pc` of this wavefront in a slot of a unit.
    pub(crate) fn source(&self, compute_unit: u16, slot: usize, pc: u32) -> Source {
        Source {
            kernel: self.kernel,
            work_group: self.work_group,
            pc,
            compute_unit,
            wavefront_slot: slot as u8,
            work_group_slot: self.group_slot,
        }
    }
}

impl Wavefront {
    /// A wavefront at the start of `cursor`, whose kernel is decoded from instruction `code` on and
    /// uses at most `registers` registers.
    pub(crate) fn new(place: Placement, cursor: Cursor, code: u32, registers: u32) -> Self {
        Self {
            place,
            cursor,
            record: Record {
                pc: 0,
                mask: 0,
                space: Space::None,
                continues: false,
            },
            lanes: Lanes::default(),
            code,
            next: code,
            launches: 0,
            in_flight: 0,
            stores: 0,
            scoreboard: Scoreboard::new(registers),
            last_result: Default::default(),
        }
    }

    /// Tags requests of the next record.
    pub(crate) fn source(&self, compute_unit: u16, slot: usize) -> Source {
        self.place.source(compute_unit, slot, self.record.pc)
    }

    /// Moves to the next record; false at the end of the stream.
    #[inline(always)]
    pub(crate) fn advance<'a>(&mut self, kernel: impl FnOnce() -> &'a KernelTrace) -> bool {
        if !self
            .cursor
            .advance(kernel, &mut self.record, &mut self.lanes)
        {
            return false;
        }
        self.next = self.code + self.record.pc;
        true
    }

    /// Makes this the next record, with its own instruction or a given one.
    pub(crate) fn take(&mut self, record: Record, lanes: Lanes, decoded: Option<u32>) {
        self.next = decoded.unwrap_or(self.code + record.pc);
        self.record = record;
        self.lanes = lanes;
    }

    /// Reads another record from the stream, which is not the next one of the wavefront.
    pub(crate) fn read_ahead(&mut self, kernel: &KernelTrace) -> Option<(Record, Lanes)> {
        let (mut record, mut lanes) = (self.record, Lanes::default());
        let is_there = self.cursor.advance(|| kernel, &mut record, &mut lanes);
        is_there.then_some((record, lanes))
    }

    /// Registers that an instruction writes its destination registers in cycle `at`.
    #[inline(always)]
    pub(crate) fn write_at(&mut self, at: Cycle, writes: &Writes, wheel: &mut Wheel) {
        self.scoreboard.reserve(writes, at);
        let stamp = wheel.result(at);
        if at > self.last_result.0 {
            self.last_result = (at, stamp);
        }
    }

    /// An access leaves for memory; `writes` come with its last response.
    #[inline]
    pub(crate) fn begin_access(&mut self, is_store: bool, writes: Option<&Writes>) {
        self.in_flight += 1;
        self.stores += u32::from(is_store);
        if let Some(writes) = writes {
            self.scoreboard.reserve_for_memory(&writes.registers);
        }
    }

    /// Queues an access for local memory. The completion cycle of its `writes` is not yet known.
    #[inline]
    pub(crate) fn begin_local_access(&mut self, writes: Option<&Writes>) {
        self.in_flight += 1;
        if let Some(writes) = writes {
            self.scoreboard.reserve_unknown(writes);
        }
    }

    /// One access less is under way; whether it was the last.
    #[inline]
    pub(crate) fn end_access(&mut self) -> bool {
        self.in_flight -= 1;
        self.in_flight == 0
    }

    /// A store or atomic is answered; whether it was the last.
    #[inline]
    pub(crate) fn answer_store(&mut self) -> bool {
        self.stores -= 1;
        self.stores == 0
    }

    /// Returns true if a store or atomic is not answered.
    #[inline]
    pub(crate) fn has_stores(&self) -> bool {
        self.stores > 0
    }

    /// Returns true if an access is under way.
    #[inline]
    pub(crate) fn has_accesses(&self) -> bool {
        self.in_flight > 0
    }

    /// Cycle and stamp of the last result of the pipes.
    #[inline]
    pub(crate) fn last_result(&self) -> (Cycle, Stamp) {
        self.last_result
    }

    /// Returns true if the next record, of a memory instruction, goes to a memory.
    #[inline]
    pub(crate) fn touches_memory(&self) -> bool {
        touches_memory(&self.record, &self.lanes)
    }
}

/// True if a record of a memory instruction accesses a memory.
#[inline]
pub(crate) fn touches_memory(record: &Record, lanes: &Lanes) -> bool {
    record.mask != 0 && lanes.shape != Shape::None
}
