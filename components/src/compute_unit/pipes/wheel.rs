//! Timing wheel of events in the near future.
//!
//! ```text
//!   ring of cycles:   a bit: something happens   wavefronts whose operands are there   list of events
//! ```
//!
//! Most results need no event; the unit only has to be awake in their cycle. The wavefronts that
//! wait for a result are kept as bits, independent of its source.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, Stateful};

use crate::memory::Level;

const NONE: u32 = u32::MAX;

/// Event that takes effect in a given cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A wavefront resumes with its next instruction.
    Resume {
        /// Slot of the wavefront that issues.
        slot: u8,
    },
    /// The data of a load from outside the unit are written to the registers.
    WriteBack {
        /// Slot of the wavefront that resumes issuing.
        slot: u8,
        /// Memory level that supplied the last response.
        level: Level,
        /// Index of the load in the decoded program.
        instruction: u32,
    },
    /// The last result of an ended wavefront arrives.
    Drain {
        /// Slot of the wavefront that issued the load.
        slot: u8,
    },
}

/// Order of results and events within one cycle: the one filed last comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Stamp(u64);

/// One cycle of the ring buffer.
#[derive(Clone, Copy)]
struct Slot {
    /// Wavefronts whose operands become available in this cycle.
    waiting: u64,
    /// Index of the first event in the list.
    first: u32,
}

const EMPTY: Slot = Slot {
    waiting: 0,
    first: NONE,
};

#[derive(Clone, Copy)]
struct Entry {
    event: Event,
    stamp: Stamp,
    next: u32,
}

/// Checkpoint form of an occupied slot: its index, the waiting wavefronts, and its events in
/// processing order.
type Saved = (u32, u64, Vec<(Event, Stamp)>);

/// Timing wheel: a ring of lists over a slab of entries, with one bit per occupied cycle.
///
/// The owner must take the events of every occupied cycle, so that no entry survives a full turn of
/// the wheel.
pub(crate) struct Wheel {
    slots: Box<[Slot]>,
    occupied: Box<[u64]>,
    entries: Vec<Entry>,
    /// Unused entries form another list. Entry indices never leave the wheel, so a table with ID
    /// checks would find no errors. It would take 1.0 % more instructions for a whole matrix
    /// multiply and 0.8 % for a breadth-first search (`scenarios/*_60.ron`).
    free: u32,
    /// First event that was taken from the wheel but not yet returned.
    due: u32,
    /// Stamp of the event returned last, until the list is empty.
    under_way: Stamp,
    /// Stamp of the result or event filed last.
    last: Stamp,
}

impl Wheel {
    /// Creates a wheel for events at most `horizon` cycles ahead.
    pub(crate) fn new(horizon: u64) -> Self {
        let slots = (horizon + 1).next_power_of_two().max(64) as usize;
        Self {
            slots: vec![EMPTY; slots].into(),
            occupied: vec![0; slots / 64].into(),
            entries: Vec::new(),
            free: NONE,
            due: NONE,
            under_way: Stamp::default(),
            last: Stamp::default(),
        }
    }

