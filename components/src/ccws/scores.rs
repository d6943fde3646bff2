//! Lost-locality scores, computed in closed form instead of cycle by cycle.

use std::cmp::Reverse;

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use crate::compute_unit::AgeMatrix;

/// Lost-locality scores of the wavefronts of one unit. A score never falls below the base; above
/// the base it decays by one per cycle.
#[derive(State)]
pub(super) struct Scores {
    #[state(skip)]
    base: u64,
    /// Throttling factor K in the score of a loss.
    #[state(skip)]
    throttle: u64,
    /// Bit mask of the slots whose wavefronts have not ended.
    active: u64,
    losses: u64,
    /// Score of each slot at its last loss.
    #[state(array)]
    peaks: Vec<Peak>,
    /// First cycle in which all scores have decayed to the base, unless another loss occurs before.
    quiet_from: Cycle,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Peak {
    score: u64,
    since: Cycle,
}

impl Scores {
    pub(super) fn new(base: u64, throttle: u64, slots: usize) -> Self {
        Self {
            base,
            throttle,
            active: 0,
            losses: 0,
            peaks: vec![Peak::default(); slots],
            quiet_from: 0,
        }
    }

    pub(super) fn arrive(&mut self, slot: usize) {
        self.active |= 1 << slot;
        self.peaks[slot] = Peak::default();
    }

    pub(super) fn leave(&mut self, slot: usize) {
        self.active &= !(1 << slot);
        self.peaks[slot] = Peak::default();
    }

    /// Returns the sum of scores up to which all active wavefronts may issue loads.
    fn cutoff(&self) -> u64 {
        u64::from(self.active.count_ones()) * self.base
    }

    /// Returns the score of a loss: losses per instruction, times K, times the cutoff.
    fn of_loss(&self, instructions: u64) -> u64 {
        let product = u128::from(self.losses) * u128::from(self.throttle * self.cutoff());
        u64::try_from(product / u128::from(instructions.max(1))).unwrap_or(u64::MAX)
    }

    /// Records that the wavefront lost locality; `instructions` is the number the unit has issued.
    pub(super) fn lose(&mut self, slot: usize, instructions: u64, now: Cycle) {
        self.losses += 1;
        // A wavefront that has ended has no score, but its losses tell how the program fares.
        if self.active >> slot & 1 != 0 {
            let score = self.score(slot, now).max(self.of_loss(instructions));
            self.set(slot, score, now);
        }
    }

    fn set(&mut self, slot: usize, score: u64, now: Cycle) {
        self.peaks[slot] = Peak { score, since: now };
        let falls_for = score.saturating_sub(self.base);
        self.quiet_from = self.quiet_from.max(now.saturating_add(falls_for));
    }

    /// Returns the score of a wavefront in cycle `now`.
    pub(super) fn score(&self, slot: usize, now: Cycle) -> u64 {
        let Peak { score, since } = self.peaks[slot];
        self.base.max(score.saturating_sub(now - since))
    }

    /// Returns the active wavefronts with their scores, highest score first and oldest first among
    /// equal scores.
    fn in_order(&self, now: Cycle, ages: &AgeMatrix) -> ArrayVec<(u64, usize), 64> {
        let mut order = ArrayVec::new();
        let mut rest = self.active;
        while rest != 0 {
            let slot = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            order.push((self.score(slot, now), slot));
        }
        let age = |slot| (ages.older(slot) & self.active).count_ones();
        order.sort_unstable_by_key(|&(score, slot)| (Reverse(score), age(slot)));
        order
    }

    /// Returns the wavefronts that may not issue loads: those at which the running sum of the
    /// ordered scores exceeds the cutoff. The first wavefront may always issue, since a single
    /// score above the cutoff would otherwise stop the unit.
    pub(super) fn blocked(&self, now: Cycle, ages: &AgeMatrix) -> u64 {
        if now >= self.quiet_from {
            // The base of all is the cutoff.
            return 0;
        }
        let (mut sum, mut blocked) = (0_u64, 0);
        for (place, (score, slot)) in self.in_order(now, ages).into_iter().enumerate() {
            sum = sum.saturating_add(score);
            if place > 0 && sum > self.cutoff() {
                blocked |= 1 << slot;
            }
        }
        blocked
    }

