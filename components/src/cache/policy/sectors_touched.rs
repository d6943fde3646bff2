//! Policy that watches how many sectors of its lines a cache uses, and decides nothing.
//!
//! Each sector that arrives in a place is touched by a request before its line leaves, or never.
//! Once every line has left, `sectors_placed` is the sum of `sectors_used` and `sectors_unused`. A
//! line that returns from a victim cache counts anew, without sectors that arrived.

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    NeutralSpec, NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics,
};

use super::{
    CachePolicies, CachePolicy, EventContext, Eviction, Fill, LineUse, MissDecision, TagLookup,
    Touched, UseChange,
};

/// Policy that counts the sectors touched of each line.
#[derive(State, Statistics)]
pub struct SectorsTouched {
    #[state(part)]
    touched: Touched<()>,
    #[statistic(flatten)]
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Statistics)]
struct Counts {
    /// lines with a place of which requests touched one sector at least
    #[statistic(unit = "lines")]
    lines_touched_1: u64,
    /// lines with a place of which requests touched two sectors at least
    #[statistic(unit = "lines")]
    lines_touched_2: u64,
    /// lines with a place of which requests touched three sectors at least
    #[statistic(unit = "lines")]
    lines_touched_3: u64,
    /// lines with a place of which requests touched four sectors at least
    #[statistic(unit = "lines")]
    lines_touched_4: u64,
    /// sectors that arrived in a place
    #[statistic(name = "sectors_placed", unit = "sectors")]
    placed: u64,
    /// sectors that arrived in a place and that requests touched
    #[statistic(name = "sectors_used", unit = "sectors")]
    used: u64,
    /// sectors that arrived in a place and left it untouched
    #[statistic(name = "sectors_unused", unit = "sectors")]
    unused: u64,
}

impl Counts {
    fn change(&mut self, change: &UseChange<()>) {
        if let Some(lost) = &change.lost {
            self.leave(lost);
        }
        let [before, after] = [&change.before, &change.after];
        let [low, high] = [before, after].map(|line| line.touched.count_ones());
        let thresholds = [
            &mut self.lines_touched_1,
            &mut self.lines_touched_2,
            &mut self.lines_touched_3,
            &mut self.lines_touched_4,
        ];
        for (least, lines) in (1..).zip(thresholds) {
            *lines += u64::from(low < least && least <= high);
        }
        let used = |line: &LineUse<()>| u64::from((line.fetched & line.touched).count_ones());
        self.used += used(after) - used(before);
        self.placed += u64::from((after.fetched & !before.fetched).count_ones());
    }

    fn leave(&mut self, line: &LineUse<()>) {
        self.unused += u64::from((line.fetched & !line.touched).count_ones());
    }
}

impl PolicyKind for SectorsTouched {
    type Role = CachePolicies;
    const NAME: &'static str = "SectorsTouched";
    const SUMMARY: &'static str = "Counts the sectors that requests touch of each line";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "SectorsTouched",
        like: "",
    });
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self {
            touched: Touched::new(context.site),
            counts: Counts::default(),
        }))
    }
}

impl CachePolicy for SectorsTouched {
    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {
        if let Some(change) = self.touched.accessed(access) {
            self.counts.change(&change);
        }
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        self.touched.missed(miss, ());
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.touched.passed(pass);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if let Some(change) = self.touched.filled(fill) {
            self.counts.change(&change);
        }
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        if let Some(line) = self.touched.take(eviction) {
            self.counts.leave(&line);
        }
    }
}
