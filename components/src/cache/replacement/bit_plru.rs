//! Pseudo-LRU with one bit per way. A use marks its way. A use that would leave no way unmarked
//! clears all other marks. The lowest unmarked way is the victim.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

use super::{AnyReplacement, Order, Replacement, ReplacementSite};

const WAYS_MAX: u32 = 64;

/// One bit per way marks recent use. The lowest unmarked way is the victim; a use that would mark
/// all ways clears the others. Up to 64 ways. Source: the MRU approximation of Al-Zoubi et al.,
/// "Performance Evaluation of Cache Replacement Policies for the SPEC CPU2000 Benchmark Suite",
/// ACM-SE 2004.
#[derive(State)]
pub struct BitPlru {
    /// Number of ways in use per set.
    #[state(skip)]
    ways: usize,
    #[state(array)]
    marks: Vec<u64>,
}

impl BitPlru {
    pub(super) fn new(site: &ReplacementSite) -> Self {
        Self {
            ways: site.ways as usize,
            marks: vec![0; site.sets as usize],
        }
    }
}

impl PolicyKind for BitPlru {
    type Role = Replacement;
    const NAME: &'static str = "BitPlru";
    const SUMMARY: &'static str =
        "One bit per way marks recent use, and the lowest unmarked way is evicted; up to 64 ways";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        context.site.at_most(WAYS_MAX, Self::NAME)?;
        Ok(AnyReplacement::BitPlru(Self::new(context.site)))
    }
}

impl Order for BitPlru {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let marks = &mut self.marks[set];
        *marks |= 1 << way;
        if *marks == u64::MAX >> (64 - self.ways) {
            *marks = 1 << way;
        }
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.used(set, way);
    }

    fn use_ways(&mut self, ways: usize) {
        self.ways = ways;
        for marks in &mut self.marks {
            *marks &= u64::MAX >> (64 - ways);
        }
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let unmarked = |&way: &usize| self.marks[set] >> way & 1 == 0;
        let mut free = (0..self.ways).filter(|&way| may_leave(way));
        let any = free.clone().next();
        free.find(unmarked).or(any)
    }
}
