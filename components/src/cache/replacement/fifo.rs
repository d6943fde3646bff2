//! First in, first out: a stamp per way, set when its line is installed.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

use super::lru::oldest;
use super::{AnyReplacement, Order, Replacement, ReplacementSite};

/// Evicts the line that was installed first, however often it was used.
#[derive(State)]
pub struct Fifo {
    #[state(skip)]
    ways: usize,
    clock: u64,
    /// Installation time of the line in each way, set by set.
    #[state(array)]
    stamps: Vec<u64>,
}

impl Fifo {
    pub(crate) fn new(site: &ReplacementSite) -> Self {
        Self {
            ways: site.ways as usize,
            clock: 0,
            stamps: vec![0; site.lines()],
        }
    }
}

impl PolicyKind for Fifo {
    type Role = Replacement;
    const NAME: &'static str = "Fifo";
    const SUMMARY: &'static str = "Evicts the line that was installed first";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        Ok(AnyReplacement::Fifo(Self::new(context.site)))
    }
}

impl Order for Fifo {
    #[inline]
    fn used(&mut self, _set: usize, _way: usize) {}

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.clock += 1;
        self.stamps[set * self.ways + way] = self.clock;
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        oldest(&self.stamps[set * self.ways..][..self.ways], may_leave)
    }
}
