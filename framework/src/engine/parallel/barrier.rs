//! Barrier at which the threads of a run meet between windows: they spin briefly, then sleep.

use crossbeam::utils::CachePadded;

use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, SPINS, hint_spin};

/// A barrier for a fixed number of threads, reused for every window.
///
/// The last thread to arrive performs a serial action while all others wait, then releases them.
/// Everything done by any thread before its arrival is visible to that action, and the action's
/// effects are visible to all threads.
pub(crate) struct Barrier {
    parties: usize,
    /// Number of parties that have arrived, not on the cache line on which others wait.
    arrived: CachePadded<AtomicUsize>,
    /// Number of the current barrier round.
    round: AtomicUsize,
    /// True if a party has failed, so that no thread waits any more.
    broken: AtomicBool,
    /// Number of threads that sleep at the barrier.
    sleepers: Mutex<usize>,
    woken: Condvar,
}

/// Error of a barrier that will not complete because a thread panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(parties: usize) -> Self {
        Self {
            parties,
            arrived: CachePadded::new(AtomicUsize::new(0)),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    /// Waits for all parties; the last to arrive calls `meanwhile` before any thread continues.
    ///
    /// # Errors
    /// Returns an error if a party has called [`Barrier::shatter`] instead of arriving.
    pub(crate) fn meet(&self, meanwhile: impl FnOnce()) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        // The last to arrive sees what all others did.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            meanwhile();
            self.arrived.store(0, Ordering::Relaxed);
            self.release(round.wrapping_add(1));
        } else {
            self.wait_while(round);
        }
        if self.broken.load(Ordering::Acquire) {
            Err(Broken)
        } else {
            Ok(())
        }
    }

    /// Releases all threads with an error, now and in all later rounds, because a party will not
    /// arrive.
    pub(crate) fn shatter(&self) {
        self.broken.store(true, Ordering::Release);
        let round = self.round.load(Ordering::Acquire);
        self.release(round.wrapping_add(1));
    }

    fn release(&self, round: usize) {
        // Under the lock, so that no thread falls asleep between the check and the wait.
        let sleepers = self.sleepers.lock();
        self.round.store(round, Ordering::Release);
        if *sleepers > 0 {
            self.woken.notify_all();
        }
    }

    fn over(&self, round: usize) -> bool {
        self.round.load(Ordering::Acquire) != round || self.broken.load(Ordering::Acquire)
    }

    fn wait_while(&self, round: usize) {
        for _ in 0..SPINS {
            if self.over(round) {
                return;
            }
            hint_spin();
        }
        let mut sleepers = self.sleepers.lock();
        *sleepers += 1;
        while !self.over(round) {
            self.woken.wait(&mut sleepers);
        }
        *sleepers -= 1;
    }
}
