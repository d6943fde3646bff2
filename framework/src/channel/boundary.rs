//! What the ends of a channel show to the coordinator when they lie in different partitions.

use crate::channel::ring::Vacancy;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// Where the two ends of a cut channel stand, told by them.
#[derive(Default)]
pub(crate) struct Positions {
    /// Slot to be read next.
    read: AtomicUsize,
    /// Slot to be written next, while the sender waits for it.
    write: AtomicUsize,
    /// The last window in which the sender said that it sent something.
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

    /// Whether the sender sends for the first time in this window.
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

/// The time stamps of a cut channel, whatever its message type.
pub(crate) trait Boundary: Send + Sync {
    /// When the oldest message becomes readable, if there is one.
    fn head_ready(&self) -> Option<u64>;
    /// The slot for which the sender waits.
    fn vacancy(&self) -> Vacancy;
}
