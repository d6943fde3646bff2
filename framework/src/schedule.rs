//! Who is awake when: per clock domain a wheel of bit sets for the near future and a heap for
//! the rest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::{Cycle, TICK_MAX, Tick};

/// Cycles the wheel covers; one bit of `occupied` per slot.
const SLOTS: usize = 64;
const MASK: u64 = SLOTS as u64 - 1;

/// A component, as (clock domain, index within the domain).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub domain: u32,
    pub index: u32,
}

/// The wake-ups of one clock domain.
pub(crate) struct DomainSchedule {
    /// Ticks per cycle.
    pub(crate) period: u64,
    /// The cycle under evaluation, or the last one evaluated.
    pub(crate) cycle: Cycle,
    /// Whether any cycle has been evaluated (cycle 0 can still be woken before that).
    started: bool,
    /// `SLOTS` bit sets of `words` words each, a bit per component.
    wheel: Vec<u64>,
    words: usize,
    occupied: u64,
    far: BinaryHeap<Reverse<(Cycle, u32)>>,
    /// The cycle of the last far wake-up of each component: asking again costs nothing.
    far_asked: Vec<Cycle>,
    /// The last cycle of the horizon of ticks.
    cycle_max: Cycle,
}

impl DomainSchedule {
    pub(crate) fn new(period: u64, components: usize) -> Self {
        Self {
            period,
            cycle: 0,
            started: false,
            wheel: vec![0; SLOTS * components.div_ceil(64)],
            words: components.div_ceil(64),
            occupied: 0,
            far: BinaryHeap::new(),
            far_asked: vec![0; components],
            cycle_max: TICK_MAX / period,
        }
    }

    /// Wakes `index` at `cycle`, which must not have been evaluated yet; waking twice is waking once.
    #[inline]
    pub(crate) fn wake(&mut self, index: u32, cycle: Cycle) {
        debug_assert!(cycle > self.cycle || !self.started);
        if cycle - self.cycle < SLOTS as u64 {
            let slot = cycle & MASK;
            self.set(slot as usize, index);
            self.occupied |= 1 << slot;
        } else {
            self.wake_far(index, cycle);
        }
    }

    #[inline]
    fn set(&mut self, slot: usize, index: u32) {
        self.wheel[slot * self.words + (index >> 6) as usize] |= 1 << (index & 63);
    }

    #[cold]
    fn wake_far(&mut self, index: u32, cycle: Cycle) {
        let asked = &mut self.far_asked[index as usize];
        // A cycle beyond the horizon never comes.
        if *asked != cycle && cycle <= self.cycle_max {
            *asked = cycle;
            self.far.push(Reverse((cycle, index)));
        }
    }

    /// The first cycle at which somebody is awake.
    #[inline]
    pub(crate) fn next_cycle(&self) -> Option<Cycle> {
        let near = (self.occupied != 0).then(|| {
            let turn = self.cycle & MASK;
            self.cycle + u64::from(self.occupied.rotate_right(turn as u32).trailing_zeros())
        });
        let far = self.far.peek().map(|Reverse((cycle, _))| *cycle);
        match (near, far) {
            (Some(n), Some(f)) => Some(n.min(f)),
            (n, f) => n.or(f),
        }
    }

    /// The tick of [`DomainSchedule::next_cycle`].
    #[inline]
    pub(crate) fn next_tick(&self) -> Option<Tick> {
        self.next_cycle().map(|c| Tick(c * self.period))
    }

    /// Whether `cycle` has not been evaluated yet.
    pub(crate) fn is_new(&self, cycle: Cycle) -> bool {
        cycle > self.cycle || !self.started
    }

    /// Moves to `cycle`; who is awake there is then in [`DomainSchedule::take_word`].
    pub(crate) fn advance(&mut self, cycle: Cycle) {
        debug_assert!(self.is_new(cycle));
        self.cycle = cycle;
        self.started = true;
        let slot = (cycle & MASK) as usize;
        while let Some(&Reverse((due, index))) = self.far.peek()
            && due <= cycle
        {
            self.far.pop();
            self.set(slot, index);
        }
        self.occupied &= !(1 << slot);
    }

    /// Number of components.
    pub(crate) fn components(&self) -> u32 {
        self.far_asked.len() as u32
    }

    /// Words per bit set.
    #[inline]
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Takes who is awake in the current cycle among the components `64 * word ..`. Nobody can be
    /// woken for the current cycle any more, so the words can be taken while others wake.
    #[inline]
    pub(crate) fn take_word(&mut self, word: usize) -> u64 {
        let at = (self.cycle & MASK) as usize * self.words + word;
        std::mem::take(&mut self.wheel[at])
    }

