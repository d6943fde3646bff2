//! Rules GRN-M2 to GRN-M4 and GRN-M6 of the granularity policies, and naive models of them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::given::{Given, one_set, sectors};
use super::replay::{Model, Seen, agrees, traffic};
use super::uses::{Use, Uses};
use super::*;

const X: u64 = 0;
const Y: u64 = 128;

/// Fetches a line for a miss of instruction `pc` on these sectors; returns the sectors fetched.
fn fetch(given: &mut Given, (line, pc): (u64, u32), asked: u32) -> u32 {
    let fetched = asked | sectors(given.miss(line, pc, asked, None).fetch);
    given.fill((line, pc, fetched), 0, None);
    fetched
}

fn pattern(ask_sector_misses: bool) -> Given {
    let spec = SpatialPatternSpec {
        ask_sector_misses,
        ..SpatialPatternSpec::default()
    };
    Given::new::<SpatialPattern>(spec, one_set(2))
}

#[test]
fn grn_m6_4_the_next_such_miss_fetches_the_sectors_that_were_touched() {
    let mut given = pattern(false);
    assert_eq!(fetch(&mut given, (X, 7), 0b0010), 0b0010);
    given.access(X, 3, 0b0100, Some(0), true);
    given.evict(X, 0);
    assert_eq!(fetch(&mut given, (Y, 7), 0b0010), 0b0110);
    assert_eq!(fetch(&mut given, (X, 7), 0b0001), 0b0001);
}

#[test]
fn grn_m6_7_a_wide_miss_is_known_by_its_lowest_sector_and_those_who_join_touch_too() {
    let mut given = pattern(false);
    given.miss(X, 7, 0b0110, None);
    given.access(X, 7, 0b1000, None, false);
    given.fill((X, 7, 0b1110), 0, None);
    given.evict(X, 0);
    assert_eq!(fetch(&mut given, (Y, 7), 0b0010), 0b1110);
    let mut given = neighbours();
    given.miss(X, 7, 0b0110, None);
    given.access(X, 7, 0b1000, None, false);
    given.fill((X, 7, 0b1110), 0, None);
    given.evict(X, 0);
    assert_eq!(distances(&mut given), [7, 7, 6, 7, 8, 8, 7]);
}

#[test]
fn grn_m6_8_a_sector_miss_fetches_what_was_asked_unless_the_table_is_asked_too() {
    for (asks, fetched) in [(false, 0), (true, 0b1110)] {
        let mut given = pattern(asks);
        given.miss(Y, 7, 0b0010, None);
        given.access(Y, 7, 0b1100, None, false);
        given.fill((Y, 7, 0b1110), 1, None);
        given.evict(Y, 1);
        fetch(&mut given, (X, 9), 0b0001);
        let decision = given.miss(X, 7, 0b0010, Some(0));
        assert_eq!(sectors(decision.fetch), fetched);
    }
}

#[test]
fn grn_m2_a_store_that_drops_a_line_trains_as_an_eviction() {
    let spec = CacheSpec {
        sector_bytes: Some(32),
        policies: vec![Policy::plain::<SpatialPattern>()],
        ..l1()
    };
    let mut rig = Rig::new(Cache::new(spec).unwrap());
    assert_eq!(rig.read(0, 7), (Level::L2, 0xff));
    let mut second = MemRequest::read(1, 0, 1 << 8);
    second.source.pc = 7;
    rig.request.send(second);
    let (_, below) = rig.bench.receive(&rig.below.clone());
    rig.answer.send(below.answer(Level::L2));
    rig.bench.receive(&rig.response.clone());
    rig.request.send(MemRequest::write(2, 0, 1));
    let (_, below) = rig.bench.receive(&rig.below.clone());
    rig.answer.send(below.answer(Level::L2));
    rig.bench.receive(&rig.response.clone());
    assert_eq!(rig.read(256, 7), (Level::L2, 0xffff));
    assert_eq!(rig.count("pattern_blocks"), 1);
}

fn bimodal(window: u32) -> Given {
    let spec = BimodalGranularitySpec {
        window,
        ..BimodalGranularitySpec::default()
    };
    Given::new::<BimodalGranularity>(spec, one_set(2))
}

