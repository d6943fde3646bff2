//! Timing wheel for the near future, with a heap for the far future.
//!
//! ```text
//!   near: one list per tick, for the next 4096 ticks ── two-level bitmap finds the next one
//!   far:  heap ordered by (tick, sequence) ── moves to the near part before its ticks are reached
//! ```
//!
//! An item's place in either part is known, so removal needs no search. Removal takes constant time
//! on average in a list (occasionally a list is rewritten), and as many steps as the heap has
//! levels there. Lists and heap keep their memory: in steady state nothing is allocated.

use super::Placed;
use super::far::FarHeap;
use super::lists::{Due, List, Pool};

/// Number of ticks the near part covers: 64 words of 64 bits.
const SLOTS: u64 = 64 * 64;

pub(super) struct Wheel {
    /// Time up to which items have been taken.
    now: u64,
    slots: Box<[List; SLOTS as usize]>,
    pool: Pool,
    /// One bit per slot, set if its list is not empty.
    occupied: [u64; 64],
    /// One bit per word of `occupied`, set if the word is not zero.
    summary: u64,
    far: FarHeap,
}

impl Wheel {
    /// Maximum distance in ticks of items in the near part.
    pub(super) const REACH: u64 = SLOTS - 1;

    pub(super) fn new() -> Self {
        Self {
            now: 0,
            slots: vec![List::EMPTY; SLOTS as usize]
                .into_boxed_slice()
                .try_into()
                .unwrap_or_else(|_| unreachable!("the slice has this length")),
            pool: Pool::new(),
            occupied: [0; 64],
            summary: 0,
            far: FarHeap::default(),
        }
    }

    /// Resets an empty wheel to an earlier time.
    pub(super) fn turn_back(&mut self, now: u64) {
        debug_assert!(self.next_tick().is_none());
        self.now = now;
    }

    pub(super) fn push(&mut self, table: &mut [impl Placed], tick: u64, item: u32) {
        debug_assert!(tick >= self.now);
        if tick - self.now < SLOTS {
            self.put(table[item as usize].place_mut(), tick, item);
        } else {
            self.far.push(tick, item);
        }
    }

    /// Adds an item to the near part and stores its place in `place`.
    fn put(&mut self, place: &mut u32, tick: u64, item: u32) {
        if !self.put_soon(place, tick, item) {
            self.pool.grow();
            self.put_soon(place, tick, item);
        }
    }

    /// Adds an item at most [`Wheel::REACH`] ticks ahead, if no memory has to be allocated. Returns
    /// true if it was added.
    #[inline(always)]
    pub(super) fn push_soon(&mut self, entry: &mut impl Placed, ticks: u64, item: u32) -> bool {
        debug_assert!(ticks <= Self::REACH);
        self.put_soon(entry.place_mut(), self.now + ticks, item)
    }

    #[inline(always)]
    fn put_soon(&mut self, place: &mut u32, tick: u64, item: u32) -> bool {
        let at = (tick % SLOTS) as usize;
        let list = &mut self.slots[at];
        if list.is_full() {
            let is_first = list.is_empty();
            if !self.pool.extend(list) {
                return false;
            }
            if is_first {
                self.occupied[at / 64] |= 1 << (at % 64);
                self.summary |= 1 << (at / 64);
            }
        }
        *place = self.pool.push(list, item);
        true
    }

    #[inline]
    fn mark_empty(&mut self, slot: usize) {
        let word = slot / 64;
        self.occupied[word] &= !(1 << (slot % 64));
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    pub(super) fn remove(&mut self, table: &mut [impl Placed], tick: u64, item: u32) {
        if tick - self.now >= SLOTS {
            return self.far.remove(item);
        }
        let at = (tick % SLOTS) as usize;
        let place = table[item as usize].place();
        self.pool.remove(&mut self.slots[at], table, place);
        if self.slots[at].is_empty() {
            self.mark_empty(at);
        }
    }

    #[inline]
    pub(super) fn next_tick(&self) -> Option<u64> {
        if self.summary == 0 {
            return self.far.first_tick();
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

    #[inline]
    pub(super) fn advance(&mut self, table: &mut [impl Placed], tick: u64) {
        debug_assert!(tick >= self.now);
        self.now = tick;
        while let Some(due) = self.far.first_tick()
            && due - tick < SLOTS
        {
            let item = self.far.pop().expect("the queue has a first item");
            self.push(table, due, item);
        }
    }

    /// Adds items at the current time, which are taken next.
    pub(super) fn put_due(&mut self, items: impl Iterator<Item = u32>) {
        for item in items {
            self.put(&mut 0, self.now, item);
        }
    }

    /// Takes the items of the current time, to be read by [`Wheel::next_due`], and returns their
    /// number.
    #[inline]
    pub(super) fn take_due(&mut self) -> (Due, usize) {
        let at = (self.now % SLOTS) as usize;
        let list = std::mem::replace(&mut self.slots[at], List::EMPTY);
        if !list.is_empty() {
            self.mark_empty(at);
        }
        (Due::new(list), list.count() as usize)
    }

    #[inline(always)]
    pub(super) fn next_due(&mut self, due: &mut Due) -> bool {
        self.pool.next(due)
    }
}
