//! Least recently used: a stamp per way, renewed by every use.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

use super::{AnyReplacement, Order, Replacement, ReplacementSite};

/// Evicts the line whose last use is longest ago. Source: the usual policy of the studies of GPUs
/// followed here, and of GPGPU-Sim.
#[derive(State)]
#[state(prepare = Self::make_stamps)]
pub struct Lru {
    #[state(skip)]
    ways: usize,
    #[state(skip)]
    lines: usize,
    clock: u64,
    /// Time of last use, set by set; empty until the first use.
    #[state(array)]
    stamps: Vec<u64>,
}

impl Lru {
    pub(crate) fn new(site: &ReplacementSite) -> Self {
        Self {
            ways: site.ways as usize,
            lines: site.lines(),
            clock: 0,
            stamps: Vec::new(),
        }
    }

    #[cold]
    fn make_stamps(&mut self) {
        self.stamps.resize(self.lines, 0);
    }
}

impl PolicyKind for Lru {
    type Role = Replacement;
    const NAME: &'static str = "Lru";
    const SUMMARY: &'static str = "Evicts the least recently used line";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        Ok(AnyReplacement::Lru(Self::new(context.site)))
    }
}

impl Order for Lru {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        self.clock += 1;
        if self.stamps.is_empty() {
            self.make_stamps();
        }
        self.stamps[set * self.ways + way] = self.clock;
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        self.used(set, way);
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        oldest(&self.stamps[set * self.ways..][..self.ways], may_leave)
    }
}

/// Returns the way with the smallest stamp among those that may leave.
#[inline]
pub(super) fn oldest(stamps: &[u64], may_leave: impl Fn(usize) -> bool) -> Option<usize> {
    let mut oldest = None;
    let mut least = u64::MAX;
    for (way, &stamp) in stamps.iter().enumerate() {
        if stamp < least && may_leave(way) {
            (oldest, least) = (Some(way), stamp);
        }
    }
    oldest
}
