//! Splitting of requests into accesses of burst size.

use serde::{Deserialize, Serialize};
use warpweave_framework::Id;

/// Accesses of a line that a request touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Accesses {
    /// Number of the access that contains the line's first byte.
    first: u64,
    /// Mask of accesses not yet taken; bit `k` is the `k`-th from `first`.
    left: u8,
}

impl Accesses {
    /// Returns the accesses of `access_bytes` bytes that these words of the line at address `line`
    /// touch, at least one.
    pub(super) fn touched(line: u64, words: u32, access_bytes: u32) -> Self {
        let access_words = access_bytes / 4;
        let offset = (line % u64::from(access_bytes)) as u32 / 4;
        let mut words = u64::from(words) << offset;
        let mut left = 0;
        let mut access = 0;
        while words != 0 {
            if words & ((1 << access_words) - 1) != 0 {
                left |= 1 << access;
            }
            words >>= access_words;
            access += 1;
        }
        Self {
            first: line / u64::from(access_bytes),
            left,
        }
    }

    /// Returns the number of the access that contains the line's first byte.
    pub(super) fn first(self) -> u64 {
        self.first
    }

    /// Returns the number of the next access.
    #[inline]
    pub(super) fn next(self) -> u64 {
        self.first + u64::from(self.left.trailing_zeros())
    }

    /// Returns the accesses after the next one, if any remain.
    #[inline]
    pub(super) fn after(self) -> Option<Self> {
        let left = self.left & (self.left - 1);
        (left != 0).then_some(Self { left, ..self })
    }

    /// Returns the number of remaining accesses.
    pub(super) fn count(self) -> u32 {
        self.left.count_ones()
    }
}

/// Request whose accesses are currently entering the queues.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Splitting {
    pub(super) transaction: Id,
    pub(super) write: bool,
    pub(super) accesses: Accesses,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(accesses: Accesses) -> Vec<u64> {
        std::iter::successors(Some(accesses), |a| a.after())
            .map(Accesses::next)
            .collect()
    }

    #[test]
    fn only_accesses_with_a_touched_word_count() {
        let first_and_last = Accesses::touched(128, 0x8000_0001, 32);
        assert_eq!(numbers(first_and_last), [4, 7]);
        assert_eq!(first_and_last.count(), 2);
        assert_eq!(numbers(Accesses::touched(128, u32::MAX, 32)), [4, 5, 6, 7]);
        assert_eq!(numbers(Accesses::touched(128, u32::MAX, 128)), [1]);
    }

    #[test]
    fn a_short_line_lies_within_one_large_access() {
        assert_eq!(numbers(Accesses::touched(96, 0xff, 128)), [0]);
        assert_eq!(numbers(Accesses::touched(96, 0xff, 64)), [1]);
    }
}
