//! Wake-up schedules: per clock domain, a wheel of bit sets for the near future and a heap for the
//! rest.
//!
//! ```text
//!   sections  a bit per group that is not empty     (262 144 components a word)
//!   groups    a bit per word that is not empty      (4096 components a word)
//!   words     a bit per component that is awake     (64 components a word)
//! ```
//!
//! Each of the three levels stores the words of all wheel cycles contiguously. Levels above the
//! first exist only if the level below has several words. They are marked only when a word becomes
//! occupied. A few components thus cost the same as one word, and a million sleeping ones almost
//! nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::{Cycle, TICK_MAX, Tick};

/// Number of cycles the wheel covers; one bit of `occupied` per slot.
const SLOTS: usize = 64;
const MASK: u64 = SLOTS as u64 - 1;

/// Wake-ups fewer cycles ahead than this use the wheel.
pub(crate) const NEAR: u64 = SLOTS as u64;

/// Cycle or tick of an event that never happens: after all others.
pub(crate) const NEVER: u64 = u64::MAX;

/// A component, as (clock domain, index within the domain).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub domain: u32,
    pub index: u32,
}

/// The wake-ups of one clock domain.
pub(crate) struct DomainSchedule {
    /// Number of ticks per cycle of the domain.
    pub(crate) period: u64,
    /// Cycle under evaluation, or the last one evaluated.
    pub(crate) cycle: Cycle,
    /// True if any cycle has been evaluated (before that, cycle 0 can still be woken).
    started: bool,
    /// One bit per component and cycle of the wheel.
    words: Level,
    /// One bit per word, if there are several words.
    groups: Level,
    /// One bit per group, if there are several groups.
    sections: Level,
    /// One bit per cycle of the wheel in which a component is awake.
    occupied: u64,
    far: BinaryHeap<Reverse<(Cycle, u32)>>,
    /// First cycle of `far`, or [`NEVER`].
    far_first: Cycle,
    /// Cycle of the last far wake-up of each component, which makes a repeated request free.
    far_asked: Vec<Cycle>,
    /// Last cycle within the horizon of ticks.
    pub(crate) cycle_max: Cycle,
}

/// Bit sets, one per cycle of the wheel; those of 64 neighbours are contiguous.
struct Level(Vec<u64>);

impl Level {
    /// Creates a level of `bits` bits in words of 64; empty if a level above one word is not
    /// needed.
    fn new(bits: usize) -> Self {
        Self(vec![0; bits.div_ceil(64) * SLOTS])
    }

    /// Creates the level above this one.
    fn above(&self) -> Self {
        let words = self.0.len() / SLOTS;
        Self::new(if words > 1 { words } else { 0 })
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets a bit; returns true if its word was empty.
    #[inline(always)]
    fn set(&mut self, slot: usize, bit: usize) -> bool {
        let word = &mut self.0[(bit & !63) | slot];
        let before = *word;
        *word = before | 1 << (bit & 63);
        before == 0
    }

    #[inline(always)]
    fn take(&mut self, slot: usize, word: usize) -> u64 {
        std::mem::take(&mut self.0[word * SLOTS + slot])
    }
}

/// Position of a scan over the groups of components awake in the current cycle.
#[derive(Default)]
pub(crate) struct Sweep {
    /// Index of the section to be scanned next.
    section: usize,
    /// Remaining groups of the section before it.
    groups: u64,
}

impl DomainSchedule {
    pub(crate) fn new(period: u64, components: usize) -> Self {
        // One word at least, so that a clock with few components is no special case.
        let words = Level::new(components.max(1));
        let groups = words.above();
        let sections = groups.above();
        Self {
            period,
            cycle: 0,
            started: false,
            words,
            groups,
            sections,
            occupied: 0,
            far: BinaryHeap::new(),
            far_first: NEVER,
            far_asked: vec![0; components],
            cycle_max: TICK_MAX / period,
        }
    }

    /// Wakes `index` at `cycle`, which must not have been evaluated yet. Repeated wake-ups have no
    /// further effect.
    #[inline]
    pub(crate) fn wake(&mut self, index: u32, cycle: Cycle) {
        debug_assert!(cycle > self.cycle || !self.started);
        let ahead = cycle - self.cycle;
        if ahead < NEAR {
            self.wake_near(index, ahead);
        } else {
            self.wake_far(index, cycle);
        }
    }

    /// Equivalent to [`DomainSchedule::wake`] for fewer than [`NEAR`] cycles ahead.
    #[inline(always)]
    pub(crate) fn wake_near(&mut self, index: u32, ahead: u64) {
        debug_assert!(ahead < NEAR && (ahead > 0 || !self.started));
        self.set(((self.cycle + ahead) & MASK) as usize, index);
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, index: u32) {
        if self.words.set(slot, index as usize) {
            self.occupied |= 1 << slot;
            let word = index as usize / 64;
            if !self.groups.is_empty() && self.groups.set(slot, word) && !self.sections.is_empty() {
                self.sections.set(slot, word / 64);
            }
        }
    }

