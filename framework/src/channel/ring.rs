//! Bounded single-producer single-consumer ring whose slots carry their own time stamps.
//!
//! The only module of the framework with `unsafe` code. Each slot is a word and a value:
//!
//! ```text
//! stamp = full << 63 | tick     full = 1: holds a message, readable from `tick` on
//!                               full = 0: empty, writable from `tick` on (the credit is back)
//! ```
//!
//! The producer accesses the value of a slot only while `full` is 0, the consumer only while `full`
//! is 1. Each hands the slot over with a release store that the other side acquires. Exactly one
//! [`Producer`] and one [`Consumer`] exist per ring and neither can be cloned. A value is therefore
//! never accessed from both sides at once. The same code serves one thread and many.
//!
//! With the flag in the top bit, "empty and due" is `stamp <= now`, and "full and due" is the same
//! comparison with the bit flipped. The positions of both ends are always below the number of
//! slots. They start at 0 or at the last slot and advance by one, wrapping from the end to 0.
#![expect(
    unsafe_code,
    reason = "the slots of a lock-free ring; see the module documentation"
)]

use std::hint::black_box;
use std::mem::MaybeUninit;

use crate::channel::boundary::{Boundary, Positions, Vacancy};
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, UnsafeCell};
use crate::time::TICK_MAX;

const FULL: u64 = 1 << 63;

struct Slot<T> {
    stamp: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
    /// Used in the first slot only: the producer found no room and sleeps until a credit is on its
    /// way. Stored here instead of separately because the consumer reads it after every message
    /// (across a cut it reads [`Positions`] instead).
    blocked: AtomicBool,
}

// SAFETY: a slot is shared by one producer and one consumer. The stamp protocol above gives each
// exclusive access to the value in turn, with release/acquire hand-over. Only `T` values move
// between two threads, so `T: Send` suffices.
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

/// Returns the number of messages in the slots, visible or in flight.
fn len<T>(slots: &[Slot<T>]) -> usize {
    let full = |s: &&Slot<T>| s.stamp.load(Ordering::Acquire) & FULL != 0;
    slots.iter().filter(full).count()
}

/// Number of messages of a ring that [`Boundary::fetch`] looks at.
const FETCHED: usize = 4;

/// A ring across a cut, as seen between windows.
struct CutRing<T> {
    slots: Arc<[Slot<T>]>,
    positions: Arc<Positions>,
}

impl<T: Send> Boundary for CutRing<T> {
    fn fetch(&self, slot: usize) {
        let (before, after) = self.slots.split_at(slot);
        let slots = after.iter().chain(before);
        let is_full = |slot: &&Slot<T>| slot.stamp.load(Ordering::Relaxed) & FULL != 0;
        black_box(slots.take_while(is_full).take(FETCHED).count());
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

/// Returns the slot at `at`, the position of an end.
#[inline(always)]
fn slot_at<T>(slots: &[Slot<T>], at: usize) -> &Slot<T> {
    debug_assert!(at < slots.len());
    // SAFETY: positions of ends are below the number of slots; see the module documentation.
    unsafe { slots.get_unchecked(at) }
}

/// The writing end of a ring.
pub(crate) struct Producer<T> {
    slots: Arc<[Slot<T>]>,
    at: usize,
    /// Position of the slot before `at`, the last one written.
    last: usize,
}

impl<T: Send + 'static> Producer<T> {
    /// Returns the view of the ring between windows, whose ends keep `positions` up to date.
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

    /// True if the next slot can be written at `now`.
    #[inline(always)]
    pub(crate) fn is_free(&self, now: u64) -> bool {
        self.stamp() <= now
    }

    /// Returns the state of the next slot at `now`: writable, or the reason for which it is not.
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

    /// Writes the next slot; the message is readable from tick `ready`. Returns true if all
    /// messages before it have been taken.
    ///
    /// # Panics
    /// Panics if the slot is not writable at `now`; check [`Producer::vacancy`] first.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: u64, value: T, ready: u64) -> bool {
        let last = slot_at(&self.slots, self.last);
        // With one slot the last message was in this one, which is empty.
        let first = last.stamp.load(Ordering::Acquire) < FULL;
        self.push_across(now, value, ready);
        first
    }