#[test]
fn grn_m6_5_a_line_with_one_sector_touched_is_fine_and_most_fine_lines_turn_the_default() {
    let mut given = bimodal(10);
    assert_eq!(fetch(&mut given, (X, 0), 0b0001), 0b1111);
    given.evict(X, 0);
    assert_eq!(fetch(&mut given, (X, 0), 0b0001), 0b0001);
    given.evict(X, 0);
    // Two coarse lines and six more fine ones.
    for n in 1..9 {
        let line = n * 128;
        fetch(&mut given, (line, 0), 0b0001);
        if n < 3 {
            given.access(line, 0, 0b1111, Some(0), true);
        }
        assert_eq!(given.state("default_is_fine"), false);
        given.evict(line, 0);
    }
    assert_eq!(given.state("default_is_fine"), true);
    assert_eq!(fetch(&mut given, (1 << 20, 0), 0b0001), 0b0001);
    assert_eq!(
        fetch(&mut given, (X, 0), 0b0001),
        0b0001,
        "the filter is empty"
    );
}

#[test]
fn grn_m3_a_line_with_two_sectors_touched_is_fine_and_one_with_three_is_coarse() {
    for (touched, fetched) in [(0b0101, 0b0001), (0b1101, 0b1111)] {
        let mut given = bimodal(512);
        fetch(&mut given, (X, 0), touched);
        given.evict(X, 0);
        assert_eq!(fetch(&mut given, (X, 0), 0b0001), fetched);
    }
}

fn neighbours() -> Given {
    Given::new::<NeighbourAccess>(NeighbourAccessSpec::default(), one_set(2))
}

/// Counters of the first instruction, from distance -3 on.
fn distances(given: &mut Given) -> Vec<u64> {
    let counters = given.state("counters");
    let counters = counters.as_array().expect("a list").iter().take(7);
    counters
        .map(|count| count.as_u64().expect("a count"))
        .collect()
}

#[test]
fn grn_m4_neighbours_that_lines_of_the_instruction_used_are_fetched() {
    let mut given = neighbours();
    fetch(&mut given, (X, 7), 0b0010);
    given.access(X, 7, 0b0100, Some(0), true);
    given.evict(X, 0);
    assert_eq!(distances(&mut given), [7, 7, 6, 7, 8, 6, 7]);
    for (asked, fetched) in [(0b0100, 0b1100), (0b0001, 0b0011), (0b1000, 0b1000)] {
        let decision = given.miss(Y, 7, asked, None);
        assert_eq!(asked | sectors(decision.fetch), fetched);
    }
    assert_eq!(
        given.miss(Y, 8, 0b0001, None).fetch,
        0,
        "of another instruction"
    );
}

#[test]
fn grn_m4_dealt_out_an_instruction_is_given_the_counters_of_another() {
    let spec = NeighbourAccessSpec {
        dealt: true,
        ..NeighbourAccessSpec::default()
    };
    let mut given = Given::new::<NeighbourAccess>(spec, one_set(2));
    fetch(&mut given, (X, 7), 0b0001);
    given.access(X, 7, 0b0010, Some(0), true);
    given.evict(X, 0);
    fetch(&mut given, (X, 8), 0b0001);
    assert_eq!(given.miss(Y, 7, 0b0001, None).fetch, 0);
    assert_eq!(sectors(given.miss(Y, 8, 0b0001, None).fetch), 0b0010);
}

/// Naive spatial pattern predictor: for each set a list of keys with their patterns, the one used
/// last at the end.
struct PatternModel {
    uses: Uses<(u32, u32)>,
    sets: BTreeMap<u32, Vec<((u32, u32), u32)>>,
    predicted: u64,
}

impl Model for PatternModel {
    fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Access(asked, _) => self.uses.touch(asked),
            Seen::Miss(asked, decision) => {
                let blocks = self.uses.blocks(asked.words);
                let key = (asked.source.pc, blocks.trailing_zeros());
                let set = (key.0 * self.uses.count() + key.1) % 3;
                let list = self.sets.entry(set).or_default();
                let known = list.iter().position(|(known, _)| *known == key);
                let fetched = self.uses.blocks(decision.fetch);
                self.predicted += u64::from((fetched & !blocks).count_ones());
                if asked.is_placed {
                    assert_eq!(decision.fetch, 0);
                    return;
                }
                let pattern = match known {
                    Some(at) => list.remove(at).1,
                    None => blocks,
                };
                let expected = if known.is_some() { pattern } else { 0 };
                assert_eq!(decision.fetch, self.uses.words(expected));
                list.push((key, pattern));
                if list.len() > 2 {
                    list.remove(0);
                }
                self.uses.miss(asked, key);
            }
            Seen::Pass(asked) => self.uses.pass(asked),
            Seen::Fill(fill, _) => self.uses.fill(fill),
            Seen::Evict(eviction) => {
                if let Some(Use { touched, note, .. }) = self.uses.leave(eviction)
                    && let Some(key) = note
                {
                    let entries = self.sets.values_mut().flatten();
                    entries
                        .filter(|(known, _)| *known == key)
                        .for_each(|(_, pattern)| *pattern = touched);
                }
            }
            Seen::NewLine(_) => {}
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("pattern_blocks", self.predicted)]
    }
}

