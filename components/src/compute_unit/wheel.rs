//! Events of the near future, one list per cycle.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use crate::memory::Level;

const NONE: u32 = u32::MAX;

/// What becomes true at a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Event {
    /// A wavefront goes on to its next instruction.
    Resume {
        /// Wavefront slot.
        slot: u8,
    },
    /// An instruction's results are there.
    WriteBack {
        /// Wavefront slot.
        slot: u8,
        /// Of a load from outside the unit, who supplied what came last.
        level: Option<Level>,
        /// Index of the decoded instruction.
        instruction: u32,
    },
}

#[derive(Clone, Copy)]
struct Entry {
    event: Event,
    next: u32,
}

/// Events that were taken from a wheel and not handed out yet.
pub(super) struct Due(u32);

/// A timing wheel: a ring of lists over a slab of entries, with a bit per occupied cycle.
///
/// The owner takes the events of every cycle that has any, so that an entry never survives a turn
/// of the wheel.
pub(super) struct Wheel {
    heads: Box<[u32]>,
    occupied: Box<[u64]>,
    entries: Vec<Entry>,
    /// The entries that are not in use are one more list. No number of an entry leaves the wheel, so
    /// a table that checks ids would find nothing; it takes 1.0 % more instructions of a whole matrix
    /// multiply and 0.8 % of a breadth-first search (`scenarios/*_60.ron`).
    free: u32,
}

impl Wheel {
    /// A wheel for events at most `horizon` cycles ahead.
    pub(super) fn new(horizon: u64) -> Self {
        let slots = (horizon + 1).next_power_of_two().max(64) as usize;
        Self {
            heads: vec![NONE; slots].into(),
            occupied: vec![0; slots / 64].into(),
            entries: Vec::new(),
            free: NONE,
        }
    }

    /// No event lies so many cycles ahead.
    pub(super) fn horizon(&self) -> u64 {
        self.heads.len() as u64
    }

    #[inline]
    fn slot(&self, cycle: Cycle) -> usize {
        cycle as usize & (self.heads.len() - 1)
    }

    /// Files an event `delay` (at least 1) cycles after `now`.
    #[inline]
    pub(super) fn push(&mut self, now: Cycle, delay: u64, event: Event) {
        debug_assert!(delay >= 1 && delay < self.heads.len() as u64);
        self.put(self.slot(now + delay), event);
    }

    #[inline(always)]
    fn put(&mut self, slot: usize, event: Event) {
        let next = self.heads[slot];
        if next == NONE {
            self.occupied[slot / 64] |= 1 << (slot % 64);
        }
        let entry = Entry { event, next };
        let index = self.free;
        if index == NONE {
            self.heads[slot] = self.entries.len() as u32;
            self.entries.push(entry);
        } else {
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            self.heads[slot] = index;
        }
    }

    /// Takes all events of cycle `now` from the wheel; [`Wheel::next_of`] gives them one by one.
    #[inline]
    pub(super) fn take(&mut self, now: Cycle) -> Due {
        let slot = self.slot(now);
        let first = std::mem::replace(&mut self.heads[slot], NONE);
        if first != NONE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        Due(first)
    }

    /// The next of the events taken. Others may be filed in between.
    #[inline]
    pub(super) fn next_of(&mut self, due: &mut Due) -> Option<Event> {
        let index = due.0;
        if index == NONE {
            return None;
        }
        let entry = &mut self.entries[index as usize];
        due.0 = std::mem::replace(&mut entry.next, self.free);
        self.free = index;
        Some(entry.event)
    }

    /// The first cycle after `now` (whose events are taken) that has an event.
    #[inline]
    pub(super) fn next_after(&self, now: Cycle) -> Option<Cycle> {
        let start = self.slot(now + 1);
        let bits = self.occupied[start / 64] >> (start % 64);
        if bits != 0 {
            return Some(now + 1 + u64::from(bits.trailing_zeros()));
        }
        self.next_beyond(now, start)
    }

    /// As [`Wheel::next_after`], beyond the word of the slot `start`, in which nothing comes after it.
    fn next_beyond(&self, now: Cycle, start: usize) -> Option<Cycle> {
        let words = self.occupied.len();
        for step in 1..=words {
            let word = (start / 64 + step) & (words - 1);
            // Of the first word, come to again, only what lies before `start` is left.
            let bits = self.occupied[word];
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let ahead = slot.wrapping_sub(start) & (self.heads.len() - 1);
                return Some(now + 1 + ahead as u64);
            }
        }
        None
    }

    /// The events to come.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        self.save().into_iter().flat_map(|(_, events)| events)
    }

    /// Names the events to come.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field_as("events", self, Self::save, Self::load);
    }

    /// Per occupied slot its events in the order in which they will be taken.
    fn save(&self) -> Vec<(u32, Vec<Event>)> {
        let occupied = (0..self.heads.len()).filter(|slot| self.heads[*slot] != NONE);
        let events = |slot: usize| {
            let mut next = self.heads[slot];
            std::iter::from_fn(move || {
                let entry = self.entries.get(next as usize)?;
                next = entry.next;
                Some(entry.event)
            })
        };
        occupied
            .map(|slot| (slot as u32, events(slot).collect()))
            .collect()
    }

    fn load(&mut self, saved: Vec<(u32, Vec<Event>)>) -> Result<(), String> {
        *self = Self::new(self.heads.len() as u64 - 1);
        for (slot, events) in saved {
            if slot as usize >= self.heads.len() {
                return Err(format!("slot {slot} is beyond the horizon"));
            }
            // The last one pushed is taken first.
            for event in events.into_iter().rev() {
                self.put(slot as usize, event);
            }
        }
        Ok(())
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
            let mut due = wheel.take(now + delay);
            assert_eq!(wheel.next_of(&mut due), Some(event(1)));
            assert_eq!(wheel.next_of(&mut due), None);
            assert_eq!(wheel.next_after(now), None);
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
                    let mut due = wheel.take(cycle);
                    while let Some(Event::Resume { slot }) = wheel.next_of(&mut due) {
                        got.push((cycle, slot));
                    }
                }
                now += advance;
                wheel.push(now, delay, event(number as u8));
                expected.push((now + delay, number as u8));
            }
            while let Some(cycle) = wheel.next_after(now) {
                now = cycle;
                let mut due = wheel.take(cycle);
                while let Some(Event::Resume { slot }) = wheel.next_of(&mut due) {
                    got.push((cycle, slot));
                }
            }
            expected.sort_unstable();
            got.sort_unstable();
            prop_assert_eq!(got, expected);
        }
    }
}
