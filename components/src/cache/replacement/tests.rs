//! Each policy beside a slow model that keeps lists of lines, and by hand.

use proptest::prelude::*;

use super::super::set_index::SetHash;
use super::super::tag_array::{Geometry, TagArray};
use super::Replacement;

const ALL: [Replacement; 7] = [
    Replacement::Lru,
    Replacement::Fifo,
    Replacement::PseudoLru,
    Replacement::BitPlru,
    Replacement::Random { seed: 7 },
    Replacement::Srrip,
    Replacement::Lfu,
];

fn array(sets: u32, ways: u32, replacement: Replacement) -> TagArray {
    let geometry = Geometry {
        sets,
        ways,
        line_bytes: 128,
        interleave: None,
        hash: SetHash::Modulo,
        parts: 1,
    };
    TagArray::new(geometry, replacement)
}

/// What a slow set remembers of a line.
#[derive(Clone, Debug)]
struct Line {
    number: u64,
    used: u64,
    installed: u64,
    uses: u64,
    mark: bool,
    interval: u8,
}

/// One set, way by way.
struct Slow {
    replacement: Replacement,
    ways: Vec<Option<Line>>,
    /// For the tree: the half to leave first, by the ways that a node covers.
    upper_first: std::collections::BTreeMap<(usize, usize), bool>,
    time: u64,
}

impl Slow {
    fn new(ways: u32, replacement: Replacement) -> Self {
        Self {
            replacement,
            ways: vec![None; ways as usize],
            upper_first: std::collections::BTreeMap::new(),
            time: 0,
        }
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.ways
            .iter()
            .enumerate()
            .map(|(w, l)| (w, l.as_ref().expect("a full set")))
    }

    fn victim(&mut self) -> usize {
        if let Some(way) = self.ways.iter().position(Option::is_none) {
            return way;
        }
        let least = |key: fn(&Line) -> u64| {
            self.lines()
                .min_by_key(|(way, line)| (key(line), *way))
                .expect("not empty")
                .0
        };
        match self.replacement {
            Replacement::Lru => least(|l| l.used),
            Replacement::Fifo => least(|l| l.installed),
            Replacement::Lfu => least(|l| l.uses),
            Replacement::BitPlru => least(|l| u64::from(l.mark)),
            Replacement::PseudoLru => {
                let (mut first, mut width) = (0, self.ways.len());
                while width > 1 {
                    let upper = self
                        .upper_first
                        .get(&(first, width))
                        .copied()
                        .unwrap_or(false);
                    width /= 2;
                    first += usize::from(upper) * width;
                }
                first
            }
            Replacement::Srrip => loop {
                if let Some((way, _)) = self.lines().find(|(_, l)| l.interval == 3) {
                    return way;
                }
                for line in self.ways.iter_mut().flatten() {
                    line.interval += 1;
                }
            },
            Replacement::Random { .. } => unreachable!("has no slow model"),
        }
    }

    fn used(&mut self, way: usize) {
        let (mut first, mut width) = (0, self.ways.len());
        while width > 1 {
            let upper = way - first >= width / 2;
            self.upper_first.insert((first, width), !upper);
            width /= 2;
            first += usize::from(upper) * width;
        }
        self.ways[way].as_mut().expect("used").mark = true;
        if self.ways.iter().all(|l| l.as_ref().is_some_and(|l| l.mark)) {
            for (w, line) in self.ways.iter_mut().enumerate() {
                line.as_mut().expect("a full set").mark = w == way;
            }
        }
    }

    fn access(&mut self, number: u64) -> bool {
        self.time += 1;
        let time = self.time;
        let found = self
            .ways
            .iter()
            .position(|l| l.as_ref().is_some_and(|l| l.number == number));
        let way = found.unwrap_or_else(|| self.victim());
        match (&mut self.ways[way], found) {
            (Some(line), Some(_)) => {
                line.used = time;
                line.uses += 1;
                line.interval = 0;
            }
            (place, _) => {
                *place = Some(Line {
                    number,
                    used: time,
                    installed: time,
                    uses: 1,
                    mark: false,
                    interval: 2,
                });
            }
        }
        self.used(way);
        found.is_some()
    }
}

