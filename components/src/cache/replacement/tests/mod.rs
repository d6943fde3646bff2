//! Each policy by hand, and beside a [`slow`] model that keeps lists of lines.

mod slow;

use proptest::prelude::*;
use warpweave_framework::Id;

use super::super::tag_array::tests::array;
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

proptest! {
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
                tags.lock(slot, Id::from_bits(3));
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
