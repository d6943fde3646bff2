//! Scoreboard: the registers of a wavefront with pending writes.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

use crate::compute_unit::registers::{Registers, Writes};

/// Reason why an instruction cannot issue yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hazard {
    /// None of its source or destination registers is pending.
    None,
    /// It needs registers written by execution units or local memory; the value is the cycle of the
    /// last write. [`UNKNOWN`] if the local memory has not started to serve an access.
    Pipeline(Cycle),
    /// It needs a register with a pending write by a load or atomic outside the unit.
    Memory,
}

/// Cycle of a result whose time is not known yet.
pub(crate) const UNKNOWN: Cycle = Cycle::MAX;

/// Bit vector of pending registers, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    low: u64,
    high: [u64; 4],
}

impl Pending {
    fn common(&self, set: &Registers) -> Registers {
        Registers {
            low: self.low & set.low,
            high: std::array::from_fn(|word| self.high[word] & set.high[word]),
            is_wide: true,
        }
    }

    fn intersects(&self, set: &Registers) -> bool {
        let common = self.common(set);
        common.low != 0 || common.high != [0; 4]
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

/// Pending destination registers of one wavefront.
///
/// An instruction issues only if no register it reads (read after write) or writes (write after
/// write) is pending. Pending sets of instructions in flight therefore never overlap.
///
/// The write times of execution units and local memory are known in advance and need no event. An
/// elapsed write is noticed only when the register is next checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "SavedScoreboard", into = "SavedScoreboard")]
pub(crate) struct Scoreboard {
    /// Pending registers, and possibly some that have been written since.
    all: Pending,
    /// Registers in `all` that memory outside the unit writes.
    memory: Pending,
    /// Write cycle of each pending register that is not in `memory`; arbitrary for other registers.
    results: [Cycle; 64],
    /// Write cycles of registers beyond the first 64.
    more_results: Vec<Cycle>,
}

/// A scoreboard in a checkpoint, which holds every result in one list.
#[derive(Serialize, Deserialize)]
struct SavedScoreboard {
    all: Pending,
    memory: Pending,
    results: Vec<Cycle>,
}

impl From<Scoreboard> for SavedScoreboard {
    fn from(scoreboard: Scoreboard) -> Self {
        let mut results = scoreboard.results.to_vec();
        results.extend(scoreboard.more_results);
        Self {
            all: scoreboard.all,
            memory: scoreboard.memory,
            results,
        }
    }
}

impl From<SavedScoreboard> for Scoreboard {
    fn from(saved: SavedScoreboard) -> Self {
        let mut results = saved.results.into_iter();
        Self {
            all: saved.all,
            memory: saved.memory,
            results: std::array::from_fn(|_| results.next().unwrap_or_default()),
            more_results: results.collect(),
        }
    }
}

impl Scoreboard {
    /// Creates the scoreboard of a wavefront whose register numbers are below `registers`.
    pub(crate) fn new(registers: u32) -> Self {
        Self {
            all: Pending::default(),
            memory: Pending::default(),
            results: [0; 64],
            more_results: vec![0; (registers as usize).saturating_sub(64)],
        }
    }

    /// Returns the hazard of an instruction that reads or writes the registers `uses` in cycle
    /// `now`.
    #[inline(always)]
    pub(crate) fn hazard(&mut self, uses: &Registers, now: Cycle) -> Hazard {
        if uses.is_wide {
            return self.wide_hazard(uses, now);
        }
        let low = self.all.low & uses.low;
        if low == 0 {
            return Hazard::None;
        }
        if self.memory.low & low != 0 {
            return Hazard::Memory;
        }
        let (mut left, mut last) = (low, 0);
        while left != 0 {
            last = last.max(self.results[left.trailing_zeros() as usize % 64]);
            left &= left - 1;
        }
        if last <= now {
            self.all.low &= !low;
            return Hazard::None;
        }
        Hazard::Pipeline(last)
    }

    /// Handles [`Scoreboard::hazard`] for an instruction with registers beyond the first 64.
    #[inline(never)]
    fn wide_hazard(&mut self, uses: &Registers, now: Cycle) -> Hazard {
        let found = self.all.common(uses);
        if self.memory.intersects(&found) {
            return Hazard::Memory;
        }
        match found.iter().map(|register| self.result(register)).max() {
            Some(last) if last > now => Hazard::Pipeline(last),
            _ => {
                self.all.remove(&found);
                Hazard::None
            }
        }
    }

    /// Returns the cycle of the last write, by execution units or local memory, to the pending
    /// registers of a set; 0 if there is none.
    pub(crate) fn last_result(&self, uses: &Registers) -> Cycle {
        let mut of_units = self.all;
        of_units.remove(&self.memory.common(uses));
        let results = of_units
            .common(uses)
            .iter()
            .map(|register| self.result(register));
        results.max().unwrap_or(0)
    }

    fn result(&self, register: usize) -> Cycle {
        match register.checked_sub(64) {
            None => self.results[register],
            Some(more) => self.more_results[more],
        }
    }

    fn set_result(&mut self, register: usize, at: Cycle) {
        match register.checked_sub(64) {
            None => self.results[register] = at,
            Some(more) => self.more_results[more] = at,
        }
    }

    /// Marks registers that an execution unit or local memory will write in cycle `at`.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, writes: &Writes, at: Cycle) {
        if let Some(register) = writes.one {
            self.all.low |= writes.registers.low;
            self.results[usize::from(register) % 64] = at;
        } else {
            self.reserve_several(&writes.registers, at);
        }
    }

    #[inline(never)]
    fn reserve_several(&mut self, writes: &Registers, at: Cycle) {
        self.all.insert(writes);
        writes
            .iter()
            .for_each(|register| self.set_result(register, at));
    }

    /// Local memory will write these, in a cycle that is not known yet.
    #[inline]
    pub(crate) fn reserve_unknown(&mut self, writes: &Writes) {
        self.reserve(writes, UNKNOWN);
    }

    /// Marks registers that a memory response will write.
    #[inline]
    pub(crate) fn reserve_for_memory(&mut self, writes: &Registers) {
        self.all.insert(writes);
        self.memory.insert(writes);
    }

    /// Clears registers that a memory response has written.
    #[inline]
    pub(crate) fn release(&mut self, writes: &Registers) {
        self.all.remove(writes);
        self.memory.remove(writes);
    }
}

#[cfg(test)]
mod tests {
    use warpweave_trace::{Class, Code, Instruction, RegisterSet};

