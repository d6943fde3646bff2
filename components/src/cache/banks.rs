//! Bank conflicts: how long each bank of tags and data is busy.

use warpweave_framework::{Cycle, State};

use super::spec::Banks;

/// The banks of a cache that has bank conflicts.
#[derive(Clone, Debug, State)]
pub(super) struct BankSet {
    #[state(skip)]
    spec: Banks,
    /// First cycle in which each bank is free.
    #[state(array)]
    free: Vec<Cycle>,
}

impl BankSet {
    pub(super) fn new(spec: Banks) -> Self {
        Self {
            spec,
            free: vec![0; spec.count as usize],
        }
    }

    /// Maximum requests accepted per cycle if their banks are free.
    #[inline]
    pub(super) fn requests_per_cycle(&self) -> u32 {
        self.spec.requests_per_cycle
    }

    /// The first cycle in which the bank of this set is free.
    #[inline]
    pub(super) fn free_from(&self, set: u32) -> Cycle {
        self.free[(set % self.spec.count) as usize]
    }

    /// Occupies the bank of this set, after what occupies it already.
    #[inline]
    pub(super) fn occupy(&mut self, set: u32, now: Cycle) {
        let free = &mut self.free[(set % self.spec.count) as usize];
        *free = now.max(*free) + Cycle::from(self.spec.busy_cycles);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_one_bank_occupy_it_one_after_the_other() {
        let mut banks = BankSet::new(Banks {
            count: 2,
            busy_cycles: 3,
            requests_per_cycle: 2,
        });
        banks.occupy(4, 10);
        banks.occupy(6, 10);
        assert_eq!((banks.free_from(0), banks.free_from(1)), (16, 0));
        banks.occupy(0, 20);
        assert_eq!(banks.free_from(2), 23);
    }
}
