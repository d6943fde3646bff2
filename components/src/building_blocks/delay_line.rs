//! A queue whose entries become visible at a time: a pipeline, a wire, a synchroniser.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

/// Entries in order, each with the cycle from which it can be taken.
#[derive(Clone, Serialize, Deserialize)]
pub struct DelayLine<T> {
    entries: VecDeque<(Cycle, T)>,
}

impl<T> Default for DelayLine<T> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
        }
    }
}

impl<T> DelayLine<T> {
    /// Appends an entry that can be taken from cycle `at` on, and no earlier than those before it.
    #[inline]
    pub fn push(&mut self, at: Cycle, entry: T) {
        debug_assert!(self.entries.back().is_none_or(|(before, _)| *before <= at));
        self.entries.push_back((at, entry));
    }

    /// The oldest entry, if it can be taken in cycle `now`.
    #[inline]
    pub fn ready(&self, now: Cycle) -> Option<&T> {
        self.entries
            .front()
            .filter(|(at, _)| *at <= now)
            .map(|(_, entry)| entry)
    }

    /// Takes the oldest entry, if it can be taken in cycle `now`.
    #[inline]
    pub fn take(&mut self, now: Cycle) -> Option<T> {
        self.ready(now)?;
        self.entries.pop_front().map(|(_, entry)| entry)
    }

    /// The cycle from which the oldest entry can be taken.
    #[inline]
    pub fn next(&self) -> Option<Cycle> {
        self.entries.front().map(|(at, _)| *at)
    }

    /// The cycle from which the youngest entry can be taken.
    #[inline]
    pub fn last(&self) -> Option<Cycle> {
        self.entries.back().map(|(at, _)| *at)
    }

    /// Entries inside.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is inside.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_invisible_before_its_cycle() {
        let mut line = DelayLine::default();
        line.push(3, 'a');
        line.push(3, 'b');
        assert_eq!(line.take(2), None);
        assert_eq!(line.next(), Some(3));
        assert_eq!(
            (line.take(3), line.take(4), line.take(5)),
            (Some('a'), Some('b'), None)
        );
        assert!(line.is_empty());
    }
}
