//! Hand-written PHOLD: a timing wheel of lists with a bitmap.

use std::rc::Rc;

use cpu_time::ProcessTime;

use crate::phold::Objects;
use crate::workload::Sample;

const NONE: u32 = u32::MAX;

/// Events by tick; those of one tick keep their arrival order.
struct Wheel {
    now: u64,
    /// First and last event of each tick. The length is a power of two larger than the longest
    /// delay.
    slots: Vec<(u32, u32)>,
    after: Vec<u32>,
    occupied: Vec<u64>,
}

impl Wheel {
    fn new(delay_max: u64, events: u64) -> Self {
        let slots = (delay_max + 1).next_power_of_two().max(64) as usize;
        Self {
            now: 0,
            slots: vec![(NONE, NONE); slots],
            after: vec![NONE; events as usize],
            occupied: vec![0; slots / 64],
        }
    }

    fn push(&mut self, delay: u64, event: u32) {
        let at = (self.now + delay) as usize & (self.slots.len() - 1);
        self.after[event as usize] = NONE;
        let (first, last) = &mut self.slots[at];
        if *first == NONE {
            *first = event;
            self.occupied[at / 64] |= 1 << (at % 64);
        } else {
            self.after[*last as usize] = event;
        }
        *last = event;
    }

    /// Advances to the next tick with an event and takes its list.
    fn take_next(&mut self) -> Option<u32> {
        let words = self.occupied.len();
        let start = (self.now + 1) as usize & (self.slots.len() - 1);
        // The word of the start comes twice: its later bits first, its earlier ones last.
        for i in 0..=words {
            let word = (start / 64 + i) % words;
            let bits = match i {
                0 => self.occupied[word] & (u64::MAX << (start % 64)),
                _ => self.occupied[word],
            };
            if bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                self.occupied[word] &= !(1 << (at % 64));
                let ahead = at.wrapping_sub(start) & (self.slots.len() - 1);
                self.now += 1 + ahead as u64;
                let (first, _) = std::mem::replace(&mut self.slots[at], (NONE, NONE));
                return Some(first);
            }
        }
        None
    }
}

trait Handler {
    fn handle(&mut self, me: u32, wheel: &mut Wheel);
}

struct Flight {
    object: u64,
    state: Rc<Objects>,
}

impl Handler for Flight {
    fn handle(&mut self, me: u32, wheel: &mut Wheel) {
        if let Some((object, delay)) = self.state.handle(self.object) {
            self.object = object;
            wheel.push(delay, me);
        }
    }
}

/// Runs PHOLD until `total` events are handled.
pub(crate) fn phold(objects: u64, events: u64, delay_max: u64, total: u64) -> Sample {
    let state = Rc::new(Objects::new(objects, delay_max, total));
    let mut wheel = Wheel::new(delay_max, objects * events);
    let mut handlers: Vec<Box<dyn Handler>> = Vec::new();
    for i in 0..objects * events {
        handlers.push(Box::new(Flight {
            object: i % objects,
            state: Rc::clone(&state),
        }));
        wheel.push(1 + i % delay_max, i as u32);
    }
    let start = ProcessTime::now();
    while let Some(mut event) = wheel.take_next() {
        while event != NONE {
            let after = wheel.after[event as usize];
            handlers[event as usize].handle(event, &mut wheel);
            event = after;
        }
    }
    state.sample(start.elapsed())
}
