//! State of one wavefront: registers as lane vectors, private memory, stack of paths.

use warpweave_trace::StreamWriter;

use crate::exec::Machine;
use crate::exec::observe::Observer;
use crate::exec::spin::Spin;
use crate::exec::stack::{Activation, Path};
use crate::ops::{Lanes32, Lanes64, NO_PC, NO_REGISTER, Pred, Special, Src};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Waiting { barrier: u32 },
    Done,
}

pub(super) struct Wavefront {
    /// Its work-group.
    pub(super) group: u32,
    /// Number in the work-group.
    pub(super) index: u32,
    pub(super) registers: Registers,
    pub(super) private: Private,
    pub(super) activations: Vec<Activation>,
    pub(super) paths: Vec<Path>,
    /// Carry flag of each lane.
    pub(super) carry: u32,
    pub(super) state: State,
    pub(super) writer: StreamWriter,
    /// Calls that ended since the observer looked: (caller, callee). Nobody looks, nothing is kept.
    pub(super) ended: Vec<(Activation, Activation)>,
    pub(super) spin: Spin,
    /// What the barrier it waits at will write: (destination, lanes).
    pub(super) barrier_result: Option<(crate::ops::Barrier, u32)>,
}

impl Wavefront {
    pub(super) fn new<O: Observer>(machine: &Machine<'_, O>, group: u32, index: u32) -> Self {
        let frame = machine.kernel.frames[0];
        let private_bytes = machine.kernel.private_base + frame.bytes;
        let threads: u32 = machine.block.iter().product();
        let lanes = (threads - index * 32).min(32);
        let mask = if lanes == 32 {
            u32::MAX
        } else {
            (1 << lanes) - 1
        };
        let specials = machine
            .kernel
            .tables
            .specials
            .iter()
            .map(|&s| special(machine, group, index, s));
        let activation = Activation {
            function: 0,
            site: 0,
            pc: NO_PC,
            mask,
            words: 0,
            doubles: 0,
            predicates: 0,
            private: machine.kernel.private_base,
            private_end: private_bytes,
            paths: 0,
        };
        Self {
            group,
            index,
            registers: Registers {
                words: vec![Box::new([0; 32]); frame.words],
                doubles: vec![Box::new([0; 32]); frame.doubles],
                predicates: vec![0; frame.predicates],
                specials: specials.collect(),
                word: 0,
                double: 0,
                predicate: 0,
            },
            private: Private {
                words: vec![0; private_bytes as usize / 4 * 32],
                bytes: private_bytes,
            },
            activations: vec![activation],
            paths: vec![Path {
                pc: frame.entry,
                meet: NO_PC,
                mask,
            }],
            carry: 0,
            state: State::Running,
            writer: StreamWriter::new(),
            ended: Vec::new(),
            spin: Spin::default(),
            barrier_result: None,
        }
    }

    /// The next instruction.
    pub(super) fn pc(&self) -> u32 {
        self.paths.last().map_or(0, |path| path.pc)
    }

    pub(super) fn active(&self) -> u32 {
        self.paths.last().map_or(0, |path| path.mask)
    }

    /// Start of the current frame in private memory.
    pub(super) fn frame_base(&self) -> u32 {
        self.activations
            .last()
            .map_or(0, |activation| activation.private)
    }
}

/// Registers of all open calls, one after the other. Each is a box of its own, so that a result computed
/// elsewhere becomes the register without a copy.
#[allow(clippy::vec_box)] // See above.
pub(super) struct Registers {
    pub(super) words: Vec<Box<Lanes32>>,
    pub(super) doubles: Vec<Box<Lanes64>>,
    pub(super) predicates: Vec<u32>,
    specials: Vec<Lanes32>,
    /// Start of the current function's registers.
    pub(super) word: usize,
    pub(super) double: usize,
    pub(super) predicate: usize,
}

impl Registers {
    #[inline(always)]
    pub(super) fn get32<'r>(&'r self, constants: &'r [Lanes32], source: Src) -> &'r Lanes32 {
        let at = usize::from(source.0);
        if source.0 < Src::CONSTANT {
            &self.words[self.word + at]
        } else if source.0 < Src::SPECIAL {
            &constants[at - usize::from(Src::CONSTANT)]
        } else {
            &self.specials[at - usize::from(Src::SPECIAL)]
        }
    }

    #[inline(always)]
    pub(super) fn get64<'r>(&'r self, constants: &'r [Lanes64], source: Src) -> &'r Lanes64 {
        let at = usize::from(source.0);
        if source.0 < Src::CONSTANT {
            &self.doubles[self.double + at]
        } else {
            &constants[at - usize::from(Src::CONSTANT)]
        }
    }

    /// A register that is written whole.
    #[inline(always)]
    pub(super) fn word32(&mut self, d: u16) -> &mut Lanes32 {
        &mut self.words[self.word + usize::from(d)]
    }

    /// A 64-bit register that is written whole.
    #[inline(always)]
    pub(super) fn word64(&mut self, d: u16) -> &mut Lanes64 {
        &mut self.doubles[self.double + usize::from(d)]
    }

    #[inline(always)]
    pub(super) fn put32(&mut self, d: u16, mask: u32, value: &Lanes32) {
        let register = &mut self.words[self.word + usize::from(d)];
        if mask == u32::MAX {
            **register = *value;
        } else {
            blend32(register, mask, value);
        }
    }

