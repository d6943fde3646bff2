//! Wavefront scheduler that issues from the youngest wavefront first, for a limited number of
//! consecutive instructions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave::components::compute_unit::{
    Issue, SchedulerView, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling,
};
use warpweave::framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

/// Parameters of the policy, as set in descriptions.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct YoungestSpec {
    /// Maximum number of consecutive instructions of one wavefront while another could issue, 1 to
    /// 1000. Source: own choice.
    #[serde(default = "sixteen")]
    patience: u32,
}

fn sixteen() -> u32 {
    16
}

/// Wavefront scheduler described at the top of the file.
#[derive(State, Statistics)]
pub(crate) struct Youngest {
    #[state(skip)]
    patience: u32,
    /// Slot that issued last, followed by its number of consecutive issues.
    last: usize,
    in_a_row: u32,
}

impl PolicyKind for Youngest {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "Youngest";
    const SUMMARY: &'static str = "The wavefront that came last, for some instructions in a row";
    type Spec = YoungestSpec;

    fn build(
        spec: YoungestSpec,
        _context: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        SpecError::in_range("patience", spec.patience, 1..=1000)?;
        Ok(WavefrontPolicy::open(Self {
            patience: spec.patience,
            last: 0,
            in_a_row: 0,
        }))
    }
}

impl WavefrontScheduler for Youngest {
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        let among = match ready & !(1 << self.last) {
            others if others != 0 && self.in_a_row >= self.patience => others,
            _ => ready,
        };
        // All others of them are older.
        let is_youngest = |slot: &usize| {
            let bit = 1 << slot;
            among & bit != 0 && view.ages.older(*slot) & among == among & !bit
        };
        (0..64).find(is_youngest).unwrap_or(self.last)
    }

    fn issued(&mut self, issue: &Issue, _view: &SchedulerView<'_>) {
        let again = issue.slot == self.last;
        self.in_a_row = if again { self.in_a_row + 1 } else { 1 };
        self.last = issue.slot;
    }
}

#[cfg(test)]
mod tests {
    use warpweave::components::compute_unit::AgeMatrix;

    use super::*;

    #[test]
    fn the_youngest_issues_until_its_patience_ends() {
        let mut ages = AgeMatrix::new();
        ages.arrive(3, 0);
        ages.arrive(1, 1 << 3);
        let view = SchedulerView::new(0, 0b1010, &ages);
        let policy = |last, in_a_row| Youngest {
            patience: 4,
            last,
            in_a_row,
        };
        assert_eq!(policy(3, 1).pick(0b1010, &view), 1);
        assert_eq!(policy(1, 4).pick(0b1010, &view), 3);
        assert_eq!(policy(1, 4).pick(0b0010, &view), 1);
    }
}
