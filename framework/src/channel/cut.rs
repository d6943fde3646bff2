//! Channels between partitions, as the coordinator sees them between windows.
//!
//! A window is no longer than the latency and the credit latency of any cut channel, so what one
//! partition does at a cut is not visible to the other before the next window. Only wake-ups are
//! left to arrange, and those the coordinator derives from the time stamps in the slots while
//! nobody runs: for a message at the head the tick at which it is readable, for a sender that
//! waits the tick of its credit. That is exactly whom, and when, the ends would have woken
//! themselves within one partition.

use std::sync::Arc;

use crate::channel::ring::Vacancy;
use crate::evaluation::schedule::Target;
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

/// One end of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) partition: u32,
    pub(crate) target: Target,
}

/// One channel or published wire that crosses partitions.
pub(crate) struct Cut {
    pub(crate) from: Place,
    pub(crate) to: Place,
    /// `None` for published wires, which have no slots.
    pub(crate) boundary: Option<Arc<dyn Boundary>>,
    /// The sender waits for a credit of which nothing has been seen.
    pub(crate) waiting: bool,
}
