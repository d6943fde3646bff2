//! Bounded single-producer single-consumer ring whose slots carry their own timestamps.
//!
//! The one module of the framework with `unsafe` code. Each slot is a word and a value:
//!
//! ```text
//! stamp = full << 63 | tick     full = 1: holds a message, readable from `tick` on
//!                               full = 0: empty, writable from `tick` on (the credit is back)
//! ```
//!
//! The producer touches the value of a slot only while `full` is 0, the consumer only while it
//! is 1; each hands the slot over with a release store that the other side acquires. Exactly one
//! [`Producer`] and one [`Consumer`] exist per ring and neither can be cloned, so a value is never
//! reached from two sides at once. The same code serves one thread and many.
//!
//! With the bit on top, "empty and its time has come" is `stamp <= now`, and "full and its time has
//! come" is the same of the stamp with the bit flipped. The positions of both ends are always below
//! the number of slots: they start at 0 or at the last slot and go on by one, from the end to 0.
#![expect(
    unsafe_code,
    reason = "the slots of a lock-free ring; see the module documentation"
)]

use std::mem::MaybeUninit;

use crate::channel::boundary::{Boundary, Positions};
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, UnsafeCell};
use crate::time::TICK_MAX;

const FULL: u64 = 1 << 63;

struct Slot<T> {
    stamp: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
    /// Of the first slot: the producer found no room and sleeps until a credit is on its way. It is
    /// here, and not by itself, because the consumer looks at it after every message.
    blocked: AtomicBool,
}

// SAFETY: a slot is shared by one producer and one consumer. The stamp protocol above gives each
// of them exclusive access to its value in turn, with release/acquire hand-over, so moving `T`
// values between two threads is all that happens: `T: Send` suffices.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        if self.stamp.load(Ordering::Acquire) & FULL != 0 {
            // SAFETY: `full` says the slot holds an initialised value, and `&mut self` says that
            // both ends are gone.
            self.value
                .with_mut(|value| unsafe { (*value).assume_init_drop() });
        }
    }
}

/// Creates a ring of `capacity` slots and returns its two ends.
pub(crate) fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!(capacity > 0, "a channel holds at least one message");
    let slots: Arc<[Slot<T>]> = (0..capacity)
        .map(|_| Slot {
            stamp: AtomicU64::new(0),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            blocked: AtomicBool::new(false),
        })
        .collect();
    (
        Producer {
            slots: Arc::clone(&slots),
            at: 0,
            last: capacity - 1,
        },
        Consumer { slots, at: 0 },
    )
}

/// Messages in the slots, visible or in flight.
fn len<T>(slots: &[Slot<T>]) -> usize {
    let full = |s: &&Slot<T>| s.stamp.load(Ordering::Acquire) & FULL != 0;
    slots.iter().filter(full).count()
}

/// Why the producer cannot write the next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vacancy {
    /// The slot can be written now.
    Free,
    /// The slot is empty and its credit arrives at this tick.
    CreditAt(u64),
    /// The slot still holds a message.
    Full,
}

/// A ring across a cut, seen by the coordinator while nobody runs.
struct CutRing<T> {
    slots: Arc<[Slot<T>]>,
    positions: Arc<Positions>,
}

impl<T: Send> Boundary for CutRing<T> {
    fn head_ready(&self) -> Option<u64> {
        let stamp = self.slots[self.positions.read()]
            .stamp
            .load(Ordering::Acquire);
        (stamp & FULL != 0).then_some(stamp ^ FULL)
    }

    fn vacancy(&self) -> Vacancy {
        let stamp = self.slots[self.positions.write()]
            .stamp
            .load(Ordering::Acquire);
        if stamp & FULL != 0 {
            Vacancy::Full
        } else {
            Vacancy::CreditAt(stamp)
        }
    }
}

