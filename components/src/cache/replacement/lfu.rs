//! Least frequently used: a use count per way, set to one when its line is installed.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

use super::lru::oldest;
use super::{AnyReplacement, Order, Replacement, ReplacementSite};

/// Evicts the line used least often since it was installed; ties go to the lowest way.
#[derive(State)]
pub struct Lfu {
    #[state(skip)]
    ways: usize,
    #[state(array)]
    counts: Vec<u64>,
}

impl Lfu {
    pub(super) fn new(site: &ReplacementSite) -> Self {
        Self {
            ways: site.ways as usize,
            counts: vec![0; site.lines()],
        }
    }
}

impl PolicyKind for Lfu {
    type Role = Replacement;
    const NAME: &'static str = "Lfu";
    const SUMMARY: &'static str =
        "Evicts the line used least often since it was installed; ties go to the lowest way";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        Ok(AnyReplacement::Lfu(Self::new(context.site)))
    }
}

impl Order for Lfu {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        self.counts[set * self.ways + way] += 1;
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.counts[set * self.ways + way] = 1;
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        oldest(&self.counts[set * self.ways..][..self.ways], may_leave)
    }
}
