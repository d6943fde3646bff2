//! The lists of the wheel's ticks: chains of small blocks of item numbers, all in one pool.
//!
//! Adding an item writes to the end of its list and to nothing else at random, and the items of a
//! tick stand side by side when they are due, so that what they lead to is fetched together. An
//! item knows its place, and leaves it empty when it is removed.

use super::{NONE, Placed};

/// Numbers in a block: a cache line. The first one says where the next block of its list starts.
const BLOCK: u32 = 16;

/// One list. Its blocks belong to a [`Pool`].
#[derive(Clone, Copy)]
pub(super) struct List {
    /// Where its first block starts.
    first: u32,
    /// Where the next item goes, if that is not the start of a block; 0 while it has no block.
    next: u32,
    items: u32,
    /// Places of removed items.
    gaps: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self {
        first: NONE,
        next: 0,
        items: 0,
        gaps: 0,
    };

    /// How many items are in it.
    pub(super) fn count(&self) -> u32 {
        self.items
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Whether it needs another block for its next item.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.next.is_multiple_of(BLOCK)
    }
}

/// A list that was taken. Read to its end it leaves no block behind.
pub(crate) struct Due {
    /// Where its next block starts.
    block: u32,
    /// Where its last block starts, and how many of its cells are used.
    last: u32,
    last_count: u32,
    /// The block being read, and how many of its cells are used.
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

    /// How many items it has come to, at most.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count as usize - 1
    }

    /// The items it has come to, in their order.
    #[inline(always)]
    pub(crate) fn items(&self) -> impl Iterator<Item = u32> {
        let cells = &self.cells[1..self.count as usize];
        cells.iter().copied().filter(|item| *item != NONE)
    }
}

pub(super) struct Pool {
    cells: Vec<u32>,
    /// Where the first free block starts; the others follow by their links. Blocks have no ids that
    /// somebody could keep: an item's place is a cell.
    free: u32,
    /// An empty list that keeps its memory.
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

    /// Gives a full list a free block, if there is one.
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

    /// Makes a free block.
    #[cold]
    pub(super) fn grow(&mut self) {
        let block = self.cells.len();
        self.cells.resize(block + BLOCK as usize, self.free);
        self.free = u32::try_from(block).expect("places are not many times the items");
    }

    /// Adds `item` at the end of a list that is not full; returns its place.
    #[inline(always)]
    pub(super) fn push(&mut self, list: &mut List, item: u32) -> u32 {
        let place = list.next;
        self.cells[place as usize] = item;
        list.next = place + 1;
        list.items += 1;
        place
    }

    /// Removes the item at `place`; `table` has the places of all others.
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

    /// Goes on to the next items of a list that was taken, if there are any. Their block is free
    /// then.
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
