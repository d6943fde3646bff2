//! Sets of registers under the numbers that a kernel uses.

use warpweave_trace::{Code, RegisterSet};

/// Assigns consecutive numbers to the registers and predicates used by a kernel, so that nearly all
/// kernels need one machine word.
pub(crate) struct Numbering {
    numbers: [u16; RegisterSet::CAPACITY as usize],
    count: u32,
}

impl Numbering {
    pub(crate) fn of(code: &Code) -> Self {
        let sets = code.instructions.iter().map(|i| i.reads.union(&i.writes));
        let used = sets.fold(RegisterSet::EMPTY, |used, set| used.union(&set));
        let mut numbers = [0; RegisterSet::CAPACITY as usize];
        for (number, register) in used.iter().enumerate() {
            numbers[usize::from(register)] = number as u16;
        }
        let count = used.len() as u32;
        Self { numbers, count }
    }

    /// Returns how many registers have a number.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the set with renumbered registers.
    pub(crate) fn apply(&self, set: &RegisterSet) -> Registers {
        let mut registers = Registers::default();
        for register in set.iter() {
            registers.insert(self.numbers[usize::from(register)]);
        }
        registers
    }
}

/// Set of renumbered registers, as a bit vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) low: u64,
    pub(crate) high: [u64; 4],
    /// True if some number is 64 or more; otherwise `high` is ignored.
    pub(crate) is_wide: bool,
}

/// Set of registers that an instruction writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) registers: Registers,
    /// Register number, if the set has one register and that is among the first 64.
    pub(crate) one: Option<u8>,
}

impl Writes {
    pub(crate) fn of(registers: Registers) -> Self {
        let is_one = registers.low.is_power_of_two() && !registers.is_wide;
        let number = registers.low.trailing_zeros() as u8;
        Self {
            registers,
            one: is_one.then_some(number),
        }
    }
}

impl Registers {
    /// Adds a register by number, below 320.
    pub(crate) fn insert(&mut self, number: u16) {
        let bit = 1 << (number % 64);
        match usize::from(number / 64) {
            0 => self.low |= bit,
            word => {
                self.high[word - 1] |= bit;
                self.is_wide = true;
            }
        }
    }

    /// Returns true if both have a register in common.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        let mut high = self.high.iter().zip(&other.high);
        let is_wide = self.is_wide && other.is_wide;
        self.low & other.low != 0 || is_wide && high.any(|(mine, others)| mine & others != 0)
    }

    /// Returns the numbers in the set in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let [second, third, fourth, fifth] = self.high;
        let words = [self.low, second, third, fourth, fifth];
        (0..words.len()).flat_map(move |word| bits(words[word]).map(move |bit| 64 * word + bit))
    }
}

/// Returns the indices of the set bits in ascending order.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use warpweave_trace::{Class, Instruction};

    use super::*;

    /// Renumbers sets of a kernel that uses every register, or only the registers in the sets.
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
    fn few_registers_fit_one_word_whatever_their_numbers() {
        let [few] = sets(false, [&[0, 63, 64, 255, 256, 319]]);
        assert_eq!((few.low, few.is_wide), (0b11_1111, false));
        let [many] = sets(true, [&[0, 64, 319]]);
        assert_eq!((many.low, many.high), (1, [1, 0, 0, 1 << 63]));
    }
}
