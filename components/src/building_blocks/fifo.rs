//! FIFO queue of small values, optimised for pushing and popping in every cycle.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of vacated places at the front before the remaining values are moved up.
const EMPTY_MAX: usize = 32;

/// FIFO stored in one contiguous vector. Popped values stay at the front until the queue is empty
/// or they outnumber the remaining ones. Neither end therefore needs wrap-around handling.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<T> {
    /// Storage; the live values start at index `first`.
    values: Vec<T>,
    first: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            first: 0,
        }
    }
}

impl<T: Copy> Fifo<T> {
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        self.values.push(value);
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        self.values.get(self.first)
    }

    #[inline(always)]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        self.values.get_mut(self.first)
    }

    #[inline(always)]
    pub(crate) fn back(&self) -> Option<&T> {
        self.values.last()
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.remove_first();
        Some(value)
    }

    /// Drops the oldest value, if there is one.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self) {
        let first = self.first + 1;
        if first >= self.values.len() {
            self.values.clear();
            self.first = 0;
        } else {
            self.first = first;
            if first >= EMPTY_MAX {
                self.move_up();
            }
        }
    }

    #[inline(never)]
    fn move_up(&mut self) {
        let stay = self.values.len() - self.first;
        if stay <= self.first {
            self.values.copy_within(self.first.., 0);
            self.values.truncate(stay);
            self.first = 0;
        }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.first
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        // Those that have left go with the last one that stayed.
        self.values.is_empty()
    }

    /// Iterates over all values, oldest first.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.values[self.first..].iter()
    }
}

/// Serializes only the live values, independent of their position in the storage.
impl<T: Serialize> Serialize for Fifo<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values[self.first..].serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fifo<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::deserialize(deserializer)?;
        Ok(Self { values, first: 0 })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_queue_however_long_it_gets(
            bursts in prop::collection::vec((0u32..200, 0u32..200), 1..12),
        ) {
            let (mut fifo, mut plain, mut next) = (Fifo::default(), VecDeque::new(), 0);
            for (come, go) in bursts {
                for _ in 0..come {
                    fifo.push(next);
                    plain.push_back(next);
                    next += 1;
                }
                for _ in 0..go {
                    prop_assert_eq!(fifo.pop(), plain.pop_front());
                    prop_assert_eq!((fifo.front(), fifo.back()), (plain.front(), plain.back()));
                    prop_assert_eq!((fifo.len(), fifo.is_empty()), (plain.len(), plain.is_empty()));
                }
                prop_assert!(fifo.iter().eq(&plain));
                let room = fifo.values.len();
                prop_assert!(room <= EMPTY_MAX + 2 * plain.len(), "{} of {room}", plain.len());
            }
        }
    }
}