    use super::*;
    use crate::compute_unit::registers::Numbering;

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
    fn readers_and_writers_of_a_pending_register_wait_and_others_do_not() {
        for every in [false, true] {
            let [writes, reader, writer, other] =
                sets(every, [&[1, 256], &[1, 2], &[256], &[2, 257, 65]]);
            let mut board = Scoreboard::new(320);
            board.reserve(&Writes::of(writes), 9);
            for now in 0..12 {
                let expected = if now < 9 {
                    Hazard::Pipeline(9)
                } else {
                    Hazard::None
                };
                assert_eq!(board.hazard(&reader, now), expected);
                assert_eq!(board.hazard(&writer, now), expected);
                assert_eq!(board.hazard(&other, now), Hazard::None);
            }
        }
    }

    #[test]
    fn the_last_of_several_results_counts() {
        for every in [false, true] {
            let [first, second, both] = sets(every, [&[1], &[200], &[1, 200, 3]]);
            let mut board = Scoreboard::new(320);
            board.reserve(&Writes::of(first), 5);
            board.reserve(&Writes::of(second), UNKNOWN);
            assert_eq!(board.hazard(&both, 3), Hazard::Pipeline(UNKNOWN));
            assert_eq!(board.hazard(&first, 3), Hazard::Pipeline(5));
            board.reserve(&Writes::of(second), 7);
            assert_eq!(board.hazard(&both, 6), Hazard::Pipeline(7));
            assert_eq!(board.hazard(&both, 7), Hazard::None);
        }
    }

    #[test]
    fn a_wait_for_memory_is_named_as_such_until_the_data_come() {
        for every in [false, true] {
            let [computed, loaded, both] = sets(every, [&[1], &[200], &[1, 200]]);
            let mut board = Scoreboard::new(320);
            board.reserve(&Writes::of(computed), 9);
            board.reserve_for_memory(&loaded);
            assert_eq!(board.hazard(&both, 1), Hazard::Memory);
            assert_eq!(board.hazard(&both, 9), Hazard::Memory);
            board.release(&loaded);
            assert_eq!(board.hazard(&both, 1), Hazard::Pipeline(9));
            assert_eq!(board.hazard(&both, 9), Hazard::None);
        }
    }

    #[test]
    fn what_is_saved_is_restored() {
        let [computed, loaded, both] = sets(true, [&[1, 256], &[200], &[1, 256, 200]]);
        let mut board = Scoreboard::new(320);
        board.reserve(&Writes::of(computed), 9);
        board.reserve_for_memory(&loaded);
        let mut restored = Scoreboard::from(SavedScoreboard::from(board));
        assert_eq!(restored.hazard(&computed, 8), Hazard::Pipeline(9));
        assert_eq!(restored.hazard(&both, 9), Hazard::Memory);
    }
}