    /// Returns the size of the ring in cycles; every event is fewer cycles ahead.
    pub(crate) fn horizon(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn slot(&self, cycle: Cycle) -> usize {
        cycle as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn stamp(&mut self) -> Stamp {
        self.last.0 += 1;
        self.last
    }

    #[inline]
    fn occupy(&mut self, slot: usize) {
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Files an event `delay` (at least 1) cycles after `now`.
    #[inline]
    pub(crate) fn push(&mut self, now: Cycle, delay: u64, event: Event) {
        debug_assert!(delay >= 1 && delay < self.slots.len() as u64);
        let slot = self.slot(now + delay);
        let stamp = self.stamp();
        self.occupy(slot);
        self.slots[slot].first = self.entry(event, stamp, self.slots[slot].first);
    }

    /// Files a result of cycle `at`, for which no wavefront waits yet.
    #[inline]
    pub(crate) fn result(&mut self, at: Cycle) -> Stamp {
        self.occupy(self.slot(at));
        self.stamp()
    }

    /// Makes a wavefront, given by its bit, wait for cycle `at`, in which a result was filed.
    #[inline]
    pub(crate) fn wait(&mut self, at: Cycle, bit: u64) {
        let slot = self.slot(at);
        self.slots[slot].waiting |= bit;
    }

    /// Files the drain of an ended wavefront whose last result, filed with `stamp`, arrives in
    /// cycle `at`. The cycle must be later, or the current one if that result is not
    /// [past](Self::is_past).
    pub(crate) fn push_drain(&mut self, slot: u8, at: Cycle, stamp: Stamp, now: Cycle) {
        let ring = self.slot(at);
        let first = if at == now {
            self.due
        } else {
            self.occupy(ring);
            self.slots[ring].first
        };
        let (mut before, mut next) = (NONE, first);
        while let Some(entry) = self.entries.get(next as usize)
            && entry.stamp > stamp
        {
            (before, next) = (next, entry.next);
        }
        let index = self.entry(Event::Drain { slot }, stamp, next);
        if let Some(entry) = self.entries.get_mut(before as usize) {
            entry.next = index;
        } else if at == now {
            self.due = index;
        } else {
            self.slots[ring].first = index;
        }
    }

    /// True if a result of cycle `at`, filed with `stamp`, precedes the event returned last.
    #[inline]
    pub(crate) fn is_past(&self, at: Cycle, stamp: Stamp, now: Cycle) -> bool {
        at < now || at == now && stamp >= self.under_way
    }

    #[inline(always)]
    fn entry(&mut self, event: Event, stamp: Stamp, next: u32) -> u32 {
        let entry = Entry { event, stamp, next };
        let index = self.free;
        if index == NONE {
            self.entries.push(entry);
            return (self.entries.len() - 1) as u32;
        }
        self.free = self.entries[index as usize].next;
        self.entries[index as usize] = entry;
        index
    }

    /// True if cycle `now` has any event or result.
    #[inline]
    pub(crate) fn is_due(&self, now: Cycle) -> bool {
        let slot = self.slot(now);
        self.occupied[slot / 64] >> (slot % 64) & 1 != 0
    }

    /// Takes everything in cycle `now`, which must be occupied. Returns the wavefronts whose
    /// operands are available; [`Wheel::next_event`] returns the events one by one.
    #[inline]
    pub(crate) fn take(&mut self, now: Cycle) -> u64 {
        let slot = self.slot(now);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let Slot { waiting, first } = std::mem::replace(&mut self.slots[slot], EMPTY);
        self.due = first;
        waiting
    }

    /// Returns the next of the events taken. New events may be filed in between.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let index = self.due;
        if index == NONE {
            self.under_way = Stamp::default();
            return None;
        }
        let entry = &mut self.entries[index as usize];
        self.due = std::mem::replace(&mut entry.next, self.free);
        self.under_way = entry.stamp;
        self.free = index;
        Some(entry.event)
    }

    /// Returns the first occupied cycle after `now`, whose own events must have been taken.
    #[inline]
    pub(crate) fn next_after(&self, now: Cycle) -> Option<Cycle> {
        let start = self.slot(now + 1);
        let bits = self.occupied[start / 64] >> (start % 64);
        if bits != 0 {
            return Some(now + 1 + u64::from(bits.trailing_zeros()));
        }
        self.next_beyond(now, start)
    }

    /// Continues [`Wheel::next_after`] beyond the word of slot `start`, which has nothing from
    /// `start` on.
    fn next_beyond(&self, now: Cycle, start: usize) -> Option<Cycle> {
        let words = self.occupied.len();
        for step in 1..=words {
            let word = (start / 64 + step) & (words - 1);
            // On the second visit to the first word, only slots before `start` can be set.
            let bits = self.occupied[word];
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let ahead = slot.wrapping_sub(start) & (self.slots.len() - 1);
                return Some(now + 1 + ahead as u64);
            }
        }
        None
    }

    fn save(&self) -> Vec<Saved> {
        let is_occupied = |slot: &usize| self.occupied[slot / 64] >> (slot % 64) & 1 != 0;
        let occupied = (0..self.slots.len()).filter(is_occupied);
        let events = |slot: usize| {
            let mut next = self.slots[slot].first;
            std::iter::from_fn(move || {
                let entry = self.entries.get(next as usize)?;
                next = entry.next;
                Some((entry.event, entry.stamp))
            })
        };
        occupied
            .map(|slot| {
                (
                    slot as u32,
                    self.slots[slot].waiting,
                    events(slot).collect(),
                )
            })
            .collect()
    }

    fn load(&mut self, saved: Vec<Saved>) -> Result<(), String> {
        *self = Self::new(self.slots.len() as u64 - 1);
        for (slot, waiting, events) in saved {
            let slot = slot as usize;
            if slot >= self.slots.len() {
                return Err(format!("slot {slot} is beyond the horizon"));
            }
            self.occupy(slot);
            self.slots[slot].waiting = waiting;
            // The last one filed is taken first.
            for (event, stamp) in events.into_iter().rev() {
                self.slots[slot].first = self.entry(event, stamp, self.slots[slot].first);
            }
        }
        Ok(())
    }
}

impl Stateful for Wheel {
    fn state(&mut self, state: &mut State<'_>) {
        state.field_as("events", self, Self::save, Self::load);
        state.field("last_event", &mut self.last);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(slot: u8) -> Event {
        Event::Resume { slot }
    }

    #[test]
    fn next_after_looks_once_around_the_wheel() {
        let mut wheel = Wheel::new(100);
        assert_eq!(wheel.next_after(7), None);
        for (now, delay) in [(0, 1), (63, 1), (127, 127), (1000, 100)] {
            wheel.push(now, delay, event(1));
            assert_eq!(wheel.next_after(now), Some(now + delay), "{now} + {delay}");
            assert!(wheel.is_due(now + delay));
            assert_eq!(wheel.take(now + delay), 0);
            assert_eq!(wheel.next_event(), Some(event(1)));
            assert_eq!(wheel.next_event(), None);
            assert_eq!(wheel.next_after(now), None);
        }
    }

    #[test]
    fn a_drained_wavefront_has_the_place_of_its_last_result() {
        let mut wheel = Wheel::new(100);
        for later in [false, true] {
            wheel.push(0, 9, event(1));
            let result = wheel.result(9);
            wheel.push(0, 9, event(2));
            wheel.wait(9, 0b100);
            if later {
                wheel.push_drain(3, 9, result, 5);
            }
            assert!(!wheel.is_past(9, result, 8));
            assert_eq!(wheel.take(9), 0b100);
            assert_eq!(wheel.next_event(), Some(event(2)));
            assert!(!wheel.is_past(9, result, 9));
            if !later {
                wheel.push_drain(3, 9, result, 9);
            }
            assert_eq!(wheel.next_event(), Some(Event::Drain { slot: 3 }));
            assert_eq!(wheel.next_event(), Some(event(1)));
            assert!(wheel.is_past(9, result, 9));
            assert_eq!(wheel.next_event(), None);
            assert!(wheel.is_past(9, result, 9) && wheel.next_after(9).is_none());
        }
    }

    proptest! {
        #[test]
        fn events_come_in_their_cycle_and_once(
            pushes in proptest::collection::vec((0u64..40, 1u64..200), 1..100),
        ) {
            let mut wheel = Wheel::new(200);
            let mut expected: Vec<(Cycle, u8)> = Vec::new();
            let mut got = Vec::new();
            let mut now = 0;
            for (number, (advance, delay)) in pushes.into_iter().enumerate() {
                for cycle in now + 1..=now + advance {
                    wheel.take(cycle);
                    while let Some(Event::Resume { slot }) = wheel.next_event() {
                        got.push((cycle, slot));
                    }
                }
                now += advance;
                wheel.push(now, delay, event(number as u8));
                expected.push((now + delay, number as u8));
            }
            while let Some(cycle) = wheel.next_after(now) {
                now = cycle;
                wheel.take(cycle);
                while let Some(Event::Resume { slot }) = wheel.next_event() {
                    got.push((cycle, slot));
                }
            }
            expected.sort_unstable();
            got.sort_unstable();
            prop_assert_eq!(got, expected);
        }
    }
}
