//! Order of wavefronts by age of residency.

use warpweave_framework::{State, Stateful};

use crate::compute_unit::limits::WAVEFRONT_SLOTS_MAX;

/// Arrival order, as a mask of older slots for each slot.
pub struct AgeMatrix {
    older: [u64; WAVEFRONT_SLOTS_MAX as usize],
}

impl Default for AgeMatrix {
    fn default() -> Self {
        Self::new()
    }
}

impl AgeMatrix {
    /// Creates an order without any arrived wavefronts.
    pub fn new() -> Self {
        Self {
            older: [0; WAVEFRONT_SLOTS_MAX as usize],
        }
    }

    /// Adds a wavefront in `slot` that is younger than those in `present`.
    pub fn arrive(&mut self, slot: usize, present: u64) {
        for older in &mut self.older {
            *older &= !(1 << slot);
        }
        self.older[slot] = present & !(1 << slot);
    }

    /// Returns the slots whose wavefronts have been resident longer than that of `slot`. The mask
    /// may include free slots.
    #[inline]
    pub fn older(&self, slot: usize) -> u64 {
        self.older[slot]
    }

    /// Returns the oldest slot in `among`, which must not be empty.
    #[inline]
    pub fn oldest(&self, among: u64) -> usize {
        let mut slot = among.trailing_zeros() as usize;
        loop {
            let older = among & self.older[slot];
            if older == 0 {
                return slot;
            }
            slot = older.trailing_zeros() as usize;
        }
    }
}

impl Stateful for AgeMatrix {
    fn state(&mut self, state: &mut State<'_>) {
        state.array("older", &mut self.older);
        // Without an oldest one `oldest` does not end.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_by_arrival_and_not_by_slot() {
        let mut ages = AgeMatrix::new();
        for (slot, present) in [(2, 0), (0, 0b100), (1, 0b101)] {
            ages.arrive(slot, present);
        }
        assert_eq!(ages.oldest(0b111), 2);
        assert_eq!(ages.oldest(0b011), 0);
        // Slot 2 is taken by a new wavefront.
        ages.arrive(2, 0b011);
        assert_eq!(ages.oldest(0b111), 0);
        assert_eq!(ages.oldest(0b110), 1);
        assert_eq!(ages.older(2), 0b011);
    }
}
