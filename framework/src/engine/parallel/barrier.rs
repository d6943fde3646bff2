//! Barrier at which the threads of a run meet between windows: they spin, then yield, then sleep.

use crossbeam::utils::CachePadded;

use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, SPINS, YIELDS, hint_spin, yield_thread};

/// Number of threads, or of groups, that count their arrivals in one place. With
/// groups, the cache lines that pass from core to core one after the other grow in number with the
/// logarithm of the threads.
const GROUP: usize = 4;

/// Bits of the release word below the number of the round.
const ASLEEP: usize = 1;
const BROKEN: usize = 2;
const ROUND_SHIFT: u32 = 2;

/// A barrier for a fixed number of threads, reused for every window.
///
/// Arrivals are counted in groups of at most four, whose last one counts as an arrival in the group
/// above. The last thread to arrive at the root performs a serial action while all others wait,
/// then releases them. Everything done by any thread before its arrival is visible to that action,
/// and the action's effects are visible to all threads.
pub(crate) struct Barrier {
    /// Groups of threads first, the root last.
    groups: Vec<CachePadded<Group>>,
    /// Number of threads in a group.
    size: usize,
    /// Number of the current round, whether threads sleep, and whether a party has failed. The only
    /// word on which threads wait.
    release: CachePadded<AtomicUsize>,
    bed: Mutex<()>,
    woken: Condvar,
}

struct Group {
    arrived: AtomicUsize,
    parties: usize,
    /// Group in which the last one to arrive counts; `None` for the root.
    above: Option<usize>,
}

/// Error of a barrier that will not complete because a thread panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(parties: usize) -> Self {
        Self::in_groups(parties, GROUP)
    }

    /// Creates a barrier whose arrivals are counted in groups of at most `size`.
    pub(crate) fn in_groups(parties: usize, size: usize) -> Self {
        let mut groups: Vec<CachePadded<Group>> = Vec::new();
        let mut members = parties;
        loop {
            let level = members.div_ceil(size);
            let next = groups.len() + level;
            for number in 0..level {
                groups.push(CachePadded::new(Group {
                    arrived: AtomicUsize::new(0),
                    parties: (members - number * size).min(size),
                    above: (level > 1).then_some(next + number / size),
                }));
            }
            members = level;
            if level == 1 {
                break;
            }
        }
        Self {
            groups,
            size,
            release: CachePadded::new(AtomicUsize::new(0)),
            bed: Mutex::new(()),
            woken: Condvar::new(),
        }
    }

    /// Waits for all parties, of which this is number `me`; the last to arrive calls `meanwhile`
    /// before any thread continues.
    ///
    /// # Errors
    /// Returns an error if a party has called [`Barrier::shatter`] instead of arriving.
    pub(crate) fn meet(&self, me: usize, meanwhile: impl FnOnce()) -> Result<(), Broken> {
        let round = self.release.load(Ordering::Acquire) >> ROUND_SHIFT;
        if self.arrive(me / self.size) {
            meanwhile();
            let next = round.wrapping_add(1) << ROUND_SHIFT;
            if self.release.swap(next, Ordering::AcqRel) & ASLEEP != 0 {
                self.wake_all();
            }
            return Ok(());
        }
        self.wait_while(round);
        if self.release.load(Ordering::Acquire) & BROKEN == 0 {
            Ok(())
        } else {
            Err(Broken)
        }
    }

    /// Releases all threads with an error, because a party will not arrive.
    pub(crate) fn shatter(&self) {
        if self.release.fetch_or(BROKEN, Ordering::AcqRel) & ASLEEP != 0 {
            self.wake_all();
        }
    }

    /// Counts an arrival in a group; returns true for the last one of all.
    fn arrive(&self, mut group: usize) -> bool {
        loop {
            let Group {
                arrived,
                parties,
                above,
            } = &*self.groups[group];
            // The last to arrive sees what all others did.
            if arrived.fetch_add(1, Ordering::AcqRel) + 1 < *parties {
                return false;
            }
            arrived.store(0, Ordering::Relaxed);
            match above {
                None => return true,
                Some(above) => group = *above,
            }
        }
    }

    fn wake_all(&self) {
        // Under the lock, so that no thread falls asleep between its check and its wait.
        let _bed = self.bed.lock();
        self.woken.notify_all();
    }

    fn is_over(&self, round: usize) -> bool {
        let word = self.release.load(Ordering::Acquire);
        word >> ROUND_SHIFT != round || word & BROKEN != 0
    }

    fn wait_while(&self, round: usize) {
        for _ in 0..SPINS {
            if self.is_over(round) {
                return;
            }
            hint_spin();
        }
        // A host with idle cores returns at once; otherwise another thread has the core.
        for _ in 0..YIELDS {
            yield_thread();
            if self.is_over(round) {
                return;
            }
        }
        let mut bed = self.bed.lock();
        while !self.is_over(round) {
            self.release.fetch_or(ASLEEP, Ordering::AcqRel);
            if self.is_over(round) {
                return;
            }
            self.woken.wait(&mut bed);
        }
    }
}
