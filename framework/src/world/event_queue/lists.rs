//! Lists for the wheel's ticks: chains of small blocks of item numbers in a common pool.
//!
//! Adding an item writes only to the end of its list, without other random accesses. The items of a
//! tick are contiguous when they are due, so that their data can be prefetched together. An item
//! knows its place, and leaves it empty when it is removed.

use super::{NONE, Placed};

/// Item numbers per block: a cache line. The first cell holds the start of the list's next block.
const BLOCK: u32 = 16;

/// One list, whose blocks belong to a [`Pool`].
#[derive(Clone, Copy)]
pub(super) struct List {
    /// Index of the first cell of its first block.
    first: u32,
    /// Cell of the next item, if that is not the start of a block; 0 if the list has no block.
    next: u32,
    items: u32,
    /// Number of places left empty by removed items.
    gaps: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self {
        first: NONE,
        next: 0,
        items: 0,
        gaps: 0,
    };

    /// Returns the number of items in the list.
    pub(super) fn count(&self) -> u32 {
        self.items
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// True if the list needs another block for its next item.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.next.is_multiple_of(BLOCK)
    }
}

/// A list that was taken for reading. Reading it to the end frees all its blocks.
pub(crate) struct Due {
    /// Index of the first cell of its next block.
    block: u32,
    /// Start of the last block, and the number of its used cells.
    last: u32,
    last_count: u32,
    /// Block being read, and the number of its used cells.
    cells: [u32; BLOCK as usize],
    count: u32,
}

impl Due {
    pub(super) fn new(list: List) -> Self {
        let last_count = list.next.wrapping_sub(1) % BLOCK + 1;
        Self {
            block: list.first,
            last: list.next.wrapping_sub(last_count),
            last_count,
            cells: [NONE; BLOCK as usize],
            count: 1,
        }
    }

    /// Returns an upper bound on the number of items in the block being read.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count as usize - 1
    }

    /// Iterates over the items in the block being read, in order.
    #[inline(always)]
    pub(crate) fn items(&self) -> impl Iterator<Item = u32> {
        let cells = &self.cells[1..self.count as usize];
        cells.iter().copied().filter(|item| *item != NONE)
    }
}

pub(super) struct Pool {
    cells: Vec<u32>,
    /// Start of the first free block; the others follow by their links. Blocks have no ids that
    /// could be kept elsewhere: an item's place is a cell.
    free: u32,
    /// Empty buffer that keeps its memory.
    spare: Vec<u32>,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self {
            cells: Vec::new(),
            free: NONE,
            spare: Vec::new(),
        }
    }

    /// Adds a free block to a full list, if there is one; returns true on success.
    #[inline(always)]
    pub(super) fn extend(&mut self, list: &mut List) -> bool {
        let block = self.free;
        if block == NONE {
            return false;
        }
        self.free = self.cells[block as usize];
        if list.is_empty() {
            list.first = block;
        } else {
            self.cells[(list.next - BLOCK) as usize] = block;
        }
        list.next = block + 1;
        true
    }

    /// Adds a free block to the pool.
    #[cold]
    pub(super) fn grow(&mut self) {
        let block = self.cells.len();
        self.cells.resize(block + BLOCK as usize, self.free);
        self.free = u32::try_from(block)
            .expect("the number of places is within a small factor of the number of items");
    }

    /// Appends `item` to a list that is not full; returns its place.
    #[inline(always)]
    pub(super) fn push(&mut self, list: &mut List, item: u32) -> u32 {
        let place = list.next;
        self.cells[place as usize] = item;
        list.next = place + 1;
        list.items += 1;
        place
    }

    /// Removes the item at `place`; `table` holds the places of all other items.
    pub(super) fn remove(&mut self, list: &mut List, table: &mut [impl Placed], place: u32) {
        self.cells[place as usize] = NONE;
        list.items -= 1;
        list.gaps += 1;
        // So a list takes but a few times what its items need, and one without items nothing.
        if list.items == 0 || list.gaps > list.items + BLOCK {
            let mut items = std::mem::take(&mut self.spare);
            let mut due = Due::new(std::mem::replace(list, List::EMPTY));
            while self.next(&mut due) {
                items.extend(due.items());
            }
            for item in items.drain(..) {
                if list.is_full() {
                    self.extend(list);
                }
                *table[item as usize].place_mut() = self.push(list, item);
            }
            self.spare = items;
        }
    }

    /// Advances to the next items of a taken list; returns false at the end. Frees their block.
    #[inline(always)]
    pub(super) fn next(&mut self, due: &mut Due) -> bool {
        let block = due.block;
        if block == NONE {
            return false;
        }
        let cells = &mut self.cells[block as usize..(block + BLOCK) as usize];
        due.cells.copy_from_slice(cells);
        cells[0] = std::mem::replace(&mut self.free, block);
        let is_last = block == due.last;
        due.count = if is_last { due.last_count } else { BLOCK };
        due.block = if is_last { NONE } else { due.cells[0] };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_and_cancelling_again_and_again_takes_no_more_memory() {
        let (mut pool, mut list) = (Pool::new(), List::EMPTY);
        let push = |pool: &mut Pool, list: &mut List, item| {
            if list.is_full() && !pool.extend(list) {
                pool.grow();
                pool.extend(list);
            }
            pool.push(list, item)
        };
        let table = &mut [0_u32; 40][..];
        for item in 0..40 {
            table[item as usize] = push(&mut pool, &mut list, item);
        }
        for round in 0..100_000_u32 {
            let item = round * 7 % 40;
            let place = table[item as usize];
            pool.remove(&mut list, table, place);
            table[item as usize] = push(&mut pool, &mut list, item);
        }
        let mut due = Due::new(list);
        let mut items = Vec::new();
        while pool.next(&mut due) {
            items.extend(due.items());
        }
        let last = (99_960..100_000).map(|round: u32| round * 7 % 40);
        assert_eq!(items, last.collect::<Vec<_>>());
        assert!(pool.cells.len() < 300, "{} places", pool.cells.len());
    }
}
