//! Oldest-first wavefront scheduler, the smallest example of a policy.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{SchedulerView, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling};

/// Picks the oldest ready wavefront, regardless of which issued last.
#[derive(State, Statistics)]
pub struct OldestFirst;

impl PolicyKind for OldestFirst {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "OldestFirst";
    const SUMMARY: &'static str =
        "Always the oldest ready wavefront, regardless of which issued last";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        Ok(WavefrontPolicy::open(Self))
    }
}

impl WavefrontScheduler for OldestFirst {
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        view.ages.oldest(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::super::AgeMatrix;
    use super::*;

    #[test]
    fn an_older_wavefront_takes_over_as_soon_as_it_can_issue_again() {
        let mut ages = AgeMatrix::new();
        // In slots 5, 1 and 3, in this order.
        for (slot, present) in [(5, 0), (1, 1 << 5), (3, 1 << 5 | 1 << 1)] {
            ages.arrive(slot, present);
        }
        let view = SchedulerView::new(0, 0b10_1010, &ages);
        let ready = [0b10_1010, 0b00_1010, 0b00_1000, 0b00_1010, 0b10_1000];
        let order = ready.map(|ready| OldestFirst.pick(ready, &view));
        assert_eq!(order, [5, 1, 3, 1, 5]);
    }
}
