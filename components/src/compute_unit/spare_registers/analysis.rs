//! Analysis of a loop: two iterations that tag its registers and find the loads to prefetch.

use serde::{Deserialize, Serialize};
use warpweave_trace::{Class, Code, Instruction, Lanes, ReadPath, Record, Space};

use super::plan::{Pair, Target};
use super::slices::{Executed, head_slice, tail_slice};
use super::tags::{Change, Tags};

/// Most instructions of an iteration that is analysed.
const ITERATION_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Pass {
    Values,
    Loads,
}

/// A load as the first pass saw it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    record: Record,
    lanes: Lanes,
}

/// Strided load found in the second pass, with its number among the loads.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Head {
    load: u8,
    pair: Pair,
}

/// Analysis of one loop, which watches one iteration at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Analysis {
    pub(super) kernel: u32,
    pub(super) header: u32,
    pub(super) pass: Pass,
    /// Slot of the wavefront whose iteration is watched; none while the analysis waits for one.
    pub(super) slot: Option<u8>,
    tags: Tags,
    /// Loads of the first pass, if the same wavefront makes the second in the next iteration.
    seen: Vec<Seen>,
    executed: Vec<Executed>,
    heads: Vec<Head>,
}

/// True if a load may be prefetched: by the read-only opcode from global memory.
pub(super) fn is_eligible(instruction: &Instruction) -> bool {
    instruction.class == Class::Load
        && instruction.space == Space::Global
        && instruction.hints.path == ReadPath::NonCoherent
}

/// Returns the stride between two executions of a load: the same for all lanes active in both, and
/// not 0.
pub(super) fn stride_between(
    (mask, lanes): (u32, &Lanes),
    (later_mask, later): (u32, &Lanes),
) -> Option<i64> {
    let mut common = lanes
        .iter(mask & later_mask)
        .zip(later.iter(mask & later_mask))
        .map(|((_, before), (_, after))| after.wrapping_sub(before) as i64);
    let stride = common.next()?;
    (stride != 0 && common.all(|other| other == stride)).then_some(stride)
}

impl Analysis {
    /// Begins the first pass with a wavefront that begins an iteration.
    pub(super) fn new(kernel: u32, header: u32, slot: u8, literal_table: bool) -> Self {
        Self {
            kernel,
            header,
            pass: Pass::Values,
            slot: Some(slot),
            tags: Tags::new(literal_table),
            seen: Vec::new(),
            executed: Vec::new(),
            heads: Vec::new(),
        }
    }

    pub(super) fn is_of(&self, kernel: u32, header: u32) -> bool {
        (self.kernel, self.header) == (kernel, header)
    }

    pub(super) fn end_values(&mut self) {
        self.pass = Pass::Loads;
        self.slot = None;
        self.tags.begin_pass();
    }

    /// Begins the second pass with a wavefront, which made the first or did not.
    pub(super) fn begin_loads(&mut self, slot: u8, made_first: bool) {
        self.slot = Some(slot);
        if !made_first {
            self.seen.clear();
        }
    }

    /// Takes over an instruction of the watched wavefront.
    pub(super) fn watch(&mut self, code: &Code, record: &Record, lanes: &Lanes) {
        let Some(instruction) = code.instructions.get(record.pc as usize) else {
            return;
        };
        if record.continues {
            return;
        }
        match self.pass {
            Pass::Values if is_eligible(instruction) => self.seen.push(Seen {
                record: *record,
                lanes: lanes.clone(),
            }),
            Pass::Values => {}
            Pass::Loads => {
                if is_eligible(instruction) {
                    self.classify(code, instruction, record, lanes);
                }
                if self.executed.len() < ITERATION_MAX {
                    let executed = Executed::new(record.pc, instruction, &self.tags);
                    self.executed.push(executed);
                }
            }
        }
        self.tags.step(instruction);
    }

    /// Decides whether a load is a head or a tail.
    fn classify(&mut self, code: &Code, load: &Instruction, record: &Record, lanes: &Lanes) {
        let tag = self.tags.address(load);
        let pc = record.pc;
        let is_known = |head: &Head| {
            head.pair.head.pc == pc || head.pair.tail.as_ref().is_some_and(|tail| tail.pc == pc)
        };
        if self.heads.iter().any(is_known) {
            return;
        }
        if tag.load != 0 {
            let head = self.heads.iter_mut().find(|head| head.load == tag.load);
            if let Some(head) = head
                && head.pair.tail.is_none()
                && let Some(slice) = tail_slice(&self.executed, code, head.pair.head.pc, load)
            {
                head.pair.tail = Some(Target { pc, slice });
            }
        } else if tag.change == Change::Stride && self.has_stride(record, lanes) {
            self.heads.push(Head {
                load: self.tags.next_load(),
                pair: Pair {
                    head: Target {
                        pc,
                        slice: head_slice(&self.executed, code, load),
                    },
                    tail: None,
                },
            });
        }
    }

    /// True unless the first pass shows that the load's addresses have no common stride.
    fn has_stride(&self, record: &Record, lanes: &Lanes) -> bool {
        let seen = self.seen.iter().find(|seen| seen.record.pc == record.pc);
        seen.is_none_or(|seen| {
            let before = (seen.record.mask, &seen.lanes);
            seen.record.mask & record.mask == 0
                || stride_between(before, (record.mask, lanes)).is_some()
        })
    }

    /// Returns the loads to prefetch, at most so many heads in program order.
    pub(super) fn pairs(self, most: u32) -> Vec<Pair> {
        let pairs = self.heads.into_iter().map(|head| head.pair);
        pairs.take(most as usize).collect()
    }
}
