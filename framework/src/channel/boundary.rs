//! Information that channel ends in different partitions provide to the coordinator.

use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// Positions of the two ends of a cut channel, updated by the ends.
#[derive(Default)]
pub(crate) struct Positions {
    /// Index of the slot read next.
    read: AtomicUsize,
    /// Slot to be written next, while the sender waits for it.
    write: AtomicUsize,
    /// The last window in which the sender reported a send.
    told: AtomicU64,
}

impl Positions {
    #[inline]
    pub(crate) fn set_read(&self, slot: usize) {
        self.read.store(slot, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn set_write(&self, slot: usize) {
        self.write.store(slot, Ordering::Relaxed);
    }

    /// True if this is the sender's first send in the window.
    pub(crate) fn is_first_of(&self, window: u64) -> bool {
        let first = self.told.load(Ordering::Relaxed) != window;
        if first {
            self.told.store(window, Ordering::Relaxed);
        }
        first
    }

    pub(crate) fn write(&self) -> usize {
        self.write.load(Ordering::Relaxed)
    }
}

/// State of the slot that the producer writes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vacancy {
    /// The slot can be written now.
    Free,
    /// The slot is empty and its credit arrives at this tick.
    CreditAt(u64),
    /// The slot still holds a message.
    Full,
}

/// Time stamps of a cut channel, independent of its message type.
pub(crate) trait Boundary: Send + Sync {
    /// Returns the tick at which the oldest message becomes readable, if there is a message.
    fn head_ready(&self) -> Option<u64>;
    /// Returns the state of the slot for which the sender waits.
    fn vacancy(&self) -> Vacancy;
}
