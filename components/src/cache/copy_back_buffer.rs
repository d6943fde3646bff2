//! Copy-back buffer: optional entries for lines being evicted and copied back.
//!
//! Copy-backs leave through the miss queue in the order in which they were caused. A line that is
//! fetched again is therefore fetched after its copy-back. The buffer only counts the lines: their
//! copy-backs use its entries instead of those of the queue.
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

/// Copy-back buffer of a cache; tracks which queued requests belong to evicted lines.
#[derive(Clone, Debug, State)]
pub(super) struct CopyBackBuffer {
    #[state(skip)]
    entries: usize,
    /// Sequence numbers of the first request of each buffered line and of the one after its last.
    /// Numbering starts with the first request that this cache ever sent downstream.
    lines: VecDeque<(u64, u64)>,
    /// Number of their requests still in the miss queue.
    requests: usize,
    /// Number of requests sent downstream so far.
    sent: u64,
}

impl CopyBackBuffer {
    /// Creates an empty buffer for `entries` lines.
    pub(super) fn new(entries: u32) -> Self {
        Self {
            entries: entries as usize,
            lines: VecDeque::with_capacity(entries as usize),
            requests: 0,
            sent: 0,
        }
    }

    /// True if another line fits into the buffer.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.lines.len() < self.entries
    }

    /// Number of lines in the buffer.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Number of requests in the miss queue that belong to lines in the buffer.
    #[inline]
    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    /// Adds a line whose requests have just been queued at places `first` (inclusive) to `end`
    /// (exclusive).
    pub(super) fn enter(&mut self, first: usize, end: usize) {
        debug_assert!(self.has_room(), "room was checked with has_room");
        self.requests += end - first;
        self.lines
            .push_back((self.sent + first as u64, self.sent + end as u64));
    }

    /// Records that the first request of the queue has been sent.
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
        /// Compared with a queue that stores the line of each request.
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
