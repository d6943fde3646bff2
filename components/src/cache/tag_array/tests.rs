//! Tests of the tag array against a naive model.

use proptest::prelude::*;
use warpweave_framework::{Environment, Policy};

use super::*;
use crate::cache::replacement::{Fifo, Lru, Replacement};

pub(in crate::cache) fn array(sets: u32, ways: u32, replacement: &Policy<Replacement>) -> TagArray {
    let geometry = Geometry {
        sets,
        ways,
        line_bytes: 128,
        interleave: None,
        hash: SetHash::Modulo,
        partitions: 1,
    };
    let environment = Environment::default();
    let built = replacement.build("replacement", &environment, &geometry.site(), 0);
    TagArray::new(geometry, built.unwrap())
}

/// Naive cache model: a list per set, in order of replacement.
struct Naive {
    sets: Vec<Vec<u64>>,
    ways: usize,
    fifo: bool,
}

impl Naive {
    fn access(&mut self, number: u64) -> bool {
        let sets = self.sets.len() as u64;
        let set = &mut self.sets[(number % sets) as usize];
        let found = set.iter().position(|&n| n == number);
        match found {
            Some(at) if !self.fifo => {
                set.remove(at);
                set.push(number);
            }
            Some(_) => {}
            None => {
                if set.len() == self.ways {
                    set.remove(0);
                }
                set.push(number);
            }
        }
        found.is_some()
    }
}

#[test]
fn a_loop_one_line_larger_than_the_cache_misses_always_under_lru() {
    for (sets, ways) in [(1, 1), (1, 24), (3, 5), (32, 4), (7, 6)] {
        let mut tags = array(sets, ways, &Policy::plain::<Lru>());
        let lines = u64::from(sets) * u64::from(ways + 1);
        for n in (0..3).flat_map(|_| 0..lines) {
            assert!(!tags.access(n * 128), "{sets} sets, {ways} ways, line {n}");
        }
    }
}

#[test]
fn a_loop_that_fits_misses_once_per_line() {
    for replacement in [Policy::plain::<Lru>(), Policy::plain::<Fifo>()] {
        let mut tags = array(6, 4, &replacement);
        let misses = (0..5)
            .flat_map(|_| 0..24u64)
            .filter(|n| !tags.access(n * 128))
            .count();
        assert_eq!(misses, 24);
    }
}

/// First 500 accesses of synthetic traces through a 16 KiB 4-way cache of 128-byte lines, with the
/// hit bits of an independent simulator.
#[test]
fn hit_bits_equal_those_of_an_independent_simulator() {
    let table = include_str!("../testdata/hit_bits_16k_4w.csv");
    let mut accesses = 0;
    for row in table.lines().skip(1) {
        let fields: Vec<_> = row.split(',').collect();
        for (replacement, bits) in [
            (Policy::plain::<Lru>(), fields[1]),
            (Policy::plain::<Fifo>(), fields[2]),
        ] {
            let mut tags = array(32, 4, &replacement);
            let hits: String = fields[3]
                .split(' ')
                .map(|number| u64::from_str_radix(number, 16).unwrap())
                .map(|number| if tags.access(number * 128) { '1' } else { '0' })
                .collect();
            assert_eq!(hits, bits, "{} under {replacement:?}", fields[0]);
            accesses += hits.len();
        }
    }
    assert_eq!(accesses, 6 * 2 * 500);
}

#[test]
fn locked_lines_stay_and_a_set_of_them_offers_no_way() {
    let mut tags = array(1, 2, &Policy::plain::<Lru>());
    tags.access(0);
    tags.access(128);
    let first = tags.find(0).unwrap();
    let second = tags.find(128).unwrap();
    tags.lock(first, Id::from_bits(0));
    assert_eq!(tags.victim_in(0), Some(second));
    tags.lock(second, Id::from_bits(1));
    assert_eq!(tags.victim_in(0), None);
    // The lock does not touch the order.
    tags.unlock(first);
    tags.unlock(second);
    assert_eq!(tags.victim_in(0), Some(first));
}

#[test]
fn a_slice_uses_all_its_sets() {
    let interleave = Interleave::in_turn(256, 6);
    let geometry = Geometry {
        sets: 64,
        ways: 1,
        line_bytes: 128,
        interleave: Some(interleave),
        hash: SetHash::Modulo,
        partitions: 1,
    };
    let tags = TagArray::new(geometry, AnyReplacement::Lru(Lru::new(&geometry.site())));
    let sets: Vec<_> = (0..64)
        .filter_map(|n| interleave.address(2, n * 128))
        .map(|line| tags.set_of(line))
        .collect();
    assert_eq!(sets, (0..64).collect::<Vec<_>>());
}

#[test]
fn only_clean_lines_are_dropped() {
    let mut tags = array(2, 2, &Policy::plain::<Lru>());
    for n in 0..3 {
        tags.access(n * 128);
    }
    let dirty = tags.find(128).unwrap();
    tags.state_mut(dirty).dirty = 1;
    let mut dropped = Vec::new();
    tags.drop_clean(|_, line, _| dropped.push(line));
    assert_eq!(dropped, [0, 256]);
    assert_eq!(tags.find(128), Some(dirty));
    assert_eq!((tags.find(0), tags.find(256)), (None, None));
}

proptest! {
    #[test]
    fn hits_equal_those_of_a_list_per_set(
        sets in 1u32..10,
        ways in 1u32..7,
        fifo: bool,
        numbers in prop::collection::vec(0u64..80, 1..400),
    ) {
        let replacement = if fifo { Policy::plain::<Fifo>() } else { Policy::plain::<Lru>() };
        let mut tags = array(sets, ways, &replacement);
        let mut naive =
            Naive { sets: vec![Vec::new(); sets as usize], ways: ways as usize, fifo };
        for number in numbers {
            prop_assert_eq!(tags.access(number * 128), naive.access(number));
        }
    }
}
