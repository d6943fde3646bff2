//! Events of the near future, one list per cycle.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

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
        /// Index of the decoded instruction.
        instruction: u32,
    },
}

/// A timing wheel: a ring of lists, which keep their memory, with a bit per occupied cycle.
///
/// The owner takes the events of every cycle that has any, so that an event never survives a turn
/// of the wheel.
pub(super) struct Wheel {
    events: Box<[Vec<Event>]>,
    occupied: Box<[u64]>,
}

impl Wheel {
    /// A wheel for events at most `horizon` cycles ahead.
    pub(super) fn new(horizon: u64) -> Self {
        let slots = (horizon + 1).next_power_of_two().max(64) as usize;
        Self {
            events: vec![Vec::new(); slots].into(),
            occupied: vec![0; slots / 64].into(),
        }
    }

    #[inline]
    fn slot(&self, cycle: Cycle) -> usize {
        cycle as usize & (self.events.len() - 1)
    }

    /// Files an event `delay` (at least 1) cycles after `now`.
    #[inline]
    pub(super) fn push(&mut self, now: Cycle, delay: u64, event: Event) {
        debug_assert!(delay >= 1 && delay < self.events.len() as u64);
        self.put(self.slot(now + delay), event);
    }

    #[inline]
    fn put(&mut self, slot: usize, event: Event) {
        self.events[slot].push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Takes one event of cycle `now`, the one that was filed last.
    #[inline]
    pub(super) fn pop(&mut self, now: Cycle) -> Option<Event> {
        let slot = self.slot(now);
        let events = &mut self.events[slot];
        let event = events.pop()?;
        if events.is_empty() {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        Some(event)
    }

    /// The first cycle after `now` (whose events are taken) that has an event.
    pub(super) fn next_after(&self, now: Cycle) -> Option<Cycle> {
        let turn = self.events.len() as u64;
        let start = (now + 1) % turn;
        let words = self.occupied.len();
        let (first, bit) = ((start / 64) as usize, start % 64);
        for step in 0..=words {
            let word = (first + step) % words;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= u64::MAX << bit;
            } else if step == words {
                bits &= !(u64::MAX << bit);
            }
            if bits != 0 {
                let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return Some(now + 1 + (slot + turn - start) % turn);
            }
        }
        None
    }

    /// Names the events to come.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field_as("events", self, Self::save, Self::load);
    }

    /// Per occupied slot its events, the one to be taken first last.
    fn save(&self) -> Vec<(u32, Vec<Event>)> {
        let slots = (0_u32..).zip(&self.events);
        let occupied = slots.filter(|(_, events)| !events.is_empty());
        occupied
            .map(|(slot, events)| (slot, events.clone()))
            .collect()
    }

    fn load(&mut self, saved: Vec<(u32, Vec<Event>)>) -> Result<(), String> {
        *self = Self::new(self.events.len() as u64 - 1);
        for (slot, events) in saved {
            if slot as usize >= self.events.len() {
                return Err(format!("slot {slot} is beyond the horizon"));
            }
            for event in events {
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
            assert_eq!(wheel.pop(now + delay), Some(event(1)));
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
                    while let Some(Event::Resume { slot }) = wheel.pop(cycle) {
                        got.push((cycle, slot));
                    }
                }
                now += advance;
                wheel.push(now, delay, event(number as u8));
                expected.push((now + delay, number as u8));
            }
            while let Some(cycle) = wheel.next_after(now) {
                now = cycle;
                while let Some(Event::Resume { slot }) = wheel.pop(cycle) {
                    got.push((cycle, slot));
                }
            }
            expected.sort_unstable();
            got.sort_unstable();
            prop_assert_eq!(got, expected);
        }
    }
}
