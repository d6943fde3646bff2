//! Where the threads of a run meet between windows: spin a little, then sleep.

use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, SPINS, hint_spin};

/// A barrier for a fixed number of threads, reused for every window.
///
/// The last thread to arrive does what is to be done while all others wait, then lets everybody
/// go on. What any thread did before it arrived is visible to that thread, and what that did to
/// all others.
pub(crate) struct Barrier {
    parties: usize,
    arrived: AtomicUsize,
    /// Number of the meeting.
    round: AtomicUsize,
    /// A party died: nobody waits any more.
    broken: AtomicBool,
    /// Threads that sleep.
    sleepers: Mutex<usize>,
    woken: Condvar,
}

/// A thread panicked, so the meeting will not take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(parties: usize) -> Self {
        Self {
            parties,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    /// Waits for all parties; the last to arrive calls `meanwhile` before anybody goes on.
    ///
    /// # Errors
    /// When a party has called [`Barrier::shatter`] instead of coming.
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

    /// Sends everybody home, now and at all later meetings, because a party will not come.
    pub(crate) fn shatter(&self) {
        self.broken.store(true, Ordering::Release);
        let round = self.round.load(Ordering::Acquire);
        self.release(round.wrapping_add(1));
    }

    fn release(&self, round: usize) {
        // Under the lock, so that nobody falls asleep between looking and sleeping.
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