/// The slot at `at`, the position of an end.
#[inline(always)]
fn slot_at<T>(slots: &[Slot<T>], at: usize) -> &Slot<T> {
    debug_assert!(at < slots.len());
    // SAFETY: positions of ends are below the number of slots; see the module documentation.
    unsafe { slots.get_unchecked(at) }
}

/// The writing end.
pub(crate) struct Producer<T> {
    slots: Arc<[Slot<T>]>,
    at: usize,
    /// The slot before `at`.
    last: usize,
}

impl<T: Send + 'static> Producer<T> {
    /// The ring as the coordinator sees it once its ends keep `positions` up to date.
    pub(crate) fn boundary(&self, positions: Arc<Positions>) -> Arc<dyn Boundary> {
        Arc::new(CutRing {
            slots: Arc::clone(&self.slots),
            positions,
        })
    }
}

impl<T> Producer<T> {
    #[inline(always)]
    fn stamp(&self) -> u64 {
        slot_at(&self.slots, self.at).stamp.load(Ordering::Acquire)
    }

    /// Whether the next slot can be written at `now`.
    #[inline(always)]
    pub(crate) fn is_free(&self, now: u64) -> bool {
        self.stamp() <= now
    }

    /// Whether the next slot can be written at `now`, and if not, why.
    pub(crate) fn vacancy(&self, now: u64) -> Vacancy {
        let stamp = self.stamp();
        if stamp <= now {
            Vacancy::Free
        } else if stamp & FULL != 0 {
            Vacancy::Full
        } else {
            Vacancy::CreditAt(stamp)
        }
    }

    /// Writes the next slot; the message is readable from tick `ready` on. Returns whether all
    /// messages before it have been taken.
    ///
    /// # Panics
    /// When the slot is not writable at `now`: callers ask [`Producer::vacancy`] first.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: u64, value: T, ready: u64) -> bool {
        debug_assert!(ready <= TICK_MAX);
        let slots = &*self.slots;
        let slot = slot_at(slots, self.at);
        assert!(
            slot.stamp.load(Ordering::Acquire) <= now,
            "sent without asking can_send: the slot is full or its credit on the way"
        );
        // With one slot the last message was in this one, which is empty.
        let first = slot_at(slots, self.last).stamp.load(Ordering::Acquire) < FULL;
        // SAFETY: `full` is 0, so the consumer does not touch the value, and `&mut self` on the
        // only producer excludes other writers.
        slot.value.with_mut(|place| unsafe {
            (*place).write(value);
        });
        slot.stamp.store(ready | FULL, Ordering::Release);
        self.last = self.at;
        self.at += 1;
        if self.at == slots.len() {
            self.at = 0;
        }
        first
    }

    /// Puts a saved message into the next slot, readable from tick `ready` on; false when that
    /// slot is taken. Only while nothing runs.
    pub(crate) fn restore_message(&mut self, ready: u64, value: T) -> bool {
        let room = self.vacancy(TICK_MAX) == Vacancy::Free;
        if room {
            self.push(TICK_MAX, value, ready);
        }
        room
    }

    /// Restores when the empty slots can be written, oldest credit first; those not given are
    /// writable at once. False when there are more than empty slots. Only while nothing runs.
    pub(crate) fn restore_credits(&mut self, ticks: &[u64]) -> bool {
        let empty = self.capacity() - self.len();
        for i in 0..empty {
            // Slots without a credit on the way come first: they were emptied earlier.
            let late = (i + ticks.len()).checked_sub(empty);
            let tick = late.map_or(0, |t| ticks[t]);
            let slot = (self.at + i) % self.slots.len();
            self.slots[slot].stamp.store(tick, Ordering::Release);
        }
        ticks.len() <= empty
    }

    /// The slot written next.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Asks the consumer to wake the producer at its next pop, or not to.
    #[inline]
    pub(crate) fn set_blocked(&self, blocked: bool) {
        self.slots[0].blocked.store(blocked, Ordering::Release);
    }

    /// Whether the producer waits for a credit.
    pub(crate) fn is_blocked(&self) -> bool {
        self.slots[0].blocked.load(Ordering::Acquire)
    }

    /// Messages in the ring, visible or in flight.
    pub(crate) fn len(&self) -> usize {
        len(&self.slots)
    }

    /// Slots of the ring.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }
}

