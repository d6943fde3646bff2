//! The queue of what happens at a time and not at a clock edge, in the order of (tick, sequence).
//!
//! ```text
//!   near: one FIFO per tick, for the next 4096 ticks ── two-level bitmap finds the next one
//!   far:  ordered by (tick, sequence) ── moves to the near part before its ticks can be reached
//! ```

use std::collections::BTreeMap;

use crate::time::TICK_MAX;

/// Ticks the near part covers: 64 words of 64 bits.
const SLOTS: u64 = 64 * 64;

/// Items by tick; those of one tick come out as they went in.
pub(crate) struct EventQueue<T> {
    /// The time up to which items have been taken.
    now: u64,
    slots: Vec<Vec<T>>,
    occupied: [u64; 64],
    /// Bit per word of `occupied` that is not zero.
    summary: u64,
    far: BTreeMap<(u64, u64), T>,
    sequence: u64,
}

impl<T: Copy + PartialEq> EventQueue<T> {
    pub(crate) fn new() -> Self {
        Self {
            now: 0,
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            occupied: [0; 64],
            summary: 0,
            far: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Adds an item at `tick`, not before the current time. Beyond the horizon it never comes.
    #[inline]
    pub(crate) fn push(&mut self, tick: u64, item: T) {
        debug_assert!(tick >= self.now);
        if tick - self.now < SLOTS {
            self.push_near(tick, item);
        } else if tick <= TICK_MAX {
            self.far.insert((tick, self.sequence), item);
            self.sequence += 1;
        }
    }

    #[inline]
    fn push_near(&mut self, tick: u64, item: T) {
        let slot = (tick % SLOTS) as usize;
        self.slots[slot].push(item);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64);
    }

    #[inline]
    fn mark_empty(&mut self, slot: usize) {
        let word = slot / 64;
        self.occupied[word] &= !(1 << (slot % 64));
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// Removes one item that was added at `tick` and not taken yet.
    pub(crate) fn remove(&mut self, tick: u64, item: T) {
        let slot = (tick % SLOTS) as usize;
        if tick - self.now < SLOTS {
            let items = &mut self.slots[slot];
            if let Some(at) = items.iter().position(|i| *i == item) {
                items.remove(at);
            }
            if items.is_empty() {
                self.mark_empty(slot);
            }
        } else {
            let mut there = self.far.range((tick, 0)..=(tick, u64::MAX));
            if let Some(key) = there.find(|(_, i)| **i == item).map(|(key, _)| *key) {
                self.far.remove(&key);
            }
        }
    }

    /// The tick of the first item.
    #[inline]
    pub(crate) fn next_tick(&self) -> Option<u64> {
        if self.summary == 0 {
            return self.far.first_key_value().map(|((tick, _), _)| *tick);
        }
        let start = self.now % SLOTS;
        let (word, bit) = ((start / 64) as usize, start % 64);
        let here = self.occupied[word] & u64::MAX << bit;
        let slot = if here != 0 {
            word as u64 * 64 + u64::from(here.trailing_zeros())
        } else {
            // The words after this one, in turn; this one's low bits are the farthest.
            let turn = (word as u32 + 1) % 64;
            let skip = self.summary.rotate_right(turn).trailing_zeros();
            let found = (turn + skip) % 64;
            u64::from(found * 64 + self.occupied[found as usize].trailing_zeros())
        };
        Some(self.now + (slot + SLOTS - start) % SLOTS)
    }

    /// Moves the current time to `tick`, which must not be later than the first item.
    #[inline]
    pub(crate) fn advance(&mut self, tick: u64) {
        debug_assert!(tick >= self.now);
        self.now = tick;
        while let Some((&(due, _), &item)) = self.far.first_key_value()
            && due - tick < SLOTS
        {
            self.far.pop_first();
            self.push_near(due, item);
        }
    }

    /// Swaps the items of the current time with the empty `items`.
    #[inline]
    pub(crate) fn take(&mut self, items: &mut Vec<T>) {
        debug_assert!(items.is_empty());
        let slot = (self.now % SLOTS) as usize;
        if !self.slots[slot].is_empty() {
            std::mem::swap(&mut self.slots[slot], items);
            self.mark_empty(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(u64),
        RemoveOne(usize),
        TakeNext,
        Advance(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => prop_oneof![0..50u64, 0..5000u64, 4090..4100u64, 0..100_000u64].prop_map(Step::Push),
            1 => any::<usize>().prop_map(Step::RemoveOne),
            4 => Just(Step::TakeNext),
            1 => (0..6000u64).prop_map(Step::Advance),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_queue_agrees_with_a_sorted_list(steps in prop::collection::vec(step(), 1..200)) {
            let mut queue = EventQueue::new();
            // Sorted by tick, stable.
            let mut model: Vec<(u64, u32)> = Vec::new();
            let (mut now, mut count) = (0, 0);
            for step in steps {
                match step {
                    Step::Push(delay) => {
                        queue.push(now + delay, count);
                        let at = model.partition_point(|(tick, _)| *tick <= now + delay);
                        model.insert(at, (now + delay, count));
                        count += 1;
                    }
                    Step::RemoveOne(which) if !model.is_empty() => {
                        let (tick, item) = model.remove(which % model.len());
                        queue.remove(tick, item);
                    }
                    Step::RemoveOne(_) => {}
                    Step::TakeNext => {
                        prop_assert_eq!(queue.next_tick(), model.first().map(|(tick, _)| *tick));
                        if let Some(tick) = queue.next_tick() {
                            now = tick;
                            let mut items = Vec::new();
                            queue.advance(tick);
                            queue.take(&mut items);
                            let due = model.partition_point(|(t, _)| *t <= tick);
                            let expected: Vec<_> = model.drain(..due).map(|(_, item)| item).collect();
                            prop_assert_eq!(items, expected);
                        }
                    }
                    Step::Advance(by) => {
                        now = model.first().map_or(now + by, |(first, _)| *first.min(&(now + by)));
                        queue.advance(now);
                    }
                }
            }
        }
    }

    #[test]
    fn an_item_beyond_the_horizon_never_comes() {
        let mut queue = EventQueue::new();
        queue.push(u64::MAX, ());
        assert_eq!(queue.next_tick(), None);
    }
}
