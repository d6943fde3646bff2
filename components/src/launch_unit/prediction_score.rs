//! Accuracy of launch predictions: compares the prediction sent with each kernel to a reuse
//! profile.

use std::sync::Arc;

use warpweave_framework::{State, Statistics};
use warpweave_trace::Program;

use crate::reuse_profile::ReuseProfile;

/// Counts kernels by prediction and by actual reuse.
///
/// A kernel is *near* if, according to the profile, it shares lines with its parent or a sibling.
/// The monitor of the LASER paper has to predict this before the child runs.
#[derive(State, Statistics)]
pub(super) struct PredictionScore {
    #[state(skip)]
    profile: Arc<ReuseProfile>,
    /// Parent kernel of each kernel, if any.
    #[state(skip)]
    parents: Vec<Option<u32>>,
    /// true positives: kernels predicted to share lines with parent or siblings that do, according
    /// to the profile
    #[statistic(name = "prediction_true_positives", unit = "kernels")]
    true_positives: u64,
    /// false positives: kernels predicted to share lines with parent or siblings that do not,
    /// according to the profile
    #[statistic(name = "prediction_false_positives", unit = "kernels")]
    false_positives: u64,
    /// false negatives: kernels that share lines with parent or siblings, according to the profile,
    /// but were not predicted to
    #[statistic(name = "prediction_false_negatives", unit = "kernels")]
    false_negatives: u64,
    /// true negatives: kernels that share lines with neither parent nor siblings, according to the
    /// profile, and were not predicted to
    #[statistic(name = "prediction_true_negatives", unit = "kernels")]
    #[statistic(
        name = "prediction_precision",
        meaning = "precision of the sharing prediction: fraction of the kernels predicted to share that do",
        ratio,
        value = self.true_positives,
        whole = self.true_positives + self.false_positives,
        of = "kernels"
    )]
    #[statistic(
        name = "prediction_recall",
        meaning = "recall of the sharing prediction: fraction of the sharing kernels that were predicted",
        ratio,
        value = self.true_positives,
        whole = self.true_positives + self.false_negatives,
        of = "kernels"
    )]
    true_negatives: u64,
}

impl PredictionScore {
    pub(super) fn new(profile: Arc<ReuseProfile>, parents: Vec<Option<u32>>) -> Self {
        Self {
            profile,
            parents,
            true_positives: 0,
            false_positives: 0,
            false_negatives: 0,
            true_negatives: 0,
        }
    }

    /// Counts a launched kernel; `said` is true if it was predicted to be near.
    pub(super) fn count(&mut self, kernel: u32, said: bool) {
        let count = match (said, self.is_near(kernel)) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_positives,
            (false, true) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        };
        *count += 1;
    }

    /// True if the profile has a kernel as near.
    pub(super) fn is_near(&self, kernel: u32) -> bool {
        let parent_of = |kernel: u32| self.parents.get(kernel as usize).copied().flatten();
        let Some(parent) = parent_of(kernel) else {
            return false;
        };
        let mut linked = self.profile.linked(kernel).iter();
        linked.any(|(other, _)| {
            *other == parent || *other != kernel && parent_of(*other) == Some(parent)
        })
    }
}

/// Returns the parent kernel of each kernel of the program.
pub(super) fn parents(program: &Program) -> Vec<Option<u32>> {
    let kernels = program.kernels.iter();
    kernels
        .map(|kernel| kernel.parent.map(|parent| parent.kernel))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_near_when_it_shares_with_its_parent_or_a_sibling() {
        // 1 and 2 are children of 0, 4 of 3; 5 comes from the host.
        let parents = vec![None, Some(0), Some(0), None, Some(3), None];
        let near = |links: &[(u32, u32)], kernel| {
            let links = links.iter().map(|&(a, b)| (a, b, 0.5)).collect();
            let profile = Arc::new(ReuseProfile::new(links, Vec::new()));
            PredictionScore::new(profile, parents.clone()).is_near(kernel)
        };
        assert!(near(&[(0, 1)], 1));
        assert!(!near(&[(0, 1)], 2));
        assert!(near(&[(1, 2)], 1) && near(&[(1, 2)], 2));
        assert!(!near(&[(1, 4), (3, 1), (1, 1)], 1));
        assert!(!near(&[(0, 5)], 5));
        assert!(!near(&[(0, 1)], 9));
    }

    #[test]
    fn each_launch_is_counted_where_it_belongs() {
        let profile = Arc::new(ReuseProfile::new(vec![(0, 1, 0.5)], Vec::new()));
        let mut foresight = PredictionScore::new(profile, vec![None, Some(0), Some(0)]);
        for (kernel, said) in [(1, true), (1, true), (1, false), (2, true), (2, false)] {
            foresight.count(kernel, said);
        }
        assert_eq!(
            (foresight.true_positives, foresight.false_positives),
            (2, 1)
        );
        assert_eq!(
            (foresight.true_negatives, foresight.false_negatives),
            (1, 1)
        );
    }
}
