//! Schedulers that the compute unit knows, which spare it a dynamic call.

use warpweave_framework::State;

use super::AgeMatrix;

/// A policy that the compute unit knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    /// Greedy-then-oldest selection of a wavefront; see [`Gto`](super::Gto).
    #[default]
    Gto,
    /// Greedy over short stalls, then oldest; see [`GtoLongLatency`](super::GtoLongLatency).
    GtoLongLatency,
    /// Loose round robin in slot order; see [`Lrr`](super::Lrr).
    Lrr,
}

/// A scheduler with a built-in policy. Schedulers with other policies have one that is unused.
#[derive(Default, State)]
pub(crate) struct BuiltInScheduler {
    #[state(skip)]
    policy: BuiltIn,
    /// Bit of the slot that issued last; 0 before the first issue.
    last: u64,
}

impl BuiltInScheduler {
    pub(crate) fn new(policy: BuiltIn) -> Self {
        Self { policy, last: 0 }
    }

    /// Picks a slot from `ready`, which must not be empty.
    #[inline]
    pub(crate) fn pick(&mut self, ready: u64, ages: &AgeMatrix) -> usize {
        let slot = match self.policy {
            BuiltIn::Gto | BuiltIn::GtoLongLatency => {
                if ready & self.last == 0 {
                    ages.oldest(ready)
                } else {
                    self.last.trailing_zeros() as usize
                }
            }
            BuiltIn::Lrr => next_in_turn(ready, self.last),
        };
        self.last = 1 << slot;
        slot
    }

    /// Returns the bit of the slot that issued last, if the policy holds on to it over short
    /// stalls.
    #[inline]
    pub(crate) fn last_favoured(&self) -> Option<u64> {
        (self.policy == BuiltIn::GtoLongLatency && self.last != 0).then_some(self.last)
    }

    /// Clears the last slot if it is among `slots`, whose wavefronts have left, so that successors
    /// are not favored.
    pub(crate) fn forget(&mut self, slots: u64) {
        if self.policy != BuiltIn::Lrr {
            self.last &= !slots;
        }
    }
}

/// Returns the first slot of `ready`, which must not be empty, above the slot whose bit is `last`
/// (0: none). Wraps around to the lowest slot.
#[inline]
pub(crate) fn next_in_turn(ready: u64, last: u64) -> usize {
    // Slots above the last one; with none before, or none above, the lowest.
    let above = ready & !(last | last.wrapping_sub(1));
    let from = if above == 0 { ready } else { above };
    from.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u64 = 1;
    const B: u64 = 2;
    const C: u64 = 4;

    fn ages(order: &[usize]) -> AgeMatrix {
        let mut ages = AgeMatrix::new();
        let mut present = 0;
        for &slot in order {
            ages.arrive(slot, present);
            present |= 1 << slot;
        }
        ages
    }

    /// Wavefront A stalls at issue 3 and is ready again at issue 6, but B keeps the slot. When B
    /// stalls at its fifth issue, the next is A, not C.
    #[test]
    fn bas_m11_gto_stays_with_one_wavefront_and_then_takes_the_oldest() {
        let ages = ages(&[0, 1, 2]);
        let mut turn = BuiltInScheduler::new(BuiltIn::Gto);
        let ready = |issue: usize| match issue {
            3..=5 => B | C,
            8.. => A | C,
            _ => A | B | C,
        };
        let order: Vec<_> = (0..10).map(|i| turn.pick(ready(i), &ages)).collect();
        assert_eq!(order, [0, 0, 0, 1, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_new_wavefront_does_not_inherit_the_greedy_slot() {
        let ages = ages(&[0, 1, 2]);
        let mut turn = BuiltInScheduler::new(BuiltIn::Gto);
        assert_eq!(turn.pick(C, &ages), 2);
        turn.forget(C);
        assert_eq!(turn.pick(A | B | C, &ages), 0);
    }

    #[test]
    fn bas_m10_lrr_serves_ready_wavefronts_in_turn() {
        let ages = ages(&[2, 1, 0, 63]);
        let mut turn = BuiltInScheduler::new(BuiltIn::Lrr);
        let all = A | B | C | 1 << 63;
        let picks = [all, all, A | C, all, all, all, B];
        let order: Vec<_> = picks.iter().map(|&r| turn.pick(r, &ages)).collect();
        assert_eq!(order, [0, 1, 2, 63, 0, 1, 1]);
    }
}
