//! Tracking table: for each key, such as a memory region or an instruction, how often something
//! happened among recent accesses, and what follows from that.
//!
//! Building block for policies. Each key in the table has a counter of accesses and two counters of
//! events, saturating at 16 bits. [`Tracking::update`] ends a period: it halves the counters and
//! sets the flag of an event whose counter exceeds a share of the accesses. A key is trained once a
//! period has ended in which it was accessed.
//!
//! Keys without an entry are untracked. They are counted together, in one counter or in several by
//! a hash. When a period ends, such a counter may exceed the accesses of the least accessed key.
//! The entry of that key then goes to the next untracked key of the counter.
//!
//! Source: the graph thesis, the tables of INC-M5 to INC-M7 and of BYP-M5.

use serde::{Deserialize, Serialize};
use warpweave_framework::State;
use warpweave_random::mix;

/// Settings of a tracking table, fixed at construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackingSettings {
    /// Number of keys with an entry.
    pub entries: u32,
    /// Number of counters of untracked keys.
    pub untracked: u32,
    /// One in this many accesses must have an event for its flag.
    pub share: u32,
    /// True if a flag stays until the next launch.
    pub sticky: bool,
}

/// The two kinds of events that a table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Event counted by the first counter of a key.
    A,
    /// Event counted by the second counter of a key.
    B,
}

/// Conclusions about a key that is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// True if events of the first kind were frequent.
    pub a: bool,
    /// True if events of the second kind were frequent.
    pub b: bool,
}

/// Entry of a key with its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The key; `None` if the entry is free.
    key: Option<u32>,
    /// Counter of untracked keys for one of which a free entry is kept; `None` for any key.
    kept_for: Option<u32>,
    accesses: u16,
    events: [u16; 2],
    flags: [bool; 2],
    trained: bool,
}

/// Table of keys with counters of their accesses and events.
#[derive(Clone, Debug, State)]
pub struct Tracking {
    #[state(skip)]
    settings: TrackingSettings,
    entries: Vec<Entry>,
    /// Accesses of untracked keys in this period.
    untracked: Vec<u16>,
    /// Launch of the latest access so far.
    launch: Option<u32>,
}

impl Tracking {
    /// Creates a table whose entries are free.
    pub fn new(settings: TrackingSettings) -> Self {
        Self {
            settings,
            entries: vec![Entry::default(); settings.entries as usize],
            untracked: vec![0; settings.untracked as usize],
            launch: None,
        }
    }

    /// Gives the first free entries to the keys from 0 up, as many as there are, before any access.
    pub fn hold_first(&mut self, keys: u32) {
        for (key, entry) in (0..keys).zip(&mut self.entries) {
            entry.key = Some(key);
        }
    }

    fn position(&self, key: u32) -> Option<usize> {
        self.entries.iter().position(|entry| entry.key == Some(key))
    }

    /// Returns the counter of an untracked key.
    fn counter(&self, key: u32) -> Option<usize> {
        let counters = self.untracked.len() as u64;
        (counters > 0).then(|| (mix(u64::from(key)) % counters) as usize)
    }

    /// Counts an access of a key, which takes a free entry if it may. Returns its entry.
    pub fn access(&mut self, key: u32) -> Option<usize> {
        let entry = self.position(key).or_else(|| self.take(key));
        match entry {
            Some(entry) => {
                let accesses = &mut self.entries[entry].accesses;
                *accesses = accesses.saturating_add(1);
            }
            None => {
                if let Some(counter) = self.counter(key) {
                    let counter = &mut self.untracked[counter];
                    *counter = counter.saturating_add(1);
                }
            }
        }
        entry
    }

    /// Gives a key the first free entry that it may take.
    fn take(&mut self, key: u32) -> Option<usize> {
        let counter = self.counter(key).map(|counter| counter as u32);
        let free = |entry: &Entry| {
            entry.key.is_none() && (entry.kept_for.is_none() || entry.kept_for == counter)
        };
        let entry = self.entries.iter().position(free)?;
        self.entries[entry] = Entry {
            key: Some(key),
            ..Entry::default()
        };
        Some(entry)
    }

    /// Counts an event of a key, if it has an entry.
    pub fn credit(&mut self, key: u32, event: Event) {
        if let Some(entry) = self.position(key) {
            let counter = &mut self.entries[entry].events[event as usize];
            *counter = counter.saturating_add(1);
        }
    }

    /// True if the table has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entry of a key, if it has one.
    pub fn entry(&self, key: u32) -> Option<usize> {
        self.position(key)
    }

