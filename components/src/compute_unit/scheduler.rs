//! Choosing the wavefront that issues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::State;

use super::spec::WAVEFRONT_SLOTS_MAX;

/// How a scheduler chooses among the wavefronts that can issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WavefrontPolicy {
    /// Greedy, then oldest: the wavefront that issued last as long as it can, then the one that
    /// has been resident for longest (ties: lowest slot). Any stall loses the slot.
    Gto,
    /// As `Gto`, but only a long stall loses the slot: a wait for load data, a full load/store
    /// queue, a fence or a barrier. Waits for execution units, local and constant memory,
    /// branches and initiation intervals are sat out, issuing nothing.
    GtoLongLatency,
    /// Loose round robin: the first wavefront after the one that issued last, in slot order.
    Lrr,
}

/// Who has been resident for longer: per slot the mask of older slots.
pub(super) struct Ages {
    older: [u64; WAVEFRONT_SLOTS_MAX as usize],
}

impl Ages {
    pub(super) fn new() -> Self {
        Self {
            older: [0; WAVEFRONT_SLOTS_MAX as usize],
        }
    }

    /// A wavefront takes `slot` and is younger than those `present`.
    pub(super) fn arrive(&mut self, slot: usize, present: u64) {
        for older in &mut self.older {
            *older &= !(1 << slot);
        }
        self.older[slot] = present & !(1 << slot);
    }

    /// Names the order.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.array("older", &mut self.older);
    }

    /// The oldest of `among`, which is not empty.
    #[inline]
    pub(super) fn oldest(&self, among: u64) -> usize {
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

/// One scheduler: the slots it serves and who issued last.
pub(super) struct WavefrontScheduler {
    policy: WavefrontPolicy,
    /// Slots that belong to this scheduler.
    pub(super) slots: u64,
    /// Bit of the slot that issued last; 0 before the first issue.
    last: u64,
}

impl WavefrontScheduler {
    pub(super) fn new(policy: WavefrontPolicy, slots: u64) -> Self {
        Self {
            policy,
            slots,
            last: 0,
        }
    }

    /// Chooses among `ready`, which is not empty.
    #[inline]
    pub(super) fn pick(&mut self, ready: u64, ages: &Ages) -> usize {
        let slot = match self.policy {
            WavefrontPolicy::Gto | WavefrontPolicy::GtoLongLatency => {
                if ready & self.last == 0 {
                    ages.oldest(ready)
                } else {
                    self.last.trailing_zeros() as usize
                }
            }
            WavefrontPolicy::Lrr => {
                // Slots above the last one; with none before, or none above, the lowest.
                let above = ready & !(self.last | self.last.wrapping_sub(1));
                let from = if above == 0 { ready } else { above };
                from.trailing_zeros() as usize
            }
        };
        self.last = 1 << slot;
        slot
    }

    /// Bit of the slot that issued last, if the policy stays with it over short stalls.
    #[inline]
    pub(super) fn held(&self) -> Option<u64> {
        (self.policy == WavefrontPolicy::GtoLongLatency && self.last != 0).then_some(self.last)
    }

    /// The wavefront issued last, as a mask, for checkpoints.
    pub(super) fn last_mut(&mut self) -> &mut u64 {
        &mut self.last
    }

    /// The wavefronts of these slots are gone: their successors are not favoured.
    pub(super) fn forget(&mut self, slots: u64) {
        if self.policy != WavefrontPolicy::Lrr {
            self.last &= !slots;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u64 = 1;
    const B: u64 = 2;
    const C: u64 = 4;

    fn ages(order: &[usize]) -> Ages {
        let mut ages = Ages::new();
        let mut present = 0;
        for &slot in order {
            ages.arrive(slot, present);
            present |= 1 << slot;
        }
        ages
    }

    /// Greedy-then-oldest test vector: A stalls at issue 3 and returns at issue 6; B keeps the
    /// slot; when B stalls at its fifth issue the next is A, not C.
    #[test]
    fn gto_stays_with_one_wavefront_and_then_takes_the_oldest() {
        let ages = ages(&[0, 1, 2]);
        let mut scheduler = WavefrontScheduler::new(WavefrontPolicy::Gto, 7);
        let ready = |issue: usize| match issue {
            3..=5 => B | C,
            8.. => A | C,
            _ => A | B | C,
        };
        let order: Vec<_> = (0..10).map(|i| scheduler.pick(ready(i), &ages)).collect();
        assert_eq!(order, [0, 0, 0, 1, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn age_is_by_arrival_and_not_by_slot() {
        let mut ages = ages(&[2, 0, 1]);
        assert_eq!(ages.oldest(A | B | C), 2);
        assert_eq!(ages.oldest(A | B), 0);
        // Slot 2 is taken by a new wavefront.
        ages.arrive(2, A | B);
        assert_eq!(ages.oldest(A | B | C), 0);
        assert_eq!(ages.oldest(B | C), 1);
    }

    #[test]
    fn a_new_wavefront_does_not_inherit_the_greedy_slot() {
        let ages = ages(&[0, 1, 2]);
        let mut scheduler = WavefrontScheduler::new(WavefrontPolicy::Gto, 7);
        assert_eq!(scheduler.pick(C, &ages), 2);
        scheduler.forget(C);
        assert_eq!(scheduler.pick(A | B | C, &ages), 0);
    }

    #[test]
    fn lrr_serves_ready_wavefronts_in_turn() {
        let ages = ages(&[2, 1, 0, 63]);
        let mut scheduler = WavefrontScheduler::new(WavefrontPolicy::Lrr, u64::MAX);
        let all = A | B | C | 1 << 63;
        let picks = [all, all, A | C, all, all, all, B];
        let order: Vec<_> = picks.iter().map(|&r| scheduler.pick(r, &ages)).collect();
        assert_eq!(order, [0, 1, 2, 63, 0, 1, 1]);
    }
}
