//! Reference queue: a binary heap ordered by (tick, sequence). Removed items stay in the heap until
//! they reach the top.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

#[derive(Default)]
pub(super) struct Sorted {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Sequence number of the pending entry of each item.
    valid: BTreeMap<u32, u64>,
    sequence: u64,
}

impl Sorted {
    pub(super) fn push(&mut self, tick: u64, item: u32) {
        self.heap.push(Reverse((tick, self.sequence, item)));
        self.valid.insert(item, self.sequence);
        self.sequence += 1;
    }

    pub(super) fn remove(&mut self, item: u32) {
        self.valid.remove(&item);
    }

    pub(super) fn next_tick(&mut self) -> Option<u64> {
        while let Some(&Reverse((tick, sequence, item))) = self.heap.peek() {
            if self.valid.get(&item) == Some(&sequence) {
                return Some(tick);
            }
            self.heap.pop();
        }
        None
    }

    pub(super) fn pop(&mut self, now: u64) -> Option<u32> {
        if self.next_tick()? > now {
            return None;
        }
        let Reverse((_, _, item)) = self.heap.pop()?;
        self.valid.remove(&item);
        Some(item)
    }
}