    #[inline(always)]
    pub(super) fn put64(&mut self, d: u16, mask: u32, value: &Lanes64) {
        let register = &mut self.doubles[self.double + usize::from(d)];
        if mask == u32::MAX {
            **register = *value;
        } else {
            blend64(register, mask, value);
        }
    }

    /// As [`Self::put32`]; what is left of `value` is not defined.
    #[inline(always)]
    pub(super) fn swap32(&mut self, d: u16, mask: u32, value: &mut Box<Lanes32>) {
        let register = &mut self.words[self.word + usize::from(d)];
        if mask == u32::MAX {
            std::mem::swap(register, value);
        } else {
            blend32(register, mask, value);
        }
    }

    /// As [`Self::put64`]; what is left of `value` is not defined.
    #[inline(always)]
    pub(super) fn swap64(&mut self, d: u16, mask: u32, value: &mut Box<Lanes64>) {
        let register = &mut self.doubles[self.double + usize::from(d)];
        if mask == u32::MAX {
            std::mem::swap(register, value);
        } else {
            blend64(register, mask, value);
        }
    }

    /// Writes a word unless the destination is thrown away.
    pub(super) fn put32_unless_discarded(&mut self, d: u16, mask: u32, value: &Lanes32) {
        if d != NO_REGISTER {
            self.put32(d, mask, value);
        }
    }

    #[inline(always)]
    pub(super) fn predicate(&self, predicate: Pred) -> u32 {
        let at = predicate.0 & !Pred::NEGATED;
        let bits = if at == Pred::TRUE {
            u32::MAX
        } else {
            self.predicates[self.predicate + usize::from(at)]
        };
        if predicate.0 & Pred::NEGATED == 0 {
            bits
        } else {
            !bits
        }
    }

    #[inline(always)]
    pub(super) fn put_predicate(&mut self, d: u16, mask: u32, bits: u32) {
        if d != Pred::NONE {
            let register = &mut self.predicates[self.predicate + usize::from(d)];
            *register = *register & !mask | bits & mask;
        }
    }
}

#[inline(never)]
fn blend32(register: &mut Lanes32, mask: u32, value: &Lanes32) {
    for lane in 0..32 {
        if mask & 1 << lane != 0 {
            register[lane] = value[lane];
        }
    }
}

#[inline(never)]
fn blend64(register: &mut Lanes64, mask: u32, value: &Lanes64) {
    for lane in 0..32 {
        if mask & 1 << lane != 0 {
            register[lane] = value[lane];
        }
    }
}

/// Private memory of 32 threads, interleaved word by word as hardware does it, so that it can grow
/// with the depth of calls.
pub(super) struct Private {
    words: Vec<u32>,
    /// Bytes per thread.
    pub(super) bytes: u32,
}

impl Private {
    pub(super) fn resize(&mut self, bytes: u32) {
        self.bytes = bytes;
        let words = bytes.div_ceil(4) as usize * 32;
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }

    /// Reads up to eight naturally aligned bytes.
    pub(super) fn read(&self, lane: usize, offset: usize, bytes: u32) -> u64 {
        let at = offset / 4 * 32 + lane;
        let word = u64::from(self.words[at]);
        match bytes {
            8 => word | u64::from(self.words[at + 32]) << 32,
            4 => word,
            _ => word >> (8 * (offset % 4)) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Writes up to eight naturally aligned bytes.
    pub(super) fn write(&mut self, lane: usize, offset: usize, bytes: u32, value: u64) {
        let at = offset / 4 * 32 + lane;
        match bytes {
            8 => {
                self.words[at] = value as u32;
                self.words[at + 32] = (value >> 32) as u32;
            }
            4 => self.words[at] = value as u32,
            _ => {
                let shift = 8 * (offset % 4);
                let ones = ((1u32 << (8 * bytes)) - 1) << shift;
                self.words[at] = self.words[at] & !ones | ((value as u32) << shift) & ones;
            }
        }
    }
}

fn special<O: Observer>(
    machine: &Machine<'_, O>,
    group: u32,
    index: u32,
    special: Special,
) -> Lanes32 {
    let [x, y, _] = machine.block;
    let [gx, gy, _] = machine.grid;
    let group_id = [group % gx, group / gx % gy, group / gx / gy];
    std::array::from_fn(|lane| {
        let lane = lane as u32;
        let thread = index * 32 + lane;
        let bit = 1u32 << lane;
        match special {
            Special::ThreadId(axis) => [thread % x, thread / x % y, thread / x / y][axis],
            Special::BlockSize(axis) => machine.block[axis],
            Special::GroupId(axis) => group_id[axis],
            Special::GridSize(axis) => machine.grid[axis],
            Special::LaneId => lane,
            Special::MaskEq => bit,
            Special::MaskLe => bit | (bit - 1),
            Special::MaskLt => bit - 1,
            Special::MaskGe => !(bit - 1),
            Special::MaskGt => !(bit | (bit - 1)),
            Special::DynamicSharedBytes => machine.dynamic_local_bytes,
            Special::TotalSharedBytes => {
                machine.dynamic_local_bytes + machine.kernel.code().static_local_bytes
            }
        }
    })
}