    #[cold]
    fn wake_far(&mut self, index: u32, cycle: Cycle) {
        let asked = &mut self.far_asked[index as usize];
        // A cycle beyond the horizon never comes.
        if *asked != cycle && cycle <= self.cycle_max {
            *asked = cycle;
            self.far.push(Reverse((cycle, index)));
            self.far_first = self.far_first.min(cycle);
        }
    }

    /// Returns the first cycle at which a component is awake and its tick, or [`NEVER`] twice.
    #[inline(always)]
    pub(crate) fn next(&self) -> (Cycle, u64) {
        let cycle = if self.occupied == 0 {
            self.far_first
        } else {
            let turn = (self.cycle & MASK) as u32;
            let ahead = u64::from(self.occupied.rotate_right(turn).trailing_zeros());
            self.far_first.min(self.cycle + ahead)
        };
        let tick = if cycle == NEVER {
            NEVER
        } else {
            cycle * self.period
        };
        (cycle, tick)
    }

    /// Returns the cycle at `tick`, if that is the first at which a component is awake.
    #[inline(always)]
    pub(crate) fn due(&self, tick: Tick) -> Option<Cycle> {
        let (cycle, first) = self.next();
        (first == tick.0).then_some(cycle)
    }

    /// True if `cycle` has not been evaluated yet.
    pub(crate) fn is_new(&self, cycle: Cycle) -> bool {
        cycle > self.cycle || !self.started
    }

    /// Advances to `cycle`. [`DomainSchedule::take_only_word`] or [`DomainSchedule::next_group`]
    /// then returns the awake components.
    #[inline(always)]
    pub(crate) fn advance(&mut self, cycle: Cycle) {
        debug_assert!(self.is_new(cycle));
        self.cycle = cycle;
        self.started = true;
        if self.far_first <= cycle {
            self.bring_near(cycle);
        }
        self.occupied &= !(1 << (cycle & MASK));
    }

    /// Moves far wake-ups that are due into the wheel slot of `cycle`.
    #[inline(never)]
    fn bring_near(&mut self, cycle: Cycle) {
        while let Some(&Reverse((due, index))) = self.far.peek()
            && due <= cycle
        {
            self.far.pop();
            self.set((cycle & MASK) as usize, index);
        }
        self.far_first = self.far.peek().map_or(NEVER, |Reverse((cycle, _))| *cycle);
    }

    /// Returns the number of components in the domain.
    pub(crate) fn components(&self) -> u32 {
        self.far_asked.len() as u32
    }

    /// Takes the components awake in the current cycle, if the domain has at most 64 components.
    #[inline(always)]
    pub(crate) fn take_only_word(&mut self) -> Option<u64> {
        self.groups.is_empty().then(|| self.take_word(0))
    }

    /// Takes the next 64 words of components awake in the current cycle. Returns the first word,
    /// and a bit for each that [`DomainSchedule::take_word`] finds occupied. No further component
    /// can be woken for this cycle, so words can be taken while components wake others.
    #[inline]
    pub(crate) fn next_group(&mut self, sweep: &mut Sweep) -> Option<(usize, u64)> {
        let slot = (self.cycle & MASK) as usize;
        if self.sections.is_empty() {
            // One group.
            let first = sweep.section == 0;
            sweep.section = 1;
            return match (first, self.groups.is_empty()) {
                (false, _) => None,
                (true, true) => Some((0, 1)),
                (true, false) => Some((0, self.groups.take(slot, 0))),
            };
        }
        while sweep.groups == 0 {
            if sweep.section * SLOTS == self.sections.0.len() {
                return None;
            }
            sweep.groups = self.sections.take(slot, sweep.section);
            sweep.section += 1;
        }
        let group = (sweep.section - 1) * 64 + sweep.groups.trailing_zeros() as usize;
        sweep.groups &= sweep.groups - 1;
        Some((group * 64, self.groups.take(slot, group)))
    }

    /// Takes the components awake in the current cycle among `64 * word ..`.
    #[inline(always)]
    pub(crate) fn take_word(&mut self, word: usize) -> u64 {
        self.words.take((self.cycle & MASK) as usize, word)
    }

    /// Returns every future wake-up as (cycle, component), each once and in order. Also returns the
    /// last evaluated cycle, and true if there was one.
    pub(crate) fn save(&self) -> (Vec<(Cycle, u32)>, Cycle, bool) {
        let mut wakes: Vec<_> = self.far.iter().map(|Reverse(wake)| *wake).collect();
        for (at, bits) in self.words.0.iter().enumerate() {
            let (word, slot) = (at / SLOTS, at as u64 & MASK);
            let cycle = self.cycle + (slot.wrapping_sub(self.cycle) & MASK);
            let awake = (0..u64::BITS).filter(|bit| bits >> bit & 1 == 1);
            wakes.extend(awake.map(|bit| (cycle, word as u32 * 64 + bit)));
        }
        wakes.sort_unstable();
        wakes.dedup();
        (wakes, self.cycle, self.started)
    }

