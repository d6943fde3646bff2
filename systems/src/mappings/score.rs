//! Lines that units fetch under a mapping, as predicted.

use warpweave_affine::LineSets;

/// Prediction for one mapping. Fewer lines are better; then equal loads are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    /// Lines that a work-group touches and none of the `resident - 1` before it on its unit does,
    /// added up over all work-groups.
    pub fetched: u64,
    /// Work-groups of the unit that has the most.
    pub longest: u32,
    /// Work-groups that the unit with the fewest lacks to the longest.
    pub apart: u32,
}

/// Table of the last work-group that touched each line, kept between scores.
pub(super) struct Cache<'a> {
    sets: &'a LineSets,
    /// Unit that touched the line, counted over all scores, and the place of the work-group in its
    /// order.
    last: Vec<(u32, u32)>,
    unit: u32,
}

impl<'a> Cache<'a> {
    pub(super) fn new(sets: &'a LineSets) -> Self {
        Self {
            sets,
            last: vec![(0, 0); sets.count as usize],
            unit: 0,
        }
    }

    /// Counts the lines of each work-group that none of the `resident - 1` before it on its unit
    /// touches.
    pub(super) fn score(&mut self, orders: &[Vec<u32>], resident: u32) -> Score {
        let mut fetched = 0;
        for order in orders {
            self.unit += 1;
            for (place, &work_group) in (0..).zip(order) {
                for &(start, end) in self.sets.of(work_group as usize) {
                    for last in &mut self.last[start as usize..end as usize] {
                        let is_held = last.0 == self.unit && place - last.1 < resident;
                        fetched += u64::from(!is_held);
                        *last = (self.unit, place);
                    }
                }
            }
        }
        let loads = orders.iter().map(|order| order.len() as u32);
        let longest = loads.clone().max().unwrap_or_default();
        Score {
            fetched,
            longest,
            apart: longest - loads.min().unwrap_or_default(),
        }
    }
}