/// Naive bimodal predictor, with two sets instead of filters.
struct BimodalModel {
    uses: Uses<()>,
    is_fine: bool,
    remembered: [BTreeSet<u64>; 2],
    inserted: u32,
    window: Vec<bool>,
    flips: u64,
}

const REFRESH: u32 = 8;

impl Model for BimodalModel {
    fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Access(asked, _) => self.uses.touch(asked),
            Seen::Miss(asked, decision) => {
                let is_other = self.remembered[0].contains(&asked.line);
                let is_coarse = !asked.is_placed && self.is_fine == is_other;
                assert_eq!(decision.fetch, if is_coarse { u32::MAX } else { 0 });
                self.uses.miss(asked, ());
            }
            Seen::Pass(asked) => self.uses.pass(asked),
            Seen::Fill(fill, _) => self.uses.fill(fill),
            Seen::Evict(eviction) => {
                let Some(Use {
                    touched,
                    note: Some(()),
                    ..
                }) = self.uses.leave(eviction)
                else {
                    return;
                };
                let fine = touched.count_ones() <= 2;
                self.window.push(fine != self.is_fine);
                if fine != self.is_fine {
                    if self.inserted == REFRESH {
                        self.remembered[0].clear();
                        self.remembered.swap(0, 1);
                        self.inserted = 0;
                    }
                    self.remembered.iter_mut().for_each(|set| {
                        set.insert(eviction.line);
                    });
                    self.inserted += 1;
                }
                if self.window.len() == 5 {
                    let others = self.window.drain(..).filter(|other| *other).count();
                    if others * 2 > 5 {
                        self.is_fine = !self.is_fine;
                        self.remembered.iter_mut().for_each(BTreeSet::clear);
                        self.inserted = 0;
                        self.flips += 1;
                    }
                }
            }
            Seen::NewLine(_) => {}
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("granularity_flips", self.flips)]
    }
}

/// Naive neighbour predictor: a list of instructions with their counters by distance, the one that
/// missed last at the end.
struct NeighbourModel {
    uses: Uses<(u32, i32)>,
    known: Vec<(u32, BTreeMap<i32, i32>)>,
    predicted: u64,
}

impl Model for NeighbourModel {
    fn see(&mut self, seen: &Seen) {
        let count = self.uses.count() as i32;
        match seen {
            Seen::Access(asked, _) => self.uses.touch(asked),
            Seen::Miss(asked, decision) => {
                let blocks = self.uses.blocks(asked.words);
                let fetched = self.uses.blocks(decision.fetch);
                self.predicted += u64::from((fetched & !blocks).count_ones());
                if asked.is_placed {
                    assert_eq!(decision.fetch, 0);
                    return;
                }
                let (pc, first) = (asked.source.pc, blocks.trailing_zeros() as i32);
                let at = self.known.iter().position(|(known, _)| *known == pc);
                let counters = at.map(|at| self.known.remove(at).1).unwrap_or_default();
                let used = |block: &i32| {
                    *block != first && counters.get(&(block - first)).is_some_and(|c| *c > 7)
                };
                let expected = (0..count)
                    .filter(used)
                    .fold(0, |mask, block| mask | 1 << block);
                assert_eq!(decision.fetch, self.uses.words(expected));
                self.known.push((pc, counters));
                if self.known.len() > 3 {
                    self.known.remove(0);
                }
                self.uses.miss(asked, (pc, first));
            }
            Seen::Pass(asked) => self.uses.pass(asked),
            Seen::Fill(fill, _) => self.uses.fill(fill),
            Seen::Evict(eviction) => {
                let Some(Use {
                    touched,
                    note: Some((pc, first)),
                    ..
                }) = self.uses.leave(eviction)
                else {
                    return;
                };
                let known = self.known.iter_mut().find(|(known, _)| *known == pc);
                let Some((_, counters)) = known else { return };
                for block in (0..count).filter(|block| *block != first) {
                    let counter = counters.entry(block - first).or_insert(7);
                    let by = if touched >> block & 1 != 0 { 1 } else { -1 };
                    *counter = (*counter + by).clamp(0, 15);
                }
            }
            Seen::NewLine(_) => {}
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("neighbour_blocks", self.predicted)]
    }
}

