//! Tests of replacement policies from other crates in a complete cache.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::*;
use crate::cache::replacement::{AnyReplacement, Replacement, ReplacementPolicy};

/// Policy that chooses a nonexistent way.
#[derive(State, Statistics)]
struct Nowhere;

impl PolicyKind for Nowhere {
    type Role = Replacement;
    const NAME: &'static str = "Nowhere";
    const SUMMARY: &'static str = "Chooses a way that there is not";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        Ok(AnyReplacement::open::<Self>(Self, context))
    }
}

impl ReplacementPolicy for Nowhere {
    fn used(&mut self, _set: usize, _way: usize) {}

    fn installed(&mut self, _set: usize, _way: usize) {}

    fn victim(&self, _set: usize, _may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        Some(usize::MAX)
    }
}

#[test]
#[should_panic(
    expected = "the replacement policy Nowhere chose way 18446744073709551615 of set 0, but its \
                ways are 0 to 1"
)]
fn a_victim_that_there_is_not_ends_the_run_with_the_name_of_the_policy() {
    let mut rig = Rig::new(CacheSpec {
        replacement: Policy::plain::<Nowhere>(),
        ..l1()
    });
    // Three lines of a set of two ways.
    for line in [0, 256, 512] {
        rig.warm(line);
    }
}