/// The reading end.
pub(crate) struct Consumer<T> {
    slots: Arc<[Slot<T>]>,
    at: usize,
}

impl<T> Consumer<T> {
    /// The oldest message, if it is readable at `now`.
    #[inline(always)]
    pub(crate) fn peek(&self, now: u64) -> Option<&T> {
        let slot = slot_at(&self.slots, self.at);
        if slot.stamp.load(Ordering::Acquire) ^ FULL > now {
            return None;
        }
        // SAFETY: `full` is 1: the value is initialised and the producer leaves it alone until
        // the only consumer (borrowed here, so it cannot pop meanwhile) empties the slot.
        Some(
            slot.value
                .with(|value| unsafe { (*value).assume_init_ref() }),
        )
    }

    /// When the oldest message becomes readable, if that is later than `now`.
    #[inline(always)]
    pub(crate) fn next_ready(&self, now: u64) -> Option<u64> {
        let stamp = slot_at(&self.slots, self.at).stamp.load(Ordering::Acquire);
        (stamp > FULL | now).then_some(stamp ^ FULL)
    }

    /// Takes the oldest message, if it is readable at `now`; the slot can be written again from
    /// tick `free_at` on.
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: u64, free_at: u64) -> Option<T> {
        let slot = slot_at(&self.slots, self.at);
        if slot.stamp.load(Ordering::Acquire) ^ FULL > now {
            return None;
        }
        // SAFETY: as in `peek`; the value is moved out once, because the store below empties the
        // slot and `&mut self` excludes a second reader.
        let value = slot
            .value
            .with(|value| unsafe { (*value).assume_init_read() });
        debug_assert!(free_at <= TICK_MAX);
        slot.stamp.store(free_at, Ordering::Release);
        self.at += 1;
        if self.at == self.slots.len() {
            self.at = 0;
        }
        Some(value)
    }

    /// The slot read next.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Every message, oldest first, with the tick from which it is readable.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (u64, &T)> {
        self.in_order().map_while(|slot| {
            let stamp = slot.stamp.load(Ordering::Acquire);
            // SAFETY: as in `peek`.
            let value = |_| {
                slot.value
                    .with(|value| unsafe { (*value).assume_init_ref() })
            };
            (stamp & FULL != 0)
                .then_some(stamp ^ FULL)
                .map(|ready| (ready, value(ready)))
        })
    }

    /// Credits on their way to the producer: the ticks after `now` at which empty slots become
    /// writable, oldest first.
    pub(crate) fn credits(&self, now: u64) -> impl Iterator<Item = u64> {
        let stamps = self.in_order().map(|s| s.stamp.load(Ordering::Acquire));
        stamps.filter(move |s| *s < FULL && *s > now)
    }

    /// The slots from the next one to be read on.
    fn in_order(&self) -> impl Iterator<Item = &Slot<T>> {
        let (before, after) = self.slots.split_at(self.at);
        after.iter().chain(before)
    }

    /// Drops every message and makes every slot writable. Only while nothing runs.
    pub(crate) fn clear(&mut self) {
        while self.pop(TICK_MAX, 0).is_some() {}
    }

    /// Clears and returns whether the producer asked to be woken.
    #[inline]
    pub(crate) fn take_blocked(&self) -> bool {
        // The plain load keeps the common case free of a locked instruction.
        let blocked = &slot_at(&self.slots, 0).blocked;
        blocked.load(Ordering::Acquire) && blocked.swap(false, Ordering::AcqRel)
    }

    /// Messages in the ring, visible or in flight.
    pub(crate) fn len(&self) -> usize {
        len(&self.slots)
    }

    /// Slots of the ring.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }
}