/// Naive watcher, which looks at the uses when they end and at those that are left.
struct WatchModel {
    uses: Uses<()>,
    gone: Vec<Use<()>>,
}

impl Model for WatchModel {
    fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Access(asked, _) => self.uses.touch(asked),
            Seen::Miss(asked, _) => self.uses.miss(asked, ()),
            Seen::Pass(asked) => self.uses.pass(asked),
            Seen::Fill(fill, _) => self.uses.fill(fill),
            Seen::Evict(eviction) => self.gone.extend(self.uses.leave(eviction)),
            Seen::NewLine(_) => {}
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let all = || self.gone.iter().chain(self.uses.present());
        let bits = |mask: u32| u64::from(mask.count_ones());
        let least = |n| all().filter(|line| line.touched.count_ones() >= n).count() as u64;
        vec![
            ("lines_touched_1", least(1)),
            ("lines_touched_2", least(2)),
            ("lines_touched_3", least(3)),
            ("lines_touched_4", least(4)),
            ("sectors_placed", all().map(|line| bits(line.came)).sum()),
            (
                "sectors_used",
                all().map(|line| bits(line.came & line.touched)).sum(),
            ),
            (
                "sectors_unused",
                self.gone
                    .iter()
                    .map(|line| bits(line.came & !line.touched))
                    .sum(),
            ),
        ]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_traffic_meets_the_same_patterns_as_a_naive_model(traffic in traffic()) {
        let spec = SpatialPatternSpec { entries: 6, ways: 2, ask_sector_misses: false };
        let model = PatternModel { uses: Uses::of(&traffic), sets: BTreeMap::new(), predicted: 0 };
        agrees(Policy::of::<SpatialPattern>(&spec), &traffic, model);
    }

    #[test]
    fn random_traffic_meets_the_same_classes_of_lines_as_a_naive_model(traffic in traffic()) {
        let spec = BimodalGranularitySpec {
            bits: 1 << 16, hashes: 4, refresh: REFRESH, skew: 0.5, fine: 2, window: 5,
        };
        let model = BimodalModel {
            uses: Uses::of(&traffic),
            is_fine: false,
            remembered: [BTreeSet::new(), BTreeSet::new()],
            inserted: 0,
            window: Vec::new(),
            flips: 0,
        };
        agrees(Policy::of::<BimodalGranularity>(&spec), &traffic, model);
    }

    #[test]
    fn random_traffic_meets_the_same_neighbours_as_a_naive_model(traffic in traffic()) {
        let spec = NeighbourAccessSpec { entries: 3, ..NeighbourAccessSpec::default() };
        let model = NeighbourModel { uses: Uses::of(&traffic), known: Vec::new(), predicted: 0 };
        agrees(Policy::of::<NeighbourAccess>(&spec), &traffic, model);
    }

    #[test]
    fn grn_m6_6_random_traffic_touches_what_a_naive_model_says(traffic in traffic()) {
        let model = WatchModel { uses: Uses::of(&traffic), gone: Vec::new() };
        agrees(Policy::plain::<SectorsTouched>(), &traffic, model);
    }
}

#[test]
fn grn_m6_6_what_was_placed_was_used_or_left_unused_once_the_cache_is_empty() {
    let spec = CacheSpec {
        sector_bytes: Some(32),
        policies: vec![
            Policy::of::<FetchGranularity>(&FetchGranularitySpec { bytes: 128 }),
            Policy::plain::<SectorsTouched>(),
        ],
        ..l1()
    };
    let mut rig = Rig::new(Cache::new(spec).unwrap());
    let control = rig.bench.source("cache.control.command");
    let _done = rig
        .bench
        .sink::<crate::launch::CacheCommandDone>("cache.control.done");
    for n in 0..5 {
        rig.read(n * 128, 0);
    }
    rig.request.send(MemRequest::read(8, 512, 1 << 9));
    rig.bench.receive(&rig.response.clone());
    assert_eq!(rig.count("sectors_placed"), 20);
    control.send(crate::launch::CacheCommand::Invalidate);
    rig.bench.step(20);
    let counts = [
        "sectors_used",
        "sectors_unused",
        "lines_touched_1",
        "lines_touched_2",
    ];
    assert_eq!(counts.map(|name| rig.count(name)), [6, 14, 5, 1]);
    assert_eq!(rig.count("sectors_fetched"), 20);
}