    /// Writes the next slot like [`Producer::push`], and looks at no other slot: across a cut they
    /// are in the cache of another core.
    ///
    /// # Panics
    /// Panics like [`Producer::push`].
    #[inline(always)]
    pub(crate) fn push_across(&mut self, now: u64, value: T, ready: u64) {
        debug_assert!(ready <= TICK_MAX);
        let slots = &*self.slots;
        let slot = slot_at(slots, self.at);
        assert!(
            slot.stamp.load(Ordering::Acquire) <= now,
            "sent without checking can_send: the slot is full or its credit has not returned"
        );
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
    }

    /// Puts a saved message into the next slot, readable from tick `ready`. Returns false if that
    /// slot is taken. Call only while the simulation is not running.
    pub(crate) fn restore_message(&mut self, ready: u64, value: T) -> bool {
        let room = self.vacancy(TICK_MAX) == Vacancy::Free;
        if room {
            self.push(TICK_MAX, value, ready);
        }
        room
    }

    /// Restores the ticks at which empty slots become writable, oldest credit first; the remaining
    /// slots are writable at once. Returns false if there are more ticks than empty slots. Call
    /// only while the simulation is not running.
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

    /// Returns the index of the slot written last; initially of the last slot.
    #[inline]
    pub(crate) fn last_position(&self) -> usize {
        self.last
    }

    /// Returns the index of the slot written next.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Sets or clears the request that the consumer wake the producer at its next pop.
    #[inline]
    pub(crate) fn set_blocked(&self, blocked: bool) {
        self.slots[0].blocked.store(blocked, Ordering::Release);
    }

    /// True if the producer waits for a credit.
    pub(crate) fn is_blocked(&self) -> bool {
        self.slots[0].blocked.load(Ordering::Acquire)
    }

    /// Returns the number of messages in the ring, visible or in flight.
    pub(crate) fn len(&self) -> usize {
        len(&self.slots)
    }

    /// Returns the number of slots of the ring.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }
}

/// The reading end of a ring.
pub(crate) struct Consumer<T> {
    slots: Arc<[Slot<T>]>,
    at: usize,
}

impl<T> Consumer<T> {
    /// Returns the oldest message if it is readable at `now`.
    #[inline(always)]
    pub(crate) fn peek(&self, now: u64) -> Option<&T> {
        let slot = slot_at(&self.slots, self.at);
        if slot.stamp.load(Ordering::Acquire) ^ FULL > now {
            return None;
        }
        // SAFETY: `full` is 1, so the value is initialised and the producer does not touch it until
        // the only consumer empties the slot. The consumer is borrowed here, so it cannot pop while
        // the reference is alive.
        Some(
            slot.value
                .with(|value| unsafe { (*value).assume_init_ref() }),
        )
    }

    /// Returns the tick at which the oldest message becomes readable, if that is later than `now`.
    #[inline(always)]
    pub(crate) fn next_ready(&self, now: u64) -> Option<u64> {
        let stamp = slot_at(&self.slots, self.at).stamp.load(Ordering::Acquire);
        (stamp > FULL | now).then_some(stamp ^ FULL)
    }

    /// Takes the oldest message if it is readable at `now`; the slot is writable again from tick
    /// `free_at`.
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

    /// Returns the index of the slot read next.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Iterates over all messages, oldest first, with the tick from which each is readable.
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

    /// Iterates over the slots, starting with the next one to be read.
    fn in_order(&self) -> impl Iterator<Item = &Slot<T>> {
        let (before, after) = self.slots.split_at(self.at);
        after.iter().chain(before)
    }

    /// Drops all messages and makes all slots writable. Call only while the simulation is not
    /// running.
    pub(crate) fn clear(&mut self) {
        while self.pop(TICK_MAX, 0).is_some() {}
    }

    /// Clears the producer's request for a wake-up and returns its previous value.
    #[inline]
    pub(crate) fn take_blocked(&self) -> bool {
        // The plain load keeps the common case free of a locked instruction.
        let blocked = &slot_at(&self.slots, 0).blocked;
        blocked.load(Ordering::Acquire) && blocked.swap(false, Ordering::AcqRel)
    }

    /// Returns the number of messages in the ring, visible or in flight.
    pub(crate) fn len(&self) -> usize {
        len(&self.slots)
    }

    /// Returns the number of slots of the ring.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }
}