proptest! {
    #[test]
    fn hits_equal_those_of_a_slow_set(
        policy in 0usize..7, log_ways in 0u32..4, odd_ways in 1u32..7, sets in 1u32..4,
        numbers in prop::collection::vec(0u64..60, 1..400),
    ) {
        let replacement = ALL[policy];
        if matches!(replacement, Replacement::Random { .. }) {
            return Ok(());
        }
        let ways = if replacement == Replacement::PseudoLru { 1 << log_ways } else { odd_ways };
        let mut tags = array(sets, ways, replacement);
        let mut slow: Vec<_> = (0..sets).map(|_| Slow::new(ways, replacement)).collect();
        for (n, number) in numbers.into_iter().enumerate() {
            let set = &mut slow[(number % u64::from(sets)) as usize];
            prop_assert_eq!(tags.access(number * 128), set.access(number), "access {}", n);
        }
    }

    /// Whatever the policy: only ways that may leave are chosen, one is found if there is any, and
    /// choosing changes nothing.
    #[test]
    fn locked_lines_never_leave(
        policy in 0usize..7, numbers in prop::collection::vec(0u64..40, 1..100), locks: u8,
    ) {
        let mut tags = array(1, 8, ALL[policy]);
        for number in numbers {
            tags.access(number * 128);
        }
        for number in 0..40 {
            if let Some(slot) = tags.find(number * 128)
                && locks >> slot.index() & 1 == 1
            {
                tags.lock(slot, 3);
            }
        }
        let victim = tags.victim_in(0);
        prop_assert_eq!(victim, tags.victim_in(0));
        if let Some(slot) = victim { prop_assert_eq!(tags.state(slot).mshr(), None) } else { prop_assert_eq!(locks, u8::MAX) }
    }
}

#[test]
fn a_working_set_that_fits_is_never_replaced_by_any_policy() {
    for replacement in ALL {
        let mut tags = array(3, 8, replacement);
        let misses = (0..4)
            .flat_map(|_| 0..24u64)
            .filter(|n| !tags.access(n * 128))
            .count();
        assert_eq!(misses, 24, "{replacement:?}");
    }
}

#[test]
fn random_replacement_repeats_with_its_seed_and_chooses_every_way() {
    let victims = |seed| {
        let mut tags = array(1, 8, Replacement::Random { seed });
        (0..400u64)
            .map(|n| {
                let way = tags.victim_in(0).expect("nothing is locked").index();
                tags.access(n * 128);
                way
            })
            .skip(8)
            .collect::<Vec<_>>()
    };
    assert_eq!(victims(1), victims(1));
    assert_ne!(victims(1), victims(2));
    for way in 0..8 {
        let count = victims(1).iter().filter(|w| **w == way).count();
        assert!(
            (25..=75).contains(&count),
            "way {way} left {count} times of 392"
        );
    }
}

#[test]
fn a_scan_does_not_displace_lines_in_use_under_srrip() {
    let mut tags = array(1, 4, Replacement::Srrip);
    for n in [0, 1, 0, 1] {
        tags.access(n * 128);
    }
    for n in 10..30 {
        tags.access(n * 128);
        assert!(tags.access(0) && tags.access(128), "after line {n}");
    }
}

#[test]
fn ways_that_a_policy_cannot_order_are_refused() {
    assert!(Replacement::PseudoLru.refuses(6).is_some());
    assert!(Replacement::PseudoLru.refuses(16).is_none());
    assert!(Replacement::BitPlru.refuses(65).is_some());
    assert!(Replacement::Lru.refuses(500).is_none());
}
