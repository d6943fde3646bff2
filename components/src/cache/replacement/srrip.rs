//! Static re-reference interval prediction, two bits, hit priority (Jaleel et al., ISCA 2010).
//!
//! A line enters with a long predicted interval and gets a near-immediate one when it is used. The
//! lowest way whose interval is distant is the victim; if there is none, all intervals grow until
//! there is one. That growth happens when the new line is installed.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

use super::{AnyReplacement, Order, Replacement, ReplacementSite};

/// Static re-reference interval prediction with two bits per line and hit priority: lines enter
/// with a long predicted interval, a use makes it short. Source: Jaleel et al., ISCA 2010.
#[derive(State)]
pub struct Srrip {
    #[state(skip)]
    ways: usize,
    #[state(array)]
    intervals: Vec<u8>,
}

const DISTANT: u8 = 3;
const LONG: u8 = 2;

impl Srrip {
    pub(super) fn new(site: &ReplacementSite) -> Self {
        Self {
            ways: site.ways as usize,
            intervals: vec![DISTANT; site.lines()],
        }
    }
}

impl PolicyKind for Srrip {
    type Role = Replacement;
    const NAME: &'static str = "Srrip";
    const SUMMARY: &'static str = "Re-reference interval prediction with two bits per line: lines are inserted with a long interval, a use makes it short";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        Ok(AnyReplacement::Srrip(Self::new(context.site)))
    }
}

impl Order for Srrip {
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        self.intervals[set * self.ways + way] = 0;
    }

    #[inline]
    fn installed(&mut self, set: usize, way: usize) {
        let intervals = &mut self.intervals[set * self.ways..][..self.ways];
        let growth = DISTANT - intervals[way];
        if growth > 0 {
            for interval in intervals.iter_mut() {
                *interval = DISTANT.min(*interval + growth);
            }
        }
        intervals[way] = LONG;
    }

    #[inline]
    fn removed(&mut self, set: usize, way: usize) {
        self.intervals[set * self.ways + way] = DISTANT;
    }

    #[inline]
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize> {
        let intervals = &self.intervals[set * self.ways..][..self.ways];
        let mut chosen: Option<usize> = None;
        for (way, &interval) in intervals.iter().enumerate() {
            if chosen.is_none_or(|c| interval > intervals[c]) && may_leave(way) {
                chosen = Some(way);
            }
        }
        chosen
    }
}
