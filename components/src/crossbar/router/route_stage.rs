//! Route computation: lanes whose packets do not know their output yet.

use std::collections::VecDeque;

use warpweave_framework::State;

use super::batch::Batch;

/// Lanes whose routes are computed, one batch at a time.
#[derive(Default, State)]
pub(super) struct RouteStage {
    waiting: VecDeque<u32>,
    batch: Vec<u32>,
    /// Step in which the routes of the batch are known.
    done_at: u64,
}

impl RouteStage {
    /// Adds a lane with a new first packet.
    #[inline]
    pub(super) fn push(&mut self, lane: u32) {
        self.waiting.push_back(lane);
    }

    /// Returns the lanes whose routes are known in this step. A batch takes `cycles` of `speedup`
    /// steps.
    #[inline]
    pub(super) fn step(&mut self, step: u64, cycles: u32, speedup: u64) -> Vec<u32> {
        if self.batch.is_empty() {
            if self.waiting.is_empty() {
                return Vec::new();
            }
            self.batch.extend(self.waiting.drain(..));
            self.done_at = Batch::end(step, cycles, speedup);
        }
        if self.done_at <= step {
            std::mem::take(&mut self.batch)
        } else {
            Vec::new()
        }
    }

    /// Returns the step in which the stage does its next work, if it has any.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        let is_busy = !self.waiting.is_empty() || !self.batch.is_empty();
        is_busy.then_some(self.done_at)
    }
}
