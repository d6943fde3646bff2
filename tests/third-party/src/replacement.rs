//! Replacement policy that evicts the most recently used line.
//!
//! Suits loops a little longer than the cache, for which least recently used never hits.

use warpweave::components::cache::replacement::{AnyReplacement, Replacement, ReplacementPolicy};
use warpweave::framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

/// Replacement policy described at the top of the file.
#[derive(State, Statistics)]
pub(crate) struct MostRecent {
    ways: usize,
    /// Most recently used way of each set.
    #[state(array)]
    last: Vec<usize>,
}

impl PolicyKind for MostRecent {
    type Role = Replacement;
    const NAME: &'static str = "MostRecent";
    const SUMMARY: &'static str = "The line used last leaves";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        let policy = Self {
            ways: context.site.ways as usize,
            last: vec![0; context.site.sets as usize],
        };
        Ok(AnyReplacement::open::<Self>(policy, context))
    }
}

impl ReplacementPolicy for MostRecent {
    fn used(&mut self, set: usize, way: usize) {
        self.last[set] = way;
    }

    fn installed(&mut self, set: usize, way: usize) {
        self.last[set] = way;
    }

    fn victim(&self, set: usize, may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        let mut ways = (0..self.ways).map(|step| (self.last[set] + step) % self.ways);
        ways.find(|&way| may_leave(way))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_used_last_leaves_unless_it_must_stay() {
        let mut policy = MostRecent {
            ways: 4,
            last: vec![0; 2],
        };
        policy.installed(1, 2);
        assert_eq!(policy.victim(1, &|_| true), Some(2));
        assert_eq!(policy.victim(1, &|way| way != 2), Some(3));
        assert_eq!(policy.victim(0, &|_| false), None);
    }
}
