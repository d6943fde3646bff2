//! Information that channel ends in different partitions provide between windows.

use crossbeam::utils::CachePadded;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Positions of the two ends of a cut channel, updated by the ends. Each end has a cache line, so
/// that its updates do not disturb the other.
#[derive(Default)]
pub(crate) struct Positions {
    /// Index of the slot read next.
    read: CachePadded<AtomicUsize>,
    sender: CachePadded<SenderPosition>,
    /// True if the sender waits for a credit. Changes seldom, and the receiver reads it after every
    /// message.
    blocked: CachePadded<AtomicBool>,
}

#[derive(Default)]
struct SenderPosition {
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
        self.sender.write.store(slot, Ordering::Relaxed);
    }

    /// True if this is the sender's first send in the window.
    pub(crate) fn is_first_of(&self, window: u64) -> bool {
        let first = self.sender.told.load(Ordering::Relaxed) != window;
        if first {
            self.sender.told.store(window, Ordering::Relaxed);
        }
        first
    }

    /// Sets or clears the request that the receiver record its next pop.
    pub(crate) fn set_blocked(&self, blocked: bool) {
        self.blocked.store(blocked, Ordering::Release);
    }

    /// Returns and clears the sender's request.
    #[inline]
    pub(crate) fn take_blocked(&self) -> bool {
        self.blocked.load(Ordering::Acquire) && self.blocked.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn write(&self) -> usize {
        self.sender.write.load(Ordering::Relaxed)
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
    /// Looks at the messages from this slot on, so that their cache lines are with the caller when
    /// its components read them. Many lines then pass from core to core at once.
    fn fetch(&self, slot: usize);
    /// Returns the state of the slot for which the sender waits.
    fn vacancy(&self) -> Vacancy;
}