    /// Returns the key of an entry; `None` if the entry is free.
    pub fn key(&self, entry: usize) -> Option<u32> {
        self.entries.get(entry)?.key
    }

    /// Returns the conclusions about a key; `None` if it is untracked or not trained.
    pub fn learned(&self, key: u32) -> Option<Learned> {
        let entry = &self.entries[self.position(key)?];
        let [a, b] = entry.flags;
        entry.trained.then_some(Learned { a, b })
    }

    /// Ends a period, which halves the counters.
    pub fn update(&mut self) {
        self.free_least_accessed();
        let TrackingSettings { share, sticky, .. } = self.settings;
        for entry in &mut self.entries {
            if entry.key.is_none() || entry.accesses == 0 {
                continue;
            }
            entry.accesses /= 2;
            let least = u32::from(entry.accesses) / share.max(1);
            for (counter, flag) in entry.events.iter_mut().zip(&mut entry.flags) {
                *counter /= 2;
                *flag = sticky && *flag || u32::from(*counter) > least;
            }
            entry.trained = true;
        }
    }

    /// Frees an entry for each counter of untracked keys that exceeds the accesses of the least
    /// accessed key, and clears these counters.
    fn free_least_accessed(&mut self) {
        for counter in 0..self.untracked.len() {
            let accesses = std::mem::take(&mut self.untracked[counter]);
            let held = self.entries.iter_mut().filter(|entry| entry.key.is_some());
            if let Some(least) = held.min_by_key(|entry| entry.accesses)
                && accesses > least.accesses
            {
                *least = Entry {
                    kept_for: Some(counter as u32),
                    ..Entry::default()
                };
            }
        }
    }

    /// True if an access of this launch is the first of a new one. Launches are numbered in order.
    pub fn is_new(&self, launch: u32) -> bool {
        self.launch.is_none_or(|latest| latest < launch)
    }

