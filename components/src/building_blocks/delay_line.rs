//! Delay line: a queue whose entries become available at a given cycle, as in a pipeline, a wire or
//! a synchroniser.
//!
//! ```
//! use warpweave_components::building_blocks::DelayLine;
//!
//! // A pipeline of 3 cycles that takes one entry per cycle.
//! let mut pipeline = DelayLine::default();
//! pipeline.push(10 + 3, "load");
//! pipeline.push(11 + 3, "add");
//! // A component returns `Next::Until` this cycle when nothing else is to be done.
//! assert_eq!(pipeline.next(), Some(13));
//! assert_eq!(pipeline.take(12), None);
//! assert_eq!(pipeline.take(13), Some("load"));
//! assert_eq!(pipeline.take(13), None);
//! ```

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

use super::Fifo;

/// FIFO of small values, each tagged with the cycle from which it can be taken. It has no capacity
/// limit: a component subject to back-pressure checks [`DelayLine::len`] before it pushes an entry.
/// It can be serialized directly as a field of a component's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DelayLine<T> {
    entries: Fifo<(Cycle, T)>,
}

impl<T> Default for DelayLine<T> {
    fn default() -> Self {
        Self {
            entries: Fifo::default(),
        }
    }
}

impl<T: Copy> DelayLine<T> {
    /// Appends an entry that can be taken from cycle `at` on. Entries stay in order: `at` must not
    /// be earlier than that of the previous entry.
    ///
    /// # Panics
    /// Panics in debug builds if `at` is earlier than that of the previous entry.
    #[inline]
    pub fn push(&mut self, at: Cycle, entry: T) {
        debug_assert!(
            self.last().is_none_or(|before| before <= at),
            "an entry for cycle {at} was pushed after one for {:?}",
            self.last()
        );
        self.entries.push((at, entry));
    }

    /// Returns the oldest entry if it can be taken in cycle `now`.
    #[inline]
    pub fn ready(&self, now: Cycle) -> Option<&T> {
        self.entries
            .front()
            .filter(|(at, _)| *at <= now)
            .map(|(_, entry)| entry)
    }

    /// Removes and returns the oldest entry if it can be taken in cycle `now`.
    #[inline]
    pub fn take(&mut self, now: Cycle) -> Option<T> {
        self.ready(now)?;
        self.entries.pop().map(|(_, entry)| entry)
    }

    /// Drops the oldest entry, as returned by [`DelayLine::ready`], if there is one.
    #[inline]
    pub fn remove_first(&mut self) {
        self.entries.remove_first();
    }

    /// Returns the cycle from which the oldest entry can be taken.
    #[inline]
    pub fn next(&self) -> Option<Cycle> {
        self.entries.front().map(|(at, _)| *at)
    }

    /// Returns the cycle from which the youngest entry can be taken.
    #[inline]
    pub fn last(&self) -> Option<Cycle> {
        self.entries.back().map(|(at, _)| *at)
    }

    /// Iterates over the entries, oldest first. Used by components that validate a checkpoint.
    pub fn entries(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// Returns the number of entries in the delay line.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the delay line holds no entries.
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

    #[test]
    fn first_and_last_cycle_are_those_of_the_ends() {
        let mut line = DelayLine::default();
        assert_eq!((line.next(), line.last(), line.len()), (None, None, 0));
        line.push(3, 'a');
        line.push(5, 'b');
        assert_eq!(
            (line.next(), line.last(), line.len()),
            (Some(3), Some(5), 2)
        );
        assert_eq!(line.ready(4), Some(&'a'));
        line.take(4);
        assert_eq!((line.next(), line.ready(4)), (Some(5), None));
    }
}
