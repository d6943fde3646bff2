//! Which registers of a wavefront are still to be written.

use serde::{Deserialize, Serialize};
use warpweave_trace::{Code, RegisterSet};

/// Why an instruction cannot issue yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    /// Nothing it reads or writes is pending.
    None,
    /// It needs a register that an execution unit or local memory will write.
    Pipeline,
    /// It needs a register that a load or atomic outside the unit will write.
    Memory,
}

/// Gives the registers and predicates that a kernel uses consecutive numbers, so that nearly all
/// kernels need one machine word.
pub(super) struct Numbering {
    numbers: [u16; RegisterSet::CAPACITY as usize],
}

impl Numbering {
    pub(super) fn of(code: &Code) -> Self {
        let sets = code.instructions.iter().map(|i| i.reads.union(&i.writes));
        let used = sets.fold(RegisterSet::EMPTY, |used, set| used.union(&set));
        let mut numbers = [0; RegisterSet::CAPACITY as usize];
        for (number, register) in used.iter().enumerate() {
            numbers[usize::from(register)] = number as u16;
        }
        Self { numbers }
    }

    /// The set under the new numbers.
    pub(super) fn apply(&self, set: &RegisterSet) -> Registers {
        let mut registers = Registers::default();
        for register in set.iter() {
            let number = self.numbers[usize::from(register)];
            let bit = 1 << (number % 64);
            match usize::from(number / 64) {
                0 => registers.low |= bit,
                word => {
                    registers.high[word - 1] |= bit;
                    registers.is_wide = true;
                }
            }
        }
        registers
    }
}

/// A set of renumbered registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    low: u64,
    high: [u64; 4],
    /// Some number is 64 or more; otherwise `high` is not looked at.
    is_wide: bool,
}

/// What a wavefront keeps of the registers of its next instruction: enough for nearly all kernels.
#[derive(Clone, Copy)]
pub(super) struct Uses {
    pub(super) low: u64,
    /// There are more than `low`: the decoded instruction has all.
    pub(super) is_wide: bool,
}

impl Uses {
    /// Those of an instruction that was not looked at.
    pub(super) const UNKNOWN: Self = Self {
        low: 0,
        is_wide: true,
    };

    #[inline]
    pub(super) fn of(registers: &Registers) -> Self {
        Self {
            low: registers.low,
            is_wide: registers.is_wide,
        }
    }
}

/// Pending registers of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    low: u64,
    high: [u64; 4],
}

impl Pending {
    #[inline]
    fn intersects(&self, set: &Registers) -> bool {
        self.low & set.low != 0
            || set.is_wide && self.high.iter().zip(&set.high).any(|(a, b)| a & b != 0)
    }

    #[inline]
    fn insert(&mut self, set: &Registers) {
        self.low |= set.low;
        if set.is_wide {
            self.high = std::array::from_fn(|word| self.high[word] | set.high[word]);
        }
    }

    #[inline]
    fn remove(&mut self, set: &Registers) {
        self.low &= !set.low;
        if set.is_wide {
            self.high = std::array::from_fn(|word| self.high[word] & !set.high[word]);
        }
    }
}

/// The pending destination registers of one wavefront.
///
/// An instruction issues only when no register it reads (read after write) or writes (write after
/// write) is pending, so pending sets of instructions in flight never overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scoreboard {
    all: Pending,
    memory: Pending,
}

impl Scoreboard {
    /// Whether an instruction that touches the registers `uses` (reads and writes) must wait.
    #[inline]
    pub(super) fn hazard(&self, uses: &Registers) -> Hazard {
        if !self.all.intersects(uses) {
            Hazard::None
        } else if self.memory.intersects(uses) {
            Hazard::Memory
        } else {
            Hazard::Pipeline
        }
    }

    /// As [`Scoreboard::hazard`], of an instruction whose registers are all among the first 64.
    #[inline]
    pub(super) fn low_hazard(&self, uses: u64) -> Hazard {
        if self.all.low & uses == 0 {
            Hazard::None
        } else if self.memory.low & uses != 0 {
            Hazard::Memory
        } else {
            Hazard::Pipeline
        }
    }

    /// An execution unit will write these.
    #[inline]
    pub(super) fn reserve(&mut self, writes: &Registers) {
        self.all.insert(writes);
    }

    /// A response from memory will write these.
    #[inline]
    pub(super) fn reserve_for_memory(&mut self, writes: &Registers) {
        self.all.insert(writes);
        self.memory.insert(writes);
    }

    /// These are written.
    #[inline]
    pub(super) fn release(&mut self, writes: &Registers) {
        self.all.remove(writes);
        self.memory.remove(writes);
    }
}

#[cfg(test)]
mod tests {
    use warpweave_trace::{Class, Instruction};

    use super::*;

    /// Sets of a kernel that uses every register, or those named alone.
    fn sets<const N: usize>(every: bool, sets: [&[u16]; N]) -> [Registers; N] {
        let sets = sets.map(|set| set.iter().copied().collect::<RegisterSet>());
        let mut code = Code::default();
        let every: RegisterSet = (0..if every { 320 } else { 0 }).collect();
        for reads in sets.into_iter().chain([every]) {
            code.instructions.push(Instruction {
                reads,
                ..Instruction::new("any", Class::IntAdd)
            });
        }
        let numbering = Numbering::of(&code);
        sets.map(|set| numbering.apply(&set))
    }

    #[test]
    fn readers_and_writers_of_a_pending_register_wait_and_others_do_not() {
        for every in [false, true] {
            let [writes, reader, writer, other] =
                sets(every, [&[1, 256], &[1, 2], &[256], &[2, 257, 65]]);
            let mut board = Scoreboard::default();
            board.reserve(&writes);
            assert_eq!(board.hazard(&reader), Hazard::Pipeline);
            assert_eq!(board.hazard(&writer), Hazard::Pipeline);
            assert_eq!(board.hazard(&other), Hazard::None);
            board.release(&writes);
            assert_eq!(board.hazard(&writes), Hazard::None);
        }
    }

    #[test]
    fn a_wait_for_memory_is_named_as_such_until_the_data_come() {
        for every in [false, true] {
            let [computed, loaded, both] = sets(every, [&[1], &[200], &[1, 200]]);
            let mut board = Scoreboard::default();
            board.reserve(&computed);
            board.reserve_for_memory(&loaded);
            assert_eq!(board.hazard(&both), Hazard::Memory);
            board.release(&loaded);
            assert_eq!(board.hazard(&both), Hazard::Pipeline);
        }
    }

    #[test]
    fn few_registers_fit_one_word_whatever_their_numbers() {
        let [few] = sets(false, [&[0, 63, 64, 255, 256, 319]]);
        assert_eq!((few.low, few.is_wide), (0b11_1111, false));
        let [many] = sets(true, [&[0, 64, 319]]);
        assert_eq!((many.low, many.high), (1, [1, 0, 0, 1 << 63]));
    }
}
