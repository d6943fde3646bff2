//! The copy-back buffer: room for a few lines that leave, in a cache that has one.
//!
//! Copy-backs leave with the requests of the miss queue, in the order in which they were caused, so
//! that a line that is fetched again is fetched after it was copied back. The buffer only counts them:
//! they take its entries instead of the queue's.
//!
//! ```text
//!   miss queue     fetch A, copy-back B (2 pieces), fetch C          room for fetches: entries − 2
//!   buffer                  └── one entry: requests 7 and 8 ──┘      room for lines:   entries − 1
//! ```
//!
//! Causes of a further copy-back wait while every entry is taken: requests at the head of the
//! input, and replies as `replies.rs` says.

use std::collections::VecDeque;

use warpweave_framework::State;

/// See the module.
#[derive(Clone, Debug, State)]
pub(super) struct CopyBackBuffer {
    #[state(skip)]
    entries: usize,
    /// Numbers of the first request and of the one after the last of each line here, counted from
    /// the first request that this cache ever sent down.
    lines: VecDeque<(u64, u64)>,
    /// Requests of them in the queue.
    requests: usize,
    /// Requests sent down.
    sent: u64,
}

impl CopyBackBuffer {
    /// One for so many lines.
    pub(super) fn new(entries: u32) -> Self {
        Self {
            entries: entries as usize,
            lines: VecDeque::with_capacity(entries as usize),
            requests: 0,
            sent: 0,
        }
    }

    /// Whether another line fits.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.lines.len() < self.entries
    }

    /// Lines here.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Requests in the miss queue that belong to lines here.
    #[inline]
    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    /// Takes a line whose requests have just been queued: those from place `first` of the queue to
    /// before place `end`.
    pub(super) fn enter(&mut self, first: usize, end: usize) {
        debug_assert!(self.has_room(), "room was checked with has_room");
        self.requests += end - first;
        self.lines
            .push_back((self.sent + first as u64, self.sent + end as u64));
    }

    /// The first request of the queue has left.
    pub(super) fn sent_one(&mut self) {
        if let Some(&(first, end)) = self.lines.front()
            && first <= self.sent
        {
            self.requests -= 1;
            if self.sent + 1 == end {
                self.lines.pop_front();
            }
        }
        self.sent += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a queue that says of each request which line it belongs to.
        #[test]
        fn a_line_makes_room_when_its_last_request_has_left(
            entries in 1u32..4,
            steps in prop::collection::vec((0u32..3, 1usize..4), 1..100),
        ) {
            let mut buffer = CopyBackBuffer::new(entries);
            let mut queue: VecDeque<Option<u32>> = VecDeque::new();
            for (number, (step, pieces)) in (0u32..).zip(steps) {
                match step {
                    0 => queue.push_back(None),
                    1 if buffer.has_room() => {
                        let first = queue.len();
                        queue.extend(std::iter::repeat_n(Some(number), pieces));
                        buffer.enter(first, queue.len());
                    }
                    _ => if queue.pop_front().is_some() {
                        buffer.sent_one();
                    }
                }
                let mut lines: Vec<_> = queue.iter().flatten().collect();
                prop_assert_eq!(buffer.requests(), lines.len());
                lines.dedup();
                prop_assert_eq!(buffer.len(), lines.len());
                prop_assert_eq!(buffer.has_room(), lines.len() < entries as usize);
            }
        }
    }
}
