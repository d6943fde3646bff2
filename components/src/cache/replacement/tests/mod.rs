//! Tests of each policy by hand, and against a [`slow`] model that keeps lists of lines.

mod slow;

use proptest::prelude::*;
use warpweave_framework::{
    Environment, Id, NoFields, Policy, PolicyContext, PolicyKind, SpecError, State, Stateful,
    Statistics,
};

use super::super::tag_array::TagArray;
use super::super::tag_array::tests::array;
use super::*;

pub(in crate::cache) fn all(seed: u64) -> Vec<Policy<Replacement>> {
    vec![
        Policy::plain::<Lru>(),
        Policy::plain::<Fifo>(),
        Policy::plain::<PseudoLru>(),
        Policy::plain::<BitPlru>(),
        Policy::of::<Random>(&RandomSpec { seed }),
        Policy::plain::<Srrip>(),
        Policy::plain::<Lfu>(),
    ]
}

fn built(
    policy: &Policy<Replacement>,
    site: &ReplacementSite,
) -> Result<AnyReplacement, SpecError> {
    policy.build("replacement", &Environment::default(), site, 0)
}

/// True if the policy supports this number of ways.
pub(in crate::cache) fn fits(policy: &Policy<Replacement>, ways: u32) -> bool {
    built(policy, &ReplacementSite::of_one_set(ways)).is_ok()
}

/// Known policy wrapped behind the open trait.
#[derive(State, Statistics)]
pub(in crate::cache) struct Opened(#[state(flatten)] AnyReplacement);

impl ReplacementPolicy for Opened {
    fn used(&mut self, set: usize, way: usize) {
        self.0.used(set, way);
    }

    fn installed(&mut self, set: usize, way: usize) {
        self.0.installed(set, way);
    }

    fn removed(&mut self, set: usize, way: usize) {
        self.0.removed(set, way);
    }

    fn use_ways(&mut self, ways: usize) {
        self.0.use_ways(ways);
    }

    fn victim(&self, set: usize, may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.0.victim(set, may_leave)
    }
}

impl PolicyKind for Opened {
    type Role = Replacement;
    const NAME: &'static str = "Opened";
    const SUMMARY: &'static str = "Lru behind the open trait";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        let policy = Self(AnyReplacement::Lru(Lru::new(context.site)));
        Ok(AnyReplacement::open::<Self>(policy, context))
    }
}

/// Policy that always makes the same choice.
#[derive(Statistics)]
struct Stubborn(Option<usize>);

impl Stateful for Stubborn {}

impl ReplacementPolicy for Stubborn {
    fn used(&mut self, _set: usize, _way: usize) {}

    fn installed(&mut self, _set: usize, _way: usize) {}

    fn victim(&self, _set: usize, _may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.0
    }
}

/// Builds an array with this policy behind the open trait.
fn opened(like: &TagArray, policy: impl ReplacementPolicy + 'static) -> TagArray {
    let ways = like.geometry().ways as usize;
    let policy = OpenReplacement::new("Stubborn", Box::new(policy), ways);
    TagArray::new(like.geometry(), AnyReplacement::Open(policy))
}

proptest! {
    /// Holds for every policy: only ways that may leave are chosen, one is found if there is any,
    /// and choosing changes nothing.
    #[test]
    fn locked_lines_never_leave(
        policy in 0usize..7, numbers in prop::collection::vec(0u64..40, 1..100), locks: u8,
    ) {
        let mut tags = array(1, 8, &all(7)[policy]);
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
    for replacement in all(7) {
        let mut tags = array(3, 8, &replacement);
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
        let mut tags = array(1, 8, &Policy::of::<Random>(&RandomSpec { seed }));
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
    let mut tags = array(1, 4, &Policy::plain::<Srrip>());
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
    assert!(!fits(&Policy::plain::<PseudoLru>(), 6));
    assert!(!fits(&Policy::plain::<PseudoLru>(), 128));
    assert!(fits(&Policy::plain::<PseudoLru>(), 16));
    assert!(!fits(&Policy::plain::<BitPlru>(), 65));
    assert!(fits(&Policy::plain::<BitPlru>(), 64));
    assert!(fits(&Policy::plain::<Lru>(), 500));
}

proptest! {
    #[test]
    fn a_policy_decides_the_same_behind_the_open_trait(
        policy in 0usize..7, sets in 1u32..4, numbers in prop::collection::vec(0u64..60, 1..200),
        locks in prop::collection::vec(any::<u8>(), 4),
    ) {
        let policy = &all(3)[policy];
        let mut known = array(sets, 8, policy);
        let inner = built(policy, &known.geometry().site()).unwrap();
        let mut open = opened(&known, Opened(inner));
        for (n, number) in numbers.into_iter().enumerate() {
            prop_assert_eq!(known.access(number * 128), open.access(number * 128), "access {}", n);
            if n % 7 == 0 {
                for tags in [&mut known, &mut open] {
                    if let Some(slot) = tags.find(number * 128) {
                        tags.clear(slot);
                    }
                }
            }
        }
        for (set, locks) in (0..sets).zip(locks) {
            for number in (0..60).filter(|n| n % u64::from(sets) == u64::from(set)) {
                for tags in [&mut known, &mut open] {
                    if let Some(slot) = tags.find(number * 128)
                        && locks >> (slot.index() % 8) & 1 == 1
                    {
                        tags.lock(slot, Id::from_bits(3));
                    }
                }
            }
            prop_assert_eq!(known.victim_in(set), open.victim_in(set));
        }
        prop_assert_eq!(open.broken(), None);
        let saved = |tags: &mut TagArray| State::save(|state| Stateful::state(tags, state)).unwrap();
        prop_assert_eq!(saved(&mut known), saved(&mut open));
    }
}

#[test]
fn an_answer_against_the_promise_is_kept_for_the_end_of_the_run() {
    for (chosen, deed) in [
        (
            Some(0),
            "chose way 0 of set 0, whose line must not be evicted now",
        ),
        (Some(4), "chose way 4 of set 0, but its ways are 0 to 3"),
        (Some(usize::MAX), "but its ways are 0 to 3"),
        (
            None,
            "chose no way of set 0, although some of its lines may be evicted",
        ),
    ] {
        let mut tags = opened(&array(1, 4, &Policy::plain::<Lru>()), Stubborn(chosen));
        for n in 0..4 {
            tags.access(n * 128);
        }
        tags.lock(tags.find(0).unwrap(), Id::from_bits(0));
        assert_eq!(tags.broken(), None, "nothing was asked yet");
        // The array falls back to a way that may leave.
        assert_eq!(tags.victim_in(0), tags.find(128));
        let broken = tags.broken().expect("found");
        assert!(
            broken.starts_with("Stubborn ") && broken.contains(deed),
            "{broken}"
        );
    }
}

#[test]
fn a_policy_that_does_not_name_its_state_cannot_be_saved() {
    let mut tags = opened(&array(1, 4, &Policy::plain::<Lru>()), Stubborn(None));
    let refused =
        State::save(|state| Stateful::state(&mut tags, state)).expect_err("it is refused");
    assert_eq!(
        refused.to_string(),
        "cannot be saved: replacement: its kind does not implement `state`"
    );
}
