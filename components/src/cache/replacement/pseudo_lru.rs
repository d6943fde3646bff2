//! Pseudo-LRU with a binary tree of bits per set. Node 1 is the root, nodes `2n` and `2n + 1` are
//! the halves of node `n`; its bit is set when the upper half leaves first. A use points the bits
//! on its path away from itself.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

use super::{AnyReplacement, Order, Replacement, ReplacementSite};

const WAYS_MAX: u32 = 64;

/// Binary tree of bits per set that points away from the most recent uses. The number of ways is a
/// power of two up to 64. Source: the tree of Al-Zoubi et al., "Performance Evaluation of Cache
/// Replacement Policies for the SPEC CPU2000 Benchmark Suite", ACM-SE 2004.
#[derive(State)]
pub struct PseudoLru {
    #[state(skip)]
    ways: usize,
    /// Tree bits per set; bit `n` of the word belongs to node `n`.
    #[state(array)]
    trees: Vec<u64>,
}

impl PseudoLru {
    pub(super) fn new(site: &ReplacementSite) -> Self {
        Self {
            ways: site.ways as usize,
            trees: vec![0; site.sets as usize],
        }
    }
}

impl PolicyKind for PseudoLru {
    type Role = Replacement;
    const NAME: &'static str = "PseudoLru";
    const SUMMARY: &'static str = "Tree pseudo-LRU: a tree of bits per set points away from recent uses; the ways must be a power of two up to 64";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        context.site.at_most(WAYS_MAX, Self::NAME)?;
        let ways = context.site.ways;
        SpecError::require(ways.is_power_of_two(), "", || {
            format!("{} needs a power of two of ways, not {ways}", Self::NAME)
        })?;
        Ok(AnyReplacement::PseudoLru(Self::new(context.site)))
    }
}

impl Order for PseudoLru {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let tree = &mut self.trees[set];
        let mut node = way + self.ways;
        while node > 1 {
            let upper = node & 1 == 1;
            node /= 2;
            if upper {
                *tree &= !(1 << node);
            } else {
                *tree |= 1 << node;
            }
        }
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.used(set, way);
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let (mut node, mut first, mut width) = (1, 0, self.ways);
        while width > 1 {
            width /= 2;
            let upper = self.trees[set] >> node & 1 == 1;
            let any = |first: usize| (first..first + width).any(&may_leave);
            // The half pointed at, unless none of its ways may leave.
            let upper = if upper {
                any(first + width)
            } else {
                !any(first)
            };
            node = 2 * node + usize::from(upper);
            first += usize::from(upper) * width;
        }
        may_leave(first).then_some(first)
    }
}
