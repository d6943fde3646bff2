//! Claims to partitions: which of them threads have begun in the current window.

use crossbeam::utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// Claims to the partitions of each thread, in one word per thread.
///
/// Partitions are dealt out round-robin. The thread to which they belong takes its own from the
/// front, others take from the back. Only the owner takes partition 0.
///
/// ```text
/// word = window << 32 | taken from the back << 16 | taken from the front
/// ```
pub(super) struct Claims {
    words: Vec<CachePadded<AtomicU64>>,
    partitions: usize,
}

/// End of a thread's list from which a partition is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

impl Claims {
    /// Creates claims of this many threads to this many partitions, at most 2^16 per thread.
    pub(super) fn new(threads: usize, partitions: usize) -> Self {
        let word = |_| CachePadded::new(AtomicU64::new(0));
        Self {
            words: (0..threads).map(word).collect(),
            partitions,
        }
    }

    /// Claims a partition that no thread has begun in this window for thread `me`, its own first.
    /// Returns `None` if all have been begun.
    #[inline]
    pub(super) fn next(&self, me: usize, window: u64) -> Option<usize> {
        if let Some(mine) = self.take(me, window, End::Front) {
            return Some(mine);
        }
        let mut others = (0..self.words.len()).rev().filter(|other| *other != me);
        others.find_map(|other| self.take(other, window, End::Back))
    }

    fn take(&self, thread: usize, window: u64, end: End) -> Option<usize> {
        let threads = self.words.len();
        let count = (self.partitions - thread).div_ceil(threads) as u64;
        let mut word = self.words[thread].load(Ordering::Relaxed);
        loop {
            let (front, back) = if word >> 32 == window & 0xffff_ffff {
                (word & 0xffff, (word >> 16) & 0xffff)
            } else {
                (0, 0)
            };
            // The first of the first thread's is left to it.
            let kept = u64::from(end == End::Back && thread == 0 && front == 0);
            if front + back + kept >= count {
                return None;
            }
            let (place, front, back) = match end {
                End::Front => (front, front + 1, back),
                End::Back => (count - 1 - back, front, back + 1),
            };
            let taken = (window << 32) + (back << 16) + front;
            let cell = &self.words[thread];
            match cell.compare_exchange_weak(word, taken, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(thread + place as usize * threads),
                Err(found) => word = found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_partition_is_begun_once_in_a_window_by_any_threads() {
        for (threads, partitions) in [(1, 1), (2, 3), (3, 8), (4, 4), (2, 40)] {
            let claims = Claims::new(threads, partitions);
            for (window, step) in [(1, 1), (2, 1), (3, 2), (1 << 32, 1)] {
                let mut begun = BTreeSet::new();
                let mut idle = BTreeSet::new();
                for turn in (0..).step_by(step) {
                    let me = turn % threads;
                    match claims.next(me, window) {
                        Some(partition) => assert!(begun.insert(partition)),
                        None => drop(idle.insert(me)),
                    }
                    if idle.len() == threads || step > 1 && turn > 1000 {
                        break;
                    }
                }
                // With a step that never comes to thread 0, partition 0 waits for it.
                let whole = (0..partitions).collect::<BTreeSet<_>>();
                assert!(begun.is_subset(&whole));
                if step == 1 {
                    assert_eq!(begun, whole);
                }
            }
        }
    }

    #[test]
    fn threads_begin_with_their_own_and_leave_partition_0_to_the_first() {
        let claims = Claims::new(2, 5);
        // 0: 0 2 4, 1: 1 3.
        let by_second: Vec<_> = std::iter::from_fn(|| claims.next(1, 1)).collect();
        assert_eq!(by_second, [1, 3, 4, 2]);
        assert_eq!(claims.next(0, 1), Some(0));
        assert_eq!(claims.next(0, 1), None);
        let by_first: Vec<_> = std::iter::from_fn(|| claims.next(0, 2)).collect();
        assert_eq!(by_first, [0, 2, 4, 3, 1]);
    }
}
