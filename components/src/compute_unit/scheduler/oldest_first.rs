//! The oldest first.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

use super::{SchedulerView, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling};

/// Always the oldest ready wavefront, whoever issued before.
pub struct OldestFirst;

impl PolicyKind for OldestFirst {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "OldestFirst";
    const SUMMARY: &'static str = "Always the oldest ready wavefront, whoever issued before";
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

    /// There is none.
    fn state(&mut self, _state: &mut State<'_>) {}
}
