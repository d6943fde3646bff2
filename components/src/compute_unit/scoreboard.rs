//! Which registers of a wavefront are still to be written.

use warpweave_trace::RegisterSet;

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

/// The pending destination registers of one wavefront.
///
/// An instruction issues only when no register it reads (read after write) or writes (write after
/// write) is pending, so pending sets of instructions in flight never overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scoreboard {
    all: RegisterSet,
    memory: RegisterSet,
}

impl Scoreboard {
    /// Whether an instruction that touches the registers `uses` (reads and writes) must wait.
    #[inline]
    pub(super) fn hazard(&self, uses: &RegisterSet) -> Hazard {
        if !self.all.intersects(uses) {
            Hazard::None
        } else if self.memory.intersects(uses) {
            Hazard::Memory
        } else {
            Hazard::Pipeline
        }
    }

    /// An execution unit will write these.
    #[inline]
    pub(super) fn reserve(&mut self, writes: &RegisterSet) {
        self.all = self.all.union(writes);
    }

    /// A response from memory will write these.
    #[inline]
    pub(super) fn reserve_for_memory(&mut self, writes: &RegisterSet) {
        self.all = self.all.union(writes);
        self.memory = self.memory.union(writes);
    }

    /// These are written.
    #[inline]
    pub(super) fn release(&mut self, writes: &RegisterSet) {
        self.all = self.all.difference(writes);
        self.memory = self.memory.difference(writes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(registers: &[u16]) -> RegisterSet {
        registers.iter().copied().collect()
    }

    #[test]
    fn readers_and_writers_of_a_pending_register_wait_and_others_do_not() {
        let mut board = Scoreboard::default();
        board.reserve(&set(&[1, 256]));
        assert_eq!(board.hazard(&set(&[1, 2])), Hazard::Pipeline);
        assert_eq!(board.hazard(&set(&[256])), Hazard::Pipeline);
        assert_eq!(board.hazard(&set(&[2, 257])), Hazard::None);
        board.release(&set(&[1, 256]));
        assert_eq!(board.hazard(&set(&[1, 256])), Hazard::None);
    }

    #[test]
    fn a_wait_for_memory_is_named_as_such_until_the_data_come() {
        let mut board = Scoreboard::default();
        board.reserve(&set(&[1]));
        board.reserve_for_memory(&set(&[2]));
        assert_eq!(board.hazard(&set(&[1, 2])), Hazard::Memory);
        board.release(&set(&[2]));
        assert_eq!(board.hazard(&set(&[1, 2])), Hazard::Pipeline);
    }
}
