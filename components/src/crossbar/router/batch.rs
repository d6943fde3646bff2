//! Stage that works on one batch at a time: later arrivals wait until it is done.

use serde::{Deserialize, Serialize};

/// Start and end of the batches of a stage.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Batch {
    /// Steps in which the latest batch begins (`begins`) and is done (`ends`).
    begins: u64,
    ends: u64,
}

impl Batch {
    /// Returns the step in which a batch that begins in `step` and takes `cycles` is done, with
    /// `speedup` steps per cycle.
    #[inline]
    pub(super) fn end(step: u64, cycles: u32, speedup: u64) -> u64 {
        step.max((step / speedup + u64::from(cycles) - 1) * speedup)
    }

    /// Returns the step in which an item that is ready after `step` is done.
    #[inline]
    pub(super) fn pass(&mut self, step: u64, cycles: u32, speedup: u64) -> u64 {
        if step >= self.begins {
            self.begins = step.max(self.ends) + 1;
            self.ends = Self::end(self.begins, cycles, speedup);
        }
        self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_a_batch_is_at_work_is_done_with_the_next() {
        let mut stage = Batch::default();
        // Ready after step 0: the batch of step 1 takes 3 cycles, up to step 3.
        assert_eq!(stage.pass(0, 3, 1), 3);
        // Ready in time for a batch of its own, which begins when the first is done.
        assert_eq!([1, 2, 3].map(|step| stage.pass(step, 3, 1)), [6, 6, 6]);
        assert_eq!(stage.pass(4, 3, 1), 9);
    }

    #[test]
    fn a_stage_of_one_cycle_ends_in_the_step_it_begins_in() {
        assert_eq!([0, 1, 5].map(|step| Batch::end(step, 1, 2)), [0, 1, 5]);
        // Two cycles at two steps per cycle end with the first step of the second cycle.
        assert_eq!([4, 5].map(|step| Batch::end(step, 2, 2)), [6, 6]);
    }
}