    /// Returns the first cycle that has not been evaluated.
    pub(crate) fn first_new(&self) -> Cycle {
        if self.started { self.cycle + 1 } else { 0 }
    }

    /// Advances time to `now`: no component is evaluated at an edge up to it any more.
    pub(crate) fn pass(&mut self, now: Tick) {
        debug_assert!(self.next().1 > now.0);
        if self.started {
            self.cycle = self.cycle.max(now.0 / self.period);
        }
    }

    /// Discards all wake-ups and sets the current cycle to `cycle`, evaluated if `started`.
    pub(crate) fn load(&mut self, cycle: Cycle, started: bool) {
        let components = self.far_asked.len();
        *self = Self {
            cycle,
            started,
            ..Self::new(self.period, components)
        };
    }

    /// Wakes `index` at its first edge at or after `tick`; returns the cycle.
    #[inline]
    pub(crate) fn wake_at_tick(&mut self, index: u32, tick: u64) -> Cycle {
        let cycle = self.first_edge_at_or_after(tick);
        self.wake(index, cycle);
        cycle
    }

    /// Wakes `index` at its first edge after `now` that has not been evaluated.
    pub(crate) fn wake_after(&mut self, index: u32, now: Tick) {
        let cycle = (now.0 / self.period + 1).max(self.first_new());
        self.wake(index, cycle);
    }

    /// Returns the first cycle whose edge is at or after `tick`.
    fn first_edge_at_or_after(&self, tick: u64) -> Cycle {
        tick.div_ceil(self.period)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn awake(schedule: &mut DomainSchedule) -> Vec<u32> {
        let mut out = Vec::new();
        let mut sweep = Sweep::default();
        while let Some((first, words)) = schedule.next_group(&mut sweep) {
            for word in (0..64).filter(|word| words >> word & 1 == 1) {
                let word = first + word;
                let bits = schedule.take_word(word);
                let bits = (0..64).filter(|bit| bits >> bit & 1 == 1);
                out.extend(bits.map(|bit| word as u32 * 64 + bit));
            }
        }
        out
    }

    fn next(schedule: &DomainSchedule) -> Option<Cycle> {
        Some(schedule.next().0).filter(|cycle| *cycle != NEVER)
    }

    fn run(schedule: &mut DomainSchedule) -> Vec<(Cycle, Vec<u32>)> {
        let mut out = Vec::new();
        while let Some(cycle) = next(schedule) {
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
    fn components_of_every_level_come_once_and_in_order() {
        for count in [1, 64, 65, 4096, 4097, 262_144, 262_145, 600_000] {
            let mut s = DomainSchedule::new(1, count);
            let last = count as u32 - 1;
            let mut chosen: Vec<u32> = [0, 1, 63, 64, 4095, 4096, 4160, 262_144, last / 2, last]
                .into_iter()
                .filter(|index| *index <= last)
                .collect();
            for index in chosen.iter().rev() {
                s.wake(*index, 3);
                s.wake(*index, 66);
                s.wake(*index, 3);
            }
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(
                run(&mut s),
                [(3, chosen.clone()), (66, chosen)],
                "{count} components"
            );
            assert!(awake(&mut s).is_empty());
        }
    }

    #[test]
    fn a_domain_without_components_never_has_anybody_awake() {
        let mut s = DomainSchedule::new(1, 0);
        assert_eq!(next(&s), None);
        assert_eq!(s.next(), (NEVER, NEVER));
        s.advance(0);
        assert!(awake(&mut s).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_schedule_agrees_with_a_sorted_set(
            count in prop_oneof![1..70u32, 4000..9000u32, 262_000..270_000u32],
            asked in prop::collection::vec((any::<u32>(), 0..130u64, any::<bool>()), 1..200),
        ) {
            let mut s = DomainSchedule::new(1, count as usize);
            let mut model = BTreeSet::new();
            for (index, ahead, step) in asked {
                let cycle = s.first_new() + ahead;
                s.wake(index % count, cycle);
                model.insert((cycle, index % count));
                if step && let Some(cycle) = next(&s) {
                    let later = model.split_off(&(cycle + 1, 0));
                    let due = std::mem::replace(&mut model, later);
                    s.advance(cycle);
                    prop_assert_eq!(
                        awake(&mut s),
                        due.iter().map(|(_, index)| *index).collect::<Vec<_>>()
                    );
                    prop_assert!(due.iter().all(|(at, _)| *at == cycle));
                }
            }
            prop_assert_eq!(s.save().0, Vec::from_iter(model));
        }
    }

    #[test]
    fn next_tick_is_the_edge_of_the_next_cycle() {
        let mut s = DomainSchedule::new(33, 1);
        s.wake(0, 7);
        assert_eq!(s.next(), (7, 231));
        assert_eq!(s.due(Tick(231)), Some(7));
        assert_eq!(s.due(Tick(7)), None);
        assert_eq!(s.first_edge_at_or_after(232), 8);
    }
}