    /// Notes the launch of an access. A new one halves the counters and forgets what was learned.
    pub fn follow(&mut self, launch: u32) {
        if !self.is_new(launch) {
            return;
        }
        self.launch = Some(launch);
        for entry in &mut self.entries {
            entry.accesses /= 2;
            entry.events = entry.events.map(|counter| counter / 2);
            entry.flags = [false; 2];
            entry.trained = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RTT: TrackingSettings = TrackingSettings {
        entries: 31,
        untracked: 1,
        share: 64,
        sticky: true,
    };

    /// Counts accesses and events of key 0.
    fn after(table: &mut Tracking, accesses: u32, a: u32, b: u32) {
        (0..accesses).for_each(|_| _ = table.access(0));
        (0..a).for_each(|_| table.credit(0, Event::A));
        (0..b).for_each(|_| table.credit(0, Event::B));
    }

    fn counters(table: &Tracking) -> (u16, [u16; 2]) {
        (table.entries[0].accesses, table.entries[0].events)
    }

    fn reuse(a: bool, b: bool) -> Learned {
        Learned { a, b }
    }

    #[test]
    fn inc_m5_an_update_halves_and_then_compares_with_a_64th() {
        // Accesses, shared, private; halved; shared reuse, private reuse.
        let vectors = [
            ((200, 2, 10), (100, [1, 5]), (false, true)),
            ((200, 4, 1), (100, [2, 0]), (true, false)),
            ((60, 0, 2), (30, [0, 1]), (false, true)),
            ((60, 2, 0), (30, [1, 0]), (true, false)),
        ];
        for ((accesses, shared, private), halved, (a, b)) in vectors {
            let mut table = Tracking::new(RTT);
            after(&mut table, accesses, shared, private);
            assert_eq!(table.learned(0), None, "not before the period ends");
            table.update();
            assert_eq!(counters(&table), halved);
            assert_eq!(table.learned(0), Some(reuse(a, b)));
        }
    }

    #[test]
    fn inc_m5_a_key_without_accesses_is_not_trained() {
        let mut table = Tracking::new(RTT);
        table.hold_first(40);
        table.update();
        assert_eq!(table.learned(0), None);
        assert_eq!((table.key(30), table.key(31)), (Some(30), None));
    }

    #[test]
    fn inc_m5_flags_are_sticky_or_follow_the_last_period() {
        for sticky in [true, false] {
            let mut table = Tracking::new(TrackingSettings { sticky, ..RTT });
            after(&mut table, 60, 2, 0);
            table.update();
            assert_eq!(table.learned(0), Some(reuse(true, false)));
            after(&mut table, 60, 0, 0);
            table.update();
            assert_eq!(table.learned(0), Some(reuse(sticky, false)));
        }
    }

    #[test]
    fn inc_m5_a_launch_halves_the_counters_and_forgets_the_flags() {
        let mut table = Tracking::new(RTT);
        table.follow(0);
        after(&mut table, 200, 8, 10);
        table.update();
        table.follow(0);
        assert_eq!(table.learned(0), Some(reuse(true, true)));
        assert!(table.is_new(1));
        table.follow(1);
        assert_eq!(counters(&table), (50, [2, 2]));
        assert_eq!(table.learned(0), None);
        assert_eq!(table.entries[0].flags, [false; 2]);
        // A request of the launch before is no new launch.
        table.follow(0);
        assert_eq!(counters(&table), (50, [2, 2]));
    }

    #[test]
    fn inc_m5_counters_saturate_at_16_bits() {
        let mut table = Tracking::new(RTT);
        after(&mut table, 70_000, 70_000, 0);
        assert_eq!(counters(&table), (u16::MAX, [u16::MAX, 0]));
    }

    #[test]
    fn inc_m7_the_least_accessed_key_gives_its_entry_to_an_untracked_one() {
        let mut table = Tracking::new(TrackingSettings { entries: 2, ..RTT });
        let access = |table: &mut Tracking, key, times| {
            (0..times).for_each(|_| _ = table.access(key));
        };
        access(&mut table, 10, 5);
        access(&mut table, 11, 3);
        // As often as the least accessed: nothing is freed.
        access(&mut table, 12, 2);
        access(&mut table, 13, 1);
        assert_eq!(table.access(10), Some(0));
        table.update();
        assert_eq!((table.key(0), table.key(1)), (Some(10), Some(11)));
        // The counter starts anew. Key 11 has 1 left of 3.
        access(&mut table, 12, 2);
        table.update();
        assert_eq!((table.key(0), table.key(1)), (Some(10), None));
        // The first untracked key that comes takes it.
        assert_eq!(table.access(14), Some(1));
        assert_eq!((table.access(12), table.key(1)), (None, Some(14)));
    }

    #[test]
    fn inc_m7_one_of_several_counters_frees_an_entry_for_its_own_keys() {
        let settings = TrackingSettings {
            entries: 1,
            untracked: 16,
            ..RTT
        };
        let mut table = Tracking::new(settings);
        table.access(0);
        let counter = table.counter(1);
        let mut others = (2..100).filter(|&key| table.counter(key) != counter);
        let other = others.next().unwrap();
        (0..3).for_each(|_| _ = table.access(1));
        table.update();
        assert_eq!(
            table.access(other),
            None,
            "kept for keys of the other counter"
        );
        assert_eq!(table.access(1), Some(0));
    }

    proptest! {
        /// A map of all counters agrees while every key has an entry.
        #[test]
        fn tracking_agrees_with_a_model(
            steps in prop::collection::vec((0u8..12, 0u32..6), 1..400),
            sticky in any::<bool>(),
        ) {
            let settings = TrackingSettings { entries: 6, untracked: 1, share: 4, sticky };
            let mut table = Tracking::new(settings);
            let mut model = [(0u32, [0u32; 2], [false; 2], false); 6];
            let mut launch = 0;
            table.follow(0);
            for (what, key) in steps {
                let entry = &mut model[key as usize];
                match what {
                    0..6 => {
                        table.access(key);
                        entry.0 += 1;
                    }
                    6..8 if table.entry(key).is_some() => {
                        table.credit(key, Event::A);
                        entry.1[0] += 1;
                    }
                    8..10 if table.entry(key).is_some() => {
                        table.credit(key, Event::B);
                        entry.1[1] += 1;
                    }
                    10 => {
                        table.update();
                        for (accesses, events, flags, trained) in &mut model {
                            if *accesses == 0 {
                                continue;
                            }
                            *accesses /= 2;
                            for n in 0..2 {
                                events[n] /= 2;
                                let exceeds = events[n] > *accesses / 4;
                                flags[n] = if sticky { flags[n] | exceeds } else { exceeds };
                            }
                            *trained = true;
                        }
                    }
                    11 => {
                        launch += 1;
                        table.follow(launch);
                        for (accesses, events, flags, trained) in &mut model {
                            *accesses /= 2;
                            *events = events.map(|n| n / 2);
                            *flags = [false; 2];
                            *trained = false;
                        }
                    }
                    _ => {}
                }
                for (key, &(_, _, [a, b], trained)) in (0..).zip(&model) {
                    let expected = trained.then_some(Learned { a, b });
                    prop_assert_eq!(table.learned(key), expected);
                }
            }
        }
    }
}