    /// Returns a cycle after `now` until which [`Scores::blocked`] stays the same if no loss,
    /// arrival or departure occurs; `None` if no wavefront is blocked.
    ///
    /// All scores above the base decay at the same rate and come first in the order. The order is
    /// therefore stable until the lowest of them reaches the base. Each sum falls per cycle by the
    /// number of decaying scores in it.
    pub(super) fn changes_at(&self, now: Cycle, ages: &AgeMatrix) -> Option<Cycle> {
        if now >= self.quiet_from {
            return None;
        }
        let order = self.in_order(now, ages);
        let falling = order.iter().take_while(|(score, _)| *score > self.base);
        let (falling, lowest) = falling.fold((0, 0), |(n, _), (score, _)| (n + 1, *score));
        let mut sum = 0_u64;
        for (place, (score, _)) in order.iter().enumerate() {
            sum = sum.saturating_add(*score);
            if place > 0 && sum > self.cutoff() {
                let in_sum = falling.min(place as u64 + 1);
                let fits_in = (sum - self.cutoff()).div_ceil(in_sum);
                return Some(now.saturating_add(fits_in.min(lowest - self.base)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Creates scores with active wavefronts in slots 0 to `n - 1`, the lowest slot being the
    /// oldest.
    fn active(n: usize) -> (Scores, AgeMatrix) {
        let (mut scores, mut ages) = (Scores::new(100, 8, 64), AgeMatrix::new());
        for slot in 0..n {
            scores.arrive(slot);
            ages.arrive(slot, (1 << slot) - 1);
        }
        (scores, ages)
    }

    #[test]
    fn bas_m13_a_wavefronts_at_the_base_may_all_issue_loads() {
        let (scores, ages) = active(4);
        assert_eq!(scores.cutoff(), 400);
        assert_eq!(scores.blocked(0, &ages), 0);
        assert_eq!(scores.changes_at(0, &ages), None);
    }

    #[test]
    fn bas_m13_b_wavefronts_beyond_the_cutoff_are_blocked() {
        let (mut scores, ages) = active(4);
        scores.set(0, 250, 0);
        // Sums 250, 350, 450, 550.
        assert_eq!(scores.blocked(0, &ages), 0b1100);
        // In 50 cycles the third sum is 400.
        assert_eq!(scores.changes_at(0, &ages), Some(50));
        assert_eq!(scores.blocked(49, &ages), 0b1100);
        assert_eq!(scores.blocked(50, &ages), 0b1000);
        assert_eq!(scores.blocked(150, &ages), 0);
    }

    #[test]
    fn bas_m13_c_the_score_of_a_loss_decays_to_the_base() {
        let (mut scores, _) = active(4);
        scores.losses = 9;
        scores.lose(1, 1000, 7);
        assert_eq!(scores.of_loss(1000), 32);
        assert_eq!(scores.score(1, 7), 100);
        scores.losses = 99;
        scores.lose(1, 1000, 7);
        assert_eq!(scores.of_loss(1000), 320);
        let at = |cycle| scores.score(1, cycle);
        assert_eq!([7, 8, 226, 227, 228].map(at), [320, 319, 101, 100, 100]);
    }

    #[test]
    fn an_end_takes_the_score_out_and_lowers_the_cutoff() {
        let (mut scores, ages) = active(4);
        scores.set(0, 250, 0);
        scores.leave(0);
        assert_eq!((scores.cutoff(), scores.blocked(0, &ages)), (300, 0));
        // Its last accesses may still be found lost.
        scores.lose(0, 1, 5);
        assert_eq!((scores.losses, scores.score(0, 5)), (1, 100));
    }

    #[test]
    fn the_highest_score_may_always_issue_loads_and_of_equals_the_oldest_come_first() {
        let (mut scores, mut ages) = active(4);
        scores.set(3, 1000, 0);
        assert_eq!(scores.blocked(0, &ages), 0b0111);
        scores.set(3, 300, 0);
        assert_eq!(scores.blocked(0, &ages), 0b0110);
        // Slot 0 is given away: now slot 1 holds the oldest of the rest.
        ages.arrive(0, 0b1110);
        assert_eq!(scores.blocked(0, &ages), 0b0101);
    }

    proptest! {
        #[test]
        fn who_is_blocked_changes_in_no_cycle_but_those_foretold(
            peaks in proptest::collection::vec((prop_oneof![Just(0_u64), 100_u64..700], 0_u64..50), 1..12),
            ages in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let (mut scores, mut order) = (Scores::new(100, 8, 64), AgeMatrix::new());
            for slot in ages.into_iter().filter(|slot| *slot < peaks.len()) {
                order.arrive(slot, scores.active);
                scores.arrive(slot);
                let (score, since) = peaks[slot];
                scores.set(slot, score, since);
            }
            let mut foretold = scores.changes_at(50, &order);
            for now in 51..900 {
                let blocked = scores.blocked(now, &order);
                if foretold == Some(now) {
                    foretold = scores.changes_at(now, &order);
                } else {
                    prop_assert_eq!(blocked, scores.blocked(now - 1, &order), "cycle {}", now);
                }
                prop_assert!(foretold.is_none_or(|cycle| cycle > now));
            }
            prop_assert_eq!(foretold, None);
        }
    }
}
