//! A timing wheel.
//!
//! ```text
//!   near: one list per tick, for the next 4096 ticks ── two-level bitmap finds the next one
//!   far:  heap ordered by (tick, sequence) ── moves to the near part before its ticks are reached
//! ```
//!
//! The lists run through links in the items themselves, so nothing is allocated, and removing costs
//! the same wherever the item is.

use super::far::FarHeap;
use super::{Link, Linked, NONE};

/// Ticks the near part covers: 64 words of 64 bits.
pub(super) const SLOTS: u64 = 64 * 64;

pub(super) struct Wheel {
    /// The time up to which items have been taken.
    now: u64,
    slots: Box<[Slot; SLOTS as usize]>,
    occupied: [u64; 64],
    /// Bit per word of `occupied` that is not zero.
    summary: u64,
    far: FarHeap,
}

/// The ends of the list of one tick.
#[derive(Clone, Copy)]
struct Slot {
    first: u32,
    last: u32,
}

const EMPTY: Slot = Slot {
    first: NONE,
    last: NONE,
};

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            slots: vec![EMPTY; SLOTS as usize]
                .into_boxed_slice()
                .try_into()
                .unwrap_or_else(|_| unreachable!("it has this length")),
            occupied: [0; 64],
            summary: 0,
            far: FarHeap::default(),
        }
    }

    /// Takes an empty wheel back to an earlier time.
    pub(super) fn turn_back(&mut self, now: u64) {
        debug_assert!(self.next_tick().is_none());
        self.now = now;
    }

    pub(super) fn push(&mut self, table: &mut [impl Linked], tick: u64, item: u32) {
        debug_assert!(tick >= self.now);
        if tick - self.now < SLOTS {
            self.push_near(table, tick, item);
        } else {
            self.far.push(tick, item);
        }
    }

    #[inline(always)]
    pub(super) fn push_soon(&mut self, table: &mut [impl Linked], ticks: u64, item: u32) -> bool {
        let near = ticks < SLOTS;
        if near {
            self.push_near(table, self.now + ticks, item);
        }
        near
    }

    #[inline(always)]
    fn push_near(&mut self, table: &mut [impl Linked], tick: u64, item: u32) {
        let at = (tick % SLOTS) as usize;
        let before = self.slots[at].last;
        *table[item as usize].link_mut() = Link {
            before,
            after: NONE,
        };
        self.slots[at].last = item;
        if before == NONE {
            self.slots[at].first = item;
            self.occupied[at / 64] |= 1 << (at % 64);
            self.summary |= 1 << (at / 64);
        } else {
            table[before as usize].link_mut().after = item;
        }
    }

    #[inline]
    fn mark_empty(&mut self, slot: usize) {
        let word = slot / 64;
        self.occupied[word] &= !(1 << (slot % 64));
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    pub(super) fn remove(&mut self, table: &mut [impl Linked], tick: u64, item: u32) {
        if tick - self.now >= SLOTS {
            return self.far.remove(item);
        }
        let at = (tick % SLOTS) as usize;
        let Link { before, after } = *table[item as usize].link();
        match before {
            NONE => self.slots[at].first = after,
            _ => table[before as usize].link_mut().after = after,
        }
        match after {
            NONE => self.slots[at].last = before,
            _ => table[after as usize].link_mut().before = before,
        }
        if self.slots[at].first == NONE {
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
    pub(super) fn advance(&mut self, table: &mut [impl Linked], tick: u64) {
        debug_assert!(tick >= self.now);
        self.now = tick;
        while let Some(due) = self.far.first_tick()
            && due - tick < SLOTS
        {
            let item = self.far.pop().expect("it has a first item");
            self.push(table, due, item);
        }
    }

    /// Takes the list of the current time away; returns its first item for [`Wheel::next_due`].
    #[inline]
    pub(super) fn take_due(&mut self) -> u32 {
        let at = (self.now % SLOTS) as usize;
        let first = self.slots[at].first;
        if first != NONE {
            self.slots[at] = EMPTY;
            self.mark_empty(at);
        }
        first
    }

    /// The item at `due`, which moves on to the one after it.
    #[inline(always)]
    pub(super) fn next_due(table: &[impl Linked], due: &mut u32) -> Option<u32> {
        let item = *due;
        if item == NONE {
            return None;
        }
        *due = table[item as usize].link().after;
        Some(item)
    }
}
