//! Data in flight between the devices and the controller.

use warpweave_framework::{Cycle, State};

use crate::building_blocks::Fifo;

/// Reads whose data are in flight, and the end of the latest write.
#[derive(Clone, Default, State)]
pub(super) struct DataBus {
    /// Reads served by the devices: (cycle after the last beat, tag).
    returning: Fifo<(Cycle, u32)>,
    /// Reads served from waiting writes.
    forwarding: Fifo<(Cycle, u32)>,
    /// Cycle after the last beat of the latest write.
    written_until: Option<Cycle>,
}

impl DataBus {
    /// Records a read whose last beat arrives before cycle `end`.
    #[inline]
    pub(super) fn read(&mut self, end: Cycle, tag: u32) {
        self.returning.push((end, tag));
    }

    /// Records a read that is answered from a waiting write in cycle `at`.
    #[inline]
    pub(super) fn forward(&mut self, at: Cycle, tag: u32) {
        self.forwarding.push((at, tag));
    }

    /// Records a write whose last beat leaves before cycle `end`.
    #[inline]
    pub(super) fn write(&mut self, end: Cycle) {
        self.written_until = Some(end);
    }

    /// Returns the cycle after the last beat of the latest write, if any.
    pub(super) fn last_written(&self) -> Option<Cycle> {
        self.written_until
    }

    /// Returns the cycle after the last beat of the next outstanding read to complete.
    #[inline]
    pub(super) fn next(&self) -> Option<Cycle> {
        let of = |queue: &Fifo<(Cycle, u32)>| queue.front().map_or(Cycle::MAX, |(cycle, _)| *cycle);
        let first = of(&self.returning).min(of(&self.forwarding));
        (first != Cycle::MAX).then_some(first)
    }

    /// Takes the next read completed by cycle `now`, as (cycle after its last beat, tag).
    #[inline]
    pub(super) fn take(&mut self, now: Cycle) -> Option<(Cycle, u32)> {
        let next = self.next().filter(|cycle| *cycle <= now)?;
        if self.forwarding.front().is_some_and(|(c, _)| *c == next) {
            self.forwarding.pop()
        } else {
            self.returning.pop()
        }
    }
}