    /// Every wake-up to come, as (cycle, component), each once and in order; the last cycle
    /// evaluated; and whether there was any.
    pub(crate) fn save(&self) -> (Vec<(Cycle, u32)>, Cycle, bool) {
        let mut wakes: Vec<_> = self.far.iter().map(|Reverse(wake)| *wake).collect();
        for ahead in 0..SLOTS as u64 {
            let slot = ((self.cycle + ahead) & MASK) as usize;
            for (word, bits) in self.wheel[slot * self.words..][..self.words]
                .iter()
                .enumerate()
            {
                let index = |bit: &u32| bits >> bit & 1 == 1;
                let awake = (0..u64::BITS).filter(index);
                wakes.extend(awake.map(|bit| (self.cycle + ahead, word as u32 * 64 + bit)));
            }
        }
        wakes.sort_unstable();
        wakes.dedup();
        (wakes, self.cycle, self.started)
    }

    /// The first cycle that has not been evaluated.
    pub(crate) fn first_new(&self) -> Cycle {
        if self.started { self.cycle + 1 } else { 0 }
    }

    /// Time has come to `now`: nobody is evaluated at an edge up to it any more.
    pub(crate) fn pass(&mut self, now: Tick) {
        debug_assert!(self.next_tick().is_none_or(|next| next > now));
        if self.started {
            self.cycle = self.cycle.max(now.0 / self.period);
        }
    }

    /// Forgets everything and stands at `cycle`, evaluated if `started`.
    pub(crate) fn load(&mut self, cycle: Cycle, started: bool) {
        let components = self.far_asked.len();
        *self = Self {
            cycle,
            started,
            ..Self::new(self.period, components)
        };
    }

    /// The first cycle whose edge is at or after `tick`.
    pub(crate) fn first_edge_at_or_after(&self, tick: u64) -> Cycle {
        tick.div_ceil(self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awake(schedule: &mut DomainSchedule) -> Vec<u32> {
        let mut out = Vec::new();
        for w in 0..schedule.words() {
            let mut bits = schedule.take_word(w);
            while bits != 0 {
                out.push(w as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        out
    }

    fn run(schedule: &mut DomainSchedule) -> Vec<(Cycle, Vec<u32>)> {
        let mut out = Vec::new();
        while let Some(cycle) = schedule.next_cycle() {
            schedule.advance(cycle);
            out.push((cycle, awake(schedule)));
        }
        out
    }

    #[test]
    fn near_and_far_wake_ups_come_in_order_and_once() {
        let mut s = DomainSchedule::new(3, 130);
        for (index, cycle) in [
            (5, 0),
            (129, 1),
            (5, 1),
            (5, 1),
            (7, 63),
            (8, 64),
            (9, 1000),
        ] {
            s.wake(index, cycle);
        }
        assert_eq!(
            run(&mut s),
            [
                (0, vec![5]),
                (1, vec![5, 129]),
                (63, vec![7]),
                (64, vec![8]),
                (1000, vec![9])
            ]
        );
    }

    #[test]
    fn a_far_timer_joins_near_wake_ups_of_its_cycle() {
        let mut s = DomainSchedule::new(1, 4);
        s.wake(1, 100);
        s.wake(0, 50);
        s.advance(50);
        assert_eq!(awake(&mut s), [0]);
        s.wake(2, 100);
        assert_eq!(run(&mut s), [(100, vec![1, 2])]);
    }

    #[test]
    fn a_restored_schedule_wakes_the_same_components_at_the_same_cycles() {
        let mut s = DomainSchedule::new(3, 130);
        for (index, cycle) in [(5, 0), (129, 70), (5, 71), (7, 140), (8, 90), (8, 5000)] {
            s.wake(index, cycle);
        }
        s.advance(0);
        assert_eq!(awake(&mut s), [5]);
        s.wake(9, 63);
        let (wakes, cycle, started) = s.save();
        let mut restored = DomainSchedule::new(3, 130);
        restored.wake(1, 0);
        restored.load(cycle, started);
        for (cycle, index) in wakes {
            restored.wake(index, cycle);
        }
        assert!(!restored.is_new(0));
        assert_eq!(run(&mut restored), run(&mut s));
    }

    #[test]
    fn next_tick_is_the_edge_of_the_next_cycle() {
        let mut s = DomainSchedule::new(33, 1);
        s.wake(0, 7);
        assert_eq!(s.next_tick(), Some(Tick(231)));
        assert_eq!(s.first_edge_at_or_after(232), 8);
    }
}
