//! Random replacement. The choice is a function of the seed, the set and the number of lines
//! installed so far. Repeated queries therefore give the same victim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State};
use warpweave_random::{GAMMA, mix};

use super::{AnyReplacement, Order, Replacement, ReplacementSite};

/// Settings of the [`Random`] replacement policy: its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomSpec {
    /// Seed of the sequence of random victims.
    pub seed: u64,
}

/// Evicts a random line. The choice is a function of the seed, the set and the number of lines
/// installed so far.
#[derive(State)]
pub struct Random {
    /// Number of ways in use per set.
    #[state(skip)]
    ways: usize,
    #[state(skip)]
    seed: u64,
    installed: u64,
}

impl Random {
    pub(super) fn new(site: &ReplacementSite, seed: u64) -> Self {
        Self {
            ways: site.ways as usize,
            seed,
            installed: 0,
        }
    }
}

impl PolicyKind for Random {
    type Role = Replacement;
    const NAME: &'static str = "Random";
    const SUMMARY: &'static str = "Evicts a pseudo-random line";
    type Spec = RandomSpec;

    fn build(
        spec: RandomSpec,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        Ok(AnyReplacement::Random(Self::new(context.site, spec.seed)))
    }
}

impl Order for Random {
    #[inline]
    fn used(&mut self, _set: usize, _way: usize) {}

    #[inline]
    fn installed(&mut self, _set: usize, _way: usize) {
        self.installed += 1;
    }

    fn use_ways(&mut self, ways: usize) {
        self.ways = ways;
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let count = (self.installed + 1).wrapping_mul(GAMMA);
        let draw = mix(self.seed ^ (set as u64) << 32 ^ count);
        let ways = self.ways as u64;
        // The high half of a product maps the draw evenly onto the ways.
        let at = |ways: u64| ((u128::from(draw) * u128::from(ways)) >> 64) as usize;
        let first = at(ways);
        if may_leave(first) {
            return Some(first);
        }
        let free = (0..self.ways).filter(|&way| may_leave(way)).count();
        let chosen = at(free as u64);
        (0..self.ways).filter(|&way| may_leave(way)).nth(chosen)
    }
}
