//! Wavefront scheduler that throttles loads by lost-locality scores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Cycle, NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics,
};

use super::LOST_LOCALITY;
use super::scores::Scores;
use crate::compute_unit::{
    Arrival, Issue, SchedulerSite, SchedulerView, Throttled, WavefrontPolicy, WavefrontScheduler,
    WavefrontScheduling,
};
use crate::memory::CacheEvent;

/// Scoring parameters of the [`Ccws`] wavefront scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CcwsSpec {
    /// Score of a wavefront without lost locality, 1 to 1048576; scores decay by one per cycle down
    /// to it. Source: CCWS paper.
    pub base_score: u32,
    /// Throttling strength for lost locality, 0 to 1048576; 0 disables throttling. Source: CCWS
    /// paper.
    pub k_throttle: u32,
}

impl Default for CcwsSpec {
    fn default() -> Self {
        Self {
            base_score: 100,
            k_throttle: 8,
        }
    }
}

/// Cache-conscious wavefront scheduling; see the module. Each scheduler knows the scores of all
/// wavefronts of the unit and picks greedy-then-oldest among the permitted ones.
#[derive(State, Statistics)]
pub struct Ccws {
    #[state(skip)]
    slots: u64,
    /// Bit of the slot that issued last; 0 after its wavefront has left.
    last: u64,
    /// misses on lines that the same wavefront lost recently
    #[state(rename = "losses_here")]
    #[statistic(name = "lost_locality", unit = "misses")]
    losses: u64,
    #[state(flatten)]
    scores: Scores,
}

impl Ccws {
    fn new(spec: CcwsSpec, site: &SchedulerSite) -> Self {
        let slots = site.wavefront_slots as usize;
        Self {
            slots: site.slots,
            last: 0,
            scores: Scores::new(spec.base_score.into(), spec.k_throttle.into(), slots),
            losses: 0,
        }
    }
}

impl PolicyKind for Ccws {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "Ccws";
    const SUMMARY: &'static str = "Throttles loads of wavefronts while others lose locality in the first-level cache, as reported by its policy CcwsVictimTags; otherwise greedy, then oldest";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Ccws(k_throttle: 0)",
        like: "Gto",
    });
    type Spec = CcwsSpec;

    fn build(
        spec: CcwsSpec,
        context: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        SpecError::in_range("base_score", spec.base_score, 1..=1 << 20)?;
        SpecError::in_range("k_throttle", spec.k_throttle, 0..=1 << 20)?;
        Ok(WavefrontPolicy::open(Self::new(spec, context.site)))
    }
}

impl WavefrontScheduler for Ccws {
    fn needs_cache_events(&self) -> bool {
        true
    }

    fn arrive(&mut self, arrival: &Arrival, _view: &SchedulerView<'_>) {
        self.scores.arrive(arrival.slot);
    }

    fn leave(&mut self, slot: usize, _view: &SchedulerView<'_>) {
        self.scores.leave(slot);
        self.last &= !(1 << slot);
    }

    fn event(&mut self, event: &CacheEvent, view: &SchedulerView<'_>) {
        let slot = usize::from(event.wavefront_slot);
        if event.topic != LOST_LOCALITY
            || view.present.checked_shr(slot as u32).unwrap_or(0) & 1 == 0
        {
            return;
        }
        self.losses += self.slots >> slot & 1;
        self.scores.lose(slot, view.instructions, view.now);
    }

    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        Throttled::loads(self.scores.blocked(view.now, view.ages))
    }

    fn throttle_changes(&self, view: &SchedulerView<'_>) -> Option<Cycle> {
        let wish = self.slots & view.open & view.next_is_access;
        if wish == 0 {
            return None;
        }
        self.scores.changes_at(view.now, view.ages)
    }

    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        if ready & self.last == 0 {
            view.ages.oldest(ready)
        } else {
            self.last.trailing_zeros() as usize
        }
    }

    fn issued(&mut self, issue: &Issue, _view: &SchedulerView<'_>) {
        self.last = 1 << issue.slot;
    }
}
