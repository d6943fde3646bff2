//! Static re-reference interval prediction, two bits, hit priority (Jaleel et al., ISCA 2010).
//!
//! A line enters with a long predicted interval and gets a near-immediate one when it is used. The
//! lowest way whose interval is distant leaves; if there is none, all intervals grow until there is
//! one. That growth happens when the new line is installed.

use serde::{Deserialize, Serialize};

use super::ReplacementPolicy;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cache) struct Srrip {
    ways: usize,
    intervals: Vec<u8>,
}

const DISTANT: u8 = 3;
const LONG: u8 = 2;

impl Srrip {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self {
            ways,
            intervals: vec![DISTANT; sets * ways],
        }
    }
}

impl ReplacementPolicy for Srrip {
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
    fn emptied(&mut self, set: usize, way: usize) {
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
