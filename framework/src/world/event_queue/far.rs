//! Far part of the wheel: a binary heap that stores each item's position, so that a cancelled item
//! can be removed at once.

/// Position of an item that is not in the heap.
const ABSENT: u32 = u32::MAX;

/// Heap of items ordered by (tick, order of insertion).
#[derive(Default)]
pub(super) struct FarHeap {
    entries: Vec<Entry>,
    /// Position of each item in the heap.
    places: Vec<u32>,
    sequence: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    tick: u64,
    sequence: u64,
    item: u32,
}

impl FarHeap {
    pub(super) fn first_tick(&self) -> Option<u64> {
        self.entries.first().map(|entry| entry.tick)
    }

    pub(super) fn push(&mut self, tick: u64, item: u32) {
        if item as usize >= self.places.len() {
            let length = (item as usize + 1).next_power_of_two();
            self.places.resize(length, ABSENT);
        }
        let sequence = self.sequence;
        self.sequence += 1;
        self.entries.push(Entry {
            tick,
            sequence,
            item,
        });
        self.rise(self.entries.len() - 1);
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        let item = self.entries.first()?.item;
        self.remove(item);
        Some(item)
    }

    pub(super) fn remove(&mut self, item: u32) {
        let at = std::mem::replace(&mut self.places[item as usize], ABSENT) as usize;
        self.entries.swap_remove(at);
        if at < self.entries.len() {
            // What came from the end may belong above or below.
            let settled = self.rise(at);
            self.sink(settled);
        }
    }

    fn rise(&mut self, mut at: usize) -> usize {
        let entry = self.entries[at];
        while at > 0 && entry < self.entries[(at - 1) / 2] {
            self.put(at, self.entries[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        self.put(at, entry);
        at
    }

    fn sink(&mut self, mut at: usize) {
        let entry = self.entries[at];
        loop {
            let left = 2 * at + 1;
            let Some(&(mut least)) = self.entries.get(left) else {
                break;
            };
            let mut child = left;
            if let Some(&right) = self.entries.get(left + 1)
                && right < least
            {
                (least, child) = (right, left + 1);
            }
            if entry <= least {
                break;
            }
            self.put(at, least);
            at = child;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: Entry) {
        self.entries[at] = entry;
        self.places[entry.item as usize] = at as u32;
    }
}
