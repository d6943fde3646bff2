//! Number of wavefronts whose lines of a loop fit the first-level cache together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::locality_plan::{Direction, GROUP_MAX, LaunchLocality, LoopPlan};

/// Wavefronts among which a group may reuse lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GroupScope {
    /// Those of one work-group, in any order.
    #[default]
    WorkGroup,
    /// Those of consecutive work-groups along the plan's direction, within its distance.
    Along,
}

/// Lines of loads whose addresses the plan does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Irregular {
    /// One line for each lane and iteration.
    #[default]
    WorstCase,
    /// No lines, as if they were absent.
    Ignore,
}

/// Limits of a group's size besides the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capacity {
    pub(super) scope: GroupScope,
    /// Lines that a group may use.
    pub(super) lines: u32,
    pub(super) irregular: Irregular,
}

impl Capacity {
    /// Returns the largest number of wavefronts that keep the reuse of a loop in the cache, at
    /// least 1; `None` if the loop reuses nothing.
    pub(super) fn group(self, launch: &LaunchLocality, known: &LoopPlan) -> Option<u32> {
        let irregular = match self.irregular {
            Irregular::WorstCase => known.irregular,
            Irregular::Ignore => 0,
        };
        let is_along = self.scope == GroupScope::Along && launch.direction != Direction::RoundRobin;
        let inter = if is_along { &known.along } else { &known.inter };
        // A load at an unknown address may come back to its lines at once.
        let intra = self.largest(&known.intra, irregular, irregular > 0);
        let inter = self.largest(inter, irregular, false);
        intra.into_iter().chain(inter).min()
    }

    /// Returns the largest group whose lines fit; `None` without reuse.
    fn largest(self, lines: &[u32], irregular: u32, is_reused: bool) -> Option<u32> {
        if lines.is_empty() && !is_reused {
            return None;
        }
        let fits = |group: &u32| {
            let regular = match lines {
                [] => 0,
                known => known.get(*group as usize - 1).copied().unwrap_or(u32::MAX),
            };
            let irregular = u64::from(irregular) * u64::from(*group);
            u64::from(regular) + irregular <= u64::from(self.lines)
        };
        Some((1..=GROUP_MAX as u32).rev().find(fits).unwrap_or(1))
    }

    /// Returns the number of wavefronts that could be members: a larger group holds no wavefront
    /// back.
    pub(super) fn limit(self, launch: &LaunchLocality, wavefronts: u32) -> u32 {
        match self.scope {
            GroupScope::WorkGroup => wavefronts,
            GroupScope::Along => wavefronts.saturating_mul(launch.distance.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(scope: GroupScope, irregular: Irregular) -> Capacity {
        Capacity {
            scope,
            lines: 128 * 90 / 100,
            irregular,
        }
    }

    fn along_x() -> LaunchLocality {
        LaunchLocality {
            direction: Direction::AlongX,
            distance: 3,
            loops: Vec::new(),
        }
    }

    fn lines(each: u32) -> Vec<u32> {
        (1..=64).map(|group| each * group).collect()
    }

    /// CMP-M6: 115 of 128 lines, work-groups of 8 wavefronts, distance 3.
    #[test]
    fn cmp_m6_the_group_sizes_of_the_vectors_are_met() {
        for (each, group, within, along) in [
            (2, 57, false, false),
            (10, 11, false, true),
            (20, 5, true, true),
            (128, 1, true, true),
        ] {
            let known = LoopPlan {
                intra: lines(each),
                ..LoopPlan::default()
            };
            for (scope, grouped) in [(GroupScope::WorkGroup, within), (GroupScope::Along, along)] {
                let capacity = capacity(scope, Irregular::WorstCase);
                let size = capacity.group(&along_x(), &known).unwrap();
                assert_eq!(size, group, "{each} lines");
                assert_eq!(
                    size < capacity.limit(&along_x(), 8),
                    grouped,
                    "{each} lines"
                );
            }
        }
    }

    #[test]
    fn cmp_m6_an_irregular_load_counts_at_its_worst_or_not_at_all() {
        let known = LoopPlan {
            irregular: 32,
            ..LoopPlan::default()
        };
        let of = |irregular| {
            let capacity = capacity(GroupScope::WorkGroup, irregular);
            capacity.group(&along_x(), &known)
        };
        assert_eq!(of(Irregular::WorstCase), Some(3));
        assert_eq!(of(Irregular::Ignore), None);
    }

    #[test]
    fn the_smaller_of_both_reuses_counts_and_the_scope_selects_the_second() {
        let known = LoopPlan {
            intra: lines(5),
            inter: lines(8),
            along: lines(10),
            ..LoopPlan::default()
        };
        let of = |scope, launch: &LaunchLocality| {
            capacity(scope, Irregular::WorstCase).group(launch, &known)
        };
        assert_eq!(of(GroupScope::WorkGroup, &along_x()), Some(14));
        assert_eq!(of(GroupScope::Along, &along_x()), Some(11));
        // Without a direction there is no reuse along it.
        let nowhere = LaunchLocality::default();
        assert_eq!(of(GroupScope::Along, &nowhere), Some(14));
        let along = capacity(GroupScope::Along, Irregular::WorstCase);
        assert_eq!(along.limit(&nowhere, 8), 8);
        let unused = LoopPlan::default();
        assert_eq!(along.group(&along_x(), &unused), None);
    }
}
